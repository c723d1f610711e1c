"""Population uniques: each model against exact small cases, and all on a population that is known."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import frequency, risk
from shoal.errors import ParameterError
from shoal.risk import population_uniqueness as models
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["q"])
histograms = st.dictionaries(st.integers(1, 30), st.integers(1, 40), min_size=1, max_size=6)


def table_of(histogram):
    sizes = [size for size, count in histogram.items() for _ in range(count)]
    return pl.DataFrame({"q": np.repeat(np.arange(len(sizes)), sizes)})


def oracle_zayatz(histogram, N):
    n, u = sum(i * s for i, s in histogram.items()), sum(histogram.values())
    chance = {
        j: Fraction(s, u) * Fraction(j * math.comb(N - j, n - 1), math.comb(N, n)) if N - j >= 0 else Fraction(0)
        for j, s in histogram.items()
    }
    return Fraction(histogram[1] * N, n) * chance[1] / sum(chance.values())


@settings(max_examples=40, deadline=None)
@given(histograms, st.integers(1, 200))
def test_zayatz_is_exact(histogram, more):
    histogram = {1: 3} | histogram
    N = sum(i * s for i, s in histogram.items()) + more
    assert models.zayatz(histogram, N) == pytest.approx(float(oracle_zayatz(histogram, N)), rel=1e-6)


def oracle_likelihood(theta, a, histogram):
    n, u = sum(i * s for i, s in histogram.items()), sum(histogram.values())
    total = sum(math.log(theta + i * a) for i in range(1, u)) - sum(math.log(theta + i) for i in range(1, n))
    return total + sum(s * sum(math.log(i - a) for i in range(1, j)) for j, s in histogram.items())


@settings(max_examples=40, deadline=None)
@given(histograms, st.floats(0.01, 50), st.floats(0.0, 0.99))
def test_pitman_likelihood_is_the_formulas(histogram, theta, a):
    size = np.array(list(histogram), dtype=float)
    count = np.array(list(histogram.values()), dtype=float)
    found = models.pitman_likelihood(theta, a, size, count)
    assert found == pytest.approx(oracle_likelihood(theta, a, histogram), rel=1e-9, abs=1e-8)


@pytest.mark.parametrize(
    ("theta", "step", "terms"), [(3.0, 1.0, 5000), (1e9, 1e-3, 5000), (0.2, 0.7, 257), (5.0, 0.0, 900)]
)
def test_sum_of_logs(theta, step, terms):
    direct = math.fsum(math.log(theta + i * step) for i in range(1, terms + 1))
    assert models.sum_of_logs(theta, step, terms) == pytest.approx(direct, rel=1e-12)


def test_pitman_fit_is_a_maximum():
    histogram = {1: 120, 2: 30, 3: 14, 5: 6, 9: 3, 40: 1}
    theta, a = models.fit_pitman(histogram)
    best = oracle_likelihood(theta, a, histogram)
    for shift in (0.9, 1.0, 1.1):
        for moved in (a - 0.02, a, a + 0.02):
            assert oracle_likelihood(theta * shift, moved, histogram) <= best + 1e-6


def oracle_pitman_uniques(N, theta, a):
    """Expected singletons of the Chinese restaurant of N guests, by running through all seatings."""
    expectation = 0.0
    stack = [((1,), 1.0)]
    while stack:
        tables, p = stack.pop()
        n = sum(tables)
        if n == N:
            expectation += p * tables.count(1)
            continue
        stack.append(((*tables, 1), p * (theta + len(tables) * a) / (n + theta)))
        for i, size in enumerate(tables):
            grown = (*tables[:i], size + 1, *tables[i + 1 :])
            stack.append((grown, p * (size - a) / (n + theta)))
    return expectation


def test_pitman_expectation_is_exact(monkeypatch):
    monkeypatch.setattr(models, "fit_pitman", lambda histogram: (1.3, 0.4))
    assert models.pitman({1: 1, 2: 1}, 7) == pytest.approx(oracle_pitman_uniques(7, 1.3, 0.4), rel=1e-9)


def test_pitman_by_all_partitions_of_six(monkeypatch):
    monkeypatch.setattr(models, "fit_pitman", lambda histogram: (0.7, 0.3))
    assert oracle_pitman_uniques(6, 0.7, 0.3) == pytest.approx(1.582506, abs=1e-6)
    assert models.pitman({1: 1, 2: 1}, 6) == pytest.approx(1.582506, abs=1e-6)
    assert math.gamma(1.7) / math.gamma(1.0) * 6**0.3 == pytest.approx(1.55538, abs=1e-5)  # the limit is another number


@pytest.mark.parametrize(("a", "b", "f"), [(0.5, 0.1, 0.2), (2.0, 0.5, 0.05), (0.1, 0.01, 0.5)])
def test_slide_negative_binomial_expectations(a, b, f):
    s1 = s2 = 0.0
    p = b**a
    for x in range(20_000):
        F = x + 1
        s1 += p * F * f * (1 - f) ** (F - 1)
        s2 += p * F * (F - 1) / 2 * f**2 * (1 - f) ** (F - 2) if F > 1 else 0.0
        p *= (x + a) / (x + 1) * (1 - b)
    assert models.expected_counts(a, b, 1000.0, f) == pytest.approx((1000 * s1, 1000 * s2), rel=1e-6)


def test_slide_negative_binomial_finds_its_parameters():
    a, b, K, f = 0.6, 0.05, 3000.0, 0.3
    s1, s2 = models.expected_counts(a, b, K, f)
    N = K * (1 + a * (1 - b) / b)
    assert models._solve(s1, s2, K, f, N) == pytest.approx((a, b), rel=1e-3)


def population(seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"q": rng.zipf(1.6, 40_000).clip(max=10**9)})


@pytest.mark.parametrize("fraction", [0.02, 0.08, 0.2, 0.5, 0.9])
def test_a_known_population(fraction):
    people = population()
    N = len(people)
    true = risk.uniqueness(people, SCHEMA, population=N)
    assert true.chosen.uniques == true.n_unique
    sample = people.sample(int(fraction * N), seed=3)
    found = risk.uniqueness(sample, SCHEMA, population=N)
    assert true.n_unique / 2 <= found.chosen.uniques <= 2 * true.n_unique
    assert found.sampling_fraction == pytest.approx(fraction)
    assert found.chosen.model == "pitman" if fraction <= 0.1 else found.chosen.model in ("zayatz", "snb")


@settings(max_examples=60, deadline=None)
@given(histograms, st.floats(1.0, 1e6))
def test_estimates_are_finite_or_say_why(histogram, factor):
    n = sum(i * s for i, s in histogram.items())
    N = max(n, n * factor)
    found = risk.uniqueness(table_of(histogram), SCHEMA, population=N)
    assert found.n_unique == histogram.get(1, 0)
    for estimate in (found.pitman, found.zayatz, found.snb, found.chosen):
        if estimate.uniques is None:
            assert estimate.reason
        else:
            assert 0 <= estimate.uniques <= N * (1 + 1e-9)
            assert estimate.share == pytest.approx(estimate.uniques / N)
    assert found.chosen.uniques is not None
    json.dumps(found.to_dict(), allow_nan=False)


def test_weights_give_the_population():
    table = population()[:2000].with_columns(w=pl.lit(25.0))
    weighted = Schema.of(quasi=["q"], weight="w")
    by_weight = risk.uniqueness(table, weighted)
    assert by_weight.population == 50_000
    assert by_weight.pitman == risk.uniqueness(table, weighted, population=50_000).pitman
    scaled = risk.uniqueness(table.with_columns(w=pl.lit(1.0)), weighted)
    assert scaled.population is None
    assert "population size" in scaled.chosen.reason


def test_persons_are_weighed_once():
    table = pl.DataFrame({"q": [1, 1, 1, 2], "u": ["a", "a", "b", "a"], "w": [10.0, 20.0, 5.0, 15.0]})
    found = risk.uniqueness(table, Schema.of(quasi=["q"], unit="u", weight="w"))
    assert found.n_records == 3
    assert found.population == 15.0 + 5.0 + 15.0


def test_without_a_population_nothing_is_estimated():
    found = risk.uniqueness(population()[:100], SCHEMA)
    assert found.population is None
    assert {found.pitman.uniques, found.zayatz.uniques, found.snb.uniques} == {None}
    assert float(found) == found.unique_share


def test_all_unique_and_none_unique():
    lone = risk.uniqueness(pl.DataFrame({"q": range(50)}), SCHEMA, population=5000)
    assert lone.pitman.uniques is None
    assert lone.chosen.uniques == lone.zayatz.uniques == pytest.approx(5000)
    none = risk.uniqueness(pl.DataFrame({"q": [1, 1, 2, 2]}), SCHEMA, population=5000)
    assert none.chosen.uniques == 0.0
    assert "no unique" in none.pitman.reason


@pytest.mark.parametrize("wrong", [99, math.nan, math.inf, -1, "many", True])
def test_a_population_holds_the_sample(wrong):
    with pytest.raises(ParameterError, match="population"):
        risk.uniqueness(pl.DataFrame({"q": range(100)}), SCHEMA, population=wrong)


SMALL = {1: 20, 2: 5, 3: 2}


@pytest.mark.parametrize(
    ("histogram", "N", "zayatz", "pitman", "snb", "implied"),
    [
        (SMALL, 72, 30.08475, 28.8264, 26.21328, 74.70),
        (SMALL, 360, 117.9568, 41.99265, 91.56433, 907.97),
        (SMALL, 3600, 1117.737, 46.8024, 984.67, 133e6),
        ({1: 30, 2: 4, 3: 1, 8: 1, 20: 1}, 690, 194.8015, 195.5828, 180.7696, 505.6),
    ],
)
def test_known_numbers(histogram, N, zayatz, pitman, snb, implied):
    assert models.zayatz(histogram, N) == pytest.approx(zayatz, rel=1e-5)
    assert models.pitman(histogram, N) == pytest.approx(pitman, rel=1e-4)
    uniques, found = models.solve_slide(histogram, N)
    assert uniques == pytest.approx(snb, rel=1e-4)
    assert found == pytest.approx(implied, rel=0.05)
    if not N / 2 <= implied <= 2 * N:
        with pytest.raises(models.NotApplicable, match="imply"):
            models.slide_negative_binomial(histogram, N)


def test_a_maximum_at_zero_is_the_ewens_model():
    assert models.fit_pitman(SMALL) == (pytest.approx(47.40571, rel=1e-4), 0.0)
    assert models.expected_sizes(47.40571, 0.0, 36, 1) == pytest.approx(36 * 47.40571 / (36 + 46.40571), rel=1e-6)


def test_the_range_of_all_models_stands_beside_the_chosen_one():
    found = risk.uniqueness(table_of(SMALL), SCHEMA, population=360)
    assert found.spread == pytest.approx((41.99265 / 360, 117.9568 / 360), rel=1e-4)
    assert found.chosen.interval[0] <= found.chosen.uniques <= found.chosen.interval[1]
    assert found.fits
    odd = risk.uniqueness(table_of({1: 400, 90: 12}), SCHEMA, population=20_000)
    assert odd.fits is False


@pytest.mark.parametrize(
    ("histogram", "N", "zayatz", "unique", "expected"),
    [
        (SMALL, 72, 0.7521186, 0.6959606, 0.8302016),
        (SMALL, 360, 0.5897842, 0.2027671, 0.406452),
        (SMALL, 3600, 0.5588684, 0.02259916, 0.08774669),
        ({1: 30, 2: 4, 3: 1, 8: 1, 20: 1}, 690, 0.6493382, 0.6209531, 0.7301836),
    ],
)
def test_known_chances_of_a_sample_unique(histogram, N, zayatz, unique, expected):
    """P(F = 1 | f = 1) of Zayatz and Pitman, and Pitman's E(1/F | f = 1)."""
    n = sum(i * s for i, s in histogram.items())
    assert models.zayatz(histogram, N) * n / N / histogram[1] == pytest.approx(zayatz, rel=1e-6)
    fitted = models.fit_pitman(histogram)
    assert frequency.pitman_unique(n, N, *fitted) == pytest.approx(unique, rel=1e-4)
    assert frequency.pitman(np.array([1]), n, N, *fitted)[0] == pytest.approx(expected, rel=1e-4)


def test_zayatz_takes_the_sample_for_the_population():
    """For a small sample it tends to N (s_1/n)² whatever the truth: 0.3086 N here."""
    assert models.zayatz(SMALL, 10**9) / 10**9 == pytest.approx((20 / 36) ** 2, rel=1e-4)
    assert models.fit_pitman({1: 30, 2: 4, 3: 1, 8: 1, 20: 1}) == pytest.approx((1.171604, 0.7923933), rel=1e-4)


def test_the_choice_says_why():
    few = risk.uniqueness(table_of(SMALL), SCHEMA, population=3600)
    assert (few.chosen.model, few.why) == ("pitman", "for samples up to 10%")
    many = risk.uniqueness(table_of(SMALL), SCHEMA, population=72)
    assert (many.chosen.model, many.why) == ("snb", "the lower of two, for samples over 10%")
    lone = risk.uniqueness(pl.DataFrame({"q": range(50)}), SCHEMA, population=5000)
    assert (lone.chosen.model, lone.why) == ("zayatz", "where Pitman has no estimate")
    assert risk.uniqueness(table_of(SMALL), SCHEMA).why == ""
    assert many.to_dict()["why"] == many.why
