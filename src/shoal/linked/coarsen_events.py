"""Coarsen events until every m of them that a person has are had by k persons: k^m-anonymity, on the joined view.

Columns of events climb their hierarchies one level at a time (code → chapter, day → month → quarter), the one that
leaves the fewest persons in want of others first. What is left over is suppressed: of each combination that too few
persons of a class have, the rarest event is taken from all persons of the class. Other combinations keep their support
by that, but for rows that hang on it; so it is counted again until nothing is left over.

    k_m = min over persons i and A in E_i, |A| ≤ m, of |{ j in the class of i : A in E_j }| ≥ k

What is promised is counted on the written files. It says how many persons fit, not what they have in common.

Reference: Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data, VLDB 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, Generator, IntArray
from shoal.claim import Claim, Kind
from shoal.claim_wording import statement
from shoal.coarsening.default_hierarchies import follows_schema, ladder_for
from shoal.coarsening.generalize import LEVELS_BY_VALUES
from shoal.coarsening.hierarchy import Ladder
from shoal.conform import kind_of
from shoal.equivalence import Codes
from shoal.errors import GuaranteeError
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.counting import Bags, candidates, rare_rows, tuples
from shoal.linked.dates import Place
from shoal.linked.event_method import Done, EventMethod
from shoal.linked.joint import items_of, numbered
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.schema import Column, LinkedSchema

__all__ = ["CoarsenEvents", "joint_claim"]


@dataclass(frozen=True)
class CoarsenEvents(EventMethod):
    """Write less exact events until each combination of m of them is shared by k persons.

    Parameters
    ----------
    k
        How many persons share each combination at least; raising it costs detail.
    m
        How many events an intruder knows at most; raising it costs detail and time.
    within
        ``class``: persons who also have the same quasi-identifiers (or group); ``everybody``: an intruder who knows
        events alone.
    suppression
        Largest share of event rows that may be left out; above it, columns are coarsened further.
    """

    k: Annotated[int, Range(low=2), Help("smallest number of persons who share each combination of events")] = 5
    m: Annotated[int, Range(low=1, high=3), Help("number of events that an intruder knows")] = 1
    within: Annotated[
        Literal["class", "everybody"], Help("class: the intruder knows quasi-identifiers too; everybody: events alone")
    ] = "class"
    suppression: Annotated[float, Range(low=0, high=1), Help("largest share of event rows left out")] = 0.1

    title = "Coarsen events"
    widens = True
    summary = "Coarsens known columns of events, and leaves rows out, until each m events are shared by k persons."
    promise = "Every combination of up to m events of a person is had by at least k persons (verified)."
    report_text = ReportText(
        done="Events were written less exactly, or left out, until enough persons have each combination."
    )
    rank = 10

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Climb, then suppress, until k_m ≥ k."""
        check(self)
        classes = groups if self.within == "class" else np.where(groups >= 0, 0, -1)
        events = _Coded.of(collection, classes)
        levels = dict.fromkeys(events.ladders, 0)
        while True:
            levels = self._climbed(events, levels)
            left = self._suppressed(events, levels)
            lost = 1 - left.n / max(1, events.n)
            if lost <= self.suppression:
                break
            levels = self._higher(events, levels, lost)
        return Done(
            collection=left.written(collection, levels),
            claims=(joint_claim(self.k, self.m, with_quasi=self.within == "class", others=_others(collection)),),
            facts=tuple(_facts(collection, levels, events.n - left.n)),
        )

    def _climbed(self, events: _Coded, levels: dict[Place, int]) -> dict[Place, int]:
        """Raise columns while more than the tolerated share of events is rare by itself."""
        while self._rare_share(events, levels) > self.suppression:
            levels = self._higher(events, levels, 1.0)
        return levels

    def _higher(self, events: _Coded, levels: dict[Place, int], lost: float) -> dict[Place, int]:
        """One column one level higher: the one that leaves the fewest rare events."""
        open_ = [place for place, level in levels.items() if level < events.ladders[place].height]
        if not open_:
            raise GuaranteeError(
                type(self).__name__,
                f"can't reach k = {self.k} for m = {self.m} within the tolerated suppression",
                got=f"{lost:.1%} of event rows to be left out",
                hint="Lower k or m, allow more suppression, or let within be everybody.",
            )
        tried = [{**levels, place: levels[place] + 1} for place in open_]
        rare = [self._rare_share(events, one) for one in tried]
        return tried[int(np.argmin(rare))]

    def _rare_share(self, events: _Coded, levels: Mapping[Place, int]) -> float:
        """The share of event rows that fewer than k persons of the class have."""
        item = events.items(levels)
        key = events.of_person * (int(item.max(initial=0)) + 1) + item
        counted = events.of_person >= 0
        return rare_rows(key[counted], events.person[counted], self.k) / max(1, len(item))

    def _suppressed(self, events: _Coded, levels: Mapping[Place, int]) -> _Coded:
        """The rows that are left when no combination of up to m events is rare."""
        for size in range(1, self.m + 1):
            while True:
                bags = events.bags(levels)
                drop = _rarest(bags, size, self.k)
                if not drop.any():
                    break
                events = events.without(bags.rows[drop])
        counted = events.classes >= 0
        if events.n and (candidates(events.bags(levels), self.m)[counted] < self.k).any():
            return self._suppressed(events, levels)  # rows that hung on others are gone: count again
        return events


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coded:
    """The events as numbers at any level, and which rows are left.

    Parameters
    ----------
    schema, classes
        What the tables are, and the class of each person.
    ladders
        The levels of each known column.
    rows
        For each table, the rows that are left, of those that came in.
    parents, persons
        As of the collection, for the rows that are left.
    """

    schema: LinkedSchema
    classes: IntArray
    ladders: Mapping[Place, Ladder]
    rows: Mapping[str, IntArray]
    parents: Mapping[str, IntArray]
    persons: Mapping[str, IntArray]

    @classmethod
    def of(cls, collection: Collection, classes: IntArray) -> _Coded:
        names = [table.name for table in collection.schema.events]
        return cls(
            schema=collection.schema,
            classes=classes,
            ladders=_ladders(collection),
            rows={name: np.arange(len(collection.tables[name])) for name in names},
            parents={name: collection.parents[name] for name in names},
            persons={name: collection.persons[name] for name in names},
        )

    @property
    def n(self) -> int:
        return sum(map(len, self.rows.values()))

    @property
    def person(self) -> IntArray:
        return np.concatenate(list(self.persons.values()))

    @property
    def of_person(self) -> IntArray:
        return self.classes[self.person]

    def items(self, levels: Mapping[Place, int]) -> IntArray:
        """What each row looks like at these levels."""
        columns: dict[str, list[Codes]] = {name: [] for name in self.rows}
        for place, ladder in self.ladders.items():
            group = ladder.groups[levels[place]]
            values = group[ladder.codes[self.rows[place[0]]]]
            columns[place[0]].append(Codes(values=values, n=int(group.max(initial=0)) + 1))
        return numbered(items_of(self.schema, columns, self.parents))

    def bags(self, levels: Mapping[Place, int]) -> Bags:
        return Bags.of(self.classes, self.person, self.items(levels))

    def without(self, gone: IntArray) -> _Coded:
        """The same without some rows, counted over all tables, and without what hangs on them."""
        ends = np.cumsum([0, *map(len, self.rows.values())])
        left = np.ones(int(ends[-1]), dtype=np.bool_)
        left[gone] = False
        keep = {name: left[a:b] for name, a, b in zip(self.rows, ends[:-1], ends[1:], strict=True)}
        parents = dict(self.parents)
        for table in self.schema.events:
            if table.parent in keep:
                above, own = keep[str(table.parent)], self.parents[table.name]
                keep[table.name] = keep[table.name] & above[own]
                parents[table.name] = (np.cumsum(above) - 1)[own]
        return replace(
            self,
            rows={name: some[keep[name]] for name, some in self.rows.items()},
            parents={name: some[keep[name]] for name, some in parents.items()},
            persons={name: some[keep[name]] for name, some in self.persons.items()},
        )

    def written(self, collection: Collection, levels: Mapping[Place, int]) -> Collection:
        """The collection with these rows, labels made from them alone: none follows from a row that was left out."""
        kept = {name: _places(some, len(collection.tables[name])) for name, some in self.rows.items()}
        for (table, name), level in levels.items():
            if level:
                written = self.ladders[table, name].written_of(level, kept[table])
                collection = collection.with_columns(table, {name: written})
        for name in reversed(list(self.rows)):  # what hangs on a row goes before it
            if not kept[name].all():
                collection = collection.filtered(name, kept[name])
        return replace(collection, moved=None)


