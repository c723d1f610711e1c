"""Mending: sizes stay, the error falls, and neighbours are neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.group.points import Points
from shoal.group.seams import mend as mend_points
from shoal.group.seams import neighbours


def squared_error(points, labels):
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return ((points - means[labels]) ** 2).sum()


def mend(points, labels, rows=1_000_000):
    return mend_points(Points.of(points), labels, lambda n_columns: rows)


@pytest.mark.parametrize("kind", ["normal", "codes", "equal"])
@pytest.mark.parametrize("sizes", [[3] * 40, [2, 7, 5] * 12, [60], [30, 31]])
@pytest.mark.parametrize("rows", [60, 1000])
def test_sizes_stay_and_the_error_does_not_rise(kind, sizes, rows):
    rng = np.random.default_rng(len(sizes))
    n = sum(sizes)
    points = {"normal": rng.standard_normal, "codes": lambda s: rng.integers(0, 3, s) * 1.0, "equal": np.ones}[kind](
        (n, 3)
    )
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    mended = mend(points, labels, rows)
    assert np.array_equal(np.bincount(mended), sizes)
    assert squared_error(points, mended) <= squared_error(points, labels) + 1e-9
    if kind == "normal" and len(sizes) > 1:
        assert squared_error(points, mended) < 0.8 * squared_error(points, labels)


def test_one_exchange_that_helps_is_made():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert mend(points, np.array([0, 1, 0, 1])).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_a_good_partition_is_left_alone():
    points = np.repeat(np.arange(20.0), 5)[:, None] + np.tile(np.linspace(0, 0.1, 5), 20)[:, None]
    labels = np.repeat(np.arange(20), 5)
    assert np.array_equal(mend(points, labels), labels)


@pytest.mark.parametrize("n_cores", [1, 3])
def test_levels_are_mended_as_their_indicators(n_cores):
    rng = np.random.default_rng(2)
    values = np.column_stack((rng.standard_normal(400), rng.integers(0, 6, 400)))
    points = Points(values=values, heights=np.array([0.0, 1.5]))
    labels = rng.permutation(np.repeat(np.arange(80), 5))
    mended = mend_points(points, labels, lambda n_columns: 100, n_cores)
    assert np.array_equal(np.bincount(mended), np.bincount(labels))
    assert squared_error(points.dense(), mended) < 0.6 * squared_error(points.dense(), labels)
    assert np.array_equal(mended, mend_points(points, labels, lambda n_columns: 100))


def test_neighbours_are_the_nearest():
    centroids = np.random.default_rng(0).standard_normal((500, 3))
    distances = ((centroids[:, None] - centroids) ** 2).sum(axis=2)
    found = neighbours(centroids, 9)
    assert np.array_equal(np.sort(found, axis=1), np.sort(np.argsort(distances, axis=1)[:, :9], axis=1))


def test_fewer_groups_than_neighbours():
    assert np.array_equal(np.sort(neighbours(np.arange(4.0)[:, None], 9), axis=1), np.tile(np.arange(4), (4, 1)))
