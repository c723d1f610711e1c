"""Count again what a released table itself can show of its claims: k, l and t.

Which column and whose numbers a claim is about are fields of the claim (`column`, `unit`); no sentence is read. What
counts persons can't be shown by the table, which has lost the unit column, but for distinct values: a value is there or
not, whoever has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.arrays import FloatArray
from shoal.equivalence import Contents, codes, contents_of, ranks
from shoal.frame import enter, series
from shoal.risk.class_sizes import table_classes
from shoal.schema import Schema

__all__ = ["Recount", "recount"]

_SLACK = 1e-9  # against the rounding of entropies and distances


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """What the table shows of one claim."""

    holds: bool
    detail: str


def recount(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema) -> Recount | None:
    """Hold `table` to a claim; None where the table alone can't show it."""
    kind, unit = claim["kind"], _unit(claim)
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


def _k(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema) -> Recount:
    if not schema.quasi:
        return Recount(holds=False, detail="no column is said to be a quasi-identifier")
    k = table_classes(enter(table), schema).k if len(table) else 0
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
