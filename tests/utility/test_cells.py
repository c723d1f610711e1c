import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.schema import Schema
from shoal.utility.cells import grid, joint, shares
from shoal.utility.tables import quasi_columns, side_by_side


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
