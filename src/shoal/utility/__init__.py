"""What a release keeps of its original: distributions, moments, ranks, regressions, likeness.

Every measure takes the original, the released table and the schema; `assess` takes a `shoal.pair.Pair` and gives all of
them. Nothing here is a guarantee: these are measured numbers, with an interval where they are estimates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand
from shoal.utility.noise_corrected import CorrectedSlope, NoiseCorrected, noise_corrected
from shoal.utility.quality import ColumnScore, PairScore, Quality, quality
from shoal.utility.usefulness import Trained, Usefulness, usefulness

if TYPE_CHECKING:
    from shoal.utility.assessment import UtilityReport, assess
    from shoal.utility.intersection import (
        BootstrapIntersection,
        TotalVariation,
        bootstrap_intersection,
        histogram_intersection,
        total_variation,
    )
    from shoal.utility.marginal import Marginals, Ranks, marginals, ranks
    from shoal.utility.moment import Moments, moments
    from shoal.utility.propensity_score import EnergyDistance, Propensity, energy_distance, propensity
    from shoal.utility.regress import Regression, regression
    from shoal.utility.relations_kept import Relations, Slope, relations

__all__ = [
    "BootstrapIntersection",
    "ColumnScore",
    "CorrectedSlope",
    "EnergyDistance",
    "Marginals",
    "Moments",
    "NoiseCorrected",
    "PairScore",
    "Propensity",
    "Quality",
    "Ranks",
    "Regression",
    "Relations",
    "Slope",
    "TotalVariation",
    "Trained",
    "Usefulness",
    "UtilityReport",
    "assess",
    "bootstrap_intersection",
    "energy_distance",
    "histogram_intersection",
    "marginals",
    "moments",
    "noise_corrected",
    "propensity",
    "quality",
    "ranks",
    "regression",
    "relations",
    "total_variation",
    "usefulness",
]

__getattr__, __dir__ = on_demand(__name__)
