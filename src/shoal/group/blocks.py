"""How large files are grouped: cut into blocks of neighbours, each grouped exactly on its own core, the seams mended.

Records are grouped one after another, which uses one core, and in many columns the cost grows faster than n. Cutting
the points into blocks of neighbours mends both: the cost is linear in n. Each block holds a multiple of k rows (one
takes the remainder), so blocks have no leftovers of their own and every group still has at least k members.

`cells` says where the cuts are made: between levels first, so that a block has few indicator columns, and until a block
is small enough for the columns it has. Groups can't straddle a cut; `seams.mend` takes back what that costs. The result
depends on the points, their order and k, not on the number of cores.

Promised: as many groups as without blocks, each of at least k. Not promised: the same partition. `Plan` records which
way was taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.group import all_rows
from shoal.group.greedy import kmember, mdav
from shoal.group.points import Points, distinct, on_grid
from shoal.group.seams import Limit, cells, mend
from shoal.progress import advance
from shoal.record import Record

__all__ = ["Kernel", "Plan", "block_points", "by_blocks", "exact_points", "improved", "partition"]

Kernel: TypeAlias = Callable[[FloatArray, int], IntArray]

_EXACT = (  # up to so many columns, so many points
    (3, 1_000_000),
    (4, 400_000),
    (6, 200_000),
    (8, 100_000),
    (12, 50_000),
    (16, 30_000),
    (32, 20_000),
    (64, 15_000),
    (128, 8_000),
)
_WIDE = 1_000_000  # numbers in the matrix of an exact partition beyond that
_GROUPED = 0.7  # of the work is grouping, the rest is mending
_LEAST_GROUPS = 8  # of a block, however large k is
_KERNELS: Mapping[str, Kernel] = {"kmember": kmember, "mdav": mdav}
_UNCOMPILED: Mapping[str, Kernel] = {"kmember": all_rows.kmember, "mdav": all_rows.mdav}  # the same partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Record):
    """How a partition was found: exactly, or block by block."""

    strategy: Literal["exact", "blocks"]
    n_blocks: int
    block_rows: int

    @classmethod
    def of(cls, blocks: list[IntArray]) -> Plan:
        """Describe blocks; `block_rows` is the size of the largest."""
        strategy: Literal["exact", "blocks"] = "exact" if len(blocks) == 1 else "blocks"
        return cls(strategy=strategy, n_blocks=len(blocks), block_rows=max(map(len, blocks)))


def partition(points: Points, k: int, method: Literal["kmember", "mdav"]) -> tuple[IntArray, dict[str, Any]]:
    """Group points exactly where they are few enough, else by blocks; return the labels and how it was done."""
    kernel = (_UNCOMPILED if len(points) <= all_rows.MOST_ROWS else _KERNELS)[method]
    if is_small(points):
        blocks = [np.arange(len(points))]
        return kernel(points.dense(), k), Plan.of(blocks).to_dict()
    labels, plan = by_blocks(points, k, kernel, block_points)
    return labels, plan.to_dict()


def improved(points: Points, labels: IntArray) -> IntArray:
    """Groups of the same sizes after exchanges between neighbours: local search, no larger squared error."""
    return mend(points, labels, exact_points, _n_cores())


def is_small(points: Points) -> bool:
    """Whether the distinct points are few enough for an exact partition."""
    limit = exact_points(points.width)
    return len(points) <= limit or len(distinct(on_grid(points.values)).points) <= limit


def exact_points(n_columns: int) -> int:
    """Distinct points that are grouped exactly: a second or a few on one core, were they normal."""
    return next((points for columns, points in _EXACT if n_columns <= columns), max(1, _WIDE // n_columns))


def block_points(n_columns: int) -> int:
    """Rows of a block: half of what is grouped exactly costs less than half, and cores share many blocks evenly."""
    return exact_points(n_columns) // 2


def by_blocks(points: Points, k: int, kernel: Kernel, limit: Limit) -> tuple[IntArray, Plan]:
    """Cut points into blocks within `limit`, group each with `kernel` and mend the seams.

    Parameters
    ----------
    points
        One row per record, in the order that decides ties.
    k
        Smallest group size.
    kernel
        `kmember`, `mdav`, or any function of coordinates and k that makes floor(n/k) groups.
    limit
        Rows that a block of so many columns may have. Raising it brings the result nearer to the exact one and takes
        longer.

    Returns
    -------
    labels
        The group of each row, numbered block by block.
    plan
        How many blocks there were, and the largest.
    """
    blocks = cells(points, k, lambda n_columns: max(_LEAST_GROUPS * k, limit(n_columns)))
    labels, n_groups = np.empty(len(points), dtype=np.int64), 0
    with ThreadPoolExecutor(_n_cores()) as pool:
        each = pool.map(lambda rows: kernel(points.take(rows).dense(), k), blocks)
        for rows, found in zip(blocks, each, strict=True):
            labels[rows] = found + n_groups
            n_groups += len(rows) // k
            advance(n_groups * k, len(points) / _GROUPED)
    if len(blocks) > 1:
        labels = mend(points, labels, lambda n_columns: 2 * limit(n_columns), _n_cores())
    return labels, Plan.of(blocks)


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
