"""The account that a synthesis of a file is charged to: it lies beside the file, and is begun by the first run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.dp import Account, Budget
from shoal.errors import ParameterError
from shoal.synth.synthesizer import Synthesizer

__all__ = ["account_of"]

USUAL_LIMIT, USUAL_DELTA = 10.0, 1e-6


@contextmanager
def account_of(file: Path, method: Synthesizer, rows: int | None, limit: float | None) -> Iterator[Account | None]:
    """The account of `file`; none for a method without a price. One that is begun here and not used is removed.

    Parameters
    ----------
    limit
        The epsilon that may ever be spent, set by the first run; None: 10.
    """
    price = method.price(rows)
    if price.per_row is None and price.per_data_set is None:
        yield None
        return
    path = file.resolve()  # as the account does: one file, one account
    begun = path.with_name(f"{path.name}.budget.json").exists()
    if limit is not None and begun:
        hint = "Leave it out."
        raise ParameterError("--limit", "was set when the account was begun and can't be changed", hint=hint)
    book = Account.open(path, limit=None if begun else Budget(epsilon=limit or USUAL_LIMIT, delta=USUAL_DELTA))
    try:
        yield book
    finally:
        if not begun and book.spent.empty:
            for ending in ("json", "key"):
                path.with_name(f"{path.name}.budget.{ending}").unlink(missing_ok=True)
