"""The released rows that an intruder would look through: those nearest to a person's true quasi-identifiers.

Equal rows are looked up once, as a point that stands for all of them. For each asked point the rows of the nearest
released points are listed until there are `most` of them, then those that tie with the last, some of them where that is
a crowd. In a coarsened release the intruder, who knows the recoding, looks through the class that the record was
written to, and nowhere else.

Several signs are weighed by a conditional logit. Question q has candidate rows j with signs f_qj; the intruder takes
row j for the right one with probability

    p_qj = exp(β · f_qj) / Σ_j' exp(β · f_qj'),   β ≥ 0.

β maximises the likelihood over persons whose row is known, less half the ridge times |β|² on standardised signs.
Weights learnt together don't count signs twice that say the same, and no sign counts against the row that it points to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import equal_rows
from shoal.pair import Pair
from shoal.risk import all_pairs
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import TOLERANCE, known_codes

__all__ = ["Candidates", "candidates", "chosen", "distinct_questions", "learn", "sure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Pairs (question, released row) sorted by question and distance.

    Parameters
    ----------
    question, row, distance
        One entry for each pair.
    starts
        Where the pairs of each question that has any begin.
    """

    question: IntArray
    row: IntArray
    distance: FloatArray
    starts: IntArray

    @property
    def lengths(self) -> IntArray:
        """Number of rows of each question."""
        return np.diff(np.append(self.starts, len(self.row)))

    @property
    def place(self) -> IntArray:
        """For each pair, the number of its question among those that have rows."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def nearest(self) -> BoolArray:
        """Whether a row is nearest to its question, or ties with the nearest."""
        first = self.distance[self.starts][self.place]
        return self.distance <= first * (1 + TOLERANCE)

    def nearer(self) -> IntArray:
        """Number of rows that are nearer to the question than this one."""
        step = np.diff(self.distance, prepend=-1.0) > TOLERANCE * self.distance
        step[self.starts] = True
        at = np.arange(len(self.row))
        return np.maximum.accumulate(np.where(step, at, 0)) - self.starts[self.place]


def distinct_questions(pair: Pair, targets: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct questions among `targets`: one record that asks each, and the question of each target."""
    codes = pair.original_codes[targets]
    if pair.cells is not None:
        codes = np.column_stack((codes, pair.cells[0][targets]))
    _, numbers, _ = equal_rows(codes[:0], codes)
    _, first, question = np.unique(numbers, return_index=True, return_inverse=True)
    return targets[first], question.reshape(-1)


def candidates(pair: Pair, asking: IntArray, most: int) -> Candidates:
    """The rows that an intruder looks through for each of the original records `asking`."""
    return _of_class(pair, asking) if pair.cells is not None else _near(pair, asking, most)


def _of_class(pair: Pair, asking: IntArray) -> Candidates:
    assert pair.cells is not None
    own, written = pair.cells
    members, starts = _by_number(written, int(written.max()) + 1)
    known = np.flatnonzero(own[asking] >= 0)
    which, row = _listed(own[asking[known]], members, starts)
    return _sorted(known[which], row, np.zeros(len(row)))


def _near(pair: Pair, asking: IntArray, most: int) -> Candidates:
    codes = known_codes(pair)
    _, point, n = equal_rows(codes[:0], codes)
    members, starts = _by_number(point, n)
    question, found, distance = _nearest_points(
        Geometry.standardised(pair.encoder),
        pair.original_codes[asking],
        codes[members[starts[:-1]]],
        np.diff(starts),
        most,
    )
    which, row = _listed(found, members, starts)
    return _sorted(question[which], row, distance[which])


def _sorted(question: IntArray, row: IntArray, distance: FloatArray) -> Candidates:
    starts = np.flatnonzero(np.diff(question, prepend=-1))
    return Candidates(question=question, row=row, distance=distance, starts=starts)


