"""`shoal pseudonymize`, and pseudonyms in `shoal anonymize` and `shoal coarsen`."""

import datetime as dt

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import FileError, ParameterError
from shoal.pseudonym import ENVIRONMENT, ProjectKey, Pseudonyms
from shoal.schema import Schema


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(60)]
    table = pl.DataFrame(
        {
            "patient": range(100, 160),
            "name": [f"N{i}" for i in range(60)],
            "age": [20 + i % 30 for i in range(60)],
            "day": days,
        }
    )
    table.write_csv(tmp_path / "people.csv")
    schema = Schema.of(unit="patient", pseudonym=["patient"], identifier=["name"], quasi=["age"], other=["day"])
    schema.write(tmp_path / "schema.toml")
    ProjectKey(bytes(range(32))).write(tmp_path / "project.key")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def shoal(command, folder, *words):
    return run(command, folder / "people.csv", "-s", folder / "schema.toml", *words)


def keyed(folder):
    return ("--pseudonym-key", folder / "project.key", "--scope", "registry")


def expected(folder):
    ids = pl.read_csv(folder / "people.csv")["patient"]
    return Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry").of(ids).to_list()


def test_identifiers_go_pseudonyms_come_and_dates_move(folder):
    out = folder / "p.csv"
    done = shoal("pseudonymize", folder, "-o", out, *keyed(folder), "--shift", "day", "--weeks", 4,
                 "--window", "2024-01-01:2024-12-31")  # fmt: skip
    assert done.exit_code == 0, done.output
    made = pl.read_csv(out, try_parse_dates=True)
    assert made.columns == ["patient", "age", "day"]
    assert made["patient"].to_list() == expected(folder)
    before = pl.read_csv(folder / "people.csv", try_parse_dates=True)["day"]
    assert set((made["day"] - before).dt.total_days()) <= set(range(-28, 29, 7))
    assert "No release" in done.stdout
    assert "leave possible" in done.stdout


def test_a_new_key_is_written_once(folder):
    done = run("pseudonymize", "--new-key", folder / "new.key")
    assert done.exit_code == 0, done.output
    assert ProjectKey.read(folder / "new.key").id in done.stdout
    assert ProjectKey.read(folder / "new.key").secret.hex() not in done.stdout
    assert isinstance(run("pseudonymize", "--new-key", folder / "new.key").exception, FileError)


@pytest.mark.parametrize("command", ["anonymize", "coarsen"])
def test_releases_take_key_and_scope(command, folder, monkeypatch):
    done = shoal(command, folder, "-o", folder / "out", *keyed(folder))
    assert done.exit_code == 0, done.output
    assert set(pl.read_csv(folder / "out/release.csv")["patient"]) <= set(expected(folder))
    monkeypatch.setenv(ENVIRONMENT, bytes(range(32)).hex())
    assert run("verify", folder / "out", "--original", folder / "people.csv").exit_code == 0


def test_a_run_is_repeated_with_the_key_in_a_file(folder):
    assert shoal("anonymize", folder, "-o", folder / "out", *keyed(folder)).exit_code == 0
    words = ("--pseudonym-key", folder / "project.key", "-o", folder / "again")
    done = run("anonymize", "--replay", folder / "out.internal/replay.toml", *words)
    assert done.exit_code == 0, done.output
    assert (folder / "again/release.csv").read_bytes() == (folder / "out/release.csv").read_bytes()


@pytest.mark.parametrize("command", ["anonymize", "coarsen", "pseudonymize"])
def test_without_key_or_scope_nothing_is_written(command, folder):
    for words in ((), ("--scope", "registry"), ("--pseudonym-key", folder / "project.key")):
        done = shoal(command, folder, "-o", folder / "out", *words)
        assert isinstance(done.exception, ParameterError)
        assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--weeks", "4"),
        ("--shift", "day"),
        ("--shift", "day", "--weeks", "4", "--window", "2024"),
        ("--shift", "day", "--weeks", "4", "--window", "2025-01-01:2024-01-01"),
        ("--pseudonym-format", "md5"),
    ],
)
def test_wrong_usage_is_told(folder, words):
    done = shoal("pseudonymize", folder, "-o", folder / "p.csv", *keyed(folder), *words)
    assert isinstance(done.exception, ParameterError)
    assert not (folder / "p.csv").exists()


def test_an_existing_file_is_not_replaced(folder):
    done = shoal("pseudonymize", folder, "-o", folder / "people.csv", *keyed(folder))
    assert isinstance(done.exception, ParameterError)
