"""Linked tables on the command line: from a folder to a folder, verified, or refused with nothing written."""

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import InputError, ParameterError


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "clinic").mkdir()
    for name, table in shoal.datasets.clinic(120, visits=2.0, seed=3).items():
        table.write_csv(tmp_path / "clinic" / f"{name}.csv")
    shoal.datasets.clinic_schema().write(tmp_path / "linked.toml")
    return tmp_path


def run(home, *words):
    return CliRunner().invoke(app, [*words[:1], str(home / "clinic"), "-s", str(home / "linked.toml"), *words[1:]])


def test_from_a_folder_to_a_verified_folder(clinic):
    out = str(clinic / "out")
    events = ("--events", "coarsen-events:k=4,m=1,suppression=0.5")
    done = run(clinic, "coarsen", "--method", "mondrian", "--k", "20", *events, "-o", out)
    assert done.exit_code == 0, done.output
    assert "240 of visits" in done.output
    checked = CliRunner().invoke(app, ["verify", out])
    assert checked.exit_code == 5, checked.output
    assert "linked tables" in checked.output


def test_bad_tables_leave_nothing(clinic):
    path = clinic / "clinic" / "visits.csv"
    path.write_text(path.read_text() + "999999,424242,2021-05-01,surgery,I10,5\n")
    done = run(clinic, "anonymize", "--group", "mdav", "-o", str(clinic / "out"))
    assert isinstance(done.exception, InputError)
    assert "1 orphans" in str(done.exception)
    assert "424242" not in str(done.exception)
    assert not (clinic / "out").exists()
    assert not (clinic / "out.internal").exists()


@pytest.mark.parametrize(
    "words", [("--sample", "50"), ("--target-linkage", "0.1", "-o", "x"), ("--sheet", "a", "-o", "x")]
)
def test_what_is_for_one_table_is_refused(clinic, words):
    done = run(clinic, "anonymize", "--group", "mdav", *words)
    assert isinstance(done.exception, ParameterError)


def test_risk_of_linked_tables(clinic):
    done = run(clinic, "risk", "--k", "3")
    assert done.exit_code == 0, done.output
    assert "knows 1 event" in done.output
    assert "no date" in done.output
    assert "households" in done.output
    broken = run(clinic, "risk", "--fail-above", "events=0.1")
    assert broken.exit_code == 3
    refused = run(clinic, "risk", "--original", str(clinic / "clinic"))
    assert isinstance(refused.exception, ParameterError)
