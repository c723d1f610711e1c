"""For the analyst: carry what was learnt in one market to another.

Importance weights (`ratio_weights`, `logistic_weights`, `transfer_weights`) make training rows count as if they came
from where the model will be used; `MarketRisk` uses them to predict the cost of a new market's enrollees.
"""

from shoal.shift.accuracy import group_error, r_squared, relative_bias
from shoal.shift.assessment import MarketAssessment, MarketRank, Segment, rank_markets
from shoal.shift.balance import LevelBalance, effective_sample_size, imbalance
from shoal.shift.market import MarketRisk
from shoal.shift.transfer import TransferWeights, transfer_density_ratio, transfer_weights
from shoal.shift.weights import ShiftWeights, logistic_weights, ratio_weights

__all__ = [
    "LevelBalance",
    "MarketAssessment",
    "MarketRank",
    "MarketRisk",
    "Segment",
    "ShiftWeights",
    "TransferWeights",
    "effective_sample_size",
    "group_error",
    "imbalance",
    "logistic_weights",
    "r_squared",
    "rank_markets",
    "ratio_weights",
    "relative_bias",
    "transfer_density_ratio",
    "transfer_weights",
]
