"""What the table of the CAMP-CREST study says, in words: computed from its rows, nothing claimed beyond them.

Best at a level is the combination without a group of a single class that has the least ABICO and, among equals, the
lowest X².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shoal.report.numbers import listed, number, percent, plural
from shoal.study.camp_crest import GROUPERS, MASKS, RIVALS, CampCrestStudy, Point
from shoal.study.paired import paired

__all__ = ["best", "clean", "findings"]

_SAME = 1e-6  # losses nearer than this are the same


def findings(study: CampCrestStudy, level: float) -> list[str]:
    """The sentences for one level of linkage."""
    rows = study.at(level)
    lines = [
        _unreached(rows),
        _best(rows),
        _loss(rows),
        _mixes(rows, study),
        *(_against(rows, other, _over_parts(study, other, level)) for other in RIVALS),
        _homogeneous(rows),
        _price(rows),
    ]
    return [text for text in lines if text]


def best(rows: Sequence[Point]) -> Point | None:
    """Without homogeneous groups, least ABICO, then lowest X²."""
    fit = [(p.abico or 0.0, p) for p in rows if not p.homogeneous_groups]
    least = min((abico for abico, _ in fit), default=0.0)
    return min((p for abico, p in fit if abico <= least + _SAME), key=lambda p: p.chi_square, default=None)


def clean(value: float | None) -> float | None:
    """Rounding error as 0."""
    return 0.0 if value is not None and abs(value) < 1e-9 else value


def _unreached(rows: Sequence[Point]) -> str:
    reached = {(p.grouping, p.masking) for p in rows}
    absent = [f"{g} with {m}" for g in GROUPERS for m in MASKS if (g, m) not in reached]
    return (
        f"No k up to half the file gets {listed(absent)} to this level; what follows leaves them out." if absent else ""
    )


def _best(rows: Sequence[Point]) -> str:
    found = best(rows)
    if not rows:
        return ""
    if found is None:
        return "Every combination has a group of a single class: none is recommended."
    return (
        f"On this file {found.grouping} with {found.masking} comes first (no group of one class, then least ABICO, "
        f"then lowest X²), at k = {found.k}: linkage {percent(found.linkage)}, X² {number(found.chi_square)}, "
        f"ABISD {percent(clean(found.abisd))}, ABICO {percent(clean(found.abico))}."
    )


def _loss(rows: Sequence[Point]) -> str:
    """What each masking loses over all groupings."""
    said = []
    for masking in MASKS:
        own = [p for p in rows if p.masking == masking]
        if own:
            sd, r = (_range([getattr(p, key) for p in own], percent) for key in ("abisd", "abico"))
            said.append(f"{masking} {sd}, {r}")
    return f"By masking, over all groupings, ABISD and ABICO are: {'; '.join(said)}." if said else ""


def _mixes(rows: Sequence[Point], study: CampCrestStudy) -> str:
    """The class mix of each grouping over all maskings."""
    said = []
    for grouping in GROUPERS:
        own = [p.chi_square for p in rows if p.grouping == grouping]
        if own:
            said.append(f"{grouping} {_range(own, number)}")
    about = f"random groups have about {study.random_chi_square}"
    return f"By grouping, over all maskings, X² ({about}) is: {'; '.join(said)}." if said else ""


def _against(rows: Sequence[Point], other: str, parts: str) -> str:
    """CREST against another grouping, masking by masking, and over `parts` of the file."""
    by_key = {(p.grouping, p.masking): p for p in rows}
    both = [(m, by_key["CREST", m], by_key[other, m]) for m in MASKS if {("CREST", m), (other, m)} <= by_key.keys()]
    if not both:
        return ""
    lower = sum(ours.chi_square < theirs.chi_square for _, ours, theirs in both)
    said = ", ".join(f"{number(ours.chi_square)} against {number(theirs.chi_square)} ({m})" for m, ours, theirs in both)
    return f"X² of CREST is below that of {other} with {lower} of {plural(len(both), 'masking')}: {said}.{parts}"


def _over_parts(study: CampCrestStudy, other: str, level: float) -> str:
    """The same contrast over disjoint parts of the file, with its interval."""
    ours, theirs = study.mixes("CREST", other, level)
    if len(ours) < 2:
        return ""
    found = paired(ours, theirs)
    lower = "CREST" if found.difference < 0 else other
    verdict = f"{lower} has the lower X²" if found.clear else "no clear difference"
    return f" Over disjoint parts of the file (published noise): {found}: {verdict}."


def _homogeneous(rows: Sequence[Point]) -> str:
    most = {p.grouping: 0 for p in rows}
    for p in rows:
        most[p.grouping] = max(most[p.grouping], p.homogeneous_groups)
    some = [f"{grouping} (up to {n})" for grouping, n in most.items() if n]
    free = [grouping for grouping, n in most.items() if not n]
    if not some:
        return "No grouping leaves a group with a single class." if free else ""
    rest = f"; none by {listed(free)}" if free else ""
    return f"Groups with a single class are left by {listed(some)}{rest}."


def _price(rows: Sequence[Point]) -> str:
    """What even mixes and wide groups take away, for the masking that keeps the moments."""
    said = [f"{p.grouping} {percent(p.class_link)}" for p in rows if p.masking == "exact" and p.class_link is not None]
    if not said:
        return ""
    return f"An even mix hides the class from analysts too. Link to the class kept with exact: {', '.join(said)}."


def _range(values: Sequence[float | None], say: Callable[[float | None], str]) -> str:
    known = [value for value in map(clean, values) if value is not None]
    if not known:
        return say(None)
    low, high = say(min(known)), say(max(known))
    return low if low == high else f"{low} to {high}"
