"""What the methods are for, on a simulated survey: the joint distribution preserved, at a bounded risk.

Seeds are fixed, so the tests do not flicker; the margins are several standard deviations wide over seeds.
"""

import numpy as np
import pytest

from shoal import CellDither, Centroid, GaussianDither, KMember, Resample, anonymize, risk, utility
from shoal.datasets import health_survey, health_survey_schema

N = 4000
KS = (5, 50, 200)


@pytest.fixture(scope="module")
def survey():
    return health_survey(N, seed=4), health_survey_schema()


@pytest.fixture(scope="module")
def bootstrap(survey):
    return float(utility.bootstrap_intersection(*survey))


def released(survey, k, mask):
    table, schema = survey
    return anonymize(table, schema, group=KMember(k=k), mask=mask, seed=9)


def kept(survey, k, mask):
    table, schema = survey
    return utility.histogram_intersection(table, released(survey, k, mask).table, schema)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("mask", [Resample(replace=False), GaussianDither(exact=True)])
def test_exact_masks_keep_the_joint_exactly(survey, k, mask):
    assert kept(survey, k, mask) == 1


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("mask", [Resample(), CellDither(), GaussianDither()])
def test_others_keep_at_least_what_a_bootstrap_keeps(survey, bootstrap, k, mask):
    assert kept(survey, k, mask) >= bootstrap - 0.01


def test_centroid_keeps_less_and_less(survey):
    shares = [kept(survey, k, Centroid()) for k in KS]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.6


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("mask", [Resample(), CellDither(), GaussianDither(), GaussianDither(exact=True), Centroid()])
def test_group_formula_is_bounded_for_every_record(survey, k, mask):
    table, schema = survey
    release = released(survey, k, mask)
    found = risk.reidentification(table, release.table, schema, release.source_rows, labels=release.labels, trials=1)
    sizes = np.bincount(release.labels)[release.labels]
    assert np.all(found.by_group.records <= 1 / sizes)
    assert found.by_group.largest <= 1 / k


def test_gaussian_dither_halves_the_risk_of_resampling(survey):
    means = {}
    for mask in (Resample(), GaussianDither(), GaussianDither(exact=True)):
        means[mask] = released(survey, 5, mask).risk.reidentification.by_group.mean
    assert means[GaussianDither()] <= means[Resample()] / 2
    assert means[GaussianDither(exact=True)] <= means[Resample()] / 2


def test_cell_dither_equals_resampling_in_distribution(survey):
    """Theorem 2: both release each value of a group with its share in the group."""
    table, _ = survey
    labels = released(survey, 50, Resample()).labels
    values = table["age_group"].to_numpy()
    for mask in (Resample(), CellDither()):
        release = released(survey, 50, mask)
        assert release.labels.tolist() == labels.tolist()
        back = np.empty(N)
        back[release.source_rows] = release.table["age_group"].to_numpy()
        sums = np.bincount(labels, weights=back - values) / np.sqrt(np.bincount(labels))
        spread = np.array([values[labels == g].std() for g in range(labels.max() + 1)])
        z = sums[spread > 0] / spread[spread > 0]
        assert abs(z.mean()) < 4 / np.sqrt(len(z))
        assert 0.6 < z.std() < 1.4
