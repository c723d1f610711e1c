"""Coarsening: less exact values, until each person looks like others."""

from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener
from shoal.coarsening.generalize import Generalize
from shoal.coarsening.generated import default_hierarchy
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
    "default_hierarchy",
]
