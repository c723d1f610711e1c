"""The engine in memory: a table is a Polars frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from shoal.canonical import plain
from shoal.engine.choose import free_memory
from shoal.engine.engine import GROUPED, MARK, PERSONS, ROWS, Batch, Part, Relation, Types, check_types
from shoal.engine.inputs import Inputs
from shoal.engine.marks import marks
from shoal.engine.parts import write_parts
from shoal.engine.sums import summed
from shoal.files import read_table
from shoal.files.column_types import typed

__all__ = ["MemoryEngine"]


class MemoryEngine:
    """Holds the whole table; the other engines must give what this one gives."""

    name = "memory"

    def scan(self, inputs: Inputs) -> Relation:
        """Read the files."""
        frame = _read(inputs)
        inputs.require_unchanged()
        return self.of(frame)

    def texts(self, inputs: Inputs) -> Relation:
        """The cells as they are."""
        return _relation(_cells(inputs))

    def forget(self, inputs: Inputs) -> None:
        """They have been read."""

    def of(self, frame: pl.DataFrame) -> Relation:
        """A frame as a relation: NaN is missing, there is one zero, categories are texts."""
        check_types(frame.schema)
        plain_types = frame.with_columns(
            pl.col(pl.Float32).cast(pl.Float64), pl.col(pl.Categorical, pl.Enum).cast(pl.String)
        )
        floats = [pl.col(name).fill_nan(None) for name, dtype in plain_types.schema.items() if dtype == pl.Float64]
        one_zero = [pl.when(cells == 0).then(pl.lit(0.0)).otherwise(cells).name.keep() for cells in floats]
        return _relation(plain_types.with_columns(one_zero))

    def select(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Some of the columns."""
        return _relation(relation.plan.select(names))

    def count(self, relation: Relation, by: Sequence[str], unit: str | None = None) -> Relation:
        """Rows and persons of each combination."""
        if unit is None:
            rows = _grouped(relation.plan, by, [pl.len().cast(pl.Int64).alias(ROWS)])
            return _relation(rows.with_columns(pl.col(ROWS).alias(PERSONS)))
        known = pl.col(unit).drop_nulls().n_unique() + pl.col(unit).is_null().sum()
        aggregates = [pl.len().cast(pl.Int64).alias(ROWS), known.cast(pl.Int64).alias(PERSONS)]
        return _relation(_grouped(relation.plan, by, aggregates))

    def aggregate(
        self, relation: Relation, by: Sequence[str], sums: Sequence[str], highs: Sequence[str] = ()
    ) -> Relation:
        """Rows, sums and largest values of each combination."""
        aggregates = [pl.len().cast(pl.Int64).alias(GROUPED), *map(pl.sum, sums), *map(pl.max, highs)]
        return _relation(_grouped(relation.plan, by, aggregates))

    def keep(self, relation: Relation) -> Relation:
        """The relation itself: it is computed."""
        return relation

    def collect(self, relation: Relation) -> pl.DataFrame:
        """The frame."""
        frame: pl.DataFrame = relation.plan
        return frame

    def parts(self, relation: Relation, by: Sequence[str], most: int) -> Iterator[pl.DataFrame]:
        """All rows at once."""
        yield relation.plan

    def batches(self, relation: Relation) -> Iterator[pl.DataFrame]:
        """All rows at once."""
        yield relation.plan

    def extremes(self, relation: Relation, names: Sequence[str]) -> pl.DataFrame:
        """The smallest and the largest values."""
        frame = relation.plan.select(names)
        both: pl.DataFrame = pl.concat([frame.min(), frame.max()])
        return both

    def known(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many values are known, and how many rows there are."""
        frame: pl.DataFrame = relation.plan
        return {ROWS: len(frame), **{name: len(frame) - frame[name].null_count() for name in names}}

    def value_counts(self, relation: Relation, names: Sequence[str], most: int) -> Mapping[str, pl.DataFrame]:
        """The different values with their rows."""
        rows = [pl.len().cast(pl.Int64).alias(ROWS)]
        return {name: _grouped(relation.plan, [name], rows).head(most + 1) for name in names}

    def distinct(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many different known values."""
        return {name: relation.plan[name].drop_nulls().n_unique() for name in names}

    def person_sets(self, relation: Relation, by: Sequence[str], unit: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The combinations, and which of them persons have."""
        combinations = self.collect(self.count(relation, by, unit)).with_row_index("#")
        rows = relation.plan.select([*by, unit]).join(combinations, on=list(by), nulls_equal=True).select(unit, "#")
        known = rows.drop_nulls(unit).group_by(unit).agg(pl.col("#").unique().sort().alias("set"))
        alone = rows.filter(pl.col(unit).is_null()).select(pl.concat_list("#").alias("set"))
        sets = pl.concat([known.select("set"), alone]).group_by("set").agg(pl.len().cast(pl.Int64).alias(PERSONS))
        return combinations.drop("#"), sets

    def recode(self, relation: Relation, maps: Mapping[str, pl.DataFrame], without: pl.DataFrame) -> Relation:
        """Columns rewritten, rows left out."""
        frame = relation.plan
        if len(without):
            frame = frame.join(without, on=without.columns, how="anti", nulls_equal=True)
        for name, table in maps.items():
            new = frame.select(name).join(
                table, left_on=name, right_on="from", how="left", nulls_equal=True, maintain_order="left"
            )
            frame = frame.with_columns(new["to"].alias(name))
        return _relation(frame)

    def narrow(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Columns in their plain types."""
        return _relation(relation.plan.with_columns(plain(relation.plan[name]) for name in names))

    def matching(self, relation: Relation, frame: pl.DataFrame) -> Relation:
        """The rows that match one of a frame."""
        return _relation(relation.plan.join(frame, on=frame.columns, how="semi", nulls_equal=True))

    def map(self, relation: Relation, function: Batch, types: Types) -> Relation:
        """What a function makes of all rows."""
        return _relation(function(relation.plan).cast(dict(types)))  # type: ignore[arg-type]

    def add_up(self, relation: Relation, function: Batch, types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
        """The sums of what a function counts in all rows."""
        return summed([function(relation.plan)], types, by)

    def draw(self, n: int, function: Callable[[int], pl.DataFrame], types: Types) -> Relation:
        """The rows that a function makes of each number."""
        return _relation(pl.concat([pl.DataFrame(schema=types), *(function(i) for i in range(n))]))

    def numbered(self, relation: Relation, by: Sequence[str], order: str, name: str) -> Relation:
        """The places of rows among those that are equal in `by`."""
        place = pl.col(order).rank("ordinal").over(list(by)).cast(pl.Int64).alias(name)
        return _relation(relation.plan.with_columns(place))

    def assign(
        self, relation: Relation, name: str, function: Callable[[pl.DataFrame], pl.Series], dtype: pl.DataType
    ) -> Relation:
        """A column more."""
        return _relation(relation.plan.with_columns(function(relation.plan).cast(dtype).alias(name)))

    def sample(self, relation: Relation, n: int, key: str, rows: int | None = None) -> pl.DataFrame:
        """The rows with the smallest marks."""
        return _ordered(relation.plan, key).head(n)

    def gathered(self, relation: Relation, unit: str, value: str, mark: str) -> Relation:
        """What stands in each person's row of the least mark."""
        frame: pl.DataFrame = relation.plan
        least = frame.drop_nulls(unit).group_by(unit).agg(pl.col(value).sort_by(mark).first().alias("#home"))
        home = frame.select(unit).join(least, on=unit, how="left", maintain_order="left")["#home"]
        return _relation(frame.with_columns(home.fill_null(frame[value]).alias(value)))

    def apply(self, relation: Relation, cell: str, function: Batch, types: Types) -> Relation:
        """What a function makes of each cell."""
        cells = relation.plan.partition_by(cell, maintain_order=False)
        made = [function(rows.sort(rows.columns)) for rows in cells]
        return _relation(pl.concat([pl.DataFrame(schema=types), *made]))

    def adopted(self, table: Any) -> Relation:
        """A frame."""
        return self.of(table)

    def native(self, relation: Relation, order: str) -> Any:
        """The frame."""
        return relation.plan.sort(order).drop(order)

    def write(self, relation: Relation, folder: Path, format: str = "parquet") -> tuple[Part, ...]:
        """Write the rows in the order of their marks."""
        return write_parts([relation.plan.sort(MARK)], folder, len(relation.plan), format)

    def resting(self) -> AbstractContextManager[None]:
        """It holds the table anyway."""
        return nullcontext()

    def driver_memory(self) -> int:
        """What is free."""
        return free_memory()

    def close(self) -> None:
        """There is nothing to give back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _relation(frame: pl.DataFrame) -> Relation:
    return Relation(plan=frame, types=dict(frame.schema))


def _read(inputs: Inputs) -> pl.DataFrame:
    """All files together; the types of delimited text are told from every cell of all of them."""
    if inputs.delimiter is None:
        return pl.concat([read_table(file).select(inputs.columns) for file in inputs.files])
    cells = _cells(inputs)
    return pl.DataFrame([typed(cells[name], ".") for name in inputs.columns])


def _cells(inputs: Inputs) -> pl.DataFrame:
    """All cells of delimited text as they are."""
    return pl.concat([read_table(file, delimiter=inputs.delimiter, text=inputs.columns) for file in inputs.files])


def _grouped(frame: pl.DataFrame, by: Sequence[str], aggregates: list[pl.Expr]) -> pl.DataFrame:
    return frame.group_by(list(by)).agg(aggregates) if by else frame.select(aggregates)


def _ordered(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    return frame[np.argsort(marks(frame, key), kind="stable")]
