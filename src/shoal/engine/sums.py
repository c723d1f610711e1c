"""Adding up whole numbers that were counted in batches of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from shoal.engine.engine import Types

__all__ = ["summed"]

_MOST_ROWS = 1_000_000  # that are held before they are added up


def summed(counted: Iterable[pl.DataFrame], types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
    """The sums over frames for each combination of `by`; without `by`, one row.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.engine.sums import summed
    >>> summed([pl.DataFrame({"n": [1, 2]}), pl.DataFrame({"n": [4]})], {"n": pl.Int64()}).rows()
    [(7,)]
    """
    held = [pl.DataFrame(schema=dict(types))]
    n_rows = 0
    for frame in counted:
        held.append(frame.select(list(types)).cast(dict(types)))  # type: ignore[arg-type]
        n_rows += len(frame)
        if n_rows > _MOST_ROWS:
            held = [_added(held, by)]
            n_rows = 0
    return _added(held, by)


def _added(frames: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    together = pl.concat(frames)
    numbers = [pl.col(name).sum() for name in together.columns if name not in by]
    return together.group_by(list(by)).agg(numbers).select(together.columns) if by else together.select(numbers)
