"""Risk: what an intruder can do with a release, measured.

Each function takes tables of any dataframe type and a schema and gives a frozen record with `to_dict()`. A low number
is no proof of safety: another attack may do better. What is proved stands in a release's claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand
from shoal.risk.closest_record import ClosestRecord, closest_record

if TYPE_CHECKING:
    from shoal.linked import JointRisk
    from shoal.risk.assessment import RiskReport, assess
    from shoal.risk.attacker_models import AttackerRisk, Attackers, attackers
    from shoal.risk.attribute_inference import ColumnInference, Inference, inference
    from shoal.risk.class_disclosure import ClassMix, class_mix
    from shoal.risk.class_sizes import ClassReport, Diversity, classes
    from shoal.risk.column_contribution import ColumnContribution, Contribution, ValueContribution, contribution
    from shoal.risk.completion_attack import Completion, CompletionAttack, completion
    from shoal.risk.control_group import AttackRisk
    from shoal.risk.dependence import Dependence, dependences
    from shoal.risk.exposure import AggregateExposure, MethodExposure, NoisyExposure, aggregate_exposure
    from shoal.risk.household_risk import HouseholdRisk, households
    from shoal.risk.individual_risk import IndividualRisk, individual
    from shoal.risk.interval_disclosure import ColumnDisclosure, IntervalDisclosure, intervals
    from shoal.risk.joined_view import known_events
    from shoal.risk.k_map_and_presence import KMap, Presence, k_map, presence
    from shoal.risk.linkability_and_inference import Guessing, guessing, linkability
    from shoal.risk.membership_attack import Membership, membership, shadow_membership
    from shoal.risk.population_uniqueness import PopulationUniques, Uniqueness, uniqueness
    from shoal.risk.record_linkage import Linkage, linkage
    from shoal.risk.reidentification_attack import GroupRisk, Reidentification, reidentification
    from shoal.risk.singling_out_attack import SinglingOut, singling_out
    from shoal.risk.suda_scores import Combination, Suda, suda
    from shoal.risk.unchanged import UnchangedColumnsAttack, unchanged_columns
    from shoal.risk.verbatim_rows import ReplicatedUniques, Verbatim, replicated_uniques, verbatim
    from shoal.risk.what_if_changes import Change, WhatIf, what_if

__all__ = [
    "AggregateExposure",
    "AttackRisk",
    "AttackerRisk",
    "Attackers",
    "Change",
    "ClassMix",
    "ClassReport",
    "ClosestRecord",
    "ColumnContribution",
    "ColumnDisclosure",
    "ColumnInference",
    "Combination",
    "Completion",
    "CompletionAttack",
    "Contribution",
    "Dependence",
    "Diversity",
    "GroupRisk",
    "Guessing",
    "HouseholdRisk",
    "IndividualRisk",
    "Inference",
    "IntervalDisclosure",
    "JointRisk",
    "KMap",
    "Linkage",
    "Membership",
    "MethodExposure",
    "NoisyExposure",
    "PopulationUniques",
    "Presence",
    "Reidentification",
    "ReplicatedUniques",
    "RiskReport",
    "SinglingOut",
    "Suda",
    "UnchangedColumnsAttack",
    "Uniqueness",
    "ValueContribution",
    "Verbatim",
    "WhatIf",
    "aggregate_exposure",
    "assess",
    "attackers",
    "class_mix",
    "classes",
    "closest_record",
    "completion",
    "contribution",
    "dependences",
    "guessing",
    "households",
    "individual",
    "inference",
    "intervals",
    "k_map",
    "known_events",
    "linkability",
    "linkage",
    "membership",
    "presence",
    "reidentification",
    "replicated_uniques",
    "shadow_membership",
    "singling_out",
    "suda",
    "unchanged_columns",
    "uniqueness",
    "verbatim",
    "what_if",
]

__getattr__, __dir__ = on_demand(__name__)
