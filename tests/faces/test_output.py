"""What every command has: `--json` in one shape, `--quiet`, `--no-color`, completion; a closed pipe is silent."""

import builtins
import json
import os
import subprocess
import sys

import pytest
import typer.main
from typer.testing import CliRunner

from shoal.cli.console import out
from shoal.cli.main import app
from shoal.cli.output import SHARED
from shoal.datasets import health_survey, health_survey_schema
from shoal.errors import InputError, ProblemsError
from shoal.ledger import Ledger

RUN = [sys.executable, "-c", "from shoal.cli.main import run; run()"]


def commands(command, path=()):
    children = getattr(command, "commands", None)
    if children is None:
        return [(path, command)]
    load = getattr(command, "load", children.get)
    return [found for name in children for found in commands(load(name), (*path, name))]


COMMANDS = commands(typer.main.get_command(app))


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    folder = tmp_path_factory.mktemp("room")
    health_survey(120, seed=1).write_csv(folder / "people.csv")
    health_survey_schema().write(folder / "schema.toml")
    Ledger.open(f"sqlite:///{folder}/ledger.db").close()
    return folder


def call(*words, **given):
    return CliRunner().invoke(app, [str(word) for word in words], **given)


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=lambda one: " ".join(one) if isinstance(one, tuple) else "")
def test_every_command_has_the_shared_options_once(path, command):
    names = [parameter.name for parameter in command.params]
    flags = [flag for parameter in command.params for flag in parameter.opts]
    assert set(SHARED) <= set(names)
    assert len(flags) == len(set(flags))


def test_each_answer_is_one_object_that_names_its_command(room):
    url = f"sqlite:///{room / 'ledger.db'}"
    table = [room / "people.csv", "-s", room / "schema.toml"]
    calls = {
        ("scan",): [room / "people.csv"],
        ("schema", "infer"): [room / "people.csv"],
        ("schema", "check"): table,
        ("ledger", "show"): ["--ledger", url],
        ("ledger", "verify"): ["--ledger", url],
        ("keys", "list"): ["--ledger", url],
        ("keys", "add"): ["ward 7", "--epsilon", 1, "--ledger", url],
        ("anonymize",): [*table, "-o", room / "release", "--no-register"],
        ("coarsen",): [*table, "--method", "mondrian", "--sample", 100],
        ("handover",): [room / "release", "--to", room / "release.zip"],
        ("synthesize",): [room / "people.csv", "--price"],
    }
    for path, words in calls.items():
        done = call(*path, *words, "--json")
        found = json.loads(done.stdout)
        assert list(found)[:2] == ["command", "exit_code"], path
        assert (found["command"], found["exit_code"], done.exit_code) == (" ".join(path), 0, 0), path
        assert len(found) > 2, path
        assert not done.stderr or path == ("keys", "add"), path


def test_an_exit_code_is_in_the_answer(room):
    done = call("risk", room / "people.csv", "-s", room / "schema.toml", "--fail-above", "unique=0", "--json")
    found = json.loads(done.stdout)
    assert found["exit_code"] == done.exit_code == 3
    assert found["broken"]["unique"] > 0


def test_a_refusal_is_in_the_answer_and_on_standard_error(room):
    done = call("schema", "check", room / "people.csv", "-s", room / "nothing.toml", "--json")
    found = json.loads(done.stdout)
    assert found["exit_code"] == 4
    assert found["error"]["kind"] == "FileError"
    assert "nothing.toml" in found["error"]["owner"]
    assert isinstance(done.exception, InputError)


def test_several_problems_are_listed(room, tmp_path):
    text = (room / "schema.toml").read_text()
    (tmp_path / "schema.toml").write_text(text.replace("[columns.cost]", "[columns.costs]").replace('"F"', '"X"'))
    done = call("schema", "check", room / "people.csv", "-s", tmp_path / "schema.toml", "--json")
    found = json.loads(done.stdout)["error"]
    assert isinstance(done.exception, ProblemsError)
    assert len(found["problems"]) == len(done.exception.problems) > 1
    assert all(problem["rule"] for problem in found["problems"])


def test_quiet_prints_nothing_but_the_result_itself(room):
    url = f"sqlite:///{room / 'ledger.db'}"
    assert call("scan", room / "people.csv", "--quiet").output == ""
    assert call("ledger", "show", "-q", "--ledger", url).output == ""
    assert "[columns." in call("schema", "infer", room / "people.csv", "--quiet").stdout
    assert not out.quiet  # only while the command ran


def test_no_color_prints_no_colour(room, monkeypatch):
    monkeypatch.setattr(out, "_force_terminal", True)
    monkeypatch.setattr(out, "_color_system", 3)
    monkeypatch.setattr(out, "no_color", False)
    words = ["verify", room / "release"]
    call(
        "anonymize",
        room / "people.csv",
        "-s",
        room / "schema.toml",
        "-o",
        room / "release",
        "--no-register",
        "--overwrite",
    )
    assert "\x1b[32m" in call(*words).stdout
    assert "\x1b[32m" not in call(*words, "--no-color").stdout


@pytest.mark.skipif(os.name == "nt", reason="pipes")
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["words", "json"])
def test_a_closed_pipe_is_silent(room, words):
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does once it has enough
    command = [*RUN, "ledger", "show", "--ledger", f"sqlite:///{room / 'ledger.db'}", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.parametrize(
    ("words", "expected"),
    [("shoal led", "ledger"), ("shoal ledger sh", "show"), ("shoal anonymize --targ", "--target-linkage")],
)
def test_the_shell_completes(words, expected):
    env = {"_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert expected in call(env=env, prog_name="shoal").stdout.split()


def test_ctrl_c_while_libraries_are_loaded_is_silent(monkeypatch, capsys):
    from shoal.cli import start

    loaded = builtins.__import__

    def interrupted(name, *rest, **more):
        if name == "shoal.cli.main":
            raise KeyboardInterrupt
        return loaded(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as left:
        start.run()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_while_the_last_words_are_said_is_silent(monkeypatch, capsys):
    from shoal.cli import main, start

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run", interrupted)
    with pytest.raises(SystemExit) as left:
        start.run()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")
