"""Many recipes on one table: one risk-utility map, and which of them preserves most at an acceptable risk.

`compare` runs every recipe in worker processes, measures all of them alike, and gives a `Comparison`. Names are
loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison
    from shoal.comparison.outcome import Outcome
    from shoal.comparison.run import compare
    from shoal.comparison.trial_recipes import default_recipes

__all__ = ["Comparison", "Outcome", "compare", "default_recipes"]

__getattr__, __dir__ = on_demand(__name__)
