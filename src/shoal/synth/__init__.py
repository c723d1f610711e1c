"""Synthesis: rows of no real person, from building blocks (PeGS), from regressions (imputation), from margins.

`PeGS` is the one to use. Modules are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.synth.bootstrap import MarginalBootstrap
    from shoal.synth.combining import Combined, combine
    from shoal.synth.contingency import ContingencyTable
    from shoal.synth.imputation import PerturbedImputation
    from shoal.synth.multiple import MultipleImputation
    from shoal.synth.pegs import PeGS
    from shoal.synth.synthesizer import Model, Price, Synthesizer, load

__all__ = [
    "Combined",
    "ContingencyTable",
    "MarginalBootstrap",
    "Model",
    "MultipleImputation",
    "PeGS",
    "PerturbedImputation",
    "Price",
    "Synthesizer",
    "combine",
    "load",
]

_HOME = {
    "Combined": "combining",
    "ContingencyTable": "contingency",
    "MarginalBootstrap": "bootstrap",
    "Model": "synthesizer",
    "MultipleImputation": "multiple",
    "PeGS": "pegs",
    "PerturbedImputation": "imputation",
    "Price": "synthesizer",
    "Synthesizer": "synthesizer",
    "combine": "combining",
    "load": "synthesizer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal.synth' has no attribute '{name}'")
    value = getattr(import_module(f"shoal.synth.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
