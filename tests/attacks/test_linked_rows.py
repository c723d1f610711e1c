"""Each row hides among k persons; all rows of a person together hide among nobody, if a column ties them.

A hundred people with four admissions each, and a height that is published as it is. Every class held five persons, the
bound said 0.2, the measured attacks found 8 to 16 of 100 people; the intruder finds each of them, with certainty.
"""

import numpy as np
import polars as pl
import pytest
from bundle_intruder import bundles, values_that_fit

import shoal

PEOPLE, ROWS = 100, 4
QUASI = ["day", "age"]
SCHEMA = shoal.Schema.of(unit="person", quasi=QUASI, sensitive=["height"])
METHODS = {"Mondrian": shoal.Mondrian(k=5), "Generalize": shoal.Generalize(k=5)}


def admissions(seed=0):
    rng = np.random.default_rng(seed)
    n = PEOPLE * ROWS
    return pl.DataFrame(
        {
            "person": np.repeat(np.arange(PEOPLE), ROWS),
            "day": rng.integers(0, 365, n),
            "age": rng.integers(20, 80, n),
            "height": np.repeat(rng.permutation(PEOPLE) + 1000, ROWS),
        }
    )


def found_by_intruder(table, release):
    seen = bundles(release, QUASI, "height")
    hits = []
    for (_,), rows in table.group_by("person"):
        fits = values_that_fit(rows.select(QUASI).rows(), seen)
        hits.append((rows["height"][0] in fits) / max(1, len(fits)))
    return np.mean(hits)


@pytest.mark.parametrize("method", METHODS)
def test_the_measured_attack_finds_whom_the_intruder_finds(method):
    table = admissions()
    release = shoal.coarsen(table, SCHEMA, METHODS[method], seed=1)
    by_intruder = found_by_intruder(table, release.table)
    assert by_intruder == 1.0
    assert release.risk.unchanged.expected >= by_intruder - 1e-9
    assert release.risk.unchanged.surest == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_says_what_it_assumes(method):
    release = shoal.coarsen(admissions(), SCHEMA, METHODS[method], seed=1)
    bound = next(claim for claim in release.claims if claim.kind == "re-identification bound")
    assert any("Rows of one person are not put together" in text for text in bound.assumptions)


def test_masks_are_tried_by_whole_people_too():
    """Groups of people whose rows are far apart have centres that fit nobody: single rows find few, all more."""
    release = shoal.anonymize(admissions(), SCHEMA, group=shoal.MDAV(k=5), mask=shoal.Centroid(), seed=1)
    assert release.risk.unchanged.expected > 3 * release.risk.reidentification.expected


def test_a_column_that_changes_from_row_to_row_ties_nothing():
    table = admissions().with_columns(height=pl.Series(np.random.default_rng(5).integers(1000, 1100, PEOPLE * ROWS)))
    release = shoal.coarsen(table, SCHEMA, METHODS["Mondrian"], seed=1)
    assert release.risk.unchanged.expected < 0.4


def test_one_row_a_person_ties_nothing():
    table = admissions().group_by("person", maintain_order=True).first()
    release = shoal.coarsen(table, SCHEMA, METHODS["Mondrian"], seed=1)
    assert release.risk.unchanged.expected < 0.4
