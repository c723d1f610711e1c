"""What is freed is used again: large arrays of one run share their memory.

The C library gives the memory of every large array back to the system as soon as the array is gone, and the system
clears each page of the next one: up to a seventh of the processor time of a run on a million rows.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

__all__ = ["give_back_freed_memory", "keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt(3)
_MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Keep what is freed for the next array of this process, where the C library can (glibc); else change nothing."""
    mallopt = _of_c_library("mallopt")
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, _MOST)


def give_back_freed_memory() -> None:
    """Give what is free back to the system now, for whoever needs it next, where the C library can (glibc)."""
    trim = _of_c_library("malloc_trim")
    if trim is not None:
        trim(0)


def _of_c_library(name: str) -> Any:
    """A function of the C library that this process has loaded; None where there is none, or it can't be asked."""
    return None if sys.platform == "win32" else getattr(ctypes.CDLL(None), name, None)
