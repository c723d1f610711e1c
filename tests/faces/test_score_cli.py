"""`shoal score` from the outside: a model from a file, read and measured; errors as exit codes."""

import json

import pytest
from typer.testing import CliRunner

from shoal.cli.score import app
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.errors import FileError, GuaranteeError, ParameterError, ShoalError

runner = CliRunner()


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path):
    pima_like(300, seed=1).write_csv(tmp_path / "patients.csv")
    pima_like(200, seed=2).write_csv(tmp_path / "new.csv")
    pima_like_schema().write(tmp_path / "schema.toml")
    return tmp_path


def fit(folder, *more, out="model.json"):
    base = ("fit", folder / "patients.csv", "-s", folder / "schema.toml", "-t", "diabetes", "-o", folder / out)
    return run(*base, *more)


def test_fit_explain_evaluate(folder):
    done = fit(folder, "--epsilon", 2, "--limit", 3)
    assert done.exit_code == 0, done.output
    assert "epsilon-DP" in done.output
    assert "left ε = 1" in done.output
    shown = run("explain", folder / "model.json", "--svg", folder / "model.svg")
    assert shown.exit_code == 0
    assert "glucose" in shown.output
    assert "nothing" in shown.output
    assert (folder / "model.svg").read_text().startswith("<svg")
    found = run(
        "evaluate", folder / "model.json", folder / "new.csv", "-t", "diabetes", "--json", folder / "found.json"
    )
    assert found.exit_code == 0
    assert "AUROC" in found.output
    assert 0.4 < json.loads((folder / "found.json").read_text())["auroc"] < 1
    again = fit(folder, "--epsilon", 2, out="again.json")
    assert isinstance(again.exception, GuaranteeError)
    assert not (folder / "again.json").exists()


@pytest.mark.parametrize(
    "more",
    [
        ("-m", "certified-tree", "--depth", 2),
        ("--design", "random"),
        ("-m", "stable-tree"),
        ("-m", "stable-forest", "--alpha", 0.5, "--alpha", 2),
        ("-m", "alpha-tree", "--alpha", 0.5, "--positive", "neg"),
    ],
)
def test_other_models(folder, more):
    done = fit(folder, *more, "--no-account")
    assert done.exit_code == 0, done.output
    words = json.loads((folder / "model.json").read_text())
    assert words["releasable"] == ("stable" not in str(more) and "alpha-tree" not in more)
    assert ("keep inside" in done.output.replace("\n", " ")) != words["releasable"]
    assert not (folder / "patients.csv.budget.json").exists()
    assert run("explain", folder / "model.json").exit_code == 0


def test_a_published_model_names_the_same_data_set_as_a_certified_one(folder):
    """Or its answers would be charged to an account of their own, and the people would pay twice."""
    for model, out in (("certified-forest", "free.json"), ("stable-tree", "priced.json")):
        assert fit(folder, "-m", model, out=out).exit_code == 0
    free, priced = (json.loads((folder / name).read_text())["data"] for name in ("free.json", "priced.json"))
    assert free == priced is not None
    entries = json.loads((folder / "patients.csv.budget.json").read_text())["journal"]["entries"]
    assert len(entries) == 1  # the fit of a published model has no known price
    assert fit(folder, "-m", "alpha-tree", out="plain.json").exit_code == 0
    assert json.loads((folder / "plain.json").read_text())["data"] is None


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (("--epsilon", 0), ParameterError),
        (("--model", "oracle"), ParameterError),
        (("--design", "oracle"), ParameterError),
        (("--positive", "oracle"), ParameterError),
        (("-t", "oracle"), FileError),
    ],
)
def test_wrong_usage(folder, more, error):
    done = fit(folder, *more)
    assert isinstance(done.exception, error)
    assert not (folder / "model.json").exists()
    assert not (folder / "patients.csv.budget.json").exists()


def test_files_in_the_way_and_harmed(folder):
    (folder / "model.json").write_text("{}")
    assert isinstance(fit(folder).exception, FileError)
    assert isinstance(run("explain", folder / "model.json").exception, ShoalError)
    assert isinstance(
        run("evaluate", folder / "model.json", folder / "new.csv", "-t", "diabetes").exception, ShoalError
    )
