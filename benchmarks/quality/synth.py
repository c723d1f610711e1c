"""Synthesis at equal (ε, δ): PeGS against MST, by mean total variation over all two-way margins.

    pip install "mbi>=2.0.0"
    python benchmarks/quality/synth.py [--data adult.csv] [--epsilon 1 --epsilon 10] [--without-mst]

Both get δ = 1e-9 and give as many rows as there are records. MST (McKenna, Miklau and Sheldon 2021) is written here
from its description, with mbi's estimation: a third of ρ on one-way tables, rare levels merged (below three standard
deviations), a third on choosing a spanning tree of pairs by the exponential mechanism, a third on those pairs. Its
noise is numpy's: a benchmark, not a mechanism. Reference lines: columns shuffled (no ties left) and a random half of
the records.
"""

import argparse
import itertools
import math
import time

import numpy as np
import polars as pl

from shoal import Schema
from shoal.datasets.discharges import discharge, discharge_schema
from shoal.dp import Budget
from shoal.synth import PeGS
from shoal.synth.domain import settle
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


def mst(X, sizes, epsilon, rng, rounds=1000):
    """MST: rows of cells, as many as there are records."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from mbi import Domain, LinearMeasurement
    from mbi.estimation import MirrorDescent

    M, rho = len(sizes), Budget(epsilon=epsilon, delta=DELTA).largest_zcdp().rho
    names = [f"c{i}" for i in range(M)]
    sigma = math.sqrt(3 * M / (2 * rho))
    one = [np.bincount(X[:, i], minlength=size) + rng.normal(0, sigma, size) for i, size in enumerate(sizes)]
    kept = [table >= 3 * sigma for table in one]
    maps = [np.where(keep, np.cumsum(keep) - 1, keep.sum()) for keep in kept]
    small = [int(m.max()) + 1 for m in maps]
    Z = np.column_stack([m[X[:, i]] for i, m in enumerate(maps)])
    domain = Domain(names, small)
    seen = [
        LinearMeasurement(np.bincount(m, weights=table, minlength=s), (name,), stddev=sigma)
        for m, table, s, name in zip(maps, one, small, names, strict=True)
    ]
    alone = MirrorDescent().estimate(domain, seen, iters=rounds)
    score = {}
    for i, j in itertools.combinations(range(M), 2):
        expected = np.asarray(alone.project((names[i], names[j])).datavector())
        score[i, j] = np.abs(pair_counts(Z, small, i, j).ravel() - expected).sum()
    group, step = list(range(M)), math.sqrt(8 * rho / 3 / (M - 1))
    second = math.sqrt(3 * (M - 1) / (2 * rho))
    for _ in range(M - 1):
        joining = [pair for pair in score if group[pair[0]] != group[pair[1]]]
        heat = np.array([score[pair] for pair in joining]) * step / 2 + rng.gumbel(size=len(joining))
        i, j = joining[int(heat.argmax())]
        group = [group[i] if g == group[j] else g for g in group]
        counts = pair_counts(Z, small, i, j).ravel()
        noisy = counts + rng.normal(0, second, counts.size)
        seen.append(LinearMeasurement(noisy, (names[i], names[j]), stddev=second))
    model = MirrorDescent().estimate(domain, seen, iters=rounds)
    drawn = model.synthetic_data(rows=len(X)).to_dict()
    return np.column_stack([_unmerged(np.asarray(drawn[name]), m, rng) for name, m in zip(names, maps, strict=True)])


def _unmerged(cells, m, rng):
    out = np.zeros(len(cells), dtype=np.int64)
    for cell in np.unique(cells):
        at = np.flatnonzero(cells == cell)
        levels = np.flatnonzero(m == cell)
        out[at] = rng.choice(levels if len(levels) else [0], len(at))
    return out


def compare(name, table, schema, epsilons, with_mst):
    found = settle(table, schema, bins=16, missing="refuse", public=True, owner="benchmark")
    X, sizes = found.codes, found.domain.sizes
    rng = np.random.default_rng(1)
    apart = np.column_stack([rng.permutation(X[:, j]) for j in range(len(sizes))])
    half = X[rng.permutation(len(X))[: len(X) // 2]]
    print(f"\n{name}: {len(X):,} records, {len(sizes)} columns")
    print(f"  columns shuffled {variation(X, apart, sizes):.4f}   random half {variation(X, half, sizes):.4f}")
    for epsilon in epsilons:
        for label, options in DESIGNS.items():
            for delta in (DELTA, None):
                start = time.perf_counter()
                model = PeGS(epsilon=epsilon, delta=delta, missing="refuse", **options).fit(table, schema)
                Y = model._draw(len(X), None, np.random.default_rng(2))
                took = time.perf_counter() - start
                price = f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")
                print(f"  {price:20} {label:20} {variation(X, Y, sizes):.4f}   {took:7.1f} s", flush=True)
        if with_mst:
            start = time.perf_counter()
            Y = mst(X, sizes, epsilon, np.random.default_rng(3))
            took = time.perf_counter() - start
            print(
                f"  ε = {epsilon:g}, δ = {DELTA:g}     {'MST':20} {variation(X, Y, sizes):.4f}   {took:7.1f} s",
                flush=True,
            )


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--data", help="Adult as CSV, in addition to the simulated tables")
    ask.add_argument("--epsilon", type=float, action="append")
    ask.add_argument("--without-mst", action="store_true")
    ask.add_argument("--only", choices=("adult-like", "discharge", "file"))
    given = ask.parse_args()
    epsilons = given.epsilon or [1.0, 10.0]
    tables = {
        "adult-like": lambda: ("Adult-like, simulated", *adult_like()),
        "discharge": lambda: ("Discharges, simulated", discharge(50_000, 1), discharge_schema()),
    }
    if given.data:
        tables["file"] = lambda: ("Adult", *adult(given.data))
    for key, make in tables.items():
        if given.only in (None, key):
            compare(*make(), epsilons, not given.without_mst)


if __name__ == "__main__":
    main()
