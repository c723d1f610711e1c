"""The measures of section 3.3 on tables of cells, with the paper's slips mended.

Distances of margins and conditionals are averages over cells of squared and absolute differences. Rank correlations are
Kendall's tau-b and Spearman's rho with mid-ranks (as printed, one has the wrong sign and the other the wrong centre).
The distance of regression coefficients divides by coefficients and explodes near 0, so the mean distance in standard
errors of the original stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.logistic import Matrix, newton_logit, sigmoid

__all__ = [
    "Regression",
    "conditional_gaps",
    "intruder",
    "marginal_gaps",
    "pair_variation",
    "rank_ties",
    "regressions",
]

AGE, STAY, CHARGE, SEVERITY, KIND, CATEGORY, SEX, ZIP = (
    "age_yrs", "los", "charge", "sev", "cat", "mdc", "sex", "patzip",
)  # fmt: skip
_RIDGE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """Coefficients and standard errors: intercept, age, severity, surgical, stay."""

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]


def shares(codes: IntArray, size: int) -> FloatArray:
    """Share of every cell."""
    return np.bincount(codes, minlength=size) / max(1, len(codes))


def marginal_gaps(X: IntArray, Y: IntArray, sizes: Sequence[int]) -> tuple[float, float]:
    """Mean squared and mean absolute difference of the margins, averaged over columns."""
    gaps = [shares(Y[:, j], size) - shares(X[:, j], size) for j, size in enumerate(sizes)]
    return float(np.mean([np.mean(g**2) for g in gaps])), float(np.mean([np.mean(np.abs(g)) for g in gaps]))


def conditional_gaps(X: IntArray, Y: IntArray, sizes: Sequence[int], given: int) -> tuple[float, float]:
    """The same for the distributions given column `given`; cells that no synthetic row has are compared as uniform."""
    squared, absolute = [], []
    for j, size in enumerate(sizes):
        if j == given:
            continue
        gap = _conditional(Y, sizes, j, given) - _conditional(X, sizes, j, given)
        held = np.bincount(X[:, given], minlength=sizes[given]) > 0
        squared.append(float(np.mean(gap[held] ** 2)))
        absolute.append(float(np.mean(np.abs(gap[held]))))
        assert gap.shape == (sizes[given], size)
    return float(np.mean(squared)), float(np.mean(absolute))


def _conditional(X: IntArray, sizes: Sequence[int], j: int, given: int) -> FloatArray:
    table = np.bincount(X[:, given] * sizes[j] + X[:, j], minlength=sizes[given] * sizes[j])
    table = table.reshape(sizes[given], sizes[j]).astype(np.float64)
    total = table.sum(axis=1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1), 1 / sizes[j])


def rank_ties(X: IntArray, Y: IntArray, sizes: Sequence[int], given: int | None = None) -> tuple[float, float]:
    """Mean tau-b and Spearman's rho between the frequency orders, over margins or over conditionals given a column."""
    taus: list[float] = []
    rhos: list[float] = []
    for j, size in enumerate(sizes):
        if size < 3 or j == given:
            continue
        p, q = (shares(Z[:, j], size)[None] if given is None else _conditional(Z, sizes, j, given) for Z in (X, Y))
        tau, rho = _ties(p, q)
        taus.extend(tau)
        rhos.extend(rho)
    return float(np.mean(taus)), float(np.mean(rhos))


