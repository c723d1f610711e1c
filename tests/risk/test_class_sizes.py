"""The report on classes: what it counts, and on which tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import risk
from shoal.errors import InputError, ProblemsError, SchemaError
from shoal.frame import enter
from shoal.pair import Pair
from shoal.risk.class_sizes import measure, table_classes
from shoal.schema import Schema

TABLE = {
    "name": ["a", "b", "c", "d", "e", "f"],
    "age": [30, 30, 41, 41, 41, None],
    "sex": ["f", "f", "m", "m", "m", "m"],
    "ill": ["flu", "flu", "flu", "cold", "cold", "flu"],
    "stage": ["low", "high", "low", "mid", "high", "mid"],
    "cost": [5.0, 7.0, 1.0, 2.0, 3.0, 4.0],
}
SCHEMA = Schema.of(
    identifier=["name"],
    quasi=["age", "sex"],
    sensitive=["ill", "stage", "cost"],
    kinds={"stage": "ordinal"},
    levels={"stage": ["low", "mid", "high"]},
)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_small_table_by_hand(make):
    report = risk.classes(make(TABLE), SCHEMA)
    assert (report.k, report.n_records, report.n_classes, report.n_unique) == (1, 6, 3, 1)
    assert report.histogram == {1: 1, 2: 1, 3: 1}
    assert report.records_by_size == {1: 1, 2: 2, 3: 3}
    assert report.unique_share == pytest.approx(1 / 6)
    assert [report.small_share(k) for k in (1, 2, 3, 4)] == pytest.approx([0, 1 / 6, 1 / 2, 1])
    ill, stage, cost = (report.sensitive[name] for name in ("ill", "stage", "cost"))
    assert (ill.distinct_l, ill.recursive_l, ill.alpha, ill.kind) == (1, 1, 1.0, "nominal")
    assert ill.t == pytest.approx(1 / 3)
    assert ill.homogeneous_share == pytest.approx(0.5)
    # Stage: the table has two of each level; the lone record sits in the middle: gaps 1/3 and 1/3 over two steps.
    # The first class has low and high: gaps 1/6 and 1/6; the last has all three: 0.
    assert stage.t == pytest.approx(1 / 3)
    # Cost of the lone record is 4: below it 4 of 7... six values: gaps 1/6, 2/6, 3/6, 2/6, 1/6 over five steps.
    assert cost.kind == "numeric"
    assert cost.t == pytest.approx(max((1 + 2 + 3 + 2 + 1) / 6 / 5, (1 + 2 + 3 + 4 + 2) / 6 / 5))


def test_a_release_needs_only_its_quasi_identifiers():
    released = pl.DataFrame(TABLE).drop("name", "cost")
    assert set(risk.classes(released, SCHEMA).sensitive) == {"ill", "stage"}
    assert risk.classes(released, SCHEMA, sensitive="ill").sensitive.keys() == {"ill"}
    assert risk.classes(released.drop("ill", "stage"), SCHEMA).sensitive == {}


def test_coarsened_values_are_classes_too():
    released = pl.DataFrame(TABLE).with_columns(age=pl.Series(["30-39", "30-39", "40+", "40+", "40+", "*"]))
    assert risk.classes(released, SCHEMA).histogram == {1: 1, 2: 1, 3: 1}


def test_persons_count_once():
    table = pl.DataFrame({"who": ["p", "p", "p", "q"], "age": [3, 3, 3, 3], "ill": ["x", "x", "x", "y"]})
    schema = Schema.of(unit="who", quasi=["age"], sensitive=["ill"])
    report = risk.classes(table, schema)
    assert report.k == 2
    assert report.sensitive["ill"].alpha == 0.5
    assert report.records_by_size == {2: 4}
    assert risk.classes(table.drop("who"), schema).k == 4


def test_a_release_counts_the_persons_of_its_sources():
    table = pl.DataFrame({"who": ["p", "p", "p", "q", "q", "r"], "age": [3, 3, 3, 9, 9, 9]})
    schema = Schema.of(unit="who", quasi=["age"])
    pair = Pair.of(table, table.select("age"), schema)
    report = measure(pair.released, pair.schema, found=pair.released_classes())
    assert report.histogram == {1: 1, 2: 1}
    rows = Pair.of(table, table, Schema.of(quasi=["age"], other=["who"])).released_classes()
    assert rows.histogram() == {3: 2}


@pytest.mark.parametrize("content", [["a"] * 5, [None] * 5, [1.5] * 5, [True] * 5])
def test_constant_columns_give_finite_numbers(content):
    table = pl.DataFrame({"q": [1, 1, 2, 2, 2], "s": content})
    report = risk.classes(table, Schema.of(quasi=["q"], sensitive=["s"]))
    found = report.sensitive["s"]
    assert (found.distinct_l, found.entropy_l, found.t, found.alpha, found.homogeneous_share) == (1, 1, 0, 1, 1)


def test_one_class_is_as_close_as_can_be():
    table = pl.DataFrame({"q": [1] * 6, "s": [1, 2, 3, 4, 5, 6]})
    found = risk.classes(table, Schema.of(quasi=["q"], sensitive=["s"])).sensitive["s"]
    assert (found.t, found.distinct_l, found.recursive_l) == (0.0, 6, 6)
    assert found.entropy_l == pytest.approx(6)


def test_kinds_are_told_from_the_type_as_prepare_does():
    table = pl.DataFrame({"q": [1, 2], "n": [1, 2], "t": ["a", "b"], "d": pl.Series([1, 2]).cast(pl.Date)})
    found = risk.classes(table, Schema.of(quasi=["q"], sensitive=["n", "t", "d"])).sensitive
    assert [found[name].kind for name in ("n", "t", "d")] == ["numeric", "nominal", "ordinal"]


def test_words_are_json():
    words = risk.classes(pl.DataFrame(TABLE), SCHEMA).to_dict()
    assert json.loads(json.dumps(words, allow_nan=False)) == words
    assert words["histogram"] == {"1": 1, "2": 1, "3": 1}


def test_bad_input():
    table = pl.DataFrame(TABLE)
    with pytest.raises(SchemaError, match="'sex'"):
        risk.classes(table.drop("sex"), SCHEMA)
    with pytest.raises(SchemaError, match="'shoe'"):
        risk.classes(table, SCHEMA, sensitive=["shoe"])
    with pytest.raises(InputError, match="at least one row"):
        risk.classes(table[:0], SCHEMA)


def test_constant_quasi_columns_and_row_order_change_nothing():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.integers(0, 5, 99), "b": rng.integers(0, 5, 99), "s": rng.normal(size=99)})
    plain = risk.classes(table, Schema.of(quasi=["a", "b"], sensitive=["s"]))
    wide = risk.classes(table.with_columns(c=pl.lit("x")), Schema.of(quasi=["a", "b", "c"], sensitive=["s"]))
    mixed = risk.classes(table.sample(99, shuffle=True, seed=1), Schema.of(quasi=["a", "b"], sensitive=["s"]))
    assert plain.histogram == wide.histogram == mixed.histogram
    assert plain.sensitive["s"].t == pytest.approx(wide.sensitive["s"].t, abs=1e-12)
    assert plain.sensitive["s"].t == pytest.approx(mixed.sensitive["s"].t, abs=1e-12)


def test_all_columns_that_a_table_lacks_are_named_at_once():
    schema = Schema.of(quasi={"age": "numeric", "sex": "nominal", "zip": "nominal"})
    with pytest.raises(ProblemsError) as caught:
        table_classes(enter(pl.DataFrame({"zip": ["a"]})), schema)
    assert [problem.rule for problem in caught.value.problems] == [
        "must have the column 'age'",
        "must have the column 'sex'",
    ]
