"""How fast are reconstructions, and do LUDIA's iterations depend on the number of rows?

Goals: a million rows, 8 covariates, 1,000 groups: one pass and 100 iterations in seconds on two cores; time and memory
linear in the rows (growth exponent at most 1.1). The printed algorithm, which solves an (n r) × (n r) Kronecker system,
is timed beside it at a size it can bear. Times are the best of three; under load read the ratios.
"""

import argparse
import time
import tracemalloc

import numpy as np

from shoal.aggregate import Aggregate, Cudia, EcologicalRegression, Ludia, PseudoInverse, RidgeEcological
from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import pose


def best_of(call, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def table(n, p, m=8):
    rng = np.random.default_rng(0)
    labels = np.concatenate((np.arange(p), rng.integers(0, p, n - p)))
    X = rng.standard_normal((n, m)) + rng.standard_normal((p, m))[labels]
    y = X @ rng.standard_normal(m) + rng.standard_normal(n)
    return X, [Aggregate(by=labels, mean=np.bincount(labels, y) / np.bincount(labels))]


def kronecker(X, A, s, rounds):
    n, m = X.shape
    U, _, Vt = np.linalg.svd(np.column_stack((X, np.linalg.pinv(A) @ s)), full_matrices=False)
    U, Vx, vy, Pi = U[:, :m], Vt[:m, :m].T, Vt[:m, m], A @ U[:, :m]
    W = np.linalg.inv(A @ A.T)
    for _ in range(rounds):
        left = np.kron(Vx.T @ Vx, np.eye(n)) + np.kron(np.eye(m), A.T @ A)
        U = np.linalg.solve(left, (X @ Vx + A.T @ Pi).reshape(-1, order="F")).reshape(n, m, order="F")
        left = np.eye(m * len(s)) + np.kron(np.outer(vy, vy), W)
        Pi = np.linalg.solve(left, (W @ np.outer(s, vy) + A @ U).reshape(-1, order="F")).reshape(-1, m, order="F")
        Vx = np.linalg.lstsq(U, X, rcond=None)[0].T
        vy = np.linalg.lstsq(Pi.T @ W @ Pi, Pi.T @ W @ s, rcond=None)[0]
    return U @ vy


def against_the_printed_form():
    X, aggregates = table(300, 10, 3)
    labels = aggregates[0].by
    A = (labels == np.arange(10)[:, None]) / np.bincount(labels)[:, None]
    X1 = np.column_stack((np.ones(300), X))
    slow = best_of(lambda: kronecker(X1, A, np.asarray(aggregates[0].mean), 2), 1) / 2
    fast = best_of(lambda: Ludia(iterations=100).reconstruct(X, aggregates)) / 100
    print(
        f"n = 300: printed form {slow * 1e3:,.0f} ms an iteration, sums {fast * 1e3:.2f} ms: {slow / fast:,.0f} times"
    )


def growth(sizes, p):
    times, peaks = [], []
    for n in sizes:
        X, aggregates = table(n, p)
        took = best_of(lambda X=X, a=aggregates: Ludia(iterations=100).reconstruct(X, a))
        problem = pose(covariates(X), aggregates)
        loop = best_of(lambda q=problem: Ludia(iterations=100).fit(q)) - best_of(
            lambda q=problem: Ludia(iterations=0).fit(q)
        )
        tracemalloc.start()
        Ludia(iterations=1).reconstruct(X, aggregates)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        times.append(took - loop)
        size = peaks[-1] / 2**20
        print(f"n = {n:>9,}, {p:,} groups: {took:6.2f} s in all, 100 iterations {loop:5.2f} s, peak {size:,.0f} MiB")
    span = np.log(sizes[-1] / sizes[0])
    exponents = [np.log(v[-1] / v[0]) / span for v in (times, peaks)]
    verdict = "ok" if max(exponents) <= 1.1 else "TOO STEEP"
    print(f"growth exponent of the rows' part: time {exponents[0]:.2f}, memory {exponents[1]:.2f} ({verdict})")


def side_by_side(n, p):
    X, aggregates = table(n, p)
    base = None
    for method in (
        PseudoInverse(),
        EcologicalRegression(),
        RidgeEcological(),
        Ludia(),
        Cudia(restarts=1, iterations=10),
    ):
        took = best_of(lambda m=method: m.reconstruct(X, aggregates), 2)
        base = base or took
        print(f"{type(method).__name__:<22} {took:7.2f} s, {took / base:6.1f} times PseudoInverse")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    quick = parser.parse_args().quick
    against_the_printed_form()
    growth((50_000, 200_000) if quick else (125_000, 250_000, 500_000, 1_000_000), 200 if quick else 1_000)
    side_by_side(20_000 if quick else 100_000, 200)
