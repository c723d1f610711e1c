"""What one column holds of the identifiers of the rule: by its name, by the form of its values, or by both.

Each different value is looked at once, so columns with few of them cost next to nothing; they are counted, never shown.
Columns in which everybody has another whole number are named as possible codes even if they are amounts of money.

Three digits of a ZIP code where many people live, a year alone, and ages pooled at 90 are no findings: the rule lets
them stand.

What can't be judged is said: places that may be smaller than a state (a *region* of unknown names, a hospital),
numbers in a column of dates that are neither days nor years, years (of birth, of marriage) of people who may be over 89
where nobody says of which year the data are.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.ages import OLDEST, lower_ends, oldest_allowed, speaks_of_age
from shoal.schema.judgement.dates import DateReading, are_years, read_dates, year_numbers, years_among
from shoal.schema.judgement.finding import Finding
from shoal.schema.judgement.identifiers import (
    AGES,
    DATES,
    FREE_TEXT,
    GEOGRAPHIC,
    IDENTIFIERS,
    NAMES,
    OTHER_CODES,
    Identifier,
    named,
)
from shoal.schema.judgement.places import answers_share, is_state_or_larger, may_be_small_place, says_whether
from shoal.schema.judgement.zip_codes import ZipCodes, zip_codes

__all__ = [
    "LONG",
    "born_long_ago",
    "counted_cells",
    "findings_in",
    "is_free_text",
    "part_of_date",
    "shows_years",
    "speaks_of_birth",
]

LONG = 40
"""Mean length of the different texts of a column from which on they are free text."""

_SHORTEST_REMARK = 12  # bytes: in a shorter text there is no room for a number of a person beside a word
_FEWEST = 20  # values below which "all differ" says nothing


def speaks_of_birth(name: str) -> bool:
    """Whether a column's name says that it holds dates or years of birth."""
    return any(word.startswith(_BIRTH) and word not in _BORN_OTHERWISE for word in words_in(name))


def shows_years(name: str, distinct: pl.DataFrame) -> bool:
    """Whether a column's different values, with their counts, are years that may show how old somebody is.

    They are if its name speaks of birth and most of its cells are years, and whatever its name is if they are many and
    none lies ahead: somebody who married ninety years ago is over 89, too. A few other numbers, such as 9999 or -8,
    change nothing: they may stand for an absence that nobody declared.
    """
    years = _first_years(distinct)
    share = int(years["count"].sum()) / max(1, int(distinct["count"].sum()))
    if speaks_of_birth(name):
        return share > _MOSTLY
    whole = years["value"]
    past = bool(((whole <= _this_year()) & (whole == whole.round())).all())
    return share >= _NEARLY_ALL and past and len(years) >= _MANY_YEARS


def _first_years(distinct: pl.DataFrame) -> pl.DataFrame:
    """The years, or the first year of each interval or set of them; other numbers and texts are left out."""
    found = distinct.filter(years_among(distinct["value"]))
    return found.with_columns(year_numbers(found["value"]).alias("value"))


def _this_year() -> int:
    return datetime.now(UTC).year


_BIRTH = ("birth", "brth", "dob", "yob", "born", "dateofbirth", "yearborn", "yrborn", "byear", "bdate", "geburt")
_MANY_YEARS = 10  # different whole numbers from which on it is no accident that all of them are years
_MOSTLY, _NEARLY_ALL = 0.5, 0.95
_BORN_OTHERWISE = {"birthweight", "birthwt", "birthplace", "birthcountry", "birthstate", "births", "birthorder"}


def findings_in(column: str, distinct: pl.DataFrame, year: int | None) -> list[Finding]:
    """What one column holds: by values, else by name; and what its numbers or its length say."""
    zips = zip_codes(column, distinct)
    found = _found_in(column, distinct, year)
    if zips is not None and (zips.by_name or zips.judged):
        found = [one for one in found if one.identifier not in (GEOGRAPHIC, OTHER_CODES)]
    elif any(one.identifier != OTHER_CODES for one in found):
        return found
    return [*found, *_of_zips(column, distinct, zips)]


