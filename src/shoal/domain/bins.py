"""Bins of numbers: where their edges lie, what they are called, and a value drawn from one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import ColumnError
from shoal.schema import Column

__all__ = ["equal_edges", "labels_of", "midpoints", "places_in", "quantiles", "values_in", "warped", "whole_numbers"]


def equal_edges(column: Column, bounds: tuple[float, float], bins: int, whole: bool) -> FloatArray:
    """The declared edges, or those of bins of equal width; whole numbers are cut between them, and no finer."""
    if column.edges is not None:
        edges = np.array(column.edges, dtype=np.float64)
        return _with_whole_numbers(edges) if whole else edges
    low, high = bounds
    if not whole:
        return np.linspace(low, high, bins + 1)
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise ColumnError(column.name, "has bounds with no integer between them")
    return np.linspace(first - 0.5, last + 0.5, min(bins, last - first + 1) + 1)


def _with_whole_numbers(edges: FloatArray) -> FloatArray:
    """The edges without those that would leave a bin with no whole number in it."""
    kept = [edges[0]]
    for edge in edges[1:-1]:
        if math.ceil(edge) > math.ceil(kept[-1]):
            kept.append(edge)
    while len(kept) > 1 and math.floor(edges[-1]) < math.ceil(kept[-1]):
        kept.pop()
    return np.array([*kept, edges[-1]])


def midpoints(values: FloatArray) -> FloatArray:
    """Cuts that give each of the sorted `values` a bin of its own."""
    middle: FloatArray = values[:-1] / 2 + values[1:] / 2
    return middle


def quantiles(values: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    """Where the weighted distribution function passes 1/bins, 2/bins and so on: a weight of 2 equals a row twice."""
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    heights = np.cumsum(weights[present][order])
    targets = heights[-1] * np.arange(1, bins) / bins
    return np.unique(values[present][order][np.searchsorted(heights, targets)])


def labels_of(cuts: Sequence[float], closed: str) -> list[str]:
    """The bins between `cuts` in words; `closed` says which end belongs to a bin."""
    first, last = ("below {}", "{} and above") if closed == "left" else ("up to {}", "above {}")
    ends = [f"{cut:g}" for cut in cuts]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [first.format(ends[0]), *between, last.format(ends[-1])] if ends else ["any number"]


def values_in(edges: FloatArray, codes: IntArray, u: FloatArray, whole: bool) -> FloatArray | IntArray:
    """The value at the share `u` of each bin; whole numbers of a bin are equally likely for a uniform u."""
    if not whole:
        low, high = edges[codes], edges[codes + 1]
        return np.asarray(low + (high - low) * u, dtype=np.float64)
    first, n = whole_numbers(edges)
    return np.asarray(first[codes] + np.floor(u * n[codes]), dtype=np.int64)


def whole_numbers(edges: FloatArray) -> tuple[FloatArray, IntArray]:
    """The first whole number of each bin, and how many it has."""
    first, last = np.ceil(edges[:-1]), np.ceil(edges[1:]) - 1
    last[-1] = math.floor(edges[-1])
    return first, np.asarray(last - first + 1, dtype=np.int64)


def places_in(edges: FloatArray, codes: IntArray, values: FloatArray, whole: bool) -> FloatArray:
    """The share of its bin at which each value lies: what `values_in` takes back to the value."""
    if whole:
        first, n = whole_numbers(edges)
        return np.asarray((values - first[codes]) / n[codes], dtype=np.float64)
    low, high = edges[codes], edges[codes + 1]
    return np.asarray((values - low) / (high - low), dtype=np.float64)


def warped(within: Sequence[FloatArray], codes: IntArray, u: FloatArray) -> FloatArray:
    """Places in bins that are not filled evenly: u goes through the inverse distribution function of its bin."""
    out = u.copy()
    for code in np.unique(codes):
        shares, rows = within[code], np.flatnonzero(codes == code)
        ends = np.cumsum(shares)
        part = np.minimum(np.searchsorted(ends, u[rows] * ends[-1], side="right"), len(shares) - 1)
        inside = (u[rows] * ends[-1] - (ends[part] - shares[part])) / np.maximum(shares[part], 1e-300)
        out[rows] = (part + np.clip(inside, 0.0, 1 - 1e-9)) / len(shares)
    return out
