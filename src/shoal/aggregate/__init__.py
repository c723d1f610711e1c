"""Individual values from aggregates, and what that says about publishing aggregates.

An `Aggregate` is a set of groups with a published mean for each; `PseudoInverse`, `EcologicalRegression`,
`RidgeEcological`, `Ludia` and `Cudia` rebuild the individual values from it and from individual covariates, and
`CrossedRegression` from two sets that cross. None is best everywhere, and one set can't tell which is;
`held_out_error` asks a second set. For a share by area and two groups of people `mean_bounds` says what must be true,
and `King` what is likely. `learn` trains a scikit-learn model on reconstructed targets;
`noise_for_means` says what differential privacy would cost the publisher. How well the attack works on a given table
is measured by `shoal.risk.aggregate_exposure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.aggregate.cudia import Cudia
    from shoal.aggregate.ecological import (
        CrossedRegression,
        EcologicalRegression,
        PseudoInverse,
        RidgeEcological,
        held_out_error,
        held_out_errors,
    )
    from shoal.aggregate.king import King, MeanBounds, mean_bounds
    from shoal.aggregate.ludia import Ludia
    from shoal.aggregate.published import Aggregate, NoiseAdvice, noise_for_means
    from shoal.aggregate.reconstruction import CAUTION, Learnt, Reconstruction, Reconstructor, learn

__all__ = [
    "CAUTION",
    "Aggregate",
    "CrossedRegression",
    "Cudia",
    "EcologicalRegression",
    "King",
    "Learnt",
    "Ludia",
    "MeanBounds",
    "NoiseAdvice",
    "PseudoInverse",
    "Reconstruction",
    "Reconstructor",
    "RidgeEcological",
    "held_out_error",
    "held_out_errors",
    "learn",
    "mean_bounds",
    "noise_for_means",
]

__getattr__, __dir__ = on_demand(__name__)
