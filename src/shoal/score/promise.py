"""The promise of a certified model, in sentences that a steward can quote."""

from __future__ import annotations

import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.claim import Claim
from shoal.domain.declared import content_of
from shoal.dp import Budget, ProtectedUnit
from shoal.dp.unit import FIT_STOPS, rows_within
from shoal.frame import Frame
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.value import canonical

__all__ = ["Certified", "certified_claim"]


class Certified:
    """What certified models have in common: the whole model costs ε once, and answers are post-processing."""

    epsilon: float
    rows_per_person: int
    schema: Schema | None

    @property
    def unit(self) -> ProtectedUnit:
        """Who is protected; once fitted, it says whether the table named its persons."""
        return ProtectedUnit(rows=self.rows_per_person, held=getattr(self, "held_", False))

    @property
    def per_row(self) -> Budget:
        """What one row may cost, so that a person costs ε."""
        return self.unit.per_row(Budget(epsilon=self.epsilon))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """ε-DP for the whole model: proved."""
        return (certified_claim(self.epsilon, self.unit),)

    @property
    def spent(self) -> Budget | None:
        """ε, once."""
        return Budget(epsilon=self.epsilon)

    @property
    def cost(self) -> Budget | None:
        """Nothing: answers are post-processing."""
        return Budget(epsilon=0)

    def _within_unit(self, frame: Frame, cells: IntArray, kept: BoolArray) -> BoolArray:
        """The rows that are left when no person has more than they may, if the table says whose they are."""
        name = None if self.schema is None else self.schema.unit
        self.held_ = name is not None and name in frame.columns
        if name is None or not self.held_:
            return kept
        seed = getattr(self, "random_state", None)
        key = int(stream(fresh_seed() if seed is None else int(seed), "rows of a person").integers(2**63))
        persons = canonical(content_of(frame, name)).filter(pl.Series(kept))
        out = kept.copy()
        out[kept] = rows_within(persons, cells[kept], self.rows_per_person, key)
        return out


def certified_claim(epsilon: float, unit: ProtectedUnit) -> Claim:
    """ε-DP for the whole model, once, and any number of answers."""
    return Claim(
        kind="epsilon-DP",
        value=float(epsilon),
        scope="per data set",
        basis="proved",
        statement=(
            f"The whole model is {epsilon:g}-differentially private: adding or removing one person makes no model more "
            f"than e^{epsilon:g} times likelier. {unit.statement} Answers are free: any number of them tells no more "
            "than the model."
        ),
        assumptions=(
            *unit.assumptions,
            "For replacing a person the price is twice epsilon.",
            "Levels, bounds, edges, missing rules, classes and all parameters were chosen from public knowledge.",
            FIT_STOPS,
        ),
    )
