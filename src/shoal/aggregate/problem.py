"""One pass over the rows: what every linear method needs to know about them.

With A the p × n matrix that averages within groups, s = A y is known and y is wanted. Methods that are linear in the
covariates see the rows only through

    C = Σ w (x − μ)(x − μ)ᵀ,   B = A(X − μ),   S = A D⁻¹ Aᵀ,   s,        D = diag(w), mean weight 1,

so their work doesn't grow with n once these are there, and whoever holds these sums can reconstruct as well as
whoever holds the rows. Every linear estimate has the form

    ŷ = X β + D⁻¹Aᵀ ν,     (D⁻¹Aᵀ ν)_i = Σ over the groups g of row i of ν_g / W_g,

a common slope plus an offset per group; the *correction* adds D⁻¹Aᵀ S⁺(s − A ŷ), after which A ŷ = s.

Without weights S is AAᵀ: diagonal, 1/n_g, for one set of groups. Stacked sets depend on each other (each of them adds
up to the same total), so S is singular and its pseudo-inverse is taken from one eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.aggregate.covariates import Covariates
from shoal.aggregate.published import Aggregate, Groups, resolve
from shoal.arrays import FloatArray
from shoal.errors import InputError, ParameterError

__all__ = ["MOST_STACKED", "Problem", "Spectrum", "pose"]

MOST_STACKED = 5_000
"""Most groups of stacked sets together: their eigendecomposition takes time in the cube of it."""

_BLOCK = 65_536
_NULL = 1e-10  # eigenvalues of S below this share of the largest are rounding error
_ROUNDING = 1e-13  # of all weights: sums of weights that are no further apart are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """S = E diag(σ) Eᵀ with its null space left out; E is None for one set, whose S is diagonal already."""

    sigma: FloatArray
    vectors: FloatArray | None

    def rotate(self, values: FloatArray) -> FloatArray:
        """Eᵀ values."""
        return values if self.vectors is None else self.vectors.T @ values

    def back(self, values: FloatArray) -> FloatArray:
        """E values."""
        return values if self.vectors is None else self.vectors @ values

    def solve(self, values: FloatArray) -> FloatArray:
        """S⁺ values."""
        return self.back((self.rotate(values).T / self.sigma).T)

    def times(self, values: FloatArray) -> FloatArray:
        """S values."""
        return self.back((self.rotate(values).T * self.sigma).T)

    def project(self, values: FloatArray) -> FloatArray:
        """The part of `values` that some y can have as its aggregates."""
        return self.back(self.rotate(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Rows, groups and aggregates, with their sums.

    `s` holds all sets' means one after the other, centred by `centre` and divided by `scale`: y's level and a guess of
    its spread, both from the known means. `weights` have mean 1, or are None. With `log` the sets' means are
    logarithms; with `median` (and then `log`) these are of published medians.
    """

    X: FloatArray
    names: tuple[str, ...]
    nominal: tuple[slice, ...]
    weights: FloatArray | None
    sets: tuple[Groups, ...]
    s: FloatArray
    centre: float
    scale: float
    mu: FloatArray
    C: FloatArray
    B: FloatArray
    spectrum: Spectrum
    log: bool
    median: bool = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def m(self) -> int:
        """Number of covariates, the intercept not counted."""
        return int(self.X.shape[1])

    @property
    def p(self) -> int:
        """Number of groups in all sets."""
        return len(self.s)

    @property
    def mass(self) -> FloatArray:
        """Weight of each group, set after set."""
        return np.concatenate([groups.mass for groups in self.sets])

    @property
    def sd(self) -> FloatArray:
        """Standard deviation of each covariate."""
        spread = np.sqrt(np.maximum(np.diag(self.C), 0) / self.n)
        return np.where(spread > 0, spread, 1.0)

    def means(self, values: FloatArray) -> FloatArray:
        """A values: the group means, set after set."""
        return np.concatenate([_means(groups, values, self.weights) for groups in self.sets])

    def centres(self, groups: Groups, values: FloatArray) -> FloatArray:
        """What was published about the groups of one set, of these values: their means or medians."""
        return (_medians if self.median else _means)(groups, values, self.weights)

    def spread(self, nu: FloatArray) -> FloatArray:
        """D⁻¹Aᵀ ν: each row's offsets added up."""
        out, at = np.zeros(self.n), 0
        for groups in self.sets:
            out += (nu[at : at + groups.p] / groups.mass)[groups.labels]
            at += groups.p
        return out

    def leverage(self) -> FloatArray:
        """Diagonal of A⁺A: how much of a row's own value its aggregates hold; 1 means they give it away exactly."""
        w = np.ones(self.n) if self.weights is None else self.weights
        if len(self.sets) == 1:
            return np.asarray(w / self.sets[0].mass[self.sets[0].labels])
        inverse = self.spectrum.solve(np.eye(self.p))
        at = np.cumsum([0, *(groups.p for groups in self.sets)])
        places = [groups.labels + start for groups, start in zip(self.sets, at, strict=False)]
        parts = [inverse[a, b] / self.mass[a] / self.mass[b] for a in places for b in places]
        return np.asarray(w * np.sum(parts, axis=0))

    @property
    def known(self) -> FloatArray:
        """The aggregates as they were given, set after set."""
        return self.published(self.original(self.s))

    def published(self, values: FloatArray) -> FloatArray:
        """Means of the problem's scale as they were given: the exponential where logarithms were taken."""
        return np.exp(values) if self.log else values

    def original(self, values: FloatArray) -> FloatArray:
        """Values on the scale of the aggregates, or of their logarithms."""
        return self.centre + self.scale * values


