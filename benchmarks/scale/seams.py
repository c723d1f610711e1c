"""What seams cost: the loss of centroids in groups that lie in one cell, by the rows of a cell.

    python benchmarks/scale/seams.py [rows]        160,000 if left out

Four correlated numbers, MDAV with k = 5, centroids. The loss is the share of the variance of the standardised columns
that the release lacks, 1 − Σ |c|² / Σ |x|² (both centred): all of it lies within groups. One cell is what one machine
does; nothing mends the seams between several.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from shoal import MDAV, Centroid, Schema
from shoal.engine.memory import MemoryEngine
from shoal.recipe import Anonymization
from shoal.release.on_engine.cells import Learnt, Plan, by_cells, cut
from shoal.release.on_engine.conform import prepare_relation

KEY, NAMES = "5e" * 32, list("abcd")


def people(n):
    rng = np.random.default_rng(1)
    common = rng.normal(size=(n, 1))
    return pl.DataFrame(0.6 * common + 0.8 * rng.normal(size=(n, len(NAMES))), schema=NAMES)


def loss(table, rows):
    """The number of cells and the loss."""
    engine, recipe = MemoryEngine(), Anonymization.of(MDAV(k=5), Centroid())
    settled = prepare_relation(engine, engine.of(table), Schema.of(quasi=NAMES))
    placed = cut(engine, settled, recipe.k, KEY, Plan(rows=rows))
    made = engine.collect(by_cells(engine, Learnt.of(settled), placed, recipe, 7, KEY)).select(NAMES).to_numpy()
    x = table.to_numpy()
    center, scale = x.mean(axis=0), x.std(axis=0)
    return placed.n_cells, 1 - float((((made - center) / scale) ** 2).mean())


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 160_000
    table = people(n)
    _, whole = loss(table, 4 * n)
    print(f"{n:,} rows in one cell: {whole:.4f} of the variance lost", flush=True)
    for rows in (20_000, 5_000, 1_000):
        n_cells, found = loss(table, rows)
        print(f"cells of about {rows:,} rows ({n_cells}): {found:.4f}, {found / whole - 1:+.1%}", flush=True)
