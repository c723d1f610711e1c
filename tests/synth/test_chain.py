"""Without noise the chain reproduces what it was given; with noise it tells signal from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from shoal.synth._chain_kernels import judge, margin, rake
from shoal.synth.chain import Chain, fit_chain
from shoal.synth.parents import all_pairs
from shoal.synth.tables import NoisyTables, one_way, pair_counts, project


def tables_of(codes, sizes, variance=1.0, noise=None):
    pairs = {pair: pair_counts(codes, sizes, *pair) for pair in all_pairs(len(sizes))}
    one = one_way(codes, sizes)
    if noise is not None:
        pairs = {
            pair: np.rint(table + noise.normal(0, variance**0.5, table.shape)).astype(int)
            for pair, table in pairs.items()
        }
    return NoisyTables(one=tuple(one), one_variance=variance, pairs=pairs, pair_variance=dict.fromkeys(pairs, variance))


def correlated(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.6, (a + b) % 3, rng.integers(0, 3, n))
    d = rng.integers(0, 5, n)
    return np.asfortranarray(np.column_stack([a, b, c, d])), (4, 4, 3, 5)


def variation(X, Y, sizes):
    distances = []
    for i, j in all_pairs(len(sizes)):
        p, q = pair_counts(X, sizes, i, j) / len(X), pair_counts(Y, sizes, i, j) / len(Y)
        distances.append(np.abs(p - q).sum() / 2)
    return max(distances)


def test_pairs_are_reproduced():
    X, sizes = correlated(40_000, 1)
    rng = np.random.default_rng(2)
    chain = fit_chain(tables_of(X, sizes), [None] * 4, rng)
    assert variation(X, chain.draw(40_000, rng), sizes) < 0.02


def test_independent_columns_get_no_parents_from_noise():
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.integers(0, 4, (20_000, 4)))
    chain = fit_chain(tables_of(X, (4,) * 4, 150.0**2, rng), [None] * 4, rng)
    assert sum(len(link.parents) for link in chain.links) <= 1


def test_a_tree_has_one_parent_each():
    X, sizes = correlated(20_000, 4)
    chain = fit_chain(tables_of(X, sizes), [None] * 4, np.random.default_rng(5), most_parents=1)
    assert max(len(link.parents) for link in chain.links) == 1


def test_noise_hurts_but_less_than_unlinking():
    X, sizes = correlated(20_000, 6)
    rng = np.random.default_rng(7)
    chain = fit_chain(tables_of(X, sizes, 60.0**2, rng), [None] * 4, rng)
    apart = np.column_stack([rng.permutation(X[:, j]) for j in range(4)])
    assert variation(X, chain.draw(20_000, rng), sizes) < 0.2 * variation(X, apart, sizes)


def test_words_and_back_draw_the_same():
    X, sizes = correlated(5_000, 8)
    chain = fit_chain(tables_of(X, sizes), [None] * 4, np.random.default_rng(9))
    back = Chain.from_dict(chain.to_dict())
    one, two = (c.draw(2000, np.random.default_rng(1)) for c in (chain, back))
    assert (one != two).mean() < 0.001  # six digits


def test_repeats_with_the_generator():
    X, sizes = correlated(5_000, 8)
    drawn = [
        fit_chain(tables_of(X, sizes), [None] * 4, rng).draw(50, rng) for rng in map(np.random.default_rng, (1, 1))
    ]
    assert (drawn[0] == drawn[1]).all()


def test_missing_cells_that_are_noise_vanish():
    tables = NoisyTables(one=(np.array([500, 480, 9]), np.array([490, 500, 60])), one_variance=10.0**2)
    shares, total = tables.margins([2, 2])
    assert shares[0][2] == 0
    assert shares[1][2] > 0.04
    assert total == pytest.approx(1000, abs=60)


def test_a_missing_cell_of_noise_never_takes_all_of_a_column():
    tables = NoisyTables(one=(np.array([-90, -50, 200]),), one_variance=100.0**2)
    shares, _ = tables.margins([2])
    assert shares[0][2] == 0
    assert shares[0].sum() == pytest.approx(1)


def test_the_missing_cell_is_not_that_of_a_reason():
    """Cells: two bins, missing, a reason. A rare reason stays, whatever becomes of the missing cell."""
    tables = NoisyTables(one=(np.array([500, 480, 9, 12]), np.array([490, 400, 60, 12])), one_variance=10.0**2)
    shares, _ = tables.margins([2, 2])
    assert [share[2] > 0 for share in shares] == [False, True]
    assert min(share[3] for share in shares) > 0
    untouched, _ = tables.margins([None, None])
    assert untouched[0][2] > 0


@given(arrays(np.float64, 5, elements=st.floats(-100, 100)), st.floats(1, 200))
def test_projection_is_the_nearest_distribution(values, total):
    found = project(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    start = np.full(5, total / 5)
    best = minimize(
        lambda p: ((p - values) ** 2).sum(),
        start,
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda p: p.sum() - total},
    )
    assert ((found - values) ** 2).sum() <= ((best.x - values) ** 2).sum() + 1e-3 * (1 + abs(best.fun))


def test_raking_reaches_the_margin():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 500)
    P = np.tile([0.2, 0.3, 0.5], (500, 1))
    target = rng.random((3, 3)) + 0.1
    W = np.ones_like(target)
    rake(P, x, target, W)
    found = margin(P, x, 3)
    assert found / found.sum(axis=1, keepdims=True) == pytest.approx(target / target.sum(axis=1, keepdims=True))
    assert P.sum(axis=1) == pytest.approx(1)


def test_judge_sees_signal_and_not_noise():
    rng = np.random.default_rng(3)
    m = np.full((10, 10), 50.0)
    assert judge(rng.normal(0, 20, (10, 10)), m, 400.0)[2] < 3
    assert judge(rng.normal(0, 60, (10, 10)), m, 400.0)[2] > 50
