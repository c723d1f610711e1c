"""About how long a run will take, before it starts: rows × columns × method, from measured costs.

A step's cost is close to fixed + rate × rows × columns, where columns are the quasi-identifiers for grouping, masking
and coarsening, and all released ones for the rest. Fixed costs and rates were measured on simulated claims of 10,000 to
1,000,000 rows on two cores; on another machine all are off by the same factor or so. A method without measured costs is
taken for the dearest that has them. It is a forecast, and no promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.method import Method
from shoal.progress import spoken
from shoal.recipe import Anonymization, Coarsening, Recipe, Synthesis
from shoal.schema import Schema

__all__ = ["Forecast", "forecast"]

LONG = 10.0
"""Seconds from which a run is worth a word before it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Seconds that each step of a run should take, in order."""

    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return sum(self.seconds.values())

    @property
    def is_long(self) -> bool:
        """Whether it is worth a word."""
        return self.total > LONG

    def __str__(self) -> str:
        return f"about {spoken(self.total)}"


def forecast(n_rows: int, schema: Schema, recipe: Recipe) -> Forecast:
    """Forecast a run of `recipe` on `n_rows` rows, from the table in memory to the written release.

            Examples
            --------
            >>> import shoal
            >>> from shoal.method import Method
    from shoal.progress import spoken
        from shoal.recipe import Recipe
            >>> from shoal.release.forecast import forecast
            >>> schema = shoal.Schema.of(quasi=["age", "sex", "county"], sensitive=["cost"])
            >>> recipe = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())
            >>> forecast(1000, schema, recipe).is_long, forecast(1_000_000, schema, recipe).is_long
            (False, True)
    """
    quasi, released = n_rows * max(1, len(schema.quasi)), n_rows * max(1, len(schema.released.columns))
    return Forecast(
        seconds={
            "checking the table": _CHECKING.at(released),
            **_method(recipe, quasi, released),
            **{step: cost.at(released) for step, cost in _EVIDENCE[_family(recipe)].items()},
        }
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """Seconds: fixed, and for a million cells."""

    fixed: float
    rate: float

    def at(self, cells: float) -> float:
        return self.fixed + self.rate * cells / 1e6


def _family(recipe: Recipe) -> str:
    if isinstance(recipe, Synthesis):
        return "synthesis"
    return "coarsening" if isinstance(recipe, Coarsening) else "masks"


def _method(recipe: Recipe, quasi: float, released: float) -> dict[str, float]:
    if isinstance(recipe, Anonymization):
        return {
            "grouping": _of(_GROUPING, recipe.group).at(quasi),
            "masking": sum(_of(_MASKING, mask).at(quasi) for mask in recipe.masks),
        }
    if isinstance(recipe, Coarsening):
        return {"coarsening": sum(_of(_COARSENING, method).at(quasi) for method in recipe.methods)}
    return {"fitting": _FITTING.at(released), "drawing": _DRAWING.at(released)}


def _of(costs: Mapping[str, _Cost], method: Method) -> _Cost:
    return costs.get(method.name, max(costs.values(), key=lambda cost: cost.rate))


# Measured; see the docs page on speed.
_CHECKING = _Cost(0.0, 0.1)
_GROUPING = {"k-member": _Cost(0.4, 4.0), "mdav": _Cost(0.4, 4.0)}
_MASKING = {
    "gaussian-dither": _Cost(0.2, 6.0),
    "centroid": _Cost(0.05, 0.3),
    "resample": _Cost(0.05, 0.3),
}
_COARSENING = {
    "mondrian": _Cost(0.2, 2.0),
    "generalize": _Cost(0.5, 5.0),
    "suppress": _Cost(0.2, 2.0),
    "recode": _Cost(0.0, 0.1),
}
_FITTING, _DRAWING = _Cost(0.5, 0.6), _Cost(0.3, 0.6)
_EVIDENCE = {
    "masks": {},
    "coarsening": {},
    "synthesis": {},
}
