"""Market risk: what enrollees of a new market will cost, learnt from members of an existing one.

Costs are known of members only, p(x, y | E=1, M=0); of the new market only covariates are known, p(x | M=1). Members are
weighted towards the new market (`shoal.shift.weights`), a cost model is fitted to the weighted members
(`shoal.shift.models`), and the prediction is averaged over the new market's people, each weighing its survey weight
times its probability of enrolment when that is known. Members may be an anonymised release: x̂ takes the place of x in
training, while market tables, which hold no costs, stay as they are (Wei, Ramamurthy and Varshney 2015).

What it assumes, and no data can show: enrolment depends on x alone and alike in both markets, and cost depends on x
alike in both markets up to the `cost_factor`. What it promises: an interval that holds the actual mean cost of
`group_size` enrollees in about 95 of 100 cases *if* these hold and the weights reach the new market.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError, ParameterError
from shoal.frame import series
from shoal.params import Help, Range, check
from shoal.prepare import floats
from shoal.rng import stream
from shoal.schema import Schema
from shoal.shift.accuracy import group_error
from shoal.shift.assessment import MarketAssessment, Segment, WeightCell
from shoal.shift.design import Design
from shoal.shift.models import Fitter, check_costs, fitter_of, model_name
from shoal.shift.people import Members, People, named, read_market, read_members
from shoal.shift.populations import Population, Populations, meet
from shoal.shift.weights import Shift, ShiftWeights, mass_ratio, normalised, weigh

__all__ = ["MarketRisk"]

FOLDS = 5
MOST_LEVELS = 12
"""Columns with more cells are left out of segments and weight maps."""
ENOUGH = 30
"""Members from which a segment has an error of its own."""


@dataclass(kw_only=True)
class MarketRisk:
    """Predict the cost of a new market's enrollees from the members of an existing one.

    Parameters
    ----------
    shift
        ``"ratio"``: weigh members by the ratio of the two markets' distributions on cells of x; ``"logistic"``: by the
        odds of a logistic regression, few parameters but often wrong; ``"none"``: no weights.
    coding
        ``"dummy"``: each covariate acts through an arbitrary function of its levels; ``"numeric"``: through a
        straight line, with fewer parameters and more need of the shift.
    model
        None or ``"least-squares"``, ``"two-part"``, ``"log"``, ``"gamma"``, ``"tweedie"``, or a scikit-learn
        regressor that takes `sample_weight`.
    response
        The cost column; needed only if the schema has several numeric sensitive columns.
    smoothing, cap, bins, limit
        As in `shoal.shift.ratio_weights`. `limit` is also the largest share of the new market in levels that no
        member has.

    Notes
    -----
    Survey weights of all three tables count. A missing category is a level of its own, missing numbers follow the
    schema's rule. Cost: one fit for each bootstrap repeat on the distinct combinations of x (all rows for a
    scikit-learn regressor).

    Examples
    --------
    >>> import shoal
    >>> survey, schema = shoal.datasets.health_survey(4000, seed=1), shoal.datasets.health_survey_schema()
    >>> members, existing = survey.head(1500), survey.head(3000)
    >>> older = survey.tail(1000).filter(survey.tail(1000)["age_group"] > 3)
    >>> risk = shoal.MarketRisk(shift="ratio", coding="dummy").fit(members, existing, schema)
    >>> market = risk.assess(older, name="older", seed=1)
    >>> market.mean > members["cost"].mean(), market.interval[0] < market.mean < market.interval[1]
    (True, True)
    """

    shift: Annotated[Literal["none", "ratio", "logistic"], Help("how members are weighted")] = "ratio"
    coding: Annotated[Literal["dummy", "numeric"], Help("how covariates enter the model")] = "dummy"
    model: Annotated[Any, Help("cost model")] = None
    response: Annotated[str | None, Help("the cost column")] = None
    smoothing: Annotated[float, Range(low=0), Help("records added to each cell")] = 0.0
    cap: Annotated[float | None, Range(low=1), Help("largest weight, as a multiple of the mean")] = None
    bins: Annotated[int, Range(low=2), Help("cells of a numeric column with more distinct values")] = 20
    limit: Annotated[float, Range(low=0, high=1), Help("largest share of the new market without weight")] = 0.2
    _fitted: _Fitted | None = field(default=None, init=False, repr=False, compare=False)

    def fit(self, members: Any, existing: Any, schema: Schema) -> MarketRisk:
        """Take the members and the existing market.

        Parameters
        ----------
        members
            Quasi-identifiers and cost of the members: any dataframe, or a `Release` of them.
        existing
            Quasi-identifiers of the market that the members come from. None: the tables given to `assess` hold
            prospective enrollees themselves (two populations), and the members' own distribution takes its place.
        schema
            The schema of the members.
        """
        fitter = fitter_of(self.model)
        shift = self._shift()
        own = read_members(members, schema, self.response)
        check_costs(self.model, own.response, own.costs)
        here = own if existing is None else read_market(existing, own.schema, "existing market")
        design = Design.learn([here, own], own.schema, self.bins)
        self._fitted = _Fitted(members=own, existing=here, design=design, shift=shift, fitter=fitter)
        return self

    def assess(
        self,
        new_market: Any,
        enrolment: Any = None,
        group_size: float | None = None,
        cost_factor: float = 1.0,
        *,
        name: str = "new market",
        bootstrap: int = 200,
        seed: int = 0,
    ) -> MarketAssessment:
        """Predict what people of `new_market` will cost.

        Parameters
        ----------
        new_market
            Quasi-identifiers of the new market's people; survey weights count if it has the weight column.
        enrolment
            Who enrols: None for everybody alike; a probability for each row, or the name of a column that holds it;
            ``"members"`` for people like the members, P(E=1 | x) ∝ p(x | members) / p(x | existing).
        group_size
            Number m of enrollees whose mean cost is in question; raising it narrows the interval down to the error of
            the prediction itself. None: the people that the table stands for, Σ weight · enrolment.
        cost_factor
            Cost of living a(M): costs there are this many times those here at equal x.
        name
            What the market is called in reports.
        bootstrap
            Repeats of the bootstrap.
        seed
            Repeats the random choices; use one seed for markets that are to be compared.
        """
        fitted = self._ready()
        _check_numbers(group_size, cost_factor, bootstrap)
        new = read_market(new_market, fitted.members.schema, "new market")
        populations = meet(fitted.design, [fitted.members, fitted.existing, new], self.limit)
        job = _Job(
            fitted=fitted,
            coding=self.coding,
            populations=populations,
            likelihood=_enrolment(enrolment, new_market, new, populations),
            seed=seed,
        )
        return _assess(job, self, new, enrolment, group_size, cost_factor, name, bootstrap)

    def _shift(self) -> Shift:
        check(self)
        return Shift(method=self.shift, smoothing=self.smoothing, cap=self.cap, bins=self.bins, limit=self.limit)

    def _ready(self) -> _Fitted:
        if self._fitted is None:
            raise ParameterError("MarketRisk", "fit(members, existing, schema) must come before assess")
        return self._fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """What `fit` keeps: the two tables and their coding."""

    members: Members
    existing: People
    design: Design
    shift: Shift
    fitter: Fitter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One market on common ground with members and existing market.

    `likelihood` is the mean probability of enrolment on each combination; None: like the members, to be estimated.
    """

    fitted: _Fitted
    coding: Literal["dummy", "numeric"]
    populations: Populations
    likelihood: FloatArray | None
    seed: int

    @property
    def members(self) -> Population:
        return self.populations.tables[0]

    def target(self, member_mass: FloatArray, existing: FloatArray, new: FloatArray) -> FloatArray:
        """Mass of the new market's enrolment on each combination."""
        if self.likelihood is not None:
            return new * self.likelihood
        cells = self.populations.in_cells
        odds = mass_ratio(cells(member_mass) / member_mass.sum(), cells(existing) / existing.sum())
        return new * (odds / odds.max())[self.populations.cell]


