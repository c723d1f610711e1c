"""Draws for single records that depend on what the records are, not on where they stand in the file."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntArray
from shoal.mask.aware import Masking

__all__ = ["by_content", "draws_of"]


def by_content(state: Masking) -> IntArray:
    """The rows ordered by their codes: the same whatever order the file has (rows that agree in all are alike)."""
    return np.lexsort(state.codes.T[::-1]).astype(np.int64)


def draws_of(state: Masking, order: IntArray, code: IntArray | None = None) -> tuple[IntArray, int]:
    """Which draw each row of `order` takes, and how many there are: one a row, or one a person.

    Rows of one person share a draw (with `code`: where they have the same code), or they could be averaged. Draws are
    numbered in the order in which they come up.
    """
    if state.prepared.schema.unit is None:
        return np.arange(len(order)), len(order)
    person = state.prepared.units()[order]
    key = person if code is None else person * (int(code.max()) + 1) + code
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[place.reshape(-1)], len(first)
