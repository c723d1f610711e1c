"""Masks: what is written instead."""

from shoal.mask.aware import AwareMask, Masking
from shoal.mask.centroid import Centroid
from shoal.mask.dither import CellDither, GaussianDither
from shoal.mask.mask import BlindMask, ValueSets, draw_chain, pair_up
from shoal.mask.micro_perturb import MicroPerturb
from shoal.mask.resample import Resample

__all__ = [
    "AwareMask",
    "BlindMask",
    "CellDither",
    "Centroid",
    "GaussianDither",
    "Masking",
    "MicroPerturb",
    "Resample",
    "ValueSets",
    "draw_chain",
    "pair_up",
]
