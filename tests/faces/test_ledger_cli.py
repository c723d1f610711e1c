"""`shoal ledger` from the outside: one book, its checks and its copies."""

import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

import earlier

from shoal.cli.main import app
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import Budget
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger import Charge, Keys, Ledger

runner = CliRunner()


def shoal(*words):
    return runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def room(tmp_path):
    pima_like(200, seed=1).write_csv(tmp_path / "patients.csv")
    pima_like_schema().write(tmp_path / "schema.toml")
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert shoal("ledger", "create", "--ledger", url).exit_code == 0
    return tmp_path, url


def fit(room, *more, out="model.json"):
    folder, url = room
    base = ("score", "fit", folder / "patients.csv", "-s", folder / "schema.toml", "-t", "diabetes", "-o", folder / out)
    return shoal(*base, "--ledger", url, *more)


def accounts(url):
    return json.loads(shoal("ledger", "show", "--json", "--ledger", url).stdout)["accounts"]


def test_one_book_from_fit_to_restore(room):
    folder, url = room
    assert fit(room, "--epsilon", 2, "--limit", 5).exit_code == 0
    [data] = [a for a in accounts(url) if a["kind"] == "data"]
    assert (data["label"], data["limit"], data["spent"], data["left"]) == ("patients.csv", "5", "2", "3")
    told = shoal("ledger", "reserve", data["name"], "--epsilon", 2.5, "--ledger", url).stdout
    assert "reserved 2.5, left 0.5" in told
    assert isinstance(fit(room, "--epsilon", 1, out="b.json").exception, GuaranteeError)
    found = shoal("ledger", "verify", "--ledger", url).stdout
    head = found.split("Journal head: ")[1].split()[0]
    assert shoal("ledger", "backup", folder / "copy.db", "--ledger", url).exit_code == 0
    assert shoal("ledger", "reserve", data["name"], "--ledger", url).exit_code == 0
    assert shoal("ledger", "verify", "--head", head, "--ledger", url).exit_code == 0
    assert isinstance(shoal("ledger", "restore", folder / "copy.db", "--ledger", url).exception, GuaranteeError)
    assert shoal("ledger", "restore", folder / "copy.db", "--ledger", url, "--go-back").exit_code == 0
    assert [a["reserved"] for a in accounts(url) if a["kind"] == "data"] == ["2.5"]
    assert "valid" in shoal("ledger", "verify", "--ledger", url).stdout.lower()


def test_a_file_of_its_own_moves_into_the_shared_ledger_with_its_models(room):
    folder, url = room
    base = ("score", "fit", folder / "patients.csv", "-s", folder / "schema.toml", "-t", "diabetes")
    assert shoal(*base, "-o", folder / "model.json", "--epsilon", 1).exit_code == 0  # beside the file
    assert isinstance(shoal("ledger", "admit", folder / "model.json", "--ledger", url).exception, InputError)
    moved = shoal("ledger", "migrate", folder / "patients.csv", "--ledger", url)
    assert moved.exit_code == 0, moved.exception
    assert [a["spent"] for a in accounts(url) if a["kind"] == "data"] == ["1"]
    models = folder / "models"
    models.mkdir()
    (folder / "model.json").rename(models / "model.json")
    done = shoal("serve", "--models", models, "--ledger", url, "--check")
    assert done.exit_code == 0, done.exception  # admitted by the fit, and the admission moved along
    assert shoal("ledger", "admit", models / "model.json", "--ledger", url).exit_code == 0


def test_old_charges_are_archived_and_the_file_verifies(room):
    folder, url = room
    assert fit(room, "--epsilon", 1, "--limit", 5).exit_code == 0
    words = ("ledger", "archive", folder / "old.jsonl", "--days", 0, "--ledger", url)
    assert isinstance(shoal(*words).exception, InputError)
    ledger = Ledger.open(url)
    [data] = [a["name"] for a in accounts(url) if a["kind"] == "data"]
    key, _ = Keys(ledger).add("ward", epsilon=1)
    place = ledger.enrol("model", digest="d", data=data)
    who = {"key": key.id, "client": key.client, "model": place.model, "data": place.data}
    ledger.settle([Charge(amount=10**11, mark=ledger.mark("a"), **who)])
    ledger.close()
    time.sleep(0.003)
    before = accounts(url)
    done = shoal(*words)
    assert "1 charges" in done.stdout, done.exception
    assert accounts(url) == before
    assert "in archives that were not checked" in shoal("ledger", "verify", "--ledger", url).stdout
    whole = shoal("ledger", "verify", "--archive", folder / "old.jsonl", "--ledger", url)
    assert whole.exit_code == 0, whole.exception
    assert "not checked" not in whole.stdout


def test_wrong_usage(room):
    folder, url = room
    assert isinstance(shoal("ledger", "migrate").exception, ParameterError)
    assert isinstance(shoal("ledger", "create", "--ledger", url, "--service-role", "x").exception, ParameterError)
    sqlite3.connect(folder / "empty.db").close()
    missing = shoal("ledger", "verify", "--ledger", f"sqlite:///{folder / 'none.db'}")
    assert isinstance(missing.exception, InputError)
    assert not (folder / "none.db").exists()


def test_a_mistyped_ledger_begins_no_empty_one(tmp_path):
    for words in (
        ("keys", "add", "ward", "--epsilon", 1),
        ("keys", "list"),
        ("ledger", "show"),
        ("ledger", "backup", "x"),
    ):
        done = shoal(*words, "--ledger", f"sqlite:///{tmp_path / 'typo.db'}")
        assert isinstance(done.exception, InputError), words
        assert list(tmp_path.iterdir()) == []


def test_a_limit_in_rho_is_not_set_in_epsilon(room):
    _, url = room
    with closing(Ledger.open(url)) as book:
        name = book.begin_data_set("visits", limit=Budget.zcdp(0.5))
    wrong = shoal("ledger", "limit", "data", name, "--epsilon", 0.4, "--ledger", url)
    assert isinstance(wrong.exception, ParameterError)
    assert isinstance(shoal("ledger", "limit", "client", "nobody", "--ledger", url).exception, InputError)
    assert "limit 0.4" in shoal("ledger", "limit", "data", name, "--rho", 0.4, "--ledger", url).stdout
    both = shoal("ledger", "limit", "data", name, "--rho", 0.3, "--epsilon", 0.3, "--ledger", url)
    assert isinstance(both.exception, ParameterError)


def test_create_upgrades_what_is_there_if_it_is_told_to(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    earlier.make(url, "2")
    assert isinstance(shoal("ledger", "create", "--ledger", url).exception, InputError)
    done = shoal("ledger", "create", "--upgrade", "--ledger", url)
    assert "Upgraded 4 entries" in done.stdout
    again = shoal("ledger", "create", "--upgrade", "--ledger", url)
    assert (again.exit_code, "Upgraded" in again.stdout) == (0, False)
