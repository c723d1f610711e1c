"""Which outcomes are worth a look: the front of the map, and the best one within a limit.

An outcome is dominated if another has no more risk and keeps no less, and is better in one of the two. The front
holds all that are not dominated; equal ones stand together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.comparison.outcome import Outcome

__all__ = ["TIE", "best", "front", "measured", "ties"]

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
