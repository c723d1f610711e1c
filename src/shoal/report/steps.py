"""What each step of a chain did: loss and levels of coarseners, moves of masks, and the risk that each left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, rows_table, tag
from shoal.report.pieces import guarded
from shoal.report.words import number, percent

__all__ = ["steps_tables"]

_SHOWN = ("step", "reidentification", "linkage")
_EXTREMES = ("least", "largest")
_COUNTS = ("moved", "records", "groups", "stood_out", "suppressed", "n_")


def steps_tables(evidence: Evidence, *, internal: bool) -> list[Child]:
    """Tables of what each step left and said; nothing for a recipe of one plain step."""
    if not evidence.steps:
        return []
    return [
        tag("h3", "Step by step"),
        *_risk_table(evidence),
        *(_said_table(words, evidence, internal) for words in evidence.steps if _said(words)),
    ]


def _risk_table(evidence: Evidence) -> list[Html]:
    measured = [words for words in evidence.steps if "reidentification" in words]
    rows = [(w["step"], percent(w["reidentification"]), percent(w["linkage"])) for w in measured]
    head = ("After", "Nearest match finds the right person", "Nearest or second nearest original is the source")
    return [rows_table("Risk after each step", head, rows, numeric=(1, 2))] if rows else []


def _said(words: Mapping[str, Any], k: int = 0) -> dict[str, Any]:
    """What a step says of itself; of fewer than k people moved no more than that."""
    if 0 < words.get("moved", 0) < k:
        return {"moved": words["moved"]}
    shown = {name: value for name, value in words.items() if name not in (*_SHOWN, "mask") and value is not None}
    return {name: value for name, value in shown.items() if not _has_small_cell(value, k)}


def _has_small_cell(value: Any, k: int) -> bool:
    """Whether a table of counts has a cell of 1 to k − 1: then none of it is told, as the rest would give it away."""
    cells = value.values() if isinstance(value, Mapping) else ()
    return any(isinstance(cell, int) and 0 < cell < k for cell in cells)


def _said_table(words: Mapping[str, Any], evidence: Evidence, internal: bool) -> Html:
    said = _said(words, 0 if internal else evidence.k)
    rows = [(name.replace("_", " "), _spelled(name, value, evidence, internal)) for name, value in said.items()]
    return rows_table(f"What {words['step']} did", ("What", "Value"), rows)


def _spelled(name: str, value: Any, evidence: Evidence, internal: bool) -> str:
    if isinstance(value, Mapping):
        value = value if internal else {key: item for key, item in value.items() if key not in _EXTREMES}
        return ", ".join(f"{key}: {_spelled(f'{name}_{key}', item, evidence, internal)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_spelled(name, item, evidence, internal) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and "share" in name:
        return guarded(value, evidence.n_used, evidence, internal=internal)
    if isinstance(value, int) and 0 < value < evidence.k and not internal and _counts_people(name):
        return f"fewer than {evidence.k}"
    return number(value) if isinstance(value, int | float) else str(value)


def _counts_people(name: str) -> bool:
    return any(word in name for word in _COUNTS)
