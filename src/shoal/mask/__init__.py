"""Masks: what is written instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.mask.add_noise import AddNoise
    from shoal.mask.aware import AwareMask, Masking
    from shoal.mask.centroid import Centroid
    from shoal.mask.dither import CellDither, GaussianDither
    from shoal.mask.flatten import Flatten
    from shoal.mask.mask import BlindMask, ValueSets, draw_chain, pair_up
    from shoal.mask.micro_perturb import MicroPerturb
    from shoal.mask.permute import ColumnMask, Permute
    from shoal.mask.pram import Pram
    from shoal.mask.push_back import PushBack
    from shoal.mask.rank_swap import RankSwap
    from shoal.mask.record_swap import RecordSwap
    from shoal.mask.resample import Resample
    from shoal.mask.shuffle import Shuffle

__all__ = [
    "AddNoise",
    "AwareMask",
    "BlindMask",
    "CellDither",
    "Centroid",
    "ColumnMask",
    "Flatten",
    "GaussianDither",
    "Masking",
    "MicroPerturb",
    "Permute",
    "Pram",
    "PushBack",
    "RankSwap",
    "RecordSwap",
    "Resample",
    "Shuffle",
    "ValueSets",
    "draw_chain",
    "pair_up",
]

__getattr__, __dir__ = on_demand(__name__)
