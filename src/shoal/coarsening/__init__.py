"""Coarsening: less exact values, until each person looks like others."""

from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener
from shoal.coarsening.conditions import Conditions
from shoal.coarsening.generalize import Generalize
from shoal.coarsening.generated import default_hierarchy
from shoal.coarsening.hierarchy import Hierarchy
from shoal.coarsening.mondrian import Mondrian
from shoal.coarsening.presets import PRESETS, Preset, preset
from shoal.coarsening.recode import Recode
from shoal.coarsening.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.coarsening.scan import Scan, scan
from shoal.coarsening.suppress import Suppress

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
