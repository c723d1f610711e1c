"""Tables by the ending of their file's name: read with what was found out, written whole or not at all.

A folder or pattern of files holds parts of one table: all files must be of one format and have the same columns; a
column that one of them lacks is named. Types are told from all files together, so that a code with a leading zero in
the last file leaves the column text in all.

Standard input is Arrow (file or stream), told by its first bytes, or else delimited text.
"""

from __future__ import annotations

import glob
import hashlib
import io
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError, ParameterError
from shoal.files.atomic import FilePath, check_readable, replacing, reporting, sha256
from shoal.files.column_types import in_seconds, with_dates
from shoal.files.delimited import TextOptions, delimited, read_delimited
from shoal.files.source import Labels, Source, check_names, is_database
from shoal.files.statistical import read_statistical, write_statistical
from shoal.files.workbook import WORKBOOK_FORMATS, read_workbook
from shoal.value import Level

__all__ = [
    "arrow_frame",
    "files_at",
    "is_many",
    "read_many",
    "read_source",
    "read_stdin",
    "read_table",
    "write_table",
]

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
    codes: Mapping[str, Collection[Level]] | Collection[str] | None = (),
    sheet: str | None = None,
    sql: str | None = None,
    timeout: float | None = None,
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
        Columns with the form of their dates or times of day, ``"DD.MM.YYYY"``: see
        `shoal.files.column_types`. ISO dates need none.
    codes
        Columns of a statistical file whose codes for an absence are read as they are, for the schema to say what they
        mean: user-missing values of SPSS, the marks ``.a`` to ``.z`` of Stata and SAS (then the numbers beside them
        are texts). None: all columns. In all others they are null. A mapping of columns to their codes also says what
        stands beside the dates of a column that `formats` names.
    sheet
        Which sheet of a workbook. None: the only one that holds something.
    sql
        The query to a database: SQLite (a file or ``sqlite:///FILE``), PostgreSQL (``postgresql://USER@HOST/NAME``)
        or DuckDB (a file ending in .duckdb).
    timeout
        Seconds after which a query is given up, with an error. None: 15 minutes.
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
    numbers. In statistical files system-missing and user-missing codes are null (but see `codes`), and so is an empty
    text; a column that holds only whole numbers is whole. An unnamed pandas index in a Parquet file is no column.

    Cost: linear in the size of the file; delimited text is held in memory about three times over while it is read.
    """
    marks = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "thousands": thousands}
    options = TextOptions(**marks, text=frozenset(text))
    place = str(path)
    if sql is not None or is_database(place):
        source = _queried(place, sql, timeout)
    elif place == "-":
        source = read_stdin(options)
    elif is_many(place):
        source = read_many(place, lambda file, texts: _read_file(file, _with_text(options, texts), sheet, keep, codes))
    else:
        source = _read_file(Path(path), options, sheet, keep, codes)
    frame = in_seconds(source.frame if keep is None else _kept(place, source.frame, keep))
    beside = codes if isinstance(codes, Mapping) else None
    return replace(source, frame=with_dates(frame, formats, beside) if formats else frame)


def _queried(place: str, sql: str | None, timeout: float | None) -> Source:
    if sql is None:
        raise ParameterError("--sql", "must be given to read from a database", hint="For example: SELECT * FROM people")
    from shoal.files.database import read_query  # SQLAlchemy takes a third of a second to load

    return read_query(place, sql, timeout=timeout)


def _with_text(options: TextOptions, texts: frozenset[str]) -> TextOptions:
    return replace(options, text=options.text | texts)


def _read_file(
    file: Path,
    options: TextOptions,
    sheet: str | None,
    keep: Callable[[str], bool] | None,
    codes: Collection[str] | None,
) -> Source:
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
        frame, labels = read_statistical(file, ending, options.encoding, keep, codes)
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


_EXACT = 2**53


def is_many(path: str) -> bool:
    """Whether `path` is a folder or a pattern (``visits/*.csv``) rather than one file."""
    return Path(path).is_dir() or (glob.has_magic(path) and not Path(path).exists())


def read_many(path: str, read: Callable[[Path, frozenset[str]], Source]) -> Source:
    """The rows of all files in order of their names; `read` reads one, leaving some columns as text."""
    files = files_at(path)
    parts = [read(file, frozenset()) for file in files]
    _check_alike(path, files, parts)
    texts = _undecided([part.frame for part in parts])
    if texts:
        parts = [read(file, texts) for file in files]
    digest = hashlib.sha256()
    for file, part in zip(files, parts, strict=True):
        digest.update(f"{file.name}\n{part.sha256}\n".encode())
    frame = _joined(path, [part.frame for part in parts])
    return replace(parts[0], frame=frame, path=path, sha256=digest.hexdigest(), single=False)


def files_at(path: str) -> list[Path]:
    """The files of a folder or pattern in order of their names; hidden ones are left out."""
    folder = Path(path)
    found = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(path, recursive=True))
    files = sorted(file for file in found if file.is_file() and not file.name.startswith("."))
    if not files:
        raise FileError(path, "must be a folder or a pattern with at least one file", hint="Check the path.")
    return files


def _check_alike(path: str, files: Sequence[Path], parts: Sequence[Source]) -> None:
    formats = {part.format: file for file, part in zip(files, parts, strict=True)}
    if len(formats) > 1:
        got = " and ".join(f".{ending} ({file.name})" for ending, file in list(formats.items())[:2])
        raise InputError(path, "must hold files of one format", got=got, hint="Use a pattern, such as FOLDER/*.csv.")
    for file, part in zip(files, parts, strict=True):
        _check_columns(files[0], parts[0].frame.columns, file, part.frame.columns)
        _check_columns(file, part.frame.columns, files[0], parts[0].frame.columns)


def _check_columns(one: Path, names: Sequence[str], other: Path, others: Sequence[str]) -> None:
    absent = [name for name in names if name not in others]
    if absent:
        raise InputError(
            str(other),
            f"column '{absent[0]}' is missing, but present in {one.name}",
            got=f"{len(absent)} columns missing" if len(absent) > 1 else "",
            hint="Give all files the same columns, or use a pattern that excludes this one.",
        )


def _undecided(frames: Sequence[pl.DataFrame]) -> frozenset[str]:
    """The columns that have one type in one file and another in the next, and that no number type holds."""
    return frozenset(name for name in frames[0].columns if _common(_kinds(frames, name), frames, name) is None)


def _kinds(frames: Sequence[pl.DataFrame], name: str) -> set[pl.DataType]:
    """The types of a column in the files that have a value in it."""
    kinds = {frame[name].dtype for frame in frames if frame[name].null_count() < len(frame)}
    return kinds or {frames[0][name].dtype}


def _common(kinds: set[pl.DataType], frames: Sequence[pl.DataFrame], name: str) -> pl.DataType | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    if not all(kind.is_numeric() for kind in kinds):
        return None
    whole = [frame[name] for frame in frames if frame[name].dtype.is_integer()]
    return pl.Float64() if all((part.abs().max() or 0) < _EXACT for part in whole) else None  # type: ignore[operator]


def _joined(path: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    names = frames[0].columns
    types = {name: _common(_kinds(frames, name), frames, name) for name in names}
    odd = [name for name, kind in types.items() if kind is None]
    if odd:
        rule = f"column '{odd[0]}' must be of one type in all files"
        raise InputError(path, rule, hint="Write the files again with the same types.")
    return pl.concat([frame.select(pl.col(name).cast(types[name]) for name in names) for frame in frames])  # type: ignore[arg-type]


_OWNER = "standard input"
_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"


def read_stdin(options: TextOptions) -> Source:
    """Read the whole of standard input."""
    if sys.stdin.isatty():
        raise InputError(
            _OWNER, "must be a file or a pipe", got="a terminal", hint="For example: shoal ... - < people.csv"
        )
    data = sys.stdin.buffer.read()
    if not data.startswith((_FILE, _STREAM)):
        return replace(read_delimited(Path(_OWNER), "csv", data, options), path="-", single=False)
    frame = arrow_frame(_OWNER, data)
    check_names(_OWNER, frame.columns)
    digest = hashlib.sha256(data).hexdigest()
    return Source(frame=frame, path="-", format="arrow", labels=None, sha256=digest, single=False)


def arrow_frame(owner: str, data: bytes) -> pl.DataFrame:
    """The table of an Arrow IPC file or stream."""
    read = pl.read_ipc_stream if data.startswith(_STREAM) else pl.read_ipc
    try:
        return read(io.BytesIO(data))
    except Exception:  # the library's message may quote cells
        raise FileError(owner, "must be an intact Arrow file or stream", hint="Write it again.") from None
