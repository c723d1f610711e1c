"""Equivalence classes against a transparent oracle, published examples, and the faults of a peer."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.equivalence import Codes, classes_of, codes, combine, contents_of, equal_rows, persons, ranks
from shoal.errors import ColumnError, SchemaError
from shoal.frame import enter

KEYS = ["a", "b", "c"]


def oracle_classes(rows, unit=None):
    members = defaultdict(set)
    for i, row in enumerate(rows):
        members[row].add(i if unit is None or unit[i] is None else ("u", unit[i]))
    return {row: len(people) for row, people in members.items()}


def oracle_contents(labels, values, unit=None):
    seen = defaultdict(set)
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        seen[label].add((value, i if unit is None or unit[i] is None else ("u", unit[i])))
    return {label: Counter(value for value, _ in pairs) for label, pairs in seen.items()}


def oracle_entropy(counter):
    n = sum(counter.values())
    return math.exp(-sum(x / n * math.log(x / n) for x in counter.values()))


def oracle_recursive(counter, c):
    r = sorted(counter.values(), reverse=True)
    best = 0
    for level in range(1, len(r) + 1):
        if r[0] < c * sum(r[level - 1 :]):
            best = level
    return best


def oracle_shares(contents):
    total = Counter()
    for counter in contents.values():
        total.update(counter)
    n = sum(total.values())
    return {value: count / n for value, count in total.items()}


def oracle_variation(counter, overall):
    n = sum(counter.values())
    return sum(abs(counter[v] / n - q) for v, q in overall.items()) / 2


def oracle_earth_mover(counter, overall, order):
    n, total, gap = sum(counter.values()), 0.0, 0.0
    for value in order:
        gap += counter[value] / n - overall[value]
        total += abs(gap)
    return total / (len(order) - 1) if len(order) > 1 else 0.0


cells = st.fixed_dictionaries(
    {
        "a": st.sampled_from([None, 1, 2, 900_000_000_000]),
        "b": st.sampled_from([None, "x", "y"]),
        "c": st.sampled_from([None, 0.0, -0.0, 0.5, float("nan"), 1e300]),
        "s": st.sampled_from([None, 1, 2, 3, 7]),
        "u": st.sampled_from([None, "p", "q", "r"]),
    }
)
tables = st.lists(cells, min_size=1, max_size=30)
ROW = {"a": 1, "b": "x", "c": 0.0, "s": 1, "u": "p"}
TYPES = {"a": pl.Int64, "b": pl.String, "c": pl.Float64, "s": pl.Int64, "u": pl.String}


def frame_of(rows):
    return pl.DataFrame(rows, schema=TYPES)


def key_of(row):
    number = row["c"]
    return row["a"], row["b"], None if number is None or math.isnan(number) else number + 0.0


@example([ROW | {"c": 0.0}] + [ROW | {"c": -0.0}] * 2 + [ROW | {"c": 0.5}] * 20, False)
@settings(max_examples=60, deadline=None)
@given(tables, st.booleans())
def test_classes_and_sizes_are_the_oracles(rows, with_unit):
    unit = [row["u"] for row in rows] if with_unit else None
    keys = [key_of(row) for row in rows]
    found = classes_of(enter(frame_of(rows)), KEYS, "u" if with_unit else None)
    expected = oracle_classes(keys, unit)
    assert found.n_classes == len(expected)
    assert found.k == min(expected.values())
    assert found.row_sizes.tolist() == [expected[key] for key in keys]
    assert len({(label, key) for label, key in zip(found.labels.tolist(), keys, strict=True)}) == len(expected)
    assert found.histogram() == dict(Counter(expected.values()))


@settings(max_examples=60, deadline=None)
@given(tables, st.booleans(), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_contents_are_the_oracles(rows, with_unit, c):
    unit = [row["u"] for row in rows] if with_unit else None
    table = frame_of(rows)
    found = classes_of(enter(table), KEYS, "u" if with_unit else None)
    values = [row["s"] for row in rows]
    inside = oracle_contents(found.labels.tolist(), values, unit)
    overall = oracle_shares(inside)
    order = sorted(overall, key=lambda v: (v is None, v or 0))
    contents = contents_of(found, ranks(table["s"]))
    per_class = [inside[label] for label in range(found.n_classes)]
    assert contents.distinct().tolist() == [len(counter) for counter in per_class]
    assert contents.recursive(c).tolist() == [oracle_recursive(counter, c) for counter in per_class]
    assert contents.entropy() == pytest.approx([oracle_entropy(counter) for counter in per_class])
    shares = [max(counter.values()) / sum(counter.values()) for counter in per_class]
    assert contents.largest_share() == pytest.approx(shares)
    assert contents.variation() == pytest.approx([oracle_variation(x, overall) for x in per_class], abs=1e-12)
    distances = [oracle_earth_mover(x, overall, order) for x in per_class]
    assert contents.ordered_distance() == pytest.approx(distances, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5, allow_nan=False)), min_size=2, max_size=40))
def test_ordered_distance_over_many_distinct_numbers(rows):
    table = pl.DataFrame({"g": [g for g, _ in rows], "s": [x for _, x in rows]})
    found = classes_of(enter(table), ["g"])
    inside = oracle_contents(found.labels.tolist(), [x + 0.0 for _, x in rows])
    overall = oracle_shares(inside)
    expected = [oracle_earth_mover(inside[g], overall, sorted(overall)) for g in range(found.n_classes)]
    assert contents_of(found, ranks(table["s"])).ordered_distance() == pytest.approx(expected, abs=1e-12)


def test_salaries_of_the_t_closeness_paper():
    # Li et al. 2007: salaries 3k..11k; the class {3k, 4k, 5k} has distance 0.375, {6k, 8k, 11k} has 0.167.
    table = pl.DataFrame({"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10]})
    found = classes_of(enter(table), ["zip"])
    distances = contents_of(found, ranks(table["salary"])).ordered_distance()[found.labels[[0, 3]]]
    assert distances == pytest.approx([0.375, 1 / 6])


def test_a_class_that_is_the_table_has_distance_zero_exactly():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"g": np.zeros(997, dtype=int), "s": rng.normal(size=997).round(1)})
    contents = contents_of(classes_of(enter(table), ["g"]), ranks(table["s"]))
    assert contents.ordered_distance().tolist() == [0.0]
    assert contents.variation().tolist() == [0.0]


def test_rows_with_a_missing_key_count():
    # A group-by that drops missing keys, as pandas' default and pycanon do, never sees the lone third row: k = 2.
    table = pd.DataFrame({"age": [30, 30, None, 41, 41], "sex": ["f", "f", "f", "m", "m"]})
    assert table.groupby(["age", "sex"]).size().min() == 2
    assert classes_of(enter(table), ["age", "sex"]).k == 1


def test_agrees_with_pycanon_where_nothing_is_missing():
    anonymity = pytest.importorskip("pycanon.anonymity")
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.integers(0, 3, (300, 2)), columns=["a", "b"])
    table["s"], table["n"] = rng.choice(["x", "y", "z"], 300), rng.integers(0, 9, 300)
    found = classes_of(enter(table), ["a", "b"])
    text, number = (contents_of(found, ranks(pl.Series(table[name].to_numpy()))) for name in ("s", "n"))
    assert found.k == anonymity.k_anonymity(table, ["a", "b"])
    assert text.distinct().min() == anonymity.l_diversity(table, ["a", "b"], ["s"])
    assert text.variation().max() == pytest.approx(anonymity.t_closeness(table, ["a", "b"], ["s"]))
    assert number.ordered_distance().max() == pytest.approx(anonymity.t_closeness(table, ["a", "b"], ["n"]))
    assert text.largest_share().max() == pytest.approx(anonymity.alpha_k_anonymity(table, ["a", "b"], ["s"])[0])


def test_persons_count_not_rows():
    table = pl.DataFrame({"age": [30, 30, 30, 41], "who": ["p", "p", "q", None]})
    assert classes_of(enter(table), ["age"]).histogram() == {3: 1, 1: 1}
    assert classes_of(enter(table), ["age"], "who").histogram() == {2: 1, 1: 1}
    given_persons = Codes(values=np.array([0, 0, 0, 0]), n=1)
    assert classes_of(enter(table), ["age"], given_persons).k == 1


def test_rows_without_a_unit_are_persons_of_their_own():
    assert len(set(persons(pl.Series([None, "p", None, "p"], dtype=pl.String)).values.tolist())) == 3


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table, lambda d: pl.DataFrame(d).lazy()])
def test_every_dataframe_gives_the_same(make):
    table = make({"a": [1, 1, 2, 2, 2], "b": ["x", "x", None, None, "x"]})
    assert classes_of(enter(table), ["a", "b"]).row_sizes.tolist() == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([True, False, None, True]),
        pl.Series([datetime.date(2020, 1, 1), datetime.date(1950, 5, 5), None, datetime.date(2020, 1, 1)]),
        pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", None, "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series([2**63 + 5, 1, None, 2**63 + 5], dtype=pl.UInt64),
        pl.Series([2**62, -(2**62), None, 2**62]),
        pl.Series([200, 100, None, 200], dtype=pl.UInt8),
        pl.Series([1.5, 1.25, None, 1.5], dtype=pl.Float32),
        pl.Series([datetime.timedelta(1), datetime.timedelta(2), None, datetime.timedelta(1)]),
    ],
)
def test_codes_of_every_type(column):
    coded = codes(column).values.tolist()
    assert coded[0] == coded[3]
    assert len(set(coded)) == 3
    ranked = ranks(column)
    assert ranked.n == 3
    assert ranked.values.tolist()[2] == 2


def test_a_column_of_nothing_is_one_level():
    assert codes(pl.Series([None, None])).n == 1
    assert ranks(pl.Series([None, None], dtype=pl.Float64)).values.tolist() == [0, 0]


def test_ranks_follow_values_or_levels():
    assert ranks(pl.Series([10, 300_000, -7, 10])).values.tolist() == [1, 2, 0, 1]
    assert ranks(pl.Series([0.5, None, 0.25])).values.tolist() == [1, 2, 0]
    assert ranks(pl.Series(["b", "a", "c"], dtype=pl.Categorical)).values.tolist() == [1, 0, 2]
    assert ranks(pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"]))).values.tolist() == [0, 1]
    levels = pl.Series(["low", "mid", "high"])
    assert ranks(pl.Series(["high", "low", None, "low"]), levels).values.tolist() == [1, 0, 2, 0]
    assert ranks(pl.Series(["high", "odd", "low"]), levels).values.tolist() == [1, 2, 0]


def test_keys_beyond_64_bits_stay_apart():
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 2**40, 50) for _ in range(6)]
    coded = [Codes(values=column, n=2**40) for column in columns]
    key = combine([*coded, *coded])
    assert key.n == 50
    assert sorted(key.values.tolist()) == list(range(50))


@settings(max_examples=25)
@given(st.integers(1, 12), st.integers(0, 2**32))
def test_combined_columns_are_equal_exactly_where_rows_are(width, seed):
    matrix = np.random.default_rng(seed).integers(0, 2, (20, width)) * np.float64(1e9)
    key = combine([codes(pl.Series(matrix[:, j])) for j in range(width)])
    assert key.n == len({tuple(row) for row in matrix})
    assert len({(k, *row) for k, row in zip(key.values.tolist(), matrix.tolist(), strict=True)}) == key.n


def test_equal_rows_of_two_matrices():
    first, second, n = equal_rows(
        np.array([[0.0, 1.0], [np.nan, 2.0]]), np.array([[np.nan, 2.0], [-0.0, 1.0], [3.0, 3.0]])
    )
    assert n == 3
    assert first.tolist() == [second[1], second[0]]


def test_texts_kept_as_objects_are_counted_as_any():
    texts = ["x", None, "y", float("nan"), "x", "y", "y"]
    table = pd.DataFrame({"a": pd.Series(texts, dtype=object), "b": [1, 1, 1, 1, 1, 1, 2]})
    assert classes_of(enter(table), ["a", "b"]).row_sizes.tolist() == [2, 2, 2, 2, 2, 2, 1]
    dates = pd.DataFrame({"a": pd.Series([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 1)], dtype=object)})
    assert classes_of(enter(dates), ["a"]).row_sizes.tolist() == [2, 1, 2]


def test_no_key_is_one_class_and_no_row_is_none():
    table = enter(pl.DataFrame({"a": [1, 2]}))
    assert classes_of(table, []).sizes.tolist() == [2]
    empty = classes_of(enter(pl.DataFrame({"a": []}, schema={"a": pl.Int64})), ["a"])
    assert (empty.k, empty.n_classes) == (0, 0)


def test_errors_name_the_column_and_no_cell():
    with pytest.raises(SchemaError, match="'zip'"):
        classes_of(enter(pl.DataFrame({"a": ["SENTINEL"]})), ["zip"])
    with pytest.raises(ColumnError, match="'a'") as caught:
        classes_of(enter(pd.DataFrame({"a": ["SENTINEL", 4, object()]})), ["a"])
    assert "SENTINEL" not in str(caught.value)
