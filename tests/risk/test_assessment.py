"""The whole report on one pair."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal.risk
from shoal import risk
from shoal.pair import Pair
from shoal.schema import Schema

SCHEMA = Schema.of(
    identifier=["name"],
    quasi=["age", "sex", "region"],
    sensitive=["cost", "ill"],
    weight="w",
    kinds={"sex": "nominal", "region": "nominal"},
)


def survey(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "name": [f"SENTINEL{i}" for i in range(n)],
        "age": rng.integers(20, 60, n),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "region": rng.choice(["n", "s", "w"], n).tolist(),
        "cost": rng.gamma(2, 100, n).round(),
        "ill": rng.choice(["flu", "cold"], n).tolist(),
        "w": np.full(n, 30.0),
    }


def resampled(table, k=5, seed=1):
    """Quasi values drawn within groups of k neighbouring rows: a release, its sources and its labels."""
    rng = np.random.default_rng(seed)
    n = len(table)
    labels = np.minimum(np.arange(n) // k, n // k - 1)
    drawn = np.array([rng.choice(np.flatnonzero(labels == label)) for label in labels])
    masked = table.with_columns(table.select("age", "sex", "region")[drawn.tolist()])
    order = rng.permutation(n)
    return masked.drop("name")[order.tolist()], order, labels


def numbers(words):
    if isinstance(words, dict):
        return [x for value in words.values() for x in numbers(value)]
    if isinstance(words, list):
        return [x for value in words for x in numbers(value)]
    return [words] if isinstance(words, int | float) else []


def test_everything_from_one_pair_is_what_each_function_says():
    table = pl.DataFrame(survey())
    masked, order, labels = resampled(table)
    report = risk.assess(Pair.of(table, masked, SCHEMA, order), labels=labels, k=5, seed=3)
    alone = risk.reidentification(table, masked, SCHEMA, order, labels=labels, seed=3)
    assert report.reidentification.to_dict() == alone.to_dict()
    assert report.linkage == risk.linkage(table, masked, SCHEMA, order)
    assert report.intervals == risk.intervals(table, masked, SCHEMA, order)
    assert report.verbatim == risk.verbatim(table, masked, SCHEMA, order)
    assert report.inference == risk.inference(table, masked, SCHEMA)
    assert report.classes == risk.classes(masked, SCHEMA)
    assert report.uniqueness == risk.uniqueness(masked, SCHEMA)
    assert report.attackers == risk.attackers(masked, SCHEMA)
    assert report.small_share == report.classes.small_share(5)
    assert report.reidentification.by_group.largest <= 1 / 5
    words = report.to_dict()
    text = json.dumps(words, allow_nan=False)
    assert "SENTINEL" not in text
    assert all(math.isfinite(x) for x in numbers(words))


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_every_dataframe_gives_the_same(make):
    table = survey(60)
    plain = pl.DataFrame(table)
    released = {name: table[name] for name in table if name != "name"}
    expected = risk.assess(Pair.of(plain, plain.drop("name"), SCHEMA)).to_dict()
    assert risk.assess(Pair.of(make(table), make(released), SCHEMA)).to_dict() == expected


def test_the_original_is_the_worst_release():
    table = pl.DataFrame(survey())
    report = risk.assess(Pair.of(table, table, SCHEMA))
    sizes = report.classes.records_by_size
    assert report.reidentification.expected == pytest.approx(sum(rows / size for size, rows in sizes.items()) / 400)
    assert report.reidentification.expected == pytest.approx(report.attackers.prosecutor.mean)
    assert report.verbatim.own_share == report.intervals.share == 1.0
    assert report.k is report.small_share is None


@pytest.mark.parametrize(
    "columns",
    [
        {"q": [1, 1, 1, 1]},
        {"q": [1]},
        {"q": ["a", "b", "c", None]},
        {"q": [0.1, 0.2, 0.3, 1e12]},
    ],
)
def test_odd_tables_give_finite_numbers(columns):
    table = pl.DataFrame(columns).with_columns(s=pl.lit(1.0))
    words = risk.assess(Pair.of(table, table, Schema.of(quasi=["q"], sensitive=["s"])), k=2).to_dict()
    assert all(math.isfinite(x) for x in numbers(words))


def test_persons_with_many_rows_do_not_pass_for_many():
    table = pl.DataFrame({"u": ["p"] * 6 + ["q"], "age": [3] * 7})
    schema = Schema.of(quasi=["age"], unit="u")
    report = risk.assess(Pair.of(table, table.select("age"), schema), labels=np.zeros(7, dtype=int), k=3)
    assert report.classes.k == 2
    assert report.small_share == 1.0
    assert report.attackers.prosecutor.largest == 0.5
    assert report.reidentification.by_group.bound == pytest.approx(6 / 7)


def test_names_are_what_is_promised():
    assert all(hasattr(shoal.risk, name) for name in shoal.risk.__all__)
    assert callable(shoal.risk.classes)


@pytest.mark.parametrize(
    ("work", "heavy"),
    [
        ("", ("scipy", "numba", "sklearn", "pandas")),
        (
            "shoal.risk.classes(pl.DataFrame({'q': ['a', 'b'], 's': [0.1, 0.2]}), schema)",
            ("numba", "sklearn", "pandas"),
        ),
    ],
)
def test_imports_stay_light(work, heavy):
    code = f"""
import sys, polars as pl, shoal.risk
from shoal.schema import Schema
schema = Schema.of(quasi=["q"], sensitive=["s"])
{work}
print([name for name in {heavy!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
