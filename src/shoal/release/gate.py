"""The gate before anything is written: no column that names people leaves as it came unless a person has allowed it.

What names people is judged in one place (`shoal.schema.judgement`): numbers of people and records, names, ways to reach
somebody, free text. The role that somebody wrote into the schema plays no part: a number of charts that is called
*sensitive* or *quasi* names its patient all the same. Three ways lead on: give the column the role identifier, and it
is dropped; let texts be scrubbed; or allow it, once a person has looked (``--allow COLUMN``).

Columns that leave as they came are held to the rule before anything is computed. Quasi-identifiers are written anew: of
those that name people, the written cells are compared with the original ones afterwards. A mask that hands cells from
one person to another (resampling, shuffling) releases real numbers, an interval does not. Synthetic rows are nobody's:
what is judged there are the texts that were drawn from the public domain.

Promised: what the judgement is certain of is refused or was allowed. Not promised: that it is certain of everything
that names somebody. What is refused is said inside; outside stands which columns a person allowed, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from shoal.compliance.presets import Preset
from shoal.errors import ColumnError, IdentifierError
from shoal.fact import Fact
from shoal.frame import Frame, enter, series
from shoal.recipe import Recipe
from shoal.schema import LinkedSchema, LinkedTable, Schema
from shoal.schema.judgement.judge import counted_cells
from shoal.schema.judgement.judgement import Judgement, judge

__all__ = [
    "GATE",
    "allowed_facts",
    "allowed_in",
    "allowed_of_table",
    "check_leaving",
    "check_written",
    "handed_on",
    "judged_when_written",
    "leaving",
    "naming",
    "naming_in",
    "refuse",
    "rewritten",
]

GATE = "release"
"""Who refuses, in an error."""

_HANDED_ON = 0.5  # share of the written values that are original ones, from which on cells were handed on, not written


def check_leaving(table: Any, schema: Schema | LinkedSchema, recipe: Recipe, allowed: set[str]) -> None:
    """Refuse columns that name people and would leave as they came; columns of linked tables also as TABLE.COLUMN."""
    if not recipe.is_of_people:
        return None
    if isinstance(schema, Schema):
        frame = enter(table)
        return refuse(naming(frame, [*leaving(schema), *_texts_kept(frame, schema, recipe)]), allowed)
    found: dict[str, Judgement] = {}
    for one in schema.tables:
        if isinstance(table, Mapping) and one.name in table:  # else said when tables are held to their schema
            frame = enter(table[one.name])
            kept = _texts_kept(frame, one.columns, recipe) if one.parent is None else rewritten(one.columns)
            known = naming(frame, [*leaving(one.columns), *kept])
            own = allowed_of_table(one, allowed)
            found |= {f"{one.name}.{name}": made for name, made in known.items() if name not in own}
    return refuse(found, allowed)


def check_written(original: Any, written: Frame, schema: Schema, recipe: Recipe, allowed: set[str]) -> None:
    """Refuse what names people in a finished table, and quasi-identifiers of which original cells are in it."""
    found = naming(written, judged_when_written(schema, written, of_people=recipe.is_of_people))
    if recipe.is_of_people:
        before = enter(original)
        names = [name for name in rewritten(schema) if name in before.columns and name in written.columns]
        known = naming(before, [name for name in names if name not in allowed])
        found |= {name: made for name, made in known.items() if _is_handed_on(before, written, name)}
    refuse(found, allowed)


def _is_handed_on(before: Frame, written: Frame, name: str) -> bool:
    return handed_on(_readable(before, name).unique(), _readable(written, name).unique())


def judged_when_written(schema: Schema, written: Frame, *, of_people: bool) -> list[str]:
    """The columns of a finished table that are judged by their written cells: texts, and what left as it came.

    Numbers that were drawn or masked are nobody's.
    """
    kept = leaving(schema) if of_people else []
    there = [c.name for c in schema.released.columns if c.name in written.columns and not c.pseudonym]
    texts = [n for n in there if schema[n].role != "weight" and _readable(written, n).dtype == pl.String]
    return [name for name in there if name in kept or name in texts]


def leaving(schema: Schema) -> list[str]:
    """The columns whose cells leave as they came."""
    named = {"weight", "quasi"}
    return [c.name for c in schema.released.columns if c.role not in named and not c.pseudonym]


def _texts_kept(frame: Frame, schema: Schema, recipe: Recipe) -> list[str]:
    """The quasi-identifiers of texts, where they aren't coarsened: a mask hands texts on and never invents one."""
    if recipe.rewrites_quasi:
        return []
    there = [name for name in rewritten(schema) if name in frame.columns]
    return [name for name in there if _readable(frame, name).dtype == pl.String]


