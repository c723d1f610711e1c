"""`shoal compare` from a file to a page."""

import json

import pytest
import typer
from typer.testing import CliRunner

from shoal.cli import compare
from shoal.comparison import processes
from shoal.datasets import health_survey, health_survey_schema
from shoal.errors import ColumnError, FileError, ParameterError

app = typer.Typer()
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)

RECIPES = """
[[recipe]]
group = "mdav:k=5"
mask = ["centroid"]

[[recipe]]
coarsen = "mondrian:k=20"

[[recipe]]
group = "mdav:k=1000"
mask = "centroid"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    health_survey_schema().write(folder / "schema.toml")
    health_survey(300, seed=1).write_csv(folder / "people.csv")
    (folder / "recipes.toml").write_text(RECIPES)
    return folder


def run(place, *words):
    given = (place / "people.csv", "--schema", place / "schema.toml", "--jobs", 1, "--time-limit", 900, *words)
    return CliRunner().invoke(app, [str(word) for word in given], env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def first(place):
    return run(place, "--recipes", place / "recipes.toml", "--out", place / "out", "--seed", 1, "--risk-limit", 0.1)


def test_it_prints_table_advice_and_where_the_page_lies(place, first):
    assert first.exit_code == 0, first.output
    lines = [" ".join(line.split()) for line in first.output.splitlines()]
    head = next(i for i, line in enumerate(lines) if line == "* on the front found people guessed utility risk")
    assert [line.split(" ")[0] for line in lines[head + 1 : head + 4]] == ["published", "by", "limit"]
    assert lines[head + 3] == "limit 10% – –"
    recipes = [line for line in lines[head + 4 :] if "mondrian:k=20" in line and line.endswith(("good", "bad"))]
    assert recipes
    assert max(len(line) for line in first.output.splitlines()[: head + 6]) <= 80
    assert any(line.startswith("mdav:k=1000, then centroid: refused.") for line in lines)
    assert any(line.startswith("For a re-identification of at most 10%") for line in lines)
    assert f"Page: {place / 'out' / 'comparison.html'}" in first.output
    words = json.loads((place / "out" / "comparison.json").read_text())
    assert [one["state"] for one in words["outcomes"]] == ["done", "done", "refused"]


def test_a_second_run_goes_by_what_is_kept(place, first, monkeypatch):

    monkeypatch.setattr(processes, "worker_command", lambda job: ["/no/such/program"])
    given = ("--recipes", place / "recipes.toml", "--out", place / "out", "--seed", 1)
    assert isinstance(run(place, *given).exception, FileError)
    again = run(place, *given, "--overwrite")
    assert again.exit_code == 0, again.output
    assert "Page:" in again.output


def test_ctrl_c_tells_what_is_kept(place, tmp_path, monkeypatch):
    def stop(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "run", stop)
    stopped = run(place, "--recipes", place / "recipes.toml", "--out", tmp_path / "out")
    assert stopped.exit_code == 130
    assert "run the same command to resume" in " ".join(stopped.output.split())


def test_without_out_nothing_is_written(place, tmp_path, monkeypatch):

    monkeypatch.setattr(processes, "worker_command", lambda job: ["/no/such/program"])
    monkeypatch.chdir(tmp_path)
    result = run(place, "--recipes", place / "recipes.toml")
    assert result.exit_code == 0, result.output
    assert "No recipe could be completed" in result.output
    assert "Nothing was written" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        (("--recipes", "bad.toml"), ParameterError, "recipe 2"),
        (("--recipes", "none.toml"), FileError, "readable"),
        (("--out", "."), ParameterError, "contains it"),
        (("--risk-limit", 2), ParameterError, "limit"),
        (("--time-limit", -1), ParameterError, "time_limit"),
        (("--seed", -1), ParameterError, "seed"),
    ],
    ids=["entry", "no file", "out", "risk", "time", "seed"],
)
def test_wrong_usage_is_told_before_any_work(place, words, kind, told):
    (place / "bad.toml").write_text('[[recipe]]\ncoarsen = "mondrian"\n[[recipe]]\ncoarsen = "mandarin"\n')
    given = [place / word if str(word).endswith(".toml") or word == "." else word for word in words]
    found = run(place, *given).exception
    assert isinstance(found, kind)
    assert told in str(found)


def test_file_and_schema_must_be_given(place):
    assert isinstance(CliRunner().invoke(app, []).exception, ParameterError)
    assert isinstance(CliRunner().invoke(app, [str(place / "people.csv")]).exception, ParameterError)


def test_a_table_that_breaks_its_schema_is_an_error(place, tmp_path):
    text = (place / "people.csv").read_text().replace("female", "SENTINEL", 1)
    (tmp_path / "people.csv").write_text(text)
    words = [tmp_path / "people.csv", "--schema", place / "schema.toml"]
    found = CliRunner().invoke(app, [str(word) for word in words]).exception
    assert isinstance(found, ColumnError)
    assert "SENTINEL" not in str(found)
