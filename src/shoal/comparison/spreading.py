"""Read coarse cells as a recipient would: evenly over the values that they cover.

The pair of original and release reads an interval or a set as one typical value, which serves moments and distances. A
distribution read so has all its mass on few points, and coarsening would look far worse than it is beside methods that
write single values. Here each coarse cell is given one of the values that the original's records behind it have, all
equally likely: the recipient knows the cell, not how full its parts are. A suppressed cell says nothing; it counts as
missing, and so as lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.coarsening.coarsener import SUPPRESSED
from shoal.encode import Coding
from shoal.equivalence import codes as cells_of
from shoal.frame import series
from shoal.pair import Pair
from shoal.rng import stream

__all__ = ["even_draws", "spread"]


def spread(pair: Pair, seed: int) -> Pair:
    """The pair with coarse cells of the release spread over their values; the same pair where none is coarse."""
    if pair.exact is None:
        return pair
    codes = pair.released_codes.copy()
    for j, coding in enumerate(pair.encoder.codings):
        rows = np.flatnonzero(~pair.exact[:, j] & (pair.source_rows >= 0))
        if len(rows):
            rng = stream(seed, "spread", coding.name)
            codes[rows, j] = _column(series(pair.released, coding.name), coding, pair, rows, j, rng)
    return replace(pair, released_codes=codes)


def _column(column: pl.Series, coding: Coding, pair: Pair, rows: IntArray, j: int, rng: Generator) -> FloatArray:
    texts = column.cast(pl.String)
    silent = (texts.is_null() | (texts == SUPPRESSED).fill_null(False)).to_numpy()[rows]
    drawn = even_draws(cells_of(texts).values[rows], pair.original_codes[pair.source_rows[rows], j], rng)
    return np.where(silent, np.nan if coding.levels is None else len(coding.levels), drawn)


def even_draws(cells: IntArray, values: FloatArray, rng: Generator) -> FloatArray:
    """For each row one of the distinct values that rows of its cell have, each of them equally likely."""
    _, value = np.unique(values, return_inverse=True)  # NaN equals NaN
    n_values = int(value.max()) + 1
    keys = np.unique(cells * n_values + value)
    owner = keys // n_values
    starts = np.searchsorted(owner, cells)
    lengths = np.searchsorted(owner, cells, side="right") - starts
    chosen = keys[starts + (rng.random(len(cells)) * lengths).astype(np.int64)] % n_values
    picked: FloatArray = np.unique(values)[chosen]
    return picked
