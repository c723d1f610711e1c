"""Audits: run a mechanism on two neighbouring data sets and see how well its outputs tell them apart.

If a mechanism is (ε, δ)-differentially private then P(output in S | D) ≤ e^ε P(output in S | D′) + δ for every set S of
outputs. So with p and q the two probabilities of any one event,

    ε ≥ log((p − δ) / q).

The runs are cut in two halves at random. The first half chooses the event, and which of the two data sets comes first
(see below); the second half, which had no say in it, gives Clopper-Pearson limits for p (from below) and q
(from above), each at half of 1 − confidence. Hence the promise: for a mechanism that keeps its ε, the bound exceeds ε
with a probability of at most 1 − confidence, whatever the event. The reverse does not hold: a low bound proves nothing,
as another pair of data sets, another event or more runs may find more. An audit can refute a claim, never prove one.

Events of an audit: sets of outputs that one data set may produce much more often than the other.

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

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shoal.dp.budget import Budget
from shoal.errors import ParameterError
from shoal.rng import fresh_seed, stream

__all__ = ["Audit", "Event", "Sides", "audit", "best_event", "lower_bounds"]

Score: TypeAlias = Callable[[AnyArray], FloatArray]
Sides: TypeAlias = tuple[AnyArray, AnyArray]
_MOST = 400  # thresholds tried on one score; more would hardly find better ones
_DOUBT = 20  # the best of many thresholds was also lucky: comparing at a smaller alpha prefers events with many hits


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Parameters
    ----------
    epsilon
        Lower bound on the mechanism's true ε at `delta`; holds with probability `confidence`.
    delta
        The δ that the mechanism was granted.
    confidence
        Probability that the bound is not above the true ε.
    trials
        Runs on each of the two data sets, both halves together.
    runs
        Runs on each data set in the half that gave the bound.
    hits, hits_neighbour
        How many of them fell into the event, on the data set named first by `direction` and on the other one.
    event
        The event in words.
    direction
        ``"data"`` where the event is likelier on the data, ``"neighbour"`` where it is on the neighbour.

    Examples
    --------
    >>> from shoal.dp import Audit, Budget
    >>> found = Audit(epsilon=1.7, delta=0.0, confidence=0.95, trials=4000, runs=2000, hits=1500, hits_neighbour=210,
    ...               event="the output is at least 2", direction="data")
    >>> print(found)
    ε ≥ 1.7 (0.95 confidence, 4000 runs a side)
    >>> found.refutes(Budget(epsilon=1.0))
    True
    """

    releasable: ClassVar[bool] = False  # the event may quote outputs of a mechanism that turns out to be broken

    epsilon: float
    delta: float
    confidence: float
    trials: int
    runs: int
    hits: int
    hits_neighbour: int
    event: str
    direction: str

    def refutes(self, claim: Budget) -> bool:
        """Whether the bound is above what `claim` allows, so that the claim is wrong (at the audit's confidence)."""
        if claim.definition == "zcdp":
            return self.epsilon > claim.to_approximate(self.delta).epsilon
        if claim.delta > self.delta:
            rule = "delta must be at least the claim's delta"
            raise ParameterError("Audit", rule, got=f"{self.delta:g} against {claim.delta:g}")
        return self.epsilon > claim.epsilon

    def __str__(self) -> str:
        tail = f" at δ = {self.delta:g}" if self.delta else ""
        return f"ε ≥ {self.epsilon:.4g}{tail} ({self.confidence:.3g} confidence, {self.trials} runs a side)"

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return {name: getattr(self, name) for name in self.__slots__}


def audit(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    event: Callable[[Any], Any] | None = None,
    trials: int = 100_000,
    delta: float = 0.0,
    confidence: float = 0.95,
    vectorised: bool = False,
    seed: int | None = None,
) -> Audit:
    """Give a lower bound on a mechanism's ε from its outputs on `data` and on `neighbour`.

    Parameters
    ----------
    mechanism
        ``mechanism(data)`` gives one fresh output; with `vectorised`, ``mechanism(data, n)`` gives an array of n
        independent outputs along its first axis. Exceptions pass through: catch them inside, as an output of their own.
    data, neighbour
        Two data sets that differ by one person, in the sense of the claim. Choose them as an adversary would.
    event
        Reduces an output to a number or a truth value; the audit then looks for the best threshold on it. With
        `vectorised` it takes the array of outputs. Without it outputs must be numbers, rows of numbers, or hashable.
    trials
        Runs on each data set. More runs bring the bound closer to ε: 100,000 come within some 4% of ε = 1.
    delta
        The δ of the claim under test.
    confidence
        Probability that the bound is no larger than the true ε.
    vectorised
        Whether the mechanism takes a number of runs.
    seed
        Repeats the cut in halves. The mechanism's own noise is not touched.

    Returns
    -------
    Audit

    Notes
    -----
    Cost: 2 · trials runs, and a sort. The bound never exceeds about log(trials), however broken the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import audit, noise
    >>> def noisy_count(records, n):
    ...     return noise.discrete_laplace(np.full(n, len(records)), scale=0.5)
    >>> found = audit(noisy_count, [41, 67], [41, 67, 12], trials=4000, vectorised=True, seed=1)
    >>> bool(1 < found.epsilon < 2.5)
    True
    """
    _check(trials, delta, confidence)
    sides = _alike(*(_outputs(mechanism, side, trials, event, vectorised) for side in (data, neighbour)))
    learn, compare, test = _parts(sides, fresh_seed() if seed is None else seed)
    alpha, runs = 1 - confidence, len(test[0])
    chosen = best_event(learn, compare, alpha, delta)
    hits, misses = chosen.hits(test)
    return Audit(
        epsilon=float(lower_bounds(np.array([hits]), np.array([misses]), runs, alpha, delta)[0]),
        delta=float(delta),
        confidence=float(confidence),
        trials=int(trials),
        runs=runs,
        hits=hits,
        hits_neighbour=misses,
        event=str(chosen),
        direction="data" if chosen.forward else "neighbour",
    )


