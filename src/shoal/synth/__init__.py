"""Synthesis: rows of no real person, from building blocks (PeGS), from regressions (imputation), from margins.

`PeGS` is the one to use. Modules are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.synth.bootstrap import MarginalBootstrap
    from shoal.synth.combining import Combined, combine
    from shoal.synth.contingency import ContingencyTable
    from shoal.synth.multiple_imputation import MultipleImputation
    from shoal.synth.pegs import PeGS
    from shoal.synth.perturbed_imputation import PerturbedImputation
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

__getattr__, __dir__ = on_demand(__name__)
