"""SAS, Stata and SPSS files, with their labels, through pyreadstat (extra ``formats``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import polars.selectors as cs

from shoal.errors import FileError
from shoal.files.column_types import without_nan
from shoal.files.source import Labels

__all__ = ["read_statistical", "write_statistical"]

_EXACT_INTEGER = 2**53
_XPORT_RANGE = (1e-78, 7e75)
_SPSS_CLOCK = rb"(?s)(?<=^\$FL[23].{88})[ \d]\d \w{3} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"
_CLOCKS = {
    "xpt": (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
    "dta": (rb"(?<=<timestamp>\x11)[ \d]\d \w{3} \d{4} \d\d:\d\d", b"01 Jan 1970 00:00"),
    "sav": _SPSS_CLOCK,
    "zsav": _SPSS_CLOCK,
}


def read_statistical(
    file: Path, ending: str, encoding: str | None, keep: Callable[[str], bool] | None = None
) -> tuple[pl.DataFrame, Labels]:
    """Read a SAS, Stata or SPSS file: codes as they are, and what they mean beside them."""
    read = _reader(_pyreadstat(file), ending)
    options: dict[str, Any] = {"output_format": "polars", "encoding": encoding}
    try:
        if keep is not None:
            names = read(str(file), metadataonly=True, **options)[1].column_names
            options["usecols"] = [name for name in names if keep(name)] or names[:1]
        frame, meta = read(str(file), **options)
    except Exception:  # the library's message may quote cells
        raise _unreadable(file, ending) from None
    return frame.select(_settled(column) for column in frame), _labels(meta)


def write_statistical(frame: pl.DataFrame, file: Path, temporary: Path, ending: str, labels: Labels) -> None:
    """Write to `temporary` what is to become `file`, with the labels that the format holds."""
    library = _pyreadstat(file)
    frame = without_nan(frame).with_columns(pl.col(pl.Boolean).cast(pl.Int64), cs.decimal().cast(pl.Float64))
    _check_numbers(frame, file, ending)
    named = {name: label for name, label in labels.columns.items() if name in frame.columns}
    try:
        if ending == "xpt":
            version = 5 if _fits_version_5(frame, named) else 8
            library.write_xport(frame, str(temporary), column_labels=named, file_format_version=version)
        else:
            write, more = _writer(library, ending)
            values = _value_labels(frame, ending, labels)
            write(frame, str(temporary), column_labels=named, variable_value_labels=values, **more)
    except Exception:  # the library's message may quote cells
        hint = "Names must be letters, digits and underscores, at most 32. Try .parquet or .csv."
        raise FileError(str(file), f"table must fit the limits of .{ending} files", hint=hint) from None
    _stop_clock(temporary, ending)


def _reader(library: ModuleType, ending: str) -> Callable[..., Any]:
    reader: Callable[..., Any] = {
        "sas7bdat": library.read_sas7bdat,
        "dta": library.read_dta,
        "sav": library.read_sav,
        "zsav": library.read_sav,
        "xpt": library.read_xport,
        "ssp": library.read_xport,
    }[ending]
    return reader


def _pyreadstat(file: Path) -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        hint = 'Install it: pip install "shoal[formats]".'
        raise FileError(str(file), "SAS, Stata and SPSS files need the package pyreadstat", hint=hint) from None
    library: ModuleType = pyreadstat
    return library


def _unreadable(file: Path, ending: str) -> FileError:
    with open(file, "rb") as stream:
        cport = b"COMPRESSED" in stream.read(200)
    hint = (
        "It was made by PROC CPORT, which only SAS reads: take the Stata or CSV edition of the file."
        if cport
        else "Check that the file is intact; if characters are the problem, specify an encoding."
    )
    return FileError(str(file), f"must be a readable .{ending} file", hint=hint)


def _settled(column: pl.Series) -> pl.Series:
    """Undo what these formats can't say: an empty text is missing, and whole numbers come as floats."""
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    known = column.drop_nulls()
    whole = len(known) and ((known == known.floor()) & (known.abs() <= _EXACT_INTEGER)).all()
    return column.cast(pl.Int64) if whole else column


def _labels(meta: Any) -> Labels:
    named = {name: label for name, label in meta.column_names_to_labels.items() if label}
    values = {
        name: {_code(code): str(label) for code, label in labels.items()}
        for name, labels in meta.variable_value_labels.items()
    }
    return Labels(columns=named, values=values)


def _code(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _writer(library: ModuleType, ending: str) -> tuple[Callable[..., None], dict[str, Any]]:
    if ending == "dta":
        return library.write_dta, {"version": 15}
    return library.write_sav, {"compress": ending == "zsav"}


def _check_numbers(frame: pl.DataFrame, file: Path, ending: str) -> None:
    """Refuse the numbers that the format would change silently."""
    for column in frame:
        if column.dtype.is_numeric() and not _fits(column, ending):
            rule = f"column '{column.name}' holds numbers too big or small for .{ending}"
            raise FileError(str(file), rule, hint="Try .parquet.")


def _fits(numbers: pl.Series, ending: str) -> bool:
    if numbers.dtype.is_integer():
        ends: Any = (numbers.min(), numbers.max())
        return ends[0] is None or -_EXACT_INTEGER <= ends[0] <= ends[1] <= _EXACT_INTEGER
    low, high = _XPORT_RANGE if ending == "xpt" else (0.0, 8.9e307)
    size = numbers.abs()
    return not ((size > high) | ((size < low) & (size > 0))).any()


def _fits_version_5(frame: pl.DataFrame, named: Mapping[str, str]) -> bool:
    # Version 5 is the one that every SAS reads: short names, labels and texts.
    texts = [column for column in frame if column.dtype == pl.String]
    return (
        all(len(name.encode()) <= 8 for name in frame.columns)
        and all(len(label.encode()) <= 40 for label in named.values())
        and not any((column.str.len_bytes() > 200).any() for column in texts)
    )


def _value_labels(frame: pl.DataFrame, ending: str, labels: Labels) -> dict[str, dict[Any, str]]:
    """Keep the value labels that still fit: a column that was averaged holds no codes any more."""
    kept: dict[str, dict[Any, str]] = {}
    for name, meanings in labels.values.items():
        dtype = frame.schema.get(name)
        if dtype is not None and dtype.is_integer():
            kept[name] = {code: label for code, label in meanings.items() if isinstance(code, int)}
        elif dtype == pl.String and ending != "dta":
            kept[name] = {code: label for code, label in meanings.items() if isinstance(code, str)}
    return kept


def _stop_clock(file: Path, ending: str) -> None:
    """Put the beginning of 1970 in the place of the moment of writing, so that equal tables give equal files."""
    clock, start = _CLOCKS[ending]
    with open(file, "r+b") as stream:
        head = stream.read(640)
        stream.seek(0)
        stream.write(re.sub(clock, start, head))
