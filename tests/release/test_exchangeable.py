"""The premise of the 1/k bound: which member of a group gets which written row, and where, is left to chance alone.

Counts over many releases are held to the binomial law of a fair draw. Limits are exact: a fair draw leaves them with
a probability of at most 1e-7 in a test, whatever its source of randomness.
"""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from shoal import MDAV, Centroid, Generalize, Mondrian, Resample, Schema, Shuffle, Suppress, anonymize, coarsen
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.mask import BlindMask, ValueSets, draw_chain, pair_up
from shoal.method import methods
from shoal.rng import stream

FALSE_ALARM = 1e-7
BLIND = [mask for mask in methods("mask") if issubclass(mask, BlindMask)]
TABLE = pl.DataFrame({"age": [0, 1, 10, 100, 101, 110], "bmi": [20.0, 27.0, 24.0, 31.0, 22.0, 35.0], "who": range(6)})
SCHEMA = Schema.of(quasi=["age", "bmi"], other=["who"])


def assert_fair(counts, n):
    """Each cell was met about equally often in `n` draws; its count is binomial(n, 1/cells)."""
    counts = np.asarray(counts).ravel()
    share = FALSE_ALARM / len(counts) / 40  # a test asks up to 20 times
    low, high = binom.ppf(share, n, 1 / len(counts)), binom.isf(share, n, 1 / len(counts))
    assert low <= counts.min() <= counts.max() <= high, (counts, low, high)


def releases(mask, n, first=0):
    return [anonymize(TABLE, SCHEMA, group=MDAV(k=3), mask=mask, seed=seed) for seed in range(first, first + n)]


@pytest.mark.parametrize("mask", [mask for mask in BLIND if mask is not Centroid])
def test_each_member_gets_each_row_of_its_group_equally_often(mask):
    """Who holds the smallest written age (of 3), the middle one, the largest: 3 x 3 cells of 1/3 each, two groups."""
    n = 80
    given = np.zeros((2, 3, 3), dtype=np.int64)
    for release in releases(mask(), n):
        ages = dict(release.table.sort("age", "bmi").select("who", "age").iter_rows())
        order = list(ages)
        for group, member in itertools.product(range(2), range(3)):
            own = [who for who in order if who // 3 == group]
            given[group, member, own.index(3 * group + member)] += 1
    for group, member in itertools.product(range(2), range(3)):
        assert_fair(given[group, member], n)


def test_the_permutation_is_independent_of_the_order_of_rows():
    """Which of three ages a member got, and which row of the file stands where: every pair equally often."""
    n = 200
    met = np.zeros((3, 3, 6, 6), dtype=np.int64)
    for release in releases(Resample(replace=False), n):
        order, ages = release.table["who"].to_list(), release.table["age"].to_list()
        for member in range(3):
            age = [0, 1, 10].index(ages[order.index(member)])
            met[member, age, np.arange(6), order] += 1
    for member, who in itertools.product(range(3), range(6)):
        assert_fair(met[member, :, :, who], n)


def test_all_permutations_of_a_group_are_equally_likely():
    labels, n = np.array([1, 0, 0, 1, 0, 1, 1]), 3000
    rows = np.arange(7.0)[:, None]  # three rows of group 0, then four of group 1
    small, large = {}, {}
    for seed in range(n):
        out = pair_up(rows, labels, stream(seed, "a test of pairing")).ravel()
        assert sorted(out[labels == 0]) == [0, 1, 2]
        for seen, group in ((small, 0), (large, 1)):
            key = tuple(out[labels == group])
            seen[key] = seen.get(key, 0) + 1
    assert (len(small), len(large)) == (6, 24)
    assert_fair(list(small.values()), n)
    assert_fair(list(large.values()), n)


WAYS = {
    "resample": lambda seed: anonymize(TABLE, SCHEMA, group=MDAV(k=3), mask=Resample(), seed=seed),
    "shuffle": lambda seed: anonymize(
        TABLE, SCHEMA, group=MDAV(k=3), mask=Shuffle(divergence=9.0, change=0.0), seed=seed
    ),
    "mondrian": lambda seed: coarsen(TABLE, SCHEMA, Mondrian(k=3), seed=seed),
    "generalize": lambda seed: coarsen(TABLE, SCHEMA, Generalize(k=3), seed=seed),
    "suppress": lambda seed: coarsen(TABLE, SCHEMA, Suppress(k=3), seed=seed),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_order_of_released_rows_tells_nothing_of_the_order_of_the_file(way):
    n = 60
    met = np.zeros((6, 6), dtype=np.int64)
    for seed in range(n):
        release = WAYS[way](seed)
        order = release.table["who"].to_list()
        assert order == [int(row) for row in release.source_rows]
        met[np.arange(6), order] += 1
    for place in range(6):
        assert_fair(met[place], n)
        assert_fair(met[:, place], n)


@pytest.mark.parametrize("mask", BLIND)
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_blind_mask_can_not_tell_which_record_had_which_values(mask, weight):
    """Records of a group change places, in every way there is for a few of them: what is drawn stays the same."""
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {"a": rng.normal(size=12), "b": rng.integers(0, 3, 12), "c": ["u", "v", None] * 4, "w": rng.uniform(1, 2, 12)}
    )
    schema = Schema.of(quasi=["a", "b", "c"], weight=weight, other=[] if weight else ["w"])
    prepared = prepare(table, schema)
    encoder = Encoder.fit(prepared, schema.quasi)
    codes, weights = encoder.codes(prepared.frame), prepared.weights()
    labels = np.arange(12) // 4
    weighs = weight is not None and hasattr(mask, "weighted")
    chain = [mask(weighted=True) if weighs else mask(), mask()]

    def drawn(order):
        own = None if weights is None else weights[order]
        sets = ValueSets.of(codes[order], labels, encoder, own)
        return draw_chain(chain, sets, [stream(1, "a"), stream(1, "b")])

    plain = drawn(np.arange(12))
    assert plain.shape == codes.shape
    for moved in itertools.permutations(range(4, 8)):
        order = np.array([*range(4), *moved, *range(8, 12)])
        assert np.array_equal(drawn(order), plain)
