"""What is known of a person's events as a whole, as numbers: persons are grouped on them and they are not released.

Counts of codes enter as their square roots: Euclidean distance between them is then Hellinger's, up to a factor, so
that every grouper works on histories as it works on columns. A grouping may be found by looking at anything: the bound
on re-identification doesn't depend on it, only the use of the release does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.equivalence import Codes, combine, ranks
from shoal.errors import ColumnError
from shoal.linked.collection import Collection
from shoal.linked.dates import day_numbers, day_of
from shoal.schema import LinkedTable
from shoal.schema.tables import Summary

__all__ = ["grams", "summaries_of"]

_MOST_CODES = 20


def summaries_of(collection: Collection, also: Mapping[str, Sequence[Summary]] | None = None) -> dict[str, FloatArray]:
    """One number for each person and summary, those of the schema and others; who has no events gets the median."""
    made: dict[str, FloatArray] = {}
    for table in collection.schema.events:
        for summary in dict.fromkeys((*table.summaries, *(also or {}).get(table.name, ()))):
            made |= _summarised(collection, table, summary)
    return made


def _summarised(collection: Collection, table: LinkedTable, summary: Summary) -> dict[str, FloatArray]:
    person, n = collection.persons[table.name], collection.n_persons
    name = f"{table.name}, {summary}"
    if summary.kind == "count":
        return {name: np.bincount(person, minlength=n).astype(float)}
    column = collection.tables[table.name][str(summary.column)]
    if summary.kind == "sequence":
        return {f"{name} {i}": counts for i, counts in enumerate(_pairs(collection, table, column))}
    if summary.kind == "codes":
        return {f"{name} {i}": counts for i, counts in enumerate(_codes(column, person, n))}
    return {name: _number(_numbers(column), person, n, summary)}


def _codes(column: pl.Series, person: np.ndarray, n: int) -> list[FloatArray]:
    """The square root of how often each of the commonest codes occurs."""
    common = column.drop_nulls().alias("code").value_counts(sort=True, name="n").head(_MOST_CODES)["code"].to_list()
    return [np.sqrt(np.bincount(person[(column == code).fill_null(False).to_numpy()], minlength=n)) for code in common]


def _pairs(collection: Collection, table: LinkedTable, column: pl.Series) -> list[FloatArray]:
    """The square root of how often each of the commonest pairs of codes occurs in a row."""
    person = collection.persons[table.name]
    when = day_numbers(collection.tables[table.name][table.columns.time[0]])
    code = ranks(column)
    order = np.lexsort((code.values, when, person))
    owner, gram = grams(person[order], code.values[order], 2)
    often = np.bincount(gram) if len(gram) else np.zeros(0, dtype=np.int64)
    common = np.argsort(-often, kind="stable")[: min(_MOST_CODES, int((often > 0).sum()))]
    return [np.sqrt(np.bincount(owner[gram == pair], minlength=collection.n_persons)) for pair in common]


def grams(person: IntArray, code: IntArray, q: int) -> tuple[IntArray, IntArray]:
    """Each q codes in a row of one person as one number from 0 up, with whose they are; events in their order.

    The L1 distance of two histories' counts of them is at most 2 q times their edit distance (Ukkonen 1992).
    """
    n = len(code) - q + 1
    if n <= 0:
        return person[:0], code[:0]
    inside = person[:n] == person[q - 1 :]
    parts = [Codes(values=code[i : n + i][inside], n=int(code.max()) + 1) for i in range(q)]
    return person[:n][inside], combine(parts, n_rows=int(inside.sum())).values


def _numbers(column: pl.Series) -> pl.Series:
    if column.dtype.is_temporal():
        return day_of(column).cast(pl.Float64)
    if not column.dtype.is_numeric():
        rule = "is summarised by its first, last, span, gap or total, and must hold numbers or dates"
        raise ColumnError(column.name, rule, hint="Declare its format, or summarise it by codes.")
    return column.cast(pl.Float64)


def _number(values: pl.Series, person: np.ndarray, n: int, summary: Summary) -> FloatArray:
    low, high = pl.col("v").min(), pl.col("v").max()
    how = {
        "first": low,
        "last": high,
        "span": high - low,
        "gap": (high - low) / (pl.len() - 1).clip(1),
        "total": pl.col("v").sum(),
    }[summary.kind]
    found = pl.DataFrame({"person": person, "v": values}).drop_nulls().group_by("person").agg(how.alias("v"))
    out = np.full(n, np.nan)
    out[found["person"].to_numpy()] = found["v"].to_numpy()
    middle = np.nanmedian(out) if len(found) else 0.0
    return np.where(np.isnan(out), middle, out)
