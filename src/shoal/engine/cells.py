"""SQL that reads cells as Shoal's own readers do: types of delimited text, NaN, zeros, categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from shoal.errors import ColumnError
from shoal.files.column_types import _DATE, _INTEGER, _MOMENT, _NOT_FINITE, _TIME, _TRUTH, NUMBER

__all__ = ["csv_types", "scanned"]


def scanned(query: str, types: Mapping[str, pl.DataType]) -> str:
    """The rows of a query with NaN as missing, one zero, wide floats and texts for categories."""
    chosen = ", ".join(f"{_clean(_name(name), dtype)} AS {_name(name)}" for name, dtype in types.items())
    for name, dtype in types.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise ColumnError(name, "must hold numbers, texts, dates or true/false", got="another type")
    return f"SELECT {chosen} FROM ({query})"


def _clean(column: str, dtype: pl.DataType) -> str:
    if dtype.is_float():
        wide = f"CAST({column} AS DOUBLE)"
        return f"CASE WHEN isnan({wide}) THEN NULL WHEN {wide} = 0 THEN CAST(0 AS DOUBLE) ELSE {wide} END"
    return f"CAST({column} AS VARCHAR)" if dtype in (pl.Categorical, pl.Enum) else column


def csv_types(query: str, names: Sequence[str], row: Callable[[str], tuple[Any, ...]]) -> str:
    """Rows of texts in the narrowest types that keep every cell, by the rules of `shoal.files.column_types`.

    One pass counts, for each column, the cells that each type can hold; a type is given only if it holds them all.
    """
    counted = [f"count({_cell(name)})" for name in names]
    counted += [f"count(*) FILTER ({test})" for name in names for test, _ in _types(_cell(name))]
    counted += [f"count(*) FILTER ({_match(_cell(name), NUMBER)})" for name in names]
    found = row(f"SELECT {', '.join(counted)} FROM ({query})")
    n, width = len(names), len(_types(""))
    chosen = []
    for j, name in enumerate(names):
        fits = [found[n + j * width + i] == found[j] > 0 for i in range(width)]
        fits[_FLOAT] = fits[_FLOAT] and found[n + n * width + j] > 0
        cast = next((cast for good, (_, cast) in zip(fits, _types(_cell(name)), strict=True) if good), _name(name))
        chosen.append(f"{cast} AS {_name(name)}")
    return f"SELECT {', '.join(chosen)} FROM ({query})"


_FLOAT = 1  # its place among the types


def _types(cell: str) -> list[tuple[str, str]]:
    """For each type, in the order in which they are tried: whether a cell is of it, and the cell in it."""
    number, moment = f"TRY_CAST({cell} AS DOUBLE)", f"TRY_CAST(replace({cell}, 'T', ' ') AS TIMESTAMP)"
    universal = moment.replace(f"replace({cell}", f"replace(rtrim({cell}, 'Z')")
    clock = f"TRY_CAST({cell} AS TIME)"
    large = f"isinf({number}) AND {_match(cell, '[0-9]')}"
    return [
        (_both(_match(cell, _INTEGER), f"TRY_CAST({cell} AS BIGINT)"), f"CAST({cell} AS BIGINT)"),
        (f"{_both(_match(cell, f'{NUMBER}|{_NOT_FINITE}'), number)} AND NOT ({large})", number),
        (_match(cell, _TRUTH), f"lower({cell}) = 'true'"),
        (_both(_match(cell, _DATE), f"TRY_CAST({cell} AS DATE)"), f"TRY_CAST({cell} AS DATE)"),
        (_both(_match(cell, f"{_MOMENT}$"), moment), moment),
        (_both(_match(cell, f"{_MOMENT}Z$"), universal), universal),
        (_both(_match(cell, _TIME.replace("{1,9}", "{1,6}")), clock), clock),  # finer times stay text
    ]


def _both(test: str, cast: str) -> str:
    return f"{test} AND {cast} IS NOT NULL"


def _match(cell: str, pattern: str) -> str:
    return f"regexp_matches({cell}, '{pattern}')"


def _cell(name: str) -> str:
    return f"nullif(trim({_name(name)}, ' \t'), '')"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
