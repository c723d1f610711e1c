"""Classes of a table: how many persons share each combination of quasi-identifiers, and what they share besides.

The report gives k (the smallest class), the sizes of all classes, and for each sensitive column the diversity and
closeness of its values within classes (definitions in `shoal.equivalence`). It needs one table only, so a reviewer can
hold somebody else's release to its words. Every number is exact for the table at hand.

`counted_classes` is the same report of a table that an engine holds, from exact counts in two stages. First the engine
counts rows and persons of each combination of quasi-identifiers with each sensitive value; then a few classes at a time
are looked at on the driver, by the formulas of `shoal.equivalence`, and their sizes are counted by size. Persons don't
add over values, so where there is a unit column, or no sensitive one, classes are counted in a pass of their own. Every
number is the one that `class_sizes` finds in memory, to the last bit: counts are whole numbers, and floats are computed
from them in one order. Nothing is approximated.

The driver holds the distinct values of one sensitive column, and about two million pairs of class and value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import kind_of, levels_like, with_persons
from shoal.engine import GROUPED, PERSONS, ROWS, Engine, Relation
from shoal.engine.equal_rows import with_persons_on
from shoal.equivalence import Classes, Codes, Contents, classes_of, codes, combine, contents_of, ranks, require_columns
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.frame import Frame, enter, series
from shoal.record import Record
from shoal.schema import Column, Kind, Schema

__all__ = [
    "C",
    "ClassReport",
    "Diversity",
    "classes",
    "closeness",
    "counted_classes",
    "counted_contents",
    "measure",
    "require_plain",
    "sensitive_codes",
    "table_classes",
]

C = 3.0
"""The c of recursive (c, l)-diversity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity(Record):
    """The worst class of a table for one sensitive column.

    Parameters
    ----------
    column, kind
        The sensitive column and how its values compare.
    distinct_l, entropy_l, recursive_l
        Smallest number of different values in a class, smallest exponential of the entropy, and largest l for
        which every class is recursively (3, l)-diverse.
    t
        Largest distance between a class and the table: total variation (nominal) or earth mover's over ranks, 0..1.
    alpha
        Largest share of one value in a class.
    homogeneous_share
        Share of records in classes that hold one value only: their value is known as soon as the class is.
    """

    releasable: ClassVar[bool] = True

    column: str
    kind: Kind
    distinct_l: int
    entropy_l: float
    recursive_l: int
    t: float
    alpha: float
    homogeneous_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport(Record):
    """The equivalence classes of a table in numbers; it may go where the table goes.

    Parameters
    ----------
    k
        Persons in the smallest class.
    n_records, n_classes
        Rows and classes.
    n_unique
        Rows in a class of one person.
    histogram
        Number of classes of each size (in persons).
    records_by_size
        Number of rows in the classes of each size.
    sensitive
        Diversity and closeness, by sensitive column.
    """

    derived: ClassVar[tuple[str, ...]] = ("unique_share",)
    releasable: ClassVar[bool] = True

    k: int
    n_records: int
    n_classes: int
    n_unique: int
    histogram: dict[int, int]
    records_by_size: dict[int, int]
    sensitive: dict[str, Diversity]

    @property
    def unique_share(self) -> float:
        """Share of rows in a class of one person."""
        return self.n_unique / self.n_records

    def _tables(self) -> dict[str, list[dict[str, Any]]]:
        """Diversity by column, and how many classes have which size."""
        sizes = [
            {"persons in a class": size, "classes": number, "records": self.records_by_size[size]}
            for size, number in self.histogram.items()
        ]
        return {"sensitive": [one.to_dict() for one in self.sensitive.values()], "by size": sizes}

    def _parts(self) -> dict[str, Any]:
        """All of them are tables."""
        return {}

    def small_share(self, k: int) -> float:
        """Share of rows in classes of fewer than `k` persons."""
        return sum(rows for size, rows in self.records_by_size.items() if size < k) / self.n_records


def classes(table: Any, schema: Schema, sensitive: Sequence[str] | str | None = None) -> ClassReport:
    """Count the equivalence classes of a table and say how mixed their sensitive values are.

    Parameters
    ----------
    table
        A table of any dataframe type that has the schema's quasi-identifiers; identifiers may be gone, as in a release.
    schema
        Which columns are quasi-identifying, sensitive, and the unit.
    sensitive
        The sensitive columns to look at; None: those of the schema that the table has.

    Notes
    -----
    A missing quasi value is a level of its own, and so is a missing sensitive value (the last in rank). With a unit
    column in the table, sizes count distinct persons, and a person's value counts once in a class; a release has lost
    that column, so where persons have several rows `assess` counts them through the original. Survey weights play no
    part: k is about records. Cost: O(n log n); 1,000,000 rows of 5 columns in less than a second.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41], "cost": [5, 9, 7, 7, 7]})
    >>> report = shoal.risk.classes(table, shoal.Schema.of(quasi=["age"], sensitive=["cost"]))
    >>> report.k, report.histogram, report.sensitive["cost"].distinct_l
    (2, {2: 1, 3: 1}, 1)
    """
    return measure(enter(table), schema, sensitive)