def _assess(
    job: _Job,
    risk: MarketRisk,
    new: People,
    enrolment: Any,
    group_size: float | None,
    cost_factor: float,
    name: str,
    bootstrap: int,
) -> MarketAssessment:
    populations, fitted = job.populations, job.fitted
    members, existing, market = populations.tables
    diagnostics = weigh(fitted.shift, populations, fitted.members.n_original, fitted.members.rows)
    target = _checked_target(job.target(members.mass, existing.mass, market.mass))
    notes = [*diagnostics.notes, *_unseen(job, target, risk.limit)]
    X = populations.design.matrix(populations.points, job.coding)
    a = fitted.members.weights * diagnostics.values[fitted.members.rows]
    y = fitted.members.costs * cost_factor
    predicted = fitted.fitter(X, members.point, y, a)(X)
    errors = _squared_errors(job, X, y, a)
    m = float(target.sum()) if group_size is None else float(group_size)
    levels = _levels(job, target)
    draws = _bootstrap(job, X, y, levels, bootstrap)
    mean = float(target @ predicted / target.sum())
    mse = float(a @ errors / a.sum())
    y_mean = float(a @ y / a.sum())
    variance = float(a @ (y - y_mean) ** 2 / a.sum())
    spread = _spread(draws[:, 0], mean)
    floor = 0.0 if (y >= 0).all() else -math.inf
    error = math.sqrt((m - 1) / m * spread**2 + mse / m) if m >= 1 else math.sqrt(mse)
    notes += _told(enrolment, group_size, job, m)
    return MarketAssessment(
        name=name,
        mean=mean,
        total=mean * m,
        interval=(max(floor, mean - 1.96 * error), mean + 1.96 * error),
        sampling_interval=_middle(draws[:, 0], mean),
        relative_error=_relative(mean, m, spread, mse, variance),
        relative_bias=spread / abs(mean) if mean else math.nan,
        r_squared=1 - mse / variance if variance > 0 else math.nan,
        cv_squared=variance / y_mean**2 if y_mean else math.nan,
        weighted_member_mean=y_mean,
        group_size=m,
        cost_factor=float(cost_factor),
        enrolment=_enrolment_words(enrolment),
        method=f"{risk.shift} shift, {risk.coding} coding, {model_name(risk.model)}",
        n_members=members.n,
        n_new=new.n,
        segments=_segments(job, levels, predicted, target, errors, a, draws, m, floor),
        weights=diagnostics,
        weight_map=_weight_map(job, diagnostics),
        draws=draws[:, 0],
        notes=tuple(notes),
    )


