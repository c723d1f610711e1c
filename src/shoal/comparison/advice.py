"""What to choose, in plain words: the most useful recipe within a risk, what is proved about it, and what to mind.

Selecting by a measured risk among finished releases would weaken a bound that rests on random permutations (see
`shoal.release.risk_target`): so the advice names a recipe, never one of the trial releases.

An outcome is dominated if another has no more risk and keeps no less, and is better in one of the two. The front holds
all that are not dominated; equal ones stand together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shoal.comparison.outcome import Outcome
from shoal.report.numbers import listed, number, percent, plural

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["ANEW", "INSIDE", "TIE", "advice", "best", "front", "kept", "measured", "ties"]

ANEW = (
    "For the release itself, run the recipe again, without a seed. The tables made here must not be published: "
    "choosing one of them by its measured risk favours what happened to withstand these attacks, and a proved bound "
    "needs randomness that nobody selected. The risk of the new release may be slightly above or below the number here."
)
INSIDE = (
    "These numbers compare with the original table: keep them in the secure environment. The guarantees of "
    "differentially private methods do not cover numbers computed from their rows and the original; a table that "
    "never leaves the secure environment spends no budget."
)
_MOST_NAMED = 3
_MANY_COPIES = 0.05


def advice(comparison: Comparison, limit: float) -> list[str]:
    """Paragraphs: the choice, its promise, its rivals, what else to know."""
    done = measured(comparison.outcomes)
    if not done:
        return ["No recipe could be completed, so there is nothing to choose from. Each line says why."]
    chosen = best(done, limit)
    if chosen is None:
        return [_none(done, limit), *_beside(comparison), *_unmeasured(comparison), INSIDE]
    return [
        _choice(chosen, limit),
        *_promise(done, chosen, limit),
        *_beside(comparison),
        *_rivals(done, chosen, limit),
        *_regression(chosen),
        *_guess(comparison, chosen),
        *_copies(chosen),
        *_unmeasured(comparison),
        ANEW,
        INSIDE,
    ]


def kept(share: float) -> str:
    """A share of utility, in percent."""
    return percent(share)


def _choice(chosen: Outcome, limit: float) -> str:
    found = "of the records counted as found" if chosen.is_counted else "of the records found"
    return (
        f"For a re-identification of at most {percent(limit)}, {chosen.name} preserves most: {kept(chosen.utility)} of "
        f"the two-way distributions, with {percent(chosen.risk)} {found}."
    )


def _beside(comparison: Comparison) -> Iterator[str]:
    found, second = comparison.reference.get("found"), comparison.reference.get("second_sample")
    if found is not None and second is not None:
        yield (
            f"For comparison: published unchanged, the table would have {percent(found)} found; another sample of "
            f"the same size would preserve {kept(second)}."
        )


def _none(done: Sequence[Outcome], limit: float) -> str:
    lowest = min(done, key=lambda one: (one.risk, -one.utility))
    return (
        f"None of the {plural(len(done), 'recipe')} measured brings re-identification to {percent(limit)} or less. "
        f"{lowest.name} comes closest, with {percent(lowest.risk)} found and {kept(lowest.utility)} of the two-way "
        "distributions preserved. Raise k, drop or coarsen quasi-identifiers, draw synthetic rows, or have a person "
        "accept "
        "a higher limit."
    )


def _promise(done: Sequence[Outcome], chosen: Outcome, limit: float) -> Iterator[str]:
    if chosen.bound is not None:
        yield (
            f"That is a mean over all records. For every single record it is proved that matching finds it with a "
            f"probability of at most {percent(chosen.bound)}, under the assumptions of its claim."
        )
    elif chosen.is_proved:
        proved = [claim.statement for claim in chosen.claims if claim.basis == "proved"]
        yield f"Proved, under the assumptions of the claim: {' '.join(proved)}"
    else:
        yield f"Nothing is proved about every person: the risk is only measured.{_with_proof(done, limit)}"


def _with_proof(done: Sequence[Outcome], limit: float) -> str:
    other = best([one for one in done if one.is_proved], limit)
    if other is None:
        return ""
    return f" Of the recipes with a proof, {_described(other)} preserves most."


def _rivals(done: Sequence[Outcome], chosen: Outcome, limit: float) -> Iterator[str]:
    near = ties(done, chosen, limit)
    if near:
        named = listed([_described(one) for one in near[:_MOST_NAMED]])
        more = f" and {plural(len(near) - _MOST_NAMED, 'other')}" if len(near) > _MOST_NAMED else ""
        yield f"About as much is preserved by {named}{more}; such a small difference may be reversed in another run."
    others = dict.fromkeys(one.family for one in done if one.family not in (chosen.family, *(t.family for t in near)))
    firsts = [(family, best([one for one in done if one.family == family], limit)) for family in others]
    found = [f"{family}, {_described(one)}" for family, one in firsts if one is not None]
    if found:
        yield f"Best of the other families within the limit: {'; '.join(found)}."


def _regression(chosen: Outcome) -> Iterator[str]:
    after, before = (chosen.utilities.get(name) for name in ("r_squared", "r_squared_original"))
    if after is None or before is None:
        return
    if before <= 0:
        yield (
            "A regression of the first numeric sensitive column on the quasi-identifiers predicts no better than the "
            "mean even if fitted to the original: it says nothing about the recipes."
        )
    else:
        yield (
            "A regression of the first numeric sensitive column on the quasi-identifiers, tested on the people of the "
            f"original, has R² = {number(after)} if fitted to the release and {number(before)} if fitted to the "
            f"original."
        )


def _guess(comparison: Comparison, chosen: Outcome) -> Iterator[str]:
    guessed, table = chosen.risks.get("guessed"), comparison.reference.get("guessed")
    if guessed is None:
        return
    beside = "" if table is None else f" (The unchanged table: {percent(table)}.)"
    yield (
        "Sensitive values can be guessed without finding anyone: the nearest rows correct "
        f"{percent(guessed)} of the errors of a guess without them.{beside} Part of this is statistics that also "
        "hold for people outside the table."
    )


def _copies(chosen: Outcome) -> Iterator[str]:
    copied = chosen.risks.get("copied_uniques") or 0.0
    if copied > _MANY_COPIES and not chosen.is_counted:
        yield (
            f"{percent(copied)} of its rows show a combination of quasi-identifiers that only one person has, "
            "usually assigned to someone else: not that person's row, but evidence that such a person is in the table."
        )


def _unmeasured(comparison: Comparison) -> Iterator[str]:
    missing = sum(not one.is_done for one in comparison.outcomes)
    if missing:
        verb = "was" if missing == 1 else "were"
        yield f"{plural(missing, 'recipe')} of {len(comparison.outcomes)} {verb} not measured; each line says why."


def _described(one: Outcome) -> str:
    return f"{one.name} ({kept(one.utility)} at {percent(one.risk)})"


TIE = 0.005
"""Differences of utility below this are no reason to choose: another run can turn them round."""


def measured(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Those that have both numbers: one that lacks a number can neither beat another nor be beaten."""
    return tuple(one for one in outcomes if one.is_done and not math.isnan(one.risk + one.utility))


