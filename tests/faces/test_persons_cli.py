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
