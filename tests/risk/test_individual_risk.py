"""E(1/F | f) against sums of the distributions themselves, and the published numbers."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, nbinom
from scipy.stats import poisson as poisson_law

from shoal import frequency, risk
from shoal.equivalence import Codes
from shoal.errors import ParameterError, SchemaError
from shoal.frame import enter
from shoal.risk import log_linear
from shoal.risk.class_sizes import table_classes
from shoal.risk.keys import coded_keys
from shoal.schema import Schema


def oracle_negative_binomial(f, p):
    h = np.arange(0, int(60 * f / p) + 200)
    return float((nbinom.pmf(h, f, p) / (f + h)).sum())


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.floats(0.01, 0.999))
def test_negative_binomial_is_the_sum(f, p):
    found = frequency.negative_binomial(np.array([f]), np.array([p]))[0]
    assert found == pytest.approx(oracle_negative_binomial(f, p), rel=1e-8)


def test_negative_binomial_where_others_fail():
    f = np.array([1, 2, 3, 4, 20, 40, 2, 1.5, 1, 3])
    p = np.array([0.1, 0.1, 0.1, 0.1, 0.9, 0.6, 1 - 1e-9, 1.5 / 36.5, 1 / 0.8, 0.0])
    exact = [0.2558428, 0.08268413, 0.04636843, 0.03188499, 0.04521626, 0.01514921, 0.5, 0.06146352, 1.0, 0.0]
    assert frequency.negative_binomial(f, p) == pytest.approx(exact, rel=1e-6)


def test_negative_binomial_of_classes_of_a_published_file():
    f, total = np.array([3, 1, 1, 2, 1]), np.array([108, 45.5, 17, 100, 123.5])
    printed = [0.01355297, 0.08579129, 0.17707583, 0.01877883, 0.03931625]
    assert frequency.negative_binomial(f, f / total) == pytest.approx(printed, abs=5e-9)


@given(st.integers(1, 80), st.floats(0, 300))
def test_poisson_is_the_sum(f, v):
    j = np.arange(0, int(v + 20 * math.sqrt(v) + 60))
    exact = float((poisson_law.pmf(j, v) / (f + j)).sum())
    assert frequency.poisson(np.array([f]), np.array([v]))[0] == pytest.approx(exact, rel=1e-8)


def test_poisson_far_out():
    assert frequency.poisson(np.array([1, 50]), np.array([49.5, 1e5])) == pytest.approx(
        [0.02020202, 1 / 100_049], rel=1e-6
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30_000), st.floats(0.1, 200), st.floats(0, 0.95))
def test_pitman_is_the_sum(f, more, theta, a):
    n = 500.0
    m = np.arange(more + 1)
    exact = float((betabinom.pmf(m, more, f - a, n - f + theta + a) / (f + m)).sum())
    assert frequency.pitman(np.array([f]), n, n + more, theta, a)[0] == pytest.approx(exact, rel=1e-5)


def test_pitman_by_enumeration():
    assert frequency.pitman(np.array([1, 2]), 3, 6, 0.7, 0.3) == pytest.approx([0.7765428, 0.3276898], abs=1e-7)
    assert frequency.pitman_unique(3, 6, 0.7, 0.3) == pytest.approx(0.6053086, abs=1e-7)
    large = frequency.pitman(np.array([1999, 2001]), 1e5, 3e6, 50.0, 0.3)
    assert large[0] / large[1] == pytest.approx(2001 / 1999, rel=5e-5)  # no step where the short form begins


def test_chance_of_few_in_the_population():
    assert frequency.below(np.array([1, 5]), np.array([0.1, 0.1]), 5) == pytest.approx([0.3439, 0.0])


def test_the_guide(guide, guide_schema):
    found = risk.individual(guide, guide_schema, model="negative binomial")
    classes = [0.005424520, 0.025096439, 0.012563425, 0.028247279, 0.029010932, 0.007403834]
    assert sorted(set(np.round(found.risks, 12))) == pytest.approx(sorted(classes), abs=1e-9)
    assert (found.expected, found.rate) == pytest.approx((0.1582346, 0.01582346), abs=1e-7)
    assert found.model == "negative binomial"
    assert list(found.riskiest(1)) == [6]


def test_francdat():
    keys = {"k1": [1, 1, 1, 3, 4, 4, 6, 1], "k2": [2, 2, 2, 3, 3, 3, 2, 2], "k3": [5, 1, 1, 1, 1, 1, 1, 5]}
    weights = [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0]
    table = pl.DataFrame(keys | {"k4": [1, 1, 1, 5, 4, 1, 5, 1], "w": weights})
    found = risk.individual(table, Schema.of(quasi=["k1", "k2", "k3", "k4"], weight="w"))
    exact = [0.01714426, 0.02204233, 0.02204233, 0.1770758, 0.01165448, 0.2970631, 0.4023595, 0.01714426]
    assert found.risks == pytest.approx(exact, abs=1e-7)
    assert found.expected == pytest.approx(0.966526, abs=1e-6)
    assert found.threshold_for(0.1) == pytest.approx(0.1770758, abs=1e-7)
    assert found.threshold_for(1e-9) == 0.0


def test_weights_below_one_and_a_census():
    table = pl.DataFrame({"q": [1, 1, 2, 3], "w": [0.1, 0.0, None, 90.0]})
    found = risk.individual(table, Schema.of(quasi=["q"], weight="w"))
    assert found.risks[:3] == pytest.approx([0.5, 0.5, 1.0])
    assert found.risks[3] < 0.1
    census = risk.individual(table.drop("w"), Schema.of(quasi=["q"]))
    assert (census.model, census.population, census.largest, census.n_above) == ("census", None, 1.0, 4)


EIGHT = pl.DataFrame(
    {
        "A": [2, 3, 2, 2, 3, 3, 1, None],
        "B": [3, 3, 3, 3, 3, 3, 4, 3],
        "C": [1, 3, None, 2, 1, 1, None, 1],
        "w": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
    }
)
EIGHT_SCHEMA = Schema.of(quasi=["A", "B", "C"], weight="w")


def test_wildcards_of_a_published_file():
    found = risk.individual(EIGHT, EIGHT_SCHEMA, missing="wildcard")
    printed = [0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889, 0.039316254, 0.005962551]
    assert found.risks == pytest.approx(printed, abs=5e-9)
    counted = risk.individual(EIGHT.drop("w"), Schema.of(quasi=["A", "B", "C"]), missing="wildcard")
    assert 1 / counted.risks == pytest.approx([3, 1, 4, 2, 3, 3, 1, 5])
    whole = EIGHT.with_columns(A=pl.Series([2, 3, 2, 2, 3, 3, 1, 2]), C=pl.Series([1, 3, 1, 2, 1, 1, 1, 1]))
    full = risk.individual(whole, EIGHT_SCHEMA, missing="wildcard")
    assert full.risks == pytest.approx(risk.individual(whole, EIGHT_SCHEMA).risks)


def agree(a, b):
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


gap = st.sampled_from([None, 0, 1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(gap, gap, gap), min_size=1, max_size=9), st.sampled_from([0.0, 0.4, 1.0]))
def test_wildcards_one_by_one(rows, alpha):
    table = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.Int64), orient="row")
    found = risk.individual(table, Schema.of(quasi=["a", "b", "c"]), missing="wildcard", alpha=alpha)
    for i, own in enumerate(rows):
        f = sum(1.0 if own == other or None not in other else alpha for other in rows if agree(own, other))
        assert found.risks[i] == pytest.approx(1 / f)


def test_wildcards_refuse_what_they_cant_count():
    persons = Schema.of(quasi=["A", "B"], unit="C")
    for schema, words in ((persons, {}), (EIGHT_SCHEMA, {"model": "log-linear"}), (EIGHT_SCHEMA, {"alpha": 2})):
        with pytest.raises(ParameterError):
            risk.individual(EIGHT, schema, missing="wildcard", **words)
    with pytest.raises(ParameterError, match="level or wildcard"):
        risk.individual(EIGHT, EIGHT_SCHEMA, missing="joker")


def test_the_smoothed_form_tends_to_the_negative_binomial():
    """F − 1 | f = 1 ~ NB(α + 1, ρ); the Handbook prints (1 − ρ)^α for 1 − ρ^α."""

    def smoothed(alpha, rho):
        return rho * (1 - rho**alpha) / (alpha * (1 - rho))

    h = np.arange(3000)
    assert float((nbinom.pmf(h, 1.5, 0.1) / (1 + h)).sum()) == pytest.approx(smoothed(0.5, 0.1), rel=1e-9)
    assert smoothed(0.5, 0.1) == pytest.approx(0.1519494, abs=1e-7)
    assert pytest.approx(0.2108, abs=1e-4) == 0.1 * (1 - 0.1) ** 0.5 / (0.5 * (1 - 0.1))
    limit = frequency.negative_binomial(np.array([1]), np.array([0.1]))[0]
    assert limit == pytest.approx(smoothed(1e-9, 0.1), rel=1e-6)


def test_persons_not_rows():
    table = pl.DataFrame({"q": [1, 1, 1], "u": ["a", "a", "b"]})
    found = risk.individual(table, Schema.of(quasi=["q"], unit="u"))
    assert found.risks.tolist() == [0.5, 0.5, 0.5]
    assert found.expected == 1.0


def digits(word):
    return [int(letter) for letter in word]


@pytest.mark.parametrize(("population", "tau1", "tau2"), [(1000, 2.5175e-09, 0.1919192), (20, 4.953373, 6.334621)])
def test_log_linear_of_ten_records(population, tau1, tau2, monkeypatch):
    monkeypatch.setattr(log_linear, "_MOST_WORK", 0)  # main effects only
    table = pl.DataFrame({"a": digits("2323312322"), "b": digits("2122121112"), "c": digits("5445443322")})
    found = risk.individual(table, Schema.of(quasi=["a", "b", "c"]), population=population, model="log-linear")
    alone = table.select(pl.struct(pl.all()).is_unique()).to_series().to_numpy()
    assert found.risks[alone].sum() == pytest.approx(tau2, rel=1e-4)
    assert found.expected_uniques == pytest.approx(tau1, rel=1e-4)
    assert found.fit.terms == "main"


def test_the_fitted_mean_is_of_the_sample_not_of_the_population(monkeypatch):
    """sdcMicro's modRisk prints 0.552916 and 0.7053842 for these ten: v = (1 − Σ 1/w) μ, over all occupied cells."""
    monkeypatch.setattr(log_linear, "_MOST_WORK", 0)
    table = pl.DataFrame({"a": digits("2323312322"), "b": digits("2122121112"), "c": digits("5445443322")})
    frame, schema = enter(table), Schema.of(quasi=["a", "b", "c"])
    classes = table_classes(frame, schema)
    mu = log_linear.fit_log_linear(coded_keys(frame, schema), classes).means[classes.sizes == 1]
    v = (1 - 1 / 100) * mu
    assert np.exp(-v).sum() / classes.n_classes == pytest.approx(0.552916, abs=1e-6)
    assert ((1 - np.exp(-v)) / v).sum() / classes.n_classes == pytest.approx(0.7053842, abs=1e-7)
    right = risk.individual(table, schema, population=1000, model="log-linear")
    assert right.expected_uniques < 1e-8  # of a thousand people, hardly anybody is alone in 18 cells


