"""Whose rows are whose: what the rows of a table count as, and what is still to be settled.

Rows are *people* once somebody has said so: a unit column says which rows are one person's, the schema says what equal
rows are (``repeats``), or an identifier that differs in every row numbers people, and no row comes again. Until then
they are *rows*, on every face. What leaves goes by the schema alone, so that nobody who was left out shows in a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import polars as pl

from shoal.errors import ColumnError
from shoal.frame import Frame, series
from shoal.record import Record
from shoal.schema.column import NAMING
from shoal.schema.repeats import Repeats, repeats_of
from shoal.schema.schema import EQUAL_ROWS, Schema

__all__ = [
    "REMEDY",
    "Noun",
    "WhoseRows",
    "assumed_of_rows",
    "crowds_count",
    "readable",
    "rows_count_as",
    "settled_by",
    "whose_rows",
]

Noun = Literal["people", "rows"]

REMEDY = 'repeats = "same person" or "different people"'
"""How a schema settles it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoseRows(Record):
    """What rows of a table count as, and how often they repeat. About the whole table: internal.

    Parameters
    ----------
    counts
        What a row stands for.
    repeats
        How often rows repeat; None where a unit says whose they are.
    settled
        Whether somebody has said who is a person.
    """

    counts: Noun
    repeats: Repeats | None
    settled: bool

    @property
    def crowd(self) -> Noun:
        """What k counts: people too where a person may have several rows and somebody has said which."""
        return "people" if self.settled else "rows"

    @property
    def asked(self) -> bool:
        """Whether it is for a person to say if equal rows are the same person's."""
        return self.repeats is not None and self.repeats.beyond_chance and not self.settled

    @property
    def question(self) -> str:
        """What is asked, with the number of rows; nothing where rows repeat no more than chance would have it."""
        return f"{self.repeats}: the same person twice?" if self.asked else ""

    @property
    def warning(self) -> str:
        """What is said first of a release as long as it isn't settled."""
        return f"{self.question} Rows are counted, not people. Settle it in the schema: {REMEDY}." if self.asked else ""


def rows_count_as(schema: Schema) -> Noun:
    """What a row stands for by the schema alone: people only where it says that each has one row."""
    return "people" if schema.repeats == "different people" else "rows"


def crowds_count(schema: Schema) -> Noun:
    """What k counts by the schema alone."""
    return "people" if schema.counts_persons else rows_count_as(schema)


def whose_rows(frame: Frame, schema: Schema) -> WhoseRows:
    """Settle what rows count as, by the schema and by what the table shows.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.frame import enter
    >>> from shoal.schema.whose_rows import whose_rows
    >>> table = enter(pl.DataFrame({"name": ["Ada", "Ben", "Cleo"], "age": [30, 30, 41]}))
    >>> whose_rows(table, shoal.Schema.of(identifier=["name"], quasi=["age"])).counts
    'people'
    >>> whose_rows(table, shoal.Schema.of(quasi=["age"], other=["name"])).counts
    'rows'
    """
    if schema.unit is not None and schema.unit != EQUAL_ROWS:
        return WhoseRows(counts="rows", repeats=None, settled=True)
    return settled_by(schema, _repeats(frame, schema), any(_tells_apart(frame, name) for name in schema.identifier))


def settled_by(schema: Schema, found: Repeats, numbered: bool) -> WhoseRows:
    """Settle it by the repeats that were counted; `numbered` says that an identifier differs in every row."""
    if schema.counts_persons:
        return WhoseRows(counts="rows", repeats=found, settled=True)
    settled = schema.repeats is not None or (numbered and not found.beyond_chance)
    return WhoseRows(counts="people" if settled else "rows", repeats=found, settled=settled)


def assumed_of_rows(schema: Schema) -> list[str]:
    """What a claim takes rows to be, for people who read it without the schema; nothing where a unit says it."""
    if schema.unit == EQUAL_ROWS or schema.repeats == "same person":
        return ["Rows that are equal in all but identifiers and weight are one person's, as the schema declares."]
    if schema.unit is not None:
        return []
    if schema.repeats == "different people":
        return ["Each row is a person of its own, as the schema declares."]
    return ["Rows are counted, and nobody has said that each is a person of its own."]


def _repeats(frame: Frame, schema: Schema) -> Repeats:
    weight = schema.weight if schema.weight in frame.columns else None
    names = [c.name for c in schema.columns if c.role not in NAMING]
    return repeats_of(readable(frame, names), weight=weight)


def readable(frame: Frame, names: Sequence[str]) -> dict[str, pl.Series]:
    """Those of some columns that are there; one of mixed types, which nothing reads, is left out."""
    columns = {}
    for name in names:
        with suppress(ColumnError):
            if name in frame.columns:
                columns[name] = series(frame, name)
    return columns


def _tells_apart(frame: Frame, name: str) -> bool:
    """Whether an identifier differs in every row."""
    if name not in frame.columns:
        return False
    cells = readable(frame, [name]).get(name)
    return cells is not None and cells.null_count() == 0 and cells.n_unique() == len(cells)