def _relative(mean: float, m: float, spread: float, mse: float, variance: float) -> float:
    if not mean or variance <= 0:
        return math.nan
    return group_error(max(1.0, m), spread / mean, 1 - mse / variance, variance / mean**2)


def _squared_errors(job: _Job, X: FloatArray, y: FloatArray, a: FloatArray) -> FloatArray:
    """Squared error of each member's cost, predicted by a model that didn't see it."""
    point = job.members.point
    fold = stream(job.seed, "market", "folds").permutation(len(y)) % FOLDS
    out = np.empty(len(y))
    for j in range(FOLDS):
        held = fold == j
        rest = np.where(held, 0.0, a)
        seen = rest > 0
        if not seen.any():
            out[held] = (y[held] - np.average(y)) ** 2
            continue
        predict = job.fitted.fitter(X, point[seen], y[seen], rest[seen])
        out[held] = (predict(X)[point[held]] - y[held]) ** 2
    return out


def _bootstrap(job: _Job, X: FloatArray, y: FloatArray, levels: list[_Level], repeats: int) -> FloatArray:
    """Means of the whole and of each level, in each repeat of a Bayesian bootstrap of all three tables."""
    out = np.empty((repeats, 1 + len(levels)))
    for b in range(repeats):
        target, predicted = _repeat(job, X, y, b)
        out[b, 0] = target @ predicted / target.sum()
        for i, level in enumerate(levels, 1):
            mass = target[level.points]
            out[b, i] = mass @ predicted[level.points] / mass.sum() if mass.sum() > 0 else np.nan
    return out


