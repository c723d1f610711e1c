import numpy as np
import polars as pl
import pytest

from shoal import MDAV, Ball, Centroid, GuaranteeError, ParameterError, PushBack, Resample, Schema
from shoal.datasets import health_survey, health_survey_schema
from shoal.release import anonymize_to_linkage


@pytest.fixture(scope="module")
def survey():
    return health_survey(300, seed=2), health_survey_schema()


def test_k_is_raised_until_linkage_is_low(survey):
    release = anonymize_to_linkage(*survey, 0.04, group=MDAV(k=2), mask=Resample(), seed=1)
    assert float(release.risk.linkage) <= 0.08
    assert release.recipe.group.k > 2
    assert any("chosen on pilot releases" in note for note in release.notes)


def test_the_released_permutation_is_not_selected(monkeypatch):
    """Accepting only well-hidden draws would let whoever knows the rule undo them (the bound would break).

    A fair permutation of a group of 6 leaves each number j of members their own values with probability
    D(6 − j) / (j! (6 − j)!), D the derangements: 1 on average. Hiding would make it fewer. The pilots' mean linkage is
    far below the target, so that no k is raised.
    """
    ages = [0, 1, 3, 7, 15, 31, 1000, 1001, 1003, 1007, 1015, 1031]
    table, schema = pl.DataFrame({"age": ages, "who": ages}), Schema.of(quasi=["age"], other=["who"])
    monkeypatch.setattr("shoal.release.risk_target._PILOTS", 6)
    own = 0
    for seed in range(40):
        release = anonymize_to_linkage(table, schema, 0.95, group=MDAV(k=6), mask=Resample(replace=False), seed=seed)
        own += (release.table["age"] == release.table["who"]).sum()
    low, high = limits([265 / 720, 264 / 720, 135 / 720, 40 / 720, 15 / 720, 0, 1 / 720], 80, 1e-7)
    assert low <= own <= high


def limits(law, n, false_alarm):
    """Between which the sum of `n` independent draws of `law` lies, but for `false_alarm`: by repeated convolution."""
    total = np.array([1.0])
    for _ in range(n):
        total = np.convolve(total, law)
    below, above = np.cumsum(total), np.cumsum(total[::-1])[::-1]
    return int(np.argmax(below > false_alarm / 2)), len(total) - 1 - int(np.argmax(above[::-1] > false_alarm / 2))


def test_a_k_that_is_enough_stays(survey):
    assert anonymize_to_linkage(*survey, 0.9, group=MDAV(k=3), mask=Centroid(), seed=1).recipe.group.k == 3


def test_a_target_out_of_reach(survey):
    table, schema = survey
    with pytest.raises(GuaranteeError, match="largest tried"):
        anonymize_to_linkage(table.head(12), schema, 0.0001, group=MDAV(k=2), mask=Resample(), seed=1)


@pytest.mark.parametrize("target", [0, 1, -0.1, "0.1", True, float("nan")])
def test_wrong_targets(survey, target):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        anonymize_to_linkage(*survey, target, group=MDAV(k=2), mask=Resample())


def test_balls_grow_by_their_smallest_size(survey):
    """They have no k of their own: raising it was an internal fault."""
    group, mask = Ball(radius=0.5, minimum=2), [PushBack(), Resample()]
    release = anonymize_to_linkage(*survey, 0.04, group=group, mask=mask, seed=1)
    assert release.recipe.group.minimum > 2
