"""Class disclosure by counting, against hand-made numbers and a plain loop."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema
from shoal.errors import InputError, SchemaError
from shoal.group.mix import jensen_shannon
from shoal.risk.class_disclosure import class_mix

SCHEMA = Schema.of(quasi=["x"], sensitive=["ill"])


def table_of(classes):
    return pl.DataFrame({"x": list(range(len(classes))), "ill": classes})


def test_figure_1_and_figure_2():
    table = table_of(["pos"] * 3 + ["neg"] * 6)
    homogeneous = class_mix(table, SCHEMA, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert np.round(homogeneous.divergence, 3).tolist() == [0.459, 0.191, 0.191]
    assert round(homogeneous.mean_divergence, 3) == 0.280
    assert round(homogeneous.largest_divergence, 3) == 0.459
    assert homogeneous.chi_square == pytest.approx((6 + 1.5 + 1.5) / 3)
    assert (homogeneous.homogeneous_groups, homogeneous.homogeneous_share) == (3, 1.0)
    mixed = class_mix(table, SCHEMA, [0, 1, 2, 0, 0, 1, 1, 2, 2])
    assert (mixed.chi_square, mixed.random_chi_square, mixed.mean_divergence) == (0.0, 1.0, 0.0)
    assert (mixed.homogeneous_groups, mixed.lone_groups) == (0, 3)
    assert mixed.lone_share == pytest.approx(3 / 9)


@given(st.integers(0, 2**32))
def test_against_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    classes, labels = rng.integers(0, 4, n), rng.integers(0, 5, n) * 3
    result = class_mix(table_of(classes.astype(str)), SCHEMA, labels)
    chi, alone = [], 0
    for g in sorted(set(labels)):
        inside = classes[labels == g]
        expected = {c: len(inside) * np.mean(classes == c) for c in set(classes)}
        chi.append(sum(((inside == c).sum() - e) ** 2 / e for c, e in expected.items()))
        alone += sum((inside == c).sum() == 1 for c in set(classes))
    assert result.chi_square == pytest.approx(np.mean(chi))
    assert result.n_groups == len(chi)
    assert result.random_chi_square == len(set(classes)) - 1
    assert result.lone_share == pytest.approx(alone / n)
    assert 0 <= result.mean_divergence <= result.largest_divergence <= 1


def test_random_groups_have_about_c_minus_1():
    rng = np.random.default_rng(1)
    classes = rng.choice(["a", "b", "c"], 6000, p=[0.6, 0.3, 0.1])
    labels = np.repeat(np.arange(1000), 6)
    found = class_mix(table_of(classes), SCHEMA, labels)
    spread = np.std([_chi(classes[labels == g], classes) for g in range(1000)]) / np.sqrt(1000)
    assert abs(found.chi_square - 2 * (6000 - 6) / (6000 - 1)) < 4 * spread
    assert found.random_chi_square == 2.0


def _chi(inside, classes):
    return sum(
        ((inside == c).sum() - len(inside) * np.mean(classes == c)) ** 2 / (len(inside) * np.mean(classes == c))
        for c in "abc"
    )


def test_several_columns_together_or_one():
    table = table_of(["y", "n"] * 4).with_columns(smoker=pl.Series(["y", "y", "n", "n"] * 2), cost=pl.lit(1.0))
    schema = Schema.of(quasi=["x"], sensitive=["ill", "smoker", "cost"])
    labels = [0] * 4 + [1] * 4
    both = class_mix(table, schema, labels)
    assert (both.columns, both.n_classes, both.lone_groups) == (("ill", "smoker"), 4, 2)
    assert class_mix(table, schema, labels, column="ill").n_classes == 2
    with pytest.raises(SchemaError, match="'cost' must be a nominal or ordinal sensitive column"):
        class_mix(table, schema, labels, column="cost")


def test_rows_that_were_left_out_do_not_count():
    table = table_of(["y", "n", "y", "n", None])
    result = class_mix(table, SCHEMA, [0, 0, 1, 1, -1])
    assert (result.n_classes, result.chi_square) == (2, 0.0)
    with_missing = class_mix(table, SCHEMA, [0, 0, 1, 1, 1])
    assert with_missing.n_classes == 3


def test_to_dict_is_a_summary():
    words = class_mix(table_of(["y", "n"] * 3), SCHEMA, [0, 0, 0, 1, 1, 1]).to_dict()
    assert "divergence" not in words
    assert words["columns"] == ["ill"]
    assert all(isinstance(value, int | float | list) for value in words.values())


@pytest.mark.parametrize("labels", [[0, 1], [[0, 1, 0, 1]], [0.5] * 4, [-1] * 4])
def test_unusable_labels(labels):
    with pytest.raises(InputError, match="labels"):
        class_mix(table_of(["y", "n"] * 2), SCHEMA, labels)


def test_no_class_column():
    schema = Schema.of(quasi=["x"], other=["ill"])
    with pytest.raises(SchemaError, match="nominal or ordinal"):
        class_mix(table_of(["y", "n"]), schema, [0, 0])


def test_one_class_only_is_a_plain_zero():
    result = class_mix(table_of(["y"] * 4), SCHEMA, [0, 0, 1, 1])
    assert (result.chi_square, result.random_chi_square, result.homogeneous_groups) == (0.0, 0.0, 2)


def test_divergence_of_disjoint_mixes_is_near_1_bit():
    assert jensen_shannon(np.array([[1, 0]]), np.array([1, 10**9]))[0] == pytest.approx(1.0, abs=1e-6)


def test_many_classes_take_memory_by_pairs_that_occur():
    """Ten thousand groups of a hundred thousand classes: a dense table would take gigabytes."""
    n = 100_000
    table = pl.DataFrame({"q": range(n), "y": range(n)})
    schema = Schema.of(quasi=["q"], sensitive=["y"], kinds={"y": "nominal"})
    mix = class_mix(table, schema, np.arange(n) // 10)
    assert mix.n_classes == n
    assert mix.homogeneous_groups == 0
    assert mix.chi_square == pytest.approx(n - 10)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=6), st.integers(1, 3))
def test_what_random_groups_would_show_by_all_orders(classes, first):
    """Groups of `first` records and of the rest, over every order of the classes."""
    n, alike, alone, orders = len(classes), 0.0, 0.0, 0
    for order in permutations(classes):
        for group in (order[:first], order[first:]):
            alike += len(group) * (len(set(group)) == 1)
            alone += sum(group.count(one) == 1 for one in group)
        orders += n
    found = class_mix(table_of([str(c) for c in classes]), SCHEMA, [0] * first + [1] * (n - first))
    assert found.n_records == n
    assert found.random_homogeneous_share == pytest.approx(alike / orders)
    assert found.random_lone_share == pytest.approx(alone / orders)
