"""Evidence to one self-contained page, in the order of an expert determination, fit for screen, print and listening.

Data, recipient, assumptions, method, parameters, risk before and after, utility, limits, who decides, expiry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from shoal.errors import ParameterError
from shoal.report.columns import columns
from shoal.report.evidence import Evidence
from shoal.report.inside import inside
from shoal.report.layout import shell
from shoal.report.markup import Html, join, tag
from shoal.report.risk import risk
from shoal.report.sections import claims, data, limits, method, parameters, provenance
from shoal.report.signing import decision, expiry, recipient
from shoal.report.summary import summary
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
    "utility": "Utility: what is kept",
    "limits": "Known limits",
    "inside": "Inside only",
    "decision": "Who decides",
    "expiry": "Expiry",
    "provenance": "Provenance",
}
_WORDS = {
    "external": "External report: may go wherever the released table goes",
    "internal": "Internal report: must not leave the secure room",
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


def _sections(evidence: Evidence, internal: bool, given: Mapping[str, Any]) -> dict[str, Html]:
    return {
        "summary": summary(evidence, internal=internal),
        "data": data(evidence),
        "recipient": recipient(),
        "claims": claims(evidence),
        "method": method(evidence),
        "columns": columns(evidence, internal=internal),
        "parameters": parameters(evidence, internal=internal),
        **_measures(evidence, internal),
        "limits": limits(evidence, internal=internal),
        **({"inside": inside(evidence, given)} if internal else {}),
        "decision": decision(),
        "expiry": expiry(),
        "provenance": provenance(evidence),
    }


def _measures(evidence: Evidence, internal: bool) -> dict[str, Html]:
    """Risk and utility, or why comparisons with the original stay inside."""
    if evidence.withheld and not internal:
        return {"risk": risk_withheld(evidence), "utility": utility_withheld(evidence)}
    shown = synthetic_risk(evidence) if evidence.is_synthetic else risk(evidence, internal=internal)
    return {"risk": shown, "utility": utility(evidence)}


def _header(evidence: Evidence, audience: str) -> Html:
    return tag(
        "header",
        tag("p", _WORDS[audience], class_=f"badge {audience}"),
        tag("h1", evidence.title),
        tag("p", f"Made with Shoal on {evidence.created}", class_="kicker"),
        class_="page",
    )
