"""How much of an attack's success is owed to people having been in the data?

An attack that works on everybody alike learns the population, not the persons. So the same attack is tried on a control
group that had no part in the release (Giomi et al. 2023). With success rates m on members and c on the control,

    risk = (m − c) / (1 − c),
    error² = (e_m / (1 − c))² + (e_c (1 − m) / (1 − c)²)²,

e the half-widths of Wilson's intervals. The value is that of the raw shares; the interval is centred on Wilson's, and
cut to 0..1. Where an attack does no better than random guessing it is too weak to measure anything: that is no
evidence, not no risk. One risk for each attack; they are never averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shoal.record import Interval, Record
from shoal.risk.uncertainty import wilson

__all__ = ["AttackRisk", "Tally", "Verdict", "judged", "residual", "wilson_centre"]

Verdict = Literal["leak", "none seen", "too weak", "undefined"]
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Successes among tries."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        """The share of successes; 0 without a try."""
        return self.hits / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRisk(Record):
    """One attack, held against people who were not in the data.

    Parameters
    ----------
    attack
        What was tried.
    n_attacks, rate, rate_interval
        Tries on members, the share that succeeded, and its 95 % interval.
    n_control, control_rate
        Tries on the control group and the share that succeeded; None without a control group.
    baseline_rate
        What random guessing reaches.
    risk, interval
        By how much the attack is better on members, (m − c) / (1 − c), at least 0, with its 95 % interval. Without a
        control group c is the baseline: then it says what the release teaches of anybody, not what it leaks.
    raw
        The same before it is cut at 0.
    verdict
        ``"leak"`` (the interval lies above 0), ``"none seen"``, ``"too weak"`` (no better than guessing) or
        ``"undefined"`` (the control group always succeeds, or nothing could be tried).
    """

    attack: str
    n_attacks: int
    rate: float
    rate_interval: Interval
    n_control: int | None
    control_rate: float | None
    baseline_rate: float
    risk: float
    interval: Interval
    raw: float
    verdict: Verdict

    def __float__(self) -> float:
        return self.risk


def judged(attack: str, members: Tally, control: Tally | None, baseline: Tally) -> AttackRisk:
    """Hold an attack on members against the control group, or against guessing where there is none."""
    against = baseline if control is None else control
    raw, interval = residual(members, against)
    return AttackRisk(
        attack=attack,
        n_attacks=members.n,
        rate=members.share,
        rate_interval=wilson(members.share, members.n),
        n_control=None if control is None else control.n,
        control_rate=None if control is None else control.share,
        baseline_rate=baseline.share,
        risk=min(1.0, max(0.0, raw)),
        interval=interval,
        raw=raw,
        verdict=_verdict(members, against, baseline, interval),
    )


def residual(members: Tally, against: Tally) -> tuple[float, Interval]:
    """(m − c) / (1 − c) of the raw shares, and its interval around Wilson's centres; (0, (0, 1)) where c is 1."""
    if members.n == 0 or against.n == 0 or against.hits == against.n:
        return 0.0, (0.0, 1.0)
    m, e_m = wilson_centre(members.hits, members.n)
    c, e_c = wilson_centre(against.hits, against.n)
    centre = (m - c) / (1 - c)
    error = math.hypot(e_m / (1 - c), e_c * (1 - m) / (1 - c) ** 2)
    raw = (members.share - against.share) / (1 - against.share)
    return raw, (min(1.0, max(0.0, centre - error)), min(1.0, max(0.0, centre + error)))


def wilson_centre(hits: int, n: int) -> tuple[float, float]:
    """Centre and half-width of Wilson's 95 % interval."""
    centre = (hits + _Z**2 / 2) / (n + _Z**2)
    return centre, _Z / (n + _Z**2) * math.sqrt(hits * (n - hits) / n + _Z**2 / 4)


def _verdict(members: Tally, against: Tally, baseline: Tally, interval: Interval) -> Verdict:
    if members.n == 0 or against.n == 0 or against.hits == against.n:
        return "undefined"
    if interval[0] > 0:
        return "leak"
    return "too weak" if members.share <= baseline.share else "none seen"
