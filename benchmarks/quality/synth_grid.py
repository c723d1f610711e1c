"""PeGS beside AIM and MST on a grid of records and ε: means over runs with intervals, all methods in one run.

    pip install "mbi>=2.0.0"
    python benchmarks/quality/synth_grid.py table.csv another.csv.gz [--records 500 --records 4000] [--epsilon 1]
        [--runs 3] [--columns 14] [--without aim] [--pure] [--wide] [--limit 600] [--out runs.jsonl]
    python benchmarks/quality/synth_grid.py table.csv --pure --without graph --without aim --without mst
    python benchmarks/quality/synth_grid.py --print runs.jsonl

Mean total variation over all pairs of columns, and over a sample of 60 triples, of as many rows as records; δ = 1e-9.
Tables are coded by synth_tables.py; --wide adds a simulated one of 50 columns. MST and AIM are written from their
descriptions (synth_peers.py, synth_aim.py); MST is fitted here by the same mirror descent as AIM, as mbi compiles for a
minute otherwise. Every run is a line of the file --out, so that a grid can be stopped and taken up again; a run that
passes --limit CPU seconds is stopped and counted as not finished. --print makes of them the tables of the docs; that of
pure ε has the default design beside "pairs", as neither peer has a pure form.
Intervals are those of Student's t at 95 % for the difference of the means of PeGS and of the better peer (Welch).
"""

import argparse
import itertools
import json
import math
import signal
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from synth_aim import Fit
from synth_peers import _unmerged, aim, rho_of
from synth_tables import as_frame, read_tables, wide_table

from shoal.synth import PeGS
from shoal.synth.tables import keys, pair_counts

DELTA = 1e-9
PEERS = ("aim", "mst")


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


def one_run(X, sizes, epsilon, method, seed):
    """Total variation of pairs and of 60 triples, and CPU seconds, of one run of one method."""
    rng, M = np.random.default_rng(7), len(sizes)
    pairs = list(itertools.combinations(range(M), 2))
    triples = [tuple(sorted(rng.choice(M, 3, replace=False).tolist())) for _ in range(60)] if M > 2 else pairs
    cpu = time.process_time()
    Y = METHODS[method](X, sizes, epsilon, seed)
    cpu = time.process_time() - cpu
    return {"pairs": variation(X, Y, sizes, pairs), "triples": variation(X, Y, sizes, triples), "cpu": cpu}


def limited_run(limit, *asked):
    """`one_run`, or only its limit if it took more CPU seconds."""

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return one_run(*asked)
    except TimeoutError:
        return {"stopped": limit}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run_grid(given, tables):
    """Run what the file does not have yet, all cells once before any a second time."""
    done = {tuple(line[key] for key in KEYS) for line in _lines(given.out)}
    methods = [m for m in METHODS if m not in given.without and (given.pure or "pure" not in m)]
    for every, sizes in tables.values():
        pegs(every[:300], sizes, 1.0, 0)  # compile first
    asked = itertools.product(range(given.runs), given.records, tables, given.epsilon, methods)
    for seed, n, name, epsilon, method in asked:
        every, sizes = tables[name]
        if any(len(every) / 1.2 < fewer < n for fewer in given.records):
            continue  # hardly more than the size before
        X = every[np.random.default_rng(1).permutation(len(every))[:n]]
        cell = {"table": name, "n": len(X), "M": len(sizes), "epsilon": epsilon, "method": method, "seed": seed}
        if tuple(cell[key] for key in KEYS) in done:
            continue
        done.add(tuple(cell[key] for key in KEYS))
        with given.out.open("a") as file:
            file.write(json.dumps(cell | limited_run(given.limit, X, sizes, epsilon, method, seed)) + "\n")


