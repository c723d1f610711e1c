"""Events change hands within the groups of persons: whole bags, single events, or what was found at them.

Persons of a group g are n_g ≥ k; person i has b_i events (of one table) and the group N_g. For each exchange all
hand-outs are equally likely, so (proved, by counting them):

- **whole bags** (`ExchangeBags`): the bag that lies beside person i is i's own with probability 1/n_g. Whoever knows
  one event of the bag reads the rest beside it, at any k: nothing is promised against that.
- **single events** (`DealEvents`): bag sizes stay; given m events of i in a bag, another event of that bag is i's with
  probability (b_i − m)/(N_g − m) ≤ b_i/N_g. That they lie together tells nothing; who can judge which events of the
  group suit i does better. An event row stays whole: who knows its date reads its diagnosis.
- **contents** (`DealContents`): what must not be learnt changes places among the events of a group. What stands beside
  an event of i comes from one of i's own with probability b_i/N_g, and is that event's own with probability 1/N_g.

No exchange hides what a whole group shares. Rows of tables below follow the row that they belong to.

**Whole histories** (`ExchangeTrajectories`) change hands in their order, and gaps between dates change within a
tolerance.

Persons are grouped on what their histories have in common besides their own columns: how many events, when the first
was, how long they lasted, which events occur, and which follow which (`sequence`, counts of pairs in a row; the L1
distance of such counts is at most 2 q times the edit distance, Ukkonen 1992). Then each history goes, whole, to a
person of the same group, as in `ExchangeBags`, and every day on which a person has events moves by up to half the
tolerance, with the order of days kept (`shoal.linked.dates`).

Promised (proved): the history beside a person's row is that person's with probability 1/n_g; order is kept, and the
time between two events changes by at most the tolerance. Not promised: anything against who knows events of the
history. What such an intruder achieves who knows m events and the days between them is measured, with this tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from shoal.arrays import Generator, IntArray
from shoal.claim import Claim
from shoal.claim_wording import statement
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.dates import jittered
from shoal.linked.event_method import Done, EventMethod
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.schema import LinkedTable
from shoal.schema.tables import Summary

__all__ = ["DealContents", "DealEvents", "ExchangeBags", "ExchangeTrajectories", "shares_of", "stirred"]


@dataclass(frozen=True)
class ExchangeBags(EventMethod):
    """Hand the events of each person, as a whole, to a person of the same group.

    Examples
    --------
    >>> import shoal
    >>> tables, schema = shoal.datasets.clinic(200, seed=1), shoal.datasets.clinic_schema()
    >>> release = shoal.anonymize(tables, schema, events=shoal.ExchangeBags(), seed=7)
    >>> [claim.value for claim in release.claims if claim.kind == "event bound"]
    [0.2]
    """

    title = "Exchange histories"
    summary = "Hands all events of a person, together, to a person of the same group."
    promise = "The events beside a person's row are that person's with probability at most 1/k (proved)."
    report_text = ReportText(done="All events of a person went, together, to a person of the same group.")
    rank = 20

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Permute whole bags within groups."""
        new = stirred(groups, rng)
        made = collection
        for table in collection.schema.first_events:
            made = made.given_to(table.name, new[collection.persons[table.name]])
        if made.moved is not None:
            made = replace(made, moved=made.moved.given_to(new))
        bound = 1 / int(np.bincount(groups[groups >= 0]).min())
        return Done(collection=made, claims=(_claim(bound, _BAGS, _KNOWS_ONE),))


@dataclass(frozen=True)
class DealEvents(EventMethod):
    """Pool the events of a group and deal them out; everybody gets as many as before."""

    title = "Deal events"
    summary = "Pools the events of a group and deals them out again; the number of events of a person stays."
    promise = "An event beside a person's row is that person's with probability at most b/N (proved)."
    report_text = ReportText(
        done="The events of each group were pooled and dealt out again; everybody has as many as before."
    )
    rank = 30

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Permute the owners of event rows within groups, table by table."""
        made, bound = replace(collection, moved=None), 0.0
        for table in collection.schema.first_events:
            persons = collection.persons[table.name]
            bound = max(bound, shares_of(groups, persons))
            made = made.given_to(table.name, persons[stirred(groups[persons], rng)])
        return Done(collection=made, claims=(_claim(bound, _EVENTS, _ROW_STAYS),))


@dataclass(frozen=True)
class DealContents(EventMethod):
    """Exchange what must not be learnt (sensitive and other columns) among the events of a group."""

    title = "Deal contents"
    summary = "Exchanges the sensitive and other columns among the event rows of a group; what is known of a row stays."
    promise = "What stands beside a known event is of the same person with probability at most b/N (proved)."
    report_text = ReportText(done="Sensitive and other columns of events changed places within each group of persons.")
    rank = 40

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Permute the payload of event rows within groups, table by table."""
        made, bound = collection, 0.0
        for table in collection.schema.events:
            persons = collection.persons[table.name]
            if not table.payload or not len(persons):
                continue
            bound = max(bound, shares_of(groups, persons))
            rows = stirred(groups[persons], rng)
            frame = made.tables[table.name]
            made = made.with_columns(table.name, {name: frame[name].gather(rows) for name in table.payload})
        return Done(collection=made, claims=(_claim(bound, _CONTENTS, _ALIKE),))