def pose(X: Covariates, aggregates: Sequence[Aggregate], weights: Any = None, *, log: bool = False) -> Problem:
    """Hold covariates and aggregates against each other and take the sums: one pass over the rows."""
    if isinstance(aggregates, Aggregate):
        aggregates = [aggregates]
    if not aggregates:
        raise ParameterError("aggregates", "must hold at least one Aggregate")
    n = len(X.matrix)
    w = None if weights is None else _weights(weights, n)
    sets = tuple(resolve(a, n, w) for a in aggregates)
    medians = [a.median is not None for a in aggregates]
    if any(medians) and not all(medians):
        raise ParameterError("aggregates", "must be medians in every set, or in none")
    sets = tuple(_logged(groups, log or any(medians)) for groups in sets)
    if w is not None:
        w, factor = w * (n / w.sum()), n / w.sum()
        sets = tuple(replace(groups, mass=groups.mass * factor) for groups in sets)
    return replace(_summed(X, sets, w, log or any(medians)), median=any(medians))


def _summed(X: Covariates, sets: tuple[Groups, ...], w: FloatArray | None, log: bool) -> Problem:
    mu, C = _moments(X.matrix, w)
    B = np.concatenate([_matrix_means(groups, X.matrix, mu, w) for groups in sets])
    centre = float(np.mean([groups.mass @ groups.s / groups.mass.sum() for groups in sets]))
    scale = _scale(sets, centre)
    return Problem(
        X=X.matrix,
        names=X.names,
        nominal=X.coding.nominal,
        weights=w,
        sets=sets,
        s=(np.concatenate([groups.s for groups in sets]) - centre) / scale,
        centre=centre,
        scale=scale,
        mu=mu,
        C=C,
        B=B,
        spectrum=_spectrum(sets, w),
        log=log,
    )


def _scale(sets: Sequence[Groups], centre: float) -> float:
    """What y's standard deviation would be if groups were drawn at random: the spread of the means times √(group size).

    1 if all means are equal. Groups that differ for reasons of their own make it too large. The choice matters to LUDIA
    only; it was made by the error on simulated tables, among powers 0, 1/4 and 1/2 of the group size (1/4 and less left
    LUDIA nearer to group means, and 0 broke it on low-rank tables). No power was best everywhere.
    """
    squares = [groups.mass.mean() * (groups.mass @ (groups.s - centre) ** 2 / groups.mass.sum()) for groups in sets]
    spread = float(np.sqrt(np.mean(squares)))
    return spread if spread > 1e-12 * max(1e-300, abs(centre)) else 1.0