def _check(trials: int, delta: float, confidence: float) -> None:
    if not isinstance(trials, int | np.integer) or isinstance(trials, bool) or trials < 4:
        raise ParameterError("audit", "trials must be a whole number of at least 4", got=repr(trials)[:60])
    if not 0 <= delta < 1:
        raise ParameterError("audit", "delta must be at least 0 and less than 1", got=repr(delta)[:60])
    if not 0 < confidence < 1:
        raise ParameterError("audit", "confidence must be greater than 0 and less than 1", got=repr(confidence)[:60])


def _outputs(mechanism: Callable[..., Any], data: Any, n: int, event: Any, vectorised: bool) -> AnyArray:
    if vectorised:
        outputs = np.asarray(mechanism(data, n))
        outputs = outputs if event is None else np.asarray(event(outputs))
    else:
        outputs = _stacked([mechanism(data) if event is None else event(mechanism(data)) for _ in range(n)])
    if outputs.ndim == 0 or len(outputs) != n or outputs.size == 0:
        raise ParameterError("audit", "mechanism and event must give one output per run")
    return outputs if outputs.ndim <= 2 else outputs.reshape(n, -1)


def _stacked(outputs: list[Any]) -> AnyArray:
    """Single outputs as one array; anything but numbers and equal rows of numbers becomes an array of objects."""
    try:
        array = np.array(outputs)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.ndim in (1, 2) and len(array) == len(outputs):
        return array
    return np.fromiter(map(_hashable, outputs), dtype=object, count=len(outputs))


def _hashable(output: Any) -> Hashable:
    plain = output.tolist() if isinstance(output, np.ndarray) else output
    plain = tuple(map(_hashable, plain)) if isinstance(plain, list) else plain
    try:
        hash(plain)
    except TypeError:
        hint = "Give an event that makes a number of an output."
        rule = "outputs must be numbers or hashable"
        raise ParameterError("audit", rule, got=type(output).__name__, hint=hint) from None
    return plain


def _alike(ours: AnyArray, theirs: AnyArray) -> Sides:
    """Both sides in one form: numbers stay numbers, other things become names (equal for equal ones)."""
    if _numbers(ours) and _numbers(theirs) and ours.shape == theirs.shape:
        kind = np.result_type(ours, theirs)
        return ours.astype(kind), theirs.astype(kind)
    known: dict[Hashable, int] = {}
    return _numbered(ours, known), _numbered(theirs, known)


def _numbers(outputs: AnyArray) -> bool:
    return outputs.dtype.kind in "biuf"


def _numbered(outputs: AnyArray, known: dict[Hashable, int]) -> AnyArray:
    numbers = [known.setdefault(_hashable(output), len(known)) for output in outputs]
    return np.array(numbers, dtype=np.int64).astype(np.str_)  # names, not numbers: their order means nothing


def _parts(sides: Sides, seed: int) -> tuple[Sides, Sides, Sides]:
    """A quarter to learn scores, a quarter to compare events, and half for the bound; each run in one of them."""
    ours, theirs = (
        side[stream(seed, "audit", name).permutation(len(side))]
        for side, name in zip(sides, ("data", "neighbour"), strict=True)
    )
    one, two = len(ours) // 4, len(ours) // 2
    return (ours[:one], theirs[:one]), (ours[one:two], theirs[one:two]), (ours[two:], theirs[two:])


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
        keys = _keys(outputs)
        spot = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
        return np.where(distinct[spot] == keys, ratios[spot], 0.0)

    return score


def _keys(outputs: AnyArray) -> AnyArray:
    """One comparable key an output: a row of numbers becomes the text of its bytes."""
    if outputs.ndim == 1:
        return outputs
    return np.array([row.tobytes().hex() for row in np.ascontiguousarray(outputs)])
