"""Identifiers that name nobody: 0, 999999999, −1, a blank, "unknown".

Rows that share one would count as one giant person or household. A text is a placeholder by what it says. A number is a
candidate by its digits (0, −9 to −1, 999 and more nines) if it lies below or above all other identifiers, and it is one
if it stands apart from them: it is negative and they are not, they are no numbers, it is fifty usual steps away, or it
has five rows or more and over three times as many as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.errors import ColumnError
from shoal.schema.codes_seen import ABSENT_WORDS

__all__ = [
    "OtherIds",
    "check_names_somebody",
    "ids_as_texts",
    "n_like_nobody",
    "n_placeholders",
    "refuse_placeholders",
    "speaks_of_nobody",
]

_LIKE_NOBODY = r"^(?:0+|-[1-9]|9{3,})$"
_FEWEST_ROWS, _TIMES_AS_MANY, _STEPS = 5, 3, 50


def check_names_somebody(column: pl.Series, what: str, remedy: str) -> None:
    """Refuse a column of identifiers in which some name nobody; `what` they are meant to name, and what to do."""
    refuse_placeholders(column.name, n_placeholders(column), what, remedy)


def refuse_placeholders(name: str, n: int, what: str, remedy: str) -> None:
    """Refuse `n` rows of a column whose identifiers name nobody, if there are any."""
    if n:
        raise ColumnError(
            name,
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
    counted = ids_as_texts(column).to_frame().group_by("id").len()
    nobodys = speaks_of_nobody(counted["id"])
    suspects, others = counted.filter(nobodys), counted.filter(~nobodys)
    return n_like_nobody(suspects, OtherIds.of(others)) if len(suspects) and len(others) else 0


def ids_as_texts(column: pl.Series) -> pl.Series:
    """The known identifiers as texts; whole numbers that came as floats are written as whole."""
    known = column.drop_nulls()
    if column.dtype.is_float():
        known = known.fill_nan(None).drop_nulls()
        whole = known.cast(pl.Int64, strict=False).cast(pl.String)
        return whole.zip_with((known == known.round()) & whole.is_not_null(), known.cast(pl.String)).alias("id")
    return known.cast(pl.String).str.strip_chars().alias("id")


def speaks_of_nobody(ids: pl.Series) -> pl.Series:
    """Which identifiers may name nobody, by what they say or by their digits."""
    return ids.str.to_lowercase().is_in(["", *ABSENT_WORDS]) | ids.str.contains(_LIKE_NOBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherIds:
    """What must be known of the identifiers that speak of somebody.

    Parameters
    ----------
    low, high
        The lowest and the highest; None where they are not all numbers.
    step
        The usual step from one to the next.
    most_rows
        The most rows that one has.
    """

    low: float | None
    high: float | None
    step: float | None
    most_rows: int

    @classmethod
    def of(cls, counted: pl.DataFrame) -> OtherIds:
        """From the identifiers with their rows (``id``, ``len``)."""
        values, rows = counted["id"].cast(pl.Float64, strict=False), int(counted["len"].max())  # type: ignore[arg-type]
        if values.null_count():
            return cls(low=None, high=None, step=None, most_rows=rows)
        low, high, step = values.min(), values.max(), values.sort().diff().median()
        return cls(low=low, high=high, step=step, most_rows=rows)  # type: ignore[arg-type]


def n_like_nobody(suspects: pl.DataFrame, others: OtherIds) -> int:
    """How many rows have one of the suspects (``id``, ``len``) that says so, or stands apart from the others."""
    says = suspects["id"].str.contains(_LIKE_NOBODY).not_()
    return int(suspects.filter(says | _apart(suspects, others))["len"].sum())


def _apart(suspects: pl.DataFrame, others: OtherIds) -> pl.Series:
    """Which stand apart from the others, by value or by rows."""
    value, rows = suspects["id"].cast(pl.Float64, strict=False), suspects["len"]
    low, high = others.low, others.high
    if low is None or high is None:
        return value.is_not_null()
    far = _STEPS * (1 if others.step is None else others.step)
    by_value = ((value < 0) & (low >= 0)) | (low - value >= far) | (value - high >= far)
    by_rows = (rows >= _FEWEST_ROWS) & (rows > _TIMES_AS_MANY * others.most_rows)
    return by_value.fill_null(False) | (by_rows & ((value < low) | (value > high))).fill_null(False)