def measure(
    frame: Frame,
    schema: Schema,
    sensitive: Sequence[str] | str | None = None,
    *,
    found: Classes | None = None,
) -> ClassReport:
    """`classes` of a frame that has already entered; `found` are its classes, where they are already known."""
    found = table_classes(frame, schema) if found is None else found
    records = _records_by_size(found)
    return ClassReport(
        k=found.k,
        n_records=len(frame),
        n_classes=found.n_classes,
        n_unique=records.get(1, 0),
        histogram=found.histogram(),
        records_by_size=records,
        sensitive={name: _diversity(frame, found, schema[name]) for name in _chosen(frame, schema, sensitive)},
    )


def table_classes(frame: Frame, schema: Schema) -> Classes:
    """The classes over the quasi-identifiers; persons count where the table has the unit column."""
    if len(frame) == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    frame, schema = with_persons(frame, schema)
    return classes_of(frame, schema.quasi, schema.unit if schema.unit in frame.columns else None)


def _records_by_size(found: Classes) -> dict[int, int]:
    rows = np.bincount(found.labels, minlength=found.n_classes)
    totals = np.bincount(found.sizes, weights=rows)
    return {size: int(totals[size]) for size in found.histogram()}


def _chosen(frame: Frame, schema: Schema, sensitive: Sequence[str] | str | None) -> Sequence[str]:
    if sensitive is None:
        return [name for name in schema.sensitive if name in frame.columns]
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    for name in names:
        if name not in frame.columns or name not in schema:
            raise SchemaError("sensitive", f"column '{name}' must be in the table and in the schema")
    return names


def _diversity(frame: Frame, found: Classes, column: Column) -> Diversity:
    content = series(frame, column.name)
    kind = column.kind or kind_of(content, column)
    values = contents_of(found, sensitive_codes(content, column, kind))
    distinct = values.distinct()
    return Diversity(
        column=column.name,
        kind=kind,
        distinct_l=int(distinct.min()),
        entropy_l=float(values.entropy().min()),
        recursive_l=int(values.recursive(C).min()),
        t=closeness(values, kind),
        alpha=float(values.largest_share().max()),
        homogeneous_share=float((distinct[found.labels] == 1).mean()),
    )


def sensitive_codes(content: pl.Series, column: Column, kind: Kind) -> Codes:
    """A sensitive column as numbers: ranks, where its kind has an order."""
    if kind == "nominal":
        return codes(content)
    return ranks(content, levels_like(content, column) if column.levels is not None else None)


def closeness(values: Contents, kind: Kind) -> float:
    """The largest distance between a class and the table."""
    distance = values.variation() if kind == "nominal" else values.ordered_distance()
    return float(distance.max())


_PAIRS_AT_ONCE = 2_000_000


def counted_classes(engine: Engine, relation: Relation, schema: Schema) -> ClassReport:
    """Count the classes of a relation as `shoal.risk.classes` counts those of a table."""
    require_plain(schema)
    require_columns(list(relation.types), schema.quasi)
    relation, schema = with_persons_on(engine, relation, schema)
    unit = schema.unit if schema.unit in relation.types else None
    sensitive = [name for name in schema.sensitive if name in relation.types]
    used = engine.select(relation, [*schema.quasi, *sensitive, *([unit] if unit else [])])
    looked = {name: _looked(engine, used, schema, schema[name], unit) for name in sensitive}
    sizes = _counted_sizes(engine, used, schema, unit) if unit or not looked else looked[sensitive[0]][1].sizes
    n = sum(rows for _, rows in sizes.values())
    return ClassReport(
        k=min(sizes),
        n_records=n,
        n_classes=sum(classes for classes, _ in sizes.values()),
        n_unique=sizes[1][1] if 1 in sizes else 0,
        histogram={size: sizes[size][0] for size in sorted(sizes)},
        records_by_size={size: sizes[size][1] for size in sorted(sizes)},
        sensitive={name: _diversity_of(name, kind, worst, n) for name, (kind, worst) in looked.items()},
    )


_Sizes: TypeAlias = Mapping[int, tuple[int, int]]
"""For each size of a class, in persons: how many classes have it, and the rows in these."""


def _counted_sizes(engine: Engine, relation: Relation, schema: Schema, unit: str | None) -> _Sizes:
    sizes = engine.collect(engine.aggregate(engine.count(relation, schema.quasi, unit), [PERSONS], [ROWS]))
    if not len(sizes):
        raise InputError("table", "must have at least one row", got="0 rows")
    return {size: (classes, rows) for size, classes, rows in sizes.select(PERSONS, GROUPED, ROWS).iter_rows()}


