"""Shoal: hide each person among k others, and keep the shape of the data.

A fish in a shoal can't be picked out, yet the shoal keeps its shape. Start with `Schema`, then `anonymize`.
Names are loaded when first used, so that importing Shoal is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal import aggregate, datasets, dp, risk, score, shift, synth, utility
    from shoal.aggregate import Aggregate, Cudia, EcologicalRegression, Ludia, PseudoInverse, RidgeEcological
    from shoal.claim import Claim
    from shoal.coarsening import Generalize, Hierarchy, Mondrian, Recode, Suppress
    from shoal.comparison import Comparison, compare
    from shoal.compliance import SafeHarbor
    from shoal.errors import ColumnError, FileError, GuaranteeError, InputError, ParameterError, SchemaError, ShoalError
    from shoal.files import read_table
    from shoal.group import MDAV, MST, Ball, Crest, KMember, TCloseMST
    from shoal.mask import (
        CellDither,
        Centroid,
        Flatten,
        GaussianDither,
        MicroPerturb,
        PushBack,
        Resample,
        Shuffle,
    )
    from shoal.release import Release, anonymize, coarsen, synthesize
    from shoal.release.handover import handover
    from shoal.release.replay import replay
    from shoal.release.sign import sign
    from shoal.release.verify import verify
    from shoal.schema import Schema
    from shoal.score import AlphaTree, CertifiedForest, CertifiedTree, StableForest, StableTree
    from shoal.shift import MarketRisk
    from shoal.synth import MarginalBootstrap, MultipleImputation, PeGS, PerturbedImputation

_HOME = {
    "Aggregate": "aggregate",
    "Cudia": "aggregate",
    "EcologicalRegression": "aggregate",
    "Ludia": "aggregate",
    "PseudoInverse": "aggregate",
    "RidgeEcological": "aggregate",
    "Claim": "claim",
    "ShoalError": "errors",
    "ParameterError": "errors",
    "GuaranteeError": "errors",
    "InputError": "errors",
    "SchemaError": "errors",
    "ColumnError": "errors",
    "FileError": "errors",
    "read_table": "files",
    "Generalize": "coarsening",
    "Hierarchy": "coarsening",
    "Mondrian": "coarsening",
    "Recode": "coarsening",
    "SafeHarbor": "compliance",
    "Suppress": "coarsening",
    "Comparison": "comparison",
    "compare": "comparison",
    "KMember": "group",
    "MDAV": "group",
    "MST": "group",
    "TCloseMST": "group",
    "Crest": "group",
    "Ball": "group",
    "Centroid": "mask",
    "Resample": "mask",
    "CellDither": "mask",
    "GaussianDither": "mask",
    "MicroPerturb": "mask",
    "PushBack": "mask",
    "Flatten": "mask",
    "Shuffle": "mask",
    "Release": "release",
    "anonymize": "release",
    "coarsen": "release",
    "handover": "release.handover",
    "replay": "release.replay",
    "sign": "release.sign",
    "synthesize": "release",
    "verify": "release.verify",
    "Schema": "schema",
    "MarketRisk": "shift",
    "AlphaTree": "score",
    "CertifiedForest": "score",
    "CertifiedTree": "score",
    "StableForest": "score",
    "StableTree": "score",
    "PeGS": "synth",
    "PerturbedImputation": "synth",
    "MarginalBootstrap": "synth",
    "MultipleImputation": "synth",
}
_ROOMS = ("aggregate", "datasets", "dp", "risk", "score", "shift", "synth", "utility")

__all__ = [
    "MDAV",
    "MST",
    "Aggregate",
    "AlphaTree",
    "Ball",
    "CellDither",
    "Centroid",
    "CertifiedForest",
    "CertifiedTree",
    "Claim",
    "ColumnError",
    "Comparison",
    "Crest",
    "Cudia",
    "EcologicalRegression",
    "FileError",
    "Flatten",
    "GaussianDither",
    "Generalize",
    "GuaranteeError",
    "Hierarchy",
    "InputError",
    "KMember",
    "Ludia",
    "MarginalBootstrap",
    "MarketRisk",
    "MicroPerturb",
    "Mondrian",
    "MultipleImputation",
    "ParameterError",
    "PeGS",
    "PerturbedImputation",
    "PseudoInverse",
    "PushBack",
    "Recode",
    "Release",
    "Resample",
    "RidgeEcological",
    "SafeHarbor",
    "Schema",
    "SchemaError",
    "ShoalError",
    "Shuffle",
    "StableForest",
    "StableTree",
    "Suppress",
    "TCloseMST",
    "aggregate",
    "anonymize",
    "coarsen",
    "compare",
    "datasets",
    "dp",
    "handover",
    "read_table",
    "replay",
    "risk",
    "score",
    "shift",
    "sign",
    "synth",
    "synthesize",
    "utility",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"shoal.{name}")
    if name in _HOME:
        value = getattr(import_module(f"shoal.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'shoal' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
