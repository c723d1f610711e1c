"""The engine on DuckDB: tables stay in their files, work happens within a memory limit and spills to disk.

A relation is a query, run when its rows are asked for; what is computed once lies in a database file in a private
folder, which is removed at the end (what a killed process left is removed by the next one). DuckDB's sums of floats,
approximate counts, order of groups, collations and own hashes play no part in any result.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from shoal.engine.choose import bytes_of, free_memory
from shoal.engine.csv_types import Dialect, csv_types
from shoal.engine.engine import MARK, Batch, Part, Relation, Types, check_types
from shoal.engine.inputs import Inputs
from shoal.engine.interrupts import interruptible
from shoal.engine.parts import write_parts
from shoal.engine.sql import SqlEngine
from shoal.engine.sums import summed
from shoal.errors import FileError
from shoal.heap import give_back_freed_memory

__all__ = ["DuckDBEngine"]

_BATCH = 100_000
_AT_REST, _LEAST_MEMORY = 8, 100 << 20
_LIBRARIES = 400 << 20  # what a process takes that does nothing
_BATCHES = 624 << 20  # and what rows take on their way between DuckDB and the files of a release, beside its buffers
_INSERTED = 500_000  # rows that go into a table at a time: small inserts take twice the CPU


class DuckDBEngine(SqlEngine):
    """DuckDB on files, out of core.

    Parameters
    ----------
    memory
        Memory limit of the whole process, such as ``"4GB"``. DuckDB gets what is left of it beside the program itself
        and a few batches of rows, but at least half. What the driver fetches is counted against it beforehand. None:
        DuckDB may take four fifths of the machine's.
    spill
        The folder for what doesn't fit; None: the system's folder for temporary files.
    threads
        None: as many as there are cores. No result depends on it.
    """

    name = "duckdb"
    set_of = "list(DISTINCT {0} ORDER BY {0})"
    spread = "hash({0})"
    first = "arg_min({0}, {1})"

    def __init__(self, *, memory: str | None = None, spill: Path | None = None, threads: int | None = None) -> None:
        self._room = _private_room(spill)
        self._memory = None if memory is None else bytes_of(memory)
        self._limit = None if self._memory is None else self._memory - min(_LIBRARIES + _BATCHES, self._memory // 2)
        options = {
            "memory_limit": self._limit and f"{self._limit} B",
            "threads": threads,
            "temp_directory": str(self._room / "spilled"),
        }
        settings: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        with _reporting(self._room):
            self._connection = duckdb.connect(str(self._room / "work.duckdb"), config=settings)
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute("SET preserve_insertion_order = false")
        self._dialect = Dialect(name=self._name, match="regexp_matches({0}, '{1}')", moment="TIMESTAMP", has_times=True)
        self._numbers = count()
        self._inputs: list[Inputs] = []

    def scan(self, inputs: Inputs) -> Relation:
        """The rows of Parquet or CSV files, not read yet; of CSV, every cell is looked at to tell the types."""
        if inputs.delimiter is not None:
            plan = self.texts(inputs).plan
            return self.cleaned(self._relation(csv_types(plan, inputs.columns, self._row, self._dialect)))
        self._inputs.append(inputs)
        # Parquet's statistics don't tell of NaN; without this option DuckDB takes them to say that there is none.
        source = f"read_parquet({_list(inputs.files)}, hive_partitioning=false, can_have_nan=true)"
        return self.cleaned(self._relation(f"SELECT {self._names(inputs.columns)} FROM {source}"))

    def texts(self, inputs: Inputs) -> Relation:
        """The rows of files of delimited text, each cell as it is."""
        self._inputs.append(inputs)
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in inputs.columns)
        source = (
            f"read_csv({_list(inputs.files)}, auto_detect=false, header=true, delim={_text(inputs.delimiter or ',')}, "
            f"quote='\"', escape='\"', nullstr='', strict_mode=true, columns={{{columns}}})"
        )
        return self._relation(f"SELECT {self._names(inputs.columns)} FROM {source}")

    def keep(self, relation: Relation) -> Relation:
        """The rows in a table of the work database."""
        table = self._new()
        self._run(f"CREATE TABLE {table} AS {relation.plan}")
        return Relation(plan=f"SELECT * FROM {table}", types=relation.types)

    def map(self, relation: Relation, function: Batch, types: Types) -> Relation:
        """What a function makes of batches, which leave through Arrow and come back into a table."""
        return self._through(self._batches(relation.plan), function, types)

    def apply(self, relation: Relation, cell: str, function: Batch, types: Types) -> Relation:
        """What a function makes of each cell, one cell at a time on the driver; DuckDB sorts by cell, and spills."""
        ordered = f"SELECT * FROM ({relation.plan}) ORDER BY {self._name(cell)}"
        cells = _cells(self._batches(ordered), cell)
        return self._through(cells, lambda rows: function(rows.sort(rows.columns)), types)

    def add_up(self, relation: Relation, function: Batch, types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
        """The sums of what a function counts in batches."""
        return summed((function(batch) for batch in self._batches(relation.plan) if len(batch)), types, by)

    def draw(self, n: int, function: Callable[[int], pl.DataFrame], types: Types) -> Relation:
        """The rows that a function makes of each number, in a table."""
        return self._through(map(function, range(n)), lambda rows: rows, types)

    def adopted(self, table: Any) -> Relation:
        """A relation of another connection: its rows stream into the work database."""
        with _reporting(self._room):
            reader = table.to_arrow_reader(_BATCH)
            types = dict(_frame(reader.schema.empty_table()).schema)
        check_types(types)
        rows = self._read(reader, lambda: None)  # who made the relation can't be told to end
        return self.cleaned(self._through(rows, lambda rows: rows, types))

    def native(self, relation: Relation, order: str) -> Any:
        """A relation of this engine's connection."""
        names = self._names([name for name in relation.columns if name != order])
        return self._connection.sql(f"SELECT {names} FROM ({relation.plan}) ORDER BY {self._name(order)}")

    def write(self, relation: Relation, folder: Path, format: str = "parquet") -> tuple[Part, ...]:
        """Write the rows in the order of their marks."""
        ordered = f"SELECT * FROM ({relation.plan}) ORDER BY {self._name(MARK)}"
        return write_parts(self._batches(ordered), folder, self._length(relation), format)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """With an eighth of its memory; the rest goes to disk, and what the driver has freed to the system."""
        limit = bytes_of(self._row("SELECT current_setting('memory_limit')")[0]) if self._limit is None else self._limit
        self._run(f"SET memory_limit = '{_at_rest(limit)} B'")
        try:
            yield
        finally:
            give_back_freed_memory()
            self._run(f"SET memory_limit = '{limit} B'")

    def driver_memory(self) -> int:
        """What the memory limit leaves beside the program and DuckDB at rest; without a limit, what is free."""
        if self._memory is None or self._limit is None:
            return free_memory()
        return self._memory - min(_LIBRARIES, self._memory // 2) - _at_rest(self._limit)

    def batches(self, relation: Relation) -> Iterator[pl.DataFrame]:
        """The rows as they come."""
        return self._batches(relation.plan)

    def close(self) -> None:
        """Close the database and remove the folder with everything that was spilled."""
        self._connection.close()
        shutil.rmtree(self._room, ignore_errors=True)

    def _through(self, batches: Iterator[pl.DataFrame], function: Batch, types: Types) -> Relation:
        """A table of what a function makes of each batch."""
        table = self._new()
        self._store(table, pl.DataFrame(schema=types))
        made = (function(batch).select(list(types)).cast(dict(types)) for batch in batches if len(batch))  # type: ignore[arg-type]
        for rows in _together(made, _INSERTED):
            self._insert(table, rows)
        return Relation(plan=f"SELECT * FROM {table}", types=dict(types))

    def _batches(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query as they come, on a cursor of its own."""
        cursor = self._connection.cursor()
        with self._asking(cursor.interrupt):
            reader = cursor.sql(query).to_arrow_reader(_BATCH)
        yield from self._read(reader, cursor.interrupt)

    def _read(self, reader: Iterator[Any], interrupt: Callable[[], None]) -> Iterator[pl.DataFrame]:
        while True:
            with self._asking(interrupt):
                batch = next(reader, None)
            if batch is None:
                return
            yield _frame(batch)

    def _fetch(self, query: str) -> pl.DataFrame:
        with self._asking():
            return _frame(self._connection.sql(query).to_arrow_table())

    def _row(self, query: str) -> tuple[Any, ...]:
        with self._asking():
            found: tuple[Any, ...] = self._connection.execute(query).fetchall()[0]
        return found

    def _run(self, statement: str) -> None:
        with self._asking():
            self._connection.execute(statement)

    @contextmanager
    def _asking(self, interrupt: Callable[[], None] | None = None) -> Iterator[None]:
        """Ask DuckDB: its errors become Shoal's, a signal ends the query, files that changed meanwhile are refused."""
        with _reporting(self._room, self._inputs), interruptible(interrupt or self._connection.interrupt):
            yield
        for inputs in self._inputs:
            inputs.require_unchanged()

    def _relation(self, query: str) -> Relation:
        with self._asking():
            empty = self._connection.sql(f"SELECT * FROM ({query}) LIMIT 0").to_arrow_table()
        return Relation(plan=query, types=dict(_frame(empty).schema))

    def _stored(self, frame: pl.DataFrame) -> str:
        table = self._new()
        self._store(table, frame)
        return table

    def _store(self, table: str, frame: pl.DataFrame) -> None:
        with self._shown(frame) as view:
            self._run(f"CREATE TABLE {table} AS SELECT * FROM {view}")

    def _insert(self, table: str, frame: pl.DataFrame) -> None:
        with self._shown(frame) as view:
            self._run(f"INSERT INTO {table} SELECT * FROM {view}")

    @contextmanager
    def _shown(self, frame: pl.DataFrame) -> Iterator[str]:
        view = self._new()
        self._connection.register(view, frame.to_arrow())
        try:
            yield view
        finally:
            self._connection.unregister(view)

    def _new(self) -> str:
        return f"t{next(self._numbers)}"


def _at_rest(limit: int) -> int:
    return max(min(_LEAST_MEMORY, limit), limit // _AT_REST)


def _cells(batches: Iterator[pl.DataFrame], cell: str) -> Iterator[pl.DataFrame]:
    """The rows of each cell, from batches in which cells lie one after another."""
    held: list[pl.DataFrame] = []
    for batch in batches:
        for rows in batch.partition_by(cell, maintain_order=True):
            if held and held[-1][cell][0] != rows[cell][0]:
                yield pl.concat(held)
                held = []
            held.append(rows)
    if held:
        yield pl.concat(held)


def _together(frames: Iterator[pl.DataFrame], most: int) -> Iterator[pl.DataFrame]:
    """Frames joined until they have about `most` rows."""
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(map(len, held)) >= most:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)


def _frame(arrow: Any) -> pl.DataFrame:
    made = pl.from_arrow(arrow)
    assert isinstance(made, pl.DataFrame)
    return made


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _list(files: Sequence[Path]) -> str:
    return "[" + ", ".join(_text(_literal(file)) for file in files) + "]"


def _literal(file: Path) -> str:
    """A path in which no letter stands for others."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


@contextmanager
def _reporting(room: Path, inputs: Sequence[Inputs] = ()) -> Iterator[None]:
    """Turn DuckDB's errors, whose messages may quote cells, into Shoal's."""
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError):
        raise _no_room(room) from None
    except duckdb.Error as error:
        if any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT)):
            raise _no_room(room) from None
        for one in inputs:
            one.require_unchanged()
        kind = type(error).__name__.removesuffix("Exception")
        raise FileError(
            inputs[-1].path if inputs else str(room.parent),
            f"can't be read by DuckDB ({kind})",
            hint="Are all files whole, in UTF-8, and every line as long as the header?",
        ) from None


def _no_room(room: Path) -> FileError:
    return FileError(
        str(room.parent),
        "has no room for spilling within the limits",
        hint="Raise --memory, or name a folder on a larger disk (--spill).",
    )


def _private_room(spill: Path | None) -> Path:
    """A folder of its own that only the owner can read; those of dead processes are removed."""
    base = Path(tempfile.gettempdir()) if spill is None else spill
    try:
        for left in base.glob("shoal-duckdb-*"):
            if not _is_alive(left.name.split("-")[2]):
                shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=f"shoal-duckdb-{os.getpid()}-", dir=base))
    except OSError as error:
        raise FileError(str(base), "must be a folder to spill to", got=(error.strerror or "").lower()) from None


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
