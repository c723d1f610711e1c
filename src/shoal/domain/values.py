"""When two values are the same, and a column read by what its schema entry declares, whatever type it came in.

One person can change the type of a whole column: a missing value turns pandas' whole numbers into floats, one "1.0" or
"n/a" in a file turns them into floats or texts. Where a promise is made, nothing that goes out may follow from a type,
so the type of a released column comes from its entry alone:

- levels: whole numbers are Int64, other numbers Float64, true and false Boolean, ISO dates Date, all else String;
- bounds or edges: Int64 where the column is `whole` (as declared, else if all ends are whole), otherwise Float64.

Values meet levels by one rule, *as numbers if they are numbers, else as texts*: 1, 1.0, "1", " 1.0", true and "True"
are the same value; so are a date, midnight of that date and its ISO text; NaN and the text "nan" are missing. Levels
that are one number by this rule ("01" and "1") can only be told apart in a column of texts, and such a column is asked
for.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.errors import ColumnError, Problems
from shoal.frame import Frame, series
from shoal.schema import Column, Kind, Level, Schema

__all__ = [
    "canonical",
    "codes_of",
    "conformed",
    "content_of",
    "declared_kind",
    "declared_levels",
    "each_of",
    "floats",
    "identity",
    "is_whole",
    "numbers_of",
    "plain",
    "spellings",
    "type_named",
    "type_word",
]

T = TypeVar("T")
R = TypeVar("R")

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_WHOLE, _LONG = r"^[+-]?\d{1,18}$", r"^[+-]?\d{19,}$"  # a long one may be an identifier, and stays a text
_MIDNIGHT = r"^(\d{4}-\d{2}-\d{2})[ T]00:00(:00(\.0+)?)?$"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXACT = 2.0**53  # up to here a float that is whole is that whole number
_TEXTS = (pl.String, pl.Categorical, pl.Enum)
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
    """The levels of a column in the type that they themselves have."""
    levels = column.levels or ()
    if all(isinstance(level, bool) for level in levels):
        return pl.Series(column.name, levels, dtype=pl.Boolean)
    if all(isinstance(level, int) and -(2**63) <= level < 2**63 for level in levels):
        return pl.Series(column.name, [int(level) for level in levels], dtype=pl.Int64)
    if not any(isinstance(level, str) for level in levels):
        return pl.Series(column.name, [float(level) for level in levels], dtype=pl.Float64)
    texts = pl.Series(column.name, [_text(level) for level in levels], dtype=pl.String)
    return texts.str.to_date("%Y-%m-%d") if all(map(_is_date, levels)) else texts


def content_of(frame: Frame, name: str) -> pl.Series:
    """One column as a Polars series; a mix of texts, numbers and dates comes as texts instead of an error."""
    try:
        return series(frame, name)
    except ColumnError:
        values = frame[name].to_list()
        if not all(_is_absent(value) or isinstance(value, _SIMPLE) for value in values):
            raise
        texts = [None if _is_absent(value) else _text(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)


def codes_of(content: pl.Series, levels: pl.Series) -> IntArray:
    """The place of each value among the levels; their number for a missing value, −1 for one that is no level."""
    if content.dtype in _TEXTS and levels.dtype in _TEXTS:
        content, levels = content.cast(pl.String), levels.cast(pl.String)
    if content.dtype == levels.dtype:  # the common case: equal as they stand
        found = _places(content, levels)
        if (found >= 0).all():
            return found
    keys, values = canonical(levels), canonical(content)
    if _ambiguous(keys):
        keys, values = levels.cast(pl.String), _texts_only(content)
    return _places(values, keys)


def _places(values: pl.Series, keys: pl.Series) -> IntArray:
    places = pl.Series(np.arange(len(keys)), dtype=pl.Int64)
    found = values.replace_strict(keys, places, default=-1, return_dtype=pl.Int64)
    return np.where(values.is_null().to_numpy(), len(keys), found.fill_null(-1).to_numpy()).astype(np.int64)


def _ambiguous(keys: pl.Series) -> bool:
    """Whether levels can only be told apart as texts."""
    return bool(keys.null_count()) or keys.n_unique() < len(keys)


def plain(levels: pl.Series) -> list[Level]:
    """Levels as JSON has them: numbers and true or false as they are, all else as texts."""
    simple = levels.dtype.is_numeric() or levels.dtype == pl.Boolean
    return levels.to_list() if simple else levels.cast(pl.String).to_list()


def spellings(levels: pl.Series) -> list[list[Level]]:
    """The values of JSON that mean each level, the level itself first: 1 and "1" (1.0 is 1 there), true and "true"."""
    own, keys = plain(levels), canonical(levels)
    if _ambiguous(keys):
        return [[level] for level in own]
    return [_spelled(level, key) for level, key in zip(own, keys, strict=True)]


def _spelled(level: Level, key: str) -> list[Level]:
    found: list[Level] = [level, _text(level), key]
    if re.match(_NUMBER, key) and not re.match(_LONG, key):
        found.append(int(key) if re.match(_WHOLE, key) else float(key))
    distinct: dict[Hashable, Level] = {}
    for one in found:
        distinct.setdefault(identity(one), one)
    return list(distinct.values())


def identity(value: Any) -> Hashable:
    """What JSON takes for one value: 1 is 1.0, and neither is true."""
    own = value.item() if isinstance(value, np.generic) else value
    return (isinstance(own, bool), own) if isinstance(own, str | int | float) else None


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
                hint="Convert it (a decimal comma: read it with decimal=','), or declare it ordinal or nominal.",
            )
    return values.fill_null(float("nan")).to_numpy().astype(np.float64)


def floats(column: pl.Series) -> FloatArray:
    """A column of numbers as floats; missing ones become NaN."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise ColumnError(
            column.name, "is declared numeric and must hold numbers", got=f"type {column.dtype.base_type()}"
        )
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)