def _others(collection: Collection) -> tuple[str, ...]:
    """The columns of events that hold pseudonyms of third parties."""
    return tuple(f"{table.name}.{name}" for table in collection.schema.events for name in table.columns.pseudonym)


def joint_claim(k: int, m: int, *, with_quasi: bool, others: Sequence[str] = ()) -> Claim:
    """Every m events are had by k persons; `others` are columns with pseudonyms of third parties."""
    kind: Kind = "(k, k^m)-anonymity" if with_quasi else "k^m-anonymity"
    events = "1 event" if m == 1 else f"{m} events"
    return Claim(
        kind=kind,
        value=k,
        known=m,
        scope="per person, tables joined",
        basis="verified",
        unit="persons",
        statement=statement(kind, claim={"value": k, "known": m}),
        assumptions=(
            f"The intruder knows at most {events}, and of an event the columns of the roles quasi and time, as "
            "released.",
            *(
                [f"Whose pseudonyms stand in {', '.join(others)} is not known; what they give away is measured inside."]
                if others
                else []
            ),
            "The number of events of a person is not used: rows can be counted, and a long history stands out.",
            "What these persons have in common is shown.",
            "No other release of the same people's events is used with it.",
        ),
    )


def _ladders(collection: Collection) -> dict[Place, Ladder]:
    """The levels of each known column of events."""
    places = [(table.name, name) for table in collection.schema.events for name in table.known]
    return {place: ladder_for(*_described(collection, place)) for place in places}


