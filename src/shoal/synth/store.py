"""Models as JSON files, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import Budget
from shoal.errors import FileError
from shoal.synth.synthesizer import FORMAT, Model

__all__ = ["load"]


def load(path: str | Path, account: Any = None) -> Model:
    """Read a model that `Model.save` wrote.

    A model whose rows were charged to an account needs `account` again: without it, it refuses to draw, so that no
    row escapes.

    Examples
    --------
    >>> import tempfile, pathlib, shoal
    >>> from shoal.synth import MarginalBootstrap, load
    >>> table = shoal.datasets.health_survey(500, seed=1).select("gender")
    >>> schema = shoal.Schema.of(quasi=["gender"], levels={"gender": ["female", "male"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder, "model.json")
    ...     MarginalBootstrap(epsilon=1.0).fit(table, schema).save(place)
    ...     load(place).sample(3).columns
    ['gender']
    """
    words = _read(Path(path))
    if not isinstance(words, dict) or words.get("format") != FORMAT or words.get("kind") not in _kinds():
        raise FileError(str(path), f"must be a model saved by Shoal ({FORMAT})")
    spent = words["spent"]
    model: Model = _kinds()[words["kind"]].from_body(
        words,
        domain=Domain.from_dict(words["domain"]),
        spent=None if spent is None else Budget.from_dict(spent),
        claims=[Claim.from_dict(claim) for claim in words["claims"]],
        notes=tuple(words["notes"]),
    )
    if not model.rows_are_free:
        model.account = account  # type: ignore[attr-defined]
        model.detached = account is None and bool(words.get("accounted", True))
    return model


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "must be a readable file", got=error.strerror or "") from None
    except ValueError:
        raise FileError(str(path), "must be a JSON file") from None


def _kinds() -> dict[str, Any]:
    from shoal.synth.bootstrap import BootstrapModel
    from shoal.synth.by_graph import GraphModel
    from shoal.synth.by_row import RowModel
    from shoal.synth.by_table import ChainModel, ConditionalsModel

    return {model.kind: model for model in (ChainModel, ConditionalsModel, GraphModel, RowModel, BootstrapModel)}
