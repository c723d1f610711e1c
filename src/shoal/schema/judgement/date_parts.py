"""Days and months in columns of their own: what makes up a date together is a date.

Two columns speak for each other by their names (``dday``, ``dmonth``; ``Tag``, ``Monat``) if one has whole numbers of 1
to 31 and the other of 1 to 12. Whatever they are called, they do if one takes all days and the other all twelve months,
and no row has a day that the calendar doesn't (30 February, 31 April) though chance would give at least four: then a
person is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.date_words import folded

__all__ = ["Pairs", "has_month_values", "parts_of_dates"]

Pairs = Callable[[str, str], pl.DataFrame]
"""The rows of each combination of two columns, in a third column."""

_EXPECTED = 4.0  # rows on days that don't exist, that chance would give
_MOST_DAYS = 28
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_DAYS = frozenset(["day", "tag", "jour", "dia", "giorno", "dag", "dan", "den", "dzien", "nap", "gun", "ngay", "dy"])
_MONTHS = frozenset(
    [
        "month",
        "mon",
        "mth",
        "mo",
        "mois",
        "mes",
        "mese",
        "monat",
        "maand",
        "manad",
        "maned",
        "mesic",
        "miesiac",
        "honap",
        "kuukausi",
        "kuu",
    ]
)
_NO_DAYS = ("today", "holiday", "weekday", "workday", "sunday", "monday", "friday", "saturday", "perday", "yesterday")


def parts_of_dates(counted: Mapping[str, pl.DataFrame], pairs: Pairs | None = None) -> dict[str, bool]:
    """Return the columns that hold days or months of dates, and whether that is sure.

    Parameters
    ----------
    counted
        The different values (``value``) of each column with their rows (``count``).
    pairs
        Counts the rows of each combination of two columns; without it, names alone decide.
    """
    numbers = {name: whole for name, cells in counted.items() if (whole := _whole(cells["value"])) is not None}
    days = [name for name, whole in numbers.items() if bool(whole.is_between(1, 31).all()) and whole.n_unique() > 2]
    months = [name for name in days if has_month_values(numbers[name])]
    named_days = [name for name in days if _speaks_of(name, _DAYS) and not _speaks_of(name, _MONTHS)]
    named_months = [name for name in months if _speaks_of(name, _MONTHS)]
    found = dict.fromkeys([*named_days, *named_months], True) if named_days and named_months else {}
    if pairs is not None:
        found |= {name: False for name in _by_values(numbers, days, months, counted, pairs) if name not in found}
    return found


def has_month_values(whole: pl.Series) -> bool:
    """Return True if all these numbers are numbers of months."""
    return bool(whole.is_between(1, 12).all())


def _whole(values: pl.Series) -> pl.Series | None:
    """Whole numbers of few values, also where they are written as texts."""
    if values.dtype == pl.Boolean or not 2 < len(values) <= 64:
        return None
    if values.dtype == pl.String:
        texts = folded(values).str.strip_chars("' ")
        values = texts.cast(pl.Float64, strict=False)
    if not values.dtype.is_numeric() or values.null_count() or bool((values != values.round()).any()):
        return None
    return values.cast(pl.Int64)


def _speaks_of(name: str, words: frozenset[str]) -> bool:
    """Whether a name is made of such a word, or of something and such a word: dmonth, bday."""
    ends = tuple(word for word in words if len(word) >= 3)
    return any(
        word in words or (word.endswith(ends) and len(word) <= 12 and not word.endswith(_NO_DAYS))
        for word in words_in(name)
    )


def _by_values(
    numbers: Mapping[str, pl.Series],
    days: list[str],
    months: list[str],
    counted: Mapping[str, pl.DataFrame],
    pairs: Pairs,
) -> list[str]:
    """The columns that take all days and all months, and never one that the calendar doesn't have."""
    full_days = [name for name in days if numbers[name].n_unique() >= _MOST_DAYS]
    full_months = [name for name in months if numbers[name].n_unique() == len(_LENGTHS)]
    found: list[str] = []
    for day, month in product(full_days, full_months):
        if _expected(counted[day], counted[month]) >= _EXPECTED and not _impossible(pairs(day, month)):
            found += [day, month]
    return found


def _expected(days: pl.DataFrame, months: pl.DataFrame) -> float:
    """How many rows would have a day that doesn't exist, if days and months were dealt out at random."""
    both = product(_shares(days), _shares(months))
    return float(days["count"].sum()) * sum(p * q for (day, p), (month, q) in both if day > _LENGTHS[month - 1])


def _shares(cells: pl.DataFrame) -> list[tuple[int, float]]:
    whole = _whole(cells["value"])
    assert whole is not None
    counts = cells["count"] / int(cells["count"].sum())
    return list(zip(whole.to_list(), counts.to_list(), strict=True))


def _impossible(pairs: pl.DataFrame) -> bool:
    """Whether some combination of a day and a month (the first two columns) isn't in the calendar."""
    both = pairs.drop_nulls(pairs.columns[:2])
    day, month = (
        folded(both[name].cast(pl.String)).str.strip_chars("' ").cast(pl.Float64) for name in both.columns[:2]
    )
    known = list(zip(day, month, strict=True))  # a code for an absence is in no calendar
    return any(d > _LENGTHS[int(m) - 1] for d, m in known if 1 <= d <= 31 and 1 <= m <= len(_LENGTHS))
