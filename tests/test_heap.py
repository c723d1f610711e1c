"""Memory that is freed is used again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shoal import heap

RESIDENT = """
import os
import numpy as np
{first}
array = np.ones(5_000_000)
del array
with open("/proc/self/statm") as counts:
    print(int(counts.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
"""


def resident(first: str) -> int:
    """Bytes in use after an array of 40 MB is gone."""
    script = RESIDENT.format(first=first)
    return int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts what Linux tells")
def test_memory_of_a_freed_array_stays_with_the_process() -> None:
    kept = resident("from shoal.heap import keep_freed_memory; keep_freed_memory()")
    assert kept - resident("import shoal.heap") > 30e6


def test_where_there_is_no_such_c_library_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: object) -> None:
        raise TypeError(name)  # as on Windows

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", refused)
    heap.keep_freed_memory()
    heap.give_back_freed_memory()
