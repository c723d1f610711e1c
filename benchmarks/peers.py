"""The table of speed and quality against peers: both sides in one run, written to peers.json, which the docs show.

    python benchmarks/peers.py [--out benchmarks/peers.json]

Each job is done by Shoal and by what a user would otherwise take, on the same data, one after the other; seconds are
CPU time of the process, the best of several. A peer that isn't installed is listed as such. The other scripts of this
folder go deeper, one family each (synthesis: quality/synth.py); this one is short enough to be run whole.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import shoal

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "quality"), str(HERE / "speed")]
PACKAGES = ("shoal", "numpy", "scipy", "numba", "polars", "scikit-learn", "pycanon", "mbi")


def jobs() -> Iterator[dict[str, Any]]:
    """Every job, done by both sides."""
    for job in (classes, closeness, microaggregation, synthesis, score):
        try:
            yield job()
        except ModuleNotFoundError as missing:
            yield {"job": job.__doc__, "peer": str(missing.name), "absent": True}


def classes() -> dict[str, Any]:
    """k of a table of 200,000 rows and five quasi-identifiers"""
    from classes import QUASI, survey
    from pycanon import anonymity

    table = pd.DataFrame(survey(200_000).to_dict(as_series=False))
    schema = shoal.Schema.of(quasi=QUASI)
    return beside(
        classes,
        "pycanon",
        lambda: shoal.risk.classes(table, schema).k,
        lambda: anonymity.k_anonymity(table, QUASI),
        quality="k",
    )


def closeness() -> dict[str, Any]:
    """t of a table of 2,000 rows and a sensitive column of 20 values"""
    from classes import QUASI, survey
    from pycanon import anonymity

    table = pd.DataFrame(survey(2_000).to_dict(as_series=False))
    schema = shoal.Schema.of(quasi=QUASI, sensitive=["diagnosis"])
    return beside(
        closeness,
        "pycanon",
        lambda: shoal.risk.classes(table, schema).sensitive["diagnosis"].t,
        lambda: anonymity.t_closeness(table, QUASI, ["diagnosis"]),
        quality="t",
        rounds=1,
    )


def microaggregation() -> dict[str, Any]:
    """groups of five among 5,000 points in four columns (MDAV)"""
    from grouping import error_share, normal, numpy_mdav

    from shoal.group.blocks import partition
    from shoal.group.points import Points

    points = normal(5_000, 4)
    made = Points.of(points)
    return beside(
        microaggregation,
        "MDAV in NumPy",
        lambda: error_share(points, partition(made, 5, "mdav")[0]),
        lambda: error_share(points, numpy_mdav(points, 5)),
        quality="squared error within groups, share of the total",
    )


def synthesis() -> dict[str, Any]:
    """synthetic rows of 5,000 people in 15 columns with ε = 1, δ = 1e-9 (PeGS; MST)"""
    from synth_peers import mst

    from shoal.synth.domain import encode_table
    from synth import DELTA, adult_like, pegs, variation

    table, schema = adult_like(5_000)
    found = encode_table(table, schema, bins=16, missing="refuse", public=True, owner="benchmark")
    X, sizes = found.codes, found.domain.sizes
    return beside(
        synthesis,
        "MST on mbi",
        lambda: variation(X, pegs(table, schema, 1.0, DELTA, {}), sizes),
        lambda: variation(X, mst(X, sizes, 1.0, DELTA, seed=3), sizes),
        quality="mean total variation over all pairs of columns (less is better)",
        rounds=1,
    )


def score() -> dict[str, Any]:
    """a risk score on 1,500 people, tested on 1,500 others; ours with ε = 1, theirs without privacy"""
    from sklearn.ensemble import RandomForestClassifier

    from shoal.score.evaluation import auroc

    table = shoal.datasets.pima_like(3_000, seed=1)
    X, y = table.drop("diabetes"), (table["diabetes"] == "pos").to_numpy().astype(int)
    schema, half = shoal.datasets.pima_like_schema(), 1_500

    def area(model: Any, people: Any) -> float:
        return float(auroc(model.fit(people[:half], y[:half]).predict_proba(people[half:])[:, 1], y[half:]))

    return beside(
        score,
        "scikit-learn's forest",
        lambda: area(shoal.CertifiedForest(1.0, schema), X),
        lambda: area(RandomForestClassifier(random_state=0), X.to_numpy()),
        quality="AUROC",
    )


def beside(
    job: Callable[[], Any],
    peer: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    quality: str,
    rounds: int = 3,
) -> dict[str, Any]:
    """Both sides of a job: CPU seconds and quality of each."""
    ours()  # compiled and imported
    (seconds, value), (other_seconds, other_value) = best(ours, rounds), best(theirs, rounds)
    return {
        "job": job.__doc__,
        "peer": peer,
        "seconds": [round(seconds, 4), round(other_seconds, 4)],
        "quality": quality,
        "values": [round(float(value), 4), round(float(other_value), 4)],
    }


def best(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """CPU seconds of the fastest round, and what the last one gave."""
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            begun = time.process_time()
            found = call()
            seconds.append(time.process_time() - begun)
    return min(seconds), found


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "date": date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: installed for name in PACKAGES if (installed := version_of(name))},
    }


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")


def version_of(name: str) -> str | None:
    """The version of a package, where it is installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "peers.json")
    target = parser.parse_args().out
    words = {"machine": machine(), "jobs": list(jobs())}
    target.write_text(json.dumps(words, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"Wrote {target}. `make docs` shows it on the page of numbers.")
