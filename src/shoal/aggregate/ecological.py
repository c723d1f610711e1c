"""Ecological regression: slopes from the groups' means, applied to persons (Goodman).

    (a, β) = argmin Σ_g c_g (s_g − a − z_gᵀβ)² + λ|β|²,     Z = AX,     ŷ = a + Xβ  (+ A⁺(s − Aŷ))

`EcologicalRegression` has λ = 0, `RidgeEcological` takes λ by leaving one group out. Both have an intercept and, unless
asked otherwise, the correction: the paper's margin over ecological regression comes from the correction line that it
gave to LUDIA only. Covariates are standardised inside, so their units don't matter, not even where slopes aren't
identified and the smallest that fit are taken.

Right if slopes are the same in all groups and nothing that differs between groups and moves y is left out of X. No
diagnostic on aggregates can tell.

Random intercepts and slopes by group, fitted to what a method leaves of the aggregates (4.4.1).

With G the rows' indicators of the first set's groups, and their products with the covariates that get slopes,

    v_a = ((AG)ᵀ W AG)⁺ (AG)ᵀ W (s − A ŷ),        ŷ += G v_a.

For intercepts alone AG is the identity and v_a = s − Aŷ: **that is the correction line**, nothing is gained by it. With
slopes there are more unknowns than groups: of all v_a that fit, the shortest is taken, covariates standardised so that
"shortest" doesn't depend on their units. It isn't identified: groups with an average case mix get no slope at all.

The Moore-Penrose solution: everybody has the mean of their group.

    ŷ = A⁺ s,    A⁺ = Aᵀ(AAᵀ)⁻¹                                        (the paper prints A for Aᵀ)

is the shortest y with the given aggregates; covariates play no part. With weights it is D⁻¹Aᵀ(AD⁻¹Aᵀ)⁺s, still the
group mean; with stacked sets it adds up offsets of the groups a row is in.

Crossed regression: the slope from a second set of means, after the first set's own effects are taken out.

One set of means shows slopes *between* its groups, which confounding bends. A second set that crosses the first shows,
inside the first's groups, the slope that is wanted. With A₁ the first set and A₂ the others,

    s₂ − A₂A₁⁺s₁ ≈ A₂(X − A₁⁺A₁X) β,   groups weighted by size;      ŷ = A₁⁺s₁ + (X − A₁⁺A₁X) β  (+ A⁺(s − Aŷ)).

Whatever is the same for everybody in a first-set group cancels on both sides. Right if slopes are the same in all
groups and the second set's groups differ in nothing that moves y and X lacks: put into X what that set is made of.
`held_out_error` measures methods by a set that they did not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import Problem, pose
from shoal.aggregate.published import Aggregate
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.params import Help, Range

__all__ = [
    "CrossedRegression",
    "EcologicalRegression",
    "PseudoInverse",
    "RidgeEcological",
    "group_regression",
    "held_out_error",
    "held_out_errors",
    "random_effects",
]

Weighting = Literal["equal", "size"]
_NULL = 1e-10
_LEAST_GROUPS = 3  # with fewer, leaving one out says the same for every penalty
_PENALTIES = np.append(np.logspace(-6, 5, 67), np.inf)  # shares of the largest squared singular value


@dataclass(frozen=True, slots=True, kw_only=True)
class EcologicalRegression(Reconstructor):
    """Regress the groups' means on their mean covariates and apply the slopes to persons.

    Exact if y is linear in X with one set of slopes and there are more groups than covariates. With hardly more groups
    than covariates its slopes swing wildly; use `RidgeEcological` then.

    Parameters
    ----------
    correct
        Shift every group so that its mean is the aggregate. Off gives the published method.
    groups
        Whether groups count ``"equal"``, as published, or by ``"size"``, which is better if their means are noisy
        because groups are small, and worse if groups differ for reasons of their own.

    Notes
    -----
    Weights enter the group means. Cost: one pass over the rows, then p m².

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, EcologicalRegression
    >>> X = [[0.0], [1.0], [2.0], [4.0]]
    >>> result = EcologicalRegression().reconstruct(X, [Aggregate(by=[0, 0, 1, 1], mean=[1.5, 4.0])])
    >>> result.values.round(9).tolist()
    [1.0, 2.0, 3.0, 5.0]
    """

    correct: Annotated[bool, Help("shift groups so that the aggregates match")] = True
    groups: Annotated[Weighting, Help("weight groups equally, or by size")] = "equal"

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        level, beta = group_regression(problem, self.groups)
        return Fit(level=level, beta=beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeEcological(Reconstructor):
    """Ecological regression with slopes drawn towards 0 as far as leaving one group out advises.

    An infinite penalty is among those tried: then every row has its group's mean. The best of all methods here where
    groups differ little beyond their covariates. Leaving groups out judges slopes *between* groups, so where groups
    have effects of their own it can't see how far these are from the slopes inside: `Ludia` is the safer choice.

    Parameters
    ----------
    penalty
        λ as a share of the largest squared singular value of the groups' standardised means; none: by leaving one
        group out. Raising it goes from ecological regression to group means.
    correct
        Shift every group so that its mean is the aggregate.
    groups
        Whether groups count ``"equal"`` or by ``"size"``.

    Notes
    -----
    Leaving a group out is done in closed form, e_g / (1 − h_g). Groups of stacked sets overlap, so there the penalty
    comes out somewhat low. Cost: one pass over the rows, then p m².

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, RidgeEcological
    >>> X = [[0.0], [1.0], [2.0], [4.0], [3.0], [7.0]]
    >>> result = RidgeEcological().reconstruct(X, [Aggregate(by=[0, 0, 1, 1, 2, 2], mean=[1.5, 4.0, 6.0])])
    >>> result.values.round(3).tolist()
    [1.0, 2.0, 3.0, 5.0, 4.0, 8.0]
    """

    penalty: Annotated[float | None, Range(low=0), Help("share of the largest squared singular value")] = None
    correct: Annotated[bool, Help("shift groups so that the aggregates match")] = True
    groups: Annotated[Weighting, Help("weight groups equally, or by size")] = "equal"

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        parts = _GroupParts.of(problem, self.groups)
        few = self.penalty is None and problem.p < _LEAST_GROUPS
        errors = None if few or self.penalty is not None else [parts.left_out(share) for share in _PENALTIES]
        share = _chosen(errors, self.penalty)
        level, beta = parts.solve(share)
        warnings = ("too few groups to leave one out: slopes are 0",) if few and problem.m else ()
        details = {"penalty": None if np.isinf(share) else share, "leave_one_out_error": _least(errors)}
        return Fit(level=level, beta=beta, warnings=warnings, details=details)


def group_regression(problem: Problem, groups: Weighting = "equal") -> tuple[float, FloatArray]:
    """Intercept and slopes of the plain ecological regression, of minimum norm on standardised covariates."""
    return _GroupParts.of(problem, groups).solve(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupParts:
    """√c(Z − z̄) = P diag(d) Qᵀ on standardised covariates, with what a fit at any penalty needs."""

    P: FloatArray
    d: FloatArray
    Q: FloatArray
    root: FloatArray
    target: FloatArray
    centre: FloatArray
    level: float
    sd: FloatArray

    @classmethod
    def of(cls, problem: Problem, groups: Weighting) -> _GroupParts:
        c = problem.mass if groups == "size" else np.ones(problem.p)
        c = c / c.sum()
        Z = problem.B / problem.sd
        centre, level = c @ Z, float(c @ problem.s)
        root = np.sqrt(c)
        P, d, Qt = np.linalg.svd(root[:, None] * (Z - centre), full_matrices=False)
        there = d > _NULL * max(1e-300, d[0]) if len(d) else np.zeros(0, dtype=bool)
        there &= d > _NULL
        target = root * (problem.s - level)
        return cls(
            P=P[:, there],
            d=d[there],
            Q=Qt[there].T,
            root=root,
            target=target,
            centre=centre,
            level=level,
            sd=problem.sd,
        )

    def solve(self, share: float) -> tuple[float, FloatArray]:
        if len(self.d) == 0 or np.isinf(share):
            return self.level, np.zeros(len(self.sd))
        gamma = self.Q @ (self._shrink(share) / self.d * (self.P.T @ self.target))
        return self.level - float(self.centre @ gamma), gamma / self.sd

    def left_out(self, share: float) -> float:
        """Σ c_g (s_g − prediction without g)²."""
        kept = self._shrink(share)
        residual = self.target - self.P @ (kept * (self.P.T @ self.target))
        room = 1 - self.root**2 - (self.P**2) @ kept
        return float(np.sum((residual / np.maximum(room, _NULL)) ** 2))

    def _shrink(self, share: float) -> FloatArray:
        squares = self.d**2
        if np.isinf(share) or len(squares) == 0:
            return np.zeros(len(squares))
        out: FloatArray = squares / (squares + share * squares[0])
        return out


def _chosen(errors: list[float] | None, given: float | None) -> float:
    """The given penalty, or that of the least error, the largest among equals; infinity if nothing is known."""
    if given is not None:
        return given
    if errors is None:
        return float(np.inf)
    best = min(errors)
    return float(max(share for share, e in zip(_PENALTIES, errors, strict=True) if e <= best * (1 + 1e-9)))


def _least(errors: list[float] | None) -> float | None:
    return None if errors is None else min(errors)


def random_effects(problem: Problem, fit: Fit, columns: Sequence[int], *, intercepts: bool) -> Fit:
    """The fit with random effects by the groups of the first set added to its rows."""
    nu = np.zeros(problem.p) if fit.nu is None else fit.nu
    gap = problem.s - (fit.level + problem.spectrum.times(nu) + problem.B @ fit.beta)
    Z = _effect_columns(problem, columns, intercepts)
    v_a = _closed(problem, Z, gap) if len(problem.sets) == 1 else _least_squares(problem, Z, gap)
    labels = problem.sets[0].labels
    rows = np.einsum("ij,ij->i", Z, v_a[labels])
    names = [*(["intercept"] if intercepts else []), *(problem.names[j] for j in columns)]
    said = ("random slopes are not identified by group means: the smallest that fit are taken",) if columns else ()
    effects = {name: (problem.scale * v_a[:, k]).tolist() for k, name in enumerate(names)}
    return replace(fit, rows=rows, warnings=(*fit.warnings, *said), details={**fit.details, "effects": effects})


def _effect_columns(problem: Problem, columns: Sequence[int], intercepts: bool) -> FloatArray:
    chosen = list(columns)
    slopes = (problem.X[:, chosen] - problem.mu[chosen]) / problem.sd[chosen]
    return np.column_stack((np.ones(problem.n), slopes)) if intercepts else slopes


def _closed(problem: Problem, Z: FloatArray, gap: FloatArray) -> FloatArray:
    """One set: each group has one equation z̄ᵀv = gap, whose shortest solution is z̄ gap / |z̄|²."""
    means = np.column_stack([problem.means(Z[:, k]) for k in range(Z.shape[1])])
    length = (means**2).sum(axis=1)
    share = np.where(length > _NULL, gap / np.where(length > _NULL, length, 1.0), 0.0)
    return means * share[:, None]


def _least_squares(problem: Problem, Z: FloatArray, gap: FloatArray) -> FloatArray:
    """Stacked sets: the shortest of the weighted least squares solutions, with the first set's effects seen by all."""
    first, q = problem.sets[0], Z.shape[1]
    AG = np.concatenate([_seen(problem, Z, at) for at in range(len(problem.sets))])
    root = 1 / np.sqrt(problem.spectrum.sigma)
    rotate = problem.spectrum.rotate
    found = np.linalg.lstsq(root[:, None] * rotate(AG), root * rotate(gap), rcond=_NULL)[0]
    return np.ascontiguousarray(found.reshape(first.p, q))


