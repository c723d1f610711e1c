"""The protocol of an engine, and the one place where an engine is chosen.

A `Relation` is a table that may not have been read yet; the verbs make new ones of it. Only `collect`, `parts`,
`batches` and `extremes` bring anything to the driver, and only what their caller has counted. A function that is handed
to an engine must be pure: an engine may call it again for the same rows, in other batches and in another order.

Rules that hold for every engine: missing values are equal to each other, NaN is missing, the two zeros are one, text
compares by its bytes. A person is a value of the unit column; each row without one is a person of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import polars as pl

from shoal.engine.inputs import Inputs, check_distinct_names
from shoal.errors import ColumnError, ParameterError
from shoal.extras import need

__all__ = [
    "GROUPED",
    "MARK",
    "PERSON",
    "PERSONS",
    "ROWS",
    "Batch",
    "Engine",
    "Part",
    "Relation",
    "Types",
    "check_types",
    "open_engine",
    "scanned",
]

ROWS, PERSONS, GROUPED = "#rows", "#persons", "#grouped"
"""The columns that `count` adds, rows and persons, and the one that `aggregate` adds: rows of what was aggregated."""
MARK = "#mark"
"""The column of the rows' marks (`shoal.engine.marks`)."""
PERSON = ("#person", "#person, continued")
"""The columns with the register's mark of each row's person, where there is a register; never released."""

