"""`shoal risk`: what helps comes first, limits end with exit code 3, and single people stay behind --verbose."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import ParameterError
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age", "town"], sensitive=["cost"], bounds={"age": (0, 120)}, kinds={"town": "nominal"})


def people(n, seed):
    rng = np.random.default_rng(seed)
    town = rng.choice([f"town-{i}" for i in range(30)], n)
    return pl.DataFrame({"age": rng.integers(0, 99, n), "town": town, "cost": rng.gamma(2, 900, n).round(2)})


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    place = tmp_path_factory.mktemp("risk")
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        people(300, seed).write_csv(place / f"{name}.csv")
    SCHEMA.write(place / "s.toml")
    return place


def run(room, file, *words):
    named = [str(room / word) if isinstance(word, str) and word.endswith(".csv") else str(word) for word in words]
    return CliRunner().invoke(app, ["risk", str(room / file), "-s", str(room / "s.toml"), *named])


def short(text):
    """The lines of a summary, which a terminal of 80 columns shows without a break."""
    lines = text.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    return lines


def test_the_summary_is_short_and_says_first_what_helps(room):
    done = run(room, "a.csv", "--population", 30_000)
    assert done.exit_code == 0, done.output
    lines = short(done.stdout)
    assert "smallest class k = 1" in lines[0]
    assert "What would help" in lines[1]
    assert "→" in lines[1]
    assert "town-" not in done.stdout  # no value of anybody
    models = next(line for line in lines if "Population uniques" in line)
    assert "(for samples up to 10%), " in models  # the choice, why, and what others say


def test_the_sampling_fraction_is_no_risk(room):
    done = run(room, "a.csv", "--population", 30_000)
    journalist = next(line for line in done.stdout.splitlines() if "journalist" in line)
    assert " 1% " not in journalist
    assert "by model" in journalist
    assert "Pitman fits" in next(line for line in done.stdout.splitlines() if "The models:" in line)
    found = json.loads(run(room, "a.csv", "--population", 30_000, "--json").stdout)
    low, high = found["attackers"]["spread"]
    assert 0.01 < low <= found["attackers"]["marketer"] <= high
    assert found["attackers"]["journalist"]["largest"] > 0.04
    assert low < high
    assert "risks" not in found["individual"]


def test_the_highest_model_decides_not_the_one_that_calls_everybody_alike(tmp_path):
    """Weights alone call people safe whom nobody resembles in a single column; every other model says unique."""
    rng = np.random.default_rng(4)
    table = pl.DataFrame({"a": rng.permutation(400), "b": rng.permutation(400), "w": rng.uniform(50, 90, 400)})
    table.write_csv(tmp_path / "a.csv")
    Schema.of(quasi=["a", "b"], weight="w").write(tmp_path / "s.toml")
    done = run(tmp_path, "a.csv", "--fail-above", "journalist=0.2", "--fail-above", "individual=0.2")
    assert done.exit_code == 3
    line = next(line for line in short(done.stdout) if "journalist" in line)
    assert line.endswith("20%  bad")
    assert "to 94.1% by model" in line
    found = json.loads(run(tmp_path, "a.csv", "--json").stdout)["attackers"]
    assert {one["model"]: one["largest"] > 0.2 for one in found["models"]} == {
        "negative binomial": False,
        "log-linear": True,
    }
    told = run(tmp_path, "a.csv", "--verbose").stdout
    assert "95% interval of the mean" in told


def test_values_and_records_only_where_asked_for(room):
    done = run(room, "a.csv", "--verbose")
    inside = done.stdout.index("Internal use only")
    assert "town-" not in done.stdout[:inside]
    assert "town-" in done.stdout[inside:]


def test_attacks_fire_on_a_copy_and_stop_the_script(room):
    done = run(room, "a.csv", "--original", "a.csv", "--control", "b.csv", "--fail-above", "membership=0.2")
    assert done.exit_code == 3
    gate = next(line for line in short(done.stdout) if "membership" in line)
    assert gate.endswith("20%  bad")
    assert "above the limit of 20%" in done.stderr
    told = run(room, "a.csv", "--original", "a.csv", "--control", "b.csv", "--verbose").stdout
    assert ": a leak" in told
    gates = ("unique", "prosecutor", "marketer", "individual", "linkability", "guessing", "membership")
    every = [word for gate in gates for word in ("--fail-above", f"{gate}=0")]
    all_asked = run(room, "a.csv", "--original", "a.csv", "--control", "b.csv", *every)
    assert len([line for line in short(all_asked.stdout) if line.endswith("bad")]) >= 7
    assert "--control would tell" not in all_asked.stderr
    alone = run(room, "a.csv", "--original", "a.csv", "--fail-above", "guessing=0")
    assert "(over guessing; --control would tell" in alone.stderr


def test_attacks_pass_on_other_people(room):
    words = ("--original", "a.csv", "--control", "b.csv", "--fail-above", "membership=0.2", "--json")
    done = run(room, "c.csv", *words, "--fail-above", "linkability=0.1")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["broken"] == {}
    assert found["membership"]["verdict"] == "none seen"
    assert {"singling_out", "linkability", "guessing", "replicated"} <= set(found)


@pytest.mark.parametrize(
    ("name", "code"), [("unique=0.01", 3), ("unique=1", 0), ("journalist=0.01", 3), ("marketer=1", 0)]
)
def test_limits_of_a_table_alone(room, name, code):
    assert run(room, "a.csv", "--population", 30_000, "--fail-above", name).exit_code == code


@pytest.mark.parametrize("wrong", ["unique", "unique=x", "unique=2", "luck=0.1", "membership=0.1"])
def test_a_limit_that_cant_be_held_is_wrong_usage(room, wrong):
    done = run(room, "a.csv", "--fail-above", wrong)
    assert isinstance(done.exception, ParameterError)
    assert done.exception.exit_code == 2


def test_limits_that_cant_be_measured_are_refused_before_anything_is_read(room):
    gates = ("household=0.5", "events=0.1", "membership=0.1", "guessing=0.2", "luck=1")
    done = run(room, "no-such-file.csv", *(word for gate in gates for word in ("--fail-above", gate)))
    assert isinstance(done.exception, ParameterError), "the file is not even looked for"
    said = str(done.exception)
    assert "NAME one of" in said
    assert "'household' can't be measured here: it needs a household in the schema" in said
    assert "'events' can't be measured here: it needs linked tables" in said
    assert "'membership' can't be measured here: it needs --original and --control" in said
    assert "'guessing' can't be measured here: it needs --original" in said


def test_classes_below_k(room):
    found = json.loads(run(room, "a.csv", "--k", 3, "--json").stdout)
    assert found["what_if"]["k"] == found["contribution"]["k"] == 3
    assert "in classes of fewer than 3" in run(room, "a.csv", "--k", 3).stdout


def test_households_of_the_schema_are_shown(tmp_path):
    table = pl.DataFrame({"age": [40, 40, 42, 42, 10, 12, 10, 12], "home": [f"home-{i}" for i in (1, 2, 3, 4)] * 2})
    table.write_csv(tmp_path / "a.csv")
    Schema.of(quasi=["age"], household="home").write(tmp_path / "s.toml")
    done = run(tmp_path, "a.csv")
    homes = next(line for line in short(done.stdout) if "households found" in line)
    assert homes.split()[-5:] == ["100%", "4", "25%", "–", "watch"]
    told = run(tmp_path, "a.csv", "--verbose").stdout
    assert "4 households are like no other" in told
    assert "4 households: watch" in told
    assert "home-" not in done.stdout
    assert run(tmp_path, "a.csv", "--fail-above", "household=0.5").exit_code == 3
    found = json.loads(run(tmp_path, "a.csv", "--json").stdout)["households"]
    assert (found["k"], found["n_unique"]) == (1, 4)


def test_without_households_their_limit_is_wrong_usage(room):
    done = run(room, "a.csv", "--fail-above", "household=0.5")
    assert isinstance(done.exception, ParameterError)
    assert "households" not in run(room, "a.csv").stdout


def test_nothing_at_risk_is_said_in_few_words(tmp_path):
    pl.DataFrame({"age": [40, 40, 40, 52, 52, 52, 52]}).write_csv(tmp_path / "a.csv")
    Schema.of(quasi=["age"]).write(tmp_path / "s.toml")
    lines = short(run(tmp_path, "a.csv").stdout)
    assert "nobody stands out" in lines[1]
    assert next(line for line in lines if "alone" in line).endswith("good")


def test_rows_of_one_person_are_not_called_people(tmp_path):
    pl.DataFrame({"who": [1, 1, 2, 3], "age": [40, 40, 52, 52]}).write_csv(tmp_path / "a.csv")
    Schema.of(quasi=["age"], unit="who").write(tmp_path / "s.toml")
    text = run(tmp_path, "a.csv").stdout
    assert "people" not in text
    alone = next(line for line in short(text) if "alone in" in line)
    assert alone.split()[-5:-3] == ["50%", "2"]
