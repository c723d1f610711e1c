"""Classes of a table that an engine holds: the report of `class_sizes`, from exact counts in two stages.

First the engine counts rows and persons of each combination of quasi-identifiers, and of each with each sensitive
value; then sizes are counted by size, and the sensitive values of a few classes at a time are looked at on the driver,
by the formulas of `shoal.equivalence`. Every number is the one that `class_sizes` finds in memory, to the last bit:
counts are whole numbers, and floats are computed from them in one order. Nothing is approximated.

The driver holds the distinct values of one sensitive column, and about two million pairs of class and value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import kind_of
from shoal.engine import GROUPED, PERSONS, ROWS, Engine, Relation
from shoal.equivalence import Contents, codes, combine
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.risk.class_sizes import C, ClassReport, Diversity, closeness, sensitive_codes
from shoal.schema import Column, Kind, Schema

__all__ = ["counted_classes", "require_plain"]

_PAIRS_AT_ONCE = 2_000_000


def counted_classes(engine: Engine, relation: Relation, schema: Schema) -> ClassReport:
    """Count the classes of a relation as `shoal.risk.classes` counts those of a table."""
    require_plain(schema)
    for name in schema.quasi:
        if name not in relation.types:
            raise SchemaError("table", f"must have the column '{name}'")
    unit = schema.unit if schema.unit in relation.types else None
    sensitive = [name for name in schema.sensitive if name in relation.types]
    used = engine.select(relation, [*schema.quasi, *sensitive, *([unit] if unit else [])])
    sizes = engine.collect(engine.aggregate(engine.count(used, schema.quasi, unit), [PERSONS], [ROWS])).sort(PERSONS)
    n = int(sizes[ROWS].sum() or 0)
    if n == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    histogram = dict(zip(sizes[PERSONS].to_list(), sizes[GROUPED].to_list(), strict=True))
    records = dict(zip(sizes[PERSONS].to_list(), sizes[ROWS].to_list(), strict=True))
    return ClassReport(
        k=min(histogram),
        n_records=n,
        n_classes=sum(histogram.values()),
        n_unique=records.get(1, 0),
        histogram=histogram,
        records_by_size=records,
        sensitive={name: _diversity(engine, used, schema, schema[name], unit, n) for name in sensitive},
    )


def require_plain(schema: Schema) -> None:
    """Refuse what an engine doesn't read as memory does: dates in a form of their own."""
    for name in schema.formats:
        raise ColumnError(
            name,
            "has a date format in the schema, which needs the table in memory",
            hint="Write dates as YYYY-MM-DD, or convert the files to Parquet, and take the format out of the schema.",
        )


def _diversity(
    engine: Engine, relation: Relation, schema: Schema, column: Column, unit: str | None, n: int
) -> Diversity:
    pairs = engine.keep(engine.count(relation, [*schema.quasi, column.name], unit))
    overall = engine.collect(engine.aggregate(pairs, [column.name], [PERSONS]))
    content = overall[column.name]
    kind = column.kind or kind_of(content, column)
    coded = content.to_frame("value").with_columns(code=sensitive_codes(content, column, kind).values)
    totals = np.zeros(int(coded["code"].max()) + 1, dtype=np.int64)  # type: ignore[arg-type]
    totals[coded["code"].to_numpy()] = overall[PERSONS].to_numpy()
    parts = (part for part in engine.parts(pairs, schema.quasi, _PAIRS_AT_ONCE) if len(part))
    looked = [_look(part, schema.quasi, _values(part[column.name], coded), totals, kind) for part in parts]
    return Diversity(
        column=column.name,
        kind=kind,
        distinct_l=min(one.distinct_l for one in looked),
        entropy_l=min(one.entropy_l for one in looked),
        recursive_l=min(one.recursive_l for one in looked),
        t=max(one.t for one in looked),
        alpha=max(one.alpha for one in looked),
        homogeneous_share=sum(one.n_homogeneous for one in looked) / n,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worst:
    """The worst of some classes, and the rows in those of them that hold one value only."""

    distinct_l: int
    entropy_l: float
    recursive_l: int
    t: float
    alpha: float
    n_homogeneous: int


def _look(part: pl.DataFrame, quasi: Sequence[str], value: IntArray, totals: IntArray, kind: Kind) -> _Worst:
    """Look at the pairs (class, value) of whole classes."""
    of = combine([codes(part[name]) for name in quasi], n_rows=len(part)).values
    order = np.lexsort((value, of))
    of, value = of[order], value[order]
    rows, count = (part[name].to_numpy()[order] for name in (ROWS, PERSONS))
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    found = Contents(of=of, value=value, count=count, starts=starts, n_values=len(totals), overall=totals)
    distinct = found.distinct()
    return _Worst(
        distinct_l=int(distinct.min()),
        entropy_l=float(found.entropy().min()),
        recursive_l=int(found.recursive(C).min()),
        t=closeness(found, kind),
        alpha=float(found.largest_share().max()),
        n_homogeneous=int(np.add.reduceat(rows, starts)[distinct == 1].sum()),
    )


def _values(column: pl.Series, coded: pl.DataFrame) -> IntArray:
    """The numbers of values by the table of all of them."""
    joined = column.to_frame("value").join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy()
