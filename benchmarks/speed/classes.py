"""Equivalence classes: k, l and t of a table, as ratios against pycanon in one run on the same data.

Run it with the Python that has Shoal, and pycanon beside it for the ratios; without pycanon only our times are shown.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from shoal import risk
from shoal.equivalence import classes_of
from shoal.frame import enter
from shoal.schema import Schema

QUASI = ["age", "sex", "region", "education", "income"]
AIMS = {"k": 15.0, "t": 50.0}


def survey(n: int, seed: int = 0, texts: bool = True) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 15, n),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "region": np.array([f"region {i}" for i in range(10)])[rng.integers(0, 10, n)],
            "education": rng.integers(0, 6, n),
            "income": rng.integers(0, 5, n).astype(float),
            "diagnosis": np.array([f"d{i:02d}" for i in range(20)])[rng.integers(0, 20, n)],
            "visits": rng.poisson(4, n),
        }
    )
    coded = [pl.col(name).rank("dense").cast(pl.Int64) for name in ("sex", "region")]
    return table if texts else table.with_columns(coded)


def best(call: Callable[[], Any], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(table: Any, sensitive: str | None, rounds: int = 3) -> float:
    schema = Schema.of(quasi=QUASI, sensitive=[sensitive] if sensitive else [])
    return best(lambda: risk.classes(table, schema), rounds)


def growth() -> None:
    print("k, l and t together (one sensitive column), 5 quasi-identifiers, Polars")
    sizes = [10_000, 100_000, 1_000_000]
    times = [ours(survey(n), "visits") for n in sizes]
    for n, seconds in zip(sizes, times, strict=True):
        print(f"  {n:>9,} rows  {seconds:.4f} s")
    table = survey(1_000_000).with_columns(zip=pl.Series(np.random.default_rng(1).integers(0, 100_000, 1_000_000)))
    frame = enter(table)
    print(f"  1,000,000 rows, nearly all unique: k alone {best(lambda: classes_of(frame, [*QUASI, 'zip'])):.4f} s")
    print(f"  growth exponent {np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0]):.2f}")


def against_pycanon() -> None:
    try:
        from pycanon import anonymity
    except ImportError:
        print("pycanon is not installed: no ratios")
        return
    print("against pycanon, the same pandas table")
    for name, n, texts, sensitive, call in (
        ("k", 1_000_000, False, None, lambda table: anonymity.k_anonymity(table, QUASI)),
        ("k", 1_000_000, True, None, lambda table: anonymity.k_anonymity(table, QUASI)),
        ("l", 2_000, True, "diagnosis", lambda table: anonymity.l_diversity(table, QUASI, ["diagnosis"])),
        ("t", 2_000, True, "diagnosis", lambda table: anonymity.t_closeness(table, QUASI, ["diagnosis"])),
        ("t", 2_000, True, "visits", lambda table: anonymity.t_closeness(table, QUASI, ["visits"])),
    ):
        print(
            f"  {name} of {n:>9,} rows, {'texts' if texts else 'coded'}, {sensitive or 'no sensitive column':<19}",
            end=" ",
        )
        compare(name, pd.DataFrame(survey(n, texts=texts).to_dict(as_series=False)), sensitive, call)


def compare(name: str, table: pd.DataFrame, sensitive: str | None, call: Callable[[pd.DataFrame], Any]) -> None:
    """Print the median over rounds of theirs / ours, both timed in each round, with its range."""
    rounds = range(1 if sensitive else 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert abs(float(call(table)) - our_number(name, table, sensitive)) < 1e-9, "both must find the same number"
        ratios = [best(lambda: call(table), rounds=1) / ours(table, sensitive, rounds=1) for _ in rounds]
    aim = f" (aim: at least {AIMS[name]:.0f})" if name in AIMS else ""
    print(f"{np.median(ratios):8.1f} times faster, {min(ratios):.1f} to {max(ratios):.1f}{aim}")


def our_number(name: str, table: pd.DataFrame, sensitive: str | None) -> float:
    report = risk.classes(table, Schema.of(quasi=QUASI, sensitive=[sensitive] if sensitive else []))
    if sensitive is None:
        return report.k
    return {"l": report.sensitive[sensitive].distinct_l, "t": report.sensitive[sensitive].t}[name]


if __name__ == "__main__":
    growth()
    against_pycanon()
