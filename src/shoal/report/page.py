"""Evidence to one self-contained page, in the order of an expert determination, fit for screen, print and listening.

Data, recipient, assumptions, method, parameters, risk before and after, utility, limits, who decides, expiry.
The internal report adds what to watch, seed and replay, exact counts of small classes, groups, timings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.reading import Reading
from shoal.report.decision import decision, expiry, recipient
from shoal.report.evidence import Evidence
from shoal.report.hierarchical_risk import hierarchy_sections
from shoal.report.layout import shell
from shoal.report.mapping import mapping_section
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.numbers import count, number, percent, seconds
from shoal.report.pieces import proved_bound
from shoal.report.readings import verdict
from shoal.report.risk import risk, synthetic_risk
from shoal.report.sections import (
    claims,
    columns,
    data,
    drawn_words,
    limits,
    method,
    parameters,
    provenance,
    risk_withheld,
    rows_words,
    utility_withheld,
)
from shoal.report.summary import summary, synthetic_summary
from shoal.report.suppressed import suppression_section
from shoal.report.utility import utility
from shoal.report.who_stands_out import help_most, stands_out

__all__ = ["Audience", "inside", "render"]

Audience = Literal["external", "internal"]
_TITLES = {
    "summary": "At a glance",
    "data": "Data",
    "recipient": "Recipient and use",
    "claims": "Claims and assumptions",
    "method": "Method",
    "columns": "What was changed, and why",
    "parameters": "Parameters",
    "risk": "Risk, before and after",
    "utility": "Utility: what is preserved",
    "households": "Households",
    "events": "Known events",
    "event_counts": "Columns and numbers of events",
    "standing": "Who stands out, and why",
    "help": "What would help most",
    "suppression": "What suppression took",
    "limits": "Known limits",
    "inside": "Internal only",
    "decision": "Who decides",
    "expiry": "Expiry",
    "provenance": "Provenance",
}
_WORDS = {
    "external": "External report: may accompany the released table",
    "internal": "Internal report: must not leave the secure environment",
}


def render(evidence: Evidence, audience: Audience, *, internal: Mapping[str, Any] | None = None) -> str:
    """Write the page for one audience.

    Parameters
    ----------
    evidence
        What `gather` collected.
    audience
        ``"external"`` may go wherever the table goes: it shows no seed, no path, no smallest or largest value, no level
        and no count of fewer than k people. ``"internal"`` adds exact counts and what it takes to replay.
    internal
        For the internal page: ``seed``, ``replay``, ``labels`` or ``group_sizes``, ``timings``, ``standing`` (from
        `standing_of`), ``suppression`` (a `SuppressionLoss`), ``households``, ``events`` and ``event_counts`` (before
        and after), other short facts.

    Returns
    -------
    A complete HTML document. Drawing takes about a millisecond a picture.

    Examples
    --------
    >>> import shoal
    >>> from shoal import report
    >>> table, schema = shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, seed=7)
    >>> evidence = report.gather(
    ...     release.pair, recipe=release.recipe.to_dict(), claims=release.claims, risk=release.risk,
    ...     utility=release.utility, k=5, notes=release.notes, versions={}, created="2025-01-15",
    ... )
    >>> report.render(evidence, "external").startswith("<!DOCTYPE html>")
    True
    """
    if audience not in get_args(Audience):
        raise ParameterError("report", "audience must be external or internal", got=repr(audience)[:40])
    if audience == "external" and internal is not None:
        raise ParameterError("report", "internal facts must not be given to the external report")
    parts = _sections(evidence, audience == "internal", internal or {})
    contents = {name: _TITLES[name] for name in parts}
    name = f"{evidence.title} ({audience} report)"
    kicker = f"Made with Shoal on {evidence.created}"
    sections = join(parts.values())
    return shell(evidence.title, kicker, contents, sections, badge=_WORDS[audience], audience=audience, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    """What a page says differently of people's rows and of rows that are nobody's."""

    summary: Callable[..., Html] = summary
    rows: Callable[[Evidence], str] = rows_words
    risk: Callable[..., Html] = risk
    counts_outside: bool = True
    unmeasured: str = ""
    nobody: str = ""


_OF_PEOPLE = _Wording()
_OF_NOBODY = _Wording(
    summary=synthetic_summary,
    rows=drawn_words,
    risk=synthetic_risk,
    counts_outside=False,
    unmeasured="Every value is drawn.",
    nobody="No row belongs to a real person, so there is nobody to find in the table. ",
)


def _sections(evidence: Evidence, internal: bool, given: Mapping[str, Any]) -> dict[str, Html]:
    wording = _OF_PEOPLE if evidence.is_of_people else _OF_NOBODY
    return {
        "summary": wording.summary(evidence, internal=internal),
        "data": data(evidence, wording.rows(evidence)),
        "recipient": recipient(),
        "claims": claims(evidence),
        "method": method(evidence),
        "columns": columns(evidence, internal=internal, unmeasured=wording.unmeasured),
        "parameters": parameters(evidence, internal=internal),
        **_measures(evidence, internal, wording),
        **_of_single_people(given if internal else {}),
        "limits": limits(evidence, internal=internal, counts=internal or wording.counts_outside),
        **({"inside": inside(evidence, given)} if internal else {}),
        "decision": decision(),
        "expiry": expiry(),
        "provenance": provenance(evidence),
    }


def _of_single_people(given: Mapping[str, Any]) -> dict[str, Html]:
    """What suppression took, households, events, who stands out, what would help: on the internal page only."""
    standing = given.get("standing")
    found = {} if standing is None else {"standing": stands_out(standing), "help": help_most(standing)}
    loss = given.get("suppression")
    lost = {} if loss is None else {"suppression": suppression_section(loss)}
    return lost | hierarchy_sections(given) | found


def _measures(evidence: Evidence, internal: bool, wording: _Wording) -> dict[str, Html]:
    """Risk and utility, or why comparisons with the original stay inside."""
    if evidence.withheld and not internal:
        return {"risk": risk_withheld(evidence, wording.nobody), "utility": utility_withheld(evidence)}
    return {"risk": wording.risk(evidence, internal=internal), "utility": utility(evidence)}


def inside(evidence: Evidence, given: Mapping[str, Any]) -> Html:
    """The section for inside only.

    `given` may hold ``seed``, ``replay`` (where the replay file is), ``labels`` (the group of each original row, −1 for
    none; only their sizes are shown) or ``group_sizes``, ``timings`` (seconds by step), and other short facts.
    """
    return section(
        "inside",
        "Internal only",
        tag("p", "This section must not leave the secure environment.", class_="warning"),
        tag("h3", "What to watch"),
        tag("ul", *(tag("li", text) for text in watch(evidence))),
        tag("h3", "Replay"),
        *_replay(given),
        tag("h3", "Small classes"),
        _small_classes(evidence),
        *_groups(evidence, given),
        *mapping_section(evidence.mapped),
        *_timings(given),
    )


def watch(evidence: Evidence) -> list[str]:
    """What the person who decides should look at first."""
    found = [*_risk_warnings(evidence), *_column_warnings(evidence)]
    return found or ["Nothing stands out. This proves nothing: read the assumptions of the claims."]


def _risk_warnings(evidence: Evidence) -> list[str]:
    risk, warnings = evidence.risk, []
    if risk.reidentification.largest > 1 / evidence.k:
        warnings.append(
            f"In this release, the nearest match is right for some {evidence.rows_are} with a probability of "
            f"{percent(risk.reidentification.largest)}. {_DRAWN if proved_bound(evidence) else _UNBOUNDED}"
        )
    if risk.verbatim.unique_share > 0.01:
        warnings.append(
            f"{percent(risk.verbatim.unique_share)} of the released rows show a combination that exactly one person "
            f"has in the original{_whose(evidence)}. Coarser columns avoid that."
        )
    for name, diversity in risk.classes.sensitive.items():
        if diversity.homogeneous_share > 0.1 and diversity.distinct_l >= 1 and risk.classes.k > 1:
            warnings.append(
                f"{name}: {percent(diversity.homogeneous_share)} of the rows are in classes with a single value, "
                "which is disclosed as soon as the class is known."
            )
    return warnings


_DRAWN = (
    "The bound applies to the method over all its draws: do not redraw until a table looks good, and do not reveal who "
    "they are."
)
_UNBOUNDED = "Nothing limits that: mask more, or coarsen first."


def _whose(evidence: Evidence) -> str:
    """Where rows of a group are exchangeable, a combination is nobody's in particular."""
    return " (assigned to any member of the group)" if evidence.risk.reidentification.by_group else ""


