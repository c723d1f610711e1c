"""`shoal scan` as a person runs it."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import FileError


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    pl.DataFrame({"email": ["a@sentinel.org", "b@sentinel.org", None], "age": [30, 95, 97]}).write_csv(path)
    return path


def run(*words):
    return CliRunner().invoke(app, ["scan", *[str(word) for word in words]])


def test_table_on_the_screen(people):
    done = run(people)
    assert done.exit_code == 0
    assert "e-mail addresses" in done.stdout
    assert "ages over 89" in done.stdout
    assert "sentinel" not in done.stdout


def test_fail_is_for_pipelines(people, tmp_path):
    assert run(people, "--fail").exit_code == 3
    clean = tmp_path / "clean.csv"
    pl.DataFrame({"sex": ["f", "m", "f"]}).write_csv(clean)
    done = run(clean, "--fail")
    assert done.exit_code == 0
    assert "Nothing was found" in done.stdout


def test_json(people):
    found = json.loads(run(people, "--json").stdout)
    assert found["n_rows"] == 3
    assert [f["n_matching"] for f in found["findings"]] == [2, 2]


def test_help_and_bad_file(tmp_path):
    assert "Examples" in run("--help").stdout
    assert isinstance(run(tmp_path / "none.csv").exception, FileError)
