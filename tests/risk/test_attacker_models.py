"""Prosecutor, journalist and marketer by double loops."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import ParameterError, SchemaError
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["q"], weight="w")
rows = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 50)), min_size=1, max_size=25)


def expected_inverse(f, p):
    """E(1/F) of F = f + negative binomial, summed one by one."""
    total, chance, h = 0.0, p**f, f
    while h < 400 * f / p and chance > 1e-18:
        total, chance, h = total + chance / h, chance * (1 - p) * h / (h - f + 1), h + 1
    return total


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from([0.0, 0.2, 0.5]))
def test_weights_give_the_size_in_the_population(given_rows, threshold):
    table = pl.DataFrame({"q": [q for q, _ in given_rows], "w": [w for _, w in given_rows]})
    found = risk.attackers(table, SCHEMA, threshold=threshold)
    assume(found.model != "pitman")  # equal weights: another model applies too
    n, total = len(given_rows), sum(w for _, w in given_rows)
    prosecutor, journalist = [], []
    for q, _ in given_rows:
        f = sum(1 for other, _ in given_rows if other == q)
        F = max(f, sum(w for other, w in given_rows if other == q)) if total > n * (1 + 1e-6) else f
        prosecutor.append(1 / f)
        journalist.append(expected_inverse(f, f / F))
    for attacker, risks in ((found.prosecutor, prosecutor), (found.journalist, journalist)):
        assert attacker.largest == pytest.approx(max(risks))
        assert attacker.mean == pytest.approx(sum(risks) / n)
    assert found.prosecutor.above_share == pytest.approx(sum(x > threshold for x in prosecutor) / n)
    assert found.marketer == pytest.approx(sum(journalist) / n)
    assert found.journalist.largest <= found.prosecutor.largest


def test_a_size_alone_never_gives_the_sampling_fraction():
    table = pl.DataFrame({"q": np.repeat(np.arange(27), [1] * 20 + [2] * 5 + [3] * 2)})
    found = risk.attackers(table, Schema.of(quasi=["q"]), population=360)
    assert found.prosecutor.largest == 1.0
    assert (found.model, found.population) == ("pitman", 360)
    assert (found.marketer, found.matches) == pytest.approx((0.2826303, 10.17469), rel=1e-5)
    assert found.journalist.largest == pytest.approx(0.406452, rel=1e-5)
    assert found.population_uniques == pytest.approx(20 * 0.2027671, rel=1e-5)
    assert found.spread == pytest.approx((0.1728308, 0.2826303), rel=1e-5)


def test_negative_binomial_where_pitman_has_no_estimate():
    found = risk.attackers(pl.DataFrame({"q": [1, 2, 3, 4]}), Schema.of(quasi=["q"]), population=40)
    assert (found.model, found.journalist.largest) == ("negative binomial", pytest.approx(0.2558428, rel=1e-6))
    everybody = risk.attackers(pl.DataFrame({"q": [1, 1, 2]}), Schema.of(quasi=["q"]), population=3)
    assert (everybody.model, everybody.journalist.largest) == ("census", 1.0)


def test_without_a_population_the_table_is_it():
    found = risk.attackers(pl.DataFrame({"q": [1, 1, 2]}), Schema.of(quasi=["q"]))
    assert found.journalist == found.prosecutor
    assert found.marketer == pytest.approx(2 / 3)
    assert found.population is None


def test_persons_not_rows():
    table = pl.DataFrame({"q": [1, 1, 1], "u": ["a", "a", "b"]})
    assert risk.attackers(table, Schema.of(quasi=["q"], unit="u")).prosecutor.largest == 0.5


def test_words_and_bad_input():
    table = pl.DataFrame({"q": ["SENTINEL", None]})
    schema = Schema.of(quasi=["q"])
    json.dumps(risk.attackers(table, schema).to_dict(), allow_nan=False)
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="threshold"):
            risk.attackers(table, schema, threshold=wrong)
    with pytest.raises(ParameterError, match="population"):
        risk.attackers(table, schema, population=1)
    with pytest.raises(SchemaError) as caught:
        risk.attackers(table.rename({"q": "p"}), schema)
    assert "SENTINEL" not in str(caught.value)


def test_equal_weights_are_no_reason_to_leave_pitman_out():
    """A weight of 10 for everybody says the same as a population ten times the table."""
    ages = [30, 30, 41, 41, 41, 57, 58, 59]
    table = pl.DataFrame({"age": ages, "weight": [10.0] * len(ages)})
    weighted = risk.attackers(table, Schema.of(quasi=["age"], weight="weight"))
    plain = risk.attackers(table.drop("weight"), Schema.of(quasi=["age"]), population=80)
    assert weighted.model == plain.model == "pitman"
    assert weighted.marketer == pytest.approx(plain.marketer)
    unequal = table.with_columns(weight=pl.Series([10.0] * 7 + [11.0]))
    assert risk.attackers(unequal, Schema.of(quasi=["age"], weight="weight")).model == "negative binomial"


def sparse(n=400, seed=3):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: rng.geometric(0.3, n) for name in ("a", "b", "c")})


def test_every_model_is_told_with_its_interval_and_its_fit():
    table, schema = sparse(), Schema.of(quasi=["a", "b", "c"])
    found = risk.attackers(table, schema, population=8000)
    models = {model.model: model for model in found.models}
    assert list(models) == ["negative binomial", "pitman", "log-linear"]
    for name in ("negative binomial", "log-linear"):
        alone = risk.individual(table, schema, population=8000, model=name)
        model = models[name]
        assert (model.largest, model.mean, model.above_share) == pytest.approx(
            (alone.largest, alone.rate, alone.above_share)
        )
        assert model.population_uniques == pytest.approx(alone.expected_uniques)
    means = [model.mean for model in found.models]
    assert found.spread == (min(means), max(means))
    assert found.largest_spread == (models["negative binomial"].largest, models["log-linear"].largest)
    assert found.worst("largest").model == "log-linear"
    for model in found.models:
        assert model.interval[0] < model.mean < model.interval[1]
    assert models["log-linear"].fits is True


def test_a_model_that_fits_poorly_is_told_and_decides_nothing():
    """Two equal columns: independence expects uniques where there are none."""
    a = np.random.default_rng(1).integers(0, 300, 900)
    table = pl.DataFrame({"a": a, "b": a})
    found = risk.attackers(table, Schema.of(quasi=["a", "b"]), population=9000)
    models = {model.model: model for model in found.models}
    assert models["log-linear"].fits is False
    assert models["log-linear"].largest == found.largest_spread[1]
    assert found.worst("largest").model != "log-linear"


def test_the_interval_covers_what_other_samples_of_the_population_give():
    """95 %, so of 40 samples the first one's interval misses few; the bound is passed by chance once in 10,000."""
    rng = np.random.default_rng(8)
    people = rng.zipf(1.6, 20_000).clip(max=3000)
    schema = Schema.of(quasi=["q"])
    draws = [risk.attackers(pl.DataFrame({"q": rng.choice(people, 800, replace=False)}), schema, 20_000)
             for _ in range(20)]  # fmt: skip
    for place, model in enumerate(("negative binomial", "pitman")):
        middle = np.mean([draw.models[place].mean for draw in draws])
        assert draws[0].models[place].model == model
        inside = sum(lo <= middle <= hi for lo, hi in (draw.models[place].interval for draw in draws))
        assert inside >= 14


