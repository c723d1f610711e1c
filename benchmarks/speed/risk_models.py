"""Individual risk, contributions, what-if and SUDA: CPU seconds at scale, and the ratio to plain Python at 5,000 rows.

python benchmarks/speed/risk_models.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl

from shoal import Schema, risk

LEVELS = (90, 2, 5, 50, 10, 7, 3, 20, 100, 15)


def table(n, columns, seed=0):
    rng = np.random.default_rng(seed)
    made = {}
    for j, levels in enumerate(LEVELS[:columns]):
        shares = 1 / np.arange(1, levels + 1)
        made[f"c{j}"] = rng.choice(levels, n, p=shares / shares.sum())
    return pl.DataFrame(made)


def seconds(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def plain_suda(rows, size):
    """Minimal sample uniques, each set of columns by a dictionary."""
    d, found, alone = len(rows[0]), set(), {}
    for s in range(1, size + 1):
        for places in combinations(range(d), s):
            counts = Counter(tuple(row[j] for j in places) for row in rows)
            alone[places] = {i for i, row in enumerate(rows) if counts[tuple(row[j] for j in places)] == 1}
            below = set().union(*(alone[sub] for sub in combinations(places, s - 1))) if s > 1 else set()
            found |= {(places, i) for i in alone[places] - below}
    return found


def plain_shapley(rows):
    """The share of unique rows for every set of columns, by dictionaries."""
    d = len(rows[0])
    for s in range(1, d + 1):
        for places in combinations(range(d), s):
            counts = Counter(tuple(row[j] for j in places) for row in rows)
            sum(count == 1 for count in counts.values())


def at_scale(n):
    people, schema = table(n, 8), Schema.of(quasi=[f"c{j}" for j in range(8)])
    total = 0.0
    for name, work in {
        "individual risk": lambda: risk.individual(people, schema, population=100 * n),
        "contributions": lambda: risk.contribution(people, schema),
        "what-if": lambda: risk.what_if(people, schema),
    }.items():
        spent, _ = seconds(work)
        total += spent
        print(f"{name:<18} {n:>9,} x 8   {spent:7.2f} CPU s")
    print(f"{'all three':<18} {n:>9,} x 8   {total:7.2f} CPU s (bound: 15 at a million)")


def suda(n):
    people, schema = table(n, 10), Schema.of(quasi=[f"c{j}" for j in range(10)])
    spent, found = seconds(lambda: risk.suda(people, schema, size=3))
    print(
        f"{'SUDA to size 3':<18} {n:>9,} x 10  {spent:7.2f} CPU s, {sum(found.n_minimal.values()):,} MSUs (bound: 60)"
    )


def ratios(n=5_000):
    people, schema = table(n, 8), Schema.of(quasi=[f"c{j}" for j in range(8)])
    rows = people.rows()
    for name, fast, slow in (
        ("SUDA", lambda: risk.suda(people, schema, size=3), lambda: plain_suda(rows, 3)),
        ("contributions", lambda: risk.contribution(people, schema), lambda: plain_shapley(rows)),
    ):
        quick, _ = seconds(fast)
        plain, _ = seconds(slow)
        print(f"{name:<18} {n:>9,} x 8   {plain / quick:7.1f} times as fast as plain Python ({plain:.2f} s)")


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    risk.contribution(table(100, 3), Schema.of(quasi=["c0", "c1", "c2"]))  # imports
    at_scale(rows)
    suda(max(1, rows // 10))
    ratios()