KEYS = ("table", "n", "M", "epsilon", "method", "seed")


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_grid(path):
    """The tables of the docs."""
    cells = defaultdict(lambda: defaultdict(list))
    lines = _lines(path)
    for line in (line for line in lines if "stopped" not in line):
        cells[line["table"], line["n"], line["M"], line["epsilon"]][line["method"]].append(line)
    for ours, peers in (("graph", PEERS), ("graph, pure", ("pairs, pure",))):
        print_table({cell: by for cell, by in cells.items() if ours in by and any(p in by for p in peers)}, ours, peers)
    for line in (line for line in lines if "stopped" in line):
        where = f"{line['table']} {line['n']:,} × {line['M']}, ε = {line['epsilon']:g}, run {line['seed']}"
        print(f"{line['method']} not finished within {line['stopped']:g} CPU s: {where}")
    for method in METHODS:
        cpu = [line["cpu"] for by in cells.values() for line in by.get(method, [])]
        if cpu:
            print(f"{method}: CPU s a run: median {np.median(cpu):.1f}, most {max(cpu):.1f}, {len(cpu)} runs")


def print_table(cells, ours, peers):
    """One method beside its peers, and in how many cells it is lowest, by pairs and by triples."""
    verdicts = {"pairs": [], "triples": []}
    rows = defaultdict(dict)
    for (name, n, M, epsilon), by in cells.items():
        for what, found in verdicts.items():
            gap, half = difference(by, what, ours, peers)
            found.append((f"{name} {n:,}, ε = {epsilon:g}", gap, half))
        rows[name, n, M][epsilon] = _words(by, ours, peers, *verdicts["pairs"][-1][1:])
    if not rows:
        return
    epsilons = sorted({cell[3] for cell in cells})
    print("| table | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |\n|" + " --- |" * (len(epsilons) + 1))
    for (name, n, M), row in sorted(rows.items()):
        print(f"| {name}, {n:,} × {M} | " + " | ".join(row.get(e, "") for e in epsilons) + " |")
    for what, found in verdicts.items():
        behind = [f"{cell} by {gap:.4f} ± {half:.4f}" for cell, gap, half in found if gap > 0]
        clear = sum(gap > half for _, gap, half in found)
        print(f"{what}: lowest in {len(found) - len(behind)} of {len(found)}; behind: {'; '.join(behind) or 'none'}")
        print(f"  clearly behind {clear}, clearly ahead {sum(-gap > half for _, gap, half in found)}")


def difference(by, what, ours, peers):
    """Mean of `ours` less that of the better peer, and half the width of its interval."""
    found = [line[what] for line in by[ours]]
    theirs = min(([line[what] for line in by[p]] for p in peers if p in by), key=np.mean)
    return np.mean(found) - np.mean(theirs), _welch(found, theirs)


def _welch(a, b):
    from scipy.stats import t

    if min(len(a), len(b)) < 2:
        return math.nan
    va, vb = np.var(a, ddof=1) / len(a), np.var(b, ddof=1) / len(b)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return float(t.ppf(0.975, df) * math.sqrt(va + vb))


def _words(by, ours, peers, gap, half):
    mean = f"{np.mean([line['pairs'] for line in by[ours]]):.3f}"
    others = ", ".join(f"{np.mean([line['pairs'] for line in by[p]]):.3f}" if p in by else "–" for p in peers)
    beside = f"{gap:+.3f}".replace("-", "−") + (", one run" if math.isnan(half) else f" ± {half:.3f}")
    return f"{f'**{mean}**' if gap <= 0 else mean} ({others}; {beside})"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("files", nargs="*")
    ask.add_argument("--records", type=int, action="append")
    ask.add_argument("--epsilon", type=float, action="append")
    ask.add_argument("--columns", type=int, default=14)
    ask.add_argument("--runs", type=int, default=3)
    ask.add_argument("--without", action="append", default=[], choices=list(METHODS))
    ask.add_argument("--pure", action="store_true", help="pure ε too")
    ask.add_argument("--wide", action="store_true", help="a simulated table of 50 columns too")
    ask.add_argument("--limit", type=float, default=1e6, help="CPU seconds of a run")
    ask.add_argument("--out", type=Path, default=Path("synth_grid.jsonl"))
    ask.add_argument("--print", type=Path, dest="shown")
    given = ask.parse_args()
    given.records = given.records or [500, 1000, 4000, 30_000]
    given.epsilon = given.epsilon or [0.3, 1, 3, 10]
    if given.shown is None:
        tables = read_tables(given.files, given.columns)
        run_grid(given, tables | ({"simulated": wide_table()} if given.wide else {}))
    print_grid(given.shown or given.out)


if __name__ == "__main__":
    main()
