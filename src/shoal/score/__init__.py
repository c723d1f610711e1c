"""Risk scores: what is a person's risk, answered to the outside without giving the training records away.

`CertifiedForest`, `CertifiedTree` and `CertifiedRegressor` (for a number) are ε-differentially private as a whole, so
their answers are free, and so is `explain`. `StableTree` and `StableForest` are the published private trees, whose
guarantee does not hold (basis ``published``); `distinct_alphas` says which α give trees that differ. `AlphaTree` is
the plain tree to compare with. All follow scikit-learn's conventions. `load` reads what `save` wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.score.alpha_tree import AlphaTree
    from shoal.score.certified_forest import CertifiedForest
    from shoal.score.certified_regressor import CertifiedRegressor
    from shoal.score.certified_tree import CertifiedTree
    from shoal.score.evaluation import (
        ClassEvaluation,
        Evaluation,
        NumberEvaluation,
        evaluate,
        evaluate_classes,
        evaluate_numbers,
    )
    from shoal.score.explanation import Explanation
    from shoal.score.features import Features
    from shoal.score.model import RiskModel
    from shoal.score.model_file import load
    from shoal.score.stable import StableForest, StableTree, distinct_alphas

__all__ = [
    "AlphaTree",
    "CertifiedForest",
    "CertifiedRegressor",
    "CertifiedTree",
    "ClassEvaluation",
    "Evaluation",
    "Explanation",
    "Features",
    "NumberEvaluation",
    "RiskModel",
    "StableForest",
    "StableTree",
    "distinct_alphas",
    "evaluate",
    "evaluate_classes",
    "evaluate_numbers",
    "load",
]

__getattr__, __dir__ = on_demand(__name__)
