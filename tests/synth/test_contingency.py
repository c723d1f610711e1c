"""The full contingency table beside counts by hand, and Bayesian bootstraps beside their posteriors."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from shoal import ParameterError, Schema
from shoal.frame import enter
from shoal.schema.constraint import Rule
from shoal.synth import ContingencyTable, MarginalBootstrap, MultipleImputation, load
from shoal.synth.bootstrap import _posterior
from shoal.synth.multiple_imputation import _resampled

SCHEMA = Schema.of(quasi=["a", "b"], sensitive=["c"], levels={"a": range(2), "b": range(3), "c": ["x", "y"]})


def table(n=600, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    return pl.DataFrame({"a": a, "b": (a + rng.integers(0, 2, n)) % 3, "c": np.where(rng.random(n) < 0.3, "x", "y")})


def test_shares_are_those_of_the_combinations():
    rows = table()
    model = ContingencyTable(epsilon=None).fit(rows, SCHEMA)
    by_hand = [
        rows.filter(pl.col("a") == a, pl.col("b") == b, pl.col("c") == c).height / 600
        for a, b, c in product(range(2), range(3), ["x", "y"])
    ]
    assert model.shares == pytest.approx(by_hand)
    assert (model.claims, model.spent, model.releasable) == ((), None, False)
    known = set(rows.iter_rows())
    assert set(model.sample(300, seed=1).iter_rows()) <= known


def test_noise_is_that_of_one_table(tmp_path):
    """Twelve cells with discrete Laplace noise of scale 1/ε: 0.2 records of standard deviation each at ε = 5."""
    model = ContingencyTable(epsilon=5.0).fit(table(), SCHEMA)
    exact = ContingencyTable(epsilon=None).fit(table(), SCHEMA).shares
    assert np.abs(model.shares - exact).max() < 6 / 600
    assert str(model.spent) == "ε = 5"
    assert [claim.basis for claim in model.claims] == ["proved"]
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").sample(40, seed=1).equals(model.sample(40, seed=1))


def test_a_small_epsilon_still_gives_a_distribution():
    shares = ContingencyTable(epsilon=0.001).fit(table(20), SCHEMA).shares
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)


def test_details_are_drawn_given_what_is_there(make_frame):
    """The second of two steps: codes of their category, in the shares that they have there."""
    rng = np.random.default_rng(3)
    group = rng.choice(["g0", "g1", "g2"], 900)
    code = [f"{g}-{rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])}" for g in group]
    detailed = pl.DataFrame({"group": group, "code": code})
    levels = {"group": ["g0", "g1", "g2", "g3"], "code": sorted(set(code))}
    model = ContingencyTable(epsilon=50.0).fit(detailed, Schema.of(quasi=["group", "code"], levels=levels))
    coarse = pl.DataFrame({"age": range(2000), "group": ["g0", "g1"] * 1000})
    out = model.given(make_frame(coarse), seed=1)
    assert type(out) is type(make_frame(coarse))
    rows = enter(out).to_polars()
    assert rows.columns == ["age", "group", "code"]
    assert rows["age"].to_list() == list(range(2000))
    assert (rows["group"] == rows["code"].str.slice(0, 2)).mean() > 0.99
    assert (rows["code"].str.slice(3) == "0").mean() == pytest.approx(0.7, abs=0.06)
    unseen = model.given(pl.DataFrame({"group": ["g3"] * 50}), seed=1)
    assert unseen["code"].n_unique() > 3, "a combination that the model lacks takes the margin"
    with pytest.raises(ParameterError, match="some of the model's columns and lack some"):
        model.given(pl.DataFrame({"age": [1]}))


def test_what_a_rule_forbids_has_no_share():
    never = Rule.from_dict({"never": {"a": [0], "b": [2]}})
    rows = table().filter(~((pl.col("a") == 0) & (pl.col("b") == 2)))
    model = ContingencyTable(epsilon=0.05).fit(rows, Schema(SCHEMA.columns, rules=(never,)))
    assert (model.shares.reshape(2, 3, 2)[0, 2] == 0).all()
    assert model.shares.sum() == pytest.approx(1)


def test_too_many_combinations_are_refused():
    wide = pl.DataFrame({f"c{i}": [0, 1] for i in range(8)})
    schema = Schema.of(quasi=wide.columns, levels={name: range(20) for name in wide.columns})
    with pytest.raises(ParameterError, match="at most 2,000,000 combinations"):
        ContingencyTable().fit(wide, schema)


def test_the_bayesian_bootstrap_draws_from_its_posterior():
    rng, counts = np.random.default_rng(1), np.array([30.0, 60.0, 0.0, 10.0])
    drawn = np.array([_posterior(counts, rng) for _ in range(4000)])
    p = counts / 100
    assert drawn.mean(axis=0) == pytest.approx(p, abs=0.003)
    assert drawn.var(axis=0) == pytest.approx(p * (1 - p) / 101, rel=0.12)
    assert (drawn[:, 2] == 0).all()


def test_files_of_the_bayesian_bootstrap_differ_more(tmp_path):
    model = MarginalBootstrap(epsilon=None, bayesian=True).fit(table(60), SCHEMA)
    plain = MarginalBootstrap(epsilon=None).fit(table(60), SCHEMA)
    spread = [np.std([(m.sample(4000, seed=k)["c"] == "x").mean() for k in range(25)]) for m in (model, plain)]
    assert spread[0] > 3 * spread[1]
    model.save(tmp_path / "model.json", internal=True)
    assert load(tmp_path / "model.json").bayesian
    with pytest.raises(ParameterError, match="bayesian needs exact margins"):
        MarginalBootstrap(bayesian=True).price()


def test_rows_of_the_approximate_bayesian_bootstrap_vary_twice_as_much():
    rng = np.random.default_rng(2)
    counts = [np.bincount(_resampled(200, bayesian, rng), minlength=200) for bayesian in [True, False] * 100]
    assert np.var(counts[0::2]) == pytest.approx(2 * 200 / 201, rel=0.1)
    assert np.var(counts[1::2]) == pytest.approx(1, rel=0.1)
    sets = MultipleImputation(K=2, resample="bayesian").fit(table(100), SCHEMA, seed=1).sets(50, seed=1)
    assert [rows.shape for rows in sets] == [(50, 3)] * 2
