"""The table as it is written: in an order that follows from what its rows hold, and read back to hold exactly these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.engine import MARK, PERSONS, Engine, Inputs, Relation, Types
from shoal.engine.marks import marks, signed, with_marks
from shoal.errors import GuaranteeError
from shoal.recipe import Recipe
from shoal.release.on_engine.anonymize import EngineMade

__all__ = ["check_written", "digest", "in_order", "read_back"]


def in_order(engine: Engine, made: EngineMade, key: str, format: str = "parquet") -> Relation:
    """The rows that are written, with the marks under `key` that order them."""
    rows = engine.select(made.relation, [name for name in made.relation.columns if name in made.schema.released])
    return with_marks(engine, _without_empty_texts(engine, rows) if format == "csv" else rows, key)


def check_written(
    engine: Engine, made: EngineMade, rows: Relation, key: str, files: Sequence[Path], recipe: Recipe
) -> None:
    """Read the files back: they must hold exactly `rows`, in classes of k where that is claimed."""
    written = Inputs.listed("written table", files)
    try:
        _check_files(engine, made, rows, key, written, recipe)
    finally:
        engine.forget(written)


def _check_files(engine: Engine, made: EngineMade, rows: Relation, key: str, files: Inputs, recipe: Recipe) -> None:
    relation = read_back(engine, files, {name: dtype for name, dtype in rows.types.items() if name != MARK})
    own = _sum_of_marks(engine, engine.select(rows, [MARK]), lambda rows: rows[MARK].to_numpy())
    _require(digest(engine, relation, key) == own, "must hold exactly the released rows")
    if recipe.collapses:
        quasi = list(made.schema.quasi)
        counted = engine.count(relation if made.schema.unit is None else made.relation, quasi, made.schema.unit)
        smallest = int(engine.extremes(engine.keep(counted), [PERSONS])[PERSONS][0])
        _require(smallest >= recipe.k, f"must be {recipe.k}-anonymous")


def read_back(engine: Engine, files: Inputs, types: Types) -> Relation:
    """Written files with the types that were written: delimited text has none of its own."""
    if files.delimiter is None:
        return engine.select(engine.scan(files), list(types))
    return engine.map(engine.texts(files), lambda rows: pl.DataFrame([_read(rows[n], types[n]) for n in types]), types)


def _read(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        return cells == "true"
    if dtype == pl.Date:
        return cells.str.to_date("%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        return cells.str.to_datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone)
    if dtype == pl.Time:
        return cells.str.to_time("%H:%M:%S%.f")
    return cells.cast(dtype)


def _without_empty_texts(engine: Engine, relation: Relation) -> Relation:
    """In delimited text an empty text is a missing one."""
    texts = [name for name, dtype in relation.types.items() if dtype == pl.String]
    blank = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in texts]
    return engine.map(relation, lambda rows: rows.with_columns(blank), relation.types) if texts else relation


def digest(engine: Engine, relation: Relation, key: str) -> tuple[int, int]:
    """The number of rows and the sum of their marks modulo 2^64: equal for the same rows in any order and batches."""
    return _sum_of_marks(engine, relation, lambda rows: signed(marks(rows, key)))


def _sum_of_marks(engine: Engine, relation: Relation, of: Callable[[pl.DataFrame], IntArray]) -> tuple[int, int]:
    types = {"rows": pl.Int64(), "high": pl.Int64(), "low": pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        found = int(of(rows).view(np.uint64).sum(dtype=np.uint64))
        return pl.DataFrame({"rows": [len(rows)], "high": [found >> 32], "low": [found & 0xFFFFFFFF]}, schema=types)

    sums = engine.add_up(relation, batch, types)
    rows, high, low = (int(sums[name][0]) for name in types)
    return rows, ((high << 32) + low) % 2**64


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise GuaranteeError("written table", rule, hint="Nothing was released.")
