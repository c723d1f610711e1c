"""Whole histories change hands within a group, in their order, and gaps between dates change within a tolerance.

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

from shoal.arrays import Generator, IntArray
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.dates import jittered
from shoal.linked.event_method import Done, EventMethod
from shoal.linked.exchange import ExchangeBags
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.schema import LinkedTable
from shoal.schema.tables import Summary

__all__ = ["ExchangeTrajectories"]


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
