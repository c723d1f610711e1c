"""Beside the columns: who stands out by the roles as they stand, and what would help most."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.markup import Html, tag
from shoal.report.numbers import count, percent, plural
from shoal.web.pages import charts
from shoal.web.pages.layout import problem

__all__ = ["events_known", "helps", "remedy", "standing_now"]

NO_HELP = "No change of a single column helps: so many make nearly everybody unique. Give fewer columns the role quasi."


def standing_now(found: Mapping[str, Any], *, current: bool, failed: str = "") -> Html:
    """Who is alone with their quasi-identifiers, and how many the others share theirs with; or why nobody knows."""
    heading = tag("h2", "Who stands out now")
    if failed:
        again = tag("button", "Count again", type="button", data_do="count")
        return tag("section", heading, problem(failed), again, class_="card")
    if "alone" not in found:
        words = "Counted as soon as the problems are settled." if found.get("problems") else "Counting…"
        return tag("section", heading, tag("p", words, class_="note"), class_="card")
    by = plural(len(found["quasi"]), "quasi-identifier")
    figure = tag(
        "p",
        tag("span", percent(found["alone"]), class_="figure"),
        f" of {count(found['records'])} {found['counts']} are unique in their {by}; "
        f"the smallest class holds {count(found['smallest'])}.",
    )
    label = f"{found['counts'].capitalize()} by how many share their combination"
    bands = tag("ul", *(_band(*band) for band in found["sizes"]), class_="bands", aria_label=label)
    events = _by_events(found.get("events", ()), found.get("k_required", 0))
    stale = None if current else tag("p", "Counting anew…", class_="note")
    return tag(
        "section",
        heading,
        figure,
        bands,
        events,
        stale,
        class_="card",
        aria_live="polite",
    )


def events_known(events: str) -> str:
    """How much of a person's history is known, in words."""
    named = {"0": "no event", "1": "one event", "any": "any number of events", "whole": "the whole history"}
    return named.get(events, f"{events} events")


def _by_events(known: Sequence[tuple[str, int | None, float]], k_required: int) -> Html | None:
    """Of linked tables: the share with too few candidates for who knows so many events of a person beside the row."""
    if not known:
        return None
    heading = f"People with fewer than {k_required} candidates, if an intruder knows"
    bands = [_band(events_known(events), below) for events, _, below in known]
    return tag("div", tag("p", heading, class_="note"), tag("ul", *bands, class_="bands events", aria_label=heading))


def _band(name: str, share: float) -> Html:
    picture = charts.bullet(None, share, None, f"{name}: {percent(share)}")
    return tag("li", tag("span", name), picture, tag("span", percent(share)))


def helps(found: Mapping[str, Any], undecided: Html | None = None, *, coarsens: bool) -> Html | None:
    """The changes of one column that would help most, each with a press that makes it where it can be made here.

    Where none helps, `undecided` leads to the columns that were made quasi out of caution.
    """
    changes = found.get("changes")
    if changes is None:
        return None
    heading = tag("h2", "What would help most")
    if not changes:
        return tag("section", heading, tag("p", NO_HELP, class_="note"), undecided, class_="card")
    words = "Each tried by itself on the whole table, best first by people freed per detail lost."
    items = tag("ol", *(_change(one, coarsens) for one in changes), class_="helps")
    return tag("section", heading, tag("p", words, class_="note"), items, class_="card")


def _change(one: Mapping[str, Any], coarsens: bool) -> Html:
    freed, left = count(one["n_freed"]), count(one["n_alone"])
    said = f"frees {freed}, leaves {left} unique, costs {percent(one['lost'])} of the detail"
    return tag("li", tag("strong", one["words"]), tag("span", said, class_="type"), _press(one, coarsens))


def _press(one: Mapping[str, Any], coarsens: bool) -> Html | None:
    if one["action"] == "drop":
        return remedy("Leave it out", {one["column"]: {"role": "identifier"}})
    if not coarsens:
        return None
    words = json.dumps(dict(one))
    return tag("button", "Add to the recipe", type="button", class_="small", data_do="recode", data_of=words)


def remedy(words: str, entries: Mapping[str, Any]) -> Html:
    """A press that changes entries of some columns."""
    return tag("button", words, type="button", class_="small", data_do="remedy", data_of=json.dumps(entries))
