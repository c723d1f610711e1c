"""Marks of absence beside the numbers of Stata and SAS files: ``.a`` to ``.z``, and ``._`` of SAS.

Both programs tell absences apart by letters that no number has. In a table such a column holds texts: its numbers as
texts, and the marks in lower case with a point before them, ``.a``, for the schema to say what each means
(``missing_codes``). `with_marks` makes this form, `lettered` undoes it.

pyreadstat neither reads nor writes the marks of SAS transport files (.xpt). There a number is eight bytes, and a mark
is its letter in ASCII before seven zeros, at a place that the file's own list of variables names (SAS technical note
TS-140); `transport_marks` finds these bytes, `mark_transport` sets them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import FileError
from shoal.value import Level, canonical

__all__ = [
    "MARK",
    "bare",
    "is_marked",
    "lettered",
    "mark_transport",
    "marks_in",
    "split",
    "transport_marks",
    "with_marks",
]

MARK = r"^\.[a-z_]$"

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_")


def split(column: pl.Series) -> tuple[pl.Series, dict[int, str]]:
    """The numbers of a column of numbers and letters, as pyreadstat gives it, and the marks by row."""
    letters = {row: cell for row, cell in enumerate(column) if isinstance(cell, str)}
    numbers = pl.Series(column.name, [None if row in letters else cell for row, cell in enumerate(column)])
    return numbers, {row: f".{letter.lower()}" for row, letter in letters.items()}


def with_marks(column: pl.Series, marks: Mapping[int, str]) -> pl.Series:
    """A column of numbers as texts, with `marks` (row to mark) in their rows."""
    own = pl.Series([marks.get(row) for row in range(len(column))], dtype=pl.String)
    texts = canonical(column) if column.dtype.is_numeric() else column.cast(pl.String)
    return texts.zip_with(own.is_null(), own).alias(column.name)


def is_marked(column: pl.Series, codes: Collection[Level]) -> bool:
    """Whether a column of texts holds nothing but numbers and those of its codes that are marks."""
    marks = [code for code in codes if isinstance(code, str) and re.fullmatch(MARK, code)]
    if column.dtype != pl.String or not marks:
        return False
    others = column.set(column.is_in(marks).fill_null(False), None)
    return others.cast(pl.Float64, strict=False).null_count() == others.null_count()


def bare(column: pl.Series) -> pl.Series:
    """The numbers of a column that `is_marked`; whole ones as such."""
    numbers = column.cast(pl.Float64, strict=False)
    return numbers.cast(pl.Int64) if bool((numbers == numbers.round()).all()) else numbers


def marks_in(column: pl.Series) -> list[str]:
    """The marks that occur in a column."""
    return column.filter(column.str.contains(MARK)).unique().sort().to_list()


def lettered(column: pl.Series) -> pl.Series:
    """The column as pyreadstat writes it: numbers, and the letters of the marks."""
    cells = zip(column, bare(column), strict=True)
    mixed = [text[1] if number is None and text is not None else number for text, number in cells]
    return pl.Series(column.name, mixed, dtype=pl.Object)


# Transport files of SAS


def transport_marks(file: Path, names: Collection[str], n: int) -> dict[str, dict[int, str]]:
    """The marks in columns of a transport file of `n` rows: by column and row."""
    data = np.fromfile(file, dtype=np.uint8)
    start, width, places = _layout(file, data.tobytes()[: 80 * 4096])
    rows = data[start : start + n * width].reshape(n, width)
    found = {name: _marks(rows[:, places[name] : places[name] + 8]) for name in names if name in places}
    return {name: marks for name, marks in found.items() if marks}


def _marks(cells: Any) -> dict[int, str]:
    is_mark = (cells[:, 1:] == 0).all(axis=1) & np.isin(cells[:, 0], list(_LETTERS))
    return {int(row): f".{chr(cells[row, 0]).lower()}" for row in np.flatnonzero(is_mark)}


def mark_transport(file: Path, columns: Mapping[str, pl.Series]) -> None:
    """Set the marks of `columns` in a transport file that has them missing."""
    data = np.fromfile(file, dtype=np.uint8)
    start, width, places = _layout(file, data.tobytes())
    for name, column in columns.items():
        for row in column.str.contains(MARK).fill_null(False).arg_true():
            data[start + row * width + places[name]] = ord(column[row][1].upper())
    data.tofile(file)


def _layout(file: Path, head: bytes) -> tuple[int, int, dict[str, int]]:
    """Where the first row begins, the width of a row, and where in it each column of numbers lies."""
    variables = re.search(rb"HEADER RECORD\*{7}(?:NAMESTR|NAMSTV8) HEADER RECORD!{7}\d{6}(\d{4})", head)
    size = re.search(rb"HEADER RECORD\*{7}MEMB(?:ER|V8) +HEADER RECORD!{7}\d{26}(\d{4})", head)
    rows = re.search(rb"HEADER RECORD\*{7}OBS(?:V8)? +HEADER RECORD!{7}.{32}", head)
    if variables is None or size is None or rows is None:
        raise FileError(str(file), "must be an intact SAS transport file", hint="Write it again.")
    first, step = variables.start() + 80, int(size[1])
    entries = [head[first + step * i : first + step * (i + 1)] for i in range(int(variables[1]))]
    numeric = dict(_place(entry) for entry in entries if _short(entry, 0) == 1)
    return rows.start() + 80, sum(_short(entry, 4) for entry in entries), numeric


def _short(entry: bytes, at: int) -> int:
    return int(struct.unpack_from(">h", entry, at)[0])


def _place(entry: bytes) -> tuple[str, int]:
    """Name of a variable, and where in a row it lies."""
    longer = entry[88:120].rstrip(b" \0")
    name = (longer or entry[8:16]).decode("latin-1").strip()
    return name, int(struct.unpack_from(">i", entry, 84)[0])
