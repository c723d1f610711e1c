"""Metric mapping (eq 1): distances follow |U − U'|, zero stays zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.distance._kernels import joint
from shoal.distance.medoid import medoids, person_positions
from shoal.distance.space import Space, Spaces, line_pairs, map_distances, reference_quantile, table_pairs


def line(values):
    return Space(name="x", shape="line", mapping=map_distances(*line_pairs(np.asarray(values, dtype=float))))


def equal(values):
    table = 1.0 - np.eye(int(np.max(values)) + 1)
    mapping = map_distances(*table_pairs(table, np.asarray(values, dtype=np.int64)))
    return Space(name="x", shape="equal", mapping=mapping)


def tabled(table, values):
    mapping = map_distances(*table_pairs(table, np.asarray(values, dtype=np.int64)))
    return Space(name="x", shape="table", table=table, mapping=mapping)


@pytest.mark.parametrize("draw", ["normal", "lognormal", "exponential", "standard_cauchy"])
def test_mapped_distances_follow_the_reference(draw):
    rng = np.random.default_rng(1)
    x = getattr(rng, draw)(size=20_000)
    space = line(x)
    mapped = np.sort(space.mapped(x[:10_000], x[10_000:]))
    law = 1 - (1 - mapped) ** 2
    gap = np.abs(law - (np.arange(10_000) + 0.5) / 10_000).max()
    assert gap < 0.03  # Kolmogorov-Smirnov: 0.019 at one in a thousand, the rest is the 512 order statistics


def test_mapping_by_hand():
    # values 0, 0, 1, 3: distances 0 (1 pair), 1 (2), 2 (1), 3 (2)
    space = line([0, 0, 1, 3])
    middle = np.array([1 / 6 + 1 / 6, 3.5 / 6, 5 / 6])
    assert space.mapping.x.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(space.mapping.y, [0, *reference_quantile(middle)])
    np.testing.assert_allclose(reference_quantile(np.array([0.75])), 0.5)


def test_a_rare_mismatch_counts_more():
    common, rare = equal([0, 1] * 50), equal([0] * 99 + [1])
    q = 2 * 50 * 50 / (100 * 99)
    np.testing.assert_allclose(common.mapping.at(np.array(1.0)), 1 - np.sqrt(q / 2))
    assert rare.mapping.at(np.array(1.0)) > common.mapping.at(np.array(1.0))


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=40))
def test_mapping_is_monotone_and_keeps_zero(values):
    space = line(values)
    d = np.linspace(0, 50, 101)
    mapped = space.mapping.at(d)
    assert mapped[0] == 0
    assert (np.diff(mapped) >= 0).all()
    assert mapped.max() <= 1
    for r in (0.0, 0.1, 0.35, 0.9, 1.0):
        reach = space.mapping.reach(r)
        assert np.isinf(reach) or space.mapping.at(np.array(reach)) <= r + 1e-12
        assert (mapped[d > reach] > r - 1e-12).all()


def test_kernel_agrees_with_numpy():
    rng = np.random.default_rng(2)
    table = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) ** 2
    x = np.column_stack((rng.normal(size=300), rng.integers(0, 3, 300), rng.integers(0, 5, 300))).astype(float)
    spaces = Spaces(columns=(line(x[:, 0]), equal(x[:, 1]), tabled(table, x[:, 2])))
    sums = [joint(spaces.packed, x[i], x[i - 1]) for i in range(300)]
    np.testing.assert_allclose(sums, spaces.joint(x, np.roll(x, 1, axis=0)), rtol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30), st.randoms())
def test_medoid_is_the_least_sum_over_values_that_occur(pairs, random):
    labels = np.unique([g for g, _ in pairs], return_inverse=True)[1].reshape(-1)
    values = np.array([v for _, v in pairs], dtype=float)
    table = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    table[2, 3] = table[3, 2] = 9.0
    spaces = Spaces(columns=(line(values), equal(values), tabled(table, values)))
    centers = medoids(np.column_stack([values] * 3), labels, spaces)
    for g in range(labels.max() + 1):
        own = values[labels == g]
        for j, space in enumerate(spaces):
            sums = {v: float(space.distance(own, np.full(len(own), v)).sum()) for v in np.unique(values)}
            assert sums[centers[g, j]] == min(sums.values())


def test_persons_lie_at_means_and_modes():
    positions = np.array([[1.0, 2], [3.0, 2], [5.0, 0], [9.0, 1]])
    spaces = Spaces(columns=(line(positions[:, 0]), equal(positions[:, 1])))
    assert person_positions(positions, spaces, np.array([1, 1, 1, 0])).tolist() == [[9, 1], [3, 2]]
    assert person_positions(positions, spaces, np.array([3, 0, 1, 2])).tolist() == positions[[1, 2, 3, 0]].tolist()
