import pytest

from shoal import MDAV, Centroid, GuaranteeError, ParameterError, Resample
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
    """Accepting only well-hidden draws would let whoever knows the rule undo them (the bound would break)."""
    import polars as pl

    from shoal import Schema

    table, schema = (
        pl.DataFrame({"age": [0, 1, 10, 100, 101, 110], "who": range(6)}),
        Schema.of(quasi=["age"], other=["who"]),
    )
    monkeypatch.setattr("shoal.release.target._PILOTS", 8)
    seeds = range(40)
    hits = 0
    for seed in seeds:
        release = anonymize_to_linkage(table, schema, 0.85, group=MDAV(k=3), mask=Resample(replace=False), seed=seed)
        hits += release.table.filter(pl.col("age") == 10)["who"][0] == 0
    assert 4 <= hits <= 23  # binomial(40, 1/3): false alarm below 1 in 1,000


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
