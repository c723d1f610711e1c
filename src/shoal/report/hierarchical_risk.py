"""Beyond single rows, on the internal page: households found by a member, persons found by events, links to events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.linked import JointRisk
from shoal.linked.joint import Known, Knows
from shoal.report.markup import Child, Html, rows_table, section, tag
from shoal.report.numbers import NOT_MEASURED, between, count, percent
from shoal.report.readings import verdict
from shoal.risk import HouseholdRisk
from shoal.utility.event_counts import EventCount

__all__ = ["by_counts", "by_events", "by_households", "hierarchy_sections"]


def hierarchy_sections(given: Mapping[str, Any]) -> dict[str, Html]:
    """The sections for which something was measured, each before and after."""
    draw: dict[str, Callable[..., Html]] = {"households": by_households, "events": by_events, "event_counts": by_counts}
    return {name: drawn(*given[name]) for name, drawn in draw.items() if given.get(name)}


def by_households(before: HouseholdRisk, after: HouseholdRisk) -> Html:
    """What one member gives away of the others."""
    rows: list[tuple[Child, ...]] = [
        ("Households found, expected", _found(before), _found(after), "By any member, or by who they are together"),
        ("Persons in households found", _people(before), _people(after), "Who is found along with the member"),
        ("Largest risk of a household", percent(before.largest), percent(after.largest), "0% at best, 100% at worst"),
        (
            "Fewest households of one composition",
            count(before.k),
            count(after.k),
            "How many fit who knows all members; 1: a household like no other",
        ),
        ("Households like no other", _alone(before), _alone(after), "None at best"),
    ]
    words = (
        "Whoever finds one member of a household has found the others. After: persons hide in the class of equal "
        "released rows, or in the group that their row was drawn from, joined with the households of the original; "
        "nobody outside can do that unless columns published unchanged show who lives together. The risk through "
        "members takes them for independent and is no bound."
    )
    head = ("", "Before", "After", "Meaning")
    return section(
        "households",
        "Households",
        tag("p", words, class_="warning"),
        rows_table("Households, before and after", head, rows, numeric=(1, 2), quiet=True),
    )


def _found(risk: HouseholdRisk) -> str:
    return f"{count(round(risk.expected_households))} of {count(risk.n_households)}"


def _people(risk: HouseholdRisk) -> str:
    return f"{count(round(risk.expected_persons))} of {count(risk.n_records)}"


def _alone(risk: HouseholdRisk) -> str:
    return f"{count(risk.n_unique)} ({percent(risk.n_unique / max(1, risk.n_households))})"


_KNOWS: dict[Knows, str] = {
    "events": "events, with their dates as released",
    "gaps": "events and the days between them, no date",
    "order": "events in their order, no date",
    "date": "events, with their true dates",
}
_ALL: dict[tuple[str, Knows], str] = {
    ("0", "events"): "no event",
    ("1", "events"): "1 event, with its date as released",
    ("1", "date"): "1 event, with its true date, and how far dates were shifted at most",
    ("any", "events"): "all events",
    ("whole", "events"): "all events, and that nothing else happened",
}


def by_events(before: JointRisk | None, after: JointRisk) -> Html:
    """What known events give away of persons, on the tables joined."""
    was = {} if before is None else {(known.events, known.knows): known for known in before.by_events}
    rows = [_row(known, was.get((known.events, known.knows)), after.k_required) for known in after.by_events]
    words = (
        f"An intruder knows the class of a person (equal quasi-identifiers, or the group) and some of the person's "
        f"events. Fits: how many of {count(after.n_persons)} persons could be the one; {after.k_required} or more are "
        f"wanted. The tables hold {count(after.n_events)} events. Rows of a person can be counted too: as few as "
        f"{count(after.k_count)} of a class have equally many."
    )
    head = ("Knows", f"Fewer than {after.k_required} fit, before", "After", "Fewest who fit", "Counted")
    return section(
        "events",
        "Known events",
        tag("p", words, class_="warning"),
        rows_table("Persons found by their events, tables joined", head, rows, numeric=(1, 2, 3, 4), quiet=True),
        tag("p", _TOLERANCE.format(days=count(after.tolerance))) if after.tolerance else None,
        tag("p", _DRAWN) if any(known.interval for known in after.by_events) else None,
        _by_others(before, after) if after.third_parties else None,
    )


def _by_others(before: JointRisk | None, after: JointRisk) -> Html:
    """What the pseudonyms of third parties give away."""
    was = {} if before is None else {(one.table, one.column): one for one in before.third_parties}
    rows: list[tuple[Child, ...]] = [
        (
            f"{one.column} of {one.table}",
            percent(was[one.table, one.column].below_share) if (one.table, one.column) in was else NOT_MEASURED,
            percent(one.below_share),
            count(one.k),
            f"{count(one.n_single)} of {count(one.n_tokens)}",
        )
        for one in after.third_parties
    ]
    head = (
        "Knows whose it is",
        f"Fewer than {after.k_required} fit, before",
        "After",
        "Fewest who fit",
        "Of one person",
    )
    return rows_table("Persons found by pseudonyms of others", head, rows, numeric=(1, 2, 3, 4), quiet=True)


_TOLERANCE = "Gaps fit where they differ by up to {days} days, by which the method may have changed them."
_DRAWN = "Where an interval is given, whole classes were drawn at random and counted exactly."


def _row(known: Known, was: Known | None, wanted: int) -> tuple[Child, ...]:
    what = _ALL.get((known.events, known.knows)) or f"{known.events} {_KNOWS[known.knows]}"
    if known.k is None:
        return what, _share(was), NOT_MEASURED, NOT_MEASURED, "too many combinations"
    return what, _share(was), _share(known), count(known.k), f"{count(known.n_persons)} persons"


def _share(known: Known | None) -> str:
    if known is None or known.below_share is None:
        return NOT_MEASURED
    spread = between(known.interval) if known.interval else ""
    return f"{percent(known.below_share)} {spread}".strip()


def by_counts(*links: EventCount) -> Html:
    """How columns of persons go with their numbers of events: what an exchange of events loosens."""
    rows: list[tuple[Child, ...]] = [
        (
            f"{one.column} and the number of {one.table}",
            "correlation" if one.ordered else "correlation ratio",
            _strength(one.before),
            _strength(one.after),
            _strength(one.reading.value),
            _strength(one.reading.chance),
            verdict(one.reading),
        )
        for one in links
    ]
    words = (
        "How strongly a column of the persons goes with how many events they have. Equal before and after at best; an "
        "exchange of events within groups pulls it towards what the groups have in common, coarser columns towards 0. "
        "Correlations lie from −1 to 1, correlation ratios (columns without an order) from 0 to 1. Sampling "
        "error: twice the standard error of a correlation among as many persons."
    )
    return section(
        "event_counts",
        "Columns and numbers of events",
        tag("p", words),
        rows_table(
            "Columns against numbers of events",
            ("", "", "Before", "After", "Changed by", "Sampling error", "Reading"),
            rows,
            numeric=(2, 3, 4, 5),
            quiet=True,
        ),
    )


def _strength(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
