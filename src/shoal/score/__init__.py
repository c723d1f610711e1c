"""Risk scores: what is a person's risk, answered to the outside without giving the training records away.

`CertifiedForest` and `CertifiedTree` are ε-differentially private as a whole, so their answers are free. `StableTree`
and `StableForest` are the published private trees, whose guarantee does not hold (basis ``published``); `AlphaTree` is
the plain tree to compare with. All follow scikit-learn's conventions. `load` reads what `save` wrote.
"""

from shoal.score.alpha_tree import AlphaTree
from shoal.score.certified_forest import CertifiedForest
from shoal.score.certified_tree import CertifiedTree
from shoal.score.evaluation import Evaluation, evaluate
from shoal.score.features import Features
from shoal.score.model import RiskModel
from shoal.score.stable import StableForest, StableTree
from shoal.score.store import load

__all__ = [
    "AlphaTree",
    "CertifiedForest",
    "CertifiedTree",
    "Evaluation",
    "Features",
    "RiskModel",
    "StableForest",
    "StableTree",
    "evaluate",
    "load",
]