def front(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The non-dominated outcomes, from the lowest risk up.

    Cost: one sort. Among those of equal risk only the most useful can stay, and only if nothing of lower risk is as
    useful.
    """
    ranked = sorted(measured(outcomes), key=lambda one: (one.risk, -one.utility))
    kept: list[Outcome] = []
    for one in ranked:
        last = kept[-1] if kept else None
        if last is None or one.utility > last.utility or (one.risk, one.utility) == (last.risk, last.utility):
            kept.append(one)
    return tuple(kept)


def best(outcomes: Sequence[Outcome], limit: float) -> Outcome | None:
    """Of those within the limit, the one that keeps most; among near ties one with a proof, then the lowest risk."""
    within = [one for one in measured(outcomes) if one.risk <= limit]
    if not within:
        return None
    most = max(one.utility for one in within)
    near = [one for one in within if one.utility >= most - TIE]
    return min(near, key=lambda one: (not one.is_proved, one.risk, -one.utility, one.name))


def ties(outcomes: Sequence[Outcome], chosen: Outcome, limit: float) -> tuple[Outcome, ...]:
    """The others within the limit that keep about as much as `chosen`."""
    near = [
        one
        for one in measured(outcomes)
        if one is not chosen and one.risk <= limit and one.utility >= chosen.utility - TIE
    ]
    return tuple(sorted(near, key=lambda one: -one.utility))
