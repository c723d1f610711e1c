"""The Poisson log-linear model: how rare is the combination itself, not only its class?

A sample unique among common values is likelier to have doubles in the population than one among rare values. The model
(Skinner and Holmes 1998, Skinner and Shlomo 2008) says so: the cells of the product of all categories, empty ones
included, have means

    f_k ~ Poisson(μ_k),   log μ_k = x_k' β,   μ_k = π λ_k,   F_k − f_k | f_k ~ Poisson(v_k),   v_k = λ_k (1 − π)

with π = n/N, or, where survey weights differ, each class's own f / Σ weights. **Main effects**: μ = n Π_j p_j, the
product of the one-way shares. **Two-way**: all tables of two columns fit exactly (iterative proportional fitting),
where the product has at most two million cells.

Whether a model fits is seen by what it expects: Σ μ e^−μ uniques and Σ μ² e^−μ / 2 pairs, beside those of the sample.
An underfitted model errs either way. People of one class are taken to be drawn with equal probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.equivalence import Classes, Codes
from shoal.record import Record
from shoal.rng import stream

__all__ = ["Fit", "LogLinear", "fit_log_linear"]

_MOST_CELLS = 2_000_000
_MOST_WORK = 60_000_000  # cells times pairs of columns, for a fit of some seconds
_DRAWS = 200_000
_ROUNDS = 30
_TOO_SPARSE = 0.98  # share of unique records beyond which uniques and pairs tell nothing about a model


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Record):
    """How well a model describes the sample.

    Parameters
    ----------
    terms
        ``"main"`` or ``"two-way"``.
    n_unique, n_pairs
        Classes of one and of two persons in the sample.
    expected_unique, expected_pairs
        What the model expects of both.
    fits
        Whether both lie within two standard errors, or a tenth, of what is expected; None where nearly everybody is
        alone, since every model of so many cells expects that, and it speaks for none of them.
    """

    terms: str
    n_unique: int
    n_pairs: int
    expected_unique: float
    expected_pairs: float
    fits: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinear:
    """A fitted model: the sample mean μ of the cell of each class, and its fit."""

    means: FloatArray
    fit: Fit


def fit_log_linear(columns: Sequence[Codes], found: Classes) -> LogLinear:
    """Fit main effects; where they don't fit and it is affordable, all pairs; the better one of the two.

    A model with more terms than it needs takes the sample for the population.

    `columns` are the coded keys by row, `found` their classes. Rows count once each.
    """
    example, sizes = _first_rows(found), found.sizes
    dense = [_shown(column) for column in columns]
    simple = _main_effects(dense, example, sizes)
    cells = math.prod(column.n for column in dense)
    affordable = cells <= _MOST_CELLS and cells * math.comb(len(dense), 2) <= _MOST_WORK
    if simple.fit.fits or len(dense) < 3 or not affordable:
        return simple
    return min((simple, _two_way(dense, example, sizes)), key=lambda model: _misfit(model.fit))


def _first_rows(found: Classes) -> IntArray:
    """The first row of each class."""
    first = np.empty(found.n_classes, dtype=np.int64)
    first[found.labels[::-1]] = np.arange(len(found.labels) - 1, -1, -1)
    return first


def _misfit(fit: Fit) -> float:
    """Distance of the logarithms, with one added so that none is nothing; the simpler model wins a tie."""
    gaps = ((fit.n_unique, fit.expected_unique), (fit.n_pairs, fit.expected_pairs))
    return sum(abs(math.log((seen + 1) / (expected + 1))) for seen, expected in gaps)


def _main_effects(columns: Sequence[Codes], example: IntArray, sizes: IntArray) -> LogLinear:
    n = float(sizes.sum())
    shares = [np.bincount(column.values, minlength=column.n) / len(column.values) for column in columns]
    means = np.full(len(example), n)
    for column, share in zip(columns, shares, strict=True):
        means *= share[column.values[example]]
    return LogLinear(means=means, fit=_fit("main", _every_mean(shares, n), sizes))


def _every_mean(shares: Sequence[FloatArray], n: float) -> tuple[FloatArray, FloatArray]:
    """Means μ of cells and weights w with Σ_cells μ g(μ) = Σ w g(μ): all cells, or cells drawn with probability μ/n."""
    if math.prod(len(share) for share in shares) <= _MOST_CELLS:
        means = np.array([n])
        for share in shares:
            means = np.multiply.outer(means, share).ravel()
        return means, means
    rng = stream(0, "risk", "log-linear")
    means = np.full(_DRAWS, n)
    for share in shares:
        means *= share[rng.choice(len(share), size=_DRAWS, p=share)]
    return means, np.full(_DRAWS, n / _DRAWS)


def _two_way(columns: Sequence[Codes], example: IntArray, sizes: IntArray) -> LogLinear:
    shape = tuple(column.n for column in columns)
    scale = float(sizes.sum()) / len(columns[0].values)
    table = np.full(shape, float(sizes.sum()) / math.prod(shape))
    margins = {pair: _margin(columns, pair) * scale for pair in combinations(range(len(shape)), 2)}
    for _ in range(_ROUNDS):
        moved = 0.0
        for (i, j), margin in margins.items():
            rest = tuple(axis for axis in range(len(shape)) if axis not in (i, j))
            now = table.sum(axis=rest, keepdims=True)
            target = margin.reshape([shape[axis] if axis in (i, j) else 1 for axis in range(len(shape))])
            moved = max(moved, float(np.abs(now - target).max()))
            table *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if moved < 1e-6 * sizes.sum():
            break
    place = tuple(column.values[example] for column in columns)
    cells = table.ravel()
    return LogLinear(means=table[place], fit=_fit("two-way", (cells, cells), sizes))


def _margin(columns: Sequence[Codes], pair: tuple[int, int]) -> FloatArray:
    first, second = columns[pair[0]], columns[pair[1]]
    counts = np.bincount(first.values * second.n + second.values, minlength=first.n * second.n)
    return counts.reshape(first.n, second.n).astype(np.float64)


def _fit(terms: str, means: tuple[FloatArray, FloatArray], sizes: IntArray) -> Fit:
    """Σ μ e^−μ and Σ μ² e^−μ / 2, with Σ μ g(μ) as a weighted sum of g."""
    mu, weight = means
    unique, pairs = float(weight @ np.exp(-mu)), float(weight @ (mu * np.exp(-mu))) / 2
    seen = int((sizes == 1).sum()), int((sizes == 2).sum())
    return Fit(
        terms=terms,
        n_unique=seen[0],
        n_pairs=seen[1],
        expected_unique=unique,
        expected_pairs=pairs,
        fits=_judged(seen, (unique, pairs), float(sizes.sum())),
    )


def _judged(seen: tuple[int, int], expected: tuple[float, float], n: float) -> bool | None:
    near = _near(seen[0], expected[0]) and _near(seen[1], expected[1])
    return None if near and seen[0] > _TOO_SPARSE * n else near


def _near(seen: int, expected: float) -> bool:
    return abs(seen - expected) <= max(2 * math.sqrt(expected), 0.1 * expected, 1.0)


def _shown(column: Codes) -> Codes:
    """The column with the values that occur only."""
    values, place = np.unique(column.values, return_inverse=True)
    return Codes(values=place.reshape(-1).astype(np.int64), n=len(values))
