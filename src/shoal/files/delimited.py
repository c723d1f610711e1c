"""Delimited text: CSV and its kin, in any of the usual codings, cut strictly."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shoal.errors import FileError, InputError, ParameterError
from shoal.files.column_types import NUMBER, decimal_mark, typed, without_nan
from shoal.files.csv_cells import cut
from shoal.files.source import Source, check_names, with_row_names

__all__ = ["DELIMITERS", "TextOptions", "delimited", "read_delimited"]

DELIMITERS = (",", ";", "\t", "|")
THOUSANDS = (",", ".", " ", "\u00a0", "\u202f", "'")

_SAMPLE_BYTES = 1 << 16
_IN_ARCHIVES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """How delimited text is written: its marks and coding (None: found out), and the columns to leave as text."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    text: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '\r\n"'):
            raise ParameterError("table", "delimiter must be one ASCII character other than a quote or line break")
        if self.decimal not in (None, ".", ","):
            raise ParameterError("table", "decimal must be '.' or ','", got=repr(self.decimal))
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == (self.decimal or ".")):
            rule = "thousands must be a comma, a point, a blank or an apostrophe, and not the decimal mark"
            raise ParameterError("table", rule, got=repr(self.thousands))


def read_delimited(file: Path, ending: str, data: bytes, options: TextOptions) -> Source:
    """Read delimited text from a file's bytes; see `shoal.files.read_source` for what the options mean."""
    letters, encoding = _utf8(file, _unpacked(file, ending, data), options.encoding)
    letters = letters.lstrip(b"\r\n")
    if not letters.strip():
        raise FileError(str(file), "must hold a header line and rows", got="an empty file")
    delimiter = options.delimiter or ("\t" if ending.startswith("tsv") else _sniff(letters))
    names, names_rows = _header(file, letters, delimiter)
    cells = cut(file, letters, len(names), delimiter)
    decimal = options.decimal or decimal_mark(cells, delimiter)
    columns = {
        name: column if name in options.text else typed(column, decimal, options.thousands)
        for name, column in zip(names, cells, strict=True)
    }
    return Source(
        frame=pl.DataFrame(columns),
        path=str(file),
        format=ending,
        labels=None,
        sha256=hashlib.sha256(data).hexdigest(),
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        thousands=options.thousands,
        names_rows=names_rows,
    )


def delimited(frame: pl.DataFrame, ending: str, delimiter: str | None) -> bytes:
    """Return `frame` as delimited text in UTF-8; moments in a time zone as universal time, marked with a Z."""
    separator = delimiter or ("\t" if ending.startswith("tsv") else ",")
    # In a table of one column an empty cell would be an empty line, which readers skip.
    null = '""' if frame.width == 1 else ""
    letters = without_nan(_in_universal_time(frame)).write_csv(
        separator=separator, null_value=null, line_terminator="\n", time_format="%H:%M:%S%.f"
    )
    return gzip.compress(letters.encode(), mtime=0) if ending.endswith(".gz") else letters.encode()


def _in_universal_time(frame: pl.DataFrame) -> pl.DataFrame:
    zoned = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime) and dtype.time_zone]
    return frame.with_columns(
        pl.col(name).dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ") for name in zoned
    )


def _unpacked(file: Path, ending: str, data: bytes) -> bytes:
    if ending.endswith(".gz"):
        return _gunzipped(file, data)
    return _unzipped(file, data) if ending == "zip" else data


def _gunzipped(file: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise FileError(str(file), "must be an intact gzip file", hint="Compress it again.") from None


def _unzipped(file: Path, data: bytes) -> bytes:
    """The one file of delimited text in an archive; what systems add beside it doesn't count."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
            if len(names) == 1 and names[0].lower().endswith(_IN_ARCHIVES):
                return archive.read(names[0])
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error):
        raise FileError(str(file), "must be an intact ZIP file without a password", hint="Zip it again.") from None
    raise FileError(
        str(file),
        "must hold exactly one file, ending in .csv, .tsv or .txt",
        got=f"{len(names)} files" if len(names) != 1 else "a file of another ending",
        hint="Unzip it and give the file, or the folder if all files have the same columns.",
    )


def _utf8(file: Path, data: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Recode `data` to UTF-8 without a byte-order mark; the second part names what it was coded in."""
    encoding = encoding or _guess(data)
    try:
        letters = data.decode(codecs.lookup(encoding).name)
    except LookupError:
        raise ParameterError("read_table", "encoding must be supported by Python", got=repr(encoding)) from None
    except UnicodeDecodeError:
        raise FileError(str(file), f"must be text encoded in {encoding}", hint="Give another encoding.") from None
    if _binary(letters, encoding):
        hint = "The file may be compressed, or not of the format its extension says."
        raise FileError(str(file), "must be text", got="binary content", hint=hint)
    if codecs.lookup(encoding).name == "utf-8":
        return data.removeprefix(codecs.BOM_UTF8), encoding
    return letters.removeprefix("\ufeff").encode("utf-8"), encoding


def _guess(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return _wide(data) or encoding
    return "latin-1"


def _wide(data: bytes) -> str | None:
    # Western text in UTF-16 without a mark shows as a zero in (nearly) every second byte.
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if half and sample[1::2].count(0) > 0.8 * half:
        return "utf-16-le"
    return "utf-16-be" if half and sample[0::2].count(0) > 0.8 * half else None


def _binary(letters: str, encoding: str) -> bool:
    # Bytes that are valid UTF-8 are rarely anything but text; any bytes at all are valid in one-byte codings.
    sample = letters[:_SAMPLE_BYTES]
    most = 0.01 if encoding in ("cp1252", "latin-1") else 0.25
    controls = len(re.findall(r"[\x00-\x08\x0b\x0e-\x1f]", sample))
    return "\x00" in letters or controls > most * len(sample)


def _sniff(letters: bytes) -> str:
    widths = {delimiter: _widths(letters, delimiter) for delimiter in DELIMITERS}
    steady = [d for d in DELIMITERS if len(set(widths[d])) == 1 and widths[d][0] > 1]
    return max(steady or DELIMITERS, key=lambda delimiter: widths[delimiter][0])


def _widths(letters: bytes, delimiter: str) -> list[int]:
    sample = letters[:_SAMPLE_BYTES]
    whole = sample if len(letters) <= _SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    lines = csv.reader(io.StringIO(whole.decode("utf-8", "ignore"), newline=""), delimiter=delimiter)
    try:
        return [len(line) for line in lines if line] or [0]
    except csv.Error:
        return [0]


def _header(file: Path, letters: bytes, delimiter: str) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first was given here.

    A first column without a name is one of row names, as R and pandas write it; so is one above which the header has no
    cell at all, where every line has just one cell more.
    """
    stream = io.TextIOWrapper(io.BytesIO(letters), encoding="utf-8", newline="")
    try:
        names = next(csv.reader(stream, delimiter=delimiter))
    except csv.Error:
        raise InputError(str(file), "first line must hold the column names") from None
    if set(_widths(letters, delimiter)[1:]) == {len(names) + 1}:
        names = ["", *names]
    named = with_row_names(names)
    check_names(str(file), named)
    if all(re.fullmatch(NUMBER, name.strip()) for name in names if name):
        raise InputError(
            str(file), "first line must hold the column names", got="only numbers", hint="Add a header line."
        )
    return named, named != names
