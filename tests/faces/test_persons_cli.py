"""Who is a person, on the command line: asked in proposals, and warned of where a unit contradicts itself."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.schema import Schema


def discharges(n=1000, n_hospitals=163):
    rng = np.random.default_rng(0)
    hospital = rng.integers(0, n_hospitals, n)
    return pl.DataFrame(
        {
            "Facility Id": 1000 + 7 * hospital,
            "Facility Name": [f"{'ABCDEFGH'[one % 8]}{one} General Hospital" for one in hospital],
            "Gender": rng.choice(["M", "F"], n),
            "Year of birth": rng.integers(1930, 2000, n),
            "Total Costs": rng.lognormal(9, 1, n).round(2),
        }
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    place = tmp_path_factory.mktemp("persons")
    discharges().write_csv(place / "d.csv")
    roles = {"quasi": ["Gender", "Year of birth"], "sensitive": ["Total Costs"], "other": ["Facility Name"]}
    Schema.of(unit="Facility Id", **roles).write(place / "s.toml")
    return place


def shoal(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done


def flat(text):
    return " ".join(text.split())


def test_the_question_who_is_a_person_is_on_the_screen_and_in_the_file(room):
    told = shoal("schema", "infer", room / "d.csv", "-o", room / "proposed.toml").stdout
    assert "Does one value of Facility Id stand for one person?" in flat(told)
    written = (room / "proposed.toml").read_text(encoding="utf-8")
    assert "Does one value of Facility Id stand for one person? If so:" in flat(written.replace("\n# ", " "))
    assert Schema.read(room / "proposed.toml").unit is None


@pytest.mark.parametrize("command", [("schema", "check"), ("risk",)])
def test_a_unit_that_contradicts_itself_is_warned_of_in_numbers(room, command):
    told = flat(shoal(*command, room / "d.csv", "-s", room / "s.toml").stdout)
    assert "144 of 160 persons with several rows have several values of Gender" in told
    assert "have several values of Year of birth" in told
    assert "Does one value of Facility Id stand for one person?" in told
    answer = json.loads(shoal(*command, room / "d.csv", "-s", room / "s.toml", "--json").stdout)
    assert len([text for text in answer.get("notes", answer.get("warnings")) if "Facility Id" in text]) == 2


def test_a_unit_that_agrees_with_itself_is_not_warned_of(room, tmp_path):
    discharges().unique("Facility Id").write_csv(tmp_path / "d.csv")
    told = shoal("schema", "check", tmp_path / "d.csv", "-s", room / "s.toml").stdout
    assert "several values" not in told


# ---- rows that are equal


def survey(n=600, copied=200):
    rng = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "height": rng.normal(170, 9, n).round(1),
            "cost": rng.lognormal(7, 1, n).round(2),
            **{f"symptom{i}": rng.integers(0, 4, n) for i in range(6)},
        }
    )
    return pl.concat([people, people[:copied]]).sample(fraction=1.0, shuffle=True, seed=1).with_row_index("rowid")


ASKED = "400 rows occur more than once, up to 2 times: the same person twice?"


@pytest.fixture
def copies(tmp_path):
    survey().write_csv(tmp_path / "p.csv")
    roles = {"identifier": ["rowid"], "quasi": ["age", "sex"], "sensitive": ["cost"]}
    roles["other"] = ["height", *(f"symptom{i}" for i in range(6))]
    Schema.of(**roles).write(tmp_path / "s.toml")
    for answer in ("same person", "different people"):
        Schema.of(**roles, repeats=answer).write(tmp_path / f"{answer[:4]}.toml")
    return tmp_path


def test_repeats_are_asked_in_the_proposal_and_answered_by_taking_away_a_sign(copies):
    told = shoal("schema", "infer", copies / "p.csv", "-o", copies / "new.toml").stdout
    assert ASKED in flat(told)
    text = (copies / "new.toml").read_text(encoding="utf-8")
    assert ASKED in flat(text.replace("\n# ", " "))
    (copies / "new.toml").write_text(text.replace('# repeats = "same person"', 'repeats = "same person"'))
    assert Schema.read(copies / "new.toml").repeats == "same person"


@pytest.mark.parametrize("command", [("schema", "check"), ("risk",), ("risk", "--engine", "duckdb")])
def test_check_and_risk_ask_until_it_is_answered(copies, command):
    name, *more = command if command[0] == "risk" else ("schema check",)
    words = [*name.split(), copies / "p.csv", *more]
    assert ASKED in flat(shoal(*words, "-s", copies / "s.toml").stdout)
    for answer in ("same", "diff"):
        assert "occur more than once" not in shoal(*words, "-s", copies / f"{answer}.toml").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("anonymize", "--group", "mdav:k=5"),
        ("coarsen", "--method", "mondrian:k=5"),
        ("coarsen", "--method", "generalize:k=5", "--engine", "duckdb"),
    ],
)
def test_every_release_says_first_that_rows_are_counted(copies, words):
    verb, *rest = words
    told = flat(
        shoal(verb, copies / "p.csv", "-s", copies / "s.toml", *rest, "--no-register", "-o", copies / "out").stdout
    )
    assert told.index(ASKED) < 200
    assert "Rows are counted, not people." in told
    manifest = (copies / "out" / "manifest.json").read_text(encoding="utf-8")
    assert "occur more than once" not in manifest
    assert "Rows are counted, and nobody has said that each is a person of its own." in manifest
    told = flat(
        shoal(verb, copies / "p.csv", "-s", copies / "same.toml", *rest, "--no-register", "-o", copies / "two").stdout
    )
    assert "occur more than once" not in told


def test_reports_for_inside_say_it_and_those_for_outside_do_not(copies):
    shoal("coarsen", copies / "p.csv", "-s", copies / "s.toml", "--method", "mondrian:k=5", "-o", copies / "out")
    inside = (copies / "out.internal" / "report.html").read_text(encoding="utf-8")
    outside = (copies / "out" / "report.html").read_text(encoding="utf-8")
    assert ASKED in inside
    assert "occur more than once" not in outside
