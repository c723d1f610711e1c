"""The promises of synthetic rows, in sentences that a steward can quote."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.claim import Basis, Claim, Kind
from shoal.dp import Budget, ProtectedUnit
from shoal.dp.unit import FIT_STOPS

__all__ = ["DATA_CHOSEN", "assumptions", "dp_claim", "dp_kind"]

DATA_CHOSEN = (
    "Parents were chosen by plain mutual information from the data. One record can change that choice, and then "
    "no finite "
    "epsilon holds; the number is the paper's, and Shoal does not vouch for it."
)


def assumptions(unit: ProtectedUnit | None, *more: str) -> tuple[str, ...]:
    """What must be true for a claim about synthetic rows; without a unit any two data sets are neighbours."""
    neighbours = ("Any two data sets are neighbours.",) if unit is None else unit.assumptions
    return (
        *neighbours,
        "Levels, bounds, edges, missing rules, rules between columns and all parameters were chosen from public "
        "knowledge; types and order of the columns follow from them.",
        "The number of rows to draw was not taken from the private table.",
        FIT_STOPS,
        *more,
    )


def dp_kind(budget: Budget) -> Kind:
    """The literature's name of what a budget promises."""
    return "epsilon-DP" if budget.definition == "pure" else "(epsilon, delta)-DP"


def dp_claim(budget: Budget, *, scope: str, basis: Basis, statement: str, given: Sequence[str]) -> Claim:
    """A differential-privacy claim of that size."""
    return Claim(
        kind=dp_kind(budget),
        value=budget.epsilon,
        scope=scope,
        basis=basis,
        statement=statement,
        assumptions=tuple(given),
    )
