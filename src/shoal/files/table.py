"""Tables by the ending of their file's name: read with what was found out, written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError, ParameterError
from shoal.files.atomic import FilePath, check_readable, replacing, reporting, sha256
from shoal.files.database import is_database, read_query
from shoal.files.dates import with_dates
from shoal.files.delimited import TextOptions, delimited, read_delimited
from shoal.files.folder import is_many, read_many
from shoal.files.source import Labels, Source, check_names
from shoal.files.statistical import read_statistical, write_statistical
from shoal.files.stream import arrow_frame, read_stdin
from shoal.files.workbook import WORKBOOK_FORMATS, read_workbook

__all__ = ["read_source", "read_table", "write_table"]

TEXT_FORMATS = ("csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz", "zip")
ARROW_FORMATS = ("arrow", "feather", "ipc")
STATISTICAL_FORMATS = ("sas7bdat", "xpt", "ssp", "dta", "sav", "zsav")
WRITTEN_FORMATS = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet", "dta", "sav", "zsav", "xpt")


def read_table(path: FilePath, **options: Any) -> pl.DataFrame:
    """Read a table from a file; the format is told from the file's ending. See `read_source` for the options.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("zip;age\\n01301;34\\n;51\\n")
    >>> shoal.read_table(folder / "people.csv").rows()
    [('01301', 34), (None, 51)]
    """
    return read_source(path, **options).frame


def read_source(
    path: FilePath,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    text: Collection[str] = (),
    formats: Mapping[str, str] | None = None,
    sheet: str | None = None,
    sql: str | None = None,
    keep: Callable[[str], bool] | None = None,
) -> Source:
    """Read a table together with its format, labels and digest.

    Parameters
    ----------
    path
        A file ending in .csv, .tsv, .txt (each also .gz, or alone in a .zip), .parquet, .arrow, .xlsx, .xls, .ods,
        .sas7bdat, .xpt, .ssp, .dta, .sav or .zsav; a folder or a pattern (``visits/*.csv``) of files with the same
        columns; ``"-"``, standard input with CSV or Arrow; or, with `sql`, a database.
    delimiter
        What separates the cells of delimited text. None: comma, semicolon, tab or bar, whichever gives every line
        the same number of cells.
    encoding
        How letters are coded. None: UTF-8 or UTF-16 if the bytes are valid so, else Windows-1252.
    decimal
        ``"."`` or ``","``: the decimal mark of delimited text. None: a comma if it does not separate the cells, some
        column surely has it (``1,5``; ``1,234`` proves nothing) and no column is of numbers with a point.
    thousands
        What groups the digits of delimited text (``1.234.567``). None: nothing does, and such cells are text.
    text
        Names of columns of delimited text to leave as text, whatever their cells look like.
    formats
        Columns with the form of their dates or times of day, ``"DD.MM.YYYY"``: see `shoal.files.dates`. ISO dates
        need none.
    sheet
        Which sheet of a workbook. None: the only one that holds something.
    sql
        The query to a database: SQLite (a file or ``sqlite:///FILE``), PostgreSQL (``postgresql://USER@HOST/NAME``)
        or DuckDB (a file ending in .duckdb).
    keep
        Says of a column's name whether to read it. None: all. Wide statistical files are read much faster so.

    Raises
    ------
    FileError
        The file can't be read, or is not what its ending says; the database is out of reach.
    InputError
        A line has too many or too few cells, a column name is missing or repeated, files differ in their columns, or
        a query returns nothing.
    ColumnError
        A column has a form of dates and holds something else.

    Notes
    -----
    Missing cells: an empty cell is null. In a column of numbers a blank cell is null too, and ``NaN`` and ``inf`` are
    numbers. In statistical files system-missing and user-missing codes are null, and so is an empty text; a column
    that holds only whole numbers is whole. An unnamed pandas index stored in a Parquet file is no column.

    Cost: linear in the size of the file; delimited text is held in memory about three times over while it is read.
    """
    marks = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "thousands": thousands}
    options = TextOptions(**marks, text=frozenset(text))
    place = str(path)
    if sql is not None or is_database(place):
        source = _queried(place, sql)
    elif place == "-":
        source = read_stdin(options)
    elif is_many(place):
        source = read_many(place, lambda file, texts: _read_file(file, _with_text(options, texts), sheet, keep))
    else:
        source = _read_file(Path(path), options, sheet, keep)
    frame = source.frame if keep is None else _kept(place, source.frame, keep)
    return replace(source, frame=with_dates(frame, formats) if formats else frame)


def _queried(place: str, sql: str | None) -> Source:
    if sql is None:
        raise ParameterError("--sql", "must be given to read from a database", hint="For example: SELECT * FROM people")
    return read_query(place, sql)


def _with_text(options: TextOptions, texts: frozenset[str]) -> TextOptions:
    return replace(options, text=options.text | texts)


def _read_file(file: Path, options: TextOptions, sheet: str | None, keep: Callable[[str], bool] | None) -> Source:
    ending = _ending(file)
    check_readable(file)
    if sheet is not None and ending not in WORKBOOK_FORMATS:
        raise ParameterError("--sheet", "must be omitted unless the file is a workbook")
    if ending in TEXT_FORMATS:
        with reporting(file):
            return read_delimited(file, ending, file.read_bytes(), options)
    if options.delimiter is not None:
        raise ParameterError("read_table", "delimiter must be omitted unless the file is delimited text")
    labels, found = None, None
    if ending in WORKBOOK_FORMATS:
        frame, found = read_workbook(file, sheet)
    elif ending in STATISTICAL_FORMATS:
        frame, labels = read_statistical(file, ending, options.encoding, keep)
    else:
        frame = _read_parquet(file) if ending == "parquet" else _read_arrow(file)
    check_names(str(file), frame.columns)
    return Source(frame=frame, path=str(file), format=ending, labels=labels, sha256=sha256(file), sheet=found)


def write_table(
    frame: pl.DataFrame,
    path: FilePath,
    *,
    labels: Labels | None = None,
    delimiter: str | None = None,
) -> None:
    """Write `frame` to `path`, whole or not at all; the format is told from the file's ending.

    Parameters
    ----------
    frame
        The table. Columns of categories are written as texts, so no category that occurs in no row goes along.
    path
        A file ending in .csv, .tsv (each also .gz), .parquet, .dta, .sav, .zsav or .xpt.
    labels
        Variable and value labels for .dta, .sav and .zsav; .xpt holds variable labels only; the others hold none.
    delimiter
        What separates the cells of delimited text. None: a tab in .tsv files, a comma elsewhere.

    Notes
    -----
    Missing cells: null and NaN are written as an empty cell or the format's own mark (Parquet keeps both apart). In
    delimited and statistical files an empty text is the same as a missing one when it is read again.

    Numbers come back exactly as they were; one that a format can't hold is an error.
    """
    file, ending = Path(path), _ending(path)
    if ending not in WRITTEN_FORMATS:
        known = ", ".join(WRITTEN_FORMATS)
        raise FileError(str(file), f"can't be written as .{ending}", hint=f"Supported formats: {known}.")
    TextOptions(delimiter=delimiter)  # checks it
    plain = _plain(frame, str(file))
    with replacing(file) as temporary:
        if ending == "parquet":
            plain.write_parquet(temporary)
        elif ending in STATISTICAL_FORMATS:
            write_statistical(plain, file, temporary, ending, labels or Labels())
        else:
            temporary.write_bytes(delimited(plain, ending, delimiter))


def _ending(path: FilePath) -> str:
    known = {*TEXT_FORMATS, *ARROW_FORMATS, *WORKBOOK_FORMATS, *STATISTICAL_FORMATS, "parquet"}
    parts = Path(path).name.lower().split(".")[1:]
    for ending in (".".join(parts[-2:]), ".".join(parts[-1:])):
        if ending in known:
            return ending
    hint = (
        "Supported extensions: .csv, .tsv, .txt (also .gz, .zip), .parquet, .arrow, .xlsx, .sas7bdat, .xpt, .dta, .sav."
    )
    raise FileError(str(path), "file extension must be a supported format", got=_quoted_ending(parts), hint=hint)


def _quoted_ending(parts: list[str]) -> str:
    return f"'.{parts[-1]}'" if parts else "none"


def _kept(place: str, frame: pl.DataFrame, keep: Callable[[str], bool]) -> pl.DataFrame:
    names = [name for name in frame.columns if keep(name)]
    if not names:
        raise InputError(place, "must hold at least one of the requested columns")
    return frame.select(names)


def _read_parquet(file: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(file, glob=False, hive_partitioning=False)
    except pl.exceptions.DuplicateError:
        raise InputError(str(file), "column names must be unique", hint="Rename one of them.") from None
    except Exception:  # the library's message may quote cells
        raise FileError(str(file), "must be an intact Parquet file", hint="Write it again.") from None
    return frame.drop([name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)])


def _read_arrow(file: Path) -> pl.DataFrame:
    with reporting(file):
        return arrow_frame(str(file), file.read_bytes())


def _plain(frame: pl.DataFrame, owner: str) -> pl.DataFrame:
    """Keep the cells and nothing else: a type of categories would carry those that occur in no row."""
    check_names(owner, frame.columns)
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
            raise InputError(owner, f"column '{name}' must hold numbers, text, dates or true/false to be written")
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
