"""Cells: a table cut into parts of neighbours by a tree, so that each part fits on a worker.

The tree is grown on the driver from a sample of rows. Each cut compares one number of a row with a value of the sample:
lower or equal goes to side 0, higher to side 1. A cell is named by its path, a text of 0 and 1, and is a **pure
function of the row**: no engine, order, batch or retry can change it. Numbers are compared in their own units,
categories by their codes; nothing is standardised, as that may differ in the last bit.

Where rows are equal in all columns, only a keyed hash of the person can cut them (`halved`); it stands after the last
column. A cell with too few persons joins the leaf that adjoins its last cut (`hosts`).

The tree holds values of people of the sample: it is for inside only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.encode import Encoder

__all__ = ["CellTree", "hosts"]

_BALANCED = 0.25  # a cut that leaves at least this share of rows on either side
_ROOM = 1.5  # a cell may be this much larger than asked for, so that halves are not cut in vain


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTree:
    """A cut with a tree on either side, or, without a column, a cell."""

    column: int = -1
    threshold: float = 0.0
    low: CellTree | None = None
    high: CellTree | None = None

    @classmethod
    def grow(cls, codes: FloatArray, encoder: Encoder, size: float) -> CellTree:
        """Cut the rows of a sample into cells of about `size` of them."""
        if len(codes) <= _ROOM * size:
            return cls()
        found = _cut(codes, encoder)
        if found is None:
            return cls()
        column, threshold = found
        lower = codes[:, column] <= threshold
        return cls(
            column=column,
            threshold=threshold,
            low=cls.grow(codes[lower], encoder, size),
            high=cls.grow(codes[~lower], encoder, size),
        )

    @property
    def paths(self) -> list[str]:
        """The cells in order."""
        if self.low is None or self.high is None:
            return [""]
        return [f"0{path}" for path in self.low.paths] + [f"1{path}" for path in self.high.paths]

    def cells(self, numbers: FloatArray) -> IntArray:
        """The place in `paths` of each row: its codes, then its hash between 0 and 1."""
        found = np.zeros(len(numbers), dtype=np.int64)
        self._fill(numbers, np.arange(len(numbers)), 0, found)
        return found

    def _fill(self, numbers: FloatArray, rows: IntArray, first: int, found: IntArray) -> int:
        """Number the cells from `first` on; return the number of the next."""
        if self.low is None or self.high is None:
            found[rows] = first
            return first + 1
        lower = numbers[rows, self.column] <= self.threshold
        following = self.low._fill(numbers, rows[lower], first, found)
        return self.high._fill(numbers, rows[~lower], following, found)

    def halved(self, wanted: Mapping[str, int], hash_column: int) -> CellTree:
        """The cells of `wanted` cut into so many times two parts, by the hash of the person."""
        return self._halved(wanted, hash_column, "")

    def _halved(self, wanted: Mapping[str, int], column: int, path: str) -> CellTree:
        if self.low is None or self.high is None:
            return _by_hash(column, 0.0, 1.0, wanted.get(path, 0))
        return CellTree(
            column=self.column,
            threshold=self.threshold,
            low=self.low._halved(wanted, column, f"{path}0"),
            high=self.high._halved(wanted, column, f"{path}1"),
        )


def hosts(
    persons: Mapping[str, int], minimum: int, holds: Callable[[Sequence[str]], bool] | None = None
) -> dict[str, str]:
    """For each cell the one that its rows go to: itself, or, with fewer than `minimum` persons, the leaf next to it.

    So does a cell, made of some paths, of which something must hold that doesn't (`holds`).

    The smallest cell joins first; from side 0 of its last cut it joins the least path of the other side, from side 1
    the greatest. Each time there is one cell less, so this ends, at the latest with one cell.

    Examples
    --------
    >>> from shoal.engine.cell_tree import hosts
    >>> hosts({"0": 3, "10": 40, "11": 50}, 5)
    {'0': '10', '10': '10', '11': '11'}
    """
    left, size = {path: [path] for path in persons}, dict(persons)
    good: dict[str, bool] = {}

    def stays(path: str) -> bool:
        if path not in good:
            good[path] = size[path] >= minimum and (holds is None or holds(left[path]))
        return good[path]

    while len(left) > 1:
        worst = next((path for path in sorted(left, key=lambda path: (size[path], path)) if not stays(path)), None)
        if worst is None:
            break
        joined = _neighbour(worst, left)
        left[joined] += left.pop(worst)
        size[joined] += size.pop(worst)
        good.pop(joined, None)
    host = {path: own for own, paths in left.items() for path in paths}
    return {path: host[path] for path in persons}


def _neighbour(path: str, left: Iterable[str]) -> str:
    """The leaf that adjoins the last cut above `path` which has others on its far side."""
    for end in range(len(path), 0, -1):
        side = path[end - 1]
        beyond = path[: end - 1] + ("1" if side == "0" else "0")
        others = [other for other in left if other.startswith(beyond)]
        if others:
            return min(others) if side == "0" else max(others)
    raise AssertionError("a cell that is not alone has a neighbour")


def _by_hash(column: int, low: float, high: float, depth: int) -> CellTree:
    if depth == 0:
        return CellTree()
    middle = (low + high) / 2
    return CellTree(
        column=column,
        threshold=middle,
        low=_by_hash(column, low, middle, depth - 1),
        high=_by_hash(column, middle, high, depth - 1),
    )


def _cut(codes: FloatArray, encoder: Encoder) -> tuple[int, float] | None:
    """The widest column that can be cut into balanced parts, else the most balanced cut; None where all are equal."""
    found = []
    for column in _by_spread(codes, encoder):
        threshold, share = _middle(codes[:, column])
        if share >= _BALANCED:
            return int(column), threshold
        found.append((share, int(column), threshold))
    share, column, threshold = max(found, key=lambda cut: cut[0], default=(0.0, -1, 0.0))
    return (column, threshold) if share > 0 else None


def _by_spread(codes: FloatArray, encoder: Encoder) -> IntArray:
    """Columns by decreasing variance on the comparable scale; what agrees in nine digits is equal."""
    spread = np.array([_spread(codes[:, j], j, encoder) for j in range(len(encoder.codings))])
    order: IntArray = np.argsort(-np.round(spread / max(spread.max(initial=0.0), 1e-300), 9), kind="stable")
    return order


def _spread(codes: FloatArray, j: int, encoder: Encoder) -> float:
    coding = encoder.codings[j]
    if not coding.unordered:
        return float(np.sort(codes / coding.scale).var())
    shares = np.bincount(codes.astype(np.int64)) / len(codes)
    return float((1 - (shares**2).sum()) * coding.height**2)


def _middle(column: FloatArray) -> tuple[float, float]:
    """The value that cuts a column most evenly, and the share of the smaller side; 0 where all are equal."""
    values, counts = np.unique(column, return_counts=True)
    below = np.cumsum(counts)[:-1]
    if len(below) == 0:
        return float(values[0]), 0.0
    place = int(np.argmin(np.abs(2 * below - len(column))))
    return float(values[place]), float(min(below[place], len(column) - below[place]) / len(column))