def _logged(groups: Groups, log: bool) -> Groups:
    if not log:
        return groups
    if (groups.s <= 0).any():
        raise InputError(
            f"aggregate '{groups.name}'",
            "must have means or medians greater than 0 for the logarithm",
            got=f"{int((groups.s <= 0).sum())} at 0 or below",
        )
    return replace(groups, s=np.log(groups.s))


def _weights(weights: Any, n: int) -> FloatArray:
    found = np.asarray(weights, dtype=np.float64).reshape(-1)
    if len(found) != n:
        raise InputError("weights", "must have one number per row of X", got=f"{len(found)} weights, {n} rows")
    if not np.isfinite(found).all() or (found < 0).any() or found.sum() <= 0:
        raise InputError("weights", "must be finite, at least 0 and not all 0")
    return found


def _moments(X: FloatArray, w: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Mean and centred sums of products, block by block so that no second X is held."""
    n, m = X.shape
    mu = np.zeros(m) if m == 0 else np.average(X, axis=0, weights=w)
    C = np.zeros((m, m))
    for at in range(0, n, _BLOCK):
        part = X[at : at + _BLOCK] - mu
        C += part.T @ (part if w is None else w[at : at + _BLOCK, None] * part)
    return mu, C


def _means(groups: Groups, values: FloatArray, w: FloatArray | None) -> FloatArray:
    weighted = values if w is None else w * values
    out: FloatArray = np.bincount(groups.labels, weighted, minlength=groups.p) / groups.mass
    return out


def _medians(groups: Groups, values: FloatArray, w: FloatArray | None) -> FloatArray:
    """The (weighted) median of each group: the middle of the two values that halve it."""
    order = np.lexsort((values, groups.labels))
    mass = np.cumsum(np.ones(len(values)) if w is None else w[order])
    last = np.cumsum(groups.sizes) - 1
    before = np.concatenate([[0.0], mass[last[:-1]]])
    half, rounding = (before + mass[last]) / 2, _ROUNDING * mass[-1]
    low = np.searchsorted(mass, half - rounding, "left")
    high = np.minimum(np.searchsorted(mass, half + rounding, "right"), last)
    out: FloatArray = (values[order[low]] + values[order[high]]) / 2
    return out


def _matrix_means(groups: Groups, X: FloatArray, mu: FloatArray, w: FloatArray | None) -> FloatArray:
    columns = [_means(groups, X[:, j] - mu[j], w) for j in range(X.shape[1])]
    return np.column_stack(columns) if columns else np.empty((groups.p, 0))


def _spectrum(sets: Sequence[Groups], w: FloatArray | None) -> Spectrum:
    if len(sets) == 1:
        return Spectrum(sigma=1 / sets[0].mass, vectors=None)
    p = sum(groups.p for groups in sets)
    if p > MOST_STACKED:
        raise InputError("aggregates", f"stacked sets may have at most {MOST_STACKED:,} groups together", got=f"{p:,}")
    sigma, vectors = np.linalg.eigh(_overlaps(sets, w))
    there = sigma > _NULL * sigma[-1]
    return Spectrum(sigma=sigma[there], vectors=np.ascontiguousarray(vectors[:, there]))


def _overlaps(sets: Sequence[Groups], w: FloatArray | None) -> FloatArray:
    """S_gh = (weight of the rows in both g and h) / (W_g W_h)."""
    blocks = [[_overlap(a, b, w) for b in sets] for a in sets]
    return np.block(blocks)


def _overlap(a: Groups, b: Groups, w: FloatArray | None) -> FloatArray:
    keys = a.labels * b.p + b.labels
    joint = np.bincount(keys, w, minlength=a.p * b.p).reshape(a.p, b.p)
    out: FloatArray = joint / a.mass[:, None] / b.mass[None, :]
    return out