def _of_zips(column: str, distinct: pl.DataFrame, zips: ZipCodes | None) -> list[Finding]:
    """ZIP codes that say more than three digits, or name an area of few people."""
    if zips is None or not zips.n_over:
        return []
    n = int(distinct["count"].sum())
    made = _plain(column, "B", GEOGRAPHIC, zips.n_over, n, by_name=zips.by_name)
    return [replace(made, judged=zips.judged)]


def _found_in(column: str, distinct: pl.DataFrame, year: int | None) -> list[Finding]:
    by_name = named(words_in(column))
    n = int(distinct["count"].sum())
    counts = {i.title: (i, c) for i in IDENTIFIERS if (c := _matching(i, distinct)) > i.least_share * n}
    dates = read_dates(column, distinct, year=year)
    found = [_finding(column, i, c, n, by_name) for i, c in counts.values()]
    if dates is not None and (dates.sure or by_name is None or by_name.title == DATES):
        found.append(_dated(column, dates, distinct["count"], by_name))
    if (
        by_name is not None
        and by_name.title not in {one.identifier for one in found}
        and (c := _by_name_alone(by_name, column, distinct))
    ):
        judged = _is_clear(by_name, column, distinct)
        found.insert(0, _finding(column, by_name, c, n, by_name, by_values=False, judged=judged))
    if is_free_text(distinct):
        found.append(_plain(column, "", FREE_TEXT, n, n))
    return found or _others(column, distinct, n, year)


