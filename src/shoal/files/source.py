"""A table that came from a file, and what was found out about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.value import Level

__all__ = ["DUCKDB", "READING", "ROW_NAMES", "Labels", "Source", "check_names", "is_database", "with_row_names"]

_SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb", ".ddb")
READING = ("delimiter", "encoding", "decimal", "thousands", "sheet", "sql")

ROW_NAMES = "row_names"
"""What a first column without a name is called: R and pandas write row numbers so."""

_INDEX_HINT = "Name it, or remove it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What the columns and their codes mean, as a statistical file or a codebook says it.

    Parameters
    ----------
    columns
        Column name to variable label.
    values
        Column name to value labels: code to meaning.
    missing
        Column name to the codes that stand for an absence: those that an SPSS file declares, the marks ``.a`` to ``.z``
        of Stata and SAS files.
    identifiers
        Columns that a codebook marks as identifying.
    codebook
        Columns of which a codebook says it, not the file itself.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()
    codebook: frozenset[str] = frozenset()

    def over(self, other: Labels | None) -> Labels:
        """These, and what `other` says where these say nothing."""
        if other is None:
            return self
        return Labels(
            columns={**other.columns, **self.columns},
            values={**other.values, **self.values},
            missing={**other.missing, **self.missing},
            identifiers=self.identifiers | other.identifiers,
            codebook=self.codebook | other.codebook,
        )

    @property
    def absences(self) -> dict[str, dict[Level, str]]:
        """The codes that stand for an absence, by column, each with its label."""
        return {
            name: {code: self.values.get(name, {}).get(code, "unknown") for code in codes}
            for name, codes in self.missing.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A table that was read, and what was found out about its file. Its repr shows no cell.

    Parameters
    ----------
    frame
        The table.
    path
        The file, folder or pattern as it was named, ``"-"`` for standard input, or the database without its password.
    format
        The file's ending without the dot, in lower case: ``"csv"``, ``"csv.gz"``, ``"parquet"``, ``"dta"``...; of a
        folder its files' ending, ``"sql"`` for a query.
    labels
        Variable and value labels; None where the format has none.
    sha256
        Digest of the file's bytes; of a folder's files with their names; of a query's rows.
    delimiter, encoding, decimal, thousands
        What separated the cells, coded the letters, marked the decimals and grouped the digits; None where the format
        is not delimited text.
    sheet, sql
        The sheet of a workbook, the query to a database.
    single
        Whether the table is one file that can be named again, as an account of its privacy budget needs.
    names_rows
        Whether the first column came without a name, and is called ``row_names``.
    """

    frame: pl.DataFrame = field(repr=False)
    path: str
    format: str
    labels: Labels | None
    sha256: str
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    sql: str | None = None
    single: bool = True
    names_rows: bool = False

    @property
    def reading(self) -> dict[str, str]:
        """The options with which `read_source` reads the same table again."""
        return {name: getattr(self, name) for name in READING if getattr(self, name) is not None}


def is_database(path: str) -> bool:
    """Whether `path` names a database: a URL, or a file with the ending of one."""
    return "://" in path or path.lower().endswith(_SQLITE + DUCKDB)


def with_row_names(names: list[str]) -> list[str]:
    """Return the names, with one for a first column that has none.

    Examples
    --------
    >>> with_row_names(["", "age", "sex"])
    ['row_names', 'age', 'sex']
    """
    return [ROW_NAMES, *names[1:]] if names and not names[0].strip() and ROW_NAMES not in names else names


def check_names(owner: str, names: list[str]) -> None:
    """Hold column names to be there and unique; if not, say where.

    Places, not names: where the header line is missing, the "names" are the first person's cells.
    """
    if not names:
        raise InputError(owner, "must have at least one column")
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(owner, "every column must have a name", got=f"none for column {place}", hint=_INDEX_HINT)
        if name in first:
            pair = f"one name for columns {first[name]} and {place}"
            raise InputError(owner, "column names must be unique", got=pair, hint="Rename one of them.")
        first[name] = place
