"""Cutting rules against a literal reading: recompute everything after every cut."""

from collections import Counter
from fractions import Fraction
from math import inf, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.group.cutting import STEP, excess, share
from shoal.group.mix import Mix, jensen_shannon
from shoal.group.mst import Tree, cut_tree, spanning_tree

NEAR = 1e-11


def parts_without(component, edges, cut):
    """The two sides of an edge inside a component."""
    left, grown = {cut[0]}, True
    while grown:
        more = {b for a, b in edges if a in left} | {a for a, b in edges if b in left}
        grown = not more & component <= left
        left |= more & component
    return left, component - left


def divergence(members, classes):
    f, F = Counter(classes[v] for v in members), Counter(classes)
    total = 0.0
    for c in F:
        p, q = f[c] / len(members), F[c] / len(classes)
        total += (p * log2(2 * p / (p + q)) if p else 0.0) + q * log2(2 * q / (p + q))
    return total / 2


def ratio(part, rest, classes, length):
    """(9), with its numerator 0 exactly where both parts have one mix."""
    both = part | rest
    shares = [
        {c: Fraction(n, len(side)) for c, n in Counter(classes[v] for v in side).items()} for side in (part, rest)
    ]
    if shares[0] == shares[1]:
        return 0.0
    weighted = sum(len(side) / len(both) * divergence(side, classes) for side in (part, rest))
    return (weighted - divergence(both, classes)) / length if length else inf


def close(side, classes, t):
    f, F = Counter(classes[v] for v in side), Counter(classes)
    return sum(abs(Fraction(f[c], len(side)) - Fraction(F[c], len(classes))) for c in F) / 2 <= t


def literal(tree, classes, k, rule, t=1):
    """Groups by a literal reading of the rules."""
    edges = list(zip(tree.low.tolist(), tree.high.tolist(), strict=True))
    waiting, done = [set(range(tree.n))], set()
    while waiting:
        component = waiting.pop()
        inside = [e for e in edges if e[0] in component and e[1] in component]
        found = []
        for e in inside:
            part, rest = parts_without(component, [other for other in inside if other != e], e)
            number = edges.index(e)
            length = tree.length[number]
            if min(len(part), len(rest)) < k:
                continue
            if rule == "close" and not (close(part, classes, t) and close(rest, classes, t)):
                continue
            r = ratio(part, rest, classes, length) if rule == "divergence" else 0.0
            found.append((r, -length, number, part, rest))
        if not found:
            done.add(frozenset(component))
            continue
        least = min(found)[0]
        *_, part, rest = min((f for f in found if f[0] <= least + NEAR or f[0] == least), key=lambda f: f[1:3])
        edges_gone = {e for e in inside if (e[0] in part) != (e[1] in part)}
        edges = [e if e not in edges_gone else (-1, -1) for e in edges]
        waiting += [part, rest]
    return done


def groups_of(labels):
    return {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}


@st.composite
def trees(draw):
    """Random trees, also with lengths that tie and lengths of 0."""
    n = draw(st.integers(4, 22))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from(["random", "path", "bushy"]))
    parents = [
        rng.integers(max(0, i - 2) if shape == "path" else 0, i if shape != "bushy" else (i + 2) // 2)
        for i in range(1, n)
    ]
    names = rng.permutation(n)
    ends = np.array([sorted((names[i], names[p])) for i, p in zip(range(1, n), parents, strict=True)])
    length = rng.integers(0, 4, n - 1) / 4 if draw(st.booleans()) else rng.random(n - 1)
    codes = rng.integers(0, draw(st.integers(2, 4)), n)
    codes = np.unique(codes, return_inverse=True)[1]
    return Tree.of(ends[:, 0], ends[:, 1], length), codes, draw(st.integers(1, 5))


@given(trees(), st.sampled_from(["longest", "close", "divergence"]), st.sampled_from([0.0, 0.2, 0.25, 0.5]))
def test_groups_are_those_of_the_rule(case, rule, t):
    tree, codes, k = case
    labels = cut_tree(tree, Mix.of(codes[:, None], np.arange(len(codes))), k, rule, t=t)
    assert groups_of(labels) == literal(tree, codes.tolist(), k, rule, Fraction(t))
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))


def path(lengths):
    n = len(lengths)
    return Tree.of(np.arange(n), np.arange(1, n + 1), np.array(lengths, dtype=float))


