"""Re-identification against double loops, exact fractions and full enumeration."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.pair import NOBODY, Pair
from shoal.risk.reidentification_attack import measure
from shoal.schema import Schema

KINDS = {"sex": "nominal", "region": "nominal"}
LEVELS = {"sex": ["f", "m"], "region": ["n", "s", "w"]}
SCHEMA = Schema.of(quasi=["age", "sex", "region"], kinds=KINDS, levels=LEVELS)
OPEN = Schema.of(quasi=["age", "sex", "region"], kinds=KINDS)
UNIT = Schema.of(quasi=["age"], unit="who")


def survey(seed, n):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 26, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["n", "s", "w"], n),
        }
    )


def oracle_ties(pair):
    """Tied nearest released rows of each original row, by a double loop."""
    originals, released = pair.original_points(), pair.released_points()
    ties = []
    for x in originals:
        distances = [float(np.sqrt(((x - y) ** 2).sum())) for y in released]
        nearest = min(distances)
        ties.append([j for j, d in enumerate(distances) if d <= nearest * (1 + 1e-9)])
    return ties


def oracle_expected(ties, source, person):
    return [Fraction(sum(person[source[j]] == person[i] for j in t), len(t)) for i, t in enumerate(ties)]


def oracle_group(ties, source, person, labels):
    groups = {g: [j for j in range(len(source)) if labels[source[j]] == g] for g in set(labels) if g >= 0}
    risks = []
    for i, t in enumerate(ties):
        total = Fraction(0)
        for rows in groups.values():
            own = sum(person[source[j]] == person[i] for j in rows)
            total += Fraction(sum(j in rows for j in t), len(t)) * Fraction(own, len(rows))
        risks.append(total)
    return risks


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25))
def test_expected_is_the_double_loops(seed, n):
    table, masked = survey(seed, n), survey(seed, n).sample(n, shuffle=True, seed=seed % 1000)
    masked = masked.with_columns(pl.col("age") + seed % 2)
    order = np.random.default_rng(seed).permutation(n)
    pair = Pair.of(table, masked[order.tolist()], SCHEMA, order)
    found = risk.reidentification(table, masked[order.tolist()], SCHEMA, order)
    expected = oracle_expected(oracle_ties(pair), order, list(range(n)))
    assert found.records.tolist() == [float(x) for x in expected]
    assert found.expected == pytest.approx(float(sum(expected) / n))
    assert found.largest == float(max(expected))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_original_itself_has_one_over_class_size(seed, n):
    table = survey(seed, n)
    found = risk.reidentification(table, table, SCHEMA)
    sizes = table.select(pl.len().over("age", "sex", "region")).to_series().to_list()
    assert found.records.tolist() == [1 / size for size in sizes]
    assert found.class_sizes.sum() == n
    assert found.class_expected == pytest.approx(1 / found.class_sizes)
    assert found.largest == 1 / min(sizes)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25))
def test_order_of_released_rows_and_constant_columns_change_nothing(seed, n):
    table, masked = survey(seed, n), survey(seed + 1, n)
    order = np.random.default_rng(seed).permutation(n)
    labels = np.arange(n) // 2
    plain = risk.reidentification(table, masked, SCHEMA, labels=labels)
    moved = risk.reidentification(table, masked[order.tolist()], SCHEMA, order, labels=labels)
    assert moved.records.tolist() == plain.records.tolist()
    assert moved.by_group.records.tolist() == plain.by_group.records.tolist()
    wider = Schema.of(quasi=["age", "sex", "region", "year"], kinds=KINDS, levels=LEVELS)
    with_year = [part.with_columns(year=pl.lit(2020)) for part in (table, masked)]
    assert risk.reidentification(*with_year, wider).records.tolist() == plain.records.tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 4))
def test_group_formula_is_exact_and_never_above_its_bound(seed, n, k):
    table, masked = survey(seed, n), survey(seed + 1, n)
    labels = np.random.default_rng(seed).permutation(np.minimum(np.arange(n) // k, max(0, n // k - 1))) * 7
    found = risk.reidentification(table, masked, SCHEMA, labels=labels).by_group
    exact = oracle_group(oracle_ties(Pair.of(table, masked, SCHEMA)), range(n), list(range(n)), labels.tolist())
    sizes = np.array([(labels == label).sum() for label in labels])
    assert found.records.tolist() == [float(x) for x in exact]
    assert (found.records <= 1 / sizes).all()
    assert all(x * int(size) <= 1 for x, size in zip(exact, sizes, strict=True))
    assert found.largest_landing_share == float(max(x * int(size) for x, size in zip(exact, sizes, strict=True)))
    assert found.bound == 1 / sizes.min()
    assert found.n_groups == len(set(labels.tolist()))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 14))
def test_units_match_by_person(seed, n):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame({"age": rng.integers(0, 5, n), "who": rng.integers(0, 4, n).astype(str)})
    masked = pl.DataFrame({"age": rng.integers(0, 5, n)})
    order, labels = rng.permutation(n), rng.integers(0, 3, n)
    pair = Pair.of(table, masked, UNIT, order)
    found = risk.reidentification(table, masked, UNIT, order, labels=labels)
    person, ties = table["who"].to_list(), oracle_ties(pair)
    exact = oracle_group(ties, order, person, labels.tolist())
    assert found.records.tolist() == [float(x) for x in oracle_expected(ties, order, person)]
    assert found.by_group.records == pytest.approx([float(x) for x in exact], abs=1e-15)
    bounds = {
        u: max(
            Fraction(sum(person[i] == u and labels[i] == g for i in range(n)), int((labels == g).sum()))
            for g in set(labels.tolist())
        )
        for u in set(person)
    }
    assert all(x <= bounds[u] for x, u in zip(exact, person, strict=True))
    assert found.by_group.bound == float(max(bounds.values()))
    assert all(found.by_group.records[i] <= float(bounds[person[i]]) for i in range(n)), (
        "rounding must not lift a risk above its bound"
    )
    assert found.by_group.largest_landing_share <= 1


@pytest.mark.parametrize("seed", range(6))
def test_group_formula_is_the_mean_over_all_exchanges_within_groups(seed):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    table = pl.DataFrame({"age": rng.integers(0, 4, 7), "who": [str(x) for x in rng.integers(0, 4, 7)]})
    masked = pl.DataFrame({"age": rng.integers(0, 4, 7)})
    schema = UNIT if seed % 2 else Schema.of(quasi=["age"], other=["who"])
    pair, total, rounds = Pair.of(table, masked, schema), np.zeros(7), 0
    for first in itertools.permutations(range(3)):
        for second in itertools.permutations(range(3, 7)):
            total += measure(replace(pair, source_rows=np.array([*first, *second])), trials=1).records
            rounds += 1
    found = risk.reidentification(table, masked, schema, labels=labels).by_group
    assert found.records == pytest.approx(total / rounds, abs=1e-12)


def test_simulation_covers_the_expectation_at_its_level():
    # 95 % intervals (Wilson's, on the safe side): more than 12 misses in 100 have a chance below 0.002.
    table = survey(3, 60)
    masked = survey(4, 60)
    expected = float(risk.reidentification(table, masked, SCHEMA))
    misses = 0
    pair = Pair.of(table, masked, SCHEMA)
    for seed in range(100):
        found = measure(pair, trials=20, seed=seed)
        misses += not found.interval[0] <= expected <= found.interval[1]
        assert found.interval[0] <= found.simulated <= found.interval[1]
    assert misses <= 12


def test_simulation_repeats_with_a_seed_and_approaches_each_class():
    table, masked = survey(3, 60), survey(4, 60)
    one, two = (risk.reidentification(table, masked, SCHEMA, seed=5) for _ in range(2))
    assert one.simulated == two.simulated
    many = risk.reidentification(table, masked, SCHEMA, trials=100_000, seed=1)
    assert many.class_simulated == pytest.approx(many.class_expected, abs=0.01)


def test_independent_noise_is_matched_by_chance():
    rng = np.random.default_rng(0)
    table, masked = (pl.DataFrame({c: rng.normal(size=2000) for c in "xyz"}) for _ in range(2))
    found = risk.reidentification(table, masked, Schema.of(quasi=["x", "y", "z"]), labels=np.arange(2000) // 5)
    assert found.expected <= 6 / 2000  # Poisson with mean about 1: more than 6 hits have a chance of 8e-5
    assert found.by_group.mean <= 3 / 2000
    assert found.by_group.bound == 0.2


def test_rows_left_out_are_never_hit():
    table = pl.DataFrame({"age": [20, 30, None, 40]})
    schema = Schema.of(quasi=["age"], missing={"age": "drop"})
    found = risk.reidentification(table, table[[3, 1]], schema, [3, 1], labels=[0, 0, -1, 0])
    assert found.records.tolist() == [0.0, 1.0, 1.0]
    # Of the group of three only two rows were released.
    assert found.by_group.records.tolist() == [0.0, 0.5, 0.5]


def test_a_blanked_number_counts_as_the_mean():
    table = pl.DataFrame({"age": [10.0, 20.0, 30.0]})
    masked = pl.DataFrame({"age": [10.0, None, 30.0]})
    assert risk.reidentification(table, masked, Schema.of(quasi=["age"])).expected == 1.0


def test_one_row_and_one_point():
    one = pl.DataFrame({"age": [3]})
    assert float(risk.reidentification(one, one, Schema.of(quasi=["age"]), labels=[0])) == 1.0
    same = pl.DataFrame({"age": [3] * 8})
    assert float(risk.reidentification(same, same, Schema.of(quasi=["age"]))) == pytest.approx(1 / 8)


def test_no_group_at_all():
    table = survey(0, 5)
    found = risk.reidentification(table, table, SCHEMA, labels=np.full(5, -1)).by_group
    assert (found.mean, found.bound, found.n_groups) == (0.0, 0.0, 0)


def test_words_hold_no_record():
    words = risk.reidentification(survey(0, 9), survey(1, 9), SCHEMA, labels=np.arange(9) // 3).to_dict()
    json.dumps(words, allow_nan=False)
    assert not risk.Reidentification.releasable
    assert not any(isinstance(value, np.ndarray) for value in words.values())


def test_bad_input_is_refused_without_a_cell():
    table = pl.DataFrame({"age": [1, 2], "sex": ["SENTINEL", "m"], "region": ["a", "b"]})
    calls = [
        (InputError, lambda: risk.reidentification(table, table, OPEN, [0])),
        (InputError, lambda: risk.reidentification(table, table, OPEN, [0, 2])),
        (InputError, lambda: risk.reidentification(table, table, OPEN, [-1, 0])),
        (InputError, lambda: risk.reidentification(table, table[:1], OPEN)),
        (InputError, lambda: risk.reidentification(table, table, OPEN, labels=[0])),
        (InputError, lambda: risk.reidentification(table, table, OPEN, labels=[0.5, 1.0])),
        (ParameterError, lambda: risk.reidentification(table, table, OPEN, trials=0)),
        (ParameterError, lambda: risk.reidentification(table, table, OPEN, trials=True)),
        (SchemaError, lambda: risk.reidentification(table, table.drop("sex"), OPEN)),
    ]
    for kind, call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert "SENTINEL" not in str(caught.value)


@pytest.mark.parametrize(
    ("largest", "landing", "holds"), [(0.25, 1.0, True), (0.2501, 1.0, False), (0.25, 1.0001, False)]
)
def test_the_bound_holds_only_without_tolerance(largest, landing, holds):
    from shoal.risk.reidentification_attack import GroupRisk

    sample = {"interval": (0.0, 1.0), "n_targets": 1, "sampled": False}
    words = {"mean": 0.1, "bound": 0.25, "n_groups": 2, "records": np.array([largest]), **sample}
    assert GroupRisk(largest=largest, largest_landing_share=landing, **words).holds == holds


def test_rows_that_are_nobodys_are_not_measured_as_0():
    table = pl.DataFrame({"age": [30, 35, 41, 57]})
    pair = Pair.of(table, table, Schema.of(quasi=["age"]), np.full(4, NOBODY))
    words = measure(pair).to_dict()
    assert [words[name] for name in ("expected", "simulated", "interval", "largest")] == [None] * 4
