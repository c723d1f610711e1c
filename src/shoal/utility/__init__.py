"""What a release keeps of its original: distributions, moments, ranks, regressions, likeness.

Every measure takes the original, the released table and the schema; `assess` takes a `shoal.pair.Pair` and gives all of
them. Nothing here is a guarantee: these are measured numbers, with an interval where they are estimates.
"""

from __future__ import annotations

from shoal.utility.assessment import UtilityReport, assess
from shoal.utility.distinguish import Propensity, propensity
from shoal.utility.energy import EnergyDistance, energy_distance
from shoal.utility.intersection import BootstrapIntersection, bootstrap_intersection, histogram_intersection
from shoal.utility.marginal import Marginals, marginals
from shoal.utility.moment import Moments, moments
from shoal.utility.rank import Ranks, ranks
from shoal.utility.regress import Regression, regression
from shoal.utility.variation import TotalVariation, total_variation

__all__ = [
    "BootstrapIntersection",
    "EnergyDistance",
    "Marginals",
    "Moments",
    "Propensity",
    "Ranks",
    "Regression",
    "TotalVariation",
    "UtilityReport",
    "assess",
    "bootstrap_intersection",
    "energy_distance",
    "histogram_intersection",
    "marginals",
    "moments",
    "propensity",
    "ranks",
    "regression",
    "total_variation",
]