def test_an_edge_of_length_0_goes_first_between_equal_mixes_and_last_between_others():
    mix = Mix.of(np.array([[0], [1]] * 3), np.arange(6))
    even = cut_tree(path([1, 0, 5, 0, 1]), mix, 2, "divergence")
    assert groups_of(even) == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}
    uneven = cut_tree(path([0, 0, 1, 0, 0]), Mix.of(np.array([[0]] * 3 + [[1]] * 3), np.arange(6)), 2, "divergence")
    assert groups_of(uneven) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


def test_equal_mixes_tie_exactly_and_the_longest_goes():
    """Parts that share a mix which isn't the overall one: rounding must not decide between them."""
    codes = np.array([[0], [0], [1]] * 4 + [[1]] * 9)
    labels = cut_tree(
        path([1.0] * 5 + [3.0] + [1.0] * 5 + [9.0] + [1.0] * 8), Mix.of(codes, np.arange(21)), 3, "divergence"
    )
    assert groups_of(labels) == literal(
        path([1.0] * 5 + [3.0] + [1.0] * 5 + [9.0] + [1.0] * 8), codes[:, 0].tolist(), 3, "divergence"
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_tree(seed):
    rng = np.random.default_rng(seed)
    points, codes = rng.random((120, 2)), rng.integers(0, 3, 120)
    tree = spanning_tree(points)
    labels = cut_tree(tree, Mix.of(codes[:, None], np.arange(120)), 4, "divergence")
    assert groups_of(labels) == literal(tree, codes.tolist(), 4, "divergence")


@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from(["longest", "close", "divergence"]))
def test_every_group_has_k(seed, k, rule):
    rng = np.random.default_rng(seed)
    points, codes = rng.integers(0, 5, (60, 2)) / 4, rng.integers(0, 3, (60, 2))
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes.T])
    mix = Mix.of(codes, np.arange(60))
    labels = cut_tree(spanning_tree(points), mix, k, rule, t=0.3)
    assert np.bincount(labels).min() >= k
    if rule == "close":
        for column in codes.T:
            for g in range(labels.max() + 1):
                f, F = np.bincount(column[labels == g], minlength=3), np.bincount(column, minlength=3)
                assert abs(f / f.sum() - F / F.sum()).sum() / 2 <= 0.3 + 1e-12


def test_no_removable_edge_is_left():
    rng = np.random.default_rng(1)
    points, codes = rng.random((80, 2)), rng.integers(0, 2, 80)
    tree = spanning_tree(points)
    labels = cut_tree(tree, Mix.of(codes[:, None], np.arange(80)), 5, "divergence")
    edges = list(zip(tree.low.tolist(), tree.high.tolist(), strict=True))
    for group in groups_of(labels):
        inside = [e for e in edges if set(e) <= group]
        for e in inside:
            part, rest = parts_without(set(group), [other for other in inside if other != e], e)
            assert min(len(part), len(rest)) < 5


COUNTS = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5)


@given(COUNTS, st.lists(st.integers(1, 30), min_size=3, max_size=3))
def test_lemma_1_parts_diverge_at_least_as_much_as_the_whole(parts, beyond):
    counts = np.array([part for part in parts if sum(part)])
    if len(counts):
        overall = counts.sum(axis=0) + beyond
        sizes = counts.sum(axis=1)
        weighted = sizes @ jensen_shannon(counts, overall) / sizes.sum()
        assert weighted >= jensen_shannon(counts.sum(axis=0)[None], overall)[0] - 1e-12


@given(st.lists(st.integers(0, 20), min_size=2, max_size=5), st.integers(1, 50))
def test_the_kernels_divergence_is_the_definitions(counts, scale):
    counts = np.array(counts) + np.eye(len(counts), dtype=np.int64)[0]
    overall = counts * scale + np.arange(1, len(counts) + 1)
    rows, total = int(counts.sum()), int(overall.sum())
    expected = jensen_shannon(counts[None], overall)[0]
    whole = sum(excess(int(c), rows, int(K), total) for c, K in zip(counts, overall, strict=True))
    assert whole / rows == pytest.approx(expected, abs=1e-13)
    parts = [share(int(c), rows, int(K), total) for c, K in zip(counts, overall, strict=True)]
    assert sum(parts) * STEP == pytest.approx(expected, abs=1e-13)
    assert [excess(int(c), rows, 7 * int(c), 7 * rows) for c in counts] == [0.0] * len(counts)
