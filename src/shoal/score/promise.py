"""The promise of a certified model, in sentences that a steward can quote."""

from __future__ import annotations

from shoal.claim import Claim
from shoal.dp import Budget

__all__ = ["Certified", "certified_claim"]


class Certified:
    """What certified models have in common: the whole model costs ε once, and answers are post-processing."""

    epsilon: float

    @property
    def claims(self) -> tuple[Claim, ...]:
        """ε-DP for the whole model: proved."""
        return (certified_claim(self.epsilon),)

    @property
    def spent(self) -> Budget | None:
        """ε, once."""
        return Budget(epsilon=self.epsilon)

    @property
    def cost(self) -> Budget | None:
        """Nothing: answers are post-processing."""
        return Budget(epsilon=0)


def certified_claim(epsilon: float) -> Claim:
    """ε-DP for the whole model, once, and any number of answers."""
    return Claim(
        kind="epsilon-DP",
        value=float(epsilon),
        scope="per data set",
        basis="proved",
        statement=(
            f"The whole model is {epsilon:g}-differentially private: adding or removing one record makes no model more "
            f"than e^{epsilon:g} times likelier. Answers are free: any number of them tells no more than the model."
        ),
        assumptions=(
            "Two data sets are neighbours if one has one record more (add or remove one); for replacing a record the "
            "price is twice epsilon.",
            "Each person has one record; somebody with m records is protected at m times epsilon.",
            "Levels, bounds, edges, missing rules, classes and all parameters were chosen from public knowledge.",
            "The table is not empty and every record keeps to the schema: one that does not (a level that was not "
            "declared, a missing number without a rule) stops the fit, and whoever sees it stop learns that.",
        ),
    )
