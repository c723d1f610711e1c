"""What each step of a chain did: loss and levels of coarseners, moves of masks, and the risk that each left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.fact import Step
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, rows_table, tag
from shoal.report.numbers import number, percent

__all__ = ["steps_tables"]


def steps_tables(evidence: Evidence, *, internal: bool) -> list[Child]:
    """Tables of what each step left and did; for everybody only what the released rows show anyway."""
    said = [(step, step.details if internal else step.outside) for step in evidence.steps]
    tables = [*(_risk_table(evidence) if internal else []), *(_table(step, words) for step, words in said if words)]
    return [tag("h3", "Step by step"), *tables] if tables else []


def _risk_table(evidence: Evidence) -> list[Html]:
    rows = [
        (step.name, percent(step.reidentification), percent(step.linkage))
        for step in evidence.steps
        if step.reidentification is not None
    ]
    head = ("After", "Nearest match finds the right person", "Nearest or second nearest original is the source")
    return [rows_table("Risk after each step", head, rows, numeric=(1, 2))] if rows else []


def _table(step: Step, words: Mapping[str, Any]) -> Html:
    rows = [(name.replace("_", " "), _spelled(name, value)) for name, value in words.items() if value is not None]
    return rows_table(f"What {step.name} did", ("What", "Value"), rows)


def _spelled(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_spelled(name, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_spelled(name, item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and name.endswith("_share"):
        return percent(value)
    return number(value) if isinstance(value, int | float) else str(value)
