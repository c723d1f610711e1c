"""How large files are grouped: cut into k-d blocks, each grouped exactly on its own core, the seams mended.

Records are grouped one after another, which uses one core, and in many columns the cost grows faster than n. Cutting
the points into blocks of neighbours mends both. Each block holds a multiple of k rows (one takes the remainder), so
blocks have no leftovers of their own and every group still has at least k members.

`shoal.metric.kd_blocks` says where the cuts are made. Groups can't straddle a cut; on standard-normal points in eight
columns that costs some 3 % in squared error for each doubling of the blocks, which `seams.mend` takes back. The result
depends on the points, their order, k and the number of blocks, not on the number of cores.

Promised: as many groups as without blocks, each of at least k. Not promised: the same partition. `Plan` records which
way was taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.group.copies import distinct, on_grid
from shoal.group.greedy import kmember
from shoal.group.maximum_distance import mdav
from shoal.group.seams import mend
from shoal.metric.kd_blocks import kd_blocks

__all__ = ["Kernel", "Plan", "by_blocks", "choose", "partition"]

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
)
_KERNELS: Mapping[str, Kernel] = {"kmember": kmember, "mdav": mdav}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a partition is found: exactly, or block by block."""

    strategy: Literal["exact", "blocks"]
    n_blocks: int
    block_rows: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        return asdict(self)


def partition(points: FloatArray, k: int, method: Literal["kmember", "mdav"]) -> tuple[IntArray, dict[str, Any]]:
    """Group points by the plan that suits them; return the labels and the plan."""
    n_rows, n_columns = points.shape
    n_distinct = n_rows if n_rows <= exact_points(n_columns) else len(distinct(on_grid(points)).points)
    plan = choose(n_rows, n_columns, k, n_distinct)
    kernel = _KERNELS[method]
    labels = by_blocks(points, k, kernel, plan.block_rows) if plan.n_blocks > 1 else kernel(points, k)
    return labels, plan.to_dict()


def choose(n_rows: int, n_columns: int, k: int, n_distinct: int | None = None) -> Plan:
    """Choose one block if the distinct points are few enough for an exact partition, else blocks as large as may be."""
    limit = exact_points(n_columns)
    is_small = (n_rows if n_distinct is None else n_distinct) <= limit
    block_rows = n_rows if is_small else max(limit, k)
    n_blocks = _n_blocks(n_rows, k, block_rows)
    return Plan(strategy="exact" if n_blocks == 1 else "blocks", n_blocks=n_blocks, block_rows=-(-n_rows // n_blocks))


def exact_points(n_columns: int) -> int:
    """Distinct points that are grouped exactly: a few seconds on one core, were they normal."""
    return next((points for columns, points in _EXACT if n_columns <= columns), 10_000)


def by_blocks(points: FloatArray, k: int, kernel: Kernel, block_rows: int) -> IntArray:
    """Cut points into blocks of about `block_rows` and group each with `kernel`.

    Parameters
    ----------
    points
        One row per record, in the order that decides ties.
    k
        Smallest group size.
    kernel
        `kmember`, `mdav`, or any function of points and k that makes floor(n/k) groups.
    block_rows
        Rows in a block. Raising it brings the result nearer to the exact one and takes longer.

    Returns
    -------
    labels
        The group of each row, numbered block by block.
    """
    points = on_grid(points)
    blocks = kd_blocks(points, k, _n_blocks(len(points), k, block_rows))
    labels, n_groups = np.empty(len(points), dtype=np.int64), 0
    with ThreadPoolExecutor(_n_cores()) as pool:
        for rows, block_labels in zip(blocks, pool.map(lambda rows: kernel(points[rows], k), blocks), strict=True):
            labels[rows] = block_labels + n_groups
            n_groups += len(rows) // k
    return labels if len(blocks) == 1 else mend(points, labels, _n_cores())


def _n_blocks(n_rows: int, k: int, block_rows: int) -> int:
    return max(1, min(-(-n_rows // block_rows), n_rows // k))


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
