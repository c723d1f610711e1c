"""Kernels that let go of the interpreter, on all cores: cheaper to compile than numba's own parallel loops."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["in_chunks"]

_FEW = 2048  # items that aren't worth a thread


def in_chunks(call: Callable[[int, int], None], n: int, few: int = _FEW) -> None:
    """Call `call(first, last)` for chunks that make up 0..n, several at a time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n <= few or cores == 1:
        call(0, n)
        return
    step = -(-n // (8 * cores))
    with ThreadPoolExecutor(cores) as pool:
        for _ in pool.map(lambda first: call(first, min(n, first + step)), range(0, n, step)):
            pass
