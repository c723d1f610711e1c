"""What a model file says of itself, for the ledger to note when it is admitted."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shoal.errors import InputError
from shoal.ledger.admission import Admission
from shoal.score.model_file import load

__all__ = ["admission_of"]


def admission_of(file: Path, *, data: str | None = None, by: str) -> Admission:
    """The admission of a model file: its SHA-256, data set, prices and claims; a model without a price has none."""
    model = load(file)
    if model.cost is None:
        raise InputError(f"model '{file.stem}'", "must have a price: it promises nothing")
    named = data or model.data_
    if named is None:
        hint = "Fit it with an account, or name the data set: --data NAME."
        raise InputError(f"model '{file.stem}'", "must name its data set", hint=hint)
    return Admission(
        digest=hashlib.sha256(file.read_bytes()).hexdigest(),
        model=file.stem,
        data=named,
        cost=model.cost.to_dict(),
        spent=None if model.spent is None else model.spent.to_dict(),
        claims=tuple(claim.to_dict() for claim in model.claims),
        by=by,
    )
