"""Individual values from aggregates, and what that says about publishing aggregates.

An `Aggregate` is a set of groups with a published mean for each; `PseudoInverse`, `EcologicalRegression`,
`RidgeEcological`, `Ludia` and `Cudia` rebuild the individual values from it and from individual covariates. None is
best everywhere: fit several and compare. `learn` trains a scikit-learn model on reconstructed targets;
`noise_for_means` says what differential privacy would cost the publisher. How well the attack works on a given table
is measured by `shoal.risk.aggregate_exposure`.
"""

from shoal.aggregate.cudia import Cudia
from shoal.aggregate.design import Aggregate
from shoal.aggregate.ecological import EcologicalRegression, RidgeEcological
from shoal.aggregate.learning import Learnt, learn
from shoal.aggregate.ludia import Ludia
from shoal.aggregate.noise import NoiseAdvice, noise_for_means
from shoal.aggregate.pseudo_inverse import PseudoInverse
from shoal.aggregate.reconstruction import CAUTION, Reconstruction, Reconstructor

__all__ = [
    "CAUTION",
    "Aggregate",
    "Cudia",
    "EcologicalRegression",
    "Learnt",
    "Ludia",
    "NoiseAdvice",
    "PseudoInverse",
    "Reconstruction",
    "Reconstructor",
    "RidgeEcological",
    "learn",
    "noise_for_means",
]
