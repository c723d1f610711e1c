"""Sheets of workbooks (.xlsx and its kin): one head a column, one type a column, every cell kept.

A column of numbers and texts becomes text, so no cell turns missing; a cell that holds an Excel error (``#DIV/0!``) is
refused by its place. Whole numbers become whole, dates without a time of day become dates.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError
from shoal.extras import need
from shoal.files.atomic import replacing
from shoal.files.source import check_names

__all__ = ["WORKBOOK_FORMATS", "read_workbook", "sheet_names", "write_workbook"]

WORKBOOK_FORMATS = ("xlsx", "xlsm", "xlsb", "xls", "ods")

_MOST_ROWS = 2**20 - 1
_DAY_ZERO = 1899  # the year in which a workbook's times of day without a date lie


def read_workbook(file: Path, sheet: str | None) -> tuple[pl.DataFrame, str]:
    """The table of a sheet, and the sheet's name; None: the only sheet that holds something."""
    book = _open(file)
    name = _chosen(file, book, sheet)
    owner = f"{file}, sheet '{name}'"
    names = _heads(owner, book, name)
    frame = _complete(owner, book, name)
    return pl.DataFrame({head: _plain_column(cells) for head, cells in zip(names, frame, strict=True)}), name


def write_workbook(frames: Mapping[str, pl.DataFrame], file: Path) -> None:
    """Write tables as the sheets of a new workbook, whole or not at all."""
    need("xlsxwriter", str(file), otherwise="Or hand the files of the folder on.", error=FileError)
    import xlsxwriter

    _check_workbook(frames, file)
    with replacing(file) as temporary, xlsxwriter.Workbook(str(temporary), {"strings_to_formulas": False}) as book:
        for name, frame in frames.items():
            frame.write_excel(book, worksheet=name, table_style=None, autofilter=False)


def _check_workbook(frames: Mapping[str, pl.DataFrame], file: Path) -> None:
    if file.exists():
        raise FileError(str(file), "must not exist yet", hint="Name a new file.")
    if file.suffix.lower() != ".xlsx":
        raise FileError(str(file), "must end in .xlsx")
    for name, frame in frames.items():
        if len(frame) > _MOST_ROWS:
            rule = f"can't hold the table '{name}': a sheet has at most {_MOST_ROWS:,} rows and a header"
            raise FileError(
                str(file), rule, got=f"{len(frame):,} rows", hint="Use a database, or the files themselves."
            )


def _open(file: Path) -> Any:
    for module in ("fastexcel", "pyarrow"):
        need(module, str(file), extra="formats", otherwise="Or save the sheet as CSV.", error=FileError)
    import fastexcel

    try:
        logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of columns whose type it can't tell
        return fastexcel.read_excel(file)
    except Exception:  # the library's message may quote cells
        hint = "It may be damaged, of another format, or locked by a password. Save it again, or save the sheet as CSV."
        raise FileError(str(file), "must be an intact workbook", hint=hint) from None


def sheet_names(file: Path) -> list[str]:
    """The sheets of a workbook."""
    return list(_open(file).sheet_names)


def _chosen(file: Path, book: Any, sheet: str | None) -> str:
    names = book.sheet_names
    if sheet is not None and sheet not in names:
        raise InputError(str(file), f"has no sheet '{sheet}'", hint=f"It has: {', '.join(names)}.")
    if sheet is not None:
        return sheet
    filled = [name for name in names if book.load_sheet(name, header_row=None, n_rows=1).width]
    if len(filled) != 1:
        got = f"{len(filled)} sheets that hold something"
        hint = f"Choose one (--sheet): {', '.join(filled)}." if filled else "All sheets are empty."
        raise InputError(str(file), "sheet must be given unless only one holds data", got=got, hint=hint)
    return str(filled[0])


def _heads(owner: str, book: Any, sheet: str) -> list[str]:
    top = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    if not top.width:
        raise InputError(owner, "must hold a header row and data rows", got="an empty sheet")
    names = [name or "" for name in top.row(0)]
    empty = [place for place, name in enumerate(names) if not name.strip()]
    if empty:
        raise InputError(
            owner,
            "every column must have its own name in the first row",
            got=f"none for {len(empty)} of {len(names)}, the first in column {_letters(empty[0])}",
            hint="Split merged header cells, give each column a name, and remove titles above the header row.",
        )
    check_names(owner, names)
    return names


def _complete(owner: str, book: Any, sheet: str) -> pl.DataFrame:
    """The rows; a column in which the guess of one type would lose cells is read as text."""
    loaded = book.load_sheet(sheet, schema_sample_rows=None)
    lost = _lost(loaded)
    if lost:
        texts = dict.fromkeys(sorted({column for _, column in lost}), "string")
        loaded = book.load_sheet(sheet, schema_sample_rows=None, dtypes=texts)
    frame: pl.DataFrame = loaded.to_polars()
    for row, column in lost:
        if frame[row, column] is None:
            place = f"an error in cell {_letters(column)}{row + 2}"
            raise InputError(owner, "must hold no cell with an error", got=place, hint="Correct or clear that cell.")
    return frame


def _lost(loaded: Any) -> list[tuple[int, int]]:
    """The cells (row, column) that don't fit their column's type, which the library would leave out."""
    _, faults = loaded.to_arrow_with_errors()
    return [] if faults is None else [tuple(fault.offset_position) for fault in faults.errors]


def _plain_column(column: pl.Series) -> pl.Series:
    """A workbook knows one sort of number and one sort of date: take the narrower where it loses nothing."""
    known = column.drop_nulls()
    if column.dtype.is_float() and len(known) and (known == known.round()).all() and known.abs().max() < 2**53:  # type: ignore[operator]
        return column.cast(pl.Int64)
    if isinstance(column.dtype, pl.Datetime) and len(known):
        if (known.dt.year() == _DAY_ZERO).all():
            return column.dt.time()
        if (known == known.dt.truncate("1d")).all():
            return column.dt.date()
    return column.replace("", None) if column.dtype == pl.String else column


def _letters(place: int) -> str:
    """A column's letters, as a workbook shows them: A, B, ... Z, AA."""
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)
