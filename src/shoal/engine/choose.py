"""Which engine a table needs: memory while a forecast of what a run holds fits there, else DuckDB.

A run in memory holds a table several times over: as it came, sorted, as numbers and as points. Measured on simulated
claims with eight quasi-identifiers, KMember with GaussianDither and its evidence peak at some 250 bytes for each cell
of a Parquet file, and at ten times the bytes of a CSV file.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from shoal.errors import InputError
from shoal.files.table import files_at, is_many

__all__ = ["bytes_of", "forecast", "free_memory", "suited", "suited_to_cells"]

_A_CELL, _A_BYTE_OF_TEXT = 250, 10
_SHARE = 0.6  # of the memory that is free
_UNITS = {
    f"{prefix}{middle}B": base**power
    for power, prefix in enumerate(("", "K", "M", "G", "T"))
    for middle, base in (("", 1000), ("i", 1024))
}


def suited(path: str | Path, memory: str | None = None) -> str:
    """``"memory"`` or ``"duckdb"``: what the table that `path` names needs, within `memory` or what is free."""
    try:
        needed = forecast(path)
    except (InputError, OSError):
        return "memory"  # whose readers know more formats, and say what is wrong
    return _suited(needed, memory)


def suited_to_cells(cells: int, memory: str | None = None) -> str:
    """The same for a table that lies elsewhere, of so many rows times columns."""
    return _suited(cells * _A_CELL, memory)


def forecast(path: str | Path) -> int:
    """About how many bytes a run in memory holds; 0 for what is neither Parquet nor text."""
    files = files_at(str(path)) if is_many(str(path)) else [Path(path)]
    return sum(map(_of_file, files))


def bytes_of(memory: str) -> int:
    """``4GB`` in bytes; as DuckDB has it, GB are powers of 1000 and GiB of 1024.

    Examples
    --------
    >>> from shoal.engine.choose import bytes_of
    >>> bytes_of("2GB"), bytes_of("2GiB")
    (2000000000, 2147483648)
    """
    found = re.fullmatch(r"([0-9.]+) ?([KMGT]?i?B|bytes)", memory)
    return int(float(found[1]) * _UNITS.get(found[2], 1)) if found else 0


def _suited(needed: int, memory: str | None) -> str:
    limit = _SHARE * free_memory() if memory is None else bytes_of(memory)
    return "duckdb" if needed > limit and find_spec("duckdb") is not None else "memory"


def _of_file(file: Path) -> int:
    name = file.name.lower()
    if name.endswith(".parquet"):
        try:
            found = pl.scan_parquet(file)
            return int(found.select(pl.len()).collect().item()) * len(found.collect_schema()) * _A_CELL
        except Exception:  # the reader says what is wrong with it
            return 0
    text = name.removesuffix(".gz").endswith((".csv", ".tsv", ".txt"))
    return file.stat().st_size * _A_BYTE_OF_TEXT * (4 if name.endswith(".gz") else 1) if text else 0


def free_memory() -> int:
    """Bytes of memory that can be had, caches of files included, where the system says so."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError):
        return 8 * 2**30