def require_plain(schema: Schema) -> None:
    """Refuse what an engine doesn't read as memory does: dates in a form of their own."""
    for name in schema.formats:
        raise ColumnError(
            name,
            "has a date format in the schema, which needs the table in memory",
            hint="Write dates as YYYY-MM-DD, or convert the files to Parquet, and take the format out of the schema.",
        )


def _looked(
    engine: Engine, relation: Relation, schema: Schema, column: Column, unit: str | None
) -> tuple[Kind, _Worst]:
    """The kind of a sensitive column and the worst of all classes."""
    kind, parts = counted_contents(engine, relation, schema.quasi, column, unit)
    return kind, reduce(_Worst.beside, (_look(found, rows, kind) for found, rows in parts))


def _diversity_of(name: str, kind: Kind, worst: _Worst, n: int) -> Diversity:
    return Diversity(
        column=name,
        kind=kind,
        distinct_l=worst.distinct_l,
        entropy_l=worst.entropy_l,
        recursive_l=worst.recursive_l,
        t=worst.t,
        alpha=worst.alpha,
        homogeneous_share=worst.n_homogeneous / n,
    )


def counted_contents(
    engine: Engine, relation: Relation, quasi: Sequence[str], column: Column, unit: str | None
) -> tuple[Kind, Iterator[tuple[Contents, IntArray]]]:
    """The kind of a sensitive column, and its values in each class, some classes at a time, with the rows of each."""
    pairs = engine.keep(engine.count(relation, [*quasi, column.name], unit))
    overall = engine.collect(engine.aggregate(pairs, [column.name], [PERSONS]))
    content = overall[column.name]
    if not len(content):
        raise InputError("table", "must have at least one row", got="0 rows")
    kind = column.kind or kind_of(content, column)
    coded = content.to_frame("value").with_columns(code=sensitive_codes(content, column, kind).values)
    totals = np.zeros(int(coded["code"].max()) + 1, dtype=np.int64)  # type: ignore[arg-type]
    totals[coded["code"].to_numpy()] = overall[PERSONS].to_numpy()
    parts = (part for part in engine.parts(pairs, quasi, _PAIRS_AT_ONCE) if len(part))
    return kind, (_contents(part, quasi, _values(part[column.name], coded), totals) for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worst:
    """The worst of some classes, the rows in those of them that hold one value only, and sizes counted in rows."""

    distinct_l: int
    entropy_l: float
    recursive_l: int
    t: float
    alpha: float
    n_homogeneous: int
    sizes: _Sizes

    def beside(self, other: _Worst) -> _Worst:
        """The worst of these classes and of others."""
        both = {
            size: (
                self.sizes.get(size, (0, 0))[0] + other.sizes.get(size, (0, 0))[0],
                self.sizes.get(size, (0, 0))[1] + other.sizes.get(size, (0, 0))[1],
            )
            for size in {*self.sizes, *other.sizes}
        }
        return _Worst(
            distinct_l=min(self.distinct_l, other.distinct_l),
            entropy_l=min(self.entropy_l, other.entropy_l),
            recursive_l=min(self.recursive_l, other.recursive_l),
            t=max(self.t, other.t),
            alpha=max(self.alpha, other.alpha),
            n_homogeneous=self.n_homogeneous + other.n_homogeneous,
            sizes=both,
        )


def _contents(part: pl.DataFrame, quasi: Sequence[str], value: IntArray, totals: IntArray) -> tuple[Contents, IntArray]:
    """The pairs (class, value) of whole classes, and the rows of each class."""
    of = combine([codes(part[name]) for name in quasi], n_rows=len(part)).values
    order = np.lexsort((value, of))
    of, value = of[order], value[order]
    rows, count = (part[name].to_numpy()[order] for name in (ROWS, PERSONS))
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    found = Contents(of=of, value=value, count=count, starts=starts, n_values=len(totals), overall=totals)
    return found, np.add.reduceat(rows, starts)


def _look(found: Contents, rows: IntArray, kind: Kind) -> _Worst:
    """The worst of some classes."""
    distinct = found.distinct()
    return _Worst(
        distinct_l=int(distinct.min()),
        entropy_l=float(found.entropy().min()),
        recursive_l=int(found.recursive(C).min()),
        t=closeness(found, kind),
        alpha=float(found.largest_share().max()),
        n_homogeneous=int(rows[distinct == 1].sum()),
        sizes={
            int(size): (int(n), int(size * n)) for size, n in zip(*np.unique(rows, return_counts=True), strict=True)
        },
    )


def _by_size(rows: IntArray) -> _Sizes:
    sizes, classes = np.unique(rows, return_counts=True)
    return {int(size): (int(n), int(size * n)) for size, n in zip(sizes, classes, strict=True)}


def _values(column: pl.Series, coded: pl.DataFrame) -> IntArray:
    """The numbers of values by the table of all of them."""
    joined = column.to_frame("value").join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy()
