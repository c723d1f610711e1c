"""Exact draws from whole-number weights with the operating system's entropy.

In PeGS by row the draw is the protection, so it must have exactly the stated probabilities and nobody may repeat it. A
draw below `total` takes 64 random bits and rejects those at the uneven end, so that no number is favoured.
`ModelByRow` is what models share that draw so: they charge for every row, and what they were fitted to stays inside.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.domain import Domain
from shoal.errors import ParameterError
from shoal.rng import fresh_seed, stream
from shoal.synth.constraints import satisfying
from shoal.synth.synthesizer import Model

__all__ = ["GRAIN", "ModelByRow", "below", "check_weights", "pick_cell", "uniform_starts", "virtual_records"]

GRAIN = 1 << 20  # a record weighs this much, so that α is a fraction of a record
_MOST_WEIGHT = 1 << 61
_ALL = np.uint64(2**64 - 1)


class ModelByRow(Model):
    """What models share that charge for every draw: what was fitted stays inside, without noise."""

    rows_are_free: ClassVar[bool] = False
    account: Any
    _units: int
    _seeded: bool

    @property
    def releasable(self) -> bool:
        """False: it holds what was fitted to the data without noise."""
        return False

    @property
    def total(self) -> None:
        """Not told: it would be exact."""
        return

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        return self._walk(n, start, rng, None)

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        units = self._charge(n)
        self._seeded |= seed is not None
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        exact = None if seed is None else rng
        drawn = satisfying(self.domain, lambda m: self._walk(m, start, rng, exact), n, rng, rows_are_free=False)
        self._units += units
        return drawn

    @abstractmethod
    def _charge(self, n: int) -> int:
        """Pay for `n` rows; return how many units of the price they are."""

    @abstractmethod
    def _walk(self, n: int, start: IntArray | None, rng: Generator, exact: Generator | None) -> IntArray:
        """Draw rows of cells, by the system's entropy or by `exact`."""


def uniform_starts(domain: Domain, n: int, start: IntArray | None, rng: Generator) -> IntArray:
    """Start rows: drawn from the public ones given, or uniformly from the domain."""
    rows = domain.uniform(n, rng) if start is None else start[rng.integers(0, len(start), n)]
    return np.asfortranarray(rows.copy())


def virtual_records(epsilon: float, draws: int) -> int:
    """α of (3.8) for `draws` perturbed draws that share ε, in grains, rounded upwards: never less protection.

    α = 1 / (exp(ε / draws) − 1). With α of at least that, each draw costs at most log(1 + 1/α) ≤ ε / draws.
    """
    exponent = epsilon / draws
    alpha = 1 / math.expm1(exponent) if exponent < 700 else 0.0
    return math.ceil(alpha * GRAIN * (1 + 1e-12)) + 1


def check_weights(owner: str, epsilon: float, draws: int, sizes: Sequence[int]) -> None:
    """Refuse an ε whose virtual records, over all cells of a block, would not fit into 64 bits beside the counts."""
    exponent = epsilon / draws
    if exponent * _MOST_WEIGHT < max(sizes) * GRAIN:
        raise ParameterError(
            owner, "epsilon must be larger: draws would no longer be exact", got=f"epsilon = {epsilon:.3g}"
        )


def below(totals: IntArray, rng: Generator | None = None) -> IntArray:
    """A whole number from 0 to total − 1 for each total; without `rng` from the system's entropy, unrepeatable."""
    if rng is not None:
        return rng.integers(0, totals)
    wide = totals.astype(np.uint64)
    limit = _ALL - (_ALL % wide + np.uint64(1)) % wide
    out = np.zeros(len(totals), dtype=np.uint64)
    open_rows = np.arange(len(totals))
    while len(open_rows):
        bits = np.frombuffer(os.urandom(8 * len(open_rows)), dtype=np.uint64)
        held = bits <= limit[open_rows]
        out[open_rows[held]] = bits[held] % wide[open_rows[held]]
        open_rows = open_rows[~held]
    return out.astype(np.int64)


def pick_cell(cumulative: IntArray, drawn: IntArray) -> IntArray:
    """The cell whose stretch of the cumulative weights holds the number drawn, row by row."""
    return np.asarray((cumulative <= drawn[:, None]).sum(axis=1), dtype=np.int64)