def _repeat(job: _Job, X: FloatArray, y: FloatArray, b: int) -> tuple[FloatArray, FloatArray]:
    """Target masses and predictions on the combinations, from redrawn tables."""
    members, existing, new = job.populations.tables
    v = members.weights * stream(job.seed, "market", "members", b).standard_exponential(members.n)
    here = existing.redrawn(stream(job.seed, "market", "existing", b))
    there = new.redrawn(stream(job.seed, "market", "new", b))
    mass = np.bincount(members.point, weights=v, minlength=len(X))
    raw = job.fitted.shift.factors(job.populations, here, there)
    w, _ = normalised(raw, members, job.fitted.shift.cap)
    a = v * w[members.point]
    there_enrolled = job.target(mass, here, there)
    return there_enrolled, job.fitted.fitter(X, members.point, y, a)(X)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One level of one column, and the combinations that have it."""

    column: str
    label: str
    points: IntArray


def _levels(job: _Job, target: FloatArray) -> list[_Level]:
    design = job.populations.design
    cells = design.cells(job.populations.points)
    out = []
    for j, factor in enumerate(design.factors):
        mass = np.bincount(cells[:, j], weights=target, minlength=factor.n_cells)
        if (mass > 0).sum() > MOST_LEVELS:
            continue
        labels = factor.labels()
        for cell in np.flatnonzero(mass > 0):
            points = np.flatnonzero(cells[:, j] == cell)
            out.append(_Level(column=factor.name, label=labels[cell], points=points))
    return out


def _segments(
    job: _Job,
    levels: list[_Level],
    predicted: FloatArray,
    target: FloatArray,
    errors: FloatArray,
    a: FloatArray,
    draws: FloatArray,
    m: float,
    floor: float,
) -> tuple[Segment, ...]:
    out = []
    for i, level in enumerate(levels, 1):
        inside = np.isin(job.members.point, level.points)
        mass = target[level.points]
        share = float(mass.sum() / target.sum())
        mean = float(mass @ predicted[level.points] / mass.sum())
        own = inside if inside.sum() >= ENOUGH and a[inside].sum() > 0 else np.ones(len(a), dtype=np.bool_)
        mse = float(a[own] @ errors[own] / a[own].sum())
        size = max(1.0, m * share)
        error = math.sqrt((size - 1) / size * _spread(draws[:, i], mean) ** 2 + mse / size)
        out.append(
            Segment(
                column=level.column,
                level=level.label,
                share=share,
                n_members=int(inside.sum()),
                mean=mean,
                total=mean * m * share,
                interval=(max(floor, mean - 1.96 * error), mean + 1.96 * error),
            )
        )
    return tuple(out)


def _weight_map(job: _Job, diagnostics: ShiftWeights) -> tuple[WeightCell, ...]:
    """Mean weights of the existing market's people at each pair of levels of two columns."""
    populations = job.populations
    members, existing, new = populations.tables
    raw = job.fitted.shift.factors(populations, existing.mass, new.mass)
    w, _ = normalised(raw, members, job.fitted.shift.cap)
    cells = populations.design.cells(populations.points)
    factors = populations.design.factors
    few = [j for j, factor in enumerate(factors) if 1 < factor.n_cells - 1 <= MOST_LEVELS]
    pairs = [(i, j) for n, i in enumerate(few) for j in few[n + 1 :]] if diagnostics.method != "none" else []
    out: list[WeightCell] = []
    for i, j in pairs:
        labels = (factors[i].labels(), factors[j].labels())
        shape = (factors[i].n_cells, factors[j].n_cells)
        key = np.ravel_multi_index((cells[:, i], cells[:, j]), shape)
        mass, weighted, q = (
            np.bincount(key, weights=x, minlength=shape[0] * shape[1])
            for x in (existing.mass, existing.mass * w, new.mass / new.mass.sum())
        )
        for place in np.flatnonzero(mass > 0):
            row, column = np.unravel_index(place, shape)
            out.append(
                WeightCell(
                    columns=(factors[i].name, factors[j].name),
                    levels=(labels[0][row], labels[1][column]),
                    weight=float(weighted[place] / mass[place]),
                    new_share=float(q[place]),
                )
            )
    return tuple(out)