def _seen(problem: Problem, Z: FloatArray, at: int) -> FloatArray:
    """Mean of each effect column in each group of set `at`."""
    first, groups = problem.sets[0], problem.sets[at]
    keys = groups.labels * first.p + first.labels
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    blocks = [np.bincount(keys, w * Z[:, k], minlength=groups.p * first.p) for k in range(Z.shape[1])]
    table = np.stack(blocks, axis=-1).reshape(groups.p, first.p * Z.shape[1])
    out: FloatArray = table / groups.mass[:, None]
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoInverse(Reconstructor):
    """Give every row its group's mean: the plain guess that other methods must beat.

    Promised: the values' group means are the aggregates, to rounding, unless stacked sets contradict each other. On
    real hospital charges with many covariates it beat every regression, because hospitals differed in what covariates
    didn't show.

    Notes
    -----
    Covariates don't enter. Cost: linear in the rows; the cube of the number of groups for stacked sets.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, PseudoInverse
    >>> groups = Aggregate(by=[0, 0, 1], mean=[2.0, 5.0])
    >>> PseudoInverse().reconstruct([[1.0], [3.0], [4.0]], [groups]).values.tolist()
    [2.0, 2.0, 5.0]
    """

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        return Fit(beta=np.zeros(problem.m))


_FLAT = 1e-8  # of the largest singular value: directions in which the second set does not vary


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedRegression(Reconstructor):
    """Slopes from a second set of means that crosses the first, applied inside the first set's groups.

    Needs two sets or more; the order of the sets matters: the first one's groups may be confounded, the others should
    not be. Exact if y is a first-set effect plus linear in X, and the sets cross in as many ways as X has columns.

    Parameters
    ----------
    correct
        Match all sets afterwards. Off matches the first alone.

    Notes
    -----
    Weights enter the means. Directions of X that do not vary over the other sets inside the first have slope 0, with a
    warning. Cost: one pass over the rows for each set.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, CrossedRegression
    >>> X = [[0.0], [1.0], [0.0], [1.0]]
    >>> hospital = Aggregate(by=["a", "a", "b", "b"], mean={"a": 2.0, "b": 12.0})
    >>> severity = Aggregate(by=["low", "high", "low", "high"], mean={"low": 6.0, "high": 8.0})
    >>> CrossedRegression().reconstruct(X, [hospital, severity]).values.round(6).tolist()
    [1.0, 3.0, 11.0, 13.0]
    """

    correct: Annotated[bool, Help("shift groups so that all aggregates match")] = True

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        if len(problem.sets) < 2:
            raise ParameterError(
                "CrossedRegression",
                "aggregates must hold two crossing sets",
                got="1 set",
                hint="With one set of means use Ludia.",
            )
        first = problem.sets[0]
        inside = problem.X - problem.mu - problem.B[: first.p][first.labels]
        T = np.column_stack([problem.means(inside[:, j])[first.p :] for j in range(problem.m)])
        start = problem.s[: first.p]
        gap = problem.s[first.p :] - problem.means(start[first.labels])[first.p :]
        beta, flat = _minimum_norm(T, gap, problem.mass[first.p :], problem.sd)
        nu = np.concatenate([first.mass * (start - problem.B[: first.p] @ beta), np.zeros(problem.p - first.p)])
        said = (
            f"{flat} direction(s) of the covariates do not vary over the other sets inside '{first.name}': slope 0"
            if flat
            else ""
        )
        return Fit(beta=beta, nu=nu, warnings=(said,) if said else ())


