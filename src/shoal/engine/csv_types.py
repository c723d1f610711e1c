"""SQL that reads cells of delimited text as Shoal's own readers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.files.column_types import _DATE, _INTEGER, _MOMENT, _NOT_FINITE, _TIME, _TRUTH, NUMBER

__all__ = ["Dialect", "csv_types"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How an engine spells names, patterns and moments; `has_times`: whether it knows times of the day."""

    name: Callable[[str], str]
    match: str
    moment: str
    has_times: bool


def csv_types(query: str, names: Sequence[str], row: Callable[[str], tuple[Any, ...]], dialect: Dialect) -> str:
    """Rows of texts in the narrowest types that keep every cell, by the rules of `shoal.files.column_types`.

    One pass counts, for each column, the cells that each type can hold; a type is given only if it holds them all.
    """
    cells = [f"nullif(trim(BOTH ' \t' FROM {dialect.name(name)}), '')" for name in names]
    types = [_types(cell, dialect) for cell in cells]
    counted = [f"count({cell})" for cell in cells]
    counted += [f"count(*) FILTER (WHERE {test})" for each in types for test, _ in each]
    counted += [f"count(*) FILTER (WHERE {_match(cell, NUMBER, dialect)})" for cell in cells]
    found = row(f"SELECT {', '.join(f'{one} AS c{i}' for i, one in enumerate(counted))} FROM ({query})")
    n, width = len(names), len(types[0])
    chosen = []
    for j, name in enumerate(names):
        fits = [found[n + j * width + i] == found[j] > 0 for i in range(width)]
        fits[_FLOAT] = fits[_FLOAT] and found[n + n * width + j] > 0
        cast = next((cast for good, (_, cast) in zip(fits, types[j], strict=True) if good), dialect.name(name))
        chosen.append(f"{cast} AS {dialect.name(name)}")
    return f"SELECT {', '.join(chosen)} FROM ({query})"


_FLOAT = 1  # its place among the types


def _types(cell: str, dialect: Dialect) -> list[tuple[str, str]]:
    """For each type, in the order in which they are tried: whether a cell is of it, and the cell in it."""

    def match(pattern: str) -> str:
        return _match(cell, pattern, dialect)

    number = f"TRY_CAST({cell} AS DOUBLE)"
    moment = f"TRY_CAST(replace({cell}, 'T', ' ') AS {dialect.moment})"
    universal = f"TRY_CAST(replace(trim(TRAILING 'Z' FROM {cell}), 'T', ' ') AS {dialect.moment})"
    clock = f"TRY_CAST({cell} AS TIME)"
    large = f"abs({number}) = CAST('Infinity' AS DOUBLE) AND {match('[0-9]')}"
    times = [(_both(match(_TIME.replace("{1,9}", "{1,6}")), clock), clock)]  # finer times stay text
    return [
        (_both(match(_INTEGER), f"TRY_CAST({cell} AS BIGINT)"), f"CAST({cell} AS BIGINT)"),
        (f"{_both(match(f'{NUMBER}|{_NOT_FINITE}'), number)} AND NOT ({large})", number),
        (match(_TRUTH), f"lower({cell}) = 'true'"),
        (_both(match(_DATE), f"TRY_CAST({cell} AS DATE)"), f"TRY_CAST({cell} AS DATE)"),
        (_both(match(f"{_MOMENT}$"), moment), moment),
        (_both(match(f"{_MOMENT}Z$"), universal), universal),
        *(times if dialect.has_times else []),
    ]


def _both(test: str, cast: str) -> str:
    return f"{test} AND {cast} IS NOT NULL"


def _match(cell: str, pattern: str, dialect: Dialect) -> str:
    return dialect.match.format(cell, pattern)
