"""Who is who in a table, so that the same people are known again next year, and the same file under another name.

People are told apart by the unit or identifier that the schema names, whole numbers and texts alike ("7" is 7), or,
where there is none that is complete, by everything their row holds. A row without its identifier is a person of its
own.

A *sketch* is the 256 smallest keyed hashes of a table's rows. The share of hashes that two sketches have in common
estimates the share of rows that two tables have in common, so that a copy, a renamed file or one with a row appended is
recognised without keeping any row (bottom-k sketches, Cohen 1997).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, distinct_numbers
from shoal.canonical import plain
from shoal.errors import ColumnError, InputError
from shoal.frame import Frame, series
from shoal.register.column_sketches import ColumnSketches, RowSketch, row_contents
from shoal.register.person_marks import row_hashes, text_hashes
from shoal.schema import Schema

__all__ = ["SKETCH", "Known", "TableSketch", "Who", "in_common", "readable", "sketch_of", "without_identifiers"]

SKETCH = 256
"""How many hashes a sketch has."""
_SAME = 0.5  # share of rows in common from which a table is taken for the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """By what people are told apart.

    Parameters
    ----------
    columns
        The column, or all columns of the row.
    is_identifier
        Whether it is one column that names a person.
    """

    columns: tuple[str, ...]
    is_identifier: bool

    @classmethod
    def of(cls, frame: Frame, schema: Schema) -> Who:
        """The unit; else the first identifier that is complete and different for everybody; else the row."""
        if schema.unit is not None:
            return cls(columns=(schema.unit,), is_identifier=True)
        named = [
            column.name for column in schema.columns if column.role == "identifier" and column.name in frame.columns
        ]
        for name in named:
            if _tells_apart(frame, name):
                return cls(columns=(name,), is_identifier=True)
        return cls(columns=tuple(sorted(frame.columns)), is_identifier=False)

    def marks(self, key: bytes, frame: Frame, texts: Sequence[str] | None = None) -> AnyArray:
        """The mark of each row's person; `texts` are its rows as written, where somebody has written them before."""
        self.require(frame.columns)
        n = len(frame)
        if texts is not None and self.columns == tuple(sorted(frame.columns)) and not self.is_identifier:
            return text_hashes(key, "person", texts, numbered=True)
        rows = readable(frame, self.columns)
        if not self.is_identifier:
            return row_hashes(key, "person", rows, n, numbered=True)
        marks = row_hashes(key, "person", rows.select(pl.all().cast(pl.String, strict=False)), n)
        nobody = rows.to_series().is_null().to_numpy()
        if nobody.any():
            marks = marks.copy()
            alone = row_hashes(key, "nobody", readable(frame, frame.columns), n, numbered=True)
            marks[nobody] = alone[nobody]
        return marks

    def require(self, columns: Sequence[str]) -> None:
        """An InputError where a table lacks what people of the data set are told apart by."""
        missing = [name for name in self.columns if name not in columns]
        if missing:
            raise InputError(
                "register",
                f"people of this data set are told apart by {self}, and the table has no column '{missing[0]}'",
                hint="Add it, or enter the table as another data set if these are other people.",
            )

    def __str__(self) -> str:
        return f"column '{self.columns[0]}'" if self.is_identifier else "everything in their row"

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"columns": list(self.columns), "is_identifier": self.is_identifier}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Who:
        """Read it from the words of `to_dict`."""
        return cls(columns=tuple(words["columns"]), is_identifier=bool(words["is_identifier"]))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Known:
    """The people of a table as the register knows them.

    Parameters
    ----------
    who
        By what they are told apart.
    marks
        The person of each row.
    rows, people
        Sketches of the table's rows and of its people.
    contents, columns
        Sketches of its rows and columns without identifiers (`shoal.register.column_sketches`).
    recognised
        How the data set was found, in words; empty where it was named.
    resembles
        A data set whose people have the same identifiers, where none was named or found; empty: there is none.
    """

    who: Who
    marks: AnyArray
    rows: tuple[str, ...]
    people: tuple[str, ...]
    contents: RowSketch
    columns: ColumnSketches
    recognised: str = ""
    resembles: str = ""

    def resembles_table(self, words: Mapping[str, Any]) -> bool:
        """Whether the table of an earlier release may be of the same people."""
        sketches = words["sketch"]
        same_who = self.who.is_identifier and Who.from_dict(words["who"]) == self.who
        if same_who and in_common(self.people, sketches["people"]) >= _SAME:
            return True
        return self.columns.resemble(ColumnSketches.from_dict(sketches.get("columns", {})))

    def to_dict(self) -> dict[str, Any]:
        """What is kept of it beside the marks of a release."""
        sketches: dict[str, Any] = {"rows": list(self.rows), "people": list(self.people)}
        sketches |= {"contents": self.contents.to_dict(), "columns": self.columns.to_dict()}
        return {"who": self.who.to_dict(), "sketch": sketches}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableSketch:
    """A table under the key of a register, before anybody has said who its people are.

    Parameters
    ----------
    rows
        The sketch of its rows.
    contents
        The hashes of its rows without identifiers, or the smallest of them.
    columns
        The sketches of its columns.
    """

    rows: tuple[str, ...]
    contents: AnyArray
    columns: ColumnSketches

    @classmethod
    def of(cls, key: bytes, texts: Sequence[str], rest: pl.DataFrame) -> TableSketch:
        """Make it from rows as written, and the columns that are no identifiers."""
        return cls(
            rows=sketch_of(text_hashes(key, "row", texts, numbered=True)),
            contents=row_contents(key, rest, len(texts)),
            columns=ColumnSketches.of(key, rest),
        )

    def is_of(self, sketches: Mapping[str, Any]) -> bool:
        """Whether it has at least half of its rows in common with the table of an earlier release."""
        if in_common(self.rows, sketches["rows"]) >= _SAME:
            return True
        nobody = np.zeros((len(self.contents), 2), dtype=np.uint64)
        return RowSketch.of(self.contents, nobody).is_of(RowSketch.from_dict(sketches.get("contents", {})))


def _tells_apart(frame: Frame, name: str) -> bool:
    try:
        content = series(frame, name)
    except ColumnError:  # mixed types, which nothing reads
        return False
    return content.null_count() == 0 and content.n_unique() == len(content)


def readable(frame: Frame, names: Sequence[str]) -> pl.DataFrame:
    """Columns in plain types; one of mixed types is left out."""
    found = []
    for name in sorted(names):
        try:
            found.append(plain(series(frame, name)).alias(name))
        except ColumnError:
            continue
    return pl.DataFrame(found)


def without_identifiers(columns: Sequence[str], schema: Schema) -> list[str]:
    """The columns that say something of people beside who they are."""
    hidden = {c.name for c in schema.columns if c.role in ("identifier", "unit") or c.pseudonym}
    return [name for name in columns if name not in hidden]


def sketch_of(hashes: AnyArray) -> tuple[str, ...]:
    """The smallest hashes, in hexadecimal."""
    return tuple(f"{int(one):016x}" for one in distinct_numbers(hashes[:, 0])[:SKETCH])


def in_common(first: Sequence[str], second: Sequence[str]) -> float:
    """About which share of the rows of two tables together is in both."""
    smallest = sorted({*first, *second})[:SKETCH]
    both = set(first) & set(second)
    return sum(one in both for one in smallest) / len(smallest) if smallest else 0.0