def stirred(groups: IntArray, rng: Generator) -> IntArray:
    """A uniform permutation within each group: the place that each place's content comes from, or goes to."""
    out = np.empty(len(groups), dtype=np.int64)
    out[np.argsort(groups, kind="stable")] = np.lexsort((rng.random(len(groups)), groups))
    return out


def shares_of(groups: IntArray, persons: IntArray) -> float:
    """The largest b_i/N_g: the share of a group's events that one person has; 0 where there are none."""
    if not len(persons):
        return 0.0
    held = np.bincount(persons, minlength=len(groups))
    own = held > 0
    pool = np.bincount(groups[own], weights=held[own])
    return float((held[own] / pool[groups[own]]).max())


_BAGS = "the events that lie beside a person's row are that person's"
_EVENTS = "an event that lies beside a person's row is one of that person's"
_CONTENTS = "what stands beside an event of a person was found at one of that person's events"
_KNOWS_ONE = "The intruder knows none of the person's events: who knows one reads the others beside it."
_ROW_STAYS = "A row of events stays whole: who knows its date or place reads the rest of the row."
_ALIKE = "What all events of a group share is shown, whoever they belong to."


def _claim(bound: float, what: str, limit: str) -> Claim:
    return Claim(
        kind="event bound",
        value=bound,
        scope="per person, within groups",
        basis="proved",
        unit="persons",
        statement=statement("event bound", claim={"value": bound}, what=what),
        assumptions=(
            limit,
            "The intruder can't judge which events of a group suit the person.",
            "The secret key and everything else in the inside folder stay inside.",
        ),
    )


@dataclass(frozen=True)
class ExchangeTrajectories(EventMethod):
    """Hand whole histories to persons with a similar one, and blur the days between events.

    Parameters
    ----------
    days
        How many days the time between two events may change at most; each date moves by up to half of it. Raising it
        hides gaps better; 0 leaves dates as they are.

    Examples
    --------
    >>> import shoal
    >>> tables, schema = shoal.datasets.clinic(200, seed=1), shoal.datasets.clinic_schema()
    >>> release = shoal.anonymize(tables, schema, events=shoal.ExchangeTrajectories(days=6), seed=7)
    >>> release.linked.joint.tolerance, [claim.value for claim in release.claims if claim.kind == "event bound"]
    (6, [0.2])
    """

    days: Annotated[int, Range(low=0, high=366), Help("largest change of the time between two events, in days")] = 6

    title = "Exchange trajectories"
    summary = "Groups persons by their sequences, hands whole sequences on in order, and blurs gaps within a tolerance."
    promise = "The history beside a person's row is that person's with probability at most 1/k (proved)."
    report_text = ReportText(
        done="Persons with similar histories were grouped, each history went, in its order, to a person of the same "
        "group, and dates moved a little."
    )
    rank = 25

    @property
    def tolerance(self) -> int:
        """The largest change of a gap: twice what a date moves."""
        return 2 * (self.days // 2)

    def summaries(self, collection: Collection) -> dict[str, tuple[Summary, ...]]:
        """What histories have in common."""
        return {table.name: tuple(_alike(table)) for table in collection.schema.events}

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Permute whole histories within groups, then move dates."""
        check(self)
        done = ExchangeBags().apply(collection, groups, rng)
        reach = self.days // 2
        made = replace(jittered(done.collection, reach, rng), moved=None) if reach else done.collection
        moved = Fact(says=_MOVED, values={"reach": reach, "most": self.tolerance}, outside=True)
        return Done(collection=made, claims=done.claims, facts=(*done.facts, *([moved] if reach else [])))


_MOVED = (
    "dates of events moved by up to {reach} days, in the order that they have; the time between two events of a person "
    "changed by at most {most} days"
)


def _alike(table: LinkedTable) -> list[Summary]:
    """Number and kinds of events, and, where they have dates, when they were and in which order."""
    codes = [name for name in table.known if name not in table.columns.time]
    made = [Summary("count"), *(Summary("codes", name) for name in codes)]
    if table.columns.time:
        when = table.columns.time[0]
        made += [Summary("first", when), Summary("gap", when), *(Summary("sequence", name) for name in codes)]
    return made
