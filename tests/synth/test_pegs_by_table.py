"""What is bought, at which price, and how two measurements become one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.dp import Budget
from shoal.synth import PeGS
from shoal.synth.chain import unexplained
from shoal.synth.counts import RowCounts
from shoal.synth.domain import encode_table
from shoal.synth.parents import Parents, all_pairs, choose_pairs
from shoal.synth.pegs_by_table import measure
from shoal.synth.spend import Purse, by_gain, total_budget
from shoal.synth.tables import NoisyTables, mean_of_two

NAMES = ["a", "b", "c", "d"]
SIZES = (3, 4, 2, 5)
SCHEMA = Schema.of(quasi=NAMES, levels={name: range(size) for name, size in zip(NAMES, SIZES, strict=True)})


def tied(n, seed=1):
    """Four columns of which a and b are tied, the others free."""
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 4, n)
    a = np.where(rng.random(n) < 0.8, np.minimum(b, 2), rng.integers(0, 3, n))
    return np.column_stack([a, b, rng.integers(0, 2, n), rng.integers(0, 5, n)])


def free(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, n) for size in SIZES])


def measured(rows, epsilon=1.0, delta=1e-9, **options):
    pegs = PeGS(epsilon=epsilon, delta=delta, missing="refuse", design="pairs", **options)
    data = pl.DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)})
    encoded = encode_table(data, SCHEMA, bins=2, missing="refuse", public=True, owner="test")
    purse = Purse(left=total_budget(epsilon, delta))
    found, _ = measure(pegs, encoded, Parents.of(pegs, encoded.domain), purse, np.random.default_rng(1))
    return found, purse


@pytest.mark.parametrize("make", [tied, free])
@pytest.mark.parametrize("delta", [None, 1e-9])
def test_each_look_has_a_price_that_no_data_change(make, delta):
    _, purse = measured(make(20_000), delta=delta)
    total = total_budget(1.0, delta)
    assert purse.spent == total
    prices = [purchase.price for purchase in purse.bought]
    if delta is None:
        assert [purchase.what for purchase in purse.bought] == ["one-way tables"] + ["pair table"] * 6
        assert prices[0] == total * 0.1
    else:
        first_look = sum(prices[1:7], total * 0)
        assert prices[0] == total * 0.05
        assert first_look == sum(prices[7:], total * 0) == total * 0.475


def test_a_second_look_goes_where_the_chain_leaves_most_open():
    rows, n = tied(40_000), 40_000
    pairs = {(i, j): np.histogram2d(rows[:, i], rows[:, j], [range(SIZES[i] + 1), range(SIZES[j] + 1)])[0]
             for i, j in all_pairs(4)}  # fmt: skip
    rng = np.random.default_rng(2)
    noisy = {pair: np.rint(table + rng.normal(0, 30, table.shape)).astype(int) for pair, table in pairs.items()}
    one = tuple(np.bincount(rows[:, i], minlength=size) for i, size in enumerate(SIZES))
    tables = NoisyTables(one=one, one_variance=900.0, pairs=noisy, pair_variance=dict.fromkeys(noisy, 900.0))
    found = unexplained(tables, [None] * 4, rng)
    assert set(found) == set(noisy)
    assert all(found[i, j].shape == (SIZES[i], SIZES[j]) for i, j in found)
    assert np.sqrt(found[0, 1]).mean() > 0.02 * n
    assert max(np.sqrt(found[pair]).mean() for pair in found if pair != (0, 1)) < 90
    prices = dict(zip(found, by_gain(list(found.values()), [1 / 900] * 6, Budget.zcdp(0.001)), strict=True))
    assert max(prices, key=lambda pair: prices[pair].rho) == (0, 1)


def test_two_measurements_are_weighted_by_precision():
    rng = np.random.default_rng(3)
    truth = np.arange(6.0)
    means, variance = mean_of_two(
        truth + rng.normal(0, 2, (20_000, 6)), 4.0, truth + rng.normal(0, 1, (20_000, 6)), 1.0
    )
    assert variance == pytest.approx(0.8)
    assert means.mean(axis=0) == pytest.approx(truth, abs=0.05)
    assert means.var() == pytest.approx(0.8 + truth.var(), rel=0.05)


def test_margins_weigh_each_pair_by_its_own_noise():
    """Beside generalised least squares over all that says something about column 0."""
    rng = np.random.default_rng(4)
    one = tuple(rng.normal(500, 50, size) for size in (3, 4, 2))
    pairs = {(0, 1): rng.normal(100, 50, (3, 4)), (0, 2): rng.normal(250, 50, (3, 2))}
    variances = {(0, 1): 25.0, (0, 2): 400.0}
    tables = NoisyTables(one=one, one_variance=100.0, pairs=pairs, pair_variance=variances)
    seen = [(one[0], 100.0), (pairs[0, 1].sum(axis=1), 4 * 25.0), (pairs[0, 2].sum(axis=1), 2 * 400.0)]
    weight = sum(1 / v for _, v in seen)
    values, variance = tables._sightings(0)
    assert values == pytest.approx(sum(x / v for x, v in seen) / weight)
    assert variance == pytest.approx(1 / weight)
    assert tables.joined({(1, 2): np.ones((4, 2))}, {(1, 2): 9.0}).variance(2, 1) == 9.0


def test_tables_bought_apart_have_their_own_noise():
    purse = Purse(left=Budget(epsilon=1))
    counts = [np.full(3000, 10_000), np.full(3000, 10_000)]
    noisy, variances = purse.apart("table", counts, Budget(epsilon=1).split([4, 1]))
    assert purse.left.empty
    assert [table.var() for table in noisy] == pytest.approx(variances, rel=0.25)
    assert variances[1] > 10 * variances[0]


class Watch(Purse):
    """A purse that keeps the scores it is shown, and always takes the first."""

    def choice(self, what, scores, sensitivity, price):
        self.bought.append((scores, sensitivity))
        self._pay(price)
        return 0


@given(st.integers(0, 10**6), st.sampled_from([Budget(epsilon=1), Budget.zcdp(0.01)]))
def test_one_record_moves_no_score_by_more_than_one(seed, budget):
    rng = np.random.default_rng(seed)
    rows = tied(int(rng.integers(1, 60)), seed)
    shares = [rng.dirichlet(np.ones(size)) for size in SIZES]
    total, at = float(rng.uniform(1, 100)), int(rng.integers(len(rows)))
    seen = []
    for codes in (rows, np.delete(rows, at, axis=0)):
        purse = Watch(left=budget)
        assert len(choose_pairs(RowCounts(codes=codes, sizes=SIZES), shares, total, 4, purse, budget * 0.1)) == 4
        seen.append(purse.bought)
    for (one, sensitivity), (other, _) in zip(*seen, strict=True):
        assert np.abs(one - other).max() <= sensitivity == 1


def test_small_tables_are_chosen_before_large_ones_that_say_as_much():
    """Where nothing is tied, the pair of fewest cells is the cheapest to measure, that of most the dearest."""
    rows = free(20_000)
    shares = [np.full(size, 1 / size) for size in SIZES]
    purse = Watch(left=Budget(epsilon=0.02))
    choose_pairs(RowCounts(codes=rows, sizes=SIZES), shares, 20_000.0, 3, purse, Budget(epsilon=0.01))
    scores, pairs = purse.bought[0][0], all_pairs(4)
    assert pairs[int(np.argmax(scores))] == (0, 2)
    assert pairs[int(np.argmin(scores))] == (1, 3)
