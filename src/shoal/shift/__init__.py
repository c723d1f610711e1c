"""For the analyst: carry what was learnt in one market to another.

Importance weights (`ratio_weights`, `logistic_weights`, `transfer_weights`) make training rows count as if they came
from where the model will be used; `MarketRisk` uses them to predict the cost of a new market's enrollees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.shift.assessment import (
        MarketAssessment,
        MarketRank,
        Segment,
        group_error,
        r_squared,
        rank_markets,
        relative_bias,
    )
    from shoal.shift.market import MarketRisk
    from shoal.shift.parity import Parity
    from shoal.shift.populations import LevelBalance, effective_sample_size, imbalance
    from shoal.shift.transfer import Transfer, TransferWeights, transfer_density_ratio, transfer_weights
    from shoal.shift.weights import ShiftWeights, logistic_weights, ratio_weights

__all__ = [
    "LevelBalance",
    "MarketAssessment",
    "MarketRank",
    "MarketRisk",
    "Parity",
    "Segment",
    "ShiftWeights",
    "Transfer",
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

__getattr__, __dir__ = on_demand(__name__)
