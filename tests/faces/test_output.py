"""What every command has: `--json` in one shape, `--quiet`, `--no-color`, completion; a closed pipe is silent."""

import builtins
import json
import os
import subprocess
import sys

import polars as pl
import pytest
import typer.main
from typer.testing import CliRunner

from shoal.cli.console import out
from shoal.cli.main import app
from shoal.cli.output import SHARED
from shoal.datasets import health_survey, health_survey_schema, pima_like, pima_like_schema
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
ANSWERED = """
schema infer people.csv --out own.toml
schema check people.csv -s schema.toml
schema fix people.csv -s own.toml --yes
schema pack omop --out omop.toml
scan people.csv
risk people.csv -s schema.toml
outliers people.csv -s schema.toml --radius 0.4
ledger create
anonymize people.csv -s schema.toml -o release --group mdav --mask centroid
coarsen people.csv -s schema.toml -o coarse --method generalize --policy policy.json --no-register
apply policy.json people.csv -o applied --no-register
sign --new-key publisher.key --no-password
sign release --key publisher.key --by R.Roe
verify release --signer publisher.pub
export release --database released.sqlite
handover release --to release.zip
pseudonymize --new-key project.key
ledger releases
ledger expire RELEASE --because old
ledger withdraw release --because trial
synthesize people.csv --price
score fit patients.csv -s pima.toml --target diabetes --out models/diabetes.json
score explain models/diabetes.json
score evaluate models/diabetes.json patients.csv --target diabetes
ledger admit models/diabetes.json
keys add clinic --epsilon 10
keys list
keys rotate KEY
keys revoke KEY
ledger limit client clinic --epsilon 5
ledger show
ledger reserve DATA --epsilon 1
ledger verify
ledger export --out journal.csv
ledger backup backup.db
ledger restore backup.db
serve --models models --check
market --members people.csv --new new.csv -s schema.toml -o market.html
transfer --task a=people.csv --task b=people.csv --target a --new new.csv -s schema.toml -o predicted.csv
reconstruct stays.csv --aggregate means.csv --by area --value cost --method ridge
"""
REFUSED = """
compare nothing.csv
ledger archive charges.jsonl
ledger migrate nothing.csv
scrub nothing.csv --column note
demo --out release
study market-risk --out release
study camp-crest --out release
study dpat --out release
study ludia --out release
study pegs --out release
study transfer --out release
study disclosure --out release
study quantize --out release
"""
ELSEWHERE = {"warm-up", "web"}  # one compiles every kernel, one runs until it is stopped: their own tests call them


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


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    survey = health_survey(2_000, seed=1)
    survey.head(1_000).write_csv(folder / "people.csv")
    survey.tail(1_000).drop("cost").write_csv(folder / "new.csv")
    health_survey_schema().write(folder / "schema.toml")
    pima_like(200, seed=1).write_csv(folder / "patients.csv")
    pima_like_schema().write(folder / "pima.toml")
    stays = pl.DataFrame({"area": [i % 6 for i in range(60)], "days": [i % 7 for i in range(60)]})
    stays.write_csv(folder / "stays.csv")
    stays.group_by("area").agg(cost=2 * pl.col("days").mean()).write_csv(folder / "means.csv")
    (folder / "models").mkdir()
    return folder


def named(line, known):
    """The words of a line; names that an earlier answer told in the place of those in capitals."""
    return [known.get(word, word) for word in line.split()]


def told(words, known):
    """Call a command; its answer, whose shape is that of every answer."""
    done = call(*words, "--json")
    found = json.loads(done.stdout)
    assert list(found)[:2] == ["command", "exit_code"], words
    assert " ".join(words).startswith(found["command"]), words
    assert found["exit_code"] == getattr(done.exception, "exit_code", done.exit_code), words
    for name, place, field in (("keys", "KEY", "id"), ("releases", "RELEASE", "release"), ("accounts", "DATA", "name")):
        for one in found.get(name, ()):
            if one.get("kind", "data") == "data":
                known[place] = one[field]
    return found


def test_every_command_answers_in_one_shape(office, monkeypatch):
    monkeypatch.chdir(office)
    monkeypatch.setenv("SHOAL_LEDGER", f"sqlite:///{office / 'ledger.db'}")
    known, called = {}, set(ELSEWHERE)
    for line in ANSWERED.strip().splitlines():
        found = told(named(line, known), known)
        assert found["exit_code"] == 0, (line, found)
        assert len(found) > 2, line
        called.add(found["command"])
    for line in REFUSED.strip().splitlines():
        found = told(named(line, known), known)
        assert found["exit_code"] in (2, 3, 4), (line, found)
        assert set(found["error"]) == {"kind", "owner", "rule", "got", "hint", "problems"}, line
        called.add(found["command"])
    assert called == {" ".join(path) for path, _ in COMMANDS}


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
