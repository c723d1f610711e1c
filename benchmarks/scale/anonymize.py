"""Anonymize from files on an engine: CPU seconds by rows, and the growth from one size to the next.

    python benchmarks/scale/anonymize.py [--engine duckdb|spark] [--master URL] [--only mdav] [rows ...]     1,000,000

Simulated claims as in `count.py`: eight quasi-identifiers, a county of 200 levels, Parquet files of a million rows, two
threads, a memory limit of 4 GB. From files to verified release, the attack on 2,000 people included. CPU seconds are
those of this process and, on Spark, of all its children.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from count import MEMORY, SCHEMA, THREADS, claims

from shoal import MDAV, Centroid, GaussianDither, KMember
from shoal.engine import Inputs
from shoal.recipe import Anonymization
from shoal.release import release_files

RECIPES = {
    "MDAV + Centroid": Anonymization.of(MDAV(k=5), Centroid()),
    "KMember + GaussianDither": Anonymization.of(KMember(k=5), GaussianDither()),
}


def cpu():
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def opened(engine, master, base):
    if engine == "spark":
        from shoal.engine.spark import SparkEngine

        return SparkEngine(master=master or "local[2]", memory=MEMORY)
    from shoal.engine.duckdb import DuckDBEngine

    return DuckDBEngine(memory=MEMORY, threads=THREADS, spill=base)


def measure(n, engine, master, before, only=""):
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "claims").mkdir()
        for i, low in enumerate(range(0, n, 1_000_000)):
            claims(min(1_000_000, n - low), i).write_parquet(base / "claims" / f"{i:04d}.parquet")
        for name, recipe in RECIPES.items():
            if only not in name.lower():
                continue
            start, steps = cpu(), []
            with opened(engine, master, base) as running:
                made = release_files(
                    running,
                    Inputs.of(base / "claims"),
                    SCHEMA,
                    recipe,
                    base / name.replace(" ", "-"),
                    progress=lambda step, steps=steps: steps.append((step, cpu())),
                )
            spent = cpu() - start
            growth = f", {spent / before[name]:.1f} x the size before" if name in before else ""
            ends = [at for _, at in steps[1:]] + [cpu()]
            told = ", ".join(f"{step} {end - at:.0f}" for (step, at), end in zip(steps, ends, strict=True))
            risk = next(claim.value for claim in made.claims if claim.basis == "measured")
            print(f"{n:>12,} rows, {name}: {spent:.0f} CPU s{growth} ({told}); re-identified {risk:.3%}", flush=True)
            before[name] = spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--master")
    parser.add_argument("--only", default="", help="part of the name of a recipe")
    given = parser.parse_args()
    before: dict[str, float] = {}
    for rows in given.rows:
        measure(rows, given.engine, given.master, before, given.only)
