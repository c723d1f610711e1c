"""How an intruder weighs several signs when choosing among candidate rows: a conditional logit.

Question q has candidate rows j with signs f_qj; the intruder takes row j for the right one with probability

    p_qj = exp(β · f_qj) / Σ_j' exp(β · f_qj'),   β ≥ 0.

β maximises the likelihood over persons whose row is known, less half the ridge times |β|² on standardised signs.
Weights learnt together don't count signs twice that say the same, and no sign counts against the row that it points to.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["chosen", "learn", "sure"]

_RIDGE = 1.0
_STEPS = 30
_ENOUGH = 1e-4
_MOST_QUESTIONS = 600
_EQUAL = 1e-9


def learn(signs: FloatArray, starts: IntArray, right: FloatArray) -> FloatArray:
    """β for `signs` of candidates listed question by question, `right` counting the persons whose row each is.

    Of more than 600 questions with a right row every second, third, … one teaches: that is plenty for a few weights.
    """
    scale = signs.std(axis=0)
    scale[scale == 0] = 1.0
    taught = np.flatnonzero(np.add.reduceat(right, starts) > 0)
    if len(taught) == 0:
        return np.zeros(signs.shape[1])
    taught = taught[:: -(-len(taught) // _MOST_QUESTIONS)]
    lengths = _lengths(starts, len(right))
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
