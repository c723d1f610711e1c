"""A column read by what its schema entry declares, whatever type the values came in.

One person can change the type of a whole column: a missing value turns pandas' whole numbers into floats, one "1.0" or
"n/a" in a file turns them into floats or texts. Where a promise is made, nothing that goes out may follow from a type,
so the type of a released column comes from its entry alone:

- levels: whole numbers are Int64, other numbers Float64, true and false Boolean, ISO dates Date, all else String;
- bounds or edges: Int64 where the column is `whole` (as declared, else if all ends are whole), otherwise Float64.

Values meet levels as `shoal.value` says.

Levels and ranges that are read from the data.

What is learnt here tells of the people it was learnt from: it carries no claim of differential privacy.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.errors import ColumnError, Problems
from shoal.files.column_types import as_dates
from shoal.frame import Frame, adopt, series, with_columns
from shoal.schema import Column, Kind, Level, Schema
from shoal.value import canonical, codes_of, text_of

__all__ = [
    "content_of",
    "dated",
    "declared_kind",
    "declared_levels",
    "each_of",
    "floats",
    "is_whole",
    "learn_levels",
    "learn_range",
    "numbers_of",
    "type_named",
    "type_word",
]

T = TypeVar("T")
R = TypeVar("R")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SIMPLE = (str, bool, int, float, np.bool_, np.integer, np.floating, Decimal, datetime.date)


def declared_kind(column: Column) -> Kind | None:
    """The kind of a column by its entry alone; None where the entry doesn't say."""
    if column.kind is not None or column.levels is not None:
        return column.kind or "ordinal"
    return None if column.bounds is None and column.edges is None else "numeric"


def is_whole(column: Column) -> bool:
    """Whether a number is written whole: as declared, else if all declared ends are."""
    if column.whole is not None:
        return column.whole
    return all(float(end).is_integer() for end in column.edges or column.bounds or (0.5,))


def declared_levels(column: Column) -> pl.Series:
    """The levels of a column in the type that they themselves have, what stands for an absence last."""
    levels = column.every_level
    if all(isinstance(level, bool) for level in levels):
        return pl.Series(column.name, levels, dtype=pl.Boolean)
    if all(isinstance(level, int) and -(2**63) <= level < 2**63 for level in levels):
        return pl.Series(column.name, [int(level) for level in levels], dtype=pl.Int64)
    if not any(isinstance(level, str) for level in levels):
        return pl.Series(column.name, [float(level) for level in levels], dtype=pl.Float64)
    texts = pl.Series(column.name, [text_of(level) for level in levels], dtype=pl.String)
    return texts.str.to_date("%Y-%m-%d") if all(map(_is_date, levels)) else texts


