"""Speed of the Gaussian dither: the mask on simulated claims, its kernels, error against plain sums, ratio to numpy.

    python benchmarks/speed/dither.py [--quick | --claims]

First the whole mask, ``GaussianDither()``, on simulated claims (eight quasi-identifiers) in groups of five; then the
transform on normal and survey-like data (fit, merge, draw, forward, exact inverse). Best of three for small n, after a
warm-up that compiles; "cpu" adds up all cores, tells more on a busy machine, and is what growth is measured on. The
peer is the same mathematics in vectorised numpy and scipy, timed in the same run.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from claims import claims, claims_schema
from scipy.special import ndtr

from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.mask import GaussianDither, ValueSets
from shoal.mask.dither import neighbourhoods
from shoal.mask.mixture import components, draw, forward, merge
from shoal.mask.rosenblatt import dimension_order, draw_cells, forward_cells, inverse, inverse_ranked, pick_members
from shoal.mask.smoothed_inverse import inverse_smooth

ALPHA = 1 / 3


def normal(n, d, rng):
    x = rng.standard_normal((n, d))
    x[:, 1:] += 0.7 * x[:, :1]
    return x


def survey(n, d, rng):
    """Columns of 2, 4, 5 and 15 codes (sex, region, education, age band), as in a household survey."""
    levels = [2, 4, 5, 15]
    return np.column_stack([np.round((levels[j % 4] - 1) * rng.beta(2, 3, n)) for j in range(d)])


def blocks(x, k):
    """Group by halving along the widest column: fast, and close to what a grouper does."""
    done, todo = [], [np.arange(len(x))]
    while todo:
        rows = todo.pop()
        if len(rows) < 2 * k:
            done.append(rows)
            continue
        rows = rows[np.argsort(x[rows, np.argmax(np.ptp(x[rows], axis=0))], kind="stable")]
        half = len(rows) // k // 2 * k
        todo += [rows[:half], rows[half:]]
    rows = np.concatenate([block[np.lexsort(x[block].T[::-1])] for block in done])
    return x[rows], np.concatenate([[0], np.cumsum([len(block) for block in done])])


def prepared(make, n, d, k, seed=1):
    x = make(n, d, np.random.default_rng(seed))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return blocks(np.ascontiguousarray(x[:, dimension_order(x)]), k)


def transform(values, offsets, rng):
    """What the mask does, from groups to released rows."""
    mixture, component = merge(components(values, offsets, ALPHA))
    home = np.repeat(component, np.diff(offsets))
    x, written = draw(mixture, home, rng), np.empty_like(values)
    for block in neighbourhoods(mixture, home, None):
        rows = block.rows
        written[rows] = inverse(forward(x[rows], block.mixture, block.home), values[rows])
    return x, mixture, home


def claim_sets(n, k=5):
    """Claims in groups of k: neighbours in the order of sex, race, plan, county, half-decade of age and income."""
    prepared = prepare(claims(n), claims_schema())
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    codes = encoder.codes(prepared.frame)
    column = dict(zip(encoder.names, codes.T, strict=True))
    keys = [column["income"], column["age"] // 5, *(column[name] for name in ("county", "plan", "race", "sex"))]
    labels = np.empty(n, dtype=np.int64)
    labels[np.lexsort(keys)] = np.minimum(np.arange(n) // k, n // k - 1)
    return ValueSets.of(codes, labels, encoder)


def on_claims(sizes):
    print("\nGaussianDither() on claims, eight quasi-identifiers, groups of five")
    print(f"{'n':>8} {'seconds':>8} {'cpu':>8}  growth")
    before = None
    for n in sizes:
        sets = claim_sets(n)
        spent, used, _ = timed(lambda s=sets: GaussianDither().draw(s, np.random.default_rng(2)), 1)
        exponent = f"{math.log(used / before[1]) / math.log(n / before[0]):7.2f}" if before else ""
        print(f"{n:8} {spent:8.2f} {used:8.2f} {exponent}")
        before = n, used


def plain(x, mixture):
    """(12) to (14) in numpy, vectorised over rows and components, in slices that fit in memory."""
    u, Lambda = np.empty_like(x), mixture.covariance
    lines = []
    for j in range(x.shape[1]):
        a = np.linalg.solve(Lambda[:, :j, :j], Lambda[:, :j, j, None])[..., 0]
        lines.append((a, np.sqrt(Lambda[:, j, j] - (a * Lambda[:, :j, j]).sum(axis=1))))
    for rows in np.array_split(np.arange(len(x)), max(1, len(x) * len(mixture.share) // 2_000_000)):
        away = x[rows, None, :] - mixture.centroid
        log_p = np.log(mixture.share)[None]
        for j, (a, sigma) in enumerate(lines):
            z = (away[:, :, j] - np.einsum("cj,icj->ic", a, away[:, :, :j])) / sigma
            p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
            u[rows, j] = (p * ndtr(z)).sum(axis=1) / p.sum(axis=1)
            log_p = log_p - z * z / 2 - np.log(sigma)
    return u


def timed(job, times):
    """Wall and processor seconds of the fastest run, and the result of the last."""
    best = math.inf, math.inf
    for _ in range(times):
        start, used = time.perf_counter(), time.process_time()
        result = job()
        best = min(best, (time.perf_counter() - start, time.process_time() - used))
    return *best, result


def growth(sizes, make, d, k):
    print(f"\n{make.__name__} data, alpha = 1/3")
    names = ("n", 8), ("d", 2), ("k", 3), ("seconds", 8), ("cpu", 8), ("groups", 7), ("merged", 7), ("growth", 7)
    print(*(f"{name:>{width}}" for name, width in names), " max error of u")
    before = None
    for n in sizes:
        values, offsets = prepared(make, n, d, k)
        spent, used, (x, mixture, home) = timed(
            lambda v=values, o=offsets: transform(v, o, np.random.default_rng(2)), 3 if n <= 20_000 else 1
        )
        block = next(neighbourhoods(mixture, home, None))
        sample = np.random.default_rng(3).choice(block.rows, 200, replace=False)
        u = forward(x[block.rows], block.mixture, block.home)[np.searchsorted(block.rows, sample)]
        error = np.abs(plain(x[sample], block.mixture) - u).max()
        exponent = math.log(used / before[1]) / math.log(n / before[0]) if before else math.nan
        print(f"{n:8} {d:2} {k:3} {spent:8.3f} {used:8.3f} {len(offsets) - 1:7}", end=" ")
        print(f"{len(mixture.share):7} {exponent:7.2f} {error:15.1e}")
        before = n, used


def against_numpy(n, d=4, k=5):
    values, offsets = prepared(normal, n, d, k)
    x, mixture, _ = transform(values, offsets, np.random.default_rng(2))
    ours, _, u = timed(lambda: forward(x, mixture), 3)
    theirs, _, v = timed(lambda: plain(x, mixture), 1)
    print(
        f"\nforward transform, n = {n}, d = {d}, k = {k}: {ours:.3f} s; plain numpy and scipy {theirs:.2f} s,", end=" "
    )
    print(f"ratio {theirs / ours:.0f}; largest difference {np.abs(u - v).max():.1e}")


def skipping(n, d=4, k=5):
    print(f"\nskipping negligible components, n = {n}, d = {d}, k = {k}")
    values, offsets = prepared(normal, n, d, k)
    for alpha in (1 / 3, 0.1, 0.01):
        mixture, component = merge(components(values, offsets, alpha))
        home = np.repeat(component, np.diff(offsets))
        x = draw(mixture, home, np.random.default_rng(4))
        _, full, _ = timed(lambda m=mixture, x=x: forward(x, m), 2)
        _, some, _ = timed(lambda m=mixture, x=x, h=home: forward(x, m, h), 2)
        print(f"  alpha {alpha:5.3f}: cpu {full:.3f} s in full, {some:.3f} s with skipping, ratio {full / some:.1f}")


def inverses(n, d=4, k=5):
    print(f"\nthe other kernels, n = {n}, d = {d}")
    values, offsets = prepared(normal, n, d, k)
    rng = np.random.default_rng(5)
    u, numeric = rng.random(values.shape), np.ones(d, dtype=bool)
    x = draw_cells(values[pick_members(offsets, rng)], values, rng)
    jobs = {
        "inverse, exact": lambda: inverse(u, values),
        "inverse, ranked": lambda: inverse_ranked(u, values),
        "inverse, smooth": lambda: inverse_smooth(u, values, numeric),
        "cells, forward": lambda: forward_cells(x, values),
    }
    for name, job in jobs.items():
        job()
        print(f"  {name:16} {timed(job, 2)[0]:.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--claims", action="store_true", help="the mask on claims only")
    chosen = parser.parse_args()
    quick = chosen.quick
    GaussianDither().draw(claim_sets(600), np.random.default_rng(0))
    on_claims([1000, 10_000] if quick else [10_000, 100_000, 1_000_000])
    if chosen.claims:
        return
    transform(*prepared(normal, 600, 3, 5), np.random.default_rng(0))
    growth([1500, 3000, 6000] if quick else [3000, 15_000, 60_000, 200_000], normal, 4, 5)
    growth([1500, 3000, 6000] if quick else [3000, 15_000, 60_000, 200_000], survey, 4, 5)
    against_numpy(1500 if quick else 3000)
    skipping(3000 if quick else 15_000)
    inverses(3000 if quick else 200_000)


if __name__ == "__main__":
    main()
