"""People found through what no mask touches: the intruder succeeds, and the house measures at least as much."""

from __future__ import annotations

import intruder
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.risk import RiskReport
from shoal.rng import repeatable

MASKS = {
    "centroid": shoal.Centroid(),
    "resample": shoal.Resample(),
    "cell dither": shoal.CellDither(),
    "Gaussian dither": shoal.GaussianDither(),
    "micro-perturb": shoal.MicroPerturb(),
}
METHODS = [*MASKS, "Mondrian"]


def release_of(table: pl.DataFrame, schema: shoal.Schema, method: str) -> shoal.Release:
    grouper = shoal.KMember(k=5, response_weight=0.0)
    with repeatable(1):
        if method == "Mondrian":
            return shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=1)
        return shoal.anonymize(table, schema, group=grouper, mask=MASKS[method], seed=1)


def assert_house_measures(risk: RiskReport, reached: float) -> None:
    assert risk.unchanged.interval is not None
    assert risk.unchanged.interval[1] >= reached


@pytest.mark.parametrize("method", [name for name in METHODS if name != "Gaussian dither"])
def test_eclampsia_finds_every_woman(method: str) -> None:
    # Mondrian may class women of several towns together, unless there are too few of them for a class.
    table, quasi = intruder.eclampsia_table(towns=4 if method == "Mondrian" else 40)
    release = release_of(table, shoal.Schema.of(quasi=quasi, sensitive=["ill"]), method)
    gap = intruder.mismatches(table, release.table, intruder.LOCATION)
    hit = intruder.found_by_rule(gap, release.table["ill"].to_numpy(), table["ill"].to_numpy(), release.source_rows)
    assert hit[(table["sex"] == "f").to_numpy()].mean() == 1.0
    assert hit.mean() == pytest.approx(0.4)
    risk = release.risk
    assert_house_measures(risk, hit.mean())
    assert risk.unchanged.surest >= 0.95
    assert risk.unchanged.expected == pytest.approx(0.4, abs=0.05)
    assert risk.unchanged.baseline < 0.27
    assert risk.reidentification.by_group.largest <= 0.2  # what is proved holds: for the quasi-identifiers alone


def test_gaussian_dither_spreads_the_women_over_towns_and_both_say_so() -> None:
    table, quasi = intruder.eclampsia_table()
    release = release_of(table, shoal.Schema.of(quasi=quasi, sensitive=["ill"]), "Gaussian dither")
    gap = intruder.mismatches(table, release.table, intruder.LOCATION)
    hit = intruder.found_by_rule(gap, release.table["ill"].to_numpy(), table["ill"].to_numpy(), release.source_rows)
    assert_house_measures(release.risk, hit.mean())


@pytest.mark.parametrize("method", METHODS)
def test_weights_made_of_cells_find_people_with_certainty(method: str) -> None:
    table, quasi = intruder.weighted_table()
    release = release_of(table, shoal.Schema.of(quasi=quasi, weight="weight"), method)
    gap = intruder.distances(table, release.table, "age")
    hit = intruder.found_by_rule(
        gap, release.table["weight"].to_numpy(), table["weight"].to_numpy(), release.source_rows
    )
    assert hit.max() == 1.0
    assert_house_measures(release.risk, hit.mean())
    assert release.risk.unchanged.largest == 1.0
    assert {found.column for found in release.risk.dependences} == {"weight"}
    assert {found.direction for found in release.risk.dependences} == {"determined", "tells"}
    assert all(found.quasi == ("area", "sex") and found.exact for found in release.risk.dependences)


@pytest.mark.parametrize("method", METHODS)
def test_independent_columns_raise_no_alarm(method: str) -> None:
    rng = np.random.default_rng(3)
    n = 600
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "area": rng.choice(list("abcdef"), n),
            "ill": rng.choice([f"code {i}" for i in range(25)], n),
            "cost": rng.lognormal(size=n),
            "weight": rng.choice([1.5, 2.5, 4.0], n),
        }
    )
    schema = shoal.Schema.of(quasi=["age", "sex", "area"], sensitive=["ill", "cost"], weight="weight")
    risk = release_of(table, schema, method).risk
    low, high = risk.unchanged.interval
    assert low <= risk.unchanged.baseline <= high
    assert low <= 0.2
    assert risk.dependences == ()


def test_a_leaning_that_is_no_rule_is_learnt_from_other_people() -> None:
    rng = np.random.default_rng(8)
    table, quasi = intruder.eclampsia_table(towns=80)
    woman = (table["sex"] == "f").to_numpy()
    often = rng.random(len(table)) < np.where(woman, 0.8, 0.05)
    table = table.with_columns(ill=pl.Series(np.where(often, "anaemia", "none")))
    risk = release_of(table, shoal.Schema.of(quasi=quasi, sensitive=["ill"]), "centroid").risk
    assert risk.dependences == ()
    # A woman with anaemia is one of about 1.2 such rows of her town: about 0.8 x 0.9 for women, a quarter for men.
    assert risk.unchanged.interval[0] > 0.2
    assert risk.unchanged.surest > 0.5
