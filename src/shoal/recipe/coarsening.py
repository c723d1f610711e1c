"""A chain of coarseners: each in turn, then shuffle.

Rows whose written quasi-identifiers are equal form a class; `labels` of the release are these classes. The sensitive,
weight and other columns stay as they were, identifiers and the unit column go, suppressed records go, and the rows
come in random order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.canonical import canonical, retyped
from shoal.coarsening import Coarsened, Coarsener, Recode
from shoal.conform import Prepared, as_written, prepare, typed_by_input
from shoal.domain.absence import coded, numbers
from shoal.equivalence import classes_of
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.fact import Fact, Step
from shoal.frame import Frame, adopt, enter, pick, series, with_columns
from shoal.method import Method
from shoal.recipe.derived import along, without_derived
from shoal.recipe.recipe import Made, Progress, ReadMethod, Recipe, Run, checked_methods, method_words, quiet
from shoal.recipe.rules import check_rules
from shoal.recipe.spell import coarsen_options
from shoal.rng import stream
from shoal.schema import Column, Kind, Schema

__all__ = ["Coarsening", "written_column"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening(Recipe):
    """A chain of coarseners: each works on what the one before it wrote."""

    command: ClassVar[str] = "coarsen"
    entries: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"coarsen"}),)
    asks: ClassVar[frozenset[str]] = frozenset({"preset"})
    has_preset_steps: ClassVar[bool] = True

    coarseners: tuple[Coarsener, ...]

    @classmethod
    def of(cls, method: Coarsener | Sequence[Coarsener]) -> Coarsening:
        """Take one coarsener or several; a wrong parameter is an error here, before any data is read."""
        given = tuple(method) if isinstance(method, Sequence) else (method,)
        rule = "method must be a coarsener or a list of coarseners"
        return cls(coarseners=checked_methods("coarsen", rule, given, "coarsen"))

    @classmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> Coarsening:
        """Read it from the words of `to_dict`, or from methods as texts."""
        given = words["coarsen"] if isinstance(words["coarsen"], list | tuple) else [words["coarsen"]]
        return cls.of([method("coarsen", one) for one in given])

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"coarsen": [method_words(method) for method in self.coarseners]}

    def options(self, *, preset: str | None, accept: bool, **asked: Any) -> list[str]:
        """What the chain is built of, and the preset that it is held to."""
        return coarsen_options(self.coarseners, preset, accept)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The coarseners in their order."""
        return self.coarseners

    @property
    def family(self) -> str:
        """Coarsening."""
        return "coarsening"

    @property
    def k(self) -> int:
        """How many persons share each written combination at least; 1 where nothing is promised."""
        return max(method.k for method in self.coarseners)

    @property
    def is_blind(self) -> bool:
        """The rows of a class are equal: no rule on them tells whose is which."""
        return True

    @property
    def collapses(self) -> bool:
        """Rows of a class are equal by definition."""
        return True

    @property
    def rewrites_quasi(self) -> bool:
        """Its methods write every quasi-identifier."""
        return True

    @property
    def blanks_cells(self) -> bool:
        """Whether single cells of records that are kept may be blanked."""
        return any(method.blanks_cells for method in self.coarseners)

    @property
    def leaves_out(self) -> bool:
        """Whether records may be suppressed."""
        return any(method.leaves_out for method in self.coarseners)

    @property
    def why_inside(self) -> str | None:
        """What was blanked must not be told by a comparison."""
        why = "single values were blanked or pooled, and a comparison with the original would tell of them"
        return why if self.blanks_cells else None

    @property
    def is_minimal(self) -> bool:
        """A coarsener that sees to k looks at the data, and coarsens no more than it must."""
        return any(method.k > 1 for method in self.coarseners)

    def run(self, table: Any, schema: Schema, run: Run) -> Made:
        """Coarsen step by step, shuffle."""
        state = self._coarsened(table, schema, run.seed, run.progress)
        if len(state.rows) < state.first.n and any(column.missing == "median" for column in schema.columns):
            state = self._with_own_medians(table, schema, state, run.seed)
        return _made(table, schema, state, run)

    def _coarsened(self, table: Any, schema: Schema, seed: int, progress: Progress) -> _State:
        progress("checking the table")
        state = _State.of(table, schema)
        for i, step in enumerate(self.coarseners):
            progress("coarsening")
            state = state.after(step, stream_seed(seed, i))
        return state

    def _with_own_medians(self, table: Any, schema: Schema, found: _State, seed: int) -> _State:
        """The table coarsened with medians of the records that are kept.

        A median over all records can be the very value of one that is left out. So the numbers put in for missing ones
        are the kept records' medians, and the run is repeated until those whom it keeps are those whose medians they
        are.
        """
        first, medians = found, _medians(table, schema, found)
        for _ in range(_MOST_ROUNDS):
            filled = schema.with_columns(replace(schema[name], missing=value) for name, value in medians.items())
            found = self._coarsened(table, filled, seed, quiet)
            again = _medians(table, schema, found)
            if again == medians:
                return found.declared_as(first)
            medians = again
        raise GuaranteeError(
            "coarsen",
            "can't fill missing numbers with the medians of the remaining records, which would change who remains",
            hint='Declare a number to fill in, or missing = "drop".',
        )


