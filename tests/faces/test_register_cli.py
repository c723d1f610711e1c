"""The register on the command line, as a steward meets it year after year."""

import json
import shutil

import polars as pl
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import health_survey, health_survey_schema


def shoal(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def room(tmp_path):
    table = health_survey(300, seed=1).with_columns(person=pl.int_range(300))
    table.write_csv(tmp_path / "people.csv")
    schema = health_survey_schema().to_dict()
    schema["columns"]["person"] = {"role": "identifier"}
    from shoal.schema import Schema

    Schema.from_dict(schema).write(tmp_path / "schema.toml")
    return tmp_path


def anonymize(room, file, out, *words):
    return shoal("anonymize", room / file, "-s", room / "schema.toml", "-o", room / out, "-m", "resample", *words)


def said(done):
    """What was printed, or the error that ends the program."""
    return done.stdout if done.exception is None else str(done.exception)


def test_a_year_later(room):
    first = anonymize(room, "people.csv", "one", "--recipient", "University", "-g", "mdav")
    assert first.exit_code == 0, first.exception
    assert "Register: release 1 (" in first.stdout

    shutil.copy(room / "people.csv", room / "copy.csv")
    with open(room / "copy.csv", "a", encoding="utf-8") as stream:
        stream.write("male,1,1,1,77,1.5,999\n")
    refused = anonymize(room, "copy.csv", "two", "-g", "k-member")
    assert refused.exception.exit_code == 3
    assert "must hold beside release 1 of the same people" in said(refused)
    assert not (room / "two").exists()

    kept = anonymize(room, "copy.csv", "two", "--same-groups-as", "last")
    assert kept.exit_code == 0, kept.exception
    assert "recognised as 'people.csv' by its rows" in kept.stdout
    assert "everybody keeps their cover" in kept.stdout
    assert shoal("verify", room / "two", "--original", room / "copy.csv").exit_code == 0

    despite = anonymize(room, "people.csv", "three", "-g", "k-member", "--despite", "the first was destroyed")
    assert despite.exit_code == 0, despite.exception
    assert "the first was destroyed" in despite.stdout
    assert "people with fewer than 5 candidates" in despite.stdout
    assert "the first was destroyed" in (room / "three" / "report.html").read_text()

    listed = json.loads(shoal("ledger", "releases", "--json").stdout)["releases"]
    assert [words["recipient"] for words in listed] == ["University", None, None]
    assert [words["beside"]["holds"] for words in listed] == [True, True, False]
    table = shoal("ledger", "releases").stdout
    assert "3 releases" in table


def test_a_trial_is_replaced_or_withdrawn(room):
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    again = anonymize(room, "people.csv", "one", "-g", "k-member", "--overwrite")
    assert again.exit_code == 0, again.exception
    [old, new] = json.loads(shoal("ledger", "releases", "--json").stdout)["releases"]
    assert old["withdrawn"] == f"replaced by {new['release']} before it left"
    gone = shoal("ledger", "withdraw", new["release"], "--because", "a trial")
    assert gone.exit_code == 0, gone.exception
    assert f"Delete {room / 'one'}" in gone.stdout
    assert shoal("handover", room / "one", "--to", room / "one.zip").exception.exit_code == 3
    assert anonymize(room, "people.csv", "two", "-g", "mdav").exit_code == 0
    assert shoal("ledger", "expire", old["release"], "--because", "it is over").exit_code == 0


def test_a_folder_is_withdrawn_though_it_is_gone(room):
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    shutil.rmtree(room / "one")
    shutil.rmtree(room / "one.internal")
    refused = anonymize(room, "people.csv", "two", "-g", "k-member")
    assert refused.exception.exit_code == 3
    assert f"written to {room / 'one'}, which is gone" in said(refused)
    unknown = shoal("ledger", "withdraw", room / "nothing", "--because", "a trial")
    assert unknown.exception.exit_code == 4
    assert shoal("ledger", "withdraw", room / "one", "--because", "a trial").exit_code == 0
    assert shoal("ledger", "withdraw", room / "one", "--because", "a trial").exception.exit_code == 4
    assert anonymize(room, "people.csv", "two", "-g", "k-member").exit_code == 0


def test_a_folder_that_was_moved_is_known_by_what_it_holds(room):
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    (room / "one").rename(room / "elsewhere")
    assert anonymize(room, "people.csv", "other", "-g", "k-member", "--no-register").exit_code == 0
    wrong = shoal("ledger", "withdraw", room / "other", "--because", "a trial")
    assert wrong.exception.exit_code == 4
    assert shoal("ledger", "withdraw", room / "elsewhere", "--because", "a trial").exit_code == 0


def test_what_is_signed_has_left(room):
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    assert shoal("sign", "--new-key", room / "publisher.key", "--no-password").exit_code == 0
    signed = shoal("sign", room / "one", "--key", room / "publisher.key")
    assert signed.exit_code == 0, signed.exception
    again = anonymize(room, "people.csv", "one", "-g", "k-member", "--overwrite")
    assert again.exception.exit_code == 3


def test_nobody_asks_the_register_of_trials_and_of_those_who_don_t_want_it(room):
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    other = anonymize(room, "people.csv", "two", "-g", "k-member", "--no-register")
    assert other.exit_code == 0, other.exception
    words = ("-s", room / "schema.toml", "--sample", "100")
    assert shoal("anonymize", room / "people.csv", *words).exit_code == 0
    assert len(json.loads(shoal("ledger", "releases", "--json").stdout)["releases"]) == 1
    wrong = anonymize(room, "people.csv", "three", "--no-register", "--despite", "why not")
    assert wrong.exception.exit_code == 2


def test_levels_month_by_month(room):
    table = pl.read_csv(room / "people.csv")
    table[:250].write_csv(room / "january.csv")
    words = ("-s", room / "schema.toml", "--method", "generalize:suppression=0.3", "--data", "survey")
    first = shoal("coarsen", room / "january.csv", "-o", room / "one", "--policy", room / "policy.json", *words)
    assert first.exit_code == 0, first.exception
    table[:252].write_csv(room / "february.csv")
    done = shoal("apply", room / "policy.json", room / "february.csv", "-o", room / "two", "--data", "survey")
    assert done.exit_code == 0, done.exception
    one, two = (pl.read_csv(room / name / "release.csv") for name in ("one", "two"))
    assert len(one) == len(two)
    crossed = shoal("coarsen", room / "january.csv", "-o", room / "three", "--method", "mondrian", *words[:2])
    assert crossed.exception.exit_code == 3


def test_the_account_and_the_register_are_one_book(room):
    """Released first, synthesized later: one data set, one ledger, and a copy of the file is known there too."""
    levels = {"gender": ["female", "male"]}
    table = health_survey(300, seed=1).select("gender", "cost")
    table.write_csv(room / "small.csv")
    from shoal.schema import Schema

    Schema.of(quasi=["gender"], sensitive=["cost"], levels=levels, bounds={"cost": (0, 1e6)}).write(room / "small.toml")
    first = shoal("anonymize", room / "small.csv", "-s", room / "small.toml", "-o", room / "one", "-m", "resample")
    assert first.exit_code == 0, first.exception
    drawn = shoal(
        *("synthesize", room / "small.csv", "-s", room / "small.toml", "-o", room / "two", "-e", "1", "-n", "50"),
        *("--recipient", "University"),
    )
    assert drawn.exit_code == 0, drawn.exception
    one, two = json.loads(shoal("ledger", "releases", "--json").stdout)["releases"]
    assert one["data"] == two["data"]
    assert (two["epsilon"], two["recipient"]) == (1.0, "University")
    assert (room / "small.csv.budget.json").exists()
    assert not (room / "small.csv.budget.db").exists()


def test_a_copy_of_a_file_with_its_own_ledger_is_recognised(room):
    from shoal.dp import Account, Budget

    account = Account.open(room / "people.csv", limit=Budget(epsilon=1))
    with account.ledger.writing() as connection:  # as an earlier version left it
        for statement in ("DROP TABLE released", "DROP TABLE layout", "INSERT INTO meta VALUES ('format', '4')"):
            connection.execute(text(statement))
    account.ledger.close()
    assert anonymize(room, "people.csv", "one", "-g", "mdav").exit_code == 0
    shutil.copy(room / "people.csv", room / "copy.csv")
    refused = anonymize(room, "copy.csv", "two", "-g", "k-member")
    assert refused.exception.exit_code == 3