Types: TypeAlias = Mapping[str, pl.DataType]
Batch: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
"""A pure function of some rows: an engine may call it again for the same rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table that an engine may not have read yet: what it is to the engine, and the types of its columns."""

    plan: Any
    types: Types

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of a written table: its name, rows and digest."""

    name: str
    rows: int
    sha256: str


class Engine(Protocol):
    """What a run asks of an engine."""

    name: str

    def scan(self, inputs: Inputs) -> Relation:
        """The rows of files, not read yet."""

    def texts(self, inputs: Inputs) -> Relation:
        """The rows of files of delimited text, each cell as the text that it is; an empty one is missing."""

    def forget(self, inputs: Inputs) -> None:
        """These files are read no more: they may change or go."""

    def select(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Some of the columns, in this order."""

    def count(self, relation: Relation, by: Sequence[str], unit: str | None = None) -> Relation:
        """Exact rows (`ROWS`) and persons (`PERSONS`) of each combination of `by` that occurs."""

    def aggregate(
        self, relation: Relation, by: Sequence[str], sums: Sequence[str], highs: Sequence[str] = ()
    ) -> Relation:
        """The rows (`GROUPED`) of each combination of `by`, sums of columns of whole numbers, and largest values."""

    def keep(self, relation: Relation) -> Relation:
        """The same, computed once."""

    def collect(self, relation: Relation) -> pl.DataFrame:
        """All rows on the driver, in no particular order."""

    def parts(self, relation: Relation, by: Sequence[str], most: int) -> Iterator[pl.DataFrame]:
        """The rows on the driver, about `most` at a time, those of one combination of `by` together."""

    def batches(self, relation: Relation) -> Iterator[pl.DataFrame]:
        """The rows on the driver, some at a time, in no particular order; `relation` should have been kept."""

    def extremes(self, relation: Relation, names: Sequence[str]) -> pl.DataFrame:
        """Two rows: the smallest and the largest known value of each column."""

    def known(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many values of each column are known, and, under `ROWS`, how many rows there are."""

    def value_counts(self, relation: Relation, names: Sequence[str], most: int) -> Mapping[str, pl.DataFrame]:
        """The different values of each column with their rows (`ROWS`); more than `most` of a column are cut off."""

    def distinct(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many different known values each column has, exactly."""

    def person_sets(self, relation: Relation, by: Sequence[str], unit: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The combinations of `by` with their rows, and which of them persons have.

        The second frame has a row for each set of combinations that is the set of some person: ``set``, a list of row
        numbers of the first frame, and `PERSONS`. Persons don't add over combinations; over such sets they do.
        """

    def recode(self, relation: Relation, maps: Mapping[str, pl.DataFrame], without: pl.DataFrame) -> Relation:
        """Columns rewritten by tables ``from``, ``to``; rows that match one of `without` on its columns are left out.

        Each known value that is left must be in its table.
        """

    def matching(self, relation: Relation, frame: pl.DataFrame) -> Relation:
        """The rows that match a row of `frame` on its columns."""

    def narrow(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Columns in the plain type that their values allow, as `shoal.canonical.plain` has it."""

    def map(self, relation: Relation, function: Batch, types: Types) -> Relation:
        """What a pure function makes of batches of rows, computed once; `types` are those of its result."""

    def add_up(self, relation: Relation, function: Batch, types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
        """The sums, on the driver, of what a pure function counts in batches of rows, for each combination of `by`.

        Its columns besides `by` hold whole numbers, so batches, order and retries make no difference. Without `by`
        there is one row.
        """

    def draw(self, n: int, function: Callable[[int], pl.DataFrame], types: Types) -> Relation:
        """The rows that a pure function makes of each of the numbers 0 to n − 1, computed once."""

    def numbered(self, relation: Relation, by: Sequence[str], order: str, name: str) -> Relation:
        """A column more: the place of a row, from 1, among those that are equal in `by`, in the order of `order`.

        Rows that are equal in both must be equal in everything, or it depends on chance which comes first.
        """

    def assign(
        self, relation: Relation, name: str, function: Callable[[pl.DataFrame], pl.Series], dtype: pl.DataType
    ) -> Relation:
        """A column more, computed once, from a pure function that sees batches of rows."""

    def sample(self, relation: Relation, n: int, key: str, rows: int | None = None) -> pl.DataFrame:
        """The `n` rows with the smallest mark (`shoal.engine.marks`) under `key`, in order of their marks.

        `rows` is how many there are in all, where that is known.
        """

    def gathered(self, relation: Relation, unit: str, value: str, mark: str) -> Relation:
        """In `value`, for all rows of a person, what stands there in their row of the least `mark`.

        A row without a person's number keeps its own.
        """

    def apply(self, relation: Relation, cell: str, function: Batch, types: Types) -> Relation:
        """What a pure function makes of the rows of each cell, which it gets sorted by all columns."""

    def adopted(self, table: Any) -> Relation:
        """A table of the engine's own type, which somebody else holds, as a relation."""

    def native(self, relation: Relation, order: str) -> Any:
        """A relation as a table of the engine's own type, sorted by `order`, which it then leaves out."""

    def write(self, relation: Relation, folder: Path, format: str = "parquet") -> tuple[Part, ...]:
        """Write files of about equal numbers of rows in the order of their marks (`MARK`), which are left out."""

    def resting(self) -> AbstractContextManager[None]:
        """While the driver works on what it has fetched, the engine gives back what memory it can, and then it."""

    def driver_memory(self) -> int:
        """How many bytes the driver may take while the engine rests: of the memory limit, else of what is free."""

    def close(self) -> None:
        """Give back what the engine holds: connections, spill files."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@contextmanager
def scanned(engine: Engine, inputs: Inputs) -> Iterator[Relation]:
    """The rows of files, which must not change until the block ends, whichever way it does."""
    try:
        yield engine.scan(inputs)
    finally:
        engine.forget(inputs)


def check_types(types: Types) -> None:
    """Refuse columns that hold lists, bytes or objects, and names that an engine doesn't tell apart."""
    check_distinct_names("table", list(types))
    for name, dtype in types.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            rule = "must hold numbers, texts, dates or true/false"
            raise ColumnError(name, rule, got="another type", hint="Leave the column out of the files.")


def open_engine(
    name: str,
    *,
    memory: str | None = None,
    spill: Path | None = None,
    master: str | None = None,
    session: Any = None,
) -> Engine:
    """An engine by name.

    ``"memory"``; ``"duckdb"`` with a memory limit (``"4GB"``) and a folder to spill to; ``"spark"`` with the memory of
    an executor and where Spark runs, or the session that a table is of.
    """
    if name not in ("memory", "duckdb", "spark"):
        raise ParameterError("engine", "must be memory, duckdb or spark", got=repr(name)[:40])
    if memory is not None and not re.fullmatch(r"[1-9][0-9]*(\.[0-9]+)? ?(MB|GB|TB|MiB|GiB|TiB)", memory):
        raise ParameterError("--memory", "must be a size such as 500MB or 4GB", got=repr(memory)[:40])
    if name == "memory":
        from shoal.engine.memory import MemoryEngine

        return MemoryEngine()
    if name == "spark":
        for module in ("pyarrow", "pandas"):
            need(module, "engine spark", extra="spark")
        need("pyspark", "engine spark", otherwise="It needs Java 17.")
        if master is not None and master.startswith("sc://"):
            need("grpc", "engine spark")
        from shoal.engine.spark import SparkEngine

        return SparkEngine(master=master, session=session, memory=memory)
    for module in ("duckdb", "pyarrow"):
        need(module, "engine duckdb", extra="duckdb")
    from shoal.engine.duckdb import DuckDBEngine

    return DuckDBEngine(memory=memory, spill=spill)