def test_weights_that_differ_give_the_log_linear_model_a_fraction_for_each_class():
    """F − f is Poisson with mean μ (1 − p)/p, p the class's own f / Σ weights."""
    table = pl.DataFrame({"a": [1, 1, 2, 2, 3], "b": [1, 2, 1, 2, 1], "w": [2.0, 4.0, 8.0, 16.0, 32.0]})
    schema = Schema.of(quasi=["a", "b"], weight="w")
    found = risk.individual(table, schema, model="log-linear")
    shares = {"a": {1: 0.4, 2: 0.4, 3: 0.2}, "b": {1: 0.6, 2: 0.4}}
    for row, risk_found in zip(table.iter_rows(named=True), found.risks, strict=True):
        v = 5 * shares["a"][row["a"]] * shares["b"][row["b"]] * (row["w"] - 1)
        assert risk_found == pytest.approx((1 - np.exp(-v)) / v)


@pytest.mark.parametrize(
    ("sizes", "N", "mean", "matches", "by_fraction"),
    [((2, 3, 1), 60, 0.09338606, 0.5603163, 0.05), ((1,) * 20 + (2,) * 5 + (3,) * 2, 360, 0.1728308, 6.221908, 0.075)],
)
def test_every_model_is_above_the_sampling_fraction_over_f(sizes, N, mean, matches, by_fraction):
    """E(1/F | f) exceeds 1/(f N/n), by Jensen: the second would give every unique record n/N, however rare it is."""
    table = pl.DataFrame({"q": np.repeat(np.arange(len(sizes)), sizes)})
    found = risk.attackers(table, Schema.of(quasi=["q"]), population=N)
    binomial = found.models[0]
    n = sum(sizes)
    assert binomial.mean == pytest.approx(mean, rel=1e-6)
    assert binomial.mean * n == pytest.approx(matches, rel=1e-6)
    assert len(sizes) / n * n / N == pytest.approx(by_fraction)  # mean of n/(f N) over the records
    assert by_fraction < found.spread[0]
