"""Are predictions as right for one group of members as for another?"""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.shift.parity import parity_of


def test_by_hand():
    """Two groups of 30: one predicted 10 % too dear with no spread, one right on average."""
    costs = np.full(60, 100.0)
    residuals = np.concatenate((np.full(30, 10.0), np.tile([-20.0, 20.0], 15)))
    weights = np.concatenate((np.full(30, 3.0), np.ones(30)))
    groups = {"race": pl.Series("race", ["a"] * 30 + ["b"] * 30)}
    first, second = parity_of(groups, residuals, costs, weights)
    assert (first.level, first.n_members, first.share) == ("a", 30, 0.75)
    assert (first.difference, first.interval, first.verdict) == (0.1, (0.1, 0.1), "too high")
    assert second.difference == pytest.approx(0)
    assert second.interval[1] == pytest.approx(1.96 * 20 / np.sqrt(30) / 100)
    assert second.verdict == "no clear difference"


def test_small_levels_are_taken_together_or_left_out():
    groups = {"x": pl.Series("x", ["a"] * 40 + ["b"] * 20 + ["c"] * 12), "y": pl.Series("y", ["k"] * 60 + [None] * 12)}
    found = parity_of(groups, np.ones(72), np.ones(72), np.ones(72))
    assert [(p.column, p.level, p.n_members) for p in found] == [
        ("x", "a", 40),
        ("x", "all others", 32),
        ("y", "k", 60),
    ]


@pytest.fixture(scope="module")
def scene():
    """Costs depend on a group that the model does not see: it pays half as much as its covariates say."""
    survey, schema = shoal.datasets.health_survey(3000, seed=1), shoal.datasets.health_survey_schema()
    group = np.random.default_rng(1).random(3000) < 0.4
    members = survey.with_columns(cost=pl.when(pl.Series(group)).then(pl.col("cost") * 0.5).otherwise(pl.col("cost")))
    risk = shoal.MarketRisk(shift="ratio").fit(members, survey.drop("cost"), schema)
    return risk, survey.tail(1000).drop("cost"), np.where(group, "less", "more")


def test_a_group_that_is_no_covariate_is_seen(scene):
    risk, new, group = scene
    found = risk.assess(new, bootstrap=2, compare={"access": group}).parity
    assert {p.level: p.verdict for p in found} == {"less": "too high", "more": "too low"}
    assert found[0].actual < found[0].predicted or found[0].level == "more"
    assert sum(p.share for p in found) == pytest.approx(1)


def test_levels_of_a_dummy_coded_covariate_are_right(scene):
    """A model with a term for each level has no difference by level but for what cross-fitting leaves."""
    risk, new, _ = scene
    found = risk.assess(new, bootstrap=2, compare="gender").parity
    assert {p.verdict for p in found} == {"no clear difference"}
    assert risk.assess(new, bootstrap=2).parity == ()


def test_bad_input(scene):
    risk, new, group = scene
    with pytest.raises(ParameterError, match="compare must name quasi-identifiers.*got 'race'"):
        risk.assess(new, compare=["race"])
    with pytest.raises(InputError, match="'access' must have one value for each member; got 5 values for 3000"):
        risk.assess(new, compare={"access": group[:5]})