def content_of(frame: Frame, name: str) -> pl.Series:
    """One column as a Polars series; a mix of texts, numbers and dates comes as texts instead of an error."""
    try:
        return series(frame, name)
    except ColumnError:
        values = frame[name].to_list()
        if not all(_is_absent(value) or isinstance(value, _SIMPLE) for value in values):
            raise
        texts = [None if _is_absent(value) else text_of(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)


def dated(frame: Frame, schema: Schema, problems: Problems | None = None) -> Frame:
    """The table with the columns that declare a format as dates or times; those that are already stay.

    Where codes stand beside the dates, they are texts: see `shoal.files.column_types`. What is wrong is noted in
    `problems`, or raised where none are given.
    """
    noted = Problems() if problems is None else problems
    declared, codes = [name for name in schema.formats if name in frame.columns], schema.coded
    unread = [name for name in declared if name in codes or not content_of(frame, name).dtype.is_temporal()]
    found = noted.each(
        lambda name: (name, as_dates(content_of(frame, name), schema.formats[name], codes.get(name, ()))), unread
    )
    if problems is None:
        noted.raise_if_any()
    return with_columns(frame, {name: adopt(content, frame) for name, content in found})


def numbers_of(content: pl.Series) -> FloatArray:
    """A column of numbers, or of texts that are numbers, as floats; missing ones become NaN."""
    kind = content.dtype
    if kind.is_integer() or kind in (pl.Float64, pl.Boolean, pl.Null):
        values = content.cast(pl.Float64)
    else:
        keys = canonical(content)
        values = keys.cast(pl.Float64, strict=False)
        unread = int((keys.is_not_null() & values.is_null()).sum())
        if unread:
            raise ColumnError(
                content.name,
                "is declared numeric and must hold numbers",
                got=f"{unread} values that are none",
                hint="Convert it (for decimal commas, read it with decimal=','), or declare it ordinal or nominal.",
            )
    return values.fill_null(float("nan")).to_numpy().astype(np.float64)


def floats(column: pl.Series) -> FloatArray:
    """A column of numbers as floats; missing ones become NaN."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise ColumnError(
            column.name, "is declared numeric and must hold numbers", got=f"type {column.dtype.base_type()}"
        )
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)


def each_of(read: Callable[[T], R], columns: Iterable[T]) -> list[R]:
    """What `read` gives for every column; what is wrong with them is said of all at once."""
    problems = Problems()
    made = problems.each(read, columns)
    problems.raise_if_any()
    return made


def _is_date(level: Level) -> bool:
    if not isinstance(level, str) or not _DATE.fullmatch(level):
        return False
    try:
        datetime.date.fromisoformat(level)
    except ValueError:
        return False
    return True


def _is_absent(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


_TYPES: dict[str, Any] = {
    str(kind): kind
    for kind in (
        pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
        pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Date,
    )
}  # fmt: skip


def type_word(dtype: pl.DataType) -> str:
    """The name under which a column's type is saved; unusual ones are saved as texts."""
    if dtype == pl.Enum:
        return "Enum"
    if dtype == pl.Categorical:
        return "Categorical"
    return str(dtype) if str(dtype) in _TYPES else "String"


def type_named(word: str, levels: Sequence[Level]) -> Any:
    """The type of that name."""
    if word == "Enum":
        return pl.Enum([str(level) for level in levels])
    if word == "Categorical":
        return pl.Categorical()
    return _TYPES[word]() if word in _TYPES else pl.String()


def learn_levels(contents: Sequence[pl.Series], column: Column) -> pl.Series:
    """The levels that occur, sorted: numbers by size, an ordinal column by its own order, all else as texts.

    What stands for an absence comes after all levels of an ordinal column.

    Where types differ between tables, the levels are texts that agree between them.
    """
    if column.date_codes:
        return _dates_before_codes(contents, column)
    found = [content.drop_nulls() for content in contents]
    if len(found) > 1:
        found = _of_one_type(found)
    levels = pl.concat(found).unique()
    if column.kind != "ordinal" and levels.dtype in (pl.Categorical, pl.Enum):
        return levels.gather(levels.cast(pl.String).arg_sort())
    return _absences_last(levels.sort(), column) if column.kind == "ordinal" else levels.sort()


def _absences_last(levels: pl.Series, column: Column) -> pl.Series:
    """Levels in their order, then what stands for an absence in that of the schema."""
    told = column.absences
    if not told:
        return levels
    place = codes_of(levels, pl.Series([text_of(code) for code in told], dtype=pl.String))
    order = np.where((place >= 0) & (place < len(told)), place, -1)
    return levels.gather(np.argsort(order, kind="stable"))


def _dates_before_codes(contents: Sequence[pl.Series], column: Column) -> pl.Series:
    """Dates in their order, then what stands for an absence in that of the schema."""
    levels = pl.concat([content.cast(pl.String) for content in contents]).drop_nulls().unique().sort()
    codes = pl.Series([text_of(code) for code in column.date_codes], dtype=pl.String)
    dates = levels.filter(~levels.is_in(codes.implode()))
    return dates.append(codes.filter(codes.is_in(levels.implode())))


def _of_one_type(contents: list[pl.Series]) -> list[pl.Series]:
    types = {content.dtype for content in contents}
    if all(kind.is_numeric() for kind in types):
        return [content.cast(pl.Float64) for content in contents]
    return contents if len(types) == 1 and pl.Categorical not in types else [canonical(c) for c in contents]


def learn_range(content: pl.Series) -> tuple[float, float]:
    """The least and the largest number, or a range around a single one."""
    values = numbers_of(content)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        raise ColumnError(content.name, "has no numbers to compute a range from")
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)
