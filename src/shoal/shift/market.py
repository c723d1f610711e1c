"""Market risk: what enrollees of a new market will cost, learnt from members of an existing one.

Costs are known of members only, p(x, y | E=1, M=0); of the new market only covariates are known, p(x | M=1). Members
are weighted towards the new market (`shoal.shift.weights`), a cost model is fitted to the weighted members
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

from shoal.design import Design
from shoal.errors import ParameterError
from shoal.params import Help, Range, check
from shoal.schema import Schema
from shoal.shift.assessment import MarketAssessment
from shoal.shift.estimate import Estimate, Group, unseen_levels, weight_map
from shoal.shift.models import Fitter, check_costs, fitter_of, model_name
from shoal.shift.parity import compared, parity_of
from shoal.shift.people import Members, People, read_market, read_members
from shoal.shift.populations import learn_design, meet
from shoal.shift.prediction import Ground, enrolment_words, likelihood
from shoal.shift.weights import Shift, weigh

__all__ = ["MarketRisk"]


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
        None or ``"least-squares"``, ``"two-part"``, ``"log"``, ``"gamma"``, ``"tweedie"``, ``"multiplicative"``, or a
        scikit-learn regressor that takes `sample_weight`.
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
    model: Annotated[object, Help("cost model")] = None
    response: Annotated[str | None, Help("the cost column")] = None
    smoothing: Annotated[float, Range(low=0), Help("records added to each cell")] = 0.0
    cap: Annotated[float | None, Range(low=1), Help("largest weight, as a multiple of the mean")] = None
    bins: Annotated[int, Range(low=2), Help("bins for a numeric column with more distinct values")] = 20
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
        design = learn_design([here, own], own.schema, self.bins)
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
        compare: Any = None,
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
            Number of bootstrap replicates.
        seed
            Repeats the random choices; use one seed for markets that are to be compared.
        compare
            Groups of members for which predictions are to be held against actual costs: names of quasi-identifiers, or
            a mapping from a name to one value for each member, so that it may be a column that the model does not use.
        """
        fitted = self._ready()
        _check_numbers(group_size, cost_factor, bootstrap)
        groups = compared(compare, fitted.members)
        new = read_market(new_market, fitted.members.schema, "new market")
        populations = meet(fitted.design, [fitted.members, fitted.existing, new], self.limit)
        weights = weigh(fitted.shift, populations, fitted.members.n_original, fitted.members.rows)
        ground = Ground(
            populations=populations,
            X=populations.design.matrix(populations.points, self.coding),
            costs=fitted.members.costs * cost_factor,
            shift=fitted.shift,
            fitter=fitted.fitter,
            likelihood=likelihood(enrolment, new_market, new, populations),
            two_populations=fitted.existing is fitted.members,
            seed=seed,
        )
        target = ground.target(*(table.mass for table in populations.tables))
        notes = [*weights.notes, *unseen_levels(populations, target, self.limit)]
        estimate = Estimate.of(ground, ground.members.weights * weights.values[fitted.members.rows], target, bootstrap)
        m = float(target.sum()) if group_size is None else float(group_size)
        group = Group(m=m, floor=0.0 if (ground.costs >= 0).all() else -math.inf)
        error = group.error(estimate.spread, estimate.mse)
        return MarketAssessment(
            name=name,
            mean=estimate.mean,
            total=estimate.mean * m,
            interval=group.interval(estimate.mean, error),
            sampling_interval=estimate.middle(),
            relative_error=_share_of(error, estimate.mean),
            relative_bias=_share_of(estimate.spread, estimate.mean),
            r_squared=estimate.r_squared,
            cv_squared=_share_of(estimate.variance, estimate.member_mean**2),
            weighted_member_mean=estimate.member_mean,
            group_size=m,
            cost_factor=float(cost_factor),
            enrolment=enrolment_words(enrolment),
            method=f"{self.shift} shift, {self.coding} coding, {model_name(self.model)}",
            n_members=fitted.members.n,
            n_new=new.n,
            segments=estimate.segments(ground.members.point, group),
            weights=weights,
            weight_map=() if self.shift == "none" else weight_map(populations, ground.all_weights()),
            draws=estimate.draws[:, 0],
            parity=parity_of(groups, estimate.residuals, ground.costs, estimate.a),
            notes=(*notes, *_remarks(ground, enrolment, group_size, m)),
        )

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


def _check_numbers(group_size: float | None, cost_factor: float, bootstrap: int) -> None:
    sized = group_size is None or (_is_number(group_size) and group_size >= 1)
    rules = (
        (sized, "group_size must be at least 1", group_size),
        (_is_number(cost_factor) and cost_factor > 0, "cost_factor must be greater than 0", cost_factor),
        (isinstance(bootstrap, int) and bootstrap >= 2, "bootstrap must be a whole number of at least 2", bootstrap),
    )
    for holds, rule, value in rules:
        if not holds:
            raise ParameterError("assess", rule, got=repr(value)[:40])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _remarks(ground: Ground, enrolment: Any, group_size: float | None, m: float) -> list[str]:
    notes = []
    if enrolment is None and not ground.two_populations:
        notes.append("No enrolment was given: the prediction is for the whole market, everybody enrolling alike.")
    if ground.likelihood is None and group_size is None:
        notes.append("Enrolment is estimated up to a constant: give group_size, or the total is of unknown scale.")
    if m < 1:
        notes.append("The group counts fewer than one person; the interval is that of a single one.")
    return notes


def _share_of(value: float, whole: float) -> float:
    return value / abs(whole) if whole else math.nan
