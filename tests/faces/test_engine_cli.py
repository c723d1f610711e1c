"""`--engine` of risk, anonymize, coarsen, synthesize and verify."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.datasets import health_survey, health_survey_schema
from shoal.engine.choose import suited
from shoal.errors import FileError, GuaranteeError, ParameterError


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    base = tmp_path_factory.mktemp("engine")
    (base / "lake").mkdir()
    table = health_survey(1200, seed=1)
    for i in range(3):
        table[400 * i : 400 * (i + 1)].write_parquet(base / "lake" / f"{i}.parquet")
    table.write_parquet(base / "all.parquet")
    health_survey_schema().write(base / "s.toml")
    return base


def run(command, path, base, *words):
    return CliRunner().invoke(app, [command, str(path), *words, *(["-s", str(base / "s.toml")])])


def test_risk_of_a_pattern_is_that_of_the_table(lake):
    done = run("risk", lake / "lake" / "*.parquet", lake, "--engine", "duckdb", "--memory", "500MB", "--json")
    assert done.exit_code == 0, done.output
    expected = shoal.risk.classes(pl.read_parquet(lake / "all.parquet"), health_survey_schema())
    assert json.loads(done.output)["classes"] == json.loads(json.dumps(expected.to_dict()))


def test_risk_prints_k_and_holds_limits(lake):
    done = run("risk", lake / "lake", lake, "--engine", "duckdb", "--fail-above", "unique=0")
    assert done.exit_code == 3
    assert "smallest class k = 1" in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--engine", "duckdb", "--population", "1000"),
        ("--engine", "duckdb", "--decimal", ","),
        ("--engine", "memory", "--memory", "1GB"),
        ("--engine", "abacus"),
        ("--engine", "duckdb", "--fail-above", "marketer=0.1"),
    ],
)
def test_what_an_engine_does_not_have_is_refused(lake, words):
    done = run("risk", lake / "all.parquet", lake, *words)
    assert isinstance(done.exception, ParameterError), done.output


def test_coarsen_and_verify(lake, tmp_path):
    out = tmp_path / "out"
    words = ("--engine", "duckdb", "--method", "generalize", "--k", "4", "-o", str(out))
    done = run("coarsen", lake / "lake", lake, *words)
    assert done.exit_code == 0, done.output
    assert "k-anonymity 4" in done.output
    assert "Not measured" in done.output
    checked = CliRunner().invoke(app, ["verify", str(out), "--engine", "duckdb"])
    assert checked.exit_code == 5
    assert "smallest class" in checked.output
    again = run("coarsen", lake / "lake", lake, *words)
    assert again.exit_code != 0  # the folder is in use
    assert run("coarsen", lake / "lake", lake, *words, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "suppress", "--subsets", "2"),
        ("--method", "generalize", "--format", "sav"),
        ("--method", "generalize", "--subsets", "2"),
    ],
)
def test_what_coarsen_can_not_do_on_an_engine_is_refused(lake, tmp_path, words):
    done = run("coarsen", lake / "lake", lake, "--engine", "duckdb", "-o", str(tmp_path / "out"), *words)
    assert isinstance(done.exception, ParameterError), done.output
    assert not (tmp_path / "out").exists()


def test_anonymize_verify_and_repeat(lake, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    words = ("--engine", "duckdb", "--memory", "500MB", "-g", "mdav:k=4", "-m", "centroid", "-o", str(out))
    done = run("anonymize", lake / "lake", lake, *words)
    assert done.exit_code == 0, done.output
    assert "k-anonymity 4" in done.output
    assert "re-identification frequency" in done.output
    assert "groups, smallest" in done.output
    checked = CliRunner().invoke(app, ["verify", str(out), "--engine", "duckdb", "--original", str(lake / "lake")])
    assert checked.exit_code == 0, checked.output
    assert "the run repeated gives the same bytes" in checked.output
    replay = tmp_path / "out.internal" / "replay.toml"
    repeated = CliRunner().invoke(app, ["anonymize", "--replay", str(replay), "--engine", "duckdb", "-o", str(again)])
    assert repeated.exit_code == 0, repeated.output
    assert (again / "part-00000.parquet").read_bytes() == (out / "part-00000.parquet").read_bytes()


WAITING = """
from shoal.cli.main import run
from shoal.engine.duckdb import DuckDBEngine

def scan(self, inputs):
    print("asking", flush=True)
    self._run("CREATE TABLE long AS SELECT sum(hash(i) % 7) FROM range(20000000000) t(i)")

DuckDBEngine.scan = scan
run()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_in_a_query_is_quiet_and_leaves_nothing(lake, tmp_path, how):
    (tmp_path / "spill").mkdir()
    words = ["anonymize", str(lake / "lake"), "-s", str(lake / "s.toml"), "--engine", "duckdb", "--spill", "spill"]
    asked = [sys.executable, "-c", WAITING, *words, "-o", "release"]
    process = subprocess.Popen(asked, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.stdout.readline().strip() not in ("asking", ""):
        pass
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (128 + how, "shoal: stopped; nothing was written.")
    assert [path.name for path in tmp_path.rglob("*")] == ["spill"]


def test_auto_takes_memory_while_the_forecast_fits(lake, tmp_path):
    small = run("anonymize", lake / "lake", lake, "-o", str(tmp_path / "small"), "-m", "centroid")
    assert small.exit_code == 0, small.output
    assert (tmp_path / "small" / "report.html").is_file()
    large = run("anonymize", lake / "lake", lake, "-o", str(tmp_path / "large"), "-m", "centroid", "--memory", "1MB")
    assert isinstance(large.exception, FileError)  # DuckDB is chosen, and has no room in a megabyte
    assert suited(lake / "lake", "1MB") == "duckdb"
    assert suited(lake / "lake", "1GB") == "memory"
    assert suited(lake / "nowhere") == "memory"


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "push-back"),
        ("-g", "ball:radius=1,minimum=5"),
        ("--sample", "100"),
        ("--format", "sav"),
        ("--target-linkage", "0.1"),
        ("--risk", "marketer=0.05"),
        ("--population", "1000000"),
        ("--events", "coarsen-events:k=5"),
        ("--scope", "registry"),
        ("--master", "local[1]"),
    ],
)
def test_what_anonymize_can_not_do_on_an_engine_is_refused(lake, tmp_path, words):
    place = () if "--sample" in words else ("-o", str(tmp_path / "out"))
    done = run("anonymize", lake / "lake", lake, "--engine", "duckdb", *place, *words)
    assert isinstance(done.exception, ParameterError), done.output
    assert not (tmp_path / "out").exists()


def test_synthesize_charges_the_account_of_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    pl.DataFrame({"age": [20 + i % 40 for i in range(300)]}).write_parquet(tmp_path / "in" / "0.parquet")
    shoal.Schema.of(quasi=["age"], bounds={"age": (20, 60)}).write(tmp_path / "schema.toml")
    words = ["synthesize", str(tmp_path / "in"), "-s", str(tmp_path / "schema.toml"), "--engine", "duckdb"]
    done = CliRunner().invoke(app, [*words, "-e", "1", "--limit", "1.5", "-n", "40", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "40 rows released" in done.output
    assert "spent ε = 1" in done.output
    assert (tmp_path / "in.budget.json").exists()
    again = CliRunner().invoke(app, [*words, "-e", "1", "-o", str(tmp_path / "more")])
    assert isinstance(again.exception, GuaranteeError)
    assert not (tmp_path / "more").exists()
    control = CliRunner().invoke(app, [*words, "--control", "x.csv", "-o", str(tmp_path / "more")])
    assert isinstance(control.exception, ParameterError)
