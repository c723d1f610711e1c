"""Parquet files of equal numbers of rows, written one after another from batches of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from shoal.engine.engine import Part
from shoal.files import sha256, write_table

__all__ = ["ROWS_OF_A_PART", "part_name", "write_parts"]

ROWS_OF_A_PART = 1_000_000


def part_name(number: int) -> str:
    """``part-00000.parquet`` and so on."""
    return f"part-{number:05d}.parquet"


def write_parts(batches: Iterable[pl.DataFrame], folder: Path, rows: int = ROWS_OF_A_PART) -> tuple[Part, ...]:
    """Write the rows of `batches` in their order, `rows` to a file; each file is whole before its name is there."""
    made = []
    for number, frame in enumerate(_cut(batches, rows)):
        path = folder / part_name(number)
        write_table(frame, path)
        made.append(Part(name=path.name, rows=len(frame), sha256=sha256(path)))
    return tuple(made)


def _cut(batches: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of exactly `rows`, but for the last."""
    held: list[pl.DataFrame] = []
    n = 0
    for batch in batches:
        held.append(batch)
        n += len(batch)
        while n >= rows:
            whole = pl.concat(held)
            yield whole.head(rows)
            held, n = [whole.slice(rows)], n - rows
    if n:
        yield pl.concat(held)
