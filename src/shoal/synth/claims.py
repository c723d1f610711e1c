"""The promises of synthetic rows, in sentences that a steward can quote."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.claim import Basis, Claim, Kind
from shoal.dp import Budget

__all__ = ["DATA_CHOSEN", "assumptions", "dp_claim", "dp_kind"]

DATA_CHOSEN = (
    "Parents were chosen by plain mutual information from the data. One record can change that choice, and then "
    "no finite "
    "epsilon holds; the number is the paper's, and Shoal does not vouch for it."
)


def assumptions(*, several_rows: bool, more: Sequence[str] = ()) -> tuple[str, ...]:
    """What must be true for a differential-privacy claim about synthetic rows."""
    unit = (
        "The schema names a unit, so a person may have several records: the claim is for one record, and a "
        "person with m "
        "of them is protected at m times epsilon (and, with a delta, more loosely still)."
        if several_rows
        else "Each person has one record; somebody with m records is protected at m times epsilon."
    )
    return (
        "Two data sets are neighbours if one has one record more (add or remove one).",
        unit,
        "Levels, bounds, edges, types, missing rules and rules between columns were declared from public knowledge.",
        "The number of rows to draw was not taken from the private table.",
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
