"""Files of about equal numbers of rows: which file a row is in, and where in it, follows from its mark.

So an engine can write every file by itself, wherever its rows are, and all engines write the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import starmap
from pathlib import Path

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.engine.engine import MARK, Part
from shoal.files import sha256, write_table

__all__ = ["PART_FORMATS", "ROWS_OF_A_PART", "n_parts", "part_name", "part_numbers", "write_part", "write_parts"]

ROWS_OF_A_PART = 1_000_000
PART_FORMATS = ("parquet", "csv")


def part_name(number: int, format: str) -> str:
    """``part-00000.parquet`` and so on."""
    return f"part-{number:05d}.{format}"


def n_parts(n: int, rows: int | None = None) -> int:
    """Into how many files n rows go."""
    return max(1, -(-n // (rows or ROWS_OF_A_PART)))


def part_numbers(marks: pl.Series, parts: int) -> IntArray:
    """The file of each row: the range of all marks is cut into equal ones."""
    high = (marks.to_numpy().astype(np.int64) >> 32) + 2**31
    return high * parts >> 32


def write_part(rows: pl.DataFrame, number: int, folder: Path, format: str) -> Part:
    """Write the rows of one file in the order of their marks; it is whole before its name is there.

    Whoever writes it again writes the same bytes.
    """
    path = folder / part_name(number, format)
    if not rows[MARK].is_sorted():
        rows = rows.sort(MARK, maintain_order=True)
    write_table(rows.drop(MARK), path)
    return Part(name=path.name, rows=len(rows), sha256=sha256(path))


def write_parts(
    batches: Iterable[pl.DataFrame], folder: Path, n: int, format: str = "parquet", rows: int | None = None
) -> tuple[Part, ...]:
    """Write rows that come in the order of their marks, which they have in a column."""

    def written(number: int, frame: pl.DataFrame) -> Part:
        return write_part(frame, number, folder, format)

    return tuple(starmap(written, _cut(batches, n_parts(n, rows))))  # which holds no file once it is written


def _cut(batches: Iterable[pl.DataFrame], parts: int) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each file, in one piece: batches and file are not held beside each other."""
    held: list[pl.DataFrame] = []
    number = 0
    for batch in batches:
        numbers = part_numbers(batch[MARK], parts)
        for own in np.unique(numbers):
            if held and own != number:
                yield number, _whole(held)
            number = int(own)
            held.append(batch.filter(pl.Series(numbers == own)))
    if held:
        yield number, _whole(held)


def _whole(held: list[pl.DataFrame]) -> pl.DataFrame:
    """The batches as one, and none held any more."""
    whole = pl.concat(held, rechunk=True)
    held.clear()
    return whole
