"""Ages by the names of columns: in years, or in months, weeks or days where the name says so (``agemonths``).

The rule lets ages up to 89 years stand. In another unit, what is over 89 years is 1,080 months, 4,695 weeks or 32,871
days and more: the fewest that somebody has lived who has turned 90.
"""

from __future__ import annotations

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.date_words import folded

__all__ = ["OLDEST", "lower_ends", "oldest_allowed", "speaks_of_age"]

OLDEST = 89
"""The highest age, in years, that the Safe Harbor rule lets stand."""


def speaks_of_age(name: str) -> bool:
    """Return True if a column's name says that it holds ages.

    Examples
    --------
    >>> speaks_of_age("agemonths"), speaks_of_age("AgeAtDx"), speaks_of_age("stage")
    (True, True, False)
    """
    return any(word in _AGE or word.startswith(_AGE_STARTS) for word in words_in(name))


def oldest_allowed(name: str) -> int:
    """Return the highest age that may stand, in the unit of which the column's name speaks.

    Examples
    --------
    >>> oldest_allowed("age"), oldest_allowed("agemonths"), oldest_allowed("age_days")
    (89, 1079, 32870)
    """
    words = words_in(name)
    units = (unit for unit, ends in _UNITS.items() if any(word.endswith(ends) for word in words))
    return next(units, OLDEST)


def lower_ends(texts: pl.Series) -> pl.Series:
    """Return the first number in each text: the age, or the lower end of an interval of ages.

    Words for ages over 89 (*nonagenarian*) count as more than 90, so that none is taken for the pool of them all.
    """
    plain = folded(texts.cast(pl.String))
    ages = plain.str.extract(r"(\d+)", 1).cast(pl.Int64, strict=False)
    return ages.set((ages.is_null() & plain.str.contains(_OLD)).fill_null(False), OLDEST + 2)


_OLD = r"nonagenarian|centenarian|\bninet(?:y|ies)"
_AGE = frozenset(
    (
        *("age", "ages", "agep", "agelast", "ageyears", "ageyrs", "ageyr", "agegroup", "agegrp", "agecat", "agegr"),
        *("ageband", "agemonths", "agemos", "agemo", "agemths", "ageweeks", "agewks", "agedays", "alter", "edad"),
        *("idade", "leeftijd", "alder", "wiek", "patage", "ptage", "currage", "respage", "dxage", "admage"),
        *("ika", "yas", "eta", "yearsold", "ridageyr", "возраст", "вік", "年齢", "年齡", "年龄", "나이", "연령"),
        *("ηλικία", "גיל", "العمر", "عمر", "उम्र", "आयु", "อายุ"),
    )
)
_AGE_STARTS = ("ageat", "ageent", "agediag", "agedx", "ageonset", "alterbei", "ageinyear", "ageinmonth", "ageinday")
_UNITS = {
    1079: ("months", "mos", "mths", "monaten", "agemo", "meses"),
    4694: ("weeks", "wks", "wochen", "semanas"),
    32870: ("days", "tagen"),
}
"""The highest age that may stand in each unit, with the endings of words that name the unit."""
