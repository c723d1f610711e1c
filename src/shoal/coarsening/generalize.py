"""Full-domain generalisation: the least loss at which every class holds k persons.

Every column is written at one level of its hierarchy, the same for all records; records in classes that still fail
are suppressed, up to a share. Among all such choices `Generalize` takes the one of least loss (definitions in
`shoal.coarsening.loss`, search in `shoal.coarsening.lattice`; Samarati 2001, LeFevre et al. 2005, Kohlmayer et al.
2012).

Promised: every class of the release meets the conditions (`shoal.condition.conditions`), at most the given share of
records is suppressed, and where `details["optimal"]` is true, no other choice of levels has a smaller loss. Not
promised: the least loss of all k-anonymous tables; writing each record on its own terms (`Mondrian`) loses less.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, IntArray
from shoal.coarsening.coarsener import Coarsened, Coarsener, within_limits
from shoal.coarsening.coded_table import CoarsenedValues, CodedTable
from shoal.coarsening.default_hierarchies import follows_schema, ladder_for
from shoal.coarsening.hierarchy import Ladder
from shoal.coarsening.lattice import Found, search
from shoal.coarsening.lattice_nodes import Combinations, Counter, Node
from shoal.coarsening.loss import CellLoss, LossName, cell_losses
from shoal.condition.conditions import Conditions, smallest_in_subsets
from shoal.conform import Prepared
from shoal.equivalence import Codes
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.fact import Fact
from shoal.frame import as_text, series
from shoal.importance import importance_of
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.schema import Schema

__all__ = ["LEVELS_BY_VALUES", "Generalize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalize(Coarsener):
    """Write every column at the level of its hierarchy that loses least, so that every class holds k persons.

    Parameters
    ----------
    k
        Smallest number of persons in a class. Raising it lowers risk and coarsens the data.
    diversity, closeness
        What the sensitive columns must meet in every class, such as ``3`` or ``"entropy:2.5"``, and ``0.2`` or
        ``"equal:0.2"``.
    risk, population
        The largest risk of an attacker, such as ``"journalist:0.05/marketer:0.01"`` (`shoal.condition.attackers`), met
        by raising k; and how many persons the table was drawn from, where survey weights don't tell.
    suppression
        Largest share of records that may be left out (from 0 to below 1). Raising it keeps the other records finer.
    loss
        What is kept small: ``"granularity"``, ``"precision"``, ``"entropy"`` or ``"discernibility"``.
    limits
        The highest level allowed, by column; 0 leaves a column as it is.
    importance
        How much the loss of a column counts, by column; those not named count 1.
    subsets
        Count the classes of all subsets of this many quasi-identifiers or fewer too; the details give the smallest.
    seconds
        Time limit of the search; the best found by then is used. With a limit, a result may differ from run to run.

    Notes
    -----
    A column without a hierarchy gets one by its kind (`shoal.coarsening.default_hierarchy`). A missing value is a level
    of its own up to the last level; a suppressed record is in no class. Where the schema names a unit, k counts
    distinct persons. Survey weights are not used. Cost: each counted node takes time in the number of classes of a
    finer node, at first of the distinct combinations of values; how many are counted depends on the data. Memory is
    that of the distinct combinations, times a few.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"age": [21, 24, 33, 38, 52, 59], "sex": ["f", "m"] * 3})
    >>> schema = shoal.Schema.of(quasi=["age", "sex"], hierarchies={"age": {"kind": "intervals", "widths": [10, 20]}})
    >>> done = Generalize(k=2, suppression=0, importance={"age": 2}).apply(prepare(table, schema), seed=1)
    >>> done.details["levels"], done.columns["age"].to_list()[:3]
    ({'age': 1, 'sex': 1}, ['20-29', '20-29', '30-39'])
    """

    title = "one level for each column"
    summary = "The same bands for the whole column, chosen to lose least; a few records may be suppressed."
    promise = "Every combination is shared by at least k persons; at most the given share of records is suppressed."
    report_text = ReportText(
        done=(
            "Quasi-identifiers were replaced by wider intervals or categories, column by column and the same "
            "for everybody, until each combination is shared by at least {k} people; records that still stood "
            "out were suppressed."
        ),
        writes="coarsened: wider intervals or categories, the same for everybody",
        keeps="In which interval or category the value lies.",
    )
    rank = 2

    k: Annotated[int, Range(low=2), Help("smallest class size")] = 5
    diversity: Annotated[int | str | None, Help("l-diversity: 3, entropy:2.5, recursive:3,2")] = None
    closeness: Annotated[float | str | None, Help("t-closeness: 0.2, equal:0.2, ordered:0.2")] = None
    risk: Annotated[str | None, Help("largest risk: prosecutor:0.1, journalist:0.05, marketer:0.01, q95:0.05")] = None
    population: Annotated[float | None, Range(low=1), Help("persons the table was drawn from, for risk")] = None
    suppression: Annotated[float, Range(low=0, below=1), Help("largest share of suppressed records")] = 0.05
    loss: Annotated[LossName, Help("loss to minimise")] = "granularity"
    limits: Annotated[Mapping[str, int] | None, Help("highest level allowed, by column")] = None
    importance: Annotated[Mapping[str, float] | None, Help("weight of a column's information loss")] = None
    subsets: Annotated[int | None, Range(low=1), Help("also count classes over subsets of up to this many columns")] = (
        None
    )
    seconds: Annotated[float | None, Range(above=0), Help("time limit of the search")] = None

    @property
    def leaves_out(self) -> bool:
        """Whether it may suppress whole records."""
        return self.suppression > 0

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Coarsen a prepared table; the seed plays no part, the same table gives the same result."""
        check(self)
        names = prepared.schema.quasi
        if not names:
            raise SchemaError("schema", "must name at least one quasi-identifier to coarsen")
        _check_limits(self.limits, names)
        return within_limits("Generalize", prepared, self.k, partial(self._at, prepared), self.risk, self.population)

    def _at(self, prepared: Prepared, k: int) -> Coarsened:
        conditions = Conditions.of(
            prepared, k=k, diversity=self.diversity, closeness=self.closeness, subsets=self.subsets
        )
        choice = self._chosen(self.counter(prepared, conditions))
        facts, public = choice.facts(_contents(prepared), prepared.schema)
        written = {ladder.name: ladder.written_of(level, choice.kept) for ladder, level in choice.coarsened()}
        return Coarsened(
            columns=written,
            kept=choice.kept,
            facts=facts,
            details=choice.details | self._smallest_in_subsets(choice),
            outside={"levels": {name: level for name, level in choice.levels.items() if name in public}},
        )

    def apply_counted(self, table: CodedTable) -> CoarsenedValues:
        """Coarsen a table of distinct combinations, each of which stands for some rows and persons.

        Levels, loss and suppressed rows are those of the table that was counted. Where diversity or closeness is asked
        for, they must be combinations of quasi-identifiers and sensitive columns.
        """
        check(self)
        if any(asked is not None for asked in (self.subsets, self.risk)):
            raise ParameterError("Generalize", "subsets and risk need the rows in memory")
        _check_limits(self.limits, table.schema.quasi)
        conditions = Conditions.of(
            table.sensitive(), k=self.k, diversity=self.diversity, closeness=self.closeness, counted=table.counted
        )
        choice = self._chosen(self._counter_of(table, conditions))
        facts, _ = choice.facts(table.values, table.schema)
        labels = {}
        for ladder, level in choice.coarsened():
            shown = ladder.shown(choice.kept)
            place = np.full(len(ladder.values), len(shown))
            place[shown] = np.arange(len(shown))
            labels[ladder.name] = ladder.labels_of(level, shown).extend_constant(None, 1).gather(place)
        return CoarsenedValues(labels=labels, kept=choice.kept, facts=facts, details=choice.details)

    def _chosen(self, counter: Counter) -> _Choice:
        limit = math.floor(self.suppression * counter.n_rows + 1e-9)
        found = search(counter, limit, self.seconds)
        if found.node is None:
            raise self._unreachable(counter, found, limit)
        labels, good = self._good(counter, found.node)
        kept: BoolArray = good[labels]
        each = zip(counter.ladders, counter.levels, found.node, strict=True)
        levels = {ladder.name: some[i] for ladder, some, i in each}
        details = self._details(counter, found, levels, kept) | {"n_classes": int(good.sum())}
        return _Choice(counter=counter, levels=levels, kept=kept, details=details)

    def counter(self, prepared: Prepared, conditions: Conditions) -> Counter:
        """What counts the classes of every choice of levels of a table, and says what it costs."""
        schema, contents = prepared.schema, _contents(prepared)
        ladders = [ladder_for(contents[name], schema[name]) for name in schema.quasi]
        return Counter(ladders, self._losses(ladders, schema), conditions, self.limits, self.loss == "discernibility")

    def _counter_of(self, table: CodedTable, conditions: Conditions) -> Counter:
        """The same for a table of combinations."""
        schema, counted = table.schema, table.counted
        own = [ladder_for(table.values[name], schema[name]) for name in schema.quasi]
        ladders = [replace(ladder, codes=codes) for ladder, codes in zip(own, table.quasi.T, strict=True)]
        combinations = Combinations.of_sorted(table.quasi, counted.rows)
        losses, by_size = self._losses(ladders, schema, counted.rows), self.loss == "discernibility"
        return Counter(ladders, losses, conditions, self.limits, by_size, counted, combinations)

    def _losses(self, ladders: Sequence[Ladder], schema: Schema, rows: IntArray | None = None) -> tuple[CellLoss, ...]:
        importance = importance_of("Generalize", self.importance, schema.quasi)
        return cell_losses(self.loss, ladders, [schema[name].kind for name in schema.quasi], importance, rows)

    def _smallest_in_subsets(self, choice: _Choice) -> dict[str, Any]:
        if self.subsets is None:
            return {}
        counter = choice.counter
        chosen, persons = _written_codes(counter.ladders, choice.levels, choice.kept), counter.conditions.persons
        smallest = smallest_in_subsets(chosen, None if persons is None else persons[choice.kept], self.subsets)
        return {"smallest_in_subsets": {str(size): k for size, k in smallest.items()}}

    def _good(self, counter: Counter, node: Node) -> tuple[AnyArray, BoolArray]:
        """The class of each item, and which classes are released."""
        if not counter.conditions.sensitive:
            return counter.large_enough(node)
        labels, n = counter.row_labels(node)
        return labels, counter.conditions.releasable_classes(labels, n)

    def _details(self, counter: Counter, found: Found, levels: Mapping[str, int], kept: BoolArray) -> dict[str, Any]:
        return {
            "levels": dict(levels),
            "heights": {ladder.name: ladder.height for ladder in counter.ladders},
            "loss_name": self.loss,
            "loss": found.loss,
            "optimal": found.optimal,
            "bound": found.bound,
            "n_nodes": math.prod(counter.shape),
            "n_counted": found.n_counted,
            "suppressed_share": 1 - counter.share_of(kept),
        }

    def _unreachable(self, counter: Counter, found: Found, limit: int) -> GuaranteeError:
        share = f"{self.suppression:.4g}"
        needed = math.ceil(found.least_suppressed / counter.n_rows * 1e4) / 1e4
        remedies = [f"Allow suppression={needed:g}"] if needed < 1 else []
        rows, persons = counter.sizes(tuple(size - 1 for size in counter.shape))
        reachable = _largest_k(rows, persons, limit)
        k = counter.conditions.k
        if reachable < k:
            remedies.append(f"lower k to {reachable}" if reachable > 1 else "lower k")
        if counter.conditions.sensitive:
            remedies.append("ask for less diversity or closeness")
        if self.limits:
            remedies.append("raise the limits of levels")
        hint = ", or ".join(remedies)
        return GuaranteeError(
            "Generalize",
            f"the conditions (k = {k}) can't be met with at most a share of {share} of the records suppressed",
            got=f"at least {needed:g} at the levels allowed" if needed < 1 else "",
            hint=f"{hint[:1].upper()}{hint[1:]}." if hint else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """The levels that were chosen, which items are kept at them, and what it took."""

    counter: Counter
    levels: Mapping[str, int]
    kept: BoolArray
    details: dict[str, Any]

    def coarsened(self) -> list[tuple[Ladder, int]]:
        """The columns that change, with their levels."""
        return [(ladder, self.levels[ladder.name]) for ladder in self.counter.ladders if self.levels[ladder.name]]

    def facts(self, contents: Mapping[str, pl.Series], schema: Schema) -> tuple[tuple[Fact, ...], set[str]]:
        """What was done, and the columns whose levels follow from the schema alone."""
        public = {name for name in self.levels if follows_schema(contents[name], schema[name])}
        return (*_level_facts(self.levels, public), *_search_facts(self.counter, self.details)), public


def _contents(prepared: Prepared) -> dict[str, pl.Series]:
    """The quasi-identifiers, categories as texts."""
    return {name: as_text(series(prepared.frame, name)) for name in prepared.schema.quasi}


def _check_limits(limits: Mapping[str, int] | None, names: tuple[str, ...]) -> None:
    for name, level in (limits or {}).items():
        if name not in names:
            raise ParameterError(
                "Generalize", "limits must name quasi-identifiers", got=str(name)[:60], parameter="limits"
            )
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise ParameterError("Generalize", f"limit of '{name}' must be a level from 0 up", got=repr(level)[:40])


def _largest_k(rows: IntArray, persons: IntArray, limit: int) -> int:
    """The largest k for which the rows in smaller classes are at most `limit`."""
    order = np.argsort(persons, kind="stable")
    below = np.cumsum(rows[order]) - rows[order]
    return int(persons[order][np.flatnonzero(below <= limit)[-1]])


def _written_codes(ladders: tuple[Ladder, ...], levels: Mapping[str, int], kept: BoolArray) -> list[Codes]:
    groups = [ladder.groups[levels[ladder.name]] for ladder in ladders]
    return [
        Codes(values=some[ladder.codes][kept], n=int(some.max()) + 1)
        for some, ladder in zip(groups, ladders, strict=True)
    ]


def _level_facts(levels: Mapping[str, int], public: Collection[str]) -> list[Fact]:
    """The levels chosen. How a hierarchy that follows from all values numbers its levels is for inside."""
    numbered = [
        Fact(
            says="{column}: written at level {level}",
            values={"level": level},
            column=name,
            outside=name in public,
        )
        for name, level in levels.items()
    ]
    by_values = ", ".join(name for name in levels if name not in public)
    return [*numbered, *([Fact(says=LEVELS_BY_VALUES, values={"names": by_values}, outside=True)] if by_values else [])]


LEVELS_BY_VALUES = (
    "{names}: without a hierarchy, bounds or levels in the schema, the levels to choose from follow from all values in "
    "the file, also from those of records that are left out"
)


def _search_facts(counter: Counter, details: Mapping[str, Any]) -> list[Fact]:
    """How the levels were found and what it cost: counted over all records, so for inside."""
    whether = "no other choice of levels loses less" if details["optimal"] else "the search was not exhaustive"
    n = round(details["suppressed_share"] * counter.n_rows)
    return [
        Fact(
            says="{name} loss {loss:.4f}: {whether}",
            values={"name": details["loss_name"], "loss": details["loss"], "whether": whether},
        ),
        Fact(
            says="{n:,} records suppressed (a share of {share:.4f}); they are in no class",
            values={"n": n, "share": details["suppressed_share"]},
            counts="records",
        ),
    ]