def test_where_everybody_is_alone_no_fit_is_claimed():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"c{j}": rng.integers(0, 30, 300) for j in range(6)})
    found = risk.individual(table, Schema.of(quasi=table.columns), population=10_000, model="log-linear")
    assert found.fit.n_unique == 300
    assert found.fit.fits is None


def test_an_underfitted_model_says_that_it_does_not_fit():
    """Columns that hang together: independence expects other numbers of uniques and pairs than there are."""
    rng = np.random.default_rng(8)
    N, n = 20_000, 1_000
    a, b = (rng.choice(6, N, p=_falling(6)) for _ in range(2))
    c = np.where(rng.random(N) < 0.7, a, rng.choice(6, N, p=_falling(6)))
    tied = {"a": a, "b": b, "c": c, "d": rng.choice(5, N, p=_falling(5))}
    people = pl.DataFrame(tied)
    names, sample = people.columns, people.sample(n, seed=1)
    alone = sample.filter(pl.struct(names).is_unique()).join(people.group_by(names).len(name="F"), on=names)
    true = float((1 / alone["F"]).sum())
    frame, schema = enter(sample), Schema.of(quasi=names)
    classes = table_classes(frame, schema)
    first = np.unique(classes.labels, return_index=True)[1]
    dense = [log_linear._shown(key) for key in coded_keys(frame, schema)]
    gaps = {}
    for fit in (log_linear._main_effects, log_linear._two_way):
        model = fit(dense, first, classes.sizes)
        v = model.means[classes.sizes == 1] * (1 - n / N) * N / n
        gaps[model.fit.terms, model.fit.fits] = abs(float(frequency.poisson(np.ones(len(v)), v).sum()) / true - 1)
    assert gaps["two-way", True] < 0.25 < gaps["main", False]


