"""The engine on Spark: the rows stay on the executors, functions go to them through Arrow.

A relation is a query over temporary views. A function that is handed over runs on Python workers (`mapInArrow` by
batches, `applyInArrow` by cells), which must have Shoal installed. Spark may run a task twice, after a failure or for
speed: every function here is pure, nothing is drawn, charged or counted by one, and a written file has the same bytes
whoever writes it. What is computed once is kept on the executors' disks; what is lost there is computed again, to the
same rows.

It works with classic sessions and with Spark Connect (``sc://``), on a session that is there or one of its own.
"""

from __future__ import annotations

import base64
import os
import pickle
import re
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa

from shoal.engine.csv_types import Dialect, csv_types
from shoal.engine.engine import MARK, Batch, Part, Relation, Types
from shoal.engine.inputs import Inputs
from shoal.engine.parts import n_parts, write_part
from shoal.engine.sql import SqlEngine
from shoal.engine.sums import summed
from shoal.errors import FileError, InputError, ParameterError, ShoalError

__all__ = ["SparkEngine"]

_FILE = "#file"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(256 << 20),
}


class SparkEngine(SqlEngine):
    """Spark through PySpark.

    Parameters
    ----------
    master
        Where Spark runs: ``local[4]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark Connect; None: what
        the environment says (`spark-submit`), else this machine.
    session
        A session to work on, which is left open at the end; None: the active one, where there is one and no master is
        named, else one of its own. That one logs nothing on this machine: Spark's log quotes lines that it can't read.
    memory
        Memory of an executor of a session of its own, such as ``"4GB"``.
    """

    name = "spark"
    quote = "`"
    set_of = "array_sort(collect_set({0}))"
    spread = "pmod(xxhash64({0}), 2147483647)"
    first = "min_by({0}, {1})"
    anti = "LEFT ANTI JOIN"
    semi = "LEFT SEMI JOIN"

    def __init__(self, *, master: str | None = None, session: Any = None, memory: str | None = None) -> None:
        there = _active() if session is None and master is None else session
        self._own = there is None
        self._spark = _started(master, memory) if there is None else there
        _check_arrow(self._spark)
        self._before = {name: self._spark.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)
        self._prefix, self._numbers = f"shoal_{uuid.uuid4().hex[:8]}", count()
        self._views: list[str] = []
        self._kept: list[Any] = []
        self._inputs: list[Inputs] = []
        self._dialect = Dialect(
            name=self._name, match="regexp_like({0}, r'{1}')", moment="TIMESTAMP_NTZ", has_times=False
        )

    def scan(self, inputs: Inputs) -> Relation:
        """The rows of Parquet or CSV files, which every executor must be able to read."""
        if inputs.delimiter is not None:
            plan = self.texts(inputs).plan
            return self.cleaned(self._relation(csv_types(plan, inputs.columns, self._row, self._dialect)))
        self._watch(inputs)
        with self._reporting():
            frame = self._reader().parquet(*_uris(inputs)).select(*self._columns(inputs.columns))
        return self.cleaned(self.of_frame(frame))

    def texts(self, inputs: Inputs) -> Relation:
        """The rows of files of delimited text, each cell as it is."""
        types = ", ".join(f"{self._name(name)} STRING" for name in inputs.columns)
        options = {"header": True, "sep": inputs.delimiter, "quote": '"', "escape": '"', "multiLine": True}
        options |= {"mode": "FAILFAST", "nullValue": "", "unescapedQuoteHandling": "RAISE_ERROR"}
        self._watch(inputs)
        self._check_text(inputs)
        with self._reporting():
            frame = self._reader().options(**options).schema(types).csv(_uris(inputs))
        return self.of_frame(frame)

    def _check_text(self, inputs: Inputs) -> None:
        """Refuse what Spark reads as something else: letters that aren't UTF-8, and a quote that is never closed."""
        lines = self._reader().text(_uris(inputs)).selectExpr("value", "input_file_name() AS file")
        quotes = """octet_length(value) - octet_length(replace(value, '"', ''))"""
        found = self._fetch(
            f"SELECT file, bool_and(is_valid_utf8(value)) AS whole, sum({quotes}) % 2 AS open "
            f"FROM {self._view(lines)} GROUP BY file ORDER BY file"
        )
        for file, whole, is_open in found.iter_rows():
            name = unquote(file.rpartition("/")[2])
            if not whole:
                raise FileError(name, "must be text in UTF-8", hint="Recode it, or convert it to Parquet.")
            if is_open:
                raise InputError(name, "every quote must be closed", hint="Look for an unmatched quotation mark.")

    def _watch(self, inputs: Inputs) -> None:
        odd = next((file for file in inputs.files if set(str(file.resolve())) & set("*?[]{}")), None)
        if odd is not None:
            rule = "must have a path without *, ?, [, ], { or }, which Spark takes for a pattern"
            raise FileError(str(odd), rule, hint="Rename it, or use duckdb.")
        self._inputs.append(inputs)

    def _reader(self) -> Any:
        """What a session says of files to be skipped doesn't count."""
        whole = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
        return self._spark.read.options(recursiveFileLookup="true", **whole)

    def of_frame(self, frame: Any) -> Relation:
        """A Spark DataFrame of the session as a relation."""
        view = self._view(frame)
        return self._relation(f"SELECT * FROM {view}")

    def adopted(self, table: Any) -> Relation:
        """A DataFrame of the session."""
        return self.cleaned(self.of_frame(table))

    def native(self, relation: Relation, order: str) -> Any:
        """A DataFrame, not computed yet."""
        return self._asked(f"SELECT * FROM ({relation.plan}) ORDER BY {self._name(order)}").drop(order)

    def keep(self, relation: Relation) -> Relation:
        """The same, kept on the executors' disks."""
        return Relation(plan=f"SELECT * FROM {self._keep(self._asked(relation.plan))}", types=relation.types)

    def map(self, relation: Relation, function: Batch, types: Types) -> Relation:
        """What a function makes of batches."""
        made = self._asked(relation.plan).mapInArrow(_of_batches(function, types), _struct(types))
        return Relation(plan=f"SELECT * FROM {self._keep(made)}", types=dict(types))

    def apply(self, relation: Relation, cell: str, function: Batch, types: Types) -> Relation:
        """What a function makes of each cell, on the worker that gets it."""
        grouped = self._asked(relation.plan).groupBy(*self._columns([cell]))
        made = grouped.applyInArrow(_of_cell(function, types), _struct(types))
        return Relation(plan=f"SELECT * FROM {self._keep(made)}", types=dict(types))

    def add_up(self, relation: Relation, function: Batch, types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
        """The sums of what a function counts: each partition adds up its own, Spark those of all partitions."""
        counted = self._asked(relation.plan).mapInArrow(_of_partition(function, types, by), _struct(types))
        sums = (f"CAST(sum({self._name(n)}) AS BIGINT) AS {self._name(n)}" for n in types if n not in by)
        chosen = ", ".join([*map(self._name, by), *sums])
        found = self._fetch(f"SELECT {chosen} FROM {self._view(counted)}{self._group(by)}")
        return found.select(list(types)).with_columns(pl.col(n).fill_null(0) for n in types if n not in by)

    def draw(self, n: int, function: Callable[[int], pl.DataFrame], types: Types) -> Relation:
        """The rows that a function makes of each number, a task for each."""
        numbers = self._spark.range(0, n, 1, n)
        made = numbers.mapInArrow(_of_batches(_of_numbers(function), types), _struct(types))
        return Relation(plan=f"SELECT * FROM {self._keep(made)}", types=dict(types))

    def write(self, relation: Relation, folder: Path, format: str = "parquet") -> tuple[Part, ...]:
        """Write each file on a worker; `folder` must be one that all of them see."""
        parts, place = n_parts(self._length(relation)), str(folder.resolve())
        number = f"shiftright((shiftright({self._name(MARK)}, 32) + 2147483648L) * {parts}L, 32)"  # `part_numbers`
        found = self._relation(f"SELECT *, {number} AS {self._name(_FILE)} FROM ({relation.plan})")
        types = {"name": pl.String(), "rows": pl.Int64(), "sha256": pl.String()}
        written = self.collect(self.apply(found, _FILE, _writing(place, format), types)).sort("name")
        lost = [name for name in written["name"] if not (folder / name).is_file()]
        if lost:
            raise FileError(str(folder), "must be a folder that the driver and all executors share", got=lost[0])
        return tuple(Part(**row) for row in written.iter_rows(named=True))

    def close(self) -> None:
        """Drop views and what was kept; end the session if it is its own."""
        for frame in self._kept:
            frame.unpersist()
        for view in self._views:
            self._spark.catalog.dropTempView(view)
        for name, value in self._before.items():
            self._spark.conf.set(name, value) if value is not None else self._spark.conf.unset(name)
        if self._own:
            self._spark.stop()

    def _keep(self, frame: Any) -> str:
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        return self._view(kept)

    def _view(self, frame: Any) -> str:
        view = f"{self._prefix}_{next(self._numbers)}"
        with self._reporting():
            frame.createOrReplaceTempView(view)
        self._views.append(view)
        return view

    def _fetch(self, query: str) -> pl.DataFrame:
        with self._reporting():
            found = pl.from_arrow(self._spark.sql(query).toArrow())
        for inputs in self._inputs:
            inputs.require_unchanged()
        assert isinstance(found, pl.DataFrame)
        return found

    def _asked(self, query: str) -> Any:
        with self._reporting():
            return self._spark.sql(query)

    def _row(self, query: str) -> tuple[Any, ...]:
        return self._fetch(query).row(0)

    def _relation(self, query: str) -> Relation:
        with self._reporting():
            schema = _arrow(self._spark.sql(query).schema)
        return Relation(plan=query, types=dict(pl.DataFrame(schema.empty_table()).schema))

    def _stored(self, frame: pl.DataFrame) -> str:
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        return self._view(self._spark.createDataFrame(table, schema=_struct(frame.schema)))

    def _columns(self, names: Sequence[str]) -> list[Any]:
        return [self._name(name) for name in names]

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn Spark's errors, whose messages may quote cells, into Shoal's; a worker's come back as they are."""
        try:
            yield
        except _errors() as error:
            for inputs in self._inputs:
                inputs.require_unchanged()
            raise _as_shoal_error(error, self._inputs[-1].path if self._inputs else "Spark") from None


def _uris(inputs: Inputs) -> list[str]:
    return [file.resolve().as_uri() for file in inputs.files]


def _started(master: str | None, memory: str | None) -> Any:
    # It asks for pandas, of whatever version, and makes no frames of it here.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("shoal")
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    if memory is not None:
        builder = builder.config("spark.executor.memory", _of_java(memory))
        builder = builder.config("spark.driver.memory", _of_java(memory))
    try:
        session = _configured(builder, master).getOrCreate()
        if not _is_remote(session):
            session.sparkContext.setLogLevel("OFF")
        return session
    except Exception:  # the message holds paths and settings, and is a page long
        raise FileError(
            master or "Spark", "must be a Spark that can be reached", hint="Is Java 17 installed, and the master right?"
        ) from None


def _active() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _is_remote(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _errors() -> tuple[type[Exception], ...]:
    """What Spark raises; where rows are fetched through Arrow, it lets Java's errors through as they are."""
    from pyspark.errors import PySparkException

    if find_spec("py4j") is None:
        return (PySparkException,)
    from py4j.protocol import Py4JError

    return PySparkException, Py4JError


def _check_arrow(session: Any) -> None:
    """Rows travel through Arrow alone, which Spark does since version 4."""
    version = str(session.version)
    if not version.split(".")[0].isdigit() or int(version.split(".")[0]) < 4:
        rule = "must be Spark 4 or newer, which hands cells of rows to Python through Arrow"
        raise ParameterError("engine", rule, got=f"Spark {version[:20]}", hint="Upgrade, or use duckdb.")


def _configured(builder: Any, master: str | None) -> Any:
    """Without pages and bars; on one machine, as many shuffled parts as it has use for."""
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    if master is None or master.startswith("local"):
        builder = builder.config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 2)))
    return builder


