"""The schema's rules through a run: held against what comes in, kept by what is handed out, counted on what goes out.

Masks change quasi-identifiers and leave the other columns as they are, so a rule between them (never male and pregnant)
can break. Mending a row by a look at what its receiver has would tell whose it is, and the bound of `shoal.mask.mask`
would be gone. Instead records are put into *blocks* by what their unchanged columns say to each rule (the pregnant, the
others), and grouped and masked within them. All records of a block may have any row of it without breaking a rule that
their own rows obey. So whether a drawn row breaks a rule does not depend on who gets it, and nothing is chosen by a
look at who got what.

That is enough for masks that hand out whole rows. A centre of several rows may still break a rule between
quasi-identifiers; then finer blocks are made, in which all records lie on one side of every condition, and what lies
between values of one side lies there too. What breaks rules even so (noise) is refused, or, where nothing is proved of
the last mask anyway, given its own values back in the columns concerned, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.conform import Prepared, as_written
from shoal.errors import GuaranteeError, InputError, Problems, SchemaError
from shoal.frame import Frame, pick, series
from shoal.group import Grouper, Grouping, Handing
from shoal.group.grouper import NO_HANDING
from shoal.schema import Rule, Schema
from shoal.schema.constraint import Codes

__all__ = [
    "blocks_of",
    "breaking",
    "check_rules",
    "codes_of_absence",
    "group_within",
    "part_of",
    "refuse_rules",
    "rule_caveats",
    "rule_faults",
]


def check_rules(prepared: Prepared) -> None:
    """Refuse a table that breaks its schema's rules: each such rule is named, with the number of rows."""
    Problems(rule_faults(prepared)).raise_if_any()


def rule_faults(prepared: Prepared) -> Iterator[InputError]:
    """The rules that the table breaks, each with the number of rows."""
    columns, codes = _columns(prepared.frame, prepared.schema), codes_of_absence(prepared.schema)
    for place, rule in enumerate(prepared.schema.rules, start=1):
        n = int(rule.broken(columns, codes).sum())
        if n:
            yield SchemaError(
                "schema",
                f"rule {place} ({', '.join(dict.fromkeys(rule.columns))}) must hold in every row",
                got=f"{n:,} rows that break it",
                hint="Correct the rows, or the rule.",
            )


def breaking(frame: Frame, schema: Schema, rules: Sequence[Rule]) -> BoolArray:
    """Which rows of a prepared or released table break one of the rules."""
    columns, codes = _columns(frame, schema), codes_of_absence(schema)
    found = np.zeros(len(frame), dtype=np.bool_)
    for rule in rules:
        found |= rule.broken(columns, codes)
    return found


def codes_of_absence(schema: Schema) -> Codes:
    """The values of each column that stand for an absence, as they are written."""
    return {column.name: tuple(column.missing_codes) for column in schema.columns if column.missing_codes}


def _columns(frame: Frame, schema: Schema) -> dict[str, pl.Series]:
    needed = {name for rule in schema.rules for name in rule.columns if name in frame.columns}
    shown = as_written(frame.select(sorted(needed)), schema) if needed else frame
    return {name: series(shown, name) for name in needed}


def blocks_of(prepared: Prepared, *, fine: bool = False) -> IntArray:
    """The block of each record: records of one block can exchange their quasi-identifiers, as the module says."""
    schema = prepared.schema.released
    columns, codes = _columns(prepared.frame, schema), codes_of_absence(schema)
    _refuse_torn(schema)
    parts = [part for rule in schema.rules for part in _says(rule, schema.quasi, columns, codes, fine)]
    if not parts:
        return np.zeros(prepared.n, dtype=np.int64)
    blocks = np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    _check_persons(prepared, blocks)
    return blocks


def _says(
    rule: Rule, quasi: Sequence[str], columns: dict[str, pl.Series], codes: Codes, fine: bool
) -> Iterator[IntArray]:
    """What the unchanged columns of each record say to a rule; if `fine`, also the side of each masked one."""
    if not set(rule.columns) & set(quasi):
        return
    unchanged = [{n: c for n, c in part.items() if n not in quasi} for part in (rule.when, rule.then)]
    for part in unchanged:
        if part:
            yield (~Rule(when=part).broken(columns, codes)).astype(np.int64)
    if rule.compares and not set(rule.order or rule.sum) & set(quasi):
        yield replace(rule, when={}).broken(columns, codes).astype(np.int64)
    masked = {**rule.when, **rule.then} if fine else {}
    for name, condition in masked.items():
        if name in quasi:
            yield condition.side(columns[name], codes.get(name, ()))