def oracle_fit(values, pairs):
    """Iterative proportional fitting cell by cell; without pairs the product of the margins."""
    n, d = len(values), len(values[0])
    levels = [sorted({row[j] for row in values}) for j in range(d)]
    cells = [()]
    for level in levels:
        cells = [(*cell, value) for cell in cells for value in level]
    table = dict.fromkeys(cells, n / len(cells))
    margins = list(combinations(range(d), 2)) if pairs else [(j,) for j in range(d)]
    for _ in range(200):
        for margin in margins:

            def key(cell, margin=margin):
                return tuple(cell[j] for j in margin)

            now, seen = {}, {}
            for cell, value in table.items():
                now[key(cell)] = now.get(key(cell), 0.0) + value
            for row in values:
                seen[key(row)] = seen.get(key(row), 0) + 1
            table = {c: v * seen.get(key(c), 0) / now[key(c)] if now[key(c)] else 0.0 for c, v in table.items()}
    return table


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=4, max_size=25), st.booleans())
def test_log_linear_is_the_slow_fit(rows, pairs):
    columns = [log_linear._shown(Codes(values=np.array([row[j] for row in rows]), n=3)) for j in range(3)]
    example, sizes = np.arange(len(rows)), np.ones(len(rows), dtype=np.int64)
    model = (log_linear._two_way if pairs else log_linear._main_effects)(columns, example, sizes)
    slow = oracle_fit(rows, pairs)
    assert model.means == pytest.approx([slow[row] for row in rows], abs=2e-2 if pairs else 1e-9)
    assert model.fit.expected_unique == pytest.approx(sum(m * math.exp(-m) for m in slow.values()), abs=0.05)


