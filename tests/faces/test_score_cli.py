"""`shoal score` from the outside: a model from a file, read and measured; errors as exit codes."""

import json

import pytest
from typer.testing import CliRunner

from shoal.cli.score import app
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import Account
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
    found = run("evaluate", folder / "model.json", folder / "new.csv", "-t", "diabetes", "--out", folder / "found.json")
    assert found.exit_code == 0
    assert "AUROC" in found.output
    assert 0.4 < json.loads((folder / "found.json").read_text())["auroc"] < 1
    again = fit(folder, "--epsilon", 2, out="again.json")
    assert isinstance(again.exception, GuaranteeError)
    assert not (folder / "again.json").exists()


def test_a_number_and_why(folder):
    base = ("fit", folder / "patients.csv", "-s", folder / "schema.toml", "-m", "certified-regressor")
    done = run(*base, "-t", "glucose", "-o", folder / "sugar.json", "--epsilon", 2, "--limit", 3)
    assert done.exit_code == 0, done.output
    assert "expected value" in done.output
    found = run("evaluate", folder / "sugar.json", folder / "new.csv", "-t", "glucose", "--out", folder / "found.json")
    assert found.exit_code == 0, found.exception
    assert "R²" in found.output
    assert set(json.loads((folder / "found.json").read_text())) == {"n", "r2", "rmse", "mae", "bias"}
    person = pima_like(1, seed=9).drop("glucose").row(0, named=True)
    (folder / "person.json").write_text(json.dumps(person))
    shown = run("explain", folder / "sugar.json", "--person", folder / "person.json")
    assert shown.exit_code == 0, shown.exception
    assert "glucose" in shown.output
    assert "costs nothing" in shown.output
    (folder / "person.json").write_text("[1]")
    wrong = run("explain", folder / "sugar.json", "--person", folder / "person.json")
    assert isinstance(wrong.exception, FileError)


def test_several_classes(folder):
    import polars as pl

    from shoal import Schema

    kinds = ["low", "middle", "high"]
    for name, seed in (("patients", 1), ("new", 2)):
        table = pima_like(300, seed=seed)
        kind = [kinds[(m >= 28) + (m >= 34)] for m in table["mass"]]
        table.drop("mass").with_columns(pl.Series("kind", kind)).write_csv(folder / f"{name}.csv")
    words = pima_like_schema().to_dict()
    words["columns"]["kind"] = {"role": "sensitive", "kind": "ordinal", "levels": kinds}
    Schema.from_dict(words).write(folder / "schema.toml")
    base = ("fit", folder / "patients.csv", "-s", folder / "schema.toml", "-t", "kind", "-o", folder / "kind.json")
    done = run(*base, "--epsilon", 2, "--positive", "low")
    assert done.exit_code == 0, done.exception
    assert json.loads((folder / "kind.json").read_text())["classes"] == ["middle", "high", "low"]
    found = run("evaluate", folder / "kind.json", folder / "new.csv", "-t", "kind")
    assert found.exit_code == 0, found.exception
    assert "AUROC of low" in found.output


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
    assert ("(internal)" in done.output.replace("\n", " ")) != words["releasable"]
    assert not (folder / "patients.csv.budget.json").exists()
    assert run("explain", folder / "model.json").exit_code == 0


def test_a_published_model_names_the_same_data_set_as_a_certified_one(folder):
    """Or its answers would be charged to an account of their own, and the people would pay twice."""
    for model, out in (("certified-forest", "free.json"), ("stable-tree", "priced.json")):
        assert fit(folder, "-m", model, out=out).exit_code == 0
    free, priced = (json.loads((folder / name).read_text())["data"] for name in ("free.json", "priced.json"))
    assert free == priced is not None
    assert len(Account.open(folder / "patients.csv").entries) == 1  # the fit of a published model has no known price
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


def test_a_folder_that_is_not_there_is_noticed_before_anything_is_paid(folder):
    """The fit was charged, and then there was nowhere to write the model."""
    done = fit(folder, out="nowhere/model.json")
    assert isinstance(done.exception, FileError)
    assert not (folder / "patients.csv.budget.json").exists()


def test_files_in_the_way_and_harmed(folder):
    (folder / "model.json").write_text("{}")
    assert isinstance(fit(folder).exception, FileError)
    assert isinstance(run("explain", folder / "model.json").exception, ShoalError)
    assert isinstance(
        run("evaluate", folder / "model.json", folder / "new.csv", "-t", "diabetes").exception, ShoalError
    )


def test_a_corrected_file_brings_no_fresh_budget(folder):
    """The data set's name was the hash of the content: one newline more, and a service began a new account."""
    assert fit(folder, "-m", "stable-tree", out="one.json").exit_code == 0
    with open(folder / "patients.csv", "a") as file:
        file.write("\n")
    assert isinstance(fit(folder, "-m", "stable-tree", out="two.json").exception, FileError)
    done = fit(folder, "-m", "stable-tree", "--corrected", out="two.json")
    assert done.exit_code == 0, done.exception
    one, two = (json.loads((folder / name).read_text())["data"] for name in ("one.json", "two.json"))
    assert one == two


def test_fits_and_synthesis_share_one_limit_and_say_so(folder):
    assert fit(folder, "--epsilon", 2, "--limit", 3).exit_code == 0
    account = Account.open(folder / "patients.csv")
    account.ledger.reserve(account.data_set, 0.75)
    done = fit(folder, "--epsilon", 0.2, out="b.json")
    assert "spent ε = 2.2, reserved ε = 0.75, left ε = 0.05" in " ".join(done.output.split())
    refused = fit(folder, "--epsilon", 0.1, out="c.json")
    assert isinstance(refused.exception, GuaranteeError)


def test_exact_counts_are_for_their_owner_only(folder):
    assert fit(folder, "-m", "stable-tree").exit_code == 0
    assert (folder / "model.json").stat().st_mode & 0o777 == 0o600


def test_whoever_stops_a_run_hears_what_it_spent(tmp_path):
    import subprocess
    import sys

    (tmp_path / "data.csv").write_text("a\n1\n")
    script = """
import os, signal, sys
from shoal.cli import main
from shoal.cli.lazy import as_command
from shoal.dp import Account, Budget

def stopped():
    Account.open(sys.argv[1], limit=Budget(epsilon=1)).charge(Budget(epsilon=0.25), purpose="x")
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))

main.app = lambda: as_command("stopped", stopped)(args=[], prog_name="shoal")
main.run()
"""
    for name, code in (("SIGINT", 130), ("SIGTERM", 143)):
        words = [sys.executable, "-c", script, str(tmp_path / "data.csv"), name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "nothing was written" not in done.stderr
        assert "the charge stands: ε = 0.25 on data.csv" in done.stderr
