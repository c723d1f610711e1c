"""Identifiers that name nobody: 0, 999999999, −1, a blank, "unknown".

Rows that share one would count as one giant person or household. A text is a placeholder by what it says. A number is a
candidate by its digits (0, −9 to −1, 999 and more nines) if it lies below or above all other identifiers, and it is one
if it stands apart from them: it is negative and they are not, they are no numbers, it is fifty usual steps away, or it
has five rows or more and over three times as many as any other.
"""

from __future__ import annotations

import polars as pl

from shoal.errors import ColumnError
from shoal.schema.codes_seen import ABSENT_WORDS

__all__ = ["check_names_somebody", "n_placeholders"]

_LIKE_NOBODY = r"^(?:0+|-[1-9]|9{3,})$"
_FEWEST_ROWS, _TIMES_AS_MANY, _STEPS = 5, 3, 50


def check_names_somebody(column: pl.Series, what: str, remedy: str) -> None:
    """Refuse a column of identifiers in which some name nobody; `what` they are meant to name, and what to do."""
    n = n_placeholders(column)
    if n:
        raise ColumnError(
            column.name,
            f"holds identifiers that seem to stand for 'unknown' (0, 999999999, a blank), and would make one {what} of "
            "all their rows",
            got=f"{n} rows",
            hint=f"{remedy} Where such a number does name a {what}, write it otherwise, as in P0.",
        )


def n_placeholders(column: pl.Series) -> int:
    """How many rows have an identifier that names nobody.

    Examples
    --------
    >>> import polars as pl
    >>> n_placeholders(pl.Series("home", [1, 1, 2, 3, 3, *[0] * 9])), n_placeholders(pl.Series("home", range(1000)))
    (9, 0)
    """
    counted = _counted(column)
    if len(counted) < 2:
        return 0
    words = counted["id"].str.to_lowercase().is_in(["", *ABSENT_WORDS])
    likely = counted["id"].str.contains(_LIKE_NOBODY)
    others = counted.filter(~(words | likely))
    if len(others) and likely.any():
        likely &= _apart(counted, others)
    return int(counted.filter(words | likely)["len"].sum()) if len(others) else 0


def _counted(column: pl.Series) -> pl.DataFrame:
    """Each identifier as a text, with its rows; whole numbers that came as floats are written as whole."""
    if column.dtype.is_float():
        known = column.fill_nan(None).drop_nulls()
        column = known.cast(pl.Int64, strict=False) if (known == known.round()).all() else known
    texts = column.drop_nulls().cast(pl.String).str.strip_chars().alias("id")
    return texts.to_frame().group_by("id").len()


def _apart(counted: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Which stand apart from the others, by value or by rows."""
    value, rest = (frame["id"].cast(pl.Float64, strict=False) for frame in (counted, others))
    if rest.null_count():
        return value.is_not_null()
    low, high, step = rest.min(), rest.max(), rest.sort().diff().median()
    far = _STEPS * (1 if step is None else step)  # type: ignore[operator]
    by_value = ((value < 0) & (low >= 0)) | (low - value >= far) | (value - high >= far)  # type: ignore[operator]
    by_rows = (counted["len"] >= _FEWEST_ROWS) & (counted["len"] > _TIMES_AS_MANY * others["len"].max())  # type: ignore[operator]
    return by_value.fill_null(False) | (by_rows & ((value < low) | (value > high)))