def _ties(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tau-b and rho of each row of p with that of q, by the signs of all differences: their sums are centred ranks."""
    a, b = (np.sign(rows[:, :, None] - rows[:, None, :]) for rows in (p, q))
    return _cosine(a.reshape(len(a), -1), b.reshape(len(b), -1)), _cosine(a.sum(axis=2), b.sum(axis=2))


def _cosine(a: FloatArray, b: FloatArray) -> FloatArray:
    below = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.where(below > 0, (a * b).sum(axis=1) / np.maximum(below, 1e-300), 0.0)


def pair_variation(X: IntArray, Y: IntArray, sizes: Sequence[int]) -> float:
    """Mean total variation over all two-way margins."""
    out = []
    for i in range(len(sizes)):
        for j in range(i):
            k = sizes[i] * sizes[j]
            p, q = (np.bincount(Z[:, i] * sizes[j] + Z[:, j], minlength=k) / len(Z) for Z in (X, Y))
            out.append(np.abs(p - q).sum() / 2)
    return float(np.mean(out))


def regressions(rows: pl.DataFrame) -> tuple[Regression, Regression]:
    """The logistic model of a charge above 25 thousand, and the linear model of the charge."""
    known = rows.filter(pl.col(AGE) >= 0, pl.col(STAY) >= 0)
    columns = [known[AGE], known[SEVERITY], (known[KIND] == "surgical").cast(pl.Int64), known[STAY]]
    X = np.column_stack([np.ones(known.height), *(column.to_numpy() for column in columns)]).astype(np.float64)
    charge = known[CHARGE].to_numpy().astype(np.float64)
    return _logistic(X, (charge > 25).astype(np.float64)), _linear(X, charge)


def _linear(X: FloatArray, y: FloatArray) -> Regression:
    inverse = np.linalg.pinv(X.T @ X)
    beta = inverse @ X.T @ y
    variance = ((y - X @ beta) ** 2).sum() / max(1, len(y) - X.shape[1])
    return _made(beta, np.sqrt(variance * np.maximum(np.diag(inverse), 0.0)))


def _logistic(X: FloatArray, y: FloatArray) -> Regression:
    """Newton's method with a trace of ridge, so that separated data have an answer too."""
    design = Matrix(X)
    beta = newton_logit(design, y, ridge=_RIDGE).coefficients
    p = sigmoid(design.dot(beta))
    curvature = design.gram(p * (1 - p)) + _RIDGE * np.eye(design.width)
    return _made(beta, np.sqrt(np.diag(np.linalg.inv(curvature))))


def _made(beta: FloatArray, errors: FloatArray) -> Regression:
    return Regression(coefficients=tuple(map(float, beta)), errors=tuple(map(float, errors)))


def regression_distance(original: Regression, synthetic: Regression) -> tuple[float, float]:
    """Σ |Δβ/β| as printed, and the mean |Δβ| in standard errors of the original."""
    a, b = np.array(original.coefficients), np.array(synthetic.coefficients)
    return float(np.abs((b - a) / a).sum()), float(np.mean(np.abs(b - a) / np.array(original.errors)))


def intruder(original: pl.DataFrame, synthetic: pl.DataFrame) -> tuple[float, float, float]:
    """Share of wrong guesses of the category, mean error of the charge guessed, share of unique rows.

    The intruder knows age, sex and ZIP (category) or age, stay and ZIP (charge) of people in the original, and
    guesses the most frequent category, or the mean charge, among synthetic rows that agree; without any, those of all
    synthetic rows.
    """
    keys = [AGE, SEX, ZIP]
    modes = synthetic.group_by([*keys, CATEGORY]).len().sort(["len", CATEGORY], descending=[True, False])
    modes = modes.group_by(keys, maintain_order=True).first().select(*keys, pl.col(CATEGORY).alias("guess"))
    common = str(synthetic[CATEGORY].mode().sort()[0])
    guessed = original.join(modes, on=keys, how="left").with_columns(pl.col("guess").fill_null(common))
    wrong = float((guessed["guess"] != guessed[CATEGORY]).to_numpy().mean())
    also = [AGE, STAY, ZIP]
    means = synthetic.group_by(also).agg(pl.col(CHARGE).mean().alias("guess"))
    near = original.join(means, on=also, how="left").with_columns(pl.col("guess").fill_null(synthetic[CHARGE].mean()))
    error = float((near["guess"] - near[CHARGE]).abs().to_numpy().mean())
    unique = synthetic.group_by(keys).len().filter(pl.col("len") == 1).height / max(1, synthetic.height)
    return wrong, error, unique
