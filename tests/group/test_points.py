"""Points of numbers and levels are what the encoder's indicator columns are.

Sums on the grid are exact; equal rows become one point.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.group.points import Points, distinct, on_grid


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "county": [["a", "b", "c", "d", None][i] for i in rng.integers(0, 5, 300)],
            "age": rng.integers(0, 90, 300),
            "sex": rng.choice(["f", "m"], 300),
            "plan": rng.choice(["x", "y", "z"], 300),
        }
    )


@pytest.fixture
def encoded(table):
    prepared = prepare(table, shoal.Schema.of(quasi=table.columns))
    encoder = Encoder.fit(prepared, table.columns)
    codes = encoder.codes(prepared.frame)
    return Points.encoded(encoder, codes), encoder.points(codes)


def test_dense_is_what_the_encoder_makes(encoded):
    points, indicators = encoded
    assert np.array_equal(points.dense(), indicators)
    assert points.width == indicators.shape[1]


def test_rows_sort_as_their_indicators(encoded):
    points, indicators = encoded
    assert np.array_equal(np.lexsort(points.keys().T[::-1]), np.lexsort(indicators.T[::-1]))


def test_variances_are_those_of_the_indicators_together(encoded):
    points, indicators = encoded
    per_column = np.split(indicators.var(axis=0), np.cumsum([5, 1, 1]))
    assert points.variances() == pytest.approx([part.sum() for part in per_column])


def test_levels_that_do_not_occur_take_no_column():
    values = np.array([[0.0, 7.0, 3.0], [1.0, 2.0, 3.0], [2.0, 7.0, 3.0]])
    points = Points(values=values, heights=np.array([0.0, 2.0, 1.0]))
    assert points.dense().tolist() == [[0.0, 0.0, 2.0], [1.0, 2.0, 0.0], [2.0, 0.0, 2.0]]
    assert points.width == 3
    assert points.take(np.array([0, 2])).dense().tolist() == [[0.0], [2.0]]


def test_no_columns():
    assert Points.of(np.empty((4, 0))).dense().shape == (4, 0)


def test_a_level_that_all_share_is_no_coordinate():
    assert Points(values=np.ones((4, 1)), heights=np.ones(1)).dense().shape == (4, 0)


numbers = st.floats(-1e12, 1e12, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-90)


@settings(max_examples=100, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=numbers), st.randoms())
def test_sums_are_exact_in_any_order(points, random):
    points = on_grid(points)
    rows = list(range(len(points)))
    random.shuffle(rows)
    for column in points.T:
        total = 0.0
        for row in rows:
            total += column[row]
        assert Fraction(total) == sum(map(Fraction, column))


@settings(max_examples=100, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=numbers))
def test_rounding_is_small_and_done_once(points):
    rounded = on_grid(points)
    scale = np.abs(points).max(axis=0)
    assert (np.abs(rounded - points) <= scale * len(points) * 2.0**-50).all()
    assert np.array_equal(on_grid(rounded), rounded)
    assert np.array_equal(on_grid(rounded[::2]), rounded[::2])
    assert not np.signbit(rounded[rounded == 0.0]).any()


@settings(max_examples=100, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 60), st.integers(1, 5)), elements=st.integers(-1, 1).map(float)))
def test_equal_rows_become_one_point(points):
    points = points + 0.0
    copies = distinct(points)
    d = points.shape[1]
    assert len(copies.points) == len(np.unique(points, axis=0))
    assert np.array_equal(copies.points[copies.owner, :d], points)
    assert not copies.points[:, d:].any()
    assert copies.points.shape[1] % 4 == 0
    for p in range(len(copies.points)):
        rows = copies.rows[copies.starts[p] : copies.starts[p + 1]]
        assert np.array_equal(rows, np.flatnonzero(copies.owner == p))
