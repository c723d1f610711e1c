"""Which method rebuilds individual values best, and when?

Goals: with 40 and 300 groups of different case mix, ridge with correction within 2 % of the best of all methods; with 5
groups and random effects LUDIA below the group means on average. Means of the absolute error over simulated tables.
"""

import argparse

import numpy as np

from shoal.aggregate import Aggregate
from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import pose
from shoal.rng import stream
from shoal.study.ludia import KINDS, METHODS, simulate


def errors(kind, n_groups, size, mix, runs):
    found = {name: [] for name in METHODS}
    for at in range(runs):
        X, y, labels = simulate(kind, n_groups, size, stream(1, "quality", kind, n_groups, size, at), mix)
        problem = pose(covariates(X), [Aggregate(by=labels, mean=np.bincount(labels, y) / size)])
        for name, method in METHODS.items():
            found[name].append(np.abs(method.fit(problem) - y).mean())
    return {name: float(np.mean(values)) for name, values in found.items()}


def main(runs):
    print(f"{'':<18}" + "".join(f"{name:>20}" for name in METHODS))
    for n_groups, size, mix in ((5, 20, 0.0), (5, 50, 0.0), (5, 100, 0.0), (40, 50, 0.5), (300, 20, 0.5)):
        for kind in KINDS:
            found = errors(kind, n_groups, size, mix, runs if n_groups == 5 else max(2, runs // 4))
            told = "".join(f"{value:>20.3f}" for value in found.values())
            print(f"{kind:<4} {n_groups:>4} x {size:<5}  {told}  {verdict(kind, n_groups, found)}")


def verdict(kind, n_groups, found):
    if n_groups == 5:
        if kind not in ("RE1", "RE2"):
            return ""
        return "ok" if found["LUDIA"] < found["MP"] else "LUDIA ABOVE MP"
    behind = found["Ridge"] / min(found.values())
    return f"ridge {behind - 1:.1%} behind the best: {'ok' if behind <= 1.02 else 'TOO FAR'}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer tables")
    main(8 if parser.parse_args().quick else 40)