_MOST_ROUNDS = 10


def _medians(table: Any, schema: Schema, state: _State) -> dict[str, float]:
    """The median of the known numbers of each column to be filled, over the rows that are kept."""
    own = enter(table)
    wanted = [c.name for c in state.first.schema.columns if c.name in schema and schema[c.name].missing == "median"]
    known = {name: _known(series(own, name).gather(state.rows), schema[name]) for name in wanted if _fills(state, name)}
    for name, values in known.items():
        if not len(values):
            raise ColumnError(name, "has no numbers to compute a median from among the records that are kept")
    return {name: float(np.median(values)) for name, values in known.items()}


def _known(content: pl.Series, column: Column) -> FloatArray:
    own = replace(column, kind="numeric")
    values = numbers(coded(content, own), own)
    return values[~np.isnan(values)]


def _fills(state: _State, name: str) -> bool:
    column = state.first.schema[name]
    return column.kind == "numeric" and column.role in ("quasi", "sensitive", "weight")


def stream_seed(seed: int, i: int) -> int:
    """A seed of its own for the i-th coarsener."""
    return int(stream(seed, "coarsen", i).integers(2**62))


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
        check_rules(first)
        first = without_derived(first)
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
        numeric = [c for c in self.schema.columns if c.role == "quasi" and c.kind == "numeric"]
        blank = [c.name for c in numeric if c.missing != "level"]
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
            raise GuaranteeError(step.name, "would leave no records", hint="Lower k or the conditions.")
        kept = np.flatnonzero(done.kept)
        rest = pick(now.frame, kept) if done.kept.all() else self._of_kept(now, kept)
        written = {name: adopt(new.gather(kept), rest) for name, new in done.columns.items()}
        origin = self.rows[now.rows] if self.steps else self.rows
        cells = tuple(one.at(origin) for one in done.cells)
        return replace(
            self,
            frame=with_columns(rest, written),
            schema=_rewritten(now, done),
            rows=origin[kept],
            facts=(*self.facts, *done.facts),
            steps=(*self.steps, Step(name=step.name, details=done.details, outside=done.outside, cells=cells)),
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
    return schema.with_columns(
        written_column(schema[name], series(frame, name), new, done.declared.get(name))
        for name, new in done.columns.items()
    )


def written_column(column: Column, old: pl.Series, new: pl.Series, declared: Column | None = None) -> Column:
    """The column as it was written: its domain is gone but for what is still declared of it.

    A number that stays one keeps its hierarchy.
    """
    numeric = column.kind == "numeric" and new.dtype.is_numeric()
    same = new.dtype == old.dtype and not column.date_codes
    kind: Kind | None = "numeric" if numeric else "nominal" if new.dtype == pl.String else None
    kind = column.kind if same and not numeric else kind
    return Column(
        name=column.name,
        role=column.role,
        kind=kind,
        levels=declared.levels if declared is not None and same and kind in ("ordinal", "nominal") else None,
        bounds=declared.bounds if declared is not None and new.dtype.is_numeric() else None,
        missing=column.missing if declared is None else declared.missing,
        missing_codes=column.missing_codes if numeric else None,
        hierarchy=column.hierarchy if same and numeric else None,
    )


def _made(table: Any, schema: Schema, state: _State, run: Run) -> Made:
    order = run.order(len(state.rows))
    released = schema.released
    keep = [name for name in state.frame.columns if name in released]
    labels = np.full(state.first.n_original, -1, dtype=np.int64)
    frame = along(state.frame, schema)
    labels[state.rows] = classes_of(frame, schema.quasi).labels
    own = state.first.schema
    roles = own.with_columns(replace(own[c.name], role=c.role) for c in schema.columns if c.derived)
    return Made(
        frame=_retyped(pick(frame.select(keep), order), table, state),
        prepared=state.first if roles == own else replace(state.first, schema=roles),
        labels=labels,
        source_rows=state.rows[order],
        facts=state.facts,
        steps=state.steps,
    )


def _retyped(frame: Frame, table: Any, state: _State) -> Frame:
    """Columns that no step rewrote, in the types they came in."""
    own, first = typed_by_input(table, state.first.schema), state.first.frame
    now, before = frame.schema, first.schema
    same = [name for name in own.columns if name in now and now[name] == before[name]]
    return retyped(as_written(frame, state.schema), own.select(same))
