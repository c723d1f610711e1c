"""The engine on DuckDB: tables stay in their files, work happens within a memory limit and spills to disk.

A relation is a query, run when its rows are asked for; what is computed once lies in a database file in a private
folder, which is removed at the end (what a killed process left is removed by the next one). DuckDB's sums of floats,
approximate counts, order of groups, collations and own hashes play no part in any result.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

import duckdb
import polars as pl

from shoal.engine.cells import csv_types, scanned
from shoal.engine.engine import GROUPED, PERSONS, ROWS, Part, Relation
from shoal.engine.inputs import Inputs
from shoal.engine.marks import marks
from shoal.engine.parquet_parts import write_parts
from shoal.errors import FileError

__all__ = ["DuckDBEngine"]

_BATCH = 100_000
_MARK = "#mark"


class DuckDBEngine:
    """DuckDB on files, out of core.

    Parameters
    ----------
    memory
        Memory limit of its buffers, such as ``"4GB"``; None: four fifths of the machine's. Frames on the driver, which
        are counted before they are fetched, and a few batches of rows come on top.
    spill
        The folder for what doesn't fit; None: the system's folder for temporary files.
    threads
        None: as many as there are cores. No result depends on it.
    """

    name = "duckdb"

    def __init__(self, *, memory: str | None = None, spill: Path | None = None, threads: int | None = None) -> None:
        self._room = _private_room(spill)
        wanted = {"memory_limit": memory, "threads": threads, "temp_directory": str(self._room / "spilled")}
        settings: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        with _reporting(self._room):
            self._connection = duckdb.connect(str(self._room / "work.duckdb"), config=settings)
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute("SET preserve_insertion_order = false")
        self._numbers = count()
        self._inputs: list[Inputs] = []

    def scan(self, inputs: Inputs) -> Relation:
        """The rows of Parquet or CSV files, not read yet; of CSV, every cell is looked at to tell the types."""
        self._inputs.append(inputs)
        if inputs.delimiter is None:
            # Parquet's statistics don't tell of NaN; without this option DuckDB takes them to say that there is none.
            source = f"read_parquet({_list(inputs.files)}, hive_partitioning=false, can_have_nan=true)"
        else:
            columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in inputs.columns)
            source = (
                f"read_csv({_list(inputs.files)}, auto_detect=false, header=true, delim={_text(inputs.delimiter)}, "
                f"quote='\"', escape='\"', nullstr='', strict_mode=true, columns={{{columns}}})"
            )
        raw = self._relation(f"SELECT {_names(inputs.columns)} FROM {source}")
        if inputs.delimiter is not None:
            raw = self._relation(csv_types(raw.plan, inputs.columns, self._row))
        return self._relation(scanned(raw.plan, raw.types))

    def forget(self, inputs: Inputs) -> None:
        """No longer hold the files to be unchanged."""
        self._inputs.remove(inputs)

    def of(self, frame: pl.DataFrame) -> Relation:
        """A frame of the driver as a relation."""
        stored = self._relation(f"SELECT * FROM {self._stored(frame)}")
        return self._relation(scanned(stored.plan, stored.types))

    def select(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Some of the columns."""
        return self._relation(f"SELECT {_names(names)} FROM ({relation.plan})")

    def count(self, relation: Relation, by: Sequence[str], unit: str | None = None) -> Relation:
        """Rows and persons of each combination, in two stages, both exact and able to spill."""
        if unit is None:
            counted = f"count(*) AS {_name(ROWS)}, count(*) AS {_name(PERSONS)}"
            return self._relation(f"SELECT {_head(by)}{counted} FROM ({relation.plan}){_group(by)}")
        inner = f"SELECT {_head(by)}{_name(unit)} AS u, count(*) AS n FROM ({relation.plan}){_group([*by, unit])}"
        persons = f"sum(CASE WHEN u IS NULL THEN n ELSE 1 END)::BIGINT AS {_name(PERSONS)}"
        return self._relation(
            f"SELECT {_head(by)}sum(n)::BIGINT AS {_name(ROWS)}, {persons} FROM ({inner}){_group(by)}"
        )

    def aggregate(
        self, relation: Relation, by: Sequence[str], sums: Sequence[str], highs: Sequence[str] = ()
    ) -> Relation:
        """Rows, sums of whole numbers and largest values of each combination."""
        totals = "".join(f", sum({_name(name)})::BIGINT AS {_name(name)}" for name in sums)
        totals += "".join(f", max({_name(name)}) AS {_name(name)}" for name in highs)
        return self._relation(
            f"SELECT {_head(by)}count(*) AS {_name(GROUPED)}{totals} FROM ({relation.plan}){_group(by)}"
        )

    def keep(self, relation: Relation) -> Relation:
        """The rows in a table of the work database."""
        table = self._new()
        self._run(f"CREATE TABLE {table} AS {relation.plan}")
        return Relation(plan=f"SELECT * FROM {table}", types=relation.types)

    def collect(self, relation: Relation) -> pl.DataFrame:
        """All rows on the driver."""
        return self._fetch(relation.plan)

    def parts(self, relation: Relation, by: Sequence[str], most: int) -> Iterator[pl.DataFrame]:
        """The rows on the driver; combinations are spread over the parts by DuckDB's hash, which decides nothing else.

        `relation` should have been kept: it is read once for each part.
        """
        rows = self._row(f"SELECT count(*) FROM ({relation.plan})")[0]
        n = -(-rows // most)
        if n <= 1:
            yield self._fetch(relation.plan)
            return
        for part in range(n):
            yield self._fetch(f"SELECT * FROM ({relation.plan}) WHERE hash({_names(by)}) % {n} = {part}")

    def extremes(self, relation: Relation, names: Sequence[str]) -> pl.DataFrame:
        """The smallest and the largest values."""
        low, high = (
            ", ".join(f"{which}({_name(name)}) AS {_name(name)}" for name in names) for which in ("min", "max")
        )
        frames = [self._fetch(f"SELECT {chosen} FROM ({relation.plan})") for chosen in (low, high)]
        return pl.concat(frames)

    def person_sets(self, relation: Relation, by: Sequence[str], unit: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The combinations, and which of them persons have."""
        frame = self.collect(self.count(relation, by, unit)).with_row_index("#")
        same = _matches("s", "c", by)
        rows = (
            f'SELECT s.{_name(unit)} AS u, c."#"::BIGINT AS c FROM ({relation.plan}) s '
            f"JOIN {self._stored(frame)} c ON {same}"
        )
        known = f"SELECT list(DISTINCT c ORDER BY c) AS set, 1 AS n FROM ({rows}) WHERE u IS NOT NULL GROUP BY u"
        alone = f"SELECT [c] AS set, count(*) AS n FROM ({rows}) WHERE u IS NULL GROUP BY c"
        sets = f"SELECT set, sum(n)::BIGINT AS {_name(PERSONS)} FROM ({known} UNION ALL {alone}) GROUP BY set"
        return frame.drop("#"), self._fetch(sets)

    def recode(self, relation: Relation, maps: Mapping[str, pl.DataFrame], without: pl.DataFrame) -> Relation:
        """Columns rewritten by joins, rows left out by an anti-join; missing values match each other."""
        query, joins = f"({relation.plan}) s", ""
        chosen = [f"s.{_name(name)}" for name in relation.columns]
        for number, (name, table) in enumerate(maps.items()):
            place = relation.columns.index(name)
            chosen[place] = f'm{number}."to" AS {_name(name)}'
            same = f's.{_name(name)} IS NOT DISTINCT FROM m{number}."from"'
            joins += f" LEFT JOIN {self._stored(table)} m{number} ON {same}"
        if len(without):
            joins += f" ANTI JOIN {self._stored(without)} w ON {_matches('s', 'w', without.columns)}"
        return self._relation(f"SELECT {', '.join(chosen)} FROM {query}{joins}")

    def narrow(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Columns in their plain types; `relation` should have been kept."""
        tests = {name: _narrower(_name(name), relation.types[name]) for name in names}
        asked = {name: test for name, test in tests.items() if test is not None}
        if not asked:
            return relation
        found = self._row(
            f"SELECT {', '.join(f'count({_name(name)}) > 0 AND bool_and({t[0]})' for name, t in asked.items())} "
            f"FROM ({relation.plan})"
        )
        casts = {name: asked[name][1] for name, holds in zip(asked, found, strict=True) if holds}
        chosen = [f"{casts[name]} AS {_name(name)}" if name in casts else _name(name) for name in relation.columns]
        return self._relation(f"SELECT {', '.join(chosen)} FROM ({relation.plan})")

    def assign(self, relation: Relation, name: str, function: Callable[[pl.DataFrame], pl.Series]) -> Relation:
        """A column more: batches leave through Arrow and come back into a table."""
        return self._through(
            self._batches(relation.plan), lambda frame: frame.with_columns(function(frame).alias(name))
        )

    def sample(self, relation: Relation, n: int, key: str) -> pl.DataFrame:
        """The rows with the smallest marks."""
        marked = self.assign(relation, _MARK, _marked(key))
        return self._fetch(f"SELECT * FROM ({marked.plan}) ORDER BY {_name(_MARK)} LIMIT {n}").drop(_MARK)

    def apply(self, relation: Relation, cell: str, function: Callable[[pl.DataFrame], pl.DataFrame]) -> Relation:
        """What a function makes of each cell, one cell at a time on the driver."""
        kept = self.keep(relation)
        cells = self.collect(self.count(kept, [cell]))[cell]
        frames = (self._cell(kept, cell, value) for value in cells.sort())
        return self._through(frames, lambda rows: function(rows.sort(rows.columns)))

    def write(self, relation: Relation, folder: Path, key: str) -> tuple[Part, ...]:
        """Write the rows in the order of their marks."""
        marked = self.assign(relation, _MARK, _marked(key))
        ordered = f"SELECT {_names(relation.columns)} FROM ({marked.plan}) ORDER BY {_name(_MARK)}"
        return write_parts(self._batches(ordered), folder)

    def close(self) -> None:
        """Close the database and remove the folder with everything that was spilled."""
        self._connection.close()
        shutil.rmtree(self._room, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _cell(self, kept: Relation, cell: str, value: Any) -> pl.DataFrame:
        key = self._stored(pl.DataFrame({"value": [value]}))
        return self._fetch(
            f"SELECT s.* FROM ({kept.plan}) s JOIN {key} c ON s.{_name(cell)} IS NOT DISTINCT FROM c.value"
        )

    def _through(self, batches: Iterator[pl.DataFrame], function: Callable[[pl.DataFrame], pl.DataFrame]) -> Relation:
        """A table of what a function makes of each batch."""
        table, made = self._new(), None
        for batch in batches:
            frame = function(batch)
            if made is None:
                made = dict(frame.schema)
                self._store(table, frame.clear())
            self._insert(table, frame)
        return Relation(plan=f"SELECT * FROM {table}", types=made or {})

    def _batches(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query as they come, on a cursor of its own; the types of an empty result come as one batch."""
        with _reporting(self._room, self._inputs):
            reader = self._connection.cursor().sql(query).to_arrow_reader(_BATCH)
            yield _frame(reader.schema.empty_table())
            for batch in reader:
                yield _frame(batch)
        self._check_inputs()

    def _fetch(self, query: str) -> pl.DataFrame:
        with _reporting(self._room, self._inputs):
            found = _frame(self._connection.sql(query).to_arrow_table())
        self._check_inputs()
        return found

    def _row(self, query: str) -> tuple[Any, ...]:
        with _reporting(self._room, self._inputs):
            found: tuple[Any, ...] = self._connection.execute(query).fetchall()[0]
        self._check_inputs()
        return found

    def _run(self, statement: str) -> None:
        with _reporting(self._room, self._inputs):
            self._connection.execute(statement)
        self._check_inputs()

    def _check_inputs(self) -> None:
        for inputs in self._inputs:
            inputs.require_unchanged()

    def _relation(self, query: str) -> Relation:
        with _reporting(self._room, self._inputs):
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


def _marked(key: str) -> Callable[[pl.DataFrame], pl.Series]:
    return lambda frame: pl.Series(marks(frame, key))


def _frame(arrow: Any) -> pl.DataFrame:
    made = pl.from_arrow(arrow)
    assert isinstance(made, pl.DataFrame)
    return made


def _narrower(column: str, dtype: pl.DataType) -> tuple[str, str] | None:
    """A test that every value must pass for a plainer type, and the cast; None where the type is plain."""
    if dtype.is_float():
        return f"{column} = round({column}) AND abs({column}) <= 9007199254740992", f"CAST({column} AS BIGINT)"
    if dtype.is_integer() and dtype != pl.Int64:
        return f"{column} <= 9223372036854775807", f"CAST({column} AS BIGINT)"
    if dtype == pl.Datetime("us"):
        return f"{column} = date_trunc('day', {column})", f"CAST({column} AS DATE)"
    return None


def _matches(one: str, other: str, names: Sequence[str]) -> str:
    pairs = (f"{one}.{_name(name)} IS NOT DISTINCT FROM {other}.{_name(name)}" for name in names)
    return " AND ".join(pairs)


def _head(by: Sequence[str]) -> str:
    return f"{_names(by)}, " if by else ""


def _group(by: Sequence[str]) -> str:
    return f" GROUP BY {_names(by)}" if by else ""


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_name, names))


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
        raise FileError(
            str(room.parent),
            "has no room for spilling within the limits",
            hint="Raise --memory, or name a folder on a larger disk (--spill).",
        ) from None
    except duckdb.Error as error:
        for one in inputs:
            one.require_unchanged()
        kind = type(error).__name__.removesuffix("Exception")
        raise FileError(
            inputs[-1].path if inputs else str(room.parent),
            f"can't be read by DuckDB ({kind})",
            hint="Are all files whole, in UTF-8, and every line as long as the header?",
        ) from None


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
