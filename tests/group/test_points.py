"""Points of numbers and levels are what the encoder's indicator columns are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.group.points import Points


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
