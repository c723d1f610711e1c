"""Columns from which a small place, a date or an age over 89 follows: a county from the name of the hospital.

A rule that suppresses the county and lets the hospital stand has suppressed nothing. X gives Y away if no value of X
comes with two values of Y, in all rows (a missing value counts as one). Nothing is said where this would be empty: of a
Y that is constant, of an X with fewer than three people for each of its values, and where it could be an accident (if
the values of Y were dealt out at random, less than once in 10,000 tables). What the rule itself lets stand is no side
door: states and larger places, years, three digits of a ZIP code.

Not looked for: what follows from two columns together, from a column of another table, or in nearly all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log

import polars as pl

from shoal.frame import Frame, series
from shoal.schema.judgement.date_parts import Pairs
from shoal.schema.judgement.dates import are_years
from shoal.schema.judgement.finding import Finding, Scan
from shoal.schema.judgement.identifiers import AGES, DATES, GEOGRAPHIC
from shoal.schema.judgement.places import is_state_or_larger

__all__ = ["Rows", "rows_of", "with_side_doors"]

_PEOPLE_EACH = 3  # for each value of what gives another away: fewer would prove nothing
_ACCIDENT = 1e-4
_LOOKED_FOR = (GEOGRAPHIC, DATES, AGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What must be known of the rows: how many they are, of how many people, and which pairs two columns have.

    `pairs` gives the different pairs of two columns, with their rows in a third.
    """

    n: int
    n_people: int
    n_pairs: Callable[[str, str], int]
    pairs: Pairs


def rows_of(frame: Frame, unit: str | None = None) -> Rows:
    """The same of a table in memory; a missing value counts as one."""
    return Rows(
        n=len(frame),
        n_people=len(frame) if unit is None else series(frame, unit).n_unique(),
        n_pairs=lambda one, other: _beside(frame, one, other).n_unique(),
        pairs=lambda one, other: _beside(frame, one, other).group_by(one, other).len(),
    )


def _beside(frame: Frame, one: str, other: str) -> pl.DataFrame:
    return pl.DataFrame([series(frame, one), series(frame, other)])


def with_side_doors(found: Scan, counted: Mapping[str, pl.DataFrame], rows: Rows) -> Scan:
    """The findings, with each column that gives one of them away as what only a person can judge.

    `counted` has the known values (``value``) of each column with their rows (``count``).
    """
    taken = {finding.column for finding in found.findings if finding.judged}
    counts = {name: _with_missing(cells["count"], rows.n) for name, cells in counted.items()}
    doors = [name for name in counted if name not in taken and not _may_stand(counted[name]["value"])]
    made = list(found.findings)
    for door in doors:
        for title in _LOOKED_FOR:
            hidden = dict.fromkeys(finding.column for finding in found.of(title) if finding.judged)
            given = tuple(name for name in hidden if _gives_away(door, name, counts, rows))
            if given:
                made = [f for f in made if (f.column, f.identifier) != (door, title)]
                made.append(_door(door, title, given, int(counted[door]["count"].sum()), found))
    return replace(found, findings=tuple(made))


def _door(column: str, title: str, given: tuple[str, ...], n: int, found: Scan) -> Finding:
    named = any(finding.by_name for finding in found.of(title) if finding.column == column)
    letter = found.of(title)[0].letter
    return Finding(
        column=column,
        letter=letter,
        identifier=title,
        by_name=named,
        by_values=True,
        n_matching=n,
        n_filled=n,
        judged=False,
        gives_away=given,
    )


def _gives_away(door: str, hidden: str, counts: Mapping[str, pl.Series], rows: Rows) -> bool:
    size = len(counts[door])
    if not 1 < len(counts[hidden]) <= size or size * _PEOPLE_EACH > rows.n_people:
        return False
    agree = float(((counts[hidden] / rows.n) ** 2).sum())  # two people at random have the same
    return (rows.n_people - size) * log(agree) < log(_ACCIDENT) and rows.n_pairs(door, hidden) == size


def _with_missing(count: pl.Series, n: int) -> pl.Series:
    missing = n - int(count.sum())
    return count.cast(pl.Int64).extend(pl.Series([missing] if missing else [], dtype=pl.Int64))


def _may_stand(values: pl.Series) -> bool:
    return is_state_or_larger(values) or are_years(values)
