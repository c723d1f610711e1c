from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.tables import (
    both_columns,
    grid,
    is_linked,
    joint,
    quasi_columns,
    row_weights,
    sample_rows,
    shares,
    side_by_side,
)

SCHEMA = Schema.of(quasi=["a"], sensitive=["y"], weight="w")


def table(n, weight=1.0):
    return pl.DataFrame({"a": list(range(n)), "y": [0.5] * n, "w": [weight] * n})


def test_same_length_means_same_row_order():
    pair = side_by_side(table(3), table(3), SCHEMA)
    assert pair.source_rows.tolist() == [0, 1, 2]
    assert is_linked(pair)


def test_another_length_means_sources_unknown():
    pair = side_by_side(table(3), table(2), SCHEMA)
    assert pair.source_rows.tolist() == [-1, -1]
    assert not is_linked(pair)


def test_given_source_rows_are_kept():
    assert side_by_side(table(3), table(2), SCHEMA, [2, 0]).source_rows.tolist() == [2, 0]


def test_sample_takes_the_same_people_where_linked():
    pair = side_by_side(table(9), table(9).reverse(), SCHEMA, list(range(8, -1, -1)))
    original, released = sample_rows(pair, 4, stream(0, "t"))
    assert (pair.source_rows[released] == original).all()
    assert len(set(released.tolist())) == 4


def test_sensitive_columns_that_the_release_lacks_are_left_out():
    pair = side_by_side(table(3), table(3).drop("y"), SCHEMA)
    assert [column.name for column in both_columns(pair)] == ["a"]


def test_a_missing_level_is_no_number():
    schema = Schema.of(quasi=["e"], levels={"e": ["low", "high"]}, kinds={"e": "ordinal"})
    frame = pl.DataFrame({"e": ["low", None, "high"]})
    (column,) = both_columns(side_by_side(frame, frame, schema))
    assert np.isnan(column.numbers()[0]).tolist() == [False, True, False]


def test_weights_need_a_column_in_both_tables():
    pair = side_by_side(table(3), table(3).drop("w"), SCHEMA)
    with pytest.raises(SchemaError, match="weight column 'w'"):
        row_weights(pair, True, "measure")
    plain = Schema.of(quasi=["a"], sensitive=["y"], other=["w"])
    with pytest.raises(ParameterError, match="measure: weighted must be False"):
        row_weights(side_by_side(table(3), table(3), plain), True, "measure")


@pytest.mark.parametrize("weight", [-1.0, 0.0, None, float("inf")])
def test_bad_released_weights(weight):
    released = table(3).with_columns(w=pl.Series([weight] * 3, dtype=pl.Float64))
    with pytest.raises(ColumnError, match="weights, which must be"):
        row_weights(side_by_side(table(3), released, SCHEMA), True, "measure")


def test_no_quasi_identifier():
    frame = pl.DataFrame({"y": [1.0]})
    with pytest.raises(SchemaError, match="at least one quasi"):
        both_columns(side_by_side(frame, frame, Schema.of(sensitive=["y"])))


def test_coarsened_cells_are_read_by_their_own_records_or_not_at_all():
    table = pl.DataFrame({"age": [20, 22, 40, 50]})
    bands = pl.DataFrame({"age": ["20-22", "20-22", "40-50", "40-50"]})
    schema = Schema.of(quasi=["age"])
    assert side_by_side(table, bands, schema).released_codes[:, 0].tolist() == [21, 21, 45, 45]
    with pytest.raises(ColumnError, match="must hold numbers"):
        side_by_side(table, bands.head(2), schema)  # whose cells these are isn't known


def cut(original, released, bins=4, weights=None):
    names = {"x": original}, {"x": released}
    pair = side_by_side(pl.DataFrame(names[0]), pl.DataFrame(names[1]), Schema.of(quasi=["x"]))
    return grid(quasi_columns(pair), np.ones(len(original)) if weights is None else weights, bins)[0]


def test_few_values_take_the_nearest_with_ties_down():
    cells = cut([10.0, 20.0, 40.0], [15.0, 15.1, -5.0, 99.0, 30.0, 20.0])
    assert cells.original.tolist() == [0, 1, 2]
    assert cells.released.tolist() == [0, 1, 0, 2, 1, 1]
    assert not cells.binned


def test_many_values_are_cut_at_quantiles():
    cells = cut(np.arange(100.0), [0.0, 24.0, 25.0, 49.5, 1000.0])
    assert np.bincount(cells.original).tolist() == [25, 25, 25, 25]
    assert cells.released.tolist() == [0, 0, 1, 2, 3]
    assert cells.binned


def test_missing_is_a_cell_of_its_own():
    cells = cut([1.0, 2.0], [None, 1.0])
    assert cells.released.tolist() == [2, 0]
    pair_cells = cut(["a", "b"], [None, "a"])
    assert pair_cells.released.tolist() == [2, 0]


def test_a_weight_of_two_cuts_like_a_row_twice():
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=90), rng.integers(1, 4, 90)
    twice = np.repeat(values, weights)
    weighted = cut(values, values, 7, weights.astype(float))
    repeated = cut(twice, twice, 7)
    assert (np.repeat(weighted.original, weights) == repeated.original).all()


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=30))
def test_joint_numbers_combinations_one_to_one(rows):
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    schema = Schema.of(quasi=["a", "b", "c"])
    pair = side_by_side(frame, frame, schema)
    cells = joint(grid(quasi_columns(pair), np.ones(len(rows)), 4))
    assert len(set(zip(rows, cells.original.tolist(), strict=True))) == len(set(rows)) == cells.size
    assert (cells.original == cells.released).all()


def test_joint_of_very_many_columns_does_not_overflow(wide):
    table, schema = wide
    pair = side_by_side(table, table, schema)
    cells = joint(grid(quasi_columns(pair), np.ones(len(table)), 20))
    assert cells.size == len(table)


def test_shares_sum_to_one():
    assert shares(np.array([0, 0, 2]), 4, np.array([1.0, 2.0, 1.0])).tolist() == [0.75, 0.0, 0.25, 0.0]
