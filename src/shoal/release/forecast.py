"""About how long a run will take: a forecast from rows × columns × method, by measured costs, and no promise.

A step's cost is close to fixed + rate × rows × columns, where columns are the quasi-identifiers for grouping, masking
and coarsening, and all released ones for the rest. Fixed costs and rates were measured on simulated claims of 10,000
and 100,000 rows on two cores that others used too; on another machine all are off by the same factor or so. A method
without measured costs is taken for the dearest of its family that has them, and the forecast says *at least*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shoal.method import Method
from shoal.progress import spoken
from shoal.recipe import Recipe
from shoal.schema import Schema

__all__ = ["Forecast", "forecast"]

LONG = 10.0
"""Seconds from which a run is worth a word before it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Seconds that each step of a run should take, in order; `is_floor` where a method's own costs aren't known."""

    seconds: Mapping[str, float]
    is_floor: bool = False

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return sum(self.seconds.values())

    @property
    def is_long(self) -> bool:
        """Whether it is worth a word."""
        return self.total > LONG

    def __str__(self) -> str:
        return f"{'at least' if self.is_floor else 'about'} {spoken(self.total)}"


def forecast(n_rows: int, schema: Schema, recipe: Recipe) -> Forecast:
    """Forecast a run of `recipe` on `n_rows` rows, from the table in memory to the written release.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipe import Anonymization
    >>> from shoal.release.forecast import forecast
    >>> schema = shoal.Schema.of(quasi=["age", "sex", "county"], sensitive=["cost"])
    >>> recipe = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())
    >>> forecast(1000, schema, recipe).is_long, forecast(1_000_000, schema, recipe).is_long
    (False, True)
    """
    quasi, released = n_rows * max(1, len(schema.quasi)), n_rows * max(1, len(schema.released.columns))
    costs = _costs(recipe)
    return Forecast(
        seconds={
            "checking the table": _CHECKING.at(released),
            **{step: sum(cost.at(quasi) for cost in each) for step, each in costs.items()},
            **_evidence(recipe, released),
        },
        is_floor=any(cost.is_floor for each in costs.values() for cost in each)
        or any(method.family not in _STEPS for method in recipe.methods),
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """Seconds: fixed, and for a million cells."""

    fixed: float
    rate: float
    is_floor: bool = False

    def at(self, cells: float) -> float:
        return self.fixed + self.rate * cells / 1e6


def _costs(recipe: Recipe) -> dict[str, list[_Cost]]:
    """What the steps of the methods themselves cost; methods for events come on top of it."""
    found: dict[str, list[_Cost]] = {}
    for method in recipe.methods:
        for step, costs in _STEPS.get(method.family, {}).items():
            found.setdefault(step, []).append(_of(costs, method))
    return found


def _of(costs: Mapping[str, _Cost], method: Method) -> _Cost:
    dearest = max(costs.values(), key=lambda cost: cost.rate)
    return costs.get(method.name, replace(dearest, is_floor=True))


def _evidence(recipe: Recipe, cells: float) -> dict[str, float]:
    """What comes after the method; where records are left out, risk and utility are measured without them too."""
    cost = {step: each.at(cells) for step, each in (_EVIDENCE if recipe.is_of_people else _NOBODYS).items()}
    if recipe.leaves_out and not recipe.blanks_cells:
        cost["measuring utility"] += cost["measuring risk"] + cost["measuring utility"]
    return cost


# Measured in November 2026: processor seconds by step, k = 5, eight quasi-identifiers and two more columns.
# Grouping, risk, utility and reporting: set between a survey beside discharges (200,000 rows, 14 quasi-identifiers, 20
# columns) and hospital encounters (101,766 rows, 8 and 27), whose runs took 54 and 35 processor seconds.
_CHECKING = _Cost(0.0, 0.1)
_GROUPING = {"k-member": _Cost(0.5, 4.5), "mdav": _Cost(0.2, 1.9)}
_MASKING = {"gaussian-dither": _Cost(0.1, 6.5), "centroid": _Cost(0.05, 0.4), "resample": _Cost(0.05, 0.4)}
_COARSENING = {
    "mondrian": _Cost(0.1, 1.1),
    "generalize": _Cost(1.2, 5.0),
    "suppress": _Cost(0.1, 1.1),
    "recode": _Cost(0.0, 0.1),
    "safe-harbor": _Cost(0.0, 0.1),
}
_STEPS: Mapping[str, Mapping[str, Mapping[str, _Cost]]] = {
    "group": {"grouping": _GROUPING},
    "mask": {"masking": _MASKING},
    "coarsen": {"coarsening": _COARSENING},
    "synthesize": {"fitting": {"pegs": _Cost(0.1, 0.4)}, "drawing": {"pegs": _Cost(0.3, 1.5)}},
}
_AFTER = {"writing": _Cost(0.0, 0.03), "verifying": _Cost(0.0, 0.12), "reporting": _Cost(0.3, 1.0)}
_EVIDENCE = {"measuring risk": _Cost(0.5, 3.0), "measuring utility": _Cost(0.15, 0.9), **_AFTER}
_NOBODYS = {"measuring risk": _Cost(0.1, 0.5), "measuring utility": _Cost(0.1, 0.5), **_AFTER}
