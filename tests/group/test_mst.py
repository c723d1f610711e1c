"""The minimum spanning tree against Kruskal's rule over all pairs, and against scipy's dense tree."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from shoal import Schema
from shoal.conform import prepare
from shoal.group import mst, prim
from shoal.group.mst import range_points, spanning_tree
from shoal.group.points import distinct
from shoal.group.spatial import index_of


def kruskal(points):
    """Edges in the order (squared length, lower row, higher row); each joins unless it closes a circle."""
    home = list(range(len(points)))
    edges = []
    pairs = itertools.combinations(range(len(points)), 2)
    for _, low, high in sorted((sum((points[i] - points[j]) ** 2), i, j) for i, j in pairs):
        if home[low] != home[high]:
            edges.append((low, high))
            home = [home[low] if h == home[high] else h for h in home]
    return sorted(edges)


def edges_of(tree):
    return list(zip(tree.low.tolist(), tree.high.tolist(), strict=True))


GRID = arrays(
    np.float64, st.tuples(st.integers(1, 24), st.integers(1, 3)), elements=st.integers(0, 4).map(lambda i: i / 4)
)


@given(GRID)
def test_the_tree_is_kruskals_also_with_ties_and_copies(points):
    tree = spanning_tree(points)
    assert edges_of(tree) == kruskal(points)
    assert np.allclose(tree.length, [np.linalg.norm(points[i] - points[j]) for i, j in edges_of(tree)])


@given(GRID)
def test_both_ways_find_the_same_tree(points):
    singles = mst._singles(distinct(points).points)
    by_index = prim.prim(index_of(singles))
    by_scan = prim.prim_by_scan(singles.points)
    assert sorted(zip(*map(np.ndarray.tolist, by_index), strict=True)) == sorted(
        zip(*map(np.ndarray.tolist, by_scan), strict=True)
    )


@pytest.mark.parametrize(("n", "d"), [(400, 1), (400, 2), (300, 12)])
@pytest.mark.parametrize("few", [0, 5000])
def test_weight_and_edges_are_scipys(monkeypatch, n, d, few):
    monkeypatch.setattr(mst, "_FEW_POINTS", few)
    monkeypatch.setattr(mst, "_MANY_COLUMNS", 100)
    points = np.random.default_rng(n + d).normal(size=(n, d))
    tree = spanning_tree(points)
    dense = minimum_spanning_tree(cdist(points, points)).tocoo()
    expected = sorted((min(i, j), max(i, j)) for i, j in zip(dense.row.tolist(), dense.col.tolist(), strict=True))
    assert edges_of(tree) == expected
    assert tree.length.sum() == pytest.approx(dense.data.sum(), rel=1e-12)


def test_copies_hang_on_the_lowest_row():
    tree = spanning_tree(np.array([[1.0], [0.0], [1.0], [0.0], [1.0]]))
    assert edges_of(tree) == [(0, 1), (0, 2), (0, 4), (1, 3)]
    assert tree.length.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert tree.n == 5


def test_columns_fill_0_to_1_and_a_mismatch_costs_1():
    table = pl.DataFrame(
        {
            "age": [20, 30, 60],
            "sex": ["f", "m", "f"],
            "town": ["a", "b", None],
            "school": ["low", "mid", "high"],
            "same": [3, 3, 3],
        }
    )
    schema = Schema.of(quasi=table.columns, kinds={"school": "ordinal"}, levels={"school": ["low", "mid", "high"]})
    points = range_points(prepare(table, schema))
    squared = cdist(points, points) ** 2
    assert squared[0, 1] == pytest.approx(0.25**2 + 1 + 1 + 0.5**2)
    assert squared[0, 2] == pytest.approx(1 + 0 + 1 + 1)