def test_log_linear_draws_where_cells_are_many(monkeypatch):
    shares = [np.full(20, 0.05), np.full(10, 0.1), np.array([0.9, 0.1])]
    exact = log_linear._fit("main", log_linear._every_mean(shares, 300.0), np.array([1]))
    monkeypatch.setattr(log_linear, "_MOST_CELLS", 10)
    drawn = log_linear._fit("main", log_linear._every_mean(shares, 300.0), np.array([1]))
    assert drawn.expected_unique == pytest.approx(exact.expected_unique, rel=0.02)
    assert drawn.expected_pairs == pytest.approx(exact.expected_pairs, rel=0.02)


def test_models_against_a_known_population():
    rng = np.random.default_rng(4)
    N, n = 20_000, 1_000
    people = pl.DataFrame({f"c{j}": rng.choice(size, N, p=_falling(size)) for j, size in enumerate((8, 12, 5, 6))})
    names = list(people.columns)
    sample = people.sample(n, seed=1)
    schema = Schema.of(quasi=names)
    F = people.group_by(names).len(name="F")
    true = float((1 / sample.join(F, on=names)["F"]).sum())
    modelled = risk.individual(sample, schema, population=N, model="log-linear")
    assert modelled.fit.fits
    assert modelled.expected == pytest.approx(true, rel=0.15)
    assert risk.individual(sample, schema, population=N).model == "log-linear"


