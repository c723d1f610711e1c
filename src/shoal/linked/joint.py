"""Risk on the joined view: persons who can be found by their class and by events that somebody knows of them.

An event is a row of a table of events with what is known of it (roles quasi and time), and of the rows above it: who
knows a prescription knows at which visit. Whether each table by itself hides everybody among k says nothing about the
tables joined.

Intruders are counted who know events with their dates as they are released; who know events and the days between them,
which is all that a shift of dates leaves (`gaps`); who know in which order they were (`order`); and, where dates were
shifted, who know one event with its true date (`date`). So is what pseudonyms of third parties give away.
Where there are too many combinations of events to look at all of them, whole classes of persons are drawn at random
and counted exactly: candidates are members of one class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.equivalence import Codes, combine, ranks
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.counting import Bags, candidates, gap_candidates
from shoal.linked.dates import day_numbers
from shoal.linked.known_date import date_candidates
from shoal.linked.third_parties import TokenRisk, third_parties
from shoal.record import Record
from shoal.schema import LinkedSchema, LinkedTable

__all__ = ["JointRisk", "Known", "assess_collection", "assess_joint", "bags_of", "items_of", "numbered"]

Knows = Literal["events", "gaps", "order", "date"]
_MOST = 3
_MOST_TUPLES = 1_000_000
_BAG = 4.0  # what an event costs where whole bags are compared, in tuples
_FAR_TOO_MANY = 20  # times as many in a single class, and nothing is counted
_COUNTED: dict[Knows, str] = {
    "events": "{events} known events",
    "gaps": "{events} events known with the days between them and no date",
    "order": "{events} events known in their order and no date",
    "date": "{events} event known with its true date, dates shifted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Record):
    """What an intruder achieves who knows so much of a person's events.

    Parameters
    ----------
    events
        ``"0"`` to ``"3"`` events, ``"any"`` (all events of the person, and perhaps others happened), or ``"whole"``
        (all, and nothing else happened).
    knows
        ``"events"`` with their dates as released, ``"gaps"``: no date but the days between them, ``"order"``: no date
        but their order, ``"date"``: the true date, where the release has a shifted one.
    k
        The smallest number of persons who fit, among those counted; None where there are too many combinations.
    below_share
        The share of persons with fewer than the required k who fit.
    n_persons
        Persons who were counted: all, or those of classes drawn at random.
    interval
        Of the share, at the 95% level, where classes were drawn; else None.
    """

    events: str
    knows: Knows = "events"
    k: int | None
    below_share: float | None
    n_persons: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRisk(Record):
    """What is left of k when the tables are joined; for inside.

    Parameters
    ----------
    k_required
        The k that shares are counted against.
    n_persons, n_events
        Who and what was counted.
    by_events
        What an intruder achieves, from no event known to all; then by the days between events, and by their order.
    k_count
        The smallest number of persons of one class with equally many events: rows can be counted.
    tolerance
        By how many days a gap may differ from what is known of it.
    third_parties
        What the pseudonyms of others (doctors) that stand in the tables give away.
    """

    releasable: ClassVar[bool] = False

    k_required: int
    n_persons: int
    n_events: int
    by_events: tuple[Known, ...]
    k_count: int
    tolerance: int = 0
    third_parties: tuple[TokenRisk, ...] = ()

    def k(self, events: int | str, knows: Knows = "events") -> int | None:
        """The smallest number of persons who fit so many events."""
        return next(one.k for one in self.by_events if (one.events, one.knows) == (str(events), knows))

    def share_below(self, events: int | str, knows: Knows = "events") -> float:
        """The share of persons for whom fewer than the required k fit so many events; 1 where it can't be counted."""
        share = next(one.below_share for one in self.by_events if (one.events, one.knows) == (str(events), knows))
        return 1.0 if share is None else share

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What to say of it, for inside."""
        found = [known for known in self.by_events if known.k is not None]
        events = tuple(
            Fact(
                says=f"joined tables, {_counted(known)}: at least {{k}} persons fit; {{share:.1%}} have fewer "
                "than {n}",
                values={"events": known.events, "k": known.k, "share": known.below_share, "n": self.k_required},
                counts="persons",
            )
            for known in found
        )
        return (*events, *(one.fact for one in self.third_parties))


def _counted(known: Known) -> str:
    one = known.knows == "events" and known.events == "1"
    return "{events} known event" if one else _COUNTED[known.knows]


def assess_collection(
    collection: Collection, classes: IntArray, k_required: int, rng: Generator, tolerance: int = 0
) -> JointRisk:
    """The risk on the joined view of a collection, by the classes of its persons."""
    bags = bags_of_collection(collection, classes)
    dated = any(table.columns.time for table in collection.schema.events)
    ordered = bags_of_collection(collection, classes, ordered=True) if dated else None
    found = assess_joint(bags, k_required, rng, ordered=ordered, tolerance=tolerance)
    true_dates = [] if ordered is None else _by_true_date(collection, ordered, k_required, rng)
    by_events = (*found.by_events, *true_dates)
    return replace(found, by_events=by_events, third_parties=third_parties(collection, classes, k_required))


def _by_true_date(collection: Collection, ordered: Bags, k_required: int, rng: Generator) -> list[Known]:
    """Who knows one event with its true date, where dates were shifted and nothing else was done to them."""
    if collection.moved is None:
        return []
    dated = np.concatenate([_is_dated(collection, table.name) for table in collection.schema.events])
    count = partial(date_candidates, moved=collection.moved, dated=dated)
    return [_known(ordered, "1", "date", count, _cost(ordered, 1), k_required, rng)]


def _is_dated(collection: Collection, name: str) -> BoolArray:
    """Which events have a date: of their own, or that of the row that they hang on."""
    table = collection.schema[name]
    if table.parent is None:
        return np.zeros(len(collection.tables[name]), dtype=np.bool_)
    if not table.columns.time:
        return _is_dated(collection, str(table.parent))[collection.parents[name]]
    return collection.tables[name][table.columns.time[0]].is_not_null().to_numpy()


def assess_joint(
    bags: Bags, k_required: int, rng: Generator, *, ordered: Bags | None = None, tolerance: int = 0
) -> JointRisk:
    """k on the joined view for 0 to 3 known events, for all of them, for a whole history, for gaps and for order."""
    sizes, counted = bags.sizes, bags.counted()
    lengths = combine(
        [Codes(values=bags.classes[counted], n=_n(bags.classes)), Codes(values=sizes[counted], n=_n(sizes))]
    )
    return JointRisk(
        k_required=k_required,
        n_persons=int(counted.sum()),
        n_events=int(sizes[counted].sum()),
        by_events=tuple(_all_known(bags, ordered, k_required, rng, tolerance)),
        k_count=int(np.bincount(lengths.values).min()) if counted.any() else 0,
        tolerance=tolerance,
    )


def _n(values: IntArray) -> int:
    return int(values.max(initial=0)) + 1


def _all_known(bags: Bags, ordered: Bags | None, k_required: int, rng: Generator, tolerance: int) -> list[Known]:
    sizes = range(_MOST + 1)
    made = [_known(bags, str(m), "events", partial(candidates, m=m), _cost(bags, m), k_required, rng) for m in sizes]
    made += [
        _known(bags, fits, "events", partial(candidates, m=0, fits=fits), _BAG * _cost(bags, 1), k_required, rng)
        for fits in ("any", "whole")
    ]
    if ordered is None:
        return made
    for m in sizes[2:]:
        by_gaps = partial(gap_candidates, m=m, tolerance=tolerance)
        wider = float((2 * tolerance + 1) ** (m - 1))
        made.append(_known(ordered, str(m), "gaps", by_gaps, _cost(ordered, m) * wider, k_required, rng))
        made.append(_known(ordered, str(m), "order", partial(candidates, m=m), _cost(ordered, m), k_required, rng))
    return made


def _cost(bags: Bags, size: int) -> FloatArray:
    """How many combinations of so many events each person has; a person costs one at least."""
    sizes = bags.sizes
    each = np.array([max(1, comb(b, size)) for b in range(_n(sizes))], dtype=np.float64)
    return np.where(bags.counted(), each[sizes], 0.0)


def _known(
    bags: Bags,
    events: str,
    knows: Knows,
    count: Callable[[Bags], IntArray],
    cost: FloatArray,
    k_required: int,
    rng: Generator,
) -> Known:
    part = _affordable(bags, cost, rng)
    counted = part.counted()
    if cost[counted].sum() > _FAR_TOO_MANY * _MOST_TUPLES:
        return Known(events=events, knows=knows, k=None, below_share=None, n_persons=0)
    if not counted.any():
        return Known(events=events, knows=knows, k=0, below_share=0.0, n_persons=0)
    found = count(part)
    below = (found < k_required)[counted]
    whole = int(counted.sum()) == int(bags.counted().sum())
    return Known(
        events=events,
        knows=knows,
        k=int(found[counted].min()),
        below_share=float(below.mean()),
        n_persons=int(counted.sum()),
        interval=None if whole else _interval(below, part.classes[counted], len(np.unique(bags.classes)) - 1),
    )


def _affordable(bags: Bags, cost: FloatArray, rng: Generator) -> Bags:
    """All classes, or as many of them, drawn at random, as can be looked at; one at least."""
    if cost.sum() <= _MOST_TUPLES:
        return bags
    counted = bags.counted()
    of_class = np.bincount(bags.classes[counted], weights=cost[counted])
    order = rng.permutation(len(of_class))
    last = max(1, int(np.searchsorted(np.cumsum(of_class[order]), _MOST_TUPLES, side="right")))
    keep = np.zeros(len(of_class), dtype=np.bool_)
    keep[order[:last]] = True
    return bags.of_classes(keep)


def _interval(below: BoolArray, classes: IntArray, n_classes: int) -> tuple[float, float]:
    """The share below k of all persons, from classes drawn at random: a ratio, with Student's quantile.

    Three of the persons drawn are added (the rule of three), since drawn classes may all be alike.
    """
    from scipy.special import stdtrit

    which = np.unique(classes, return_inverse=True)[1]
    sizes, hits = np.bincount(which), np.bincount(which, weights=below)
    share, n = hits.sum() / sizes.sum(), len(sizes)
    if n < 2:
        return 0.0, 1.0
    spread = float(((hits - share * sizes) ** 2).sum()) / (n - 1) / n * max(0.0, 1 - n / max(n, n_classes))
    error = float(stdtrit(n - 1, 0.975)) * spread**0.5 / float(sizes.mean()) + 3 / float(sizes.sum())
    return max(0.0, float(share - error)), min(1.0, float(share + error))


def bags_of(
    schema: LinkedSchema,
    tables: Mapping[str, pl.DataFrame],
    parents: Mapping[str, IntArray],
    persons: Mapping[str, IntArray],
    classes: IntArray,
    *,
    ordered: bool = False,
) -> Bags:
    """The events of each person in all tables, as numbers; with `ordered`, in the order of their times.

    Who goes by the order of events, or by the days between them, knows no dates: an event is then what it is without
    them.
    """
    known = {table.name: _known_of(table, dated=not ordered) for table in schema.events}
    columns = {name: [ranks(tables[name][column]) for column in known[name]] for name in known}
    items = items_of(schema, columns, parents)
    time = np.concatenate([_days(schema, tables, parents, name) for name in items]) if ordered else None
    return Bags.of(classes, np.concatenate([persons[name] for name in items]), numbered(items), time)


def _known_of(table: LinkedTable, *, dated: bool) -> list[str]:
    return [name for name in table.known if dated or name not in table.columns.time]


def items_of(
    schema: LinkedSchema, columns: Mapping[str, Sequence[Codes]], parents: Mapping[str, IntArray]
) -> dict[str, Codes]:
    """Which rows of each table of events look alike to who knows them (`columns`), with the rows above them."""
    made: dict[str, Codes] = {}
    for table in schema.events:
        above = made.get(str(table.parent))
        rows = parents[table.name]
        own = [*columns[table.name], *([] if above is None else [Codes(values=above.values[rows], n=above.n)])]
        made[table.name] = combine(own, n_rows=len(rows)) if len(rows) else Codes(values=np.zeros(0, np.int64), n=1)
    return made


def numbered(items: Mapping[str, Codes]) -> IntArray:
    """The items of all tables one after the other; those of two tables are never alike."""
    starts = np.cumsum([0, *(codes.n for codes in items.values())])
    return np.concatenate([codes.values + start for codes, start in zip(items.values(), starts, strict=False)])


def _days(
    schema: LinkedSchema, tables: Mapping[str, pl.DataFrame], parents: Mapping[str, IntArray], name: str
) -> IntArray:
    """The day of each event: that of its first column of times, else that of the row that it hangs on."""
    table = schema[name]
    if table.parent is None:
        return np.zeros(len(tables[name]), dtype=np.int64)
    if not table.columns.time:
        return _days(schema, tables, parents, str(table.parent))[parents[name]]
    return day_numbers(tables[name][table.columns.time[0]])


def bags_of_collection(collection: Collection, classes: IntArray, *, ordered: bool = False) -> Bags:
    """The events of a collection, by the classes of its persons."""
    c = collection
    return bags_of(c.schema, c.tables, c.parents, c.persons, classes, ordered=ordered)
