"""Names of the array types that kernels take and give, and the distinct numbers of one, with their places."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "LARGEST_KEY",
    "AnyArray",
    "BoolArray",
    "FloatArray",
    "Generator",
    "IntArray",
    "distinct_numbers",
    "numbered",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
Generator: TypeAlias = np.random.Generator

LARGEST_KEY = 2**62
"""The most numbers that one whole number for several codes may have: below it, sums of two never overflow."""


def distinct_numbers(values: IntArray) -> IntArray:
    """The whole numbers that occur, in order; `numpy.unique` hashes them, twenty times slower where most differ.

    Examples
    --------
    >>> distinct_numbers(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(values)
    return ordered[np.append(np.diff(ordered) > 0, True)] if len(ordered) else ordered


def numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """The whole numbers that occur, in order, and the place of each value among them.

    As `numpy.unique` with its inverse, without sorting where they lie close together.

    Examples
    --------
    >>> numbered(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low > 4 * len(values) + 2**16:
        present, place = np.unique(values, return_inverse=True)
        return present, place.reshape(-1).astype(np.int64, copy=False)
    seen: BoolArray = np.zeros(high - low + 1, dtype=np.bool_)
    seen[values - low] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[values - low]
