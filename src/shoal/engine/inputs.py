"""The files of a table: one file, a folder or a pattern of Parquet or CSV, and whether they have changed since.

All files must be of one format and have the same columns, in the same types. Nothing but headers is read here.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import FileError, InputError
from shoal.extras import need
from shoal.files import sha256
from shoal.files.atomic import check_readable, reporting
from shoal.files.delimited import DELIMITERS
from shoal.files.source import check_names, with_row_names
from shoal.files.table import files_at, is_many

__all__ = ["Inputs", "check_distinct_names"]

_TEXT = ("csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz")
_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files that hold the rows of one table.

    Parameters
    ----------
    path
        What was named: a file, a folder, or a pattern such as ``visits/*.parquet``.
    files
        The files, in order of their names.
    columns
        The names of the columns, the same in all files.
    delimiter
        What separates the cells of delimited text; None for Parquet.
    stamps
        Size and time of change of each file when it was listed.
    """

    path: str
    files: tuple[Path, ...]
    columns: tuple[str, ...]
    delimiter: str | None
    stamps: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, path: str | Path, *, delimiter: str | None = None) -> Inputs:
        """List the files that `path` names and hold them to have one format and the same columns."""
        return cls.listed(str(path), files_at(str(path)) if is_many(str(path)) else [Path(path)], delimiter=delimiter)

    @classmethod
    def listed(cls, path: str, files: Sequence[Path], *, delimiter: str | None = None) -> Inputs:
        """The same for files that are known by name; others that lie beside them are not looked at."""
        formats = {_format(file): file for file in files}
        if len(formats) > 1:
            got = " and ".join(f".{ending}" for ending in sorted(formats))
            raise InputError(path, "must hold files of one format", got=got, hint="Name a pattern: 'FOLDER/*.parquet'.")
        for file in files:
            check_readable(file)
        text = next(iter(formats)) in _TEXT
        mark = (delimiter or _delimiter(files[0])) if text else None
        columns = [_header(file, mark) if mark else _schema(file) for file in files]
        check_distinct_names(str(files[0]), list(columns[0]))
        for file, names in zip(files, columns, strict=True):
            _check_alike(files[0], columns[0], file, names)
        stamps = tuple(map(_stamp, files))
        return cls(path=path, files=tuple(files), columns=tuple(columns[0]), delimiter=mark, stamps=stamps)

    def require_unchanged(self) -> None:
        """Raise a FileError if a file was written to since it was listed."""
        for file, stamp in zip(self.files, self.stamps, strict=True):
            if not file.is_file() or _stamp(file) != stamp:
                raise FileError(str(file), "must not change while it is read", hint="Run again once it is written.")

    def sha256(self) -> str:
        """The digest of the file, or of the names and digests of all files."""
        if len(self.files) == 1:
            return sha256(self.files[0])
        lines = (f"{file.name}\n{sha256(file)}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_distinct_names(owner: str, names: Sequence[str]) -> None:
    """Hold column names to differ for SQL, which ignores capitals, and from what engines add; if not, say where."""
    hint = "Rename it, or run in memory."
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name.startswith("#"):
            raise InputError(owner, "column names must not begin with # on an engine", got=f"column {place}", hint=hint)
        if name.lower() in first:
            pair = f"columns {first[name.lower()]} and {place}"
            raise InputError(owner, "column names must differ in more than capitals on an engine", got=pair, hint=hint)
        first[name.lower()] = place


def _format(file: Path) -> str:
    parts = file.name.lower().split(".")[1:]
    for ending in (".".join(parts[-2:]), ".".join(parts[-1:])):
        if ending in (*_TEXT, "parquet"):
            return ending
    raise FileError(
        str(file),
        "must be Parquet or CSV for this engine",
        hint="Name a pattern that leaves other files out, or convert it to Parquet.",
    )


def _delimiter(file: Path) -> str:
    if file.name.lower().split(".")[1] == "tsv":
        return "\t"
    line = _first_line(file)
    return max(DELIMITERS, key=line.count)


def _first_line(file: Path) -> str:
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with reporting(file), opened(file, "rb") as stream:
            head = stream.read(_HEAD_BYTES)
        text = head.decode("utf-8-sig", "strict" if len(head) < _HEAD_BYTES else "ignore")
    except (UnicodeDecodeError, EOFError):
        raise FileError(str(file), "must be text in UTF-8", hint="Recode it, or convert it to Parquet.") from None
    if not text.strip():
        raise FileError(str(file), "must hold a header line and rows", got="an empty file")
    return text.splitlines()[0]


def _header(file: Path, delimiter: str) -> list[str]:
    names = with_row_names(next(csv.reader([_first_line(file)], delimiter=delimiter)))
    check_names(str(file), names)
    return names


def _schema(file: Path) -> dict[str, str]:
    """The columns of a Parquet file with their types."""
    need("pyarrow", "Parquet on an engine", extra="duckdb", otherwise="For Spark: shoal[spark].")
    import pyarrow.parquet as pq

    try:
        fields = pq.read_schema(file)
    except Exception:  # the library's message may quote cells
        raise FileError(str(file), "must be a whole Parquet file", hint="Write it again.") from None
    check_names(str(file), fields.names)
    return {field.name: str(field.type) for field in fields if not field.name.startswith("__index_level_")}


def _check_alike(
    one: Path, names: Sequence[str] | dict[str, str], other: Path, others: Sequence[str] | dict[str, str]
) -> None:
    if not set(names) & set(others):  # without a header line, "names" are the first person's cells
        raise InputError(
            str(other), f"must have the columns of {one.name}", got="none of them", hint="Is a header line missing?"
        )
    for file, has, lacks, by in ((other, names, others, one), (one, others, names, other)):
        missing = [name for name in has if name not in lacks]
        if missing:
            raise InputError(
                str(file), f"column '{missing[0]}' is missing, which {by.name} has", hint="Give all the same columns."
            )
    if isinstance(names, dict) and isinstance(others, dict):
        odd = [name for name in names if names[name] != others[name]]
        if odd:
            hint = "Write all files with the same types."
            raise InputError(str(other), f"column '{odd[0]}' has another type than in {one.name}", hint=hint)
    elif names != others:
        raise InputError(str(other), f"must have its columns in the order of {one.name}")


def _stamp(file: Path) -> tuple[int, int]:
    with reporting(file):
        found = file.stat()
    return found.st_size, found.st_mtime_ns
