"""Synthesis at equal (ε, δ): PeGS beside its peers, by mean total variation over all two-way margins.

    pip install "mbi>=2.0.0"
    python benchmarks/quality/synth.py [--data adult.csv] [--epsilon 1 --epsilon 10] [--without mst --without aim]
    python benchmarks/quality/synth.py --data-synthesizer PYTHON   # an interpreter that has DataSynthesizer

All give as many rows as there are records. PeGS, MST and AIM get δ = 1e-9; DataSynthesizer (PrivBayes with two parents)
knows pure ε only and runs in an environment of its own, at the smallest ε. Peers: synth_peers.py, synth_aim.py.
Reference lines: columns shuffled (no ties left) and a random half of the records. Seconds are those of fit and sample:
wall clock and, as other work may share the machine, CPU of all threads; the last column is CPU time over that of PeGS.
Programs that mbi compiles are counted, as they are compiled anew for every data set; Shoal's are compiled before.
"""

import argparse
import itertools
import time

import numpy as np
import polars as pl
from synth_peers import aim, data_synthesizer, mst

from shoal import Schema
from shoal.datasets.discharges import discharge, discharge_schema
from shoal.synth import PeGS
from shoal.synth.domain import encode_table
from shoal.synth.tables import pair_counts

DELTA = 1e-9
DESIGNS = {"PeGS": {}, "PeGS, tree": {"design": "tree"}, "PeGS, conditionals": {"design": "conditionals"}}


def adult_like(n=48_842, seed=0):
    """Fifteen columns with Adult's numbers of levels, tied by three latent traits."""
    sizes = dict(zip(
        ("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship", "race",
        "sex",
         "gain", "loss", "hours", "country", "income"),
        (16, 9, 13, 16, 16, 7, 15, 6, 5, 2, 8, 7, 12, 42, 2), strict=True,
    ))  # fmt: skip
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((n, 3))
    columns = {}
    for name, size in sizes.items():
        if name == "education_num":
            columns[name] = columns["education"]
            continue
        slopes = rng.normal(0, 0.5, (3, size))
        rare = (
            -2.2 * np.log1p(np.arange(size))
            if name in ("race", "country", "gain", "loss")
            else rng.normal(0, 0.8, size)
        )
        scores = traits @ slopes + rare + rng.gumbel(size=(n, size))
        columns[name] = scores.argmax(axis=1)
    table = pl.DataFrame(columns)
    return table, Schema.of(quasi=list(sizes), levels={name: range(size) for name, size in sizes.items()})


def adult(path):
    """The real file, binned as in the study that this benchmark repeats; levels are taken as public."""
    frame = pl.read_csv(path, infer_schema_length=None).drop("part", strict=False)
    edges = {
        "age": [*range(15, 96, 5)],
        "fnlwgt": [0, 5e4, 1e5, 1.25e5, 1.5e5, 1.75e5, 2e5, 2.25e5, 2.5e5, 3e5, 3.5e5, 4e5, 5e5, 2e6],
        "capital_gain": [0, 1, 2000, 4000, 6000, 8000, 10000, 20000, 100001],
        "capital_loss": [0, 1, 1400, 1600, 1800, 2000, 2200, 5000],
        "hours_per_week": [1, 10, 20, 30, 35, 40, 41, 45, 50, 55, 60, 70, 101],
    }
    texts = [name for name in frame.columns if name not in edges]
    frame = frame.with_columns(pl.col(name).cast(pl.String).fill_null("?") for name in texts)
    levels = {name: frame[name].unique().sort().to_list() for name in texts}
    return frame, Schema.of(quasi=frame.columns, edges=edges, levels=levels)


def variation(X, Y, sizes):
    """Mean total variation over all two-way margins."""
    gaps = []
    for i, j in itertools.combinations(range(len(sizes)), 2):
        p, q = pair_counts(X, sizes, i, j) / len(X), pair_counts(Y, sizes, i, j) / len(Y)
        gaps.append(np.abs(p - q).sum() / 2)
    return float(np.mean(gaps))


