"""Events of an audit: sets of outputs that one data set may produce much more often than the other.

The best event for a bound on ε is a set where the likelihood ratio is high (Neyman and Pearson). An event here is a
threshold on a score of the output. Scores are learnt from a first part of the runs, thresholds are compared on a
second part that the scores have not seen (a ratio estimated from few runs flatters itself), and the winner is frozen
before the part that gives the bound is looked at. A wrong choice costs power, never validity. The scores:

- the output itself, where it is a number;
- for rows of numbers, the linear score that tells the two sides apart, and the sum of the columns' own log likelihood
  ratios (the right score where the columns have independent noise);
- the estimated likelihood ratio of the output as a whole, (hits + 1) / (neighbour's hits + 1); 1 for outputs unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Event", "Sides", "best_event", "lower_bounds"]

Score: TypeAlias = Callable[[AnyArray], FloatArray]
Sides: TypeAlias = tuple[AnyArray, AnyArray]
_MOST = 400  # thresholds tried on one score; more would hardly find better ones
_DOUBT = 20  # the best of many thresholds was also lucky: comparing at a smaller alpha prefers events with many hits


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """That the score is at least the threshold, and whether this is likelier on the data (forward) or the neighbour."""

    name: str
    score: Score
    threshold: float
    forward: bool

    def holds(self, outputs: AnyArray) -> BoolArray:
        """Whether each output falls into the event."""
        return self.score(outputs) >= self.threshold

    def hits(self, sides: Sides) -> tuple[int, int]:
        """Outputs that fall into it on the side where it is expected, and on the other."""
        first, second = sides if self.forward else sides[::-1]
        return int(self.holds(first).sum()), int(self.holds(second).sum())

    def __str__(self) -> str:
        return f"{self.name} is at least {self.threshold:.6g}"


def best_event(learn: Sides, compare: Sides, alpha: float, delta: float) -> Event:
    """The event with the highest bound on the runs `compare`, among those whose scores `learn` suggests."""
    found = [_best_threshold(name, score, compare, alpha / _DOUBT, delta) for name, score in _scores(learn)]
    return max(found, key=lambda pair: pair[0])[1]


def lower_bounds(hits: IntArray, misses: IntArray, runs: int, alpha: float, delta: float) -> FloatArray:
    """log((p − δ) / q) with p as low and q as high as Clopper and Pearson allow, each at alpha / 2; at least 0."""
    from scipy.special import betaincinv

    p = np.where(hits > 0, betaincinv(np.maximum(hits, 1), runs - hits + 1, alpha / 2), 0.0)
    q = np.where(misses < runs, betaincinv(misses + 1, np.maximum(runs - misses, 1), 1 - alpha / 2), 1.0)
    return np.asarray(np.log(np.maximum(p - delta, q) / q), dtype=np.float64)


def _best_threshold(name: str, score: Score, sides: Sides, alpha: float, delta: float) -> tuple[float, Event]:
    ours, theirs = (np.sort(score(side)) for side in sides)
    cuts = _cuts(np.concatenate([ours, theirs]))
    hits, misses = (len(side) - np.searchsorted(side, cuts) for side in (ours, theirs))
    bounds = np.stack(
        [lower_bounds(hits, misses, len(ours), alpha, delta), lower_bounds(misses, hits, len(ours), alpha, delta)]
    )
    side, cut = np.unravel_index(np.argmax(bounds), bounds.shape)
    event = Event(name=name, score=score, threshold=float(cuts[cut]), forward=bool(side == 0))
    return float(bounds[side, cut]), event


def _cuts(values: FloatArray) -> FloatArray:
    distinct = np.unique(values)
    if len(distinct) <= _MOST:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0, 1, _MOST), method="lower"))


def _scores(learn: Sides) -> Iterator[tuple[str, Score]]:
    """Every score with its mirror image, so that "at most" is tried as well."""
    for name, score in _upward_scores(learn):
        yield name, score
        yield f"minus {name}", _mirrored(score)


def _upward_scores(learn: Sides) -> Iterator[tuple[str, Score]]:
    if _numeric(learn[0]) and learn[0].ndim == 1:
        yield "the output", _number
    elif _numeric(learn[0]):
        yield "the linear score", _linear(*learn)
        yield "the columns' log likelihood ratio", _by_column(*learn)
    yield "the log likelihood ratio", _log_ratio(*learn)


def _mirrored(score: Score) -> Score:
    return lambda outputs: -score(outputs)


def _numeric(outputs: AnyArray) -> bool:
    return outputs.dtype.kind in "biuf"


def _number(outputs: AnyArray) -> FloatArray:
    return np.nan_to_num(outputs.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _linear(ours: AnyArray, theirs: AnyArray) -> Score:
    """Mean difference over variance, column by column: the best direction for independent noise."""
    left, right = _finite(ours), _finite(theirs)
    spread, gap = np.concatenate([left, right]).var(axis=0), left.mean(axis=0) - right.mean(axis=0)
    weights = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    return lambda outputs: _finite(outputs) @ weights


def _finite(outputs: AnyArray) -> FloatArray:
    return np.clip(_number(outputs), -1e100, 1e100)


def _by_column(ours: AnyArray, theirs: AnyArray) -> Score:
    parts = [_log_ratio(one, other) for one, other in zip(ours.T, theirs.T, strict=True)]
    return lambda outputs: np.sum([part(column) for part, column in zip(parts, outputs.T, strict=True)], axis=0)


def _log_ratio(ours: AnyArray, theirs: AnyArray) -> Score:
    keys = _keys(np.concatenate([ours, theirs]))
    distinct, place = np.unique(keys, return_inverse=True)
    left = np.bincount(place[: len(ours)], minlength=len(distinct))
    right = np.bincount(place[len(ours) :], minlength=len(distinct))
    ratios = np.log((left + 1) / (right + 1))

    def score(outputs: AnyArray) -> FloatArray:
        wanted = _keys(outputs)
        spot = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
        return np.where(distinct[spot] == wanted, ratios[spot], 0.0)

    return score


def _keys(outputs: AnyArray) -> AnyArray:
    """One comparable key an output: a row of numbers becomes the text of its bytes."""
    if outputs.ndim == 1:
        return outputs
    return np.array([row.tobytes().hex() for row in np.ascontiguousarray(outputs)])
