"""The verbs of an engine that speaks SQL, written once; a dialect says how names are quoted and rows are fetched.

What is written here reads the same in every dialect: exact counts, null-safe joins, explicit casts. Sums of floats,
approximate counts, the order of groups, collations and the engines' own hashes play no part in any result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar, Self

import polars as pl

from shoal.engine.choose import free_memory
from shoal.engine.engine import GROUPED, MARK, PERSONS, ROWS, Batch, Part, Relation, Types, check_types
from shoal.engine.inputs import Inputs
from shoal.engine.marks import marked, small_marks

__all__ = ["SqlEngine"]

_FETCHED = 1_000_000  # rows that come to the driver at a time


class SqlEngine(ABC):
    """An engine whose relations are queries."""

    name: str
    quote: ClassVar[str] = '"'
    """What stands around the name of a column."""
    set_of: ClassVar[str]
    """The sorted list of the distinct values of ``{0}`` in a group."""
    spread: ClassVar[str]
    """A hash of the columns ``{0}``; it decides in which part rows are fetched, and nothing else."""
    anti: ClassVar[str] = "ANTI JOIN"
    semi: ClassVar[str] = "SEMI JOIN"
    first: ClassVar[str]
    """The value of ``{0}`` where ``{1}`` is least."""
    _inputs: list[Inputs]
    """The files that must not change."""

    @abstractmethod
    def scan(self, inputs: Inputs) -> Relation:
        """The rows of files, not read yet."""

    @abstractmethod
    def texts(self, inputs: Inputs) -> Relation:
        """The rows of files of delimited text, each cell as it is."""

    @abstractmethod
    def keep(self, relation: Relation) -> Relation:
        """The same, computed once."""

    @abstractmethod
    def map(self, relation: Relation, function: Batch, types: Types) -> Relation:
        """What a pure function makes of batches of rows, computed once."""

    @abstractmethod
    def apply(self, relation: Relation, cell: str, function: Batch, types: Types) -> Relation:
        """What a pure function makes of the rows of each cell."""

    @abstractmethod
    def add_up(self, relation: Relation, function: Batch, types: Types, by: Sequence[str] = ()) -> pl.DataFrame:
        """The sums of what a pure function counts in batches of rows."""

    @abstractmethod
    def draw(self, n: int, function: Callable[[int], pl.DataFrame], types: Types) -> Relation:
        """The rows that a pure function makes of each of n numbers."""

    @abstractmethod
    def write(self, relation: Relation, folder: Path, format: str = "parquet") -> tuple[Part, ...]:
        """Write the rows in the order of their marks."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the engine holds."""

    @abstractmethod
    def _fetch(self, query: str) -> pl.DataFrame:
        """The rows of a query on the driver."""

    @abstractmethod
    def _relation(self, query: str) -> Relation:
        """A query with the types of its columns."""

    @abstractmethod
    def _stored(self, frame: pl.DataFrame) -> str:
        """The name of a table that holds a frame of the driver."""

    def forget(self, inputs: Inputs) -> None:
        """No longer hold the files to be unchanged."""
        if inputs in self._inputs:
            self._inputs.remove(inputs)

    def resting(self) -> AbstractContextManager[None]:
        """The rows lie elsewhere; what memory they take there is not the driver's."""
        return nullcontext()

    def driver_memory(self) -> int:
        """What is free on the driver's machine."""
        return free_memory()

    def of(self, frame: pl.DataFrame) -> Relation:
        """A frame of the driver as a relation."""
        check_types(frame.schema)
        return self.cleaned(self._relation(f"SELECT * FROM {self._stored(frame)}"))

    def cleaned(self, relation: Relation) -> Relation:
        """NaN as missing, one zero, wide floats, and texts for categories."""
        check_types(relation.types)
        chosen = (f"{_clean(self._name(n), dtype)} AS {self._name(n)}" for n, dtype in relation.types.items())
        return self._relation(f"SELECT {', '.join(chosen)} FROM ({relation.plan})")

    def select(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Some of the columns."""
        return self._relation(f"SELECT {self._names(names)} FROM ({relation.plan})")

    def count(self, relation: Relation, by: Sequence[str], unit: str | None = None) -> Relation:
        """Rows and persons of each combination, in two stages, both exact and able to spill."""
        rows, persons, head = self._name(ROWS), self._name(PERSONS), self._head(by)
        if unit is None:
            counted = f"count(*) AS {rows}, count(*) AS {persons}"
            return self._relation(f"SELECT {head}{counted} FROM ({relation.plan}){self._group(by)}")
        grouped = self._group([*by, unit])
        inner = f"SELECT {head}{self._name(unit)} AS u, count(*) AS n FROM ({relation.plan}){grouped}"
        known = f"CAST(sum(CASE WHEN u IS NULL THEN n ELSE 1 END) AS BIGINT) AS {persons}"
        return self._relation(f"SELECT {head}CAST(sum(n) AS BIGINT) AS {rows}, {known} FROM ({inner}){self._group(by)}")

    def aggregate(
        self, relation: Relation, by: Sequence[str], sums: Sequence[str], highs: Sequence[str] = ()
    ) -> Relation:
        """Rows, sums of whole numbers and largest values of each combination."""
        names = {name: self._name(name) for name in (*sums, *highs)}
        totals = "".join(f", CAST(sum({names[name]}) AS BIGINT) AS {names[name]}" for name in sums)
        totals += "".join(f", max({names[name]}) AS {names[name]}" for name in highs)
        rows = f"count(*) AS {self._name(GROUPED)}"
        return self._relation(f"SELECT {self._head(by)}{rows}{totals} FROM ({relation.plan}){self._group(by)}")

    def collect(self, relation: Relation) -> pl.DataFrame:
        """All rows on the driver."""
        return self._fetch(relation.plan)

    def parts(self, relation: Relation, by: Sequence[str], most: int) -> Iterator[pl.DataFrame]:
        """The rows on the driver; `relation` should have been kept: it is read once for each part."""
        n = -(-self._length(relation) // most)
        if n <= 1:
            yield self._fetch(relation.plan)
            return
        part_of = f"{self.spread.format(self._names(by))} % {n}"
        for part in range(n):
            yield self._fetch(f"SELECT * FROM ({relation.plan}) WHERE {part_of} = {part}")

    def batches(self, relation: Relation) -> Iterator[pl.DataFrame]:
        """The rows on the driver, a part at a time."""
        return self.parts(relation, relation.columns, _FETCHED)

    def extremes(self, relation: Relation, names: Sequence[str]) -> pl.DataFrame:
        """The smallest and the largest values."""
        both = [
            f"{which}({self._name(name)}) AS {which}_{i}" for i, name in enumerate(names) for which in ("min", "max")
        ]
        found = self._fetch(f"SELECT {', '.join(both)} FROM ({relation.plan})")
        columns = (pl.concat([found[f"min_{i}"], found[f"max_{i}"]]).alias(n) for i, n in enumerate(names))
        return pl.DataFrame(list(columns))

    def known(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many values are known, and how many rows there are."""
        counts = [f"count({self._name(name)}) AS known_{i}" for i, name in enumerate(names)]
        found = self._fetch(f"SELECT {', '.join(['count(*) AS n', *counts])} FROM ({relation.plan})")
        return {ROWS: int(found["n"][0]), **{name: int(found[f"known_{i}"][0]) for i, name in enumerate(names)}}

    def value_counts(self, relation: Relation, names: Sequence[str], most: int) -> Mapping[str, pl.DataFrame]:
        """The different values of each column with their rows, in one pass; at most one more than `most` of each."""
        if not names:
            return {}
        sets = ", ".join(f"({self._name(name)})" for name in names)
        which, rows = f"grouping_id({self._names(names)}) AS g", f"count(*) AS {self._name(ROWS)}"
        query = f"SELECT {self._names(names)}, {which}, {rows} FROM ({relation.plan}) GROUP BY GROUPING SETS ({sets})"
        found = self._fetch(f"{query} LIMIT {len(names) * (most + 1)}")
        whole = 2 ** len(names) - 1
        return {
            name: found.filter(pl.col("g") == whole - 2 ** (len(names) - 1 - i)).select(name, ROWS).head(most + 1)
            for i, name in enumerate(names)
        }

    def distinct(self, relation: Relation, names: Sequence[str]) -> Mapping[str, int]:
        """How many different known values each column has, exactly."""
        if not names:
            return {}
        counts = [f"count(DISTINCT {self._name(name)}) AS d_{i}" for i, name in enumerate(names)]
        found = self._fetch(f"SELECT {', '.join(counts)} FROM ({relation.plan})")
        return {name: int(found[f"d_{i}"][0]) for i, name in enumerate(names)}

    def person_sets(self, relation: Relation, by: Sequence[str], unit: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The combinations, and which of them persons have."""
        frame = self.collect(self.count(relation, by, unit)).with_row_index("#").cast({"#": pl.Int64})
        rows = (
            f"SELECT s.{self._name(unit)} AS u, c.{self._name('#')} AS c FROM ({relation.plan}) s "
            f"JOIN {self._stored(frame)} c ON {self._matches('s', 'c', by)}"
        )
        known = f"SELECT {self.set_of.format('c')} AS owned, 1 AS n FROM ({rows}) WHERE u IS NOT NULL GROUP BY u"
        alone = f"SELECT {self.set_of.format('c')} AS owned, count(*) AS n FROM ({rows}) WHERE u IS NULL GROUP BY c"
        persons = f"CAST(sum(n) AS BIGINT) AS {self._name(PERSONS)}"
        sets = self._fetch(f"SELECT owned, {persons} FROM ({known} UNION ALL {alone}) GROUP BY owned")
        return frame.drop("#"), sets.rename({"owned": "set"})

    def recode(self, relation: Relation, maps: Mapping[str, pl.DataFrame], without: pl.DataFrame) -> Relation:
        """Columns rewritten by joins, rows left out by an anti-join; missing values match each other."""
        joins = ""
        chosen = [f"s.{self._name(name)}" for name in relation.columns]
        for number, (name, table) in enumerate(maps.items()):
            chosen[relation.columns.index(name)] = f"m{number}.{self._name('to')} AS {self._name(name)}"
            same = f"s.{self._name(name)} IS NOT DISTINCT FROM m{number}.{self._name('from')}"
            joins += f" LEFT JOIN {self._stored(table)} m{number} ON {same}"
        if len(without):
            joins += f" {self.anti} {self._stored(without)} w ON {self._matches('s', 'w', without.columns)}"
        return self._relation(f"SELECT {', '.join(chosen)} FROM ({relation.plan}) s{joins}")

    def matching(self, relation: Relation, frame: pl.DataFrame) -> Relation:
        """The rows that match one of a frame."""
        same = self._matches("s", "w", frame.columns)
        return self._relation(f"SELECT s.* FROM ({relation.plan}) s {self.semi} {self._stored(frame)} w ON {same}")

    def narrow(self, relation: Relation, names: Sequence[str]) -> Relation:
        """Columns in their plain types; `relation` should have been kept."""
        tests = {name: _narrower(self._name(name), relation.types[name]) for name in names}
        asked = {name: test for name, test in tests.items() if test is not None}
        if not asked:
            return relation
        tested = (f"count({self._name(n)}) > 0 AND bool_and({t[0]}) AS {self._name(n)}" for n, t in asked.items())
        found = self._fetch(f"SELECT {', '.join(tested)} FROM ({relation.plan})")
        casts = {name: asked[name][1] for name in asked if found[name][0]}
        chosen = [f"{casts.get(name, self._name(name))} AS {self._name(name)}" for name in relation.columns]
        return self._relation(f"SELECT {', '.join(chosen)} FROM ({relation.plan})")

    def assign(
        self, relation: Relation, name: str, function: Callable[[pl.DataFrame], pl.Series], dtype: pl.DataType
    ) -> Relation:
        """A column more."""
        return self.map(
            relation, lambda rows: rows.with_columns(function(rows).alias(name)), {**relation.types, name: dtype}
        )

    def numbered(self, relation: Relation, by: Sequence[str], order: str, name: str) -> Relation:
        """The places of rows among those that are equal in `by`."""
        place = f"row_number() OVER (PARTITION BY {self._names(by)} ORDER BY {self._name(order)})"
        return self._relation(f"SELECT *, CAST({place} AS BIGINT) AS {self._name(name)} FROM ({relation.plan})")

    def sample(self, relation: Relation, n: int, key: str, rows: int | None = None) -> pl.DataFrame:
        """The rows with the smallest marks: all rows are marked, those that may be among them are kept."""
        types = {**relation.types, MARK: pl.Int64()}
        share = min(1.0, 1.5 * n / max(1, self._length(relation) if rows is None else rows))
        first = f"ORDER BY {self._name(MARK)} LIMIT {n}"
        found = self._fetch(f"SELECT * FROM ({self.map(relation, small_marks(key, share), types).plan}) {first}")
        if share < 1 and len(found) < n:
            found = self._fetch(f"SELECT * FROM ({self.map(relation, marked(key), types).plan}) {first}")
        return found.drop(MARK)

    def gathered(self, relation: Relation, unit: str, value: str, mark: str) -> Relation:
        """In `value`, for all rows of a person, what stands there in their row of the least `mark`."""
        own, number, new = self._name(unit), self._name(value), self.first.format(self._name(value), self._name(mark))
        homes = f"SELECT {own} AS u, {new} AS home FROM ({relation.plan}) WHERE {own} IS NOT NULL GROUP BY {own}"
        chosen = [
            f"coalesce(h.home, s.{number}) AS {number}" if name == value else f"s.{self._name(name)}"
            for name in relation.columns
        ]
        return self._relation(
            f"SELECT {', '.join(chosen)} FROM ({relation.plan}) s LEFT JOIN ({homes}) h ON s.{own} = h.u"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _length(self, relation: Relation) -> int:
        return int(self._fetch(f"SELECT count(*) AS n FROM ({relation.plan})")["n"][0])

    def _matches(self, one: str, other: str, names: Sequence[str]) -> str:
        pairs = (f"{one}.{self._name(name)} IS NOT DISTINCT FROM {other}.{self._name(name)}" for name in names)
        return " AND ".join(pairs)

    def _head(self, by: Sequence[str]) -> str:
        return f"{self._names(by)}, " if by else ""

    def _group(self, by: Sequence[str]) -> str:
        return f" GROUP BY {self._names(by)}" if by else ""

    def _names(self, names: Sequence[str]) -> str:
        return ", ".join(map(self._name, names))

    def _name(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


def _clean(column: str, dtype: pl.DataType) -> str:
    if dtype.is_float():
        wide = f"CAST({column} AS DOUBLE)"
        return f"CASE WHEN isnan({wide}) THEN NULL WHEN {wide} = 0 THEN CAST(0 AS DOUBLE) ELSE {wide} END"
    return f"CAST({column} AS STRING)" if dtype in (pl.Categorical, pl.Enum) else column


def _narrower(column: str, dtype: pl.DataType) -> tuple[str, str] | None:
    """A test that every value must pass for a plainer type, and the cast; None where the type is plain."""
    if dtype.is_float():
        return f"{column} = floor({column}) AND abs({column}) <= 9007199254740992", f"CAST({column} AS BIGINT)"
    if dtype.is_integer() and dtype != pl.Int64:
        return f"{column} <= 9223372036854775807", f"CAST({column} AS BIGINT)"
    if dtype == pl.Datetime("us"):
        return f"{column} = date_trunc('day', {column})", f"CAST({column} AS DATE)"
    return None