class Board:
    """Prints a line for each method, and the ratio of its CPU time to that of PeGS at the same ε."""

    def __init__(self, X, sizes):
        self.X, self.sizes, self.first = X, sizes, {}

    def line(self, epsilon, label, Y, wall, cpu, told=""):
        first = self.first.setdefault(epsilon, cpu)
        gap = variation(self.X, Y, self.sizes)
        print(
            f"  {epsilon:5g}  {label:28} {gap:.4f}  {wall:8.1f} s {cpu:8.1f} s {cpu / first:8.0f}  {told}", flush=True
        )

    def time(self, epsilon, label, job):
        wall, cpu = time.perf_counter(), time.process_time()
        made = job()
        Y, told = made if isinstance(made, tuple) else (made, "")
        self.line(epsilon, label, Y, time.perf_counter() - wall, time.process_time() - cpu, told)


def pegs(table, schema, epsilon, delta, options):
    model = PeGS(epsilon=epsilon, delta=delta, missing="refuse", **options).fit(table, schema)
    return model.draw_codes(table.height, None, np.random.default_rng(2))


def compare(name, table, schema, given):
    found = encode_table(table, schema, bins=16, missing="refuse", public=True, owner="benchmark")
    X, sizes = found.codes, found.domain.sizes
    rng = np.random.default_rng(1)
    apart = np.column_stack([rng.permutation(X[:, j]) for j in range(len(sizes))])
    half = X[rng.permutation(len(X))[: len(X) // 2]]
    print(f"\n{name}: {len(X):,} records, {len(sizes)} columns")
    print(f"  columns shuffled {variation(X, apart, sizes):.4f}   random half {variation(X, half, sizes):.4f}")
    print("      ε  method                       variation       wall        CPU    times")
    board = Board(X, sizes)
    for options in DESIGNS.values():
        pegs(table.head(2000), schema, 1.0, DELTA, options)  # compile first
    for epsilon in given.epsilon:
        for (label, options), delta in itertools.product(DESIGNS.items(), (DELTA, None)):
            kind = label if delta else f"{label}, pure ε"
            board.time(epsilon, kind, lambda o=options, e=epsilon, d=delta: pegs(table, schema, e, d, o))
        if "mst" not in given.without:
            board.time(epsilon, "MST", lambda e=epsilon: mst(X, sizes, e, DELTA, seed=3))
        if "aim" not in given.without:
            size = given.megabytes
            board.time(epsilon, "AIM", lambda e=epsilon, m=size: aim(X, sizes, e, DELTA, seed=5, megabytes=m))
    if given.data_synthesizer:
        least = min(given.epsilon)
        board.line(least, "DataSynthesizer, pure ε", *data_synthesizer(X, least, given.data_synthesizer))


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--data", help="Adult as CSV, in addition to the simulated tables")
    ask.add_argument("--epsilon", type=float, action="append")
    ask.add_argument("--without", choices=("mst", "aim"), action="append", default=[])
    ask.add_argument("--megabytes", type=float, default=10.0, help="largest junction tree of AIM")
    ask.add_argument("--data-synthesizer", metavar="PYTHON", help="an interpreter that has DataSynthesizer")
    ask.add_argument("--only", choices=("adult-like", "discharge", "file"))
    given = ask.parse_args()
    given.epsilon = given.epsilon or [1.0, 10.0]
    tables = {
        "adult-like": lambda: ("Adult-like, simulated", *adult_like()),
        "discharge": lambda: ("Discharges, simulated", discharge(50_000, 1), discharge_schema()),
    }
    if given.data:
        tables["file"] = lambda: ("Adult", *adult(given.data))
    for key, make in tables.items():
        if given.only in (None, key):
            compare(*make(), given)


if __name__ == "__main__":
    main()
