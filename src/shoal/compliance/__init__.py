"""Rules that people must meet: the identifiers that a table may hold, Safe Harbor, and presets with their sources."""

from shoal.compliance.presets import PRESETS, Preset, preset
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.compliance.scan import Scan, scan

__all__ = ["PRESETS", "LimitedDataSet", "Preset", "SafeHarbor", "Scan", "preset", "scan"]
