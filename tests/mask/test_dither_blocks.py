"""The dither in blocks: a partition into neighbours, the published result in one block, every promise in many.

k-d blocks: a partition, of the wanted sizes, with neighbours together.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal import GaussianDither, KMember, Schema, anonymize, risk
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import ParameterError
from shoal.mask import mixture as kernels
from shoal.mask.dither import kd_blocks, neighbourhoods, usual_most
from shoal.mask.mask import ValueSets
from shoal.mask.mixture import Mixture, components, draw, forward, merge
from shoal.mask.rosenblatt import dimension_order, inverse
from shoal.rng import stream


def mixture_of(c, d, rng):
    factor = np.tril(rng.uniform(-0.2, 0.2, (c, d, d))) + 0.6 * np.eye(d)
    return Mixture(share=rng.dirichlet(np.ones(c)), centroid=rng.integers(-3, 4, (c, d)) / 2.0, factor=factor)


def sets_of(columns, k=5, weights=None):
    """Value sets of consecutive rows, as a grouper would hand them over."""
    table = pl.DataFrame(columns)
    prepared = prepare(table, Schema.of(quasi=list(columns)))
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    labels = np.minimum(np.arange(len(table)) // k, max(1, len(table) // k) - 1)
    return ValueSets.of(encoder.codes(table), labels, encoder, weights)


def correlated(n=600, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.7, 0.5], [0.0, 0.7, 0.3], [0.0, 0.0, 0.8]])
    z = z[np.argsort(z[:, 0])]
    return {"a": np.round(z[:, 0]), "b": np.round(4 * z[:, 1]), "c": z[:, 2]}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 80), st.integers(1, 4), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_blocks_are_a_partition_of_rows_and_components(c, d, most, seed):
    rng = np.random.default_rng(seed)
    whole, home = mixture_of(c, d, rng), rng.integers(0, c, 200)
    blocks = list(neighbourhoods(whole, home, most))
    assert sorted(np.concatenate([block.rows for block in blocks]).tolist()) == list(range(200))
    sizes = [len(block.mixture.share) for block in blocks]
    assert sum(sizes) == c
    assert len(blocks) == -(-c // most)
    assert min(c, most) // 2 <= min(sizes) <= max(sizes) <= most
    for block in blocks:
        assert_array_equal(block.mixture.centroid[block.home], whole.centroid[home[block.rows]])
        assert_array_equal(block.mixture.factor[block.home], whole.factor[home[block.rows]])
        assert_allclose(block.mixture.share.sum(), 1.0)


def test_no_block_is_larger_than_asked():
    rng = np.random.default_rng(2)
    for c, most in ((2501, 2500), (5001, 2500), (9973, 700), (64, 1)):
        whole = mixture_of(c, 2, rng)
        sizes = [len(block.mixture.share) for block in neighbourhoods(whole, np.arange(c), most)]
        assert max(sizes) <= most
        assert min(sizes) >= most // 2


def test_small_tables_are_one_block_and_large_ones_have_blocks_of_a_fixed_size():
    assert usual_most(30_000, 8) > 30_000 // 5  # the published transform, as long as it takes seconds
    assert usual_most(100_000, 8) == usual_most(1_000_000, 8) == usual_most(10**9, 50) == 2500
    assert usual_most(0, 0) >= 1
    rng = np.random.default_rng(3)
    whole, home = mixture_of(40, 2, rng), rng.integers(0, 40, 100)
    (block,) = neighbourhoods(whole, home, None)
    assert block.mixture is whole
    assert_array_equal(block.rows, np.arange(100))


def test_one_block_is_the_published_transform():
    sets = sets_of(correlated())
    order = dimension_order(sets.values)
    mixture, component = merge(components(np.ascontiguousarray(sets.standardised()[:, order]), sets.offsets, 1 / 3))
    home = component[sets.groups]
    u = forward(draw(mixture, home, stream(7, "x")), mixture, home)
    expected = np.empty_like(sets.values)
    expected[:, order] = inverse(u, np.ascontiguousarray(sets.values[:, order]))
    for mask in (GaussianDither(), GaussianDither(block_groups=10**6)):
        assert_array_equal(mask.draw(sets, stream(7, "x")), expected)


def test_each_block_is_transformed_as_if_it_were_alone():
    """Same draws, same groups: what a block writes is what a table of that block alone would write."""
    sets = sets_of(correlated())
    order = dimension_order(sets.values)
    standard, target = sets.standardised()[:, order], sets.values[:, order]
    mixture, component = merge(components(np.ascontiguousarray(standard), sets.offsets, 1 / 3))
    home = component[sets.groups]
    x = draw(mixture, home, stream(7, "x"))
    written = GaussianDither(block_groups=25).draw(sets, stream(7, "x"))[:, order]
    for block in neighbourhoods(mixture, home, 25):
        groups = np.unique(sets.groups[block.rows])
        rows = np.concatenate([np.arange(sets.offsets[g], sets.offsets[g + 1]) for g in groups])
        assert_array_equal(np.sort(block.rows), rows)
        offsets = np.concatenate([[0], np.cumsum(sets.sizes[groups])])
        alone = forward(x[rows], components(standard[rows], offsets, 1 / 3))
        assert_array_equal(inverse(alone, target[rows]), written[rows])


@pytest.mark.parametrize("most", [None, 40, 7, 1])
def test_ranks_keep_the_joint_exactly_in_any_number_of_blocks(most):
    sets = sets_of(correlated())
    written = GaussianDither(exact=True, block_groups=most).draw(sets, stream(1, "x"))
    assert sorted(map(tuple, written)) == sorted(map(tuple, sets.values))


def test_weights_reach_their_own_rows():
    """A row of no weight is never written; one that outweighs its block is written nearly always."""
    columns = correlated()
    weights = np.ones(600)
    weights[::2] = 0.0
    sets = sets_of(columns, weights=weights)
    written = GaussianDither(weighted=True, block_groups=20).draw(sets, stream(1, "x"))
    heavy = {tuple(row) for row, weight in zip(sets.values, sets.weights, strict=True) if weight > 0}
    assert {tuple(row) for row in written} <= heavy


def test_smooth_values_stay_inside_the_range_of_the_table():
    sets = sets_of(correlated())
    written = GaussianDither(inverse="smooth", block_groups=40).draw(sets, stream(1, "x"))
    assert (written >= sets.values.min(axis=0)).all()
    assert (written <= sets.values.max(axis=0)).all()
    assert not set(written[:, 2]) <= set(sets.values[:, 2])


def test_the_number_of_threads_changes_nothing(monkeypatch):
    sets = sets_of(correlated(3000))
    monkeypatch.setattr(kernels, "_cores", lambda: 1)
    one = GaussianDither(block_groups=100).draw(sets, stream(1, "x"))
    monkeypatch.setattr(kernels, "_cores", lambda: 5)
    assert_array_equal(GaussianDither(block_groups=100).draw(sets, stream(1, "x")), one)


def test_the_bound_holds_for_every_record_in_small_blocks():
    table = pl.DataFrame({**correlated(1000), "y": np.arange(1000) % 300})
    schema = Schema.of(quasi=["a", "b", "c"], sensitive=["y"])
    release = anonymize(table, schema, group=KMember(k=5), mask=GaussianDither(block_groups=10), seed=3)
    found = risk.reidentification(
        table, release.table, schema, source_rows=release.source_rows, labels=release.labels, trials=1
    )
    assert found.by_group.holds
    assert found.by_group.largest <= 1 / 5


EXTREMES = {
    "one group": {"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 5.0]},
    "equal rows": {"a": [2.0] * 40, "b": [7.0] * 40},
    "a constant column": {"a": [3.0] * 40, "b": list(range(40))},
    "huge scale": {"a": [1e98 * i for i in range(40)], "b": [1e-98 * (i % 7) for i in range(40)]},
    "heavy tails": {"a": np.random.default_rng(4).standard_cauchy(200) ** 3, "b": np.arange(200) % 11},
    "one row far away": {"a": [0.0] * 39 + [1e12], "b": list(range(40))},
}


@pytest.mark.parametrize("columns", EXTREMES.values(), ids=list(EXTREMES))
@pytest.mark.parametrize("alpha", [1 / 3, 1e-12])
@pytest.mark.parametrize("most", [None, 3])
def test_extremes_give_observed_rows(columns, alpha, most):
    sets = sets_of({name: np.asarray(values, dtype=float) for name, values in columns.items()})
    written = GaussianDither(alpha=alpha, block_groups=most).draw(sets, stream(1, "x"))
    assert {tuple(row) for row in written} <= {tuple(row) for row in sets.values}


@pytest.mark.parametrize("wrong", [0, -5, 2.5])
def test_a_block_needs_a_whole_number_of_groups(wrong):
    table = pl.DataFrame({"a": range(20)})
    with pytest.raises(ParameterError, match="block_groups must"):
        anonymize(table, Schema.of(quasi=["a"]), mask=GaussianDither(block_groups=wrong), seed=1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 300), st.integers(1, 4), st.integers(1, 9), st.integers(1, 20), st.integers(1, 4), st.integers(0, 99)
)
def test_blocks_are_a_partition_into_multiples_of_k(n, d, k, n_blocks, levels, seed):
    k = min(k, n)
    n_blocks = min(n_blocks, n // k)
    points = np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)
    rows = kd_blocks(points, k, n_blocks)
    assert len(rows) == n_blocks
    assert sorted(np.concatenate(rows).tolist()) == list(range(n))
    assert all((np.diff(block) > 0).all() for block in rows)
    assert all(len(block) >= k for block in rows)
    assert sum(len(block) % k for block in rows) == n % k
    assert max(map(len, rows)) - min(map(len, rows)) <= 3 * k


def test_equal_rows_stay_together():
    points = np.random.default_rng(0).integers(0, 3, (3000, 3)).astype(float)
    halves = kd_blocks(points, 1, 2)
    split = set(map(tuple, points[halves[0]])) & set(map(tuple, points[halves[1]]))
    assert len(split) <= 1


def test_refuses_blocks_smaller_than_k():
    with pytest.raises(ParameterError, match="at least k rows; got 3 blocks"):
        kd_blocks(np.zeros((10, 2)), 5, 3)
