"""PeGS beside AIM and MST on a grid of records and ε: means over runs with intervals, all methods in one run.

    pip install "mbi>=2.0.0"
    python benchmarks/quality/synth_grid.py table.csv another.csv.gz [--records 500 --records 4000] [--epsilon 1]
        [--runs 3] [--columns 14] [--without aim] [--pure]

Mean total variation over all pairs of columns, and over a sample of 60 triples, of as many rows as records; δ = 1e-9.
Tables are coded by synth_tables.py. MST and AIM are written from their descriptions (synth_peers.py, synth_aim.py); MST
is fitted here by the same mirror descent as AIM, as mbi compiles for a minute otherwise. The interval is that of
Student's t over runs at 95 %; with --runs 2 it is wide. "lowest": whether PeGS is at or below the better peer's mean.
"""

import argparse
import itertools
import math
import time

import numpy as np
from synth_aim import Fit
from synth_peers import _unmerged, aim, rho_of
from synth_tables import as_frame, read_tables

from shoal.synth import PeGS
from shoal.synth.tables import keys, pair_counts

DELTA = 1e-9
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}


def pegs(X, sizes, epsilon, seed, delta=DELTA, **options):
    table, schema = as_frame(X, sizes)
    model = PeGS(epsilon=epsilon, delta=delta, missing="refuse", **options).fit(table, schema, seed=seed)
    return model.draw_codes(len(X), None, np.random.default_rng(seed))


def mst(X, sizes, epsilon, seed):
    """MST as in synth_peers.py, fitted by `Fit`."""
    rng, M, rho = np.random.default_rng(seed), len(sizes), rho_of(epsilon, DELTA)
    sigma = math.sqrt(3 * M / (2 * rho))
    one = [np.bincount(X[:, i], minlength=size) + rng.normal(0, sigma, size) for i, size in enumerate(sizes)]
    kept = [table >= 3 * sigma for table in one]
    maps = [np.where(keep, np.cumsum(keep) - 1, keep.sum()) for keep in kept]
    small = [int(m.max()) + 1 for m in maps]
    Z = np.column_stack([m[X[:, i]] for i, m in enumerate(maps)])
    seen = [((i,), np.bincount(maps[i], weights=one[i], minlength=small[i]), sigma) for i in range(M)]
    alone = Fit(small, max(1.0, np.mean([table.sum() for table in one]))).fit(seen, 600)
    expected = alone.margins()
    score = {
        (i, j): np.abs(pair_counts(Z, small, i, j) - expected[i, j]).sum()
        for i, j in itertools.combinations(range(M), 2)
    }
    group, step, second = list(range(M)), math.sqrt(8 * rho / 3 / (M - 1)), math.sqrt(3 * (M - 1) / (2 * rho))
    for _ in range(M - 1):
        joining = [pair for pair in score if group[pair[0]] != group[pair[1]]]
        heat = np.array([score[pair] for pair in joining]) * step / 2 + rng.gumbel(size=len(joining))
        i, j = joining[int(heat.argmax())]
        group = [group[i] if g == group[j] else g for g in group]
        counts = pair_counts(Z, small, i, j).ravel()
        seen.append(((i, j), counts + rng.normal(0, second, counts.size), second))
    drawn = alone.fit(seen, 600).draw(len(X), rng)
    return np.column_stack([_unmerged(drawn[:, i], m, rng) for i, m in enumerate(maps)])


METHODS = {
    "graph": pegs,
    "pairs": lambda X, s, e, seed: pegs(X, s, e, seed, design="pairs"),
    "mst": mst,
    "aim": lambda X, s, e, seed: aim(X, s, e, DELTA, seed=seed)[0],
    "graph, pure": lambda X, s, e, seed: pegs(X, s, e, seed, delta=None),
    "pairs, pure": lambda X, s, e, seed: pegs(X, s, e, seed, delta=None, design="pairs"),
}


def variation(X, Y, sizes, groups):
    """Mean total variation over the tables of these groups of columns."""
    gaps = []
    for group in groups:
        cells = math.prod(sizes[i] for i in group)
        p, q = (np.bincount(keys(Z, sizes, group), minlength=cells) / len(Z) for Z in (X, Y))
        gaps.append(np.abs(p - q).sum() / 2)
    return float(np.mean(gaps))


def cell(X, sizes, epsilon, method, runs):
    """Means, half widths and CPU seconds of one method."""
    rng = np.random.default_rng(7)
    M = len(sizes)
    pairs = list(itertools.combinations(range(M), 2))
    triples = [tuple(sorted(rng.choice(M, 3, replace=False).tolist())) for _ in range(60)] if M > 2 else []
    found, cpu = [], time.process_time()
    for seed in range(runs):
        Y = METHODS[method](X, sizes, epsilon, seed)
        found.append((variation(X, Y, sizes, pairs), variation(X, Y, sizes, triples)))
    cpu = (time.process_time() - cpu) / runs
    half = STUDENT.get(runs, 2.3) * np.std(found, axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else (math.nan,) * 2
    return np.mean(found, axis=0), half, cpu


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("files", nargs="+")
    ask.add_argument("--records", type=int, action="append")
    ask.add_argument("--epsilon", type=float, action="append")
    ask.add_argument("--columns", type=int, default=14)
    ask.add_argument("--runs", type=int, default=3)
    ask.add_argument("--without", action="append", default=[], choices=list(METHODS))
    ask.add_argument("--pure", action="store_true", help="pure ε too")
    given = ask.parse_args()
    methods = [m for m in METHODS if m not in given.without and (given.pure or "pure" not in m)]
    for name, (every, sizes) in read_tables(given.files, given.columns).items():
        pegs(every[:300], sizes, 1.0, 0)  # compile first
        rows = np.random.default_rng(1).permutation(len(every))
        for n, epsilon in itertools.product(
            given.records or [500, 1000, 4000, 30_000], given.epsilon or [0.3, 1, 3, 10]
        ):
            X = every[rows[:n]]
            found = {m: cell(X, sizes, epsilon, m, given.runs) for m in methods}
            peers = [found[m][0][0] for m in ("mst", "aim") if m in found]
            mark = "" if not peers else ("lowest" if found["graph"][0][0] <= min(peers) else "NOT LOWEST")
            told = "  ".join(
                f"{m} {mean[0]:.4f} ± {half[0]:.4f} (3-way {mean[1]:.3f}) {cpu:.1f} s"
                for m, (mean, half, cpu) in found.items()
            )
            print(f"{name} {len(X)} × {len(sizes)}, ε = {epsilon:g}: {told}  {mark}", flush=True)


if __name__ == "__main__":
    main()