def _of_java(memory: str) -> str:
    """``4GB`` as Java spells it: ``4g``."""
    number, unit = re.fullmatch(r"([0-9.]+) ?([MGT])i?B", memory).groups()  # type: ignore[union-attr]
    return f"{int(float(number) * 1024)}{ {'M': 'k', 'G': 'm', 'T': 'g'}[unit] }"


def _writing(folder: str, format: str) -> Batch:
    def cell(rows: pl.DataFrame) -> pl.DataFrame:
        part = write_part(rows.drop(_FILE), int(rows[_FILE][0]), Path(folder), format)
        return pl.DataFrame({"name": [part.name], "rows": [part.rows], "sha256": [part.sha256]})

    return cell


def _of_batches(function: Batch, types: Types) -> Any:
    schema = _schema(types)

    def batches(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in found:
            if len(batch):
                yield from _table(function, pl.DataFrame(batch), types, schema).to_batches()

    return batches


def _of_partition(function: Batch, types: Types, by: Sequence[str]) -> Any:
    """The sums of what a function counts in all batches of a partition."""
    schema = _schema(types)

    def batches(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        frames = (pl.DataFrame(batch) for batch in found if len(batch))
        counted = (function(frame) for frame in frames)
        yield from _table(lambda _: summed(counted, types, by), pl.DataFrame(), types, schema).to_batches()

    return batches


def _of_numbers(function: Callable[[int], pl.DataFrame]) -> Batch:
    return lambda rows: pl.concat([function(int(number)) for number in rows["id"]])


def _of_cell(function: Batch, types: Types) -> Any:
    schema = _schema(types)

    def cell(found: pa.Table) -> pa.Table:
        rows = pl.DataFrame(found)
        return _table(function, rows.sort(rows.columns), types, schema)

    return cell


def _table(function: Batch, rows: pl.DataFrame, types: Types, schema: pa.Schema) -> pa.Table:
    """What a function makes, on a worker; an error of Shoal travels in the message of the task's."""
    try:
        made = function(rows).select(list(types)).cast(dict(types))  # type: ignore[arg-type]
    except ShoalError as error:
        raise RuntimeError(f"{_TOKEN}{base64.b64encode(pickle.dumps(error)).decode()}.") from None
    return made.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)


_TOKEN = "shoal-error:"


def _as_shoal_error(error: Exception, about: str) -> ShoalError:
    found = re.search(f"{_TOKEN}([A-Za-z0-9+/=]+)\\.", str(error))
    if found:
        carried = pickle.loads(base64.b64decode(found[1]))
        if isinstance(carried, ShoalError):
            return carried
    kind = type(error).__name__.removeprefix("Py4J").removesuffix("Exception")
    return InputError(
        about,
        f"can't be worked on by Spark ({kind})",
        hint="Are all files whole, in UTF-8, every line as long as the header, of types that Spark has, and seen by "
        "every executor? "
        "Have the executors Shoal and PyArrow, and room on their disks (spark.local.dir)?",
    )


def _schema(types: Types) -> pa.Schema:
    empty = pl.DataFrame(schema=dict(types)).to_arrow(compat_level=pl.CompatLevel.oldest())
    plain = [pa.field(field.name, _small(field.type)) for field in empty.schema]
    return pa.schema(plain)


def _small(kind: pa.DataType) -> pa.DataType:
    """The type that Spark has for it."""
    if pa.types.is_large_list(kind):
        return pa.list_(_small(kind.value_type))
    return pa.string() if pa.types.is_large_string(kind) else kind


def _struct(types: Types) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(_schema(types))


def _arrow(schema: Any) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")  # as the session is set
