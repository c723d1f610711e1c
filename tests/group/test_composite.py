"""CREST's tree against Definition 3 done literally: every candidate edge looked at afresh in every step."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.group import crest
from shoal.group.crest import composite_tree
from shoal.group.mix import Mix
from shoal.group.mst import spanning_tree

NEAR = 1e-12  # composite distances that differ by less are equal


def jsd(records, codes):
    """Mean over class columns of the divergence between some records and all."""
    return sum(jsd_of([row[j] for row in records], [row[j] for row in codes]) for j in range(len(codes[0]))) / len(
        codes[0]
    )


def jsd_of(some, everything):
    total = 0.0
    for c in set(everything):
        f, F = some.count(c) / len(some), everything.count(c) / len(everything)
        M = (f + F) / 2
        total += (f * log2(f / M) if f else 0.0) + F * log2(F / M)
    return total / 2


def squared(points, a, b):
    return sum((points[a] - points[b]) ** 2)


def around(points, neighbours, u, count):
    """The first vertices met breadth-first from u; equal hops: nearer first, then lower row."""
    seen, level, found = {u}, [u], []
    while level and len(found) < count:
        level = [y for x in level for y in neighbours[x] if y not in seen]
        seen.update(level)
        found += sorted(level, key=lambda y: (squared(points, u, y), y))
    return found[:count]


def definition_3(points, codes, rows_of, alpha, b):
    """Prim's rule with (6), start at the vertex nearest the mean; codes[i] belongs to vertex rows_of[i]."""
    n = len(points)
    classes = [[code for code, owner in zip(codes, rows_of, strict=True) if owner == v] for v in range(n)]
    mean = points.mean(axis=0)
    start = min(range(n), key=lambda v: (((points[v] - mean) ** 2).sum(), v))
    neighbours, edges = {start: []}, []
    while len(neighbours) < n:
        keys = []
        for u in neighbours:
            hood = [u, *around(points, neighbours, u, b - 2)]
            for v in set(range(n)) - set(neighbours):
                together = [code for w in (*hood, v) for code in classes[w]]
                cd = alpha * np.sqrt(squared(points, u, v)) + (1 - alpha) * jsd(together, codes)
                keys.append((cd, squared(points, u, v), min(u, v), max(u, v), u, v))
        least = min(keys)[0]
        *_, u, v = min(key[1:] for key in keys if key[0] <= least + NEAR)
        neighbours[u].append(v)
        neighbours[v] = [u]
        edges.append((min(u, v), max(u, v)))
    return sorted(edges)


def edges_of(tree):
    return list(zip(tree.low.tolist(), tree.high.tolist(), strict=True))


@st.composite
def cases(draw):
    n, d, m = draw(st.integers(2, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    grid = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = rng.integers(0, 4, (n, d)) / 8 if grid else rng.random((n, d)) / d
    codes = rng.integers(0, draw(st.integers(2, 4)), (n, m))
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes.T])
    return points, codes, draw(st.sampled_from([0.0, 0.3, 0.5, 0.9])), draw(st.integers(2, 7))


@given(cases())
def test_the_tree_is_that_of_definition_3(case):
    points, codes, alpha, b = case
    tree = composite_tree(points, Mix.of(codes, np.arange(len(points))), alpha, b)
    assert edges_of(tree) == definition_3(points, codes.tolist(), list(range(len(points))), alpha, b)


@pytest.mark.parametrize("seed", range(4))
def test_a_larger_tree_with_hubs(seed):
    rng = np.random.default_rng(seed)
    points, codes = rng.random((45, 2)) / 20, rng.integers(0, 3, (45, 1))
    tree = composite_tree(points, Mix.of(codes, np.arange(45)), 0.5, 6)
    assert edges_of(tree) == definition_3(points, codes.tolist(), list(range(45)), 0.5, 6)


@pytest.mark.parametrize("seed", range(3))
def test_persons_bring_the_classes_of_all_their_rows(seed):
    rng = np.random.default_rng(seed)
    units = np.concatenate((np.arange(12), rng.integers(0, 12, 9)))
    codes = rng.integers(0, 3, (21, 1))
    points = rng.random((12, 2))
    tree = composite_tree(points, Mix.of(codes, units), 0.5, 4)
    assert edges_of(tree) == definition_3(points, codes.tolist(), units.tolist(), 0.5, 4)


@given(cases())
def test_weight_1_is_the_plain_tree(case):
    points, codes, _, b = case
    tree = composite_tree(points, Mix.of(codes, np.arange(len(points))), 1.0, b)
    assert tree.length.sum() == pytest.approx(spanning_tree(points).length.sum())


def test_keys_computed_once_give_another_tree():
    """The point of the full refresh: neighbourhoods of old candidates change."""
    rng = np.random.default_rng(0)
    points, codes = rng.random((30, 2)) / 10, rng.integers(0, 2, (30, 1))
    fresh = edges_of(composite_tree(points, Mix.of(codes, np.arange(30)), 0.5, 5))
    assert fresh != once(points, codes.tolist(), 0.5, 5)


def once(points, codes, alpha, b):
    n = len(points)
    start = int(np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1)))
    neighbours, keys, edges, new = {start: []}, {}, [], start
    while len(neighbours) < n:
        hood = [new, *around(points, neighbours, new, b - 2)]
        for v in set(range(n)) - set(neighbours):
            together = [codes[w] for w in (*hood, v)]
            keys[new, v] = alpha * np.sqrt(squared(points, new, v)) + (1 - alpha) * jsd(together, codes)
        u, v = min((pair for pair in keys if pair[1] not in neighbours), key=keys.get)
        neighbours[u].append(v)
        neighbours[v] = [u]
        edges.append((min(u, v), max(u, v)))
        new = v
    return sorted(edges)


def test_the_module_says_where_it_starts():
    assert "nearest the mean" in crest.__doc__
