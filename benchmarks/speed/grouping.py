"""Speed of the groupers against a plain numpy MDAV and, where it is installed, sdcMicro's, in one run.

    python benchmarks/speed/grouping.py            all sizes, some minutes
    python benchmarks/speed/grouping.py --quick    small sizes, some seconds

Standard-normal points are the worst case for a spatial index. `ratio` is the time of numpy's MDAV over the time of the
row, on the same points; `error` is the squared error within groups over the total; `growth` is the exponent b of
time ~ rows^b since the row of the same method with ten times fewer rows. Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.group.blocks import by_blocks, partition
from shoal.group.greedy import kmember, mdav
from shoal.group.points import Points

K = 5
SHOAL = {"shoal KMember": "kmember", "shoal MDAV": "mdav"}
SDCMICRO = """
suppressMessages(library(sdcMicro))
x <- read.csv(commandArgs(TRUE)[1], header = FALSE)
cat(system.time(y <- microaggregation(x, method = "mdav", aggr = {k}))[["elapsed"]])
"""


@dataclass(frozen=True)
class Timing:
    method: str
    rows: int
    columns: int
    k: int
    seconds: float
    ratio: float | None = None
    error: float | None = None
    growth: float | None = None
    note: str = ""


def numpy_mdav(points, k):
    """MDAV as one would write it with numpy: whole-array distances, no index."""
    labels, left, group = np.empty(len(points), dtype=np.int64), np.arange(len(points)), 0

    def distances(centre):
        return ((points[left] - centre) ** 2).sum(axis=1)

    def gather(row):
        near = np.argpartition(distances(points[row]), k - 1)[:k]
        labels[left[near]] = group
        return np.delete(left, near)

    while len(left) >= 3 * k:
        r = left[np.argmax(distances(points[left].mean(axis=0)))]
        s = left[np.argmax(distances(points[r]))]
        left, group = gather(r), group + 1
        left, group = gather(s), group + 1
    if len(left) >= 2 * k:
        left, group = gather(left[np.argmax(distances(points[left].mean(axis=0)))]), group + 1
    labels[left] = group
    return labels


def sdcmicro_seconds(points, k):
    """Seconds that sdcMicro's MDAV takes, without reading the file; nothing where it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder, "points.csv"), Path(folder, "mdav.R")
        np.savetxt(data, points, delimiter=",")
        script.write_text(SDCMICRO.format(k=k), encoding="utf-8")
        done = subprocess.run(["Rscript", script, data], capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 and done.stdout else None


def best_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """Time of the fastest of up to five runs, as many as fit in some seconds."""
    seconds, spent, result = math.inf, 0.0, None
    for _ in range(5):
        start = time.perf_counter()
        result = call()
        took = time.perf_counter() - start
        seconds, spent = min(seconds, took), spent + took
        if spent > 4.0:
            break
    return seconds, result


def error_share(points, labels):
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return float(((points - means[labels]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def normal(n, d):
    return np.random.default_rng(0).standard_normal((n, d))


def survey(n, d):
    """Rows drawn from 300 distinct points."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, d))[rng.integers(0, 300, n)]


def time_shoal(points, k, peer_seconds=None, before=None, note=""):
    """One timing per grouper."""
    for name, method in SHOAL.items():
        seconds, (labels, plan) = best_time(lambda method=method: partition(Points.of(points), k, method))
        how = "exact" if plan["n_blocks"] == 1 else f"{plan['n_blocks']} blocks"
        yield Timing(
            name, *points.shape, k, seconds,
            ratio=peer_seconds / seconds if peer_seconds else None,
            error=error_share(points, labels),
            growth=math.log10(seconds / before[name]) if before else None,
            note=", ".join(filter(None, [how, note])),
        )  # fmt: skip


def time_peers(points, k):
    seconds, labels = best_time(lambda: numpy_mdav(points, k))
    yield Timing("numpy MDAV", *points.shape, k, seconds, ratio=1.0, error=error_share(points, labels))
    other = sdcmicro_seconds(points, k)
    if other is not None:
        yield Timing("sdcMicro MDAV", *points.shape, k, other, ratio=seconds / other)


def show(timing: Timing) -> None:
    def number(value, form):
        return "" if value is None else format(value, form)

    print(
        f"{timing.rows:>9,} {timing.columns:>7} {timing.k:>5}  {timing.method:<14} {timing.seconds:>9.3f}"
        f" {number(timing.ratio, '.1f'):>7} {number(timing.error, '.4f'):>8} {number(timing.growth, '.2f'):>7}"
        f"  {timing.note}",
        flush=True,
    )


def against_peers(sizes, d):
    """Both groupers and the peers on the same points; return the seconds of the largest."""
    last = {}
    for n in sizes:
        points = normal(n, d)
        peers = list(time_peers(points, K))
        own = list(time_shoal(points, K, peers[0].seconds, last if n == 10 * sizes[0] else None))
        for timing in peers + own:
            show(timing)
        last = {timing.method: timing.seconds for timing in own}
    return last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    quick = parser.parse_args().quick
    for kernel in (kmember, mdav):  # compiles
        by_blocks(Points.of(normal(2000, 8)), K, kernel, lambda n_columns: 1000)

    print("     rows columns     k  method           seconds   ratio    error  growth  how")
    last = against_peers([2_000, 20_000] if quick else [20_000, 100_000], 8)
    if not quick:
        for timing in time_shoal(normal(1_000_000, 8), K, before=last):
            show(timing)
    size = 20_000 if quick else 100_000
    for points, k, note in [
        (normal(3 * size, 4), K, "few columns"),
        (normal(size // 10, 200), K, "many columns"),
        (survey(2 * size, 8), K, "300 distinct points"),
        (normal(size, 8), 2, "small groups"),
        (normal(size, 8), 50, "large groups"),
        (normal(size, 8), 1000, "huge groups"),
    ]:
        for timing in time_shoal(points, k, note=note):
            show(timing)


if __name__ == "__main__":
    main()
