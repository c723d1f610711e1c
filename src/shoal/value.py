"""When two values are the same: one rule for tables, files, schemas, rules and queries.

*As numbers if they are numbers, else as texts*: 1, 1.0, "1", " 1.0", true and "True" are the same value; so are a date,
midnight of that date and its ISO text; NaN and the text "nan" are missing. Levels that are one number by this rule
("01" and "1") can only be told apart in a column of texts, and such a column is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.errors import ColumnError

__all__ = [
    "Level",
    "canonical",
    "codes_of",
    "identity",
    "plain",
    "same_as",
    "spelled",
    "spellings",
    "text_of",
    "unknown_levels",
]

Level: TypeAlias = str | int | float | bool

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_WHOLE, _LONG = r"^[+-]?\d{1,18}$", r"^[+-]?\d{19,}$"  # a long one may be an identifier, and stays a text
_MIDNIGHT = r"^(\d{4}-\d{2}-\d{2})[ T]00:00(:00(\.0+)?)?$"
_EXACT = 2.0**53  # up to here a float that is whole is that whole number
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


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
        raise ColumnError(content.name, "must hold numbers, text, dates or true/false", got=str(kind)) from None
    different = texts.drop_nulls().unique()
    keys = different.to_frame("x").select(_of_text(pl.col("x"))).to_series()
    return texts.replace_strict(different, keys, default=None, return_dtype=pl.String)


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


def unknown_levels(content: pl.Series, levels: pl.Series) -> list[str]:
    """The values of a column that are none of the levels, sorted, as texts."""
    found = content.drop_nulls().unique()
    return canonical(found.filter(pl.Series(codes_of(found, levels) < 0))).unique().sort().to_list()


def _places(values: pl.Series, keys: pl.Series) -> IntArray:
    places = pl.Series(np.arange(len(keys)), dtype=pl.Int64)
    found = values.replace_strict(keys, places, default=-1, return_dtype=pl.Int64)
    return np.where(values.is_null().to_numpy(), len(keys), found.fill_null(-1).to_numpy()).astype(np.int64)


def _ambiguous(keys: pl.Series) -> bool:
    """Whether levels can only be told apart as texts."""
    return bool(keys.null_count()) or keys.n_unique() < len(keys)


def _texts_only(content: pl.Series) -> pl.Series:
    if content.dtype != pl.Null and content.dtype not in _TEXTS:
        raise ColumnError(
            content.name,
            "has levels that are equal as numbers, and must hold text to tell them apart",
            got=f"type {content.dtype.base_type()}",
            hint="Convert the column to text, or declare levels that differ as numbers.",
        )
    return content.cast(pl.String)


def plain(levels: pl.Series) -> list[Level]:
    """Levels as JSON has them: numbers and true or false as they are, all else as texts."""
    simple = levels.dtype.is_numeric() or levels.dtype == pl.Boolean
    return levels.to_list() if simple else levels.cast(pl.String).to_list()


def spelled(levels: pl.Series) -> list[str]:
    """Levels as a reader meets them: whole numbers without decimals, true and false in small letters."""
    return canonical(levels).to_list() if levels.dtype.is_float() else [text_of(level) for level in plain(levels)]


def spellings(levels: pl.Series) -> list[list[Level]]:
    """The values of JSON that mean each level, the level itself first: 1 and "1" (1.0 is 1 there), true and "true"."""
    own, keys = plain(levels), canonical(levels)
    if _ambiguous(keys):
        return [[level] for level in own]
    return [_spelled(level, key) for level, key in zip(own, keys, strict=True)]


def _spelled(level: Level, key: str) -> list[Level]:
    found: list[Level] = [level, text_of(level), key]
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


def text_of(value: Any) -> str:
    """One value as text, true and false in small letters."""
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def same_as(content: pl.Series, levels: Sequence[Level]) -> BoolArray:
    """Which values are one of the levels; a missing one is none.

    A column that holds "01" and "1" as two values is compared as texts.
    """
    wanted, own = pl.Series([text_of(level) for level in levels], dtype=pl.String), content.cast(pl.String)
    if not _ambiguous(canonical(content.drop_nulls().unique())):
        wanted, own = canonical(wanted), canonical(content)
    return np.asarray(own.is_in(wanted.drop_nulls().implode()).fill_null(False).to_numpy(), dtype=np.bool_)


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
