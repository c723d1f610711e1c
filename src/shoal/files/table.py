"""Tables by the ending of their file's name: read with what was found out, written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.errors import FileError, InputError, ParameterError
from shoal.files.atomic import FilePath, check_readable, replacing, sha256
from shoal.files.delimited import delimited, read_delimited
from shoal.files.source import Labels, Source, check_names
from shoal.files.statistical import read_statistical, write_statistical

__all__ = ["read_source", "read_table", "write_table"]

TEXT_FORMATS = ("csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz")
STATISTICAL_FORMATS = ("sas7bdat", "xpt", "ssp", "dta", "sav", "zsav")
WRITTEN_FORMATS = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet", "dta", "sav", "zsav", "xpt")


def read_table(
    path: FilePath,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    text: Collection[str] = (),
) -> pl.DataFrame:
    """Read a table from a file; the format is told from the file's ending. See `read_source`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("zip;age\\n01301;34\\n;51\\n")
    >>> shoal.read_table(folder / "people.csv").rows()
    [('01301', 34), (None, 51)]
    """
    return read_source(path, delimiter=delimiter, encoding=encoding, decimal=decimal, text=text).frame


def read_source(
    path: FilePath,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    text: Collection[str] = (),
    keep: Callable[[str], bool] | None = None,
) -> Source:
    """Read a table together with its format, labels and digest.

    Parameters
    ----------
    path
        A file ending in .csv, .tsv, .txt (each also .gz), .parquet, .sas7bdat, .xpt, .ssp, .dta, .sav or .zsav.
    delimiter
        What separates the cells of delimited text. None: comma, semicolon, tab or bar, whichever gives every line
        the same number of cells.
    encoding
        How letters are coded. None: UTF-8 or UTF-16 if the bytes are valid so, else Windows-1252.
    decimal
        ``"."`` or ``","``: the decimal mark of delimited text.
    text
        Names of columns of delimited text to leave as text, whatever their cells look like.
    keep
        Says of a column's name whether to read it. None: all. Wide statistical files are read much faster so.

    Raises
    ------
    FileError
        The file can't be read, or is not what its ending says.
    InputError
        A line has too many or too few cells, or a column name is missing or repeated.

    Notes
    -----
    Missing cells: an empty cell is null. In a column of numbers a blank cell is null too, and ``NaN`` and ``inf`` are
    numbers. In statistical files system-missing and user-missing codes are null, and so is an empty text; a column
    that holds only whole numbers is whole. An unnamed pandas index stored in a Parquet file is no column.

    Cost: linear in the size of the file; delimited text is held in memory about three times over while it is read.
    """
    file, ending = Path(path), _ending(path)
    _check_options(delimiter, decimal)
    check_readable(file)
    if ending in TEXT_FORMATS:
        source = read_delimited(file, ending, delimiter, encoding, decimal, frozenset(text))
        return source if keep is None else replace(source, frame=_kept(file, source.frame, keep))
    if delimiter is not None:
        raise ParameterError("read_table", "delimiter must be left out for a file that is not delimited text")
    if ending == "parquet":
        frame, labels = _read_parquet(file), None
    else:
        frame, labels = read_statistical(file, ending, encoding, keep)
    check_names(str(file), frame.columns)
    frame = frame if keep is None else _kept(file, frame, keep)
    return Source(frame=frame, path=str(file), format=ending, labels=labels, sha256=sha256(file))


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
        raise FileError(str(file), f"can't be written as .{ending}", hint=f"Formats that can: {known}.")
    _check_options(delimiter, ".")
    plain = _plain(frame, str(file))
    with replacing(file) as temporary:
        if ending == "parquet":
            plain.write_parquet(temporary)
        elif ending in STATISTICAL_FORMATS:
            write_statistical(plain, file, temporary, ending, labels or Labels())
        else:
            temporary.write_bytes(delimited(plain, ending, delimiter))


def _ending(path: FilePath) -> str:
    known = {*TEXT_FORMATS, *STATISTICAL_FORMATS, "parquet"}
    parts = Path(path).name.lower().split(".")[1:]
    for ending in (".".join(parts[-2:]), ".".join(parts[-1:])):
        if ending in known:
            return ending
    hint = "Known endings: .csv, .tsv, .txt (also .gz), .parquet, .sas7bdat, .xpt, .dta, .sav. Save a sheet as CSV."
    raise FileError(str(path), "file's ending must name a known format", got=_quoted_ending(parts), hint=hint)


def _quoted_ending(parts: list[str]) -> str:
    return f"'.{parts[-1]}'" if parts else "none"


def _check_options(delimiter: str | None, decimal: str) -> None:
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
        raise ParameterError("table", "delimiter must be one ASCII letter, no quote and no line end")
    if decimal not in (".", ","):
        raise ParameterError("table", "decimal must be '.' or ','", got=repr(decimal))


def _kept(file: Path, frame: pl.DataFrame, keep: Callable[[str], bool]) -> pl.DataFrame:
    names = [name for name in frame.columns if keep(name)]
    if not names:
        raise InputError(str(file), "must hold at least one of the columns asked for")
    return frame.select(names)


def _read_parquet(file: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(file, glob=False, hive_partitioning=False)
    except pl.exceptions.DuplicateError:
        raise InputError(str(file), "column names must be unique", hint="Rename one of them.") from None
    except Exception:  # the library's message may quote cells
        raise FileError(str(file), "must be a whole Parquet file", hint="Write it again.") from None
    return frame.drop([name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)])


def _plain(frame: pl.DataFrame, owner: str) -> pl.DataFrame:
    """Keep the cells and nothing else: a type of categories would carry those that occur in no row."""
    check_names(owner, frame.columns)
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
            raise InputError(owner, f"column '{name}' must be numbers, texts, dates or true/false to be written")
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