def _column_warnings(evidence: Evidence) -> list[str]:
    warnings = [
        f"{account.name}: {percent(1 - account.changed_share)} of the {evidence.rows_are} keep their own value."
        for account in evidence.columns
        if account.changed_share is not None and account.changed_share < 0.1
    ]
    warnings += [
        f"{marginal.column}: the distribution moved by {percent(marginal.distance())} (total variation)."
        for marginal in evidence.marginals
        if marginal.distance() > 0.1
    ]
    return warnings


def _replay(given: Mapping[str, Any]) -> list[Child]:
    known = ("labels", "group_sizes", "timings", "standing", "suppression", "households", "events", "event_counts")
    facts = [(str(key), tag("code", str(value))) for key, value in given.items() if key not in known]
    hint = tag(
        "p",
        "With the seed, the input and the recipe, the release can be reproduced byte for byte and every row traced to "
        "its person. Keep them separate from the table.",
    )
    return [hint, rows_table("What is needed to replay the run", ("What", "Value"), facts) if facts else None]


def _small_classes(evidence: Evidence) -> Html:
    small, who = evidence.small, evidence.crowd
    promised = max((claim.value for claim in evidence.claims if claim.kind == "k-anonymity"), default=0)
    rows: list[tuple[Child, ...]] = [
        (count(size), count(before), count(after), _few_share(before, after, 0.0 if size < promised else None))
        for size, before, after in zip(small.sizes, small.before, small.after, strict=True)
    ]
    rows.append(("all sizes", count(small.n_classes[0]), count(small.n_classes[1]), ""))
    table = rows_table(
        f"Combinations of quasi-identifiers that few {who} share",
        (f"{who[:1].upper()}{who[1:]} that share it", "Combinations before", "Combinations after", "Reading"),
        rows,
        numeric=(0, 1, 2),
        kind="narrow",
    )
    words = (
        f"Unique {who}: {count(small.before[0])} before, {count(small.after[0])} after. Smallest class: "
        f"{count(small.smallest[0])} before, {count(small.smallest[1])} after."
    )
    return tag("div", tag("p", words), table)


