"""One market on common ground with members and existing market: predict, cross-check, repeat.

`Ground` holds the masses of the three populations on the distinct combinations of x. Weights, model and target are
computed from masses, so a bootstrap repeat only draws new ones: each row of each table weighs Exp(1) times its survey
weight (the Bayesian bootstrap). The draws of the members depend on the seed and the repeat alone, so the repeats of
two markets are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError
from shoal.rng import stream
from shoal.shift.enrolment import members_likelihood
from shoal.shift.models import Fitter
from shoal.shift.populations import Population, Populations
from shoal.shift.tally import sums_by
from shoal.shift.weights import Shift, normalised

__all__ = ["Ground"]

FOLDS = 5


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
            likely = members_likelihood(self.populations, members, existing)
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

    def squared_errors(self, a: FloatArray) -> FloatArray:
        """Squared error of each member's cost as predicted by a model that didn't see it."""
        n, point = len(a), self.members.point
        fold = stream(self.seed, "market", "folds").permutation(n) % FOLDS
        out = np.empty(n)
        for j in range(FOLDS):
            held = fold == j
            rest = np.where(held, 0.0, a)
            predicted = self.predict(rest) if rest.any() else np.full(len(self.X), self.costs.mean())
            out[held] = (predicted[point[held]] - self.costs[held]) ** 2
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
