"""Shoal: hide each person among k others, and keep the shape of the data.

A fish in a shoal can't be picked out, yet the shoal keeps its shape. Start with `Schema`, then `anonymize`. Names are
loaded when first used, so that importing Shoal is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.exports import declared

__version__ = "0.1.0"

if TYPE_CHECKING:  # for editors and type checkers; a method that isn't here is exported all the same
    from shoal import aggregate, client, datasets, dp, risk, score, shift, synth, utility
    from shoal.aggregate import Aggregate, Cudia, EcologicalRegression, Ludia, PseudoInverse, RidgeEcological
    from shoal.claim import Claim
    from shoal.coarsening import Generalize, Hierarchy, Mondrian, Recode, Suppress
    from shoal.comparison import Comparison, compare
    from shoal.compliance import LimitedDataSet, SafeHarbor
    from shoal.errors import ColumnError, FileError, GuaranteeError, InputError, ParameterError, SchemaError, ShoalError
    from shoal.files import read_table
    from shoal.group import MDAV, MST, Ball, Crest, KMember, TCloseMST
    from shoal.linked.coarsen_events import CoarsenEvents
    from shoal.linked.exchange import DealContents, DealEvents, ExchangeBags, ExchangeTrajectories
    from shoal.linked.shift_dates import ShiftDates
    from shoal.mask import (
        AddNoise,
        CellDither,
        Centroid,
        Flatten,
        GaussianDither,
        MicroPerturb,
        Pram,
        PushBack,
        RankSwap,
        RecordSwap,
        Resample,
        Shuffle,
    )
    from shoal.pseudonym import DateShift, ProjectKey, Pseudonyms
    from shoal.register.register import Register
    from shoal.release import Release, anonymize, coarsen, synthesize
    from shoal.release.contents import handover
    from shoal.release.manifest import replay
    from shoal.release.policy import Policy, fit
    from shoal.release.sign import sign
    from shoal.release.verify import verify
    from shoal.schema import LinkedSchema, Schema
    from shoal.score import AlphaTree, CertifiedForest, CertifiedRegressor, CertifiedTree, StableForest, StableTree
    from shoal.shift import MarketRisk
    from shoal.synth import ContingencyTable, MarginalBootstrap, MultipleImputation, PeGS, PerturbedImputation

    __all__ = [
        "MDAV",
        "MST",
        "AddNoise",
        "Aggregate",
        "AlphaTree",
        "Ball",
        "CellDither",
        "Centroid",
        "CertifiedForest",
        "CertifiedRegressor",
        "CertifiedTree",
        "Claim",
        "CoarsenEvents",
        "ColumnError",
        "Comparison",
        "ContingencyTable",
        "Crest",
        "Cudia",
        "DateShift",
        "DealContents",
        "DealEvents",
        "EcologicalRegression",
        "ExchangeBags",
        "ExchangeTrajectories",
        "FileError",
        "Flatten",
        "GaussianDither",
        "Generalize",
        "GuaranteeError",
        "Hierarchy",
        "InputError",
        "KMember",
        "LimitedDataSet",
        "LinkedSchema",
        "Ludia",
        "MarginalBootstrap",
        "MarketRisk",
        "MicroPerturb",
        "Mondrian",
        "MultipleImputation",
        "ParameterError",
        "PeGS",
        "PerturbedImputation",
        "Policy",
        "Pram",
        "ProjectKey",
        "PseudoInverse",
        "Pseudonyms",
        "PushBack",
        "RankSwap",
        "Recode",
        "RecordSwap",
        "Register",
        "Release",
        "Resample",
        "RidgeEcological",
        "SafeHarbor",
        "Schema",
        "SchemaError",
        "ShiftDates",
        "ShoalError",
        "Shuffle",
        "StableForest",
        "StableTree",
        "Suppress",
        "TCloseMST",
        "aggregate",
        "anonymize",
        "client",
        "coarsen",
        "compare",
        "datasets",
        "dp",
        "fit",
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
    if name == "__all__":
        return _exported()
    if name.startswith("_"):
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    place = declared("shoal").get(name) or _method_home(name)
    if place is None:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    value = import_module(f"shoal.{name}") if place == "shoal" else getattr(import_module(place), name)
    globals()[name] = value
    return value


def _method_home(name: str) -> str | None:
    from shoal.method import home

    return home(name)


def _exported() -> list[str]:
    """Every name that Shoal exports: what is listed above, and every method of its own."""
    from shoal.method import exports

    return sorted({*declared("shoal"), *exports()})


def __dir__() -> list[str]:
    return [*_exported(), "__version__"]
