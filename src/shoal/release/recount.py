"""Count again what a released table itself can show of its claims: k, l and t.

Which column and whose numbers a claim is about are fields of the claim (`column`, `unit`); no sentence is read. What
counts persons can't be shown by the table, which has lost the unit column, but for distinct values: a value is there or
not, whoever has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.arrays import FloatArray
from shoal.engine import GROUPED, ROWS, Engine, Inputs, Relation
from shoal.equivalence import Contents, codes, contents_of, ranks
from shoal.frame import enter, series
from shoal.risk.class_sizes import table_classes
from shoal.schema import Schema

__all__ = ["Parts", "Recount", "recount"]

_SLACK = 1e-9  # against the rounding of entropies and distances


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """What the table shows of one claim."""

    holds: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A released table in several files, which an engine counts without holding it."""

    engine: Engine
    relation: Relation
    n: int

    @classmethod
    def of(cls, engine: Engine, folder: Path, names: Sequence[str]) -> Parts:
        """The table that these files of a folder hold."""
        relation = engine.scan(Inputs.listed(str(folder), [folder / name for name in names]))
        rows = engine.collect(engine.aggregate(relation, [], []))[GROUPED][0]
        return cls(engine=engine, relation=relation, n=int(rows))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.relation.columns

    def __len__(self) -> int:
        return self.n


def recount(claim: Mapping[str, Any], table: pl.DataFrame | Parts, schema: Schema) -> Recount | None:
    """Hold `table` to a claim; None where the table alone can't show it."""
    kind, unit = claim["kind"], _unit(claim)
    if isinstance(table, Parts):
        return _k_of_parts(claim, table, schema) if kind == "k-anonymity" and unit == "records" else None
    if kind == "k-anonymity":
        return _k(claim, table, schema) if unit == "records" else None
    column = claim.get("column")
    if kind not in _MIXES or not isinstance(column, str) or (unit == "persons" and kind != "distinct l-diversity"):
        return None
    if column not in table.columns or column not in schema or not len(table):
        return Recount(holds=False, detail="the table has no such column")
    return _mix(claim, column, table, schema)


def _unit(claim: Mapping[str, Any]) -> str | None:
    """Whether records or persons are counted; claims of earlier versions say so in their scope."""
    former = {"per record": "records", "per person": "persons"}
    return claim.get("unit") or former.get(claim["scope"])


def _k_of_parts(claim: Mapping[str, Any], table: Parts, schema: Schema) -> Recount:
    if not schema.quasi or not set(schema.quasi) <= set(table.columns):
        return Recount(holds=False, detail="no column is said to be a quasi-identifier, or one is not there")
    counts = table.engine.count(table.relation, schema.quasi)
    sizes = table.engine.collect(table.engine.aggregate(counts, [ROWS], []))[ROWS]
    return _smallest(claim, int(sizes.min() or 0))  # type: ignore[arg-type]


def _k(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema) -> Recount:
    if not schema.quasi:
        return Recount(holds=False, detail="no column is said to be a quasi-identifier")
    return _smallest(claim, table_classes(enter(table), schema).k if len(table) else 0)


def _smallest(claim: Mapping[str, Any], k: int) -> Recount:
    return Recount(holds=k >= claim["value"], detail=f"smallest class: {k} records")


def _mix(claim: Mapping[str, Any], column: str, table: pl.DataFrame, schema: Schema) -> Recount | None:
    """How mixed a sensitive column is in the worst class."""
    kind, frame = claim["kind"], enter(table)
    content = series(frame, column)
    if kind == "ordered t-closeness" and not content.dtype.is_numeric():
        return None  # the order of its levels is not in the file
    coded = ranks(content, None) if kind == "ordered t-closeness" else codes(content)
    found = _MIXES[kind](contents_of(table_classes(frame, schema), coded))
    worst = float(found.max() if "closeness" in kind else found.min())
    holds = worst <= claim["value"] + _SLACK if "closeness" in kind else worst >= claim["value"] - _SLACK
    if not holds and kind == "ordered t-closeness" and schema[column].kind == "ordinal":
        return None  # its levels may be in another order than their numbers
    return Recount(holds=holds, detail=f"worst class: {worst:.4g} ({column})")


def _distinct(contents: Contents) -> FloatArray:
    return contents.distinct().astype(float)


_MIXES = {
    "distinct l-diversity": _distinct,
    "entropy l-diversity": Contents.entropy,
    "equal t-closeness": Contents.variation,
    "ordered t-closeness": Contents.ordered_distance,
}
