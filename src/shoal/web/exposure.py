"""How exposed a table is by the roles as they stand, in JSON-safe words: for inside only.

Runs in a child process, each time the schema has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import ColumnError, InputError, ShoalError
from shoal.frame import enter
from shoal.schema import Schema
from shoal.schema.whose_rows import whose_rows

if TYPE_CHECKING:
    import polars as pl

__all__ = ["exposure", "problems", "standing"]

MOST_CHANGES = 8


def problems(frame: pl.DataFrame, schema: Schema) -> list[dict[str, Any]]:
    """Everything that doesn't fit, by column, each with the entries that settle it where that is safe."""
    from shoal.repair import problems_of

    return [_words(problem) for problem in problems_of(frame, schema)]


def _words(problem: InputError) -> dict[str, Any]:
    if not isinstance(problem, ColumnError):
        return {"column": "", "rule": str(problem), "got": "", "hint": "", "fix": {}}
    facts = {name: getattr(problem, name) for name in ("column", "rule", "got", "hint")}
    return {**facts, "fix": dict(problem.fix)}


def exposure(frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    """Records, who is alone and the smallest class; nothing where the columns can't be counted yet."""
    from shoal.risk import classes

    if not schema.quasi:
        return {}
    try:
        found = classes(frame, schema, sensitive=())
    except ShoalError:
        return {}
    return {
        "records": found.n_records,
        "counts": whose_rows(enter(frame), schema).counts,
        "n_alone": found.n_unique,
        "alone": found.unique_share,
        "smallest": found.k,
        "sizes": _bands(found.records_by_size, found.n_records),
    }


def _bands(records: dict[int, int], n: int) -> list[tuple[str, float]]:
    """The share of records by the size of their class, in doubling bands."""
    ends = [(1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, None)]
    return [(_name(low, high), _share(records, n, low, high)) for low, high in ends]


def _share(records: dict[int, int], n: int, low: int, high: int | None) -> float:
    inside = (rows for size, rows in records.items() if size >= low and (high is None or size <= high))
    return sum(inside) / max(1, n)


def _name(low: int, high: int | None) -> str:
    if low == high:
        return "alone"
    return f"{low}+" if high is None else f"{low}–{high}"


def standing(frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    """Through which columns people stand out, and the changes of one column that would help most."""
    from shoal.report.who_stands_out import change_words
    from shoal.risk import contribution, what_if

    if not schema.quasi:
        return {}
    try:
        parts, changes = contribution(frame, schema, values=0), what_if(frame, schema)
    except ShoalError:
        return {}
    shares = {one.column: one.shapley / parts.share if parts.share else 0.0 for one in parts.columns}
    useful = [change for change in changes.changes if change.n_freed > 0][:MOST_CHANGES]
    return {
        "contribution": shares,
        "freed": {one.column: one.n_freed for one in parts.columns},
        "changes": [
            {
                "column": change.column,
                "action": change.action,
                "step": dict(change.step),
                "words": change_words(change),
                "n_freed": change.n_freed,
                "n_alone": change.n_at_risk,
                "lost": change.information_lost,
            }
            for change in useful
        ],
    }
