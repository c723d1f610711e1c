"""Trials on a sample: they say so, and write nothing that could pass for a release."""

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import health_survey, health_survey_schema
from shoal.errors import ParameterError
from shoal.schema import Schema


@pytest.fixture
def folder(tmp_path):
    health_survey(300, seed=1).write_csv(tmp_path / "people.csv")
    health_survey_schema().write(tmp_path / "schema.toml")
    return tmp_path


def shoal(command, folder, *words):
    file, schema = str(folder / "people.csv"), str(folder / "schema.toml")
    return CliRunner().invoke(app, [command, file, "-s", schema, *map(str, words)])


def trial(command, folder, *words):
    return shoal(command, folder, "--sample", 100, *words)


@pytest.mark.parametrize("command", ["anonymize", "coarsen"])
def test_a_trial_prints_claims_and_measures_and_writes_nothing(command, folder):
    before = sorted(folder.iterdir())
    done = trial(command, folder)
    assert done.exit_code == 0, done.output
    assert "100 of 300 rows" in done.stdout
    assert "found by nearest match" in done.stdout
    assert "preserved" in done.stdout
    assert len(done.stdout.splitlines()) <= 15
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Nothing was written" in done.stdout
    assert "rows released" not in done.stdout
    assert sorted(folder.iterdir()) == before


def test_a_trial_of_a_synthesis_charges_no_account(tmp_path):
    table = pl.DataFrame({"sex": ["f", "m"] * 150, "ill": ["no", "no", "yes"] * 100})
    table.write_csv(tmp_path / "people.csv")
    levels = {"sex": ["f", "m"], "ill": ["no", "yes"]}
    Schema.of(quasi=["sex"], sensitive=["ill"], levels=levels).write(tmp_path / "schema.toml")
    done = trial("synthesize", tmp_path, "--rows", 50)
    assert done.exit_code == 0, done.output
    assert "100 of 300 rows" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "schema.toml"]


@pytest.mark.parametrize("command", ["anonymize", "coarsen", "synthesize"])
def test_a_trial_takes_no_folder(command, folder):
    done = trial(command, folder, "--out", folder / "out")
    assert isinstance(done.exception, ParameterError)
    assert "dry run" in str(done.exception)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("size", [0, -3])
def test_a_sample_has_at_least_a_row(size, folder):
    assert isinstance(shoal("anonymize", folder, "--sample", size).exception, ParameterError)


def test_a_replay_is_no_trial(folder):
    done = CliRunner().invoke(app, ["anonymize", "--replay", str(folder / "replay.toml"), "--sample", "5"])
    assert isinstance(done.exception, ParameterError)
    assert "--sample" in str(done.exception)


def test_a_comparison_on_a_sample_says_so(folder):
    (folder / "recipes.toml").write_text('[[recipe]]\ncoarsen = "mondrian:k=5"\n')
    done = trial("compare", folder, "--recipes", folder / "recipes.toml", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "100 of 300 rows" in done.stdout