def _refuse_torn(schema: Schema) -> None:
    """Numbers or dates that a rule compares must be handed out together, or not at all."""
    for rule in schema.rules:
        compared = set(rule.order or rule.sum)
        masked = compared & set(schema.quasi)
        if masked and masked != compared:
            raise SchemaError(
                "rules",
                f"compare '{min(masked)}', which is masked, with '{min(compared - masked)}', which is not, and no mask "
                "can keep that",
                hint="Give all columns of the rule the role quasi, or leave the rule out.",
            )


def _check_persons(prepared: Prepared, blocks: IntArray) -> None:
    """All rows of a person are in one group, so they must be in one block."""
    units = prepared.units()
    pairs = np.unique(np.column_stack((units, blocks)), axis=0)
    if len(pairs) > int(units.max()) + 1:
        raise GuaranteeError(
            "rules",
            "tie masked columns to columns that differ between the rows of a person, whose rows share a group",
            hint="Give the columns of the rules the role quasi, or leave the rules out.",
        )


def refuse_rules(schema: Schema) -> None:
    """Refuse on an engine what is kept in memory only: rules between columns, and columns that follow from others."""
    derived = [column.name for column in schema.columns if column.derived]
    if schema.rules or derived:
        what = f"column '{derived[0]}' follows from others" if derived else "has rules between columns"
        raise SchemaError(
            "schema",
            f"{what}, which needs the table in memory",
            hint="Run in memory (--engine memory), or take it out.",
        )


def rule_caveats(schema: Schema, *, blind: bool) -> tuple[str, ...]:
    """What must be said of rules between masked and unchanged columns, whether or not a record needed it."""
    names, quasi = [column.name for column in schema.released.columns], set(schema.quasi)
    tied = {name for rule in schema.released.rules if set(rule.columns) & quasi for name in rule.columns}
    if not tied:
        return ()
    if not blind:
        mine = ", ".join(name for name in names if name in tied & quasi)
        return (f"A record whose row would have broken a rule of the schema got its own values back in {mine}.",)
    others = ", ".join(name for name in names if name in tied - quasi)
    return (f"Those who share a group agree on what {others} says to the rules of the schema.",) if others else ()


def part_of(prepared: Prepared, rows: IntArray) -> Prepared:
    """Some rows of a prepared table."""
    return replace(prepared, frame=pick(prepared.frame, rows), rows=prepared.rows[rows])


def group_within(
    grouper: Grouper, prepared: Prepared, blocks: IntArray, seed: int, handing: Handing = NO_HANDING
) -> Grouping:
    """Group each block by itself."""
    n_blocks = int(blocks.max(initial=0)) + 1
    if n_blocks == 1:
        return grouper.group(prepared, seed, handing)
    persons = _checked_sizes(grouper, prepared, blocks)
    labels, first = np.empty(prepared.n, dtype=np.int64), 0
    for block in range(n_blocks):
        rows = np.flatnonzero(blocks == block)
        part = part_of(prepared, rows)
        if persons[block] < 2 * grouper.k:  # too few for two groups
            labels[rows], first = first, first + 1
            continue
        grouper.tell_part(part, prepared)
        found = grouper.group(part, seed, handing.of_part(block))
        labels[rows] = np.where(found.labels < 0, -1, first + found.labels)
        first += found.n_groups
    grouper.check_whole(prepared, labels)
    return Grouping(labels=labels, notes={"blocks": n_blocks})


def _checked_sizes(grouper: Grouper, prepared: Prepared, blocks: IntArray) -> IntArray:
    """The persons of each block, none of which may have fewer than k."""
    persons = np.bincount(np.unique(np.column_stack((blocks, prepared.units())), axis=0)[:, 0])
    smallest = int(persons.min())
    if smallest < grouper.k:
        raise GuaranteeError(
            type(grouper).__name__,
            f"needs at least k = {grouper.k} persons in every case that the rules tell apart",
            got=f"{smallest} in the smallest",
            hint="Lower k, leave a rule out, or give the columns that it ties to quasi-identifiers the role quasi too: "
            "then they are handed out together.",
        )
    return persons
