"""Coarsening: less exact values, until each person looks like others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.coarsening import counting, partition  # compiled
    from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener
    from shoal.coarsening.default_hierarchies import default_hierarchy
    from shoal.coarsening.generalize import Generalize
    from shoal.coarsening.hierarchy import Hierarchy
    from shoal.coarsening.mondrian import Mondrian
    from shoal.coarsening.recode import Recode
    from shoal.coarsening.suppress import Suppress

__all__ = [
    "SUPPRESSED",
    "Coarsened",
    "Coarsener",
    "Generalize",
    "Hierarchy",
    "Mondrian",
    "Recode",
    "Suppress",
    "counting",
    "default_hierarchy",
    "partition",
]

__getattr__, __dir__ = on_demand(__name__)