def _falling(size):
    shares = 1 / np.arange(1, size + 1)
    return shares / shares.sum()


def test_words_and_bad_input(make_frame):
    table = make_frame(pl.DataFrame({"q": ["SENTINEL", None, "x"]}))
    schema = Schema.of(quasi=["q"])
    words = risk.individual(table, schema, population=30).to_dict()
    json.dumps(words, allow_nan=False)
    assert "risks" not in words
    with pytest.raises(ParameterError, match="model must be one of"):
        risk.individual(table, schema, model="best")
    with pytest.raises(ParameterError, match="threshold"):
        risk.individual(table, schema, threshold=2)
    with pytest.raises(ParameterError, match="population"):
        risk.individual(table, schema, population=1)
    with pytest.raises(SchemaError) as caught:
        risk.individual(table, Schema.of(quasi=["r"]))
    assert "SENTINEL" not in str(caught.value)


@pytest.mark.parametrize(("f", "percent"), [(3, 4.03), (4, 2.05), (5, 1.24), (10, 0.28)])
def test_the_usual_approximation_is_above_and_by_how_much(f, percent):
    """sdcMicro and mu-Argus print p/(f − q) from f = 3 on; here is the value itself."""
    p = np.linspace(0.001, 0.999, 999)
    exact = frequency.negative_binomial(np.full(len(p), f), p)
    above = p / (f - (1 - p)) / exact - 1
    assert above.min() >= -1e-12
    assert 100 * above.max() == pytest.approx(percent, abs=0.006)


def test_the_usual_approximation_of_the_sheet():
    of_sheet = {(3, 0.1): 0.04761905, (4, 0.1): 0.03225806, (3, 3 / 108): 0.01369863}
    for (f, p), value in of_sheet.items():
        assert p / (f - (1 - p)) == pytest.approx(value, abs=1e-8)
        assert frequency.negative_binomial(np.array([f]), np.array([p]))[0] < value


def test_one_over_the_expected_size_is_no_conservative_estimate(guide, guide_schema):
    """The guide says that 1/F is on the safe side; by Jensen's inequality it is on the other (0.0466, not 0.1582)."""
    sizes = [(2, 360), (2, 360), (1, 215), (2, 152), (1, 186), (2, 152), (1, 180), (1, 215), (2, 262), (2, 262)]
    naive = sum(1 / population for _, population in sizes)
    assert naive == pytest.approx(0.0466, abs=5e-5)
    assert risk.individual(guide, guide_schema, model="negative binomial").expected == pytest.approx(
        0.1582346, abs=1e-7
    )
    assert naive < 0.1582346


def test_one_cell_of_a_half_expected_person():
    """μ = 0.5 in a sample of 1 %: v = 49.5."""
    v = 0.5 * 0.99 / 0.01
    assert math.exp(-v) == pytest.approx(3.18e-22, rel=1e-2)
    assert frequency.poisson(np.array([1]), np.array([v]))[0] == pytest.approx(0.02020202, abs=1e-8)
