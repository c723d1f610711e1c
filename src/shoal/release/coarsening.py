"""Run coarseners on a table: each in turn, then shuffle. The result is a release like any other.

Rows whose written quasi-identifiers are equal form a class; `labels` of the release are these classes. The sensitive,
weight and other columns stay as they were, identifiers and the unit column go, suppressed records go, and the rows
come in random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.canonical import canonical, retyped
from shoal.coarsening import Coarsened, Coarsener, Recode
from shoal.compliance import preset as find_preset
from shoal.compliance.presets import Check, Preset
from shoal.conform import Prepared, floats, prepare
from shoal.equivalence import classes_of
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.fact import Fact, Step
from shoal.files import Source
from shoal.frame import Frame, adopt, enter, leave, pick, series, with_columns
from shoal.recipe import Coarsening, method_name
from shoal.release.release import Progress, Release, checked_seed, quiet
from shoal.rng import fresh_key, secret, stream
from shoal.schema import Column, Kind, Schema

__all__ = ["coarsen", "coarsen_source"]


def coarsen(
    table: Any,
    schema: Schema,
    method: Coarsener | Sequence[Coarsener],
    *,
    preset: str | None = None,
    accept: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Write less exact quasi-identifiers until each person of `table` shares them with at least k − 1 others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB; the release has the same type.
    schema
        The role of every column, and its hierarchy where it has one.
    method
        What is written instead: a coarsener, or a list of them, each working on what the one before it wrote.
    preset
        Rules that the finished table is held to, by name (`shoal.compliance.presets`); its own steps are not added.
    accept
        Whether to release although a check of the preset fails; what it found is then among the notes.
    seed
        Decides ties and the order of rows. Leave it out when you publish.
    progress
        Called with the name of each step as it begins.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=7)
    >>> shoal.risk.classes(release.table, schema).k >= 5, release.claims[0].kind
    (True, 'k-anonymity')
    """
    recipe = Coarsening.of(method)
    say = progress or quiet
    release = run_coarseners(table, schema, recipe, seed=checked_seed(seed), key=fresh_key(), progress=say)
    return release if preset is None else held_to(release, recipe, preset, accept=accept)


def run_coarseners(
    table: Any, schema: Schema, recipe: Coarsening, *, seed: int, key: str, progress: Progress
) -> Release:
    """Make the release of a recipe with this seed and this secret key: the same table again, byte for byte."""
    state = _coarsened(table, schema, recipe, seed, progress)
    if len(state.rows) < state.first.n and any(column.missing == "median" for column in schema.columns):
        state = _with_own_medians(table, schema, recipe, state, seed)
    return _release(table, schema, recipe, state, seed, key)


def _coarsened(table: Any, schema: Schema, recipe: Coarsening, seed: int, progress: Progress) -> _State:
    progress("checking the table")
    state = _State.of(table, schema)
    for i, step in enumerate(recipe.methods):
        progress("coarsening")
        state = state.after(step, stream_seed(seed, i))
    return state


_MOST_ROUNDS = 10


def _with_own_medians(table: Any, schema: Schema, recipe: Coarsening, found: _State, seed: int) -> _State:
    """The table coarsened with medians of the records that are kept.

    A median over all records can be the very value of one that is left out. So the numbers put in for missing ones are
    the kept records' medians, and the run is repeated until those whom it keeps are those whose medians they are.
    """
    first, medians = found, _medians(table, schema, found)
    for _ in range(_MOST_ROUNDS):
        filled = schema.with_columns(replace(schema[name], missing=value) for name, value in medians.items())
        found = _coarsened(table, filled, recipe, seed, quiet)
        again = _medians(table, schema, found)
        if again == medians:
            return found.declared_as(first)
        medians = again
    raise GuaranteeError(
        "coarsen",
        "can't fill missing numbers with the medians of the records that are kept: they change who is kept",
        hint='Declare a number to put there, or missing = "drop".',
    )


def _medians(table: Any, schema: Schema, state: _State) -> dict[str, float]:
    """The median of the known numbers of each column to be filled, over the rows that are kept."""
    own = enter(table)
    wanted = [c.name for c in state.first.schema.columns if c.name in schema and schema[c.name].missing == "median"]
    known = {name: floats(series(own, name).gather(state.rows).drop_nulls()) for name in wanted if _fills(state, name)}
    for name, values in known.items():
        if not len(values):
            raise ColumnError(name, "has no number to take a median of among the records that are kept")
    return {name: float(np.nanmedian(values)) for name, values in known.items()}


def _fills(state: _State, name: str) -> bool:
    column = state.first.schema[name]
    return column.kind == "numeric" and column.role in ("quasi", "sensitive", "weight")


def coarsen_source(source: Source, schema: Schema, method: Coarsener | Sequence[Coarsener], **options: Any) -> Release:
    """`coarsen` for a file read with `shoal.files.read_source`: its release can be replayed from the file."""
    return replace(coarsen(source.frame, schema, method, **options), source=source)


def stream_seed(seed: int, i: int) -> int:
    """A seed of its own for the i-th coarsener."""
    return int(stream(seed, "coarsen", i).integers(2**62))


def held_to(release: Release, recipe: Coarsening, name: str, *, accept: bool) -> Release:
    """Hold a release to the rules of a preset; what was found is among its facts."""
    wanted = find_preset(name)
    n_left_out = int((release.labels < 0).sum())
    allowed = {name for method in recipe.methods for name in getattr(method, "allow", ())}
    looked_at = Schema(tuple(column for column in release.schema.columns if column.name not in allowed))
    checks = wanted.findings(release.table, looked_at, n_left_out=n_left_out)
    failed = [check for check in checks if not check.holds]
    if failed and not accept:
        raise GuaranteeError(
            f"preset {name}",
            f"wants {'; '.join(check.rule for check in failed)}",
            got="; ".join(check.words for check in failed),
            hint="Give the columns another role or coarsen them; allow those that only look so (--allow), or accept "
            "what was found (--accept).",
        )
    return replace(release, facts=(*release.facts, *_preset_facts(wanted, checks)), preset=name)


