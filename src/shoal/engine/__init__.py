"""Engines: the same few verbs over tables in memory and over files that don't fit there.

`memory` holds the table as a Polars frame; `duckdb` leaves it in its files, works within a memory limit and spills to
disk. What a step computes doesn't depend on the engine: counts are exact integers, sums of floats are never taken by an
engine, no verb depends on the order of rows, on files, threads or batches, and the tests run one suite over both.
"""

from shoal.engine.engine import (
    GROUPED,
    MARK,
    PERSON,
    PERSONS,
    ROWS,
    Batch,
    Engine,
    Part,
    Relation,
    Types,
    open_engine,
    scanned,
)
from shoal.engine.inputs import Inputs
from shoal.engine.parts import PART_FORMATS

__all__ = [
    "GROUPED",
    "MARK",
    "PART_FORMATS",
    "PERSON",
    "PERSONS",
    "ROWS",
    "Batch",
    "Engine",
    "Inputs",
    "Part",
    "Relation",
    "Types",
    "open_engine",
    "scanned",
]
