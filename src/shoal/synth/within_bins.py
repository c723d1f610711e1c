"""Where in its bin a number lies: spikes, heaps and skew, from one fine table of each numeric column.

Pairs are measured on some sixteen bins. Within a bin numbers would be spread evenly, which loses a spike of zeros,
heaps at round numbers and the range. So a twelfth of the budget buys one *fine* table of each numeric column: every
whole number (or thirty-two equal parts of each bin), discrete noise on each count, one record in one cell, L1 = 1 a
table. From its noisy counts y with noise of standard deviation s follows, for free, how a bin is divided:

1. *spikes*: cells more than 4 s above the bin's median keep their count, and the rest of the bin counts as far as its
   sum L stands out, L · L² / (L² + s² cells);
2. the rest is halved again and again; a half gets what its sum says if that is more than 3 s √(cells) from an even
   share, and its even share otherwise.

What does not stand out of the noise stays even. Ties to other columns are those of the bins.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal.arrays import FloatArray
from shoal.domain import Axis, Domain
from shoal.synth.counts import Tabulated
from shoal.synth.spend import Purse

__all__ = ["divided", "parts_of", "with_fine_tables"]

SHARE = Fraction(1, 12)  # of the budget
_PARTS = 32  # of a bin of numbers that are not whole
_MOST_CELLS = 50_000  # of a column; wider ranges of whole numbers are cut into thirty-two parts a bin too
_SPIKE, _CLEAR = 4.0, 3.0  # standard deviations of the noise


def with_fine_tables(encoded: Tabulated, purse: Purse) -> Domain:
    """The domain with bins divided as noisy fine tables say; a table without numbers in bins costs nothing."""
    parts = parts_of(encoded.domain)
    if not parts:
        return encoded.domain
    prices = (purse.left * SHARE).split(len(parts))
    counts = [encoded.counts.parts(i, sizes) for i, sizes in parts.items()]
    noisy, variances = purse.apart("numbers within their bins", counts, prices)
    axes = list(encoded.domain.axes)
    for (i, sizes), table, variance in zip(parts.items(), noisy, variances, strict=True):
        bins = np.split(table.astype(np.float64), np.cumsum(sizes)[:-1])
        axes[i] = replace(axes[i], within=tuple(divided(y, math.sqrt(variance)) for y in bins))
    return replace(encoded.domain, axes=tuple(axes))


def parts_of(domain: Domain) -> dict[int, list[int]]:
    """For each column of numbers in bins the number of parts of each bin, by its position."""
    return {i: found for i, axis in enumerate(domain.axes) if (found := _parts(axis)) is not None}


def _parts(axis: Axis) -> list[int] | None:
    """The number of parts of each bin; None where there is nothing to divide."""
    if axis.levels is not None or axis.edges is None:
        return None
    if not axis.whole:
        return [_PARTS] * axis.n_known
    held = axis.n_whole.tolist()
    if sum(held) > _MOST_CELLS:
        return [min(_PARTS, n) for n in held]
    return held if max(held) > 1 else None


def divided(y: FloatArray, s: float) -> FloatArray:
    """The shares of the parts of a bin, from their noisy counts with noise of standard deviation s."""
    even = np.full(len(y), 1 / len(y))
    if y.sum() <= _CLEAR * s * math.sqrt(len(y)) and y.max() <= _SPIKE * s:
        return even
    spikes = y > max(0.0, float(np.median(y))) + _SPIKE * s
    rest = np.where(spikes, 0.0, y)
    left = max(0.0, float(rest.sum()))
    left *= left**2 / (left**2 + s**2 * len(y)) if left else 0.0
    out = np.where(spikes, y, 0.0)
    others = np.flatnonzero(~spikes)
    if left > 0 and len(others):
        out[others] = left * _halved(rest[others], s)
    return np.asarray(out / out.sum(), dtype=np.float64) if out.sum() > 0 else even


def _halved(y: FloatArray, s: float) -> FloatArray:
    """Shares by halves: a half gets its own sum where that stands out of the noise."""
    if len(y) == 1:
        return np.ones(1)
    k = len(y) // 2
    a, b = float(y[:k].sum()), float(y[k:].sum())
    even = k / len(y)
    noise = s * math.sqrt(k * (len(y) - k) / len(y))
    clear = abs(a - even * (a + b)) > _CLEAR * noise and a + b > 0
    share = min(1.0, max(0.0, a / (a + b))) if clear else even
    return np.concatenate([share * _halved(y[:k], s), (1 - share) * _halved(y[k:], s)])