def counted_cells(column: pl.Series, sample: int | None = None) -> pl.DataFrame:
    """The different values with their counts, without missing ones."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    counted = pl.DataFrame({"value": column}).drop_nulls().group_by("value").agg(count=pl.len())
    if sample is not None and len(counted) > sample:
        places = np.linspace(0, len(counted) - 1, sample).astype(np.int64)
        return counted.sort("value")[places]
    return counted


def _matching(identifier: Identifier, distinct: pl.DataFrame) -> int:
    """How many cells have the form of an identifier."""
    values = distinct["value"]
    if values.dtype != pl.String or not identifier.form:
        return 0
    hit = values.str.contains(identifier.form)
    if identifier.title.startswith("vehicle"):
        hit &= values.str.contains(r"\d.*\d") & values.str.contains("[A-Z]")
    if identifier.inside:
        hit |= (values.str.len_bytes() > _SHORTEST_REMARK) & values.str.contains(identifier.inside)
    return int(distinct["count"].filter(hit).sum())


def _dated(column: str, dates: DateReading, count: pl.Series, by_name: Identifier | None) -> Finding:
    """The finding of a column of dates; what only a person can judge where it isn't sure, or the year isn't."""
    [identifier] = [one for one in IDENTIFIERS if one.title == DATES]
    n_matching, judged = int(count.filter(dates.fits).sum()), dates.sure and dates.years != "unclear"
    return _finding(column, identifier, n_matching, int(count.sum()), by_name, judged=judged)


def part_of_date(column: str, distinct: pl.DataFrame, *, judged: bool) -> Finding:
    """Return the finding of a column that holds days or months of dates, beside another that holds the rest."""
    n = int(distinct["count"].sum())
    return replace(_plain(column, "C", DATES, n, n, by_name=judged), by_values=not judged, judged=judged)


def _by_name_alone(identifier: Identifier, column: str, distinct: pl.DataFrame) -> int:
    """How many cells to count where only the name speaks; none where the values contradict it."""
    values, count = distinct["value"], distinct["count"]
    n = int(count.sum())
    if says_whether(values) or (identifier.title not in (GEOGRAPHIC, DATES) and len(values) <= 2 < n):
        return 0
    if identifier.title == NAMES and values.dtype != pl.String:
        return 0
    if identifier.title == DATES:
        return 0 if are_years(values) else n
    return 0 if identifier.title == OTHER_CODES and values.dtype.is_float() else n


def _is_clear(by_name: Identifier, column: str, distinct: pl.DataFrame) -> bool:
    """Whether what a name alone says can be trusted; not of places among answers, nor of numbers that count days."""
    if by_name.title == GEOGRAPHIC:
        return answers_share(distinct) < _MOSTLY
    return by_name.title != DATES or _are_parts_of_dates(column, distinct["value"])


def _are_parts_of_dates(column: str, values: pl.Series) -> bool:
    """Whether these can be days, months or quarters; other numbers under such a name may count days from anywhere."""
    if not values.dtype.is_numeric():
        return True
    words, highest = words_in(column), 31
    if any(word.endswith("month") for word in words):
        highest = 12
    elif "quarter" in words or "qtr" in words:
        highest = 4
    return bool(values.is_between(0 if "weekday" in words else 1, highest).all())


def _finding(
    column: str,
    identifier: Identifier,
    n: int,
    n_filled: int,
    by_name: Identifier | None,
    *,
    by_values: bool = True,
    judged: bool = True,
) -> Finding:
    return Finding(
        column=column,
        letter=identifier.letter,
        identifier=identifier.title,
        by_name=by_name is not None and by_name.title == identifier.title,
        by_values=by_values,
        n_matching=n,
        n_filled=n_filled,
        judged=judged,
    )


def is_free_text(distinct: pl.DataFrame) -> bool:
    """Whether the different values, with their counts, are long texts that mostly differ."""
    values, n = distinct["value"], int(distinct["count"].sum())
    if values.dtype != pl.String or len(values) <= 0.5 * n or n < 2:
        return False
    return float(values.str.len_chars().mean() or 0.0) >= LONG  # type: ignore[arg-type]


def _others(column: str, distinct: pl.DataFrame, n: int, year: int | None) -> list[Finding]:
    """Ages over 89, places of unknown size, codes that differ from person to person."""
    values = distinct["value"]
    if speaks_of_age(column):
        return _old(column, values, distinct["count"], n)
    if shows_years(column, distinct):
        return born_long_ago(column, _first_years(distinct), year)
    if n and may_be_small_place(column) and not says_whether(values):
        places = [] if is_state_or_larger(values) else [_plain(column, "B", GEOGRAPHIC, n, n, by_name=True)]
        return [replace(place, by_values=False, judged=False) for place in places]
    codes = values.dtype in (pl.String, pl.Binary) or values.dtype.is_integer()
    if codes and len(values) == n >= _FEWEST:
        return [_plain(column, "R", OTHER_CODES, n, n)]
    return []


def _old(name: str, values: pl.Series, count: pl.Series, n: int) -> list[Finding]:
    """Ages over 89 that aren't all in one; of an interval, its lower end counts."""
    ages = values.cast(pl.Float64) if values.dtype.is_numeric() else lower_ends(values)
    oldest = oldest_allowed(name)
    old = (ages > oldest).fill_null(False)
    pooled = values.filter(old).n_unique() <= 1 and bool((ages.filter(old) == oldest + 1).all())
    return [] if pooled else [_plain(name, "C", AGES, int(count.filter(old).sum()), n, by_name=True)]


def born_long_ago(name: str, distinct: pl.DataFrame, year: int | None = None) -> list[Finding]:
    """Years that show an age over 89 in `year`; in the present year, where nobody says which, it can't be judged."""
    oldest, n = (year or _this_year()) - OLDEST - 1, int(distinct["count"].sum())
    n_old = int(distinct["count"].filter(distinct["value"] < oldest).sum())
    found = [_plain(name, "C", AGES, n_old, n, by_name=speaks_of_birth(name))] if n_old else []
    return [replace(one, judged=year is not None) for one in found]


def _plain(column: str, letter: str, title: str, n: int, n_filled: int, *, by_name: bool = False) -> Finding:
    return Finding(
        column=column,
        letter=letter,
        identifier=title,
        by_name=by_name,
        by_values=True,
        n_matching=n,
        n_filled=n_filled,
    )
