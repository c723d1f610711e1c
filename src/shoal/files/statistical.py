"""SAS, Stata and SPSS files, with their labels, through pyreadstat (extra ``formats``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import polars.selectors as cs

from shoal.errors import FileError
from shoal.extras import need
from shoal.files.atomic import final_place
from shoal.files.column_types import without_nan
from shoal.files.missing_marks import (
    MARK,
    bare,
    is_marked,
    lettered,
    mark_transport,
    marks_in,
    split,
    transport_marks,
    with_marks,
)
from shoal.files.source import Labels
from shoal.value import Level, text_of

__all__ = ["read_statistical", "write_statistical"]

_EXACT_INTEGER = 2**53
_TRANSPORT = ("xpt", "ssp")
_MARKED = ("dta", "xpt", "ssp", "sas7bdat")
_XPORT_RANGE = (1e-78, 7e75)
_SPSS_CLOCK = rb"(?s)(?<=^\$FL[23].{88})[ \d]\d \w{3} \d\d\d\d:\d\d:\d\d", b"01 Jan 7000:00:00"
_CLOCKS = {
    "xpt": (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
    "dta": (rb"(?<=<timestamp>\x11)[ \d]\d \w{3} \d{4} \d\d:\d\d", b"01 Jan 1970 00:00"),
    "sav": _SPSS_CLOCK,
    "zsav": _SPSS_CLOCK,
}


def read_statistical(
    file: Path,
    ending: str,
    encoding: str | None,
    keep: Callable[[str], bool] | None = None,
    codes: Collection[str] | None = (),
) -> tuple[pl.DataFrame, Labels]:
    """Read a SAS, Stata or SPSS file: codes as they are, and what they mean beside them.

    Values that an SPSS file declares missing, and the marks .a to .z of Stata and SAS, are missing, but for the columns
    `codes` (None: all columns), where they come as they are and the labels say which they are.
    """
    read = _reader(_pyreadstat(file), ending)
    options: dict[str, Any] = {"output_format": "polars", "encoding": encoding}
    wanted = codes is None or len(codes) > 0
    options |= {"user_missing": True} if wanted and ending not in _TRANSPORT else {}
    try:
        if keep is not None:
            names = read(str(file), metadataonly=True, **options)[1].column_names
            options["usecols"] = [name for name in names if keep(name)] or names[:1]
        frame, meta = read(str(file), **options)
    except Exception:  # the library's message may quote cells
        raise _unreadable(file, ending) from None
    kept = frozenset(frame.columns if codes is None else codes)
    marks = transport_marks(file, kept, len(frame)) if wanted and ending in _TRANSPORT else {}
    columns = [_with_codes(column, marks.get(column.name, {}), meta.missing_ranges, kept) for column in frame]
    missing = {column.name: found for column, found in columns if found}
    return pl.DataFrame([column for column, _ in columns]), replace(_labels(meta, ending), missing=missing)


def _with_codes(
    column: pl.Series, marks: Mapping[int, str], ranges: Mapping[str, Any], kept: Collection[str]
) -> tuple[pl.Series, tuple[Level, ...]]:
    """The column with the codes that its file has for an absence, and these codes; without them if it is not kept."""
    if column.dtype == pl.Object:
        column, marks = split(column)
    column = _settled(column)
    absent = _within(column, ranges.get(column.name, ()))
    if column.name not in kept:
        return _settled(column.set(absent, None)), ()
    if marks:
        return with_marks(column, marks), tuple(sorted(set(marks.values())))
    return column, tuple(column.filter(absent).unique().sort())


def _within(column: pl.Series, ranges: Sequence[Mapping[str, Any]]) -> pl.Series:
    """Which cells lie in one of the ranges that an SPSS file declares missing."""
    absent = pl.repeat(False, len(column), eager=True)
    for ends in () if column.dtype == pl.Null else ranges:
        absent = absent | column.is_between(ends["lo"], ends["hi"]).fill_null(False)
    return absent


def write_statistical(frame: pl.DataFrame, file: Path, temporary: Path, ending: str, labels: Labels) -> None:
    """Write to `temporary` what is to become `file`, with the labels that the format holds."""
    library = _pyreadstat(file)
    frame = without_nan(frame).with_columns(pl.col(pl.Boolean).cast(pl.Int64), cs.decimal().cast(pl.Float64))
    marks = _marked(frame, labels) if ending in _MARKED else {}
    frame = frame.with_columns(bare(column) for column in marks.values())
    _check_numbers(frame, file, ending)
    _check_blanks(frame, file, ending)
    named = {name: label for name, label in labels.columns.items() if name in frame.columns}
    more = {} if ending == "xpt" else _writing(frame, file, ending, labels, marks)
    try:
        if ending == "xpt":
            version = 5 if _fits_version_5(frame, named) else 8
            library.write_xport(frame, str(temporary), column_labels=named, file_format_version=version)
        else:
            write = library.write_dta if ending == "dta" else library.write_sav
            table = frame.with_columns(lettered(column) for column in marks.values())
            write(table, str(temporary), column_labels=named, **more)
    except Exception:  # the library's message may quote cells
        hint = "Names must be letters, digits and underscores, at most 32. Try .parquet or .csv."
        raise FileError(final_place(file), f"table must fit the limits of .{ending} files", hint=hint) from None
    if ending == "xpt" and marks:
        mark_transport(temporary, marks)
    _stop_clock(temporary, ending)


def _marked(frame: pl.DataFrame, labels: Labels) -> dict[str, pl.Series]:
    """The columns of texts that are numbers and marks of an absence."""
    coded = {name: codes for name, codes in labels.missing.items() if name in frame.columns}
    return {name: frame[name] for name, codes in coded.items() if is_marked(frame[name], codes)}


def _writing(
    frame: pl.DataFrame, file: Path, ending: str, labels: Labels, marks: Mapping[str, pl.Series]
) -> dict[str, Any]:
    """What a .dta or .sav file holds beside the cells: what values mean, and which stand for an absence."""
    values = _value_labels(frame, ending, labels)
    if ending == "dta":
        letters = {name: [mark[1] for mark in marks_in(column)] for name, column in marks.items()}
        return {"version": 15, "variable_value_labels": values, "missing_user_values": letters}
    ranges = {name: _flags(frame[name], codes, file) for name, codes in labels.missing.items() if name in frame.columns}
    flags = {name: found for name, found in ranges.items() if found}
    return {"compress": ending == "zsav", "variable_value_labels": values, "missing_ranges": flags}


def _flags(column: pl.Series, codes: Sequence[Level], file: Path) -> list[Any]:
    """How an SPSS file declares codes missing: up to three values, or one range and one value more."""
    if column.dtype == pl.String:
        texts = [text_of(code) for code in codes]
        return texts if len(texts) <= 3 and all(len(text.encode()) <= 8 for text in texts) else []
    numbers = sorted(float(code) for code in codes if not isinstance(code, str))
    if not column.dtype.is_numeric() or len(numbers) <= 3:
        return numbers if column.dtype.is_numeric() else []
    values = column.drop_nulls().cast(pl.Float64).unique()
    values = values.filter(~values.is_in(numbers))
    for run, alone in ((numbers, []), (numbers[:-1], numbers[-1:]), (numbers[1:], numbers[:1])):
        if not values.is_between(run[0], run[-1]).any():
            return [{"lo": run[0], "hi": run[-1]}, *alone]
    rule = f"column '{column.name}' has more codes for an absence than an SPSS file can declare"
    raise FileError(
        final_place(file), rule, got=f"{len(numbers)} codes", hint="Pool some of them, or write .dta or .csv."
    )


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
    need("pyreadstat", str(file), error=FileError)
    import pyreadstat

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


def _labels(meta: Any, ending: str) -> Labels:
    named = {name: label for name, label in meta.column_names_to_labels.items() if label}
    values = {
        name: {_code(code, ending): str(label) for code, label in labels.items()}
        for name, labels in meta.variable_value_labels.items()
    }
    return Labels(columns=named, values=values)


def _code(code: Any, ending: str) -> Any:
    if isinstance(code, str) and ending in _MARKED:
        return f".{code.lower()}"  # texts have no labels there: it is the letter of a mark
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _check_numbers(frame: pl.DataFrame, file: Path, ending: str) -> None:
    """Refuse the numbers that the format would change silently."""
    for column in frame:
        if column.dtype.is_numeric() and not _fits(column, ending):
            rule = f"column '{column.name}' holds numbers too big or small for .{ending}"
            raise FileError(final_place(file), rule, hint="Try .parquet.")


def _check_blanks(frame: pl.DataFrame, file: Path, ending: str) -> None:
    """Refuse texts that end in blanks, which SPSS and SAS files don't keep."""
    texts = [column for column in frame if column.dtype == pl.String and ending != "dta"]
    names = [column.name for column in texts if column.str.ends_with(" ").any()]
    if names:
        rule = f"columns hold texts that end in blanks, which .{ending} files don't keep: {', '.join(names)}"
        raise FileError(final_place(file), rule, hint="Strip the blanks in the input, or write .dta, .parquet or .csv.")


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
    """Keep the value labels that still fit: a column that was averaged holds no codes but those for an absence."""
    kept: dict[str, dict[Any, str]] = {}
    for name, meanings in labels.values.items():
        dtype = frame.schema.get(name)
        if dtype is None:
            continue
        own = (
            meanings if dtype.is_integer() or dtype == pl.String else _of_codes(meanings, labels.missing.get(name, ()))
        )
        if dtype.is_numeric():
            kept[name] = {_letter(code): label for code, label in own.items() if _fits_number(code, ending)}
        elif dtype == pl.String and ending != "dta":
            kept[name] = {code: label for code, label in own.items() if isinstance(code, str)}
    return {name: meanings for name, meanings in kept.items() if meanings}


def _of_codes(meanings: Mapping[Any, str], codes: Sequence[Level]) -> Mapping[Any, str]:
    return {code: label for code, label in meanings.items() if code in codes}


def _fits_number(code: Any, ending: str) -> bool:
    """Whether a column of numbers can have a label for it: Stata labels whole numbers and marks."""
    return isinstance(code, int) or (ending == "dta" and isinstance(code, str) and re.fullmatch(MARK, code) is not None)


def _letter(code: Any) -> Any:
    return code[1] if isinstance(code, str) else code


def _stop_clock(file: Path, ending: str) -> None:
    """Put the beginning of 1970 in the place of the moment of writing, so that equal tables give equal files."""
    clock, start = _CLOCKS[ending]
    with open(file, "r+b") as stream:
        head = stream.read(640)
        stream.seek(0)
        stream.write(re.sub(clock, start, head))
