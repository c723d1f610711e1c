"""Coarsening: less exact values, until each person looks like others."""

from shoal.coarsen.coarsener import SUPPRESSED, Coarsened, Coarsener
from shoal.coarsen.conditions import Conditions
from shoal.coarsen.generalize import Generalize
from shoal.coarsen.generated import default_hierarchy
from shoal.coarsen.hierarchy import Hierarchy
from shoal.coarsen.mondrian import Mondrian
from shoal.coarsen.presets import PRESETS, Preset, preset
from shoal.coarsen.recode import Recode
from shoal.coarsen.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.coarsen.scan import Scan, scan
from shoal.coarsen.suppress import Suppress

__all__ = [
    "PRESETS",
    "SUPPRESSED",
    "Coarsened",
    "Coarsener",
    "Conditions",
    "Generalize",
    "Hierarchy",
    "LimitedDataSet",
    "Mondrian",
    "Preset",
    "Recode",
    "SafeHarbor",
    "Scan",
    "Suppress",
    "default_hierarchy",
    "preset",
    "scan",
]
