"""Risk: what an intruder can do with a release, measured.

Each function takes tables of any dataframe type and a schema and gives a frozen record with `to_dict()`. A low number
is no proof of safety: another attack may do better. What is proved stands in a release's claims.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.risk.assessment import RiskReport, assess
from shoal.risk.attacker_models import AttackerRisk, Attackers, attackers
from shoal.risk.attribute_inference import ColumnInference, Inference, inference
from shoal.risk.class_mixture import ClassMix, class_mix
from shoal.risk.class_sizes import ClassReport, Diversity, classes
from shoal.risk.closest_record import ClosestRecord, closest_record
from shoal.risk.copies import Verbatim, verbatim
from shoal.risk.dependence import Dependence, dependences
from shoal.risk.interval_disclosure import ColumnDisclosure, IntervalDisclosure, intervals
from shoal.risk.matching import GroupRisk, Reidentification, reidentification
from shoal.risk.population import PopulationUniques, Uniqueness, uniqueness
from shoal.risk.record_linkage import Linkage, linkage
from shoal.risk.unchanged import UnchangedColumnsAttack, unchanged_columns

if TYPE_CHECKING:
    from shoal.risk.exposure import AggregateExposure, MethodExposure, NoisyExposure, aggregate_exposure

__all__ = [
    "AggregateExposure",
    "AttackerRisk",
    "Attackers",
    "ClassMix",
    "ClassReport",
    "ClosestRecord",
    "ColumnDisclosure",
    "ColumnInference",
    "Dependence",
    "Diversity",
    "GroupRisk",
    "Inference",
    "IntervalDisclosure",
    "Linkage",
    "MethodExposure",
    "NoisyExposure",
    "PopulationUniques",
    "Reidentification",
    "RiskReport",
    "UnchangedColumnsAttack",
    "Uniqueness",
    "Verbatim",
    "aggregate_exposure",
    "assess",
    "attackers",
    "class_mix",
    "classes",
    "closest_record",
    "dependences",
    "inference",
    "intervals",
    "linkage",
    "reidentification",
    "unchanged_columns",
    "uniqueness",
    "verbatim",
]

_EXPOSURE = ("AggregateExposure", "MethodExposure", "NoisyExposure", "aggregate_exposure")


def __getattr__(name: str) -> Any:
    """What aggregates give away needs all of `shoal.aggregate`, which a release does not: loaded when asked for."""
    if name not in _EXPOSURE:
        raise AttributeError(f"module 'shoal.risk' has no attribute '{name}'")
    return getattr(import_module("shoal.risk.exposure"), name)