def _described(collection: Collection, place: Place) -> tuple[pl.Series, Column]:
    """A column of events, and what it is."""
    table, name = place
    content, column = collection.tables[table][name], collection.schema[table].columns[name]
    return content, replace(column, kind=kind_of(content, column))


def _places(rows: IntArray, n: int) -> BoolArray:
    """Which of n rows these are."""
    there = np.zeros(n, dtype=np.bool_)
    there[rows] = True
    return there


def _rarest(bags: Bags, size: int, k: int) -> BoolArray:
    """Which events go: of each rare combination the rarest event, in all persons of the class who have it so often."""
    copy, width = _copies(bags), int(bags.item.max(initial=0)) + 1
    key = bags.classes[bags.person] * width + bags.item
    least = np.full(len(bags.item), np.iinfo(np.int64).max)
    for part in tuples(bags, size):
        last = part.last[part.support < k]
        keys = key[last]
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        if len(found):
            fewest = np.minimum.reduceat(copy[last][order], starts)
            at = np.searchsorted(found, key)
            there = (at < len(found)) & (found[np.minimum(at, len(found) - 1)] == key)
            least[there] = np.minimum(least[there], fewest[at[there]])
    return copy >= least


def _copies(bags: Bags) -> IntArray:
    """Which copy of its item each event is in its person's bag, from 1."""
    new = np.r_[True, (np.diff(bags.person) != 0) | (np.diff(bags.item) != 0)]
    start = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    return (np.arange(len(bags.item)) - start[: len(bags.item)] + 1).astype(np.int64)


def _facts(collection: Collection, levels: Mapping[Place, int], n_lost: int) -> list[Fact]:
    """The levels chosen. How a hierarchy that follows from all values numbers its levels is for inside."""
    public = {place: follows_schema(*_described(collection, place)) for place in levels}
    says = "{table}, {column}: written at level {level}"
    made = [
        Fact(says=says, values={"table": table, "level": level}, column=name, outside=public[table, name])
        for (table, name), level in levels.items()
    ]
    by_values = ", ".join(f"{name} of {table}" for (table, name), said in public.items() if not said)
    lost = Fact(says="{n} event rows were left out", values={"n": n_lost}, counts="records")
    return [
        *made,
        *([Fact(says=LEVELS_BY_VALUES, values={"names": by_values}, outside=True)] if by_values else []),
        lost,
    ]
