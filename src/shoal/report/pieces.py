"""Small pieces that several sections of the page share."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.claim import Claim
from shoal.reading import Reading
from shoal.report.evidence import Evidence
from shoal.report.marginal import Marginal
from shoal.report.markup import Child, Html, tag
from shoal.report.numbers import ABSENT, count, percent

__all__ = [
    "basis",
    "before_share",
    "bullets",
    "capped",
    "found_before",
    "guarded",
    "is_share",
    "may_tell",
    "moved_words",
    "people",
    "proved_bound",
    "too_few",
    "weak_bound",
]

ROUNDING = 1e-9


def basis(name: str) -> Html:
    """The basis of a claim, with its sign: full for what was proved or checked, half for what was measured."""
    return tag("span", name, class_=f"basis {name}")


def people(records: int) -> Html:
    """A count of people's records, marked so that the small-cell rule can be checked on the page."""
    return tag("span", count(records), class_="people")


def moved_words(marginal: Marginal) -> str:
    """How far a distribution moved, beside what chance moves a fresh sample by."""
    moved, fresh = marginal.distance(), marginal.fresh()
    if not moved:
        return "No change."
    read = Reading(name=marginal.column, value=moved, chance=fresh, against="a fresh sample", slack=0.02)
    about = "at least" if marginal.weighted else "about"
    return f"Moved by {percent(moved)}; a fresh sample moves by {about} {percent(fresh)}: {read.verdict}."


def too_few(evidence: Evidence) -> Html:
    """What stands where not even one cell may be shown."""
    return tag("p", f"Fewer than {evidence.k} {evidence.crowd}: nothing is shown.", class_="note")


def bullets(texts: Sequence[Child], kind: str | None = None) -> Html | None:
    """A list, if there is anything to list."""
    return tag("ul", *(tag("li", text) for text in texts), class_=kind) if texts else None


def is_share(claim: Claim) -> bool:
    """Whether a claim's value is a probability of re-identification, told in percent."""
    return claim.is_probability


def proved_bound(evidence: Evidence) -> float | None:
    """The proved limit of re-identification, where the release carries such a claim: rounded up, so that it is one."""
    proved = [c.limit(3) for c in evidence.claims if c.basis == "proved" and c.kind == "re-identification bound"]
    return min(proved, default=None)


def weak_bound(claims: Sequence[Claim], k: int) -> str:
    """Why a bound is above 1/k, where it is: people with several rows in their group."""
    bounds = [c for c in claims if c.kind == "re-identification bound" and c.value * k > 1 + ROUNDING]
    if k < 2 or not bounds:
        return ""
    return f"somebody has {percent(max(c.limit(3) for c in bounds))} of the rows of their group: the bound isn't 1/{k}"


def found_before(evidence: Evidence) -> str:
    """What the same match finds in the original: one over the size of each person's class, on average."""
    share = before_share(evidence)
    return "" if share is None else f"; in the original table it finds {percent(share)}"


def before_share(evidence: Evidence) -> float | None:
    """The share that the same match finds in the original; None where people have several rows."""
    return None if evidence.has_unit else evidence.attackers[0].prosecutor.mean


def may_tell(share: float, n: int, evidence: Evidence, *, internal: bool) -> bool:
    """Whether a share of `n` records may be told: outside not where people have several rows, unless it is 0 or all."""
    return internal or not evidence.has_unit or round(share * n) in (0, n)


def guarded(share: float, n: int, evidence: Evidence, *, internal: bool) -> str:
    """A share of `n` records; outside it does not tell counts of 1 to k − 1 people, nor of all but so many.

    Where people have several rows, a share of rows doesn't tell how many people there are, so it is not told outside.
    """
    k, held = evidence.k, round(share * n)
    if internal or held in (0, n):
        return percent(share)
    if not may_tell(share, n, evidence, internal=internal):
        return ABSENT
    if held < k:
        return f"under {percent(k / n)}"
    return f"over {percent(1 - k / n)}" if n - held < k else percent(share)


def capped(risk: float, k: int, *, internal: bool) -> str:
    """A risk 1/f of a class of f people; outside it does not tell an f below k."""
    return f"over {percent(1 / k)}" if risk > (1 + 1e-9) / k and not internal else percent(risk)
