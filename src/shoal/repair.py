"""Safe changes of a schema: they mend what doesn't fit its table, and never reveal more.

A change is safe if it never lets more be learnt: an entry for a column that isn't there goes; a column without a role
becomes an identifier, a unit or a quasi-identifier (as proposed, or quasi, the cautious guess); a column of codes is
declared nominal; missing numbers stay missing, a level of their own, so that nobody is dropped and nothing filled in.
What needs a person's judgement is left: values outside the public levels and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.conform import prepare
from shoal.errors import ColumnError, InputError, ProblemsError
from shoal.frame import enter
from shoal.schema import Schema
from shoal.schema.infer import propose

__all__ = ["Fix", "problems_of", "safe_fixes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A change of one column's entry: the entries to set, or None to take the column out of the schema."""

    column: str
    entries: Mapping[str, Any] | None
    reason: str


def problems_of(table: Any, schema: Schema) -> tuple[InputError, ...]:
    """Everything that doesn't fit, column by column; empty if the table can be used."""
    try:
        prepare(table, schema)
    except ProblemsError as several:
        return several.problems
    except InputError as one:
        return (one,)
    return ()


def safe_fixes(table: Any, schema: Schema) -> tuple[Fix, ...]:
    """The safe changes that `schema` needs to fit `table`."""
    found = [problem for problem in problems_of(table, schema) if isinstance(problem, ColumnError) and problem.fix]
    declared = [Fix(column=one.column, entries=one.fix, reason=one.rule) for one in found]
    return (*_gone(table, schema), *_new(table, schema), *declared)


def _gone(table: Any, schema: Schema) -> list[Fix]:
    names = set(enter(table).columns)
    ruled = {name for rule in schema.rules for name in rule.columns}
    gone = [column.name for column in schema.columns if column.name not in names | ruled]
    return [Fix(column=name, entries=None, reason="the table has no such column") for name in gone]


def _new(table: Any, schema: Schema) -> list[Fix]:
    frame = enter(table)
    new = [name for name in frame.columns if name not in schema]
    if not new or not len(frame):
        return []
    proposal = propose(frame.select(new).to_native())
    return [
        Fix(column=name, entries=_cautious(proposal.schema[name].to_dict(), schema), reason=proposal.reasons[name])
        for name in new
    ]


def _cautious(words: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The proposed entry, with a role that protects at least as much as any other."""
    safe = {"identifier", "quasi"} | (set() if schema.unit else {"unit"})
    return words if words["role"] in safe else {**words, "role": "quasi"}
