"""Sums on the grid are exact; equal rows become one point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.group.copies import distinct, on_grid

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
