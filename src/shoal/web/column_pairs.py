"""Pairs of columns, before and after: how much of each joint distribution is preserved, and the table behind it.

Internal use only: cells of a pair may hold few people. What is preserved is 1 minus the total variation over the cells
shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.report.marginal import RowCells

__all__ = ["joint_cells"]

MOST_CELLS = 10


def joint_cells(columns: Sequence[RowCells]) -> dict[str, Any] | None:
    """The columns with their cells' names, and for each two of them what is kept and both joint tables.

    None where there are no two columns. Cost: O(n · columns²).
    """
    if len(columns) < 2:
        return None
    fewer = [_fewer(column) for column in columns]
    found = []
    for i, j in combinations(range(len(columns)), 2):
        (names_a, *a), (names_b, *b) = fewer[i], fewer[j]
        shape = len(names_a), len(names_b)
        before, after = (_table(x, y, shape) for x, y in zip(a, b, strict=True))
        kept = 1 - 0.5 * float(np.abs(before - after).sum())
        found.append({"a": i, "b": j, "kept": round(kept, 6), "before": _plain(before), "after": _plain(after)})
    names = [column.marginal.column for column in columns]
    return {"names": names, "cells": [list(labels) for labels, _, _ in fewer], "pairs": found}


_Coded = tuple[tuple[str, ...], IntArray, IntArray]


def _fewer(column: RowCells) -> _Coded:
    """At most ten cells: neighbours are joined where cells have an order, else the last ones."""
    labels = [cell.label for cell in column.marginal.cells]
    n = len(labels)
    if n <= MOST_CELLS:
        return tuple(labels), column.before, column.after
    if column.marginal.kind == "nominal":
        place = np.minimum(np.arange(n), MOST_CELLS - 1)
        named = [*labels[: MOST_CELLS - 1], f"{n - MOST_CELLS + 1} others"]
    else:
        place = np.arange(n) * MOST_CELLS // n
        named = [labels[int(np.flatnonzero(place == i)[0])] for i in range(MOST_CELLS)]
    return tuple(named), place[column.before], place[column.after]


def _table(a: IntArray, b: IntArray, shape: tuple[int, int]) -> FloatArray:
    """Shares of the rows by both cells."""
    counts = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape)
    shares: FloatArray = counts / max(1, len(a))
    return shares


def _plain(table: FloatArray) -> list[list[float]]:
    return [[round(float(share), 5) for share in row] for row in table]
