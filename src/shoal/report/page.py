"""Evidence to one self-contained page, in the order of an expert determination, fit for screen, print and listening.

Data, recipient, assumptions, method, parameters, risk before and after, utility, limits, who decides, expiry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from shoal.errors import ParameterError
from shoal.report.columns import columns
from shoal.report.evidence import Evidence
from shoal.report.inside import inside
from shoal.report.layout import shell
from shoal.report.markup import Html, join, tag
from shoal.report.risk import risk
from shoal.report.sections import claims, data, drawn_words, limits, method, parameters, provenance, rows_words
from shoal.report.signing import decision, expiry, recipient
from shoal.report.summary import summary, synthetic_summary
from shoal.report.synthetic import synthetic_risk
from shoal.report.utility import utility
from shoal.report.withheld import risk_withheld, utility_withheld

__all__ = ["Audience", "render"]

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
    "limits": "Known limits",
    "inside": "Inside only",
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
        For the internal page: ``seed``, ``replay``, ``labels`` or ``group_sizes``, ``timings``, other short facts.

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
    return shell(evidence.title, _header(evidence, audience), contents, join(parts.values()), name=name)


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
    wording = _OF_NOBODY if "synthesize" in evidence.recipe else _OF_PEOPLE
    return {
        "summary": wording.summary(evidence, internal=internal),
        "data": data(evidence, wording.rows(evidence)),
        "recipient": recipient(),
        "claims": claims(evidence),
        "method": method(evidence),
        "columns": columns(evidence, internal=internal, unmeasured=wording.unmeasured),
        "parameters": parameters(evidence, internal=internal),
        **_measures(evidence, internal, wording),
        "limits": limits(evidence, internal=internal, counts=internal or wording.counts_outside),
        **({"inside": inside(evidence, given)} if internal else {}),
        "decision": decision(),
        "expiry": expiry(),
        "provenance": provenance(evidence),
    }


def _measures(evidence: Evidence, internal: bool, wording: _Wording) -> dict[str, Html]:
    """Risk and utility, or why comparisons with the original stay inside."""
    if evidence.withheld and not internal:
        return {"risk": risk_withheld(evidence, wording.nobody), "utility": utility_withheld(evidence)}
    return {"risk": wording.risk(evidence, internal=internal), "utility": utility(evidence)}


def _header(evidence: Evidence, audience: str) -> Html:
    return tag(
        "header",
        tag("p", _WORDS[audience], class_=f"badge {audience}"),
        tag("h1", evidence.title),
        tag("p", f"Made with Shoal on {evidence.created}", class_="kicker"),
        class_="page",
    )
