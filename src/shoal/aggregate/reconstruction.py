"""What all reconstructions share: the verb, the correction, the result record and the caution.

A method answers only with its fit: a slope β, an offset per group ν and, for methods that aren't linear, a value per
row. From there on all are alike: the correction (ŷ += A⁺(s − Aŷ), optional because noisy aggregates needn't be
matched), the way back to y's scale, and warnings about what the aggregates can't tell.

Raking: scale positive values group by group until their means (or medians) are the aggregates.

For one set of groups one step is exact: v_i s_g / mean_g(v). Stacked sets take turns (iterative proportional fitting)
until no mean is off, or until the turns stop helping because the sets contradict each other.

What stands against trusting a reconstruction, said in words and counts, never in a cell's value.

Train on reconstructed targets, predict for new people (4.5.2).

1. rebuild the masked column from aggregates and individual covariates,
2. train any scikit-learn regressor on covariates and rebuilt column,
3. predict for new rows with the same covariates.

A linear model trained on a linear reconstruction can only learn that reconstruction's slope, blurred by the group
offsets: look at the reconstruction's warnings before the model's predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from shoal.aggregate.covariates import Coding, covariates
from shoal.aggregate.problem import Problem, pose
from shoal.aggregate.published import Aggregate, Groups
from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.extras import need
from shoal.params import check, to_dict
from shoal.rng import stream

__all__ = ["CAUTION", "Fit", "Learnt", "Reconstruction", "Reconstructor", "learn"]

CAUTION = (
    "Aggregates can't tell how people differ inside a group. If groups differ in something that the covariates lack, "
    "every method here can be wrong in every value, and nothing in the aggregates shows it (the ecological fallacy). "
    "Compare several methods, prefer one or two well chosen covariates, and never take a reconstructed value for a "
    "person's own."
)
_CLOSE = 1e-12
_MOST_TURNS = 500
_OTHER_UNIT = 5.0  # ratio of two sets' overall means, or spreads, beyond which they look like different units
_FAR_OUT = 100.0  # a group's mean over the median of all, beyond which it looks like another unit
_CONTRADICTION = 1e-6  # of the spread of the means; less is rounding
_SMALL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A method's answer: ŷ = level + (x − μ)ᵀβ + D⁻¹Aᵀν + rows on the centred, scaled y."""

    beta: FloatArray
    level: float = 0.0
    nu: FloatArray | None = None
    rows: FloatArray | None = None
    trace: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    memberships: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Reconstructed values with what is to be known about them. It stands for persons: internal.

    Attributes
    ----------
    method, parameters
        Which method, with its parameters.
    values
        One value per row of X, on the scale of the aggregates.
    residual
        Largest |aggregate − mean of the values|, as a share of y's spread as guessed from the aggregates; 0 after a
        correction, unless stacked sets contradict each other.
    misfit
        The same before the correction: how far the method's own values are from the aggregates.
    coefficients
        Slope of each covariate, on the scale of the aggregates (of their logarithm with ``log=True``); empty for
        methods without slopes.
    trace
        The method's objective after each iteration, the start first; empty for methods in one step.
    warnings
        What stands against trusting the values, in words.
    details
        What else the method found, JSON-safe.
    memberships
        Probability of each cluster for each row, from methods that cluster.
    """

    releasable: ClassVar[bool] = False

    method: str
    parameters: Mapping[str, Any]
    values: FloatArray
    residual: float
    misfit: float
    coefficients: Mapping[str, float]
    trace: tuple[float, ...]
    warnings: tuple[str, ...]
    details: Mapping[str, Any]
    memberships: FloatArray | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words; of the values only their number, mean and spread."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "n": len(self.values),
            "mean": float(self.values.mean()),
            "standard_deviation": float(self.values.std()),
            "residual": self.residual,
            "misfit": self.misfit,
            "coefficients": dict(self.coefficients),
            "trace": list(self.trace),
            "warnings": list(self.warnings),
            "details": dict(self.details),
            "caution": CAUTION,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstructor(ABC):
    """A method that rebuilds individual values from aggregates."""

    def reconstruct(
        self, X: Any, aggregates: Sequence[Aggregate], *, weights: Any = None, log: bool = False, seed: int = 0
    ) -> Reconstruction:
        """Rebuild the variable whose group means are known.

        Parameters
        ----------
        X
            Individual covariates: any dataframe (texts and categories are dummy-coded) or an array of numbers. An
            intercept is always added; a column without variation is left out.
        aggregates
            The published means, totals or medians; several sets of groups are stacked.
        weights
            Survey weights of the rows; group means are then weighted means. They are scaled to mean 1.
        log
            Fit the logarithm of the means, and give values whose means are the aggregates: for charges and other
            positive, skewed variables. Means must be greater than 0.
        seed
            Seed of methods that draw (Cudia, Ludia with a random start).

        Notes
        -----
        A missing number in X, a label without an aggregate, an aggregate without rows and counts that disagree with the
        labels are errors. Cost: one pass over X, linear in its rows.
        """
        return self.reconstruct_columns(X, {"": aggregates}, weights=weights, log=log, seed=seed)[""]

    def reconstruct_columns(
        self,
        X: Any,
        columns: Mapping[str, Sequence[Aggregate]],
        *,
        weights: Any = None,
        log: bool = False,
        seed: int = 0,
    ) -> dict[str, Reconstruction]:
        """Rebuild several variables of the same persons, by name, each from its own aggregates.

        Each is what `reconstruct` gives on its own, except with ``Ludia(shared=True)``, which fits one factorisation to
        all of them.

        Examples
        --------
        >>> from shoal.aggregate import Aggregate, Ludia
        >>> X, by = [[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]
        >>> columns = {"cost": [Aggregate(by=by, mean=[1.5, 4.0])], "days": [Aggregate(by=by, mean=[3.0, 5.0])]}
        >>> {name: found.values.round(1).tolist() for name, found in Ludia().reconstruct_columns(X, columns).items()}
        {'cost': [1.0, 2.0, 3.0, 5.0], 'days': [2.6, 3.4, 4.2, 5.8]}
        """
        check(self)
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise ParameterError(type(self).__name__, "seed must be a whole number, at least 0", got=repr(seed)[:40])
        if not columns:
            raise ParameterError(type(self).__name__, "columns must name a column with its aggregates")
        coded = covariates(X)
        problems = {name: pose(coded, aggregates, weights, log=log) for name, aggregates in columns.items()}
        fits = self._fit_columns(list(problems.values()), seed)
        return {
            name: self._result(problem, fit, coded.coding.constant)
            for (name, problem), fit in zip(problems.items(), fits, strict=True)
        }

    def fit(self, problem: Problem, seed: int = 0) -> FloatArray:
        """The values for a problem that was posed already; for comparisons of many methods on one problem."""
        check(self)
        return _values(problem, self._fit(problem, self._stream(seed)), self._corrects)[0]

    def _stream(self, seed: int) -> Generator:
        return stream(seed, "aggregate", type(self).__name__)

    def _fit_columns(self, problems: Sequence[Problem], seed: int) -> list[Fit]:
        """The fits of several columns: one by one, unless a method shares something between them."""
        return [self._fit(problem, self._stream(seed)) for problem in problems]

    @property
    def _corrects(self) -> bool:
        return bool(getattr(self, "correct", True))

    @abstractmethod
    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        """The method itself."""

    def _result(self, problem: Problem, fit: Fit, constant: Sequence[str]) -> Reconstruction:
        values, misfit = _values(problem, fit, self._corrects)
        if problem.log:
            values = _raked(problem, np.exp(values)) if self._corrects else np.exp(values)
        return Reconstruction(
            method=type(self).__name__,
            parameters=to_dict(self),
            values=values,
            residual=_residual(problem, values),
            misfit=misfit,
            coefficients=dict(zip(problem.names, (problem.scale * fit.beta).tolist(), strict=False)),
            trace=fit.trace,
            warnings=(*_remarks(problem, constant), *fit.warnings),
            details=fit.details,
            memberships=fit.memberships,
        )


def _values(problem: Problem, fit: Fit, corrects: bool) -> tuple[FloatArray, float]:
    """Values on the original scale, and how far they were from the aggregates before the correction."""
    nu = np.zeros(problem.p) if fit.nu is None else fit.nu
    means = fit.level + problem.spectrum.times(nu) + problem.B @ fit.beta
    if fit.rows is not None:
        means = means + problem.means(fit.rows)
    gap = problem.s - means
    values = problem.spread(nu + problem.spectrum.solve(gap) if corrects else nu)
    values += problem.X @ fit.beta + (fit.level - problem.mu @ fit.beta)
    if fit.rows is not None:
        values += fit.rows
    return problem.original(values), float(np.abs(gap).max())


def _residual(problem: Problem, values: FloatArray) -> float:
    scale = float(problem.known.std()) if problem.log else problem.scale
    centres = np.concatenate([problem.centres(groups, values) for groups in problem.sets])
    return float(np.abs(centres - problem.known).max()) / (scale or 1.0)


def _raked(problem: Problem, values: FloatArray) -> FloatArray:
    """Positive `values` whose group means (medians) are exp of the logged aggregates, as nearly as they can be."""
    for _ in range(1 if len(problem.sets) == 1 else _MOST_TURNS):
        values, change = _turn(problem, values)
        if change < _CLOSE:
            break
    return values


def _turn(problem: Problem, values: FloatArray) -> tuple[FloatArray, float]:
    change = 0.0
    for groups in problem.sets:
        ratio = np.exp(groups.s) / problem.centres(groups, values)
        values = values * ratio[groups.labels]
        change = max(change, float(np.abs(ratio - 1).max()))
    return values, change


def _remarks(problem: Problem, constant: Sequence[str]) -> tuple[str, ...]:
    """Warnings that hold for every method."""
    return (*_about_covariates(problem, constant), *_about_groups(problem), *_about_units(problem))


def _about_covariates(problem: Problem, constant: Sequence[str]) -> Iterator[str]:
    if constant:
        yield f"{len(constant)} covariate(s) without variation were left out"
    if problem.m == 0:
        yield "no covariate varies: every method gives the group means"
    if problem.n <= problem.m:
        yield f"fewer rows than covariates: {problem.n} rows, {problem.m} covariates"
    independent = len(problem.spectrum.sigma)
    if problem.m > 0 and independent < problem.m + 1:
        yield (
            f"fewer groups than covariates: {independent} independent groups, {problem.m} covariates and an intercept; "
            "slopes are not identified, the smallest that fit are taken"
        )


def _about_groups(problem: Problem) -> Iterator[str]:
    if problem.p == 1:
        yield "one group only: its mean says nothing about slopes"
    small = sum(int((groups.sizes < _SMALL).sum()) for groups in problem.sets)
    if small:
        yield f"{small} group(s) have fewer than {_SMALL} rows: their aggregate comes close to giving values away"
    if not problem.median:  # the median of a union follows from no medians
        yield from _about_sets(problem)


def _about_sets(problem: Problem) -> Iterator[str]:
    for (i, finer), (j, coarser) in permutations(enumerate(problem.sets), 2):
        if _nested(finer, coarser) and (finer.p > coarser.p or i < j):
            yield f"the set '{coarser.name}' adds nothing: its groups are unions of groups of '{finer.name}'"
    centred = problem.known - problem.known.mean()
    gap = np.abs(centred - problem.spectrum.project(centred)).max() / (centred.std() or 1.0)
    if gap > _CONTRADICTION:
        yield (
            f"stacked sets contradict each other by up to {gap:.2g} times the spread of the means: no values match "
            "them all; they are matched as nearly as possible"
        )


def _nested(finer: Groups, coarser: Groups) -> bool:
    """Whether every group of `finer` lies in one group of `coarser`."""
    return len(np.unique(finer.labels * coarser.p + coarser.labels)) == finer.p


def _about_units(problem: Problem) -> Iterator[str]:
    known = problem.known
    typical = float(np.median(np.abs(known)))
    far = int((np.abs(known) > _FAR_OUT * typical).sum()) if typical > 0 else 0
    if far:
        yield f"{far} aggregate(s) are more than {_FAR_OUT:.0f} times the typical one: check their units"
    levels = [float(groups.mass @ problem.published(groups.s) / groups.mass.sum()) for groups in problem.sets]
    for groups, level in zip(problem.sets[1:], levels[1:], strict=True):
        if _ratio(level, levels[0]) > _OTHER_UNIT:
            yield (
                f"the sets '{problem.sets[0].name}' and '{groups.name}' have overall means that differ by a factor of "
                f"{_ratio(level, levels[0]):.3g}: check their units"
            )


def _ratio(a: float, b: float) -> float:
    low, high = sorted((abs(a), abs(b)))
    return high / low if low > 0 else (1.0 if high == 0 else np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """A model trained on reconstructed targets, with the reconstruction and the coding of covariates."""

    model: Any
    reconstruction: Reconstruction
    coding: Coding

    def predict(self, X: Any) -> FloatArray:
        """Predict for rows that have the training table's columns; unknown levels count as the first one."""
        return np.asarray(self.model.predict(self.coding.matrix(X)), dtype=np.float64)


def learn(
    model: Any,
    X: Any,
    aggregates: Sequence[Aggregate],
    *,
    method: Reconstructor,
    weights: Any = None,
    log: bool = False,
    seed: int = 0,
) -> Learnt:
    """Rebuild the target by `method` and train a copy of `model` on it.

    Parameters
    ----------
    model
        Any scikit-learn regressor or pipeline; it is cloned, not changed.
    X, aggregates, weights, log, seed
        As for `Reconstructor.reconstruct`. With weights the model is trained with them if it takes `sample_weight`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from shoal.aggregate import Aggregate, EcologicalRegression, learn
    >>> groups = Aggregate(by=[0, 0, 1, 1], mean=[1.5, 4.0])
    >>> learnt = learn(LinearRegression(), [[0.0], [1.0], [2.0], [4.0]], [groups], method=EcologicalRegression())
    >>> learnt.predict([[10.0]]).round(6).tolist()
    [11.0]
    """
    need("sklearn", "learn")
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ParameterError("learn", "model must have fit and predict", got=type(model).__name__)
    coded = covariates(X)
    found = method.reconstruct(X, aggregates, weights=weights, log=log, seed=seed)
    extra = {"sample_weight": weights} if weights is not None and has_fit_parameter(model, "sample_weight") else {}
    trained = clone(model).fit(coded.matrix, found.values, **extra)
    return Learnt(model=trained, reconstruction=found, coding=coded.coding)
