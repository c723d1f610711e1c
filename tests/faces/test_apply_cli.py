"""`shoal coarsen --policy` and `shoal apply`."""

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import GuaranteeError, ParameterError
from shoal.schema import Schema


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame({"age": [20 + i % 60 for i in range(300)], "ill": [i % 2 for i in range(300)]}).write_csv(
        tmp_path / "old.csv"
    )
    hierarchies = {"age": {"kind": "intervals", "widths": [10, 20]}}
    Schema.of(quasi=["age"], sensitive=["ill"], hierarchies=hierarchies).write(tmp_path / "schema.toml")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def fitted(folder, *words):
    where = ("-o", folder / "old", "--policy", folder / "policy.json")
    return run("coarsen", folder / "old.csv", "-s", folder / "schema.toml", *where, *words)


def test_levels_chosen_once_are_used_on_new_rows(folder):
    done = fitted(folder, "--method", "generalize", "--k", "10")
    assert done.exit_code == 0, done.output
    assert "policy.json" in done.stdout.replace("\n", "")
    pl.DataFrame({"age": [33] * 12, "ill": [0] * 12}).write_csv(folder / "new.csv")
    done = run("apply", folder / "policy.json", folder / "new.csv", "-o", folder / "new")
    assert done.exit_code == 0, done.output
    assert pl.read_csv(folder / "new/release.csv")["age"].unique().to_list() == ["30-39"]
    assert "k-anonymity" in done.stdout


def test_where_k_no_longer_holds_nothing_is_written(folder):
    assert fitted(folder, "--method", "generalize", "--k", "10").exit_code == 0
    pl.DataFrame({"age": [33] * 9, "ill": [0] * 9}).write_csv(folder / "new.csv")
    done = run("apply", folder / "policy.json", folder / "new.csv", "-o", folder / "new")
    assert isinstance(done.exception, GuaranteeError)
    assert done.exception.exit_code == 3
    assert not (folder / "new").exists()


def test_a_policy_is_for_generalize_and_never_replaced(folder):
    assert isinstance(fitted(folder, "--method", "mondrian").exception, ParameterError)
    (folder / "policy.json").write_text("mine")
    assert isinstance(fitted(folder, "--method", "generalize").exception, ParameterError)
    assert (folder / "policy.json").read_text() == "mine"
    assert not (folder / "old").exists()


def test_a_trial_writes_no_policy(folder):
    words = (
        "-s",
        folder / "schema.toml",
        "--method",
        "generalize",
        "--sample",
        100,
        "--policy",
        folder / "policy.json",
    )
    assert isinstance(run("coarsen", folder / "old.csv", *words).exception, ParameterError)
    assert not (folder / "policy.json").exists()
