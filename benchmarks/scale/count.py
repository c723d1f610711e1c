"""Counting k, l and t, and Generalize, on files with DuckDB: CPU seconds, and the ratio to hand-written SQL.

    python benchmarks/scale/count.py [--only count|generalize] [rows ...]        1,000,000 if left out

Simulated claims: eight quasi-identifiers, one of them a county of 200 levels, a sensitive diagnosis of 30 levels, in
Parquet files of a million rows; two threads, a memory limit of 4 GB. The SQL is what somebody would write who knows
what to count: the smallest class, the fewest different diagnoses in a class, and the largest total variation; it has
no entropy, no recursive diversity, no missing-value rules, no histogram and no check of the files. The largest memory
is that of the process so far, frames on the driver included.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from shoal import Generalize, Schema
from shoal.engine import Inputs
from shoal.engine.duckdb import DuckDBEngine
from shoal.recipe import Coarsening
from shoal.release import release_files
from shoal.risk.class_sizes import counted_classes

QUASI = ["county", "age", "sex", "race", "plan", "month", "type", "discharge"]
LEVELS = {"county": 200, "sex": 2, "race": 6, "plan": 5, "month": 12, "type": 4, "discharge": 4}
SCHEMA = Schema.of(
    quasi=QUASI,
    sensitive=["diagnosis"],
    bounds={"age": (0, 120)},
    kinds=dict.fromkeys([*LEVELS, "diagnosis"], "nominal"),
)
MEMORY, THREADS = "4GB", 2

SQL = """
WITH pairs AS (SELECT {q}, diagnosis, count(*) n FROM read_parquet('{files}') GROUP BY ALL),
     mix AS (SELECT diagnosis, sum(n) / (SELECT sum(n) FROM pairs) p FROM pairs GROUP BY diagnosis),
     sized AS (SELECT *, sum(n) OVER (PARTITION BY {q}) size FROM pairs),
     classes AS (SELECT sum(n) k, count(*) l, sum(greatest(0, n / size - p)) t
                 FROM sized JOIN mix USING (diagnosis) GROUP BY {q})
SELECT min(k), min(l), max(t) FROM classes
"""


def claims(n, seed):
    """A million rows or fewer."""
    rng = np.random.default_rng(seed)
    skewed = {name: rng.choice(size, n, p=_falling(size)) for name, size in LEVELS.items()}
    columns = {name: pl.Series(codes).cast(pl.String) for name, codes in skewed.items()}
    diagnosis = pl.Series(rng.choice(30, n, p=_falling(30))).cast(pl.String)
    return pl.DataFrame(columns | {"age": rng.integers(0, 100, n), "diagnosis": diagnosis}).select(*QUASI, "diagnosis")


def _falling(size):
    weights = 1 / np.arange(1, size + 1)
    return weights / weights.sum()


def timed(work):
    start = time.process_time()
    return work(), time.process_time() - start


def by_hand(folder):
    with duckdb.connect(config={"memory_limit": MEMORY, "threads": THREADS, "temp_directory": str(folder)}) as con:
        return con.execute(SQL.format(q=", ".join(QUASI), files=folder / "*.parquet")).fetchall()[0]


def by_shoal(folder):
    with DuckDBEngine(memory=MEMORY, threads=THREADS, spill=folder.parent) as engine:
        return counted_classes(engine, engine.scan(Inputs.of(folder)), SCHEMA)


def coarsened(folder):
    with DuckDBEngine(memory=MEMORY, threads=THREADS, spill=folder.parent) as engine:
        return release_files(engine, Inputs.of(folder), SCHEMA, Coarsening.of(Generalize(k=5)), folder.parent / "out")


def measure(n, only):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "claims"
        folder.mkdir()
        for i, low in enumerate(range(0, n, 1_000_000)):
            claims(min(1_000_000, n - low), i).write_parquet(folder / f"{i:04d}.parquet")
        if only != "generalize":
            (k, distinct, t), hand = timed(lambda: by_hand(folder))
            found, own = timed(lambda: by_shoal(folder))
            mix = found.sensitive["diagnosis"]
            assert (found.k, mix.distinct_l) == (k, distinct)
            assert abs(mix.t - t) < 1e-9
            ratio = f"{own / hand:.2f} x SQL ({hand:.1f} s)"
            told(n, f"{found.n_classes:,} classes: k, l, t in {own:.1f} CPU s, {ratio}")
        if only != "count":
            made, whole = timed(lambda: coarsened(folder))
            told(n, f"Generalize(k=5): {whole:.1f} CPU s, {made.n_rows:,} rows in {made.n_classes:,} classes")


def told(n, what):
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{n:>12,} rows, {what}; {held:.1f} GiB at most", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--only", choices=["count", "generalize"])
    given = parser.parse_args()
    for rows in given.rows:
        measure(rows, given.only)
