"""The aggregates that the report of an engine's release shows: counted on the written files, by the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.engine import GROUPED, ROWS, Engine, Relation
from shoal.fact import sentences
from shoal.method import FAMILIES
from shoal.recipe import Recipe
from shoal.release.on_engine.anonymize import EngineMade
from shoal.report.engine_page import Aggregates, Distribution, merged
from shoal.report.evidence import FEW
from shoal.report.what_was_done import ROLES, methods_in

__all__ = ["aggregates_of"]

_MOST_LEVELS, _MOST_VALUES, _BINS = 30, 100_000, 12


def aggregates_of(
    engine: Engine,
    table: Relation,
    made: EngineMade,
    recipe: Recipe,
    *,
    n_files: int,
    created: str,
    versions: Mapping[str, str],
    hashes: Mapping[str, str],
    unmeasured: str,
) -> Aggregates:
    """What the page shows of a written table."""
    limit, words = max(FEW, recipe.k), recipe.to_dict()
    n_rows = int(engine.known(table, [])[ROWS])
    columns = made.schema.declared
    return Aggregates(
        title=recipe.title,
        created=created,
        recipe=words,
        claims=made.claims,
        notes=tuple(sentences(made.facts, outside=True)),
        versions=versions,
        hashes=hashes,
        n_rows=n_rows,
        n_files=n_files,
        columns=tuple((c.name, ROLES[c.role], c.kind or "", c.name in table.columns) for c in columns),
        method=tuple(_method(words, recipe, made)),
        classes=_classes(engine, table, made, limit) if recipe.collapses else (),
        distributions=_distributions(engine, table, limit),
        limit=limit,
        unmeasured=unmeasured,
    )


def _method(words: Mapping[str, Any], recipe: Recipe, made: EngineMade) -> list[str]:
    named = [one for family in FAMILIES for one in methods_in(words, family)]
    steps = [one.report_text.done.format(k=recipe.k) or f"Method: {one.name}." for one in named]
    if made.schema.identifier:
        steps.append("Columns that name a person were removed.")
    return [*steps, "The rows were put into an order that follows from a secret key and from what they hold."]


def _classes(engine: Engine, table: Relation, made: EngineMade, limit: int) -> tuple[tuple[str, int], ...]:
    """Rows by the size of their class, in steps of two from the limit on."""
    counted = engine.count(table, list(made.schema.quasi))
    sizes = engine.collect(engine.aggregate(engine.select(counted, [ROWS]), [ROWS], []))
    size, classes = sizes[ROWS].to_numpy(), sizes[GROUPED].to_numpy()
    edges = [limit * 2**i for i in range(max(1, math.ceil(math.log2(max(2, size.max() / limit))) + 1))]
    place = np.searchsorted(edges, size, side="right")
    names = [f"fewer than {limit}", *(f"{low:,} to {2 * low - 1:,}" for low in edges)]
    rows = np.bincount(place, weights=size * classes, minlength=len(names)).astype(np.int64)
    return merged([(name, int(n)) for name, n in zip(names, rows, strict=True) if n], limit, ordered=True)


def _distributions(engine: Engine, table: Relation, limit: int) -> tuple[Distribution, ...]:
    numeric = [name for name, dtype in table.types.items() if dtype.is_numeric()]
    others = [name for name in table.columns if name not in numeric]
    found = {d.column: d for d in (*_numbers(engine, table, numeric, limit), *_levels(engine, table, others, limit))}
    return tuple(found[name] for name in table.columns if name in found)


def _levels(engine: Engine, table: Relation, names: Sequence[str], limit: int) -> list[Distribution]:
    """Levels with their rows, the most frequent ones named; a column of very many values has no picture."""
    found = []
    for name, counted in engine.value_counts(table, names, _MOST_VALUES).items():
        if len(counted) <= _MOST_VALUES:
            ordered = counted.sort([ROWS, name], descending=[True, False])
            cells = [("missing" if v is None else str(v), int(n)) for v, n in ordered.iter_rows()]
            few = [*cells[:_MOST_LEVELS], *([("others", sum(n for _, n in cells[_MOST_LEVELS:]))] * (len(cells) > 30))]
            found.append(Distribution(column=name, cells=merged(few, limit, ordered=False)))
    return found


def _numbers(engine: Engine, table: Relation, names: Sequence[str], limit: int) -> list[Distribution]:
    """Numbers in some twelve bins of round edges, the first and last open, counted in one pass."""
    if not names:
        return []
    ends = engine.extremes(table, names).cast(pl.Float64)
    edges = {name: _round_edges(ends[name][0], ends[name][1]) for name in names}
    types = {"column": pl.Int64(), "bin": pl.Int64(), "n": pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        frames = []
        for number, name in enumerate(names):
            values = rows[name].drop_nulls().cast(pl.Float64).to_numpy()
            counts = np.bincount(np.searchsorted(edges[name], values, side="right"), minlength=len(edges[name]) + 1)
            counts = np.append(counts, len(rows) - len(values))
            frames.append({"column": [number] * len(counts), "bin": range(len(counts)), "n": counts})
        return pl.concat([pl.DataFrame(frame, schema=types) for frame in frames])

    sums = engine.add_up(table, batch, types, ["column", "bin"]).sort("column", "bin")
    found = []
    for number, name in enumerate(names):
        n = sums.filter(pl.col("column") == number)["n"].to_list()
        cells = list(merged(list(zip(_labels(edges[name]), n[:-1], strict=True)), limit, ordered=True))
        missing = [("missing", n[-1])] if n[-1] >= limit else []
        found.append(Distribution(column=name, cells=(*cells, *missing)))
    return found


def _round_edges(low: float | None, high: float | None) -> list[float]:
    """Round numbers within a range, some twelve of them."""
    if low is None or high is None or high <= low:
        return []
    raw = (high - low) / _BINS
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= raw)
    first = math.floor(low / step) + 1
    return [float(f"{k * step:.12g}") for k in range(first, math.ceil(high / step))]


def _labels(edges: Sequence[float]) -> list[str]:
    if not edges:
        return ["all"]
    middle = [f"{low:g} to <{high:g}" for low, high in pairwise(edges)]
    return [f"under {edges[0]:g}", *middle, f"{edges[-1]:g} or more"]
