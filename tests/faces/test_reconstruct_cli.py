"""`shoal reconstruct` from files to values."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets.inpatients import inpatient
from shoal.errors import ColumnError, FileError, InputError, ParameterError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("reconstruct")
    table = inpatient(600, seed=1).with_columns(w=pl.Series(np.linspace(0.5, 2, 600)))
    table.drop("charge").write_csv(place / "people.csv")
    for name in ("county", "hospital"):
        table.group_by(name).agg(
            avg_charge=pl.col("charge").mean(),
            sum_charge=pl.col("charge").sum(),
            mid_charge=pl.col("charge").median(),
            people=pl.len(),
            weighted=(pl.col("charge") * pl.col("w")).sum() / pl.col("w").sum(),
        ).write_csv(place / f"{name}.csv")
    return place


def call(folder, *words):
    given = [str(folder / word) if str(word).endswith(".csv") and "/" not in str(word) else str(word) for word in words]
    return CliRunner().invoke(app, ["reconstruct", str(folder / "people.csv"), *given])


COUNTY = ("--aggregate", "county.csv", "--by", "county", "--value", "avg_charge", "-x", "days", "-x", "unit")


def means(table, by, column="avg_charge", w=None):
    weight = pl.lit(1.0) if w is None else pl.col(w)
    return (
        table.group_by(by)
        .agg(((pl.col(column) * weight).sum() / weight.sum()).alias("m") if w else pl.col(column).mean().alias("m"))
        .sort(by)["m"]
    )


def test_values_are_written_with_the_published_means(folder, tmp_path):
    out = tmp_path / "values.csv"
    result = call(folder, *COUNTY, "--log", "--count", "people", "--out", out)
    assert result.exit_code == 0, result.output
    for word in ("PseudoInverse", "RidgeEcological", "of Ludia (written)", "Cudia", "can't tell", "ecological fallacy"):
        assert word in " ".join(result.output.split())
    written = pl.read_csv(out)
    assert (written["avg_charge"] > 0).all()
    published = pl.read_csv(folder / "county.csv").sort("county")
    np.testing.assert_allclose(means(written, "county"), published["avg_charge"], rtol=1e-8)
    assert written.drop("avg_charge").equals(pl.read_csv(folder / "people.csv"))
    assert isinstance(call(folder, *COUNTY, "--out", out).exception, FileError)
    assert call(folder, *COUNTY, "--out", out, "--overwrite").exit_code == 0


def test_medians(folder, tmp_path):
    out = tmp_path / "values.csv"
    words = ("--aggregate", "county.csv", "--by", "county", "--value", "mid_charge", "-x", "days", "--median")
    result = call(folder, *words, "--out", out)
    assert result.exit_code == 0, result.output
    assert "their means are not known" in " ".join(result.output.split())
    found = pl.read_csv(out).group_by("county").agg(pl.col("mid_charge").median()).sort("county")["mid_charge"]
    np.testing.assert_allclose(found, pl.read_csv(folder / "county.csv").sort("county")["mid_charge"], rtol=1e-8)
    assert isinstance(call(folder, *words, "--total").exception, ParameterError)


def test_stacked_sets_totals_weights_and_json(folder, tmp_path):
    out = tmp_path / "values.parquet"
    sets = ("--aggregate", "county.csv", "--by", "county", "--aggregate", "hospital.csv", "--by", "hospital")
    result = call(folder, *sets, "--value", "sum_charge", "--total", "-x", "days", "--name", "charge", "-o", out,
                  "--method", "ludia:iterations=5,correct=yes", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told["written"] == "Ludia"
    assert told["can_tell"]
    assert all(item["held_out_error"] > 0 for item in told["methods"] if item["method"] != "CrossedRegression")
    ludia = next(item for item in told["methods"] if item["method"] == "Ludia")
    assert ludia["parameters"]["iterations"] == 5
    assert any("adds nothing" in text for text in ludia["warnings"])
    written = pl.read_parquet(out)
    published = pl.read_csv(folder / "hospital.csv").sort("hospital")
    np.testing.assert_allclose(means(written, "hospital", "charge"), published["avg_charge"], rtol=1e-8)
    weighted = ("--aggregate", "county.csv", "--by", "county", "--value", "weighted", "--weight", "w")
    assert call(folder, *weighted, "-x", "days", "-o", tmp_path / "w.csv").exit_code == 0
    found = means(pl.read_csv(tmp_path / "w.csv"), "county", "weighted", "w")
    np.testing.assert_allclose(found, pl.read_csv(folder / "county.csv").sort("county")["weighted"], rtol=1e-8)


def test_several_columns_are_rebuilt_together(folder, tmp_path):
    out = tmp_path / "values.csv"
    sets = ("--aggregate", "county.csv", "--by", "county", "--aggregate", "hospital.csv", "--by", "hospital")
    words = (*sets, "--value", "avg_charge, mid_charge", "-x", "days", "--method", "ludia", "--name", "charge, middle")
    result = call(folder, *words, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.output.count("values by method") == 2
    assert result.output.count("ecological fallacy") == 1
    written, published = pl.read_csv(out), pl.read_csv(folder / "hospital.csv").sort("hospital")
    np.testing.assert_allclose(means(written, "hospital", "charge"), published["avg_charge"], rtol=1e-8)
    assert written.columns[-2:] == ["charge", "middle"]
    told = json.loads(call(folder, *words, "--json").output)
    assert list(told["columns"]) == ["charge", "middle"]
    assert all(len(item["methods"]) == 6 and item["can_tell"] for item in told["columns"].values())
    for names in ("charge", "charge,"):
        assert "--name" in str(call(folder, *words[:-1], names).exception)


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        (("--method", "magic"), ParameterError, "--method"),
        (("--method", "ridge:penalty=-1"), ParameterError, "penalty"),
        (("--by", "hospital"), ParameterError, "--by"),
        (("--value", "people", "--value", "people"), ParameterError, "--value"),
        (("-x", "height"), ParameterError, "--covariate"),
        (("--weight", "height"), ParameterError, "--weight"),
        (("--count", "height"), ColumnError, "height"),
        (("--name", "days"), InputError, "already"),
    ],
)
def test_wrong_words(folder, words, error, match):
    result = call(folder, *COUNTY, *words)
    assert isinstance(result.exception, error)
    assert match in str(result.exception)


def test_a_group_without_an_aggregate_is_refused_and_nothing_written(folder, tmp_path):
    pl.read_csv(folder / "county.csv").head(5).write_csv(tmp_path / "few.csv")
    words = ("--aggregate", tmp_path / "few.csv", "--by", "county", "--value", "avg_charge", "-o", tmp_path / "out.csv")
    result = call(folder, *words)
    assert isinstance(result.exception, InputError)
    assert "7 of 12 groups" in str(result.exception)
    assert not (tmp_path / "out.csv").exists()


def test_the_study_runs_and_says_what_it_found(tmp_path, monkeypatch):
    from shoal.aggregate import Cudia
    from shoal.cli.study import app as study
    from shoal.study import ludia

    monkeypatch.setattr(ludia, "_MANY", ((8, 10),))
    monkeypatch.setattr(ludia, "KNOB", (1, 5))
    monkeypatch.setitem(ludia.METHODS, "CUDIA", Cudia(restarts=1, iterations=2, sweeps=2))
    inpatient(200).drop("zip", "race").rename({"days": "los"}).write_csv(tmp_path / "stays.csv")
    words = ["--runs", "1", "--size", "10", "--data", str(tmp_path / "stays.csv"), "--by", "county"]
    words += ["--days", "los", "-x", "los", "-x", "severity"]
    result = CliRunner().invoke(study, ["ludia", "--out", str(tmp_path / "study"), *words])
    assert result.exit_code == 0, result.output
    assert "one draw: no" in result.output
    assert (tmp_path / "study/report.html").exists()
    again = CliRunner().invoke(study, ["ludia", "--out", str(tmp_path / "study")])
    assert isinstance(again.exception, FileError)


def test_exposure_is_told(capsys):
    from shoal.cli.risk_screen import exposure, tell_exposure
    from shoal.datasets.inpatients import inpatient_schema

    tell_exposure(exposure(inpatient(200), inpatient_schema(), ["county,hospital"]))
    told = capsys.readouterr().out
    for word in ("overall mean", "RidgeEcological", "within 10%", "county, hospital", "OpenDP"):
        assert word in told
