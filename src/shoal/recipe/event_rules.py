"""Rules, derived columns and codes for an absence in tables of events: held to where they can be, refused elsewhere.

A rule between columns of one event is counted before anything is done, and again on the events as they are released:
methods that hand whole events on keep it, one that exchanges contents may not, and then nothing is released. Coarsened
values hold the true one and break nothing. Columns that follow from others are recomputed for persons only. A number
with codes for an absence travels as it is, but is neither summed up over a person's events nor put into intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from shoal.errors import ColumnError, GuaranteeError, InputError, Problems, SchemaError
from shoal.frame import enter
from shoal.linked import EventMethod
from shoal.recipe.rules import breaking
from shoal.schema import Column, LinkedSchema, LinkedTable

__all__ = ["check_events", "require_event_rules"]


def check_events(schema: LinkedSchema, tables: Mapping[str, pl.DataFrame], methods: Sequence[EventMethod]) -> None:
    """Refuse what tables of events can't have, and events that break a rule: all problems at once."""
    problems = [fault for table in schema.events for fault in _refused(table, _coarsened(table, methods))]
    broken = [fault for table in schema.events for fault in _broken(table, tables[table.name])]
    Problems([*problems, *broken]).raise_if_any()


def require_event_rules(
    schema: LinkedSchema, tables: Mapping[str, pl.DataFrame], methods: Sequence[EventMethod]
) -> None:
    """Refuse to release events that break a rule of their table; coarsened columns hold the true values."""
    for table in schema.events:
        for fault in _broken(table, tables[table.name].drop(_coarsened(table, methods), strict=False)):
            hint = "Hand whole events on (exchange-bags, deal-events), or take the rule out of the schema."
            raise GuaranteeError(fault.owner, fault.rule, got=fault.got, hint=hint)


def _coarsened(table: LinkedTable, methods: Sequence[EventMethod]) -> tuple[str, ...]:
    """The columns that may be written less exactly."""
    return table.known if any(method.widens for method in methods) else ()


def _refused(table: LinkedTable, coarsened: Sequence[str]) -> Iterator[InputError]:
    summed = {summary.column for summary in table.summaries if summary.kind not in ("count", "codes")}
    for column in table.columns.columns:
        if column.derived:
            rule = f"of table '{table.name}' follows from others, which is kept for the table of persons only"
            yield ColumnError(column.name, rule, hint='Take derived out, or drop the column: role = "identifier".')
        if _has_reasons(column) and column.name in {*summed, *coarsened}:
            rule = f"of table '{table.name}' holds numbers or reasons, which can be neither summarised nor coarsened"
            yield ColumnError(column.name, rule, hint="Leave its summary out, or declare it nominal.")


def _has_reasons(column: Column) -> bool:
    return bool(column.missing_codes) and column.kind in (None, "numeric")


def _broken(table: LinkedTable, frame: pl.DataFrame) -> Iterator[InputError]:
    there = [rule for rule in table.columns.rules if set(rule.columns) <= set(frame.columns)]
    for rule in there:
        n = int(breaking(enter(frame), table.columns, [rule]).sum())
        if n:
            names = ", ".join(dict.fromkeys(rule.columns))
            says = f"rule ({names}) must hold in every row"
            hint = "Correct the rows, or the rule."
            yield SchemaError(f"table '{table.name}'", says, got=f"{n:,} rows that break it", hint=hint)