def _few_share(before: int, after: int, limit: float | None) -> Html | str:
    """None may be left where k is promised; without such a promise, fewer than before is better."""
    if limit is None and before == after == 0:
        return ""
    return verdict(Reading(name="combinations", value=after, before=before, limit=limit, shows="count"))


def _groups(evidence: Evidence, given: Mapping[str, Any]) -> list[Child]:
    sizes = _group_sizes(given)
    if len(sizes) == 0:
        return []
    values, counts = np.unique(sizes, return_counts=True)
    shown = [(count(int(size)), count(int(n))) for size, n in zip(values[:15], counts[:15], strict=True)]
    if len(values) > 15:
        shown.append((f"{count(int(values[15]))} or more", count(int(counts[15:].sum()))))
    words = (
        f"{count(len(sizes))} groups; the smallest has {count(int(sizes.min()))} rows, the largest "
        f"{count(int(sizes.max()))}, the mean is {number(float(sizes.mean()))}."
    )
    table = rows_table("Groups by size", ("Rows in the group", "Groups"), shown, numeric=(0, 1), kind="narrow")
    return [tag("h3", "Groups"), tag("p", words), table]


def _group_sizes(given: Mapping[str, Any]) -> Any:
    if given.get("group_sizes") is not None:
        return np.asarray(given["group_sizes"], dtype=np.int64)
    labels = np.asarray(given.get("labels") if given.get("labels") is not None else [], dtype=np.int64)
    return np.bincount(labels[labels >= 0])[np.unique(labels[labels >= 0])] if (labels >= 0).any() else labels[:0]


def _timings(given: Mapping[str, Any]) -> list[Child]:
    timings = given.get("timings") or {}
    if not timings:
        return []
    rows = [(str(step), seconds(float(time))) for step, time in timings.items()]
    return [tag("h3", "Timings"), rows_table("Time by step", ("Step", "Time"), rows, numeric=(1,), kind="narrow")]
