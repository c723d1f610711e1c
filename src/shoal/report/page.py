"""Evidence to one self-contained page: no script, no link to anything outside, fit for screen, print and listening."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from shoal.errors import ParameterError
from shoal.report.attacks import risk
from shoal.report.evidence import Evidence
from shoal.report.inside import inside
from shoal.report.kept import utility
from shoal.report.markup import Html, join, tag
from shoal.report.sections import claims, columns, decision, method, provenance, summary
from shoal.report.synthetic import synthetic_risk, synthetic_summary

__all__ = ["Audience", "render"]

Audience = Literal["external", "internal"]
_TITLES = {
    "summary": "Summary",
    "claims": "Claims",
    "risk": "Risk",
    "utility": "Utility",
    "columns": "Columns",
    "method": "Method and known limits",
    "inside": "Inside only",
    "decision": "Who decides",
    "provenance": "Provenance",
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
    A complete HTML document. Drawing takes some 0.05 s a picture, once for both audiences.

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
    body = join([_header(evidence, audience, parts), tag("main", *parts.values()), _footer(evidence)])
    return f"<!DOCTYPE html>\n{tag('html', _head(evidence, audience), tag('body', body), lang='en')}\n"


def _sections(evidence: Evidence, internal: bool, given: Mapping[str, Any]) -> dict[str, Html]:
    parts = {
        "summary": synthetic_summary(evidence) if evidence.is_synthetic else summary(evidence),
        "claims": claims(evidence),
        **_measures(evidence, internal),
        "columns": columns(evidence, internal=internal),
        "method": method(evidence, internal=internal),
    }
    if internal:
        parts["inside"] = inside(evidence, given)
    return {**parts, "decision": decision(), "provenance": provenance(evidence)}


def _measures(evidence: Evidence, internal: bool) -> dict[str, Html]:
    """Risk and utility; those of a synthetic table are for inside, as its claims don't cover them."""
    if not evidence.is_synthetic:
        return {"risk": risk(evidence, internal=internal), "utility": utility(evidence)}
    return {"risk": synthetic_risk(evidence), "utility": utility(evidence)} if internal else {}


def _head(evidence: Evidence, audience: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="Shoal"),
        tag("title", f"{evidence.title} ({audience} report)"),
        tag("style", _style()),
    )


def _header(evidence: Evidence, audience: str, parts: Mapping[str, Html]) -> Html:
    words = {
        "external": "External report: may go wherever the released table goes",
        "internal": "Internal report: must not leave the secure room",
    }
    links = [tag("li", tag("a", _TITLES[name], href=f"#{name}")) for name in parts]
    return tag(
        "header",
        tag("h1", evidence.title),
        tag("p", f"Made with Shoal on {evidence.created}", class_="kicker"),
        tag("p", words[audience], class_=f"badge {audience}"),
        tag("nav", tag("ol", *links), aria_label="Sections"),
        class_="page",
    )


def _footer(evidence: Evidence) -> Html:
    return tag("footer", tag("p", f"{evidence.title}. Shoal documents; a person decides."), class_="page")


@cache
def _style() -> Html:
    return Html(files("shoal.report").joinpath("style.css").read_text(encoding="utf-8"))