def conformed(frame: Frame, schema: Schema) -> pl.DataFrame:
    """The table with every column that has a public domain in its declared type; the others as they are.

    Numbers stay as exact as they are (floats, also of a `whole` column). What is no level or no number is an error that
    names all columns concerned.
    """
    declared = {column.name: column for column in schema.columns}
    return pl.DataFrame(each_of(lambda name: _conformed(frame, name, declared.get(name)), frame.columns))


def _conformed(frame: Frame, name: str, column: Column | None) -> pl.Series:
    if column is None or declared_kind(column) is None or column.role in ("identifier", "unit", "weight"):
        return _as_it_is(frame, name)
    content = content_of(frame, name)
    if column.levels is None:
        numeric = column.bounds is not None or column.edges is not None
        return pl.Series(name, numbers_of(content)).fill_nan(None) if numeric else content
    levels = declared_levels(column)
    codes = codes_of(content, levels)
    if (codes < 0).any():
        raise ColumnError(
            name,
            "must hold only the levels that the schema lists",
            got=f"{int((codes < 0).sum())} values outside",
            hint="Correct the values or add the level.",
        )
    return pl.concat([levels, pl.Series(name, [None], dtype=levels.dtype)]).gather(pl.Series(codes))


def _as_it_is(frame: Frame, name: str) -> pl.Series:
    try:
        return frame[name].to_polars().alias(name)
    except Exception:  # the library's message quotes cells, so it must not be shown
        return content_of(frame, name)


def canonical(content: pl.Series) -> pl.Series:
    """Values as texts that are equal where the values are, whatever the type: see the module."""
    kind = content.dtype
    if kind == pl.Boolean:
        return content.cast(pl.Int8).cast(pl.String)
    if kind.is_integer() or kind == pl.Null:
        return content.cast(pl.String)
    if kind == pl.Float64:
        return content.to_frame("x").select(_of_number(pl.col("x"))).to_series().alias(content.name)
    try:
        texts = content.cast(pl.String)  # a Float32 as well: by its shortest text 0.1 is 0.1
    except pl.exceptions.PolarsError:
        raise ColumnError(content.name, "must hold numbers, texts, dates or true/false", got=str(kind)) from None
    different = texts.drop_nulls().unique()
    keys = different.to_frame("x").select(_of_text(pl.col("x"))).to_series()
    return texts.replace_strict(different, keys, default=None, return_dtype=pl.String)


def each_of(read: Callable[[T], R], columns: Iterable[T]) -> list[R]:
    """What `read` gives for every column; what is wrong with them is said of all at once."""
    problems = Problems()
    made = problems.each(read, columns)
    problems.settle()
    return made


def _of_number(x: pl.Expr) -> pl.Expr:
    x = x.fill_nan(None)
    whole = (x == x.round()) & (x.abs() < _EXACT)
    return pl.when(whole).then(pl.when(whole).then(x).cast(pl.Int64).cast(pl.String)).otherwise(x.cast(pl.String))


def _of_text(x: pl.Expr) -> pl.Expr:
    bare = x.str.strip_chars()
    word = bare.str.to_lowercase()
    whole = pl.when(bare.str.contains(_WHOLE)).then(bare.str.strip_prefix("+")).cast(pl.Int64, strict=False)
    short = bare.str.contains(_NUMBER) & ~bare.str.contains(_LONG)
    number = pl.when(short).then(bare.str.strip_prefix("+")).cast(pl.Float64, strict=False)
    return (
        pl.when(whole.is_not_null())
        .then(whole.cast(pl.String))
        .when(number.is_not_null())
        .then(_of_number(number))
        .when(word.is_in(["true", "false"]))
        .then(pl.when(word == "true").then(pl.lit("1")).otherwise(pl.lit("0")))
        .when(word == "nan")
        .then(pl.lit(None, dtype=pl.String))
        .otherwise(x.str.replace(_MIDNIGHT, "${1}"))
    )


def _texts_only(content: pl.Series) -> pl.Series:
    if content.dtype != pl.Null and content.dtype not in _TEXTS:
        raise ColumnError(
            content.name,
            "has levels that are the same as numbers, and must hold texts to tell them apart",
            got=f"type {content.dtype.base_type()}",
            hint="Convert the column to texts, or declare levels that differ as numbers.",
        )
    return content.cast(pl.String)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


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
