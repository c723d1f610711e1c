"""Values that are pooled for a few people and published as they are for all others must not come back.

Safe Harbor writes ages over 89 as 90. With one such person, means and deviations of the original, published to three
decimals beside a table in which everything else is exact, gave the person's age to the year.
"""

import json

import numpy as np
import polars as pl
import pytest
from pooling_intruder import OLDEST, TOP, ages_that_fit

import shoal
from shoal.compliance import SafeHarbor

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["cost"])
POOLING = {
    "Safe Harbor": SafeHarbor(allow=("cost",)),
    "a cap": shoal.Recode(steps={"age": {"kind": "cap", "high": TOP}}),
    "Safe Harbor, then k": [SafeHarbor(allow=("cost",)), shoal.Generalize(k=2, limits={"age": 0}, suppression=0.9)],
}


def people(age, n=40):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": [age, *rng.integers(20, 80, n - 1)],
            "sex": rng.choice(["f", "m"], n),
            "cost": rng.integers(100, 900, n),
        }
    )


def published(table, method, folder):
    shoal.coarsen(table, SCHEMA, method, seed=1).write(folder)
    return pl.read_csv(folder / "release.csv"), json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("method", ["Safe Harbor", "a cap"])
def test_nobody_learns_a_pooled_age(method, tmp_path):
    table, manifest = published(people(104), POOLING[method], tmp_path / "out")
    assert (table["age"] == TOP).sum() == 1
    figures = manifest.get("utility", {}).get("moments", {})
    fits = ages_that_fit(table["age"].to_numpy(), [table["cost"].to_numpy()], figures)
    assert fits == list(range(TOP, OLDEST + 1))


def test_the_intruder_can_count(tmp_path):
    """Were the figures published, he would be right to the year or so."""
    table, _ = published(people(104), POOLING["a cap"], tmp_path / "out")
    ages, cost = table["age"].to_numpy(), table["cost"].to_numpy()
    true = np.where(ages == TOP, 104, ages)
    figures = {
        "abim": round(abs(ages.mean() / true.mean() - 1) / 2, 3),
        "abisd": round(abs(ages.std() / true.std() - 1) / 2, 3),
    }
    fits = ages_that_fit(ages, [cost], figures)
    assert 104 in fits
    assert len(fits) <= 3


@pytest.mark.parametrize("method", POOLING)
def test_the_files_are_the_same_whatever_was_pooled(method, tmp_path):
    manifests = [published(people(age), POOLING[method], tmp_path / str(age))[1] for age in (97, 104)]
    for words in manifests:
        assert "utility" not in words
        assert "risk" not in words
    assert manifests[0]["claims"] == manifests[1]["claims"]
    assert manifests[0]["notes"] == manifests[1]["notes"]


def test_steps_that_coarsen_everybody_still_compare(tmp_path):
    _, manifest = published(people(70), shoal.Recode(steps={"age": {"kind": "bins", "width": 10}}), tmp_path / "out")
    assert "utility" in manifest