def _unseen(job: _Job, target: FloatArray, limit: float) -> list[str]:
    """Levels of the new market that no member has: the model can't know their cost."""
    design = job.populations.design
    cells = design.cells(job.populations.points)
    notes = []
    for j, factor in enumerate(design.factors):
        there = np.bincount(cells[:, j], weights=target, minlength=factor.n_cells) / target.sum()
        seen = np.bincount(cells[:, j], weights=job.members.mass, minlength=factor.n_cells) > 0
        gaps = np.flatnonzero((there > 0) & ~seen)
        share = float(there[gaps].sum())
        if share == 0:
            continue
        words = f"{named([factor.labels()[i] for i in gaps])} ({share:.1%} of the new market)"
        if share > limit:
            raise InputError(
                "new market",
                f"must not hold more than {limit:.0%} people of levels that no member has",
                got=f"column '{factor.name}', {words}",
                hint="Merge levels, leave these people out, or raise limit.",
            )
        notes.append(f"No member has {factor.name} = {words}; their cost is extrapolated from other levels.")
    return notes


def _enrolment(given: Any, table: Any, new: People, populations: Populations) -> FloatArray | None:
    """Mean probability of enrolment on each combination; None: to be estimated from the members."""
    if isinstance(given, str) and given == "members":
        return None
    market = populations.tables[2]
    if given is None:
        return np.ones(len(populations.points))
    chances = _chances(given, table, new)
    sums = np.bincount(market.point, weights=market.weights * chances, minlength=len(populations.points))
    return mass_ratio(sums, market.mass)


def _chances(given: Any, table: Any, new: People) -> FloatArray:
    from shoal.frame import enter

    if isinstance(given, str):
        frame = enter(table, owner="new market")
        if given not in frame.columns:
            raise ParameterError(
                "assess",
                "enrolment must be 'members', a column of the new market, or a probability for each row",
                got=repr(given)[:60],
            )
        values = floats(series(frame, given))
    else:
        values = np.asarray(given, dtype=np.float64)
    if values.shape != (new.n_original,):
        raise InputError("enrolment", "must be one probability for each row", got=f"shape {values.shape}")
    chances: FloatArray = values[new.rows]
    if not (np.isfinite(chances).all() and (chances >= 0).all() and (chances <= 1).all() and chances.any()):
        raise InputError("enrolment", "must hold probabilities from 0 to 1, not all 0, none missing")
    return chances


def _checked_target(target: FloatArray) -> FloatArray:
    if not target.sum() > 0:
        raise InputError(
            "enrolment",
            "must leave somebody of the new market",
            got="expected enrolment 0",
            hint="Where enrolment is estimated, the new market has nobody like any member.",
        )
    return target


def _check_numbers(group_size: float | None, cost_factor: float, bootstrap: int) -> None:
    rules = (
        (
            group_size is None or (_is_number(group_size) and group_size >= 1),
            "group_size must be at least 1",
            group_size,
        ),
        (_is_number(cost_factor) and cost_factor > 0, "cost_factor must be greater than 0", cost_factor),
        (isinstance(bootstrap, int) and bootstrap >= 2, "bootstrap must be a whole number of at least 2", bootstrap),
    )
    for holds, rule, value in rules:
        if not holds:
            raise ParameterError("assess", rule, got=repr(value)[:40])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _told(enrolment: Any, group_size: float | None, job: _Job, m: float) -> list[str]:
    notes = []
    if enrolment is None:
        notes.append("No enrolment was given: the prediction is for the whole market, everybody enrolling alike.")
    if job.likelihood is None and group_size is None:
        notes.append("Enrolment is estimated up to a constant: give group_size, or the total is of unknown scale.")
    if m < 1:
        notes.append("The group counts fewer than one person; the interval is that of a single one.")
    return notes


def _enrolment_words(given: Any) -> str:
    if given is None:
        return "everybody alike"
    if isinstance(given, str):
        return "like the members" if given == "members" else f"by the column {given}"
    return "by the given probabilities"


def _spread(draws: FloatArray, mean: float) -> float:
    """Root mean square distance of the repeats from the estimate."""
    there = draws[np.isfinite(draws)]
    return float(np.sqrt(np.mean((there - mean) ** 2))) if len(there) else 0.0


def _middle(draws: FloatArray, mean: float) -> tuple[float, float]:
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return min(float(low), mean), max(float(high), mean)
