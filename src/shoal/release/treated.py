"""The columns that a preset removed or rewrote and those that a person allowed, by what was done: one list for inside.

A step says what it did to a column as a fact without a sentence (`treatment`); the terminal and the workbench show all
of them as one list. It speaks of what the whole table held, also of people who were left out later, so it never leaves:
outside stands what follows from the schema and the released rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.compliance.presets import Preset
from shoal.compliance.treatment import TREATMENTS, treatments_in
from shoal.fact import Fact
from shoal.schema import LinkedSchema, Schema

__all__ = ["LEFT_OUT", "treated_columns"]

LEFT_OUT, ALLOWED = "identifiers left out", "allowed by a person, and released as they are"


def treated_columns(
    facts: Iterable[Fact], schema: Schema | LinkedSchema, preset: Preset | None
) -> dict[str, list[str]]:
    """Columns by what was done to them, in a fixed order; nothing without a preset, a step of one, or a permission."""
    said = list(facts)
    rewritten = treatments_in(said)
    allowed = [str(fact.values["allowed"]) for fact in said if "allowed" in fact.values]
    if preset is None and not rewritten and not allowed:
        return {}
    found = {LEFT_OUT: _identifiers(schema), **{title: rewritten.get(title, []) for title in TREATMENTS}}
    return {title: columns for title, columns in {**found, ALLOWED: allowed}.items() if columns}


def _identifiers(schema: Schema | LinkedSchema) -> list[str]:
    """The columns that name people and are dropped; of linked tables as ``TABLE.COLUMN``."""
    tables = [(f"{t.name}.", t.columns) for t in schema.tables] if isinstance(schema, LinkedSchema) else [("", schema)]
    return [
        f"{prefix}{column.name}"
        for prefix, one in tables
        for column in one.columns
        if column.role == "identifier" and not column.pseudonym
    ]