def _preset_facts(preset: Preset, checks: Sequence[Check]) -> list[Fact]:
    """What the rules found on the released table, and what the preset doesn't do."""
    says = "{preset}: {rule}: {words}"
    found = [
        Fact(
            says=says,
            values={"preset": preset.name, "rule": check.rule, "words": check.words, "holds": check.holds},
            outside=check.outside,
        )
        for check in checks
    ]
    limits = [
        Fact(says="{preset}: {limit}", values={"preset": preset.name, "limit": limit}, outside=True)
        for limit in preset.limits
    ]
    return [*found, *limits]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The table between two coarseners, and which original row each of its rows is."""

    first: Prepared
    frame: Frame
    schema: Schema
    rows: IntArray
    facts: tuple[Fact, ...]
    steps: tuple[Step, ...] = ()
    methods: tuple[Coarsener, ...] = ()

    @classmethod
    def of(cls, table: Any, schema: Schema) -> _State:
        first = canonical(prepare(table, schema))
        return cls(first=first, frame=first.frame, schema=first.schema, rows=first.rows, facts=first.facts)

    def declared_as(self, other: _State) -> _State:
        """The same, with the rules for missing numbers of another state: as they were declared."""
        own = self.first.schema
        given = own.with_columns(replace(c, missing=other.first.schema[c.name].missing) for c in own.columns)
        facts = (*other.first.facts, *self.facts[len(self.first.facts) :])
        return replace(self, first=replace(self.first, schema=given, facts=other.first.facts), facts=facts)

    def _prepared(self) -> Prepared:
        if not self.steps:
            return self.first
        blank = [c.name for c in self.schema.columns if c.role == "quasi" and c.kind == "numeric"]
        if any(series(self.frame, name).null_count() for name in blank):
            raise ParameterError(
                "coarsen",
                "a method that leaves numbers blank must be the last of a chain",
                hint="Put Suppress at the end.",
            )
        return prepare(self.frame, self.schema)

    def after(self, step: Coarsener, seed: int) -> _State:
        now = self._prepared()
        done = step.apply(now, seed)
        if not done.kept.any():
            raise GuaranteeError(method_name(type(step)), "would leave no record", hint="Lower k or the conditions.")
        kept = np.flatnonzero(done.kept)
        rest = pick(now.frame, kept) if done.kept.all() else self._of_kept(now, kept)
        written = {name: adopt(new.gather(kept), rest) for name, new in done.columns.items()}
        return replace(
            self,
            frame=with_columns(rest, written),
            schema=_rewritten(now, done),
            rows=self.rows[now.rows][kept] if self.steps else self.rows[kept],
            facts=(*self.facts, *done.facts),
            steps=(*self.steps, Step(name=method_name(type(step)), details=done.details, outside=done.outside)),
            methods=(*self.methods, step),
        )

    def _of_kept(self, now: Prepared, kept: IntArray) -> Frame:
        """The rows that are kept, as the steps before write them where nobody else is there to name intervals by."""
        if not self.steps or not all(isinstance(method, Recode) for method in self.methods):
            return pick(now.frame, kept)
        alone = replace(self.first, frame=pick(self.first.frame, kept), rows=self.first.rows[kept])
        state = replace(
            self, first=alone, frame=alone.frame, schema=alone.schema, rows=alone.rows, steps=(), methods=()
        )
        for method in self.methods:
            state = state.after(method, 0)  # a recoding draws nothing
        return state.frame


def _rewritten(now: Prepared, done: Coarsened) -> Schema:
    """The schema of what was written."""
    schema, frame = now.schema, now.frame
    return schema.with_columns(_plain(schema[name], series(frame, name), new) for name, new in done.columns.items())


def _plain(column: Column, old: pl.Series, new: pl.Series) -> Column:
    """The column as it was written: its old domain is gone; a number that stays one keeps its hierarchy."""
    numeric = column.kind == "numeric" and new.dtype.is_numeric()
    same = new.dtype == old.dtype
    kind: Kind | None = "numeric" if numeric else "nominal" if new.dtype == pl.String else None
    kind = column.kind if same and not numeric else kind
    return Column(
        name=column.name,
        role=column.role,
        kind=kind,
        missing=column.missing,
        hierarchy=column.hierarchy if same and numeric else None,
    )


def _release(table: Any, schema: Schema, recipe: Coarsening, state: _State, seed: int, key: str) -> Release:
    order = secret(key, "shuffle").permutation(len(state.rows))
    keep = [name for name in state.frame.columns if name in schema.released]
    labels = np.full(state.first.n_original, -1, dtype=np.int64)
    labels[state.rows] = classes_of(state.frame, schema.quasi).labels
    return Release(
        table=leave(_retyped(pick(state.frame.select(keep), order), table, state), like=table),
        schema=state.first.schema,
        recipe=recipe,
        facts=state.facts,
        labels=labels,
        source_rows=state.rows[order],
        seed=seed,
        key=key,
        original=table,
        prepared=state.first,
        declared=schema,
        steps=state.steps,
    )


def _retyped(frame: Frame, table: Any, state: _State) -> Frame:
    """Columns that no step rewrote, in the types they came in."""
    own, first = enter(table), state.first.frame
    same = [name for name in frame.columns if frame.schema[name] == first.schema[name]]
    return retyped(frame, own.select(same))