def rewritten(schema: Schema) -> list[str]:
    """The quasi-identifiers, which are written anew."""
    return [column.name for column in schema.released.columns if column.role == "quasi" and not column.pseudonym]


def naming(frame: Frame, names: Iterable[str]) -> dict[str, Judgement]:
    """The columns that surely name people, each with what it was judged to hold."""
    there = (_readable(frame, name) for name in names if name in frame.columns)
    return naming_in({column.name: counted_cells(column) for column in there})


def naming_in(counted: Mapping[str, pl.DataFrame]) -> dict[str, Judgement]:
    """The same of columns of which the different values (``value``) with their rows (``count``) are known."""
    made = {name: judge(name, cells) for name, cells in counted.items()}
    return {name: one for name, one in made.items() if one.names_people and one.is_certain}


def refuse(found: Mapping[str, Judgement], allowed: set[str]) -> None:
    """Stop a release that would hold these columns, unless a person has allowed them; all are named at once."""
    refused = {name: made for name, made in found.items() if name not in allowed}
    if refused:
        reasons = {name: f"{made.holds}: {made.reasons[0]}" for name, made in refused.items()}
        raise IdentifierError(
            GATE,
            "must not hold what names people as it stands: numbers of people or records, names, addresses, free text",
            got="; ".join(f"column '{name}' ({reason})" for name, reason in reasons.items()),
            hint="Give it the role identifier to drop it, replace what names people (shoal scrub), or allow it "
            "(--allow) once you have looked.",
            columns=reasons,
        )


def handed_on(before: pl.Series, after: pl.Series) -> bool:
    """Whether most of the different written values are original ones; of a written set of values, its members."""
    known, written = set(_texts(before)), set(_texts(after)) - {"*", "missing", ""}
    n_known = sum(bool(known & {text, *_members(text)}) for text in written)
    return n_known > _HANDED_ON * len(written)


def _texts(values: pl.Series) -> list[str]:
    """Values as texts; whole numbers alike, however they are stored."""
    known = values.drop_nulls()
    if known.dtype.is_float() and bool((known == known.round()).all()) and bool((known.abs() < 1e15).all()):
        known = known.cast(pl.Int64)
    return known.cast(pl.String).to_list()


def _members(text: str) -> list[str]:
    return text.removesuffix(" or missing").strip("{}").split(", ") if text.startswith("{") else []


def _readable(frame: Frame, name: str) -> pl.Series:
    """A column to judge; of a mix of types, which one left-out person can make, its texts alone."""
    try:
        column = series(frame, name)
    except ColumnError:
        texts = [value for value in frame[name].to_list() if isinstance(value, str)]
        return pl.Series(name, texts, dtype=pl.String)
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def allowed_in(recipe: Recipe, preset: Preset | None, allow: Sequence[str]) -> set[str]:
    """The columns that a person allowed: for this run, or within a step of the recipe or of the preset."""
    steps = (*recipe.methods, *(() if preset is None else preset.first))
    return {*allow, *(name for step in steps for name in getattr(step, "allow", ()))}


def allowed_of_table(table: LinkedTable, allowed: set[str]) -> set[str]:
    """The columns of one of several tables that are allowed, as ``COLUMN`` or ``TABLE.COLUMN``."""
    return {name.removeprefix(f"{table.name}.") for name in allowed}


def allowed_facts(schema: Schema | LinkedSchema, allowed: set[str]) -> tuple[Fact, ...]:
    """What may be told of columns that a person allowed: their names, and nothing of what they hold."""
    tables = [table.columns for table in schema.tables] if isinstance(schema, LinkedSchema) else [schema]
    there = {column.name for one in tables for column in one.released.columns}
    listed = sorted(name for name in allowed if name.rpartition(".")[2] in there or name in there)
    says = "{column}: a person looked at it and allowed it to leave as it is"
    return tuple(Fact(says=says, values={"allowed": name}, column=name, outside=True) for name in listed)