def held_out_error(
    method: Reconstructor,
    X: Any,
    aggregates: Sequence[Aggregate],
    *,
    weights: Any = None,
    log: bool = False,
    seed: int = 0,
) -> float:
    """How far a method that sees all sets but the last is from the last set's means or medians (root mean square).

    This can choose between methods, as differences of a crossing set inside the first groups show the slope that is
    wanted; leaving groups of the same set out can't.
    """
    return held_out_errors(method, X, {"": aggregates}, weights=weights, log=log, seed=seed)[""]


def held_out_errors(
    method: Reconstructor,
    X: Any,
    columns: Mapping[str, Sequence[Aggregate]],
    *,
    weights: Any = None,
    log: bool = False,
    seed: int = 0,
) -> dict[str, float]:
    """`held_out_error` of several columns that are rebuilt together (`Reconstructor.reconstruct_columns`)."""
    fewest = min(len(aggregates) for aggregates in columns.values())
    if fewest < 2:
        raise ParameterError("held_out_error", "aggregates must hold two sets or more", got=f"{fewest}")
    seen = {name: aggregates[:-1] for name, aggregates in columns.items()}
    found = method.reconstruct_columns(X, seen, weights=weights, log=log, seed=seed)
    coded, errors = covariates(X), {}
    for name, aggregates in columns.items():
        problem = pose(coded, [aggregates[-1]], weights)
        gap = problem.centres(problem.sets[0], found[name].values) - problem.known
        errors[name] = float(np.sqrt(np.average(gap**2, weights=problem.mass)))
    return errors


def _minimum_norm(T: FloatArray, gap: FloatArray, mass: FloatArray, sd: FloatArray) -> tuple[FloatArray, int]:
    """Weighted least squares of minimum norm on standardised columns, and how many directions are flat."""
    if T.shape[1] == 0:
        return np.zeros(0), 0
    root = np.sqrt(mass / mass.mean())
    U, d, Vt = np.linalg.svd(root[:, None] * T / sd, full_matrices=False)
    there = d > max(_FLAT, _FLAT * float(d[0]))
    beta = Vt[there].T @ ((U[:, there].T @ (root * gap)) / d[there])
    return np.asarray(beta / sd, dtype=np.float64), int(T.shape[1] - there.sum())
