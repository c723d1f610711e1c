"""The last lines of a command that releases: what left, what is promised, before → after, what to watch, where to look.

At most fifteen lines, so that a person reads them. Statements, assumptions and every measure come with ``--verbose``
and are in the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.claim import Claim
from shoal.release.release import Release

__all__ = ["VERBOSE", "summary"]

VERBOSE = "Print every assumption and every measure."
_MOST_CLAIMS = 4
_MOST_NOTES = 3
_WIDEST = 140


def summary(release: Release) -> list[str]:
    """The lines between "rows released" and where the files are."""
    lines = [*_promised(release.claims), *_compared(release), *_watch(release)]
    return [line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…" for line in lines]


def _promised(claims: tuple[Claim, ...]) -> Iterator[str]:
    """Claims that are no measure, one line each."""
    firm = [claim for claim in claims if claim.basis != "measured"]
    for claim in firm[:_MOST_CLAIMS]:
        where = f" of {claim.column}" if claim.column else ""
        yield f"{claim.basis:<9} {claim.kind} {claim.value:.4g}{where}, {claim.scope}"
    if len(firm) > _MOST_CLAIMS:
        yield f"          and {len(firm) - _MOST_CLAIMS} more"
    if not firm:
        yield "promised  nothing is promised; risks are measured only"


def _compared(release: Release) -> Iterator[str]:
    """What an intruder finds, before → after, against the limit that is proved."""
    if release.model is not None:
        return
    risk, original = release.risk, release.pair.original_classes()
    before = float((1.0 / original.row_sizes).mean())
    limit = next((claim.value for claim in release.claims if claim.kind == "re-identification bound"), None)
    bound = "" if limit is None else f"; limit {limit:.0%}"
    yield f"risk      found by nearest match: {before:.2%} before → {risk.reidentification.expected:.2%}{bound}"
    if risk.unchanged.expected is not None:
        yield f"          with unchanged columns too: {risk.unchanged.expected:.2%}; no proof limits it"
    if release.recipe.collapses:
        yield f"          smallest class: {original.k} before → {risk.classes.k}"
    yield from _use(release)


def _use(release: Release) -> Iterator[str]:
    utility: Any = release.utility
    kept, fresh = utility.histogram_intersection, float(utility.bootstrap_intersection)
    yield f"use       joint distribution kept: {float(kept):.1%} (a fresh sample keeps {fresh:.1%})"


def _watch(release: Release) -> Iterator[str]:
    tied = [] if release.model is not None else [f"watch     {found.finding}" for found in release.risk.dependences]
    said = [*tied, *(f"note      {text}" for text in release.notes)]
    yield from said[:_MOST_NOTES]
    if len(said) > _MOST_NOTES:
        yield f"          and {len(said) - _MOST_NOTES} more in the report"