def _by_number(numbers: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The rows of each number from 0 to n − 1, one after another, and where each begins (with the end)."""
    return np.argsort(numbers, kind="stable"), np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=n))))


def _listed(numbers: IntArray, members: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Every row of every number asked: the position in `numbers`, and the row."""
    lengths = starts[numbers + 1] - starts[numbers]
    which = np.repeat(np.arange(len(numbers)), lengths)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return which, members[starts[numbers[which]] + offset]


def _nearest_points(
    geometry: Geometry, asked: FloatArray, codes: FloatArray, counts: IntArray, most: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Points of each query, nearest first, until they hold `most` rows; and those that tie with the last.

    Where so many tie with the last that there would be more than twice `most`, some of these stand for all, unless they
    are nearest.
    """
    n_listed = min(most, len(codes))
    squared, found = _nearest_few(geometry, asked, codes, n_listed)
    distance = np.sqrt(squared)
    held = np.cumsum(counts[found], axis=1)
    last = np.minimum((held < most).sum(axis=1), n_listed - 1)
    end = distance[np.arange(len(asked)), last][:, None]
    kept = distance <= end * (1 + TOLERANCE)
    before = distance < end * (1 - TOLERANCE)
    crowded = (counts[found] * kept).sum(axis=1) > 2 * most
    some = before | (kept & (held <= most))
    kept = np.where((crowded & before.any(axis=1))[:, None], some, kept)
    question, place = np.nonzero(kept)
    return question, found[question, place], distance[question, place]


def _nearest_few(geometry: Geometry, asked: FloatArray, codes: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    if all_pairs.is_small(len(asked), len(codes)):
        return all_pairs.nearest_few(geometry, codes, asked, k)
    from shoal.risk.mixed_tree import build, nearest_few

    g = geometry
    tree = build(g.coordinates(codes), g.unordered, g.mismatch, g.blank, g.n_levels)
    return nearest_few(tree, g.coordinates(asked), k)


_RIDGE = 1.0
_STEPS = 30
_ENOUGH = 1e-4
_MOST_QUESTIONS = 600
_LEAST_QUESTIONS = 60
_MOST_TEACHING = 60_000  # candidates
_EQUAL = 1e-9


def learn(signs: FloatArray, starts: IntArray, right: FloatArray) -> FloatArray:
    """β for `signs` of candidates listed question by question, `right` counting the persons whose row each is.

    Of more than 600 questions with a right row, or of questions with more than 60,000 candidates in all, every second,
    third, … one teaches: that is plenty for a few weights.
    """
    scale = signs.std(axis=0)
    scale[scale <= _EQUAL * np.abs(signs).max(axis=0, initial=0.0)] = 1.0  # a constant's deviation may be a rounding
    taught = np.flatnonzero(np.add.reduceat(right, starts) > 0)
    if len(taught) == 0:
        return np.zeros(signs.shape[1])
    lengths = _lengths(starts, len(right))
    crowd = min(int(lengths[taught].sum()) // _MOST_TEACHING, len(taught) // _LEAST_QUESTIONS)
    taught = taught[:: max(-(-len(taught) // _MOST_QUESTIONS), crowd, 1)]
    used = np.isin(np.repeat(np.arange(len(starts)), lengths), taught)
    begins = np.concatenate(([0], np.cumsum(lengths[taught])[:-1]))
    beta: FloatArray = _climb(signs[used] / scale, begins, right[used]) / scale
    return beta


def _climb(signs: FloatArray, starts: IntArray, right: FloatArray) -> FloatArray:
    """Newton's method within β ≥ 0, each step halved until it gains."""
    beta = np.full(signs.shape[1], 0.1)
    value = _loss(beta, signs, starts, right)
    for _ in range(_STEPS):
        gradient, curvature = _slopes(beta, signs, starts, right)
        free = (beta > 0) | (gradient < 0)
        step = np.zeros(len(beta))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        tried = (np.maximum(0.0, beta - step / 2**halved) for halved in range(8))
        losses = ((_loss(b, signs, starts, right), b) for b in tried)
        found = next(((loss, b) for loss, b in losses if loss < value), None)
        if found is None:
            break
        gain, (value, beta) = value - found[0], found
        if gain < _ENOUGH:
            break
    return beta


def _loss(beta: FloatArray, signs: FloatArray, starts: IntArray, right: FloatArray) -> float:
    """Negative penalised log-likelihood."""
    return float(_RIDGE * beta @ beta / 2 - right @ _log_shares(signs @ beta, starts))


def _slopes(beta: FloatArray, signs: FloatArray, starts: IntArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and second derivatives of `_loss`."""
    shares = np.exp(_log_shares(signs @ beta, starts))[:, None] * signs
    persons = np.add.reduceat(right, starts)
    means = np.add.reduceat(shares, starts)
    weighed = np.repeat(persons, _lengths(starts, len(right)))[:, None] * shares
    gradient = _RIDGE * beta + weighed.sum(axis=0) - right @ signs
    curvature = _RIDGE * np.eye(len(beta)) + signs.T @ weighed - means.T @ (persons[:, None] * means)
    return gradient, curvature


def chosen(scores: FloatArray, starts: IntArray) -> FloatArray:
    """The probability that the intruder picks each row: 1/(tied rows) for those of the best score, else 0."""
    lengths = _lengths(starts, len(scores))
    best = np.repeat(np.maximum.reduceat(scores, starts), lengths)
    top = (scores >= best - _EQUAL * np.maximum(1.0, np.abs(best))).astype(np.float64)
    shares: FloatArray = top / np.repeat(np.add.reduceat(top, starts), lengths)
    return shares


def sure(scores: FloatArray, starts: IntArray) -> FloatArray:
    """How sure the intruder is of each question's best row."""
    best: FloatArray = np.maximum.reduceat(np.exp(_log_shares(scores, starts)), starts)
    return best


def _log_shares(scores: FloatArray, starts: IntArray) -> FloatArray:
    lengths = _lengths(starts, len(scores))
    below = scores - np.repeat(np.maximum.reduceat(scores, starts), lengths)
    totals: FloatArray = np.log(np.add.reduceat(np.exp(below), starts))
    shares: FloatArray = below - np.repeat(totals, lengths)
    return shares


def _lengths(starts: IntArray, n: int) -> IntArray:
    return np.diff(np.append(starts, n))
