"""One market on common ground with members and existing market: predict, cross-check, repeat.

`Ground` holds the masses of the three populations on the distinct combinations of x. Weights, model and target are
computed from masses, so a bootstrap repeat only draws new ones: each row of each table weighs Exp(1) times its survey
weight (the Bayesian bootstrap). The draws of the members depend on the seed and the repeat alone, so the repeats of
two markets are paired.

Who of the new market enrols: everybody alike, by known probabilities, or like the members.

If enrolment depends on x alone, P(E=1 | x) is proportional to p(x | E=1, M=0) / p(x | M=0): members and existing market
give it up to a constant, on the cells where the existing market has people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, series
from shoal.rng import stream
from shoal.shift.models import Fitter
from shoal.shift.people import People, ratio, sums_by
from shoal.shift.populations import Population, Populations
from shoal.shift.weights import Shift, normalised

__all__ = ["LIKE_MEMBERS", "Ground", "enrolment_words", "likelihood"]

FOLDS = 5
LIKE_MEMBERS = "members"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Members, existing and new market, with how members are weighted and modelled.

    Parameters
    ----------
    populations
        Members, existing market and new market on one set of combinations.
    X
        The design matrix of the combinations.
    costs
        The members' costs.
    likelihood
        Mean probability of enrolment on each combination; None: like the members.
    two_populations
        Whether the members stand for the existing market too, and are redrawn together with it.
    """

    populations: Populations
    X: FloatArray
    costs: FloatArray
    shift: Shift
    fitter: Fitter
    likelihood: FloatArray | None
    two_populations: bool
    seed: int

    @property
    def members(self) -> Population:
        """The members."""
        return self.populations.tables[0]

    def weights(self, existing: FloatArray, new: FloatArray) -> FloatArray:
        """Importance weight of each combination."""
        raw = self.shift.factors(self.populations, existing, new)
        return normalised(raw, self.members, self.shift.cap)[0]

    def all_weights(self) -> FloatArray:
        """Importance weight of each combination, from the tables as they are."""
        _, existing, new = self.populations.tables
        return self.weights(existing.mass, new.mass)

    def target(self, members: FloatArray, existing: FloatArray, new: FloatArray) -> FloatArray:
        """Mass of the new market's enrolment on each combination."""
        likely = self.likelihood
        if likely is None:
            likely = _members_likelihood(self.populations, members, existing)
        mass = new * likely
        if not mass.sum() > 0:
            raise InputError(
                "enrolment",
                "must leave at least one person of the new market",
                got="expected enrolment 0",
                hint="If enrolment is estimated, nobody in the new market resembles a member.",
            )
        return mass

    def predict(self, a: FloatArray) -> FloatArray:
        """The predicted cost on each combination, from members of weights `a`."""
        there = a > 0
        return self.fitter(self.X, self.members.point[there], self.costs[there], a[there])(self.X)

    def residuals(self, a: FloatArray) -> FloatArray:
        """Predicted minus actual cost of each member, by a model that didn't see it."""
        n, point = len(a), self.members.point
        fold = stream(self.seed, "market", "folds").permutation(n) % FOLDS
        out = np.empty(n)
        for j in range(FOLDS):
            held = fold == j
            rest = np.where(held, 0.0, a)
            predicted = self.predict(rest) if rest.any() else np.full(len(self.X), self.costs.mean())
            out[held] = predicted[point[held]] - self.costs[held]
        return out

    def bootstrap(self, groups: Sequence[IntArray], repeats: int) -> FloatArray:
        """Mean cost over each group of combinations (NaN where nobody is expected), a row per repeat."""
        return np.array([self._repeat(groups, b) for b in range(repeats)])

    def _repeat(self, groups: Sequence[IntArray], b: int) -> list[float]:
        members, existing, new = self.populations.tables
        v = members.weights * stream(self.seed, "market", "members", b).standard_exponential(members.n)
        mass = sums_by(members.point, v, len(self.X))
        here = mass if self.two_populations else existing.redrawn(stream(self.seed, "market", "existing", b))
        there = new.redrawn(stream(self.seed, "market", "new", b))
        predicted = self.predict(v * self.weights(here, there)[members.point])
        target = self.target(mass, here, there)
        return [_mean(predicted[group], target[group]) for group in groups]


def _mean(values: FloatArray, mass: FloatArray) -> float:
    total = float(mass.sum())
    return float(mass @ values) / total if total > 0 else float("nan")


def likelihood(given: Any, table: Any, new: People, populations: Populations) -> FloatArray | None:
    """Mean probability of enrolment on each combination; None: to be estimated from the members."""
    if isinstance(given, str) and given == LIKE_MEMBERS:
        return None
    if given is None:
        return np.ones(len(populations.points))
    market = populations.tables[2]
    chances = _chances(given, table, new)
    return ratio(sums_by(market.point, market.weights * chances, len(populations.points)), market.mass)


def _members_likelihood(populations: Populations, members: FloatArray, existing: FloatArray) -> FloatArray:
    """P(E=1 | x) on each combination, scaled to a maximum of 1, for these masses of members and existing market."""
    cells = populations.in_cells
    odds = ratio(cells(members) / members.sum(), cells(existing) / existing.sum())
    top = odds.max()
    likely: FloatArray = (odds / top if top > 0 else odds)[populations.cell]
    return likely


def enrolment_words(given: Any) -> str:
    """How enrolment was given, for a report."""
    if given is None:
        return "everybody alike"
    if isinstance(given, str):
        return "like the members" if given == LIKE_MEMBERS else f"by the column {given}"
    return "by the given probabilities"


def _chances(given: Any, table: Any, new: People) -> FloatArray:
    values = _column(given, table) if isinstance(given, str) else _numbers(given)
    if values.shape != (new.n_original,):
        raise InputError("enrolment", "must be one probability for each row", got=f"shape {values.shape}")
    chances: FloatArray = values[new.rows]
    if not (np.isfinite(chances).all() and (chances >= 0).all() and (chances <= 1).all() and chances.any()):
        raise InputError("enrolment", "must hold probabilities from 0 to 1, not all 0, none missing")
    return chances


def _column(name: str, table: Any) -> FloatArray:
    frame = enter(table, owner="new market")
    if name not in frame.columns:
        raise ParameterError(
            "assess",
            "enrolment must be 'members', a column of the new market, or a probability for each row",
            got=repr(name)[:60],
        )
    return floats(series(frame, name))


def _numbers(given: Any) -> FloatArray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("assess", "enrolment must hold numbers", got=type(given).__name__) from None
