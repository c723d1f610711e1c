"""Intervals are as wide as they should be, and no wider."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from shoal import Schema, risk
from shoal.risk.uncertainty import mean_interval, wilson

Z = norm.isf(0.025)


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_the_ends_of_wilsons_interval_are_where_the_share_is_just_not_rejected(n, part):
    """|p̂ − p| = z √(p (1 − p) / n) at both ends p, except where an end is 0 or 1."""
    share = round(part * n) / n
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            assert abs(share - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("n", "p"), [(40, 0.1), (200, 0.02), (200, 0.5), (3000, 0.7)])
def test_wilsons_interval_covers_about_95_in_100_and_not_many_more(n, p):
    """Coverage by summing the binomial law: no draw, no false alarm."""
    counts = np.arange(n + 1)
    held = np.array([low <= p <= high for low, high in (wilson(x / n, n) for x in counts)])
    assert 0.92 <= binom.pmf(counts, n, p)[held].sum() <= 0.975


def test_no_trial_says_nothing():
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_the_interval_of_a_mean_is_the_normal_one():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    low, high = mean_interval(values)
    assert (low + high) / 2 == pytest.approx(4)
    assert (high - low) / 2 == pytest.approx(Z * math.sqrt((9 + 4 + 0 + 25) / 3) / 2)
    assert mean_interval(values[:1]) == (1.0, 1.0)
    assert mean_interval(values[:0]) == (0.0, 0.0)


@pytest.fixture(scope="module")
def tables():
    """Every record shares its values with one other, so that half of all guesses hit."""
    rng = np.random.default_rng(6)
    table = pl.DataFrame({"a": np.repeat(np.arange(200), 2), "ill": rng.choice(["no", "yes"], 400)})
    return table, Schema.of(quasi=["a"], sensitive=["ill"])


def test_reidentification_counts_every_trial_of_every_record(tables):
    table, schema = tables
    found = risk.reidentification(table, table, schema, trials=25)
    assert found.interval == pytest.approx(by_hand(found.simulated, 25 * 400))
    spread = np.std([risk.reidentification(table, table, schema, trials=25, seed=s).simulated for s in range(60)])
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(Z * spread, rel=0.35)


def test_linkage_counts_every_released_row():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"a": rng.normal(size=300)})
    masked = table + pl.DataFrame({"a": rng.normal(0, 0.02, 300)})
    found = risk.linkage(table, masked, Schema.of(quasi=["a"]))
    assert 0.1 < found.share < 0.9
    assert found.interval == pytest.approx(by_hand(found.share, 300))


def test_inference_counts_every_record():
    """Successes are 0 or 1 here, so that their variance is s(1 − s) n / (n − 1); samples of two kinds add variances."""
    rng = np.random.default_rng(3)
    world = pl.DataFrame({"x": rng.normal(size=900)}).with_columns(ill=pl.Series(rng.choice(["no", "yes"], 900)))
    schema = Schema.of(quasi=["x"], sensitive=["ill"])
    inside, outside, released = world[:400], world[400:500], world[500:]
    column = risk.inference(inside, released, schema, control=outside).columns["ill"]
    assert column.interval == pytest.approx(by_hand(column.value, 400))
    half = Z * math.sqrt(column.value * (1 - column.value) / 399 + column.control * (1 - column.control) / 99)
    assert column.advantage_interval == pytest.approx((column.advantage - half, column.advantage + half))


def by_hand(p, n):
    """Wilson (1927): centre (p + z²/2n) / (1 + z²/n), half width z / (1 + z²/n) √(p(1 − p)/n + z²/4n²)."""
    centre, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (centre - half) / (1 + Z**2 / n), (centre + half) / (1 + Z**2 / n)
