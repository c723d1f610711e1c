import json

import numpy as np
import polars as pl
import pytest

from shoal import (
    MDAV,
    Centroid,
    GaussianDither,
    GuaranteeError,
    KMember,
    ParameterError,
    Resample,
    Schema,
    anonymize,
    replay,
    verify,
)
from shoal.datasets import health_survey, health_survey_schema
from shoal.release import write


@pytest.fixture(scope="module")
def survey():
    return health_survey(300, seed=2), health_survey_schema()


def test_round_trip_of_a_table_in_memory(survey, tmp_path):
    table, schema = survey
    release = anonymize(table, schema, group=KMember(k=5), mask=Resample(), seed=3)
    release.write(tmp_path / "out")
    assert pl.read_csv(tmp_path / "out/release.csv").equals(release.table)
    again = replay(tmp_path / "out.internal/replay.toml", table)
    assert again.table.equals(release.table)
    assert verify(tmp_path / "out").holds


def test_a_failing_claim_removes_everything(survey, tmp_path, monkeypatch):
    table, schema = survey
    release = anonymize(table, schema, group=MDAV(k=5), mask=Centroid(), seed=3)
    spoil = write.write_table

    def write_spoilt(frame, path, **options):
        spoil(frame.with_columns(income=pl.Series([*frame["income"][1:], frame["income"][0]])), path, **options)

    monkeypatch.setattr(write, "write_table", write_spoilt)
    with pytest.raises(GuaranteeError, match="income"):
        release.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_k_is_counted_on_the_file(survey, tmp_path, monkeypatch):
    table, schema = survey
    release = anonymize(table, schema, group=MDAV(k=5), mask=Centroid(), seed=3)
    monkeypatch.setattr(write, "smallest_class", lambda *_: 4)
    with pytest.raises(GuaranteeError, match="5-anonymous"):
        release.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_unknown_format(survey, tmp_path):
    table, schema = survey
    with pytest.raises(ParameterError, match="format must be one of"):
        anonymize(table, schema, mask=Centroid(), seed=1).write(tmp_path / "out", format="xls")


def test_manifest_round_trip(survey, tmp_path):
    from shoal import Claim
    from shoal.recipe import read_recipe

    table, schema = survey
    release = anonymize(table, schema, mask=[GaussianDither(alpha=0.2), Centroid()], seed=1)
    release.write(tmp_path / "out", format="parquet")
    words = json.loads((tmp_path / "out/manifest.json").read_text())
    assert read_recipe(words["recipe"]) == release.recipe
    assert tuple(Claim.from_dict(claim) for claim in words["claims"]) == release.claims
    assert words["schema"]["sha256"] == release.schema.fingerprint()


def test_odd_types_survive(tmp_path):
    table = pl.DataFrame(
        {
            "when": ["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"] * 3,
            "flag": [True, False, None] * 4,
            "code": ["01", "02", "03", ""] * 3,
            "kind": ["a", "b", "a", "b"] * 3,
            "note": ["x, y", 'say "hi"', "line\nbreak", " pad "] * 3,
        }
    ).with_columns(pl.col("when").str.to_date(), pl.col("kind").cast(pl.Categorical))
    schema = Schema.of(quasi=["when", "flag", "code", "kind", "note"])
    for ending in ("csv", "tsv", "parquet"):
        release = anonymize(table, schema, group=MDAV(k=3), mask=Resample(), seed=1)
        release.write(tmp_path / ending, format=ending)
        assert verify(tmp_path / ending).holds


def test_external_files_hold_no_identifier(people, people_schema, tmp_path):
    release = anonymize(people, people_schema, group=MDAV(k=4), mask=Resample(), seed=1)
    release.write(tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert "SENTINEL" not in path.read_text(), path.name


def test_numbers_that_share_their_first_digits_can_be_drawn(tmp_path):
    """Edges of bins that agree in three digits were one and the same after rounding, and no bin had a width."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"age": rng.integers(20, 60, 200), "x": rng.normal(12345.678, 1, 200)})
    schema = Schema.of(quasi=["age"], sensitive=["x"])
    anonymize(table, schema, group=MDAV(k=5), mask=Centroid()).write(tmp_path / "out")
    assert "12,345" in (tmp_path / "out" / "report.html").read_text()
