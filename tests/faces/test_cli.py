"""The command line, from a clean directory, as a new user would run it."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from shoal.cli.main import run
from shoal.datasets import health_survey, health_survey_schema

SHOAL = [sys.executable, "-c", "from shoal.cli.main import run; run()"]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def shoal(*words, cwd):
    """Run the command in this process: the same entry point, without the seconds it takes to start one."""
    out, err = io.StringIO(), io.StringIO()
    before, argv, handler = Path.cwd(), sys.argv, signal.getsignal(signal.SIGTERM)
    os.chdir(cwd)
    sys.argv = ["shoal", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        os.chdir(before)
        sys.argv = argv
        signal.signal(signal.SIGTERM, handler)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with a survey, its schema, and one release of it."""
    folder = tmp_path_factory.mktemp("room")
    health_survey(400, seed=1).write_csv(folder / "people.csv")
    health_survey_schema().write(folder / "schema.toml")
    done = shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", "release", "--seed", 5, cwd=folder)
    assert done.returncode == 0, done.stderr
    folder.joinpath("anonymize.txt").write_text(done.stdout)
    return folder


def test_help_has_examples(tmp_path):
    for words in (
        [],
        ["anonymize"],
        ["risk"],
        ["verify"],
        ["sign"],
        ["handover"],
        ["schema"],
        ["schema", "infer"],
        ["demo"],
    ):
        done = shoal(*words, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert "Usage" in done.stdout
    assert "Examples" in shoal("anonymize", "--help", cwd=tmp_path).stdout


def test_version_from_a_process_of_its_own(tmp_path):
    done = subprocess.run([*SHOAL, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("shoal 0.")


def test_release_has_its_files_and_nothing_more(room):
    inside = room / "release.internal"
    assert {path.name for path in (room / "release").rglob("*")} == {"manifest.json", "release.csv", "report.html"}
    assert {path.name for path in inside.rglob("*")} == {"replay.toml", "report.html"}
    assert [path.stat().st_mode & 0o777 for path in (inside, *inside.iterdir())] == [0o700, 0o600, 0o600]


def test_it_ends_with_a_summary_that_a_person_reads(room):
    text = room.joinpath("anonymize.txt").read_text()
    assert "proved    re-identification bound 20%, per person" in text
    assert "before → after" in text
    found = next(line for line in text.splitlines() if "found by nearest match" in line)
    assert found.endswith("20%  good")
    assert "assumes:" not in text
    assert len(text.splitlines()) <= 15
    assert max(len(line) for line in text.splitlines() if "/" not in line) <= 80  # a folder's path is never cut


@pytest.mark.parametrize("method", ["pegs:epsilon=1", "multiple-imputation", "marginal-bootstrap"])
def test_synthesis_ends_with_a_summary_that_a_person_reads(tmp_path, method):
    """At most fifteen lines as a terminal of 80 columns shows them; a path is wrapped, never cut."""
    health_survey(400, seed=1).write_csv(tmp_path / "people.csv")
    health_survey_schema().write(tmp_path / "schema.toml")
    text = (tmp_path / "schema.toml").read_text()
    (tmp_path / "schema.toml").write_text(text.replace("[columns.cost]", "[columns.cost]\nbounds = [0, 200000]"))
    done = shoal("synthesize", "people.csv", "-s", "schema.toml", "-o", "synthetic", "-m", method, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(-(-len(line) // 80) for line in lines) <= 15
    head = next(line for line in lines if "synthetic rows by" in line)
    promised = lines[lines.index(head) + 1]
    private = method != "multiple-imputation"
    assert promised.startswith("proved    epsilon-DP 1" if private else "promised  nothing is promised")
    figures = [line for line in lines if line.endswith(("good", "better", "watch", "bad"))]
    assert figures or private  # they give way to warnings and to the account, promises don't
    assert max(len(line) for line in lines if "/" not in line and not line.startswith("Warning")) <= 80
    assert "assumes:" not in done.stdout


def test_a_bound_above_one_in_k_says_why(tmp_path):
    import polars as pl

    rows = pl.DataFrame({"person": [100] * 12 + list(range(1, 49)), "age": [40] * 12 + [20 + i for i in range(48)]})
    rows.write_csv(tmp_path / "visits.csv")
    shoal_schema = 'columns.person.role = "unit"\n[columns.age]\nrole = "quasi"\nkind = "numeric"\n'
    (tmp_path / "schema.toml").write_text(shoal_schema)
    done = shoal("anonymize", "visits.csv", "-s", "schema.toml", "--out", "out", "--seed", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Somebody has" in (tmp_path / "out" / "report.html").read_text()
    bound = next(line for line in done.stdout.splitlines() if "re-identification bound" in line)
    assert "20%" not in bound
    assert "of the rows of their group: the bound isn't 1/5" in done.stdout


def test_every_assumption_and_measure_is_printed_on_request(room):
    words = ["anonymize", "people.csv", "-s", "schema.toml", "--sample", "200", "--verbose"]
    done = shoal(*words, cwd=room)
    assert done.returncode == 0, done.stderr
    assert "re-identification bound 0.2 proved" in done.stdout
    assert "assumes:" in done.stdout
    assert "linkage, two guesses" in done.stdout


def test_manifest(room):
    manifest = json.loads((room / "release" / "manifest.json").read_text())
    assert manifest["recipe"]["group"] == {"method": "k-member", "k": 5, "response_weight": 1.0, "solver": "greedy"}
    assert manifest["output"]["rows"] == 400
    assert {claim["basis"] for claim in manifest["claims"]} == {"proved", "measured"}
    assert manifest["risk"]
    assert manifest["utility"]


def test_no_seed_or_input_hash_outside_internal(room):
    import hashlib
    import tomllib

    replay = tomllib.loads((room / "release.internal/replay.toml").read_text())
    assert replay["seed"] == 5
    digest = hashlib.sha256((room / "people.csv").read_bytes()).hexdigest()
    assert replay["input"]["sha256"] == digest
    for path in (room / "release").glob("*.*"):
        text = path.read_text()
        assert digest not in text
        assert replay["key"] not in text
        assert str(room) not in text
        assert '"seed"' not in text


def test_verify(room):
    done = shoal("verify", "release", cwd=room)
    assert done.returncode == 5, done.stdout
    assert "on the publisher's word" in done.stdout
    done = shoal("verify", "release", "--original", "people.csv", "--json", cwd=room)
    assert done.returncode == 0, done.stdout
    checks = {check["name"]: check["holds"] for check in json.loads(done.stdout)["checks"]}
    assert checks["replay"]
    assert checks["input"]
    assert checks["manifest"]
    assert checks["report"]
    assert checks["re-identification bound 0.2"]


def test_verify_finds_a_changed_table(room, tmp_path):
    import shutil

    shutil.copytree(room / "release", tmp_path / "release")
    table = tmp_path / "release/release.csv"
    table.write_text(table.read_text().replace("0", "1", 1))
    done = shoal("verify", "release", cwd=tmp_path)
    assert done.returncode == 3
    assert "fails" in done.stdout


def test_verify_finds_a_falsified_manifest(room, tmp_path):
    import shutil

    shutil.copytree(room / "release", tmp_path / "release")
    shutil.copytree(room / "release.internal", tmp_path / "release.internal")
    path = tmp_path / "release/manifest.json"
    words = json.loads(path.read_text())
    words["claims"][0]["value"] = 0.001
    path.write_text(json.dumps(words))
    done = shoal("verify", tmp_path / "release", "--original", "people.csv", cwd=room)
    assert done.returncode == 3, done.stdout


def test_sign_and_hand_over(room, tmp_path):
    import shutil

    for name in ("release", "release.internal"):
        shutil.copytree(room / name, tmp_path / name)
    (tmp_path / "password").write_text("secret\n")
    from shoal.release.minisign import Cost, new_key

    new_key(tmp_path / "locked.key", password="secret", cost=Cost(operations=1 << 15, memory=1 << 24))
    facts = ["--decision", "Approved", "--by", "R. Roe", "--recipient", "The clinic", "--expires", "2999-12-31"]
    words = ["sign", "release", "--key", "locked.key", "--password-file", "password"]
    done = shoal(*words, *facts, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "release/manifest.json").read_text())["decision"]["recipient"] == "The clinic"
    done = shoal("verify", "release", "--signer", "locked.pub", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "signed" in done.stdout
    both = ["--original", room / "people.csv", "--signer", "locked.pub"]
    assert shoal("verify", "release", *both, cwd=tmp_path).returncode == 0
    assert shoal("handover", "release", "--to", "release.zip", cwd=tmp_path).returncode == 0
    assert shoal("handover", "release", "--to", "release.zip", cwd=tmp_path).returncode == 4
    assert shoal("handover", "release", "--to", "release.zip", "--overwrite", cwd=tmp_path).returncode == 0
    (tmp_path / "release/notes.txt").write_text("x")
    done = shoal("handover", "release", "--to", "other.zip", cwd=tmp_path)
    assert done.returncode == 3
    assert "notes.txt" in done.stderr
    assert shoal(*words, cwd=tmp_path).returncode == 3
    assert shoal("verify", "release", "--signer", "locked.pub", cwd=tmp_path).returncode == 3


def test_a_new_key(tmp_path, monkeypatch):
    import typer

    answers = []
    monkeypatch.setattr(typer, "prompt", lambda *_words, **_more: answers.append(1) or "")
    done = shoal("sign", "--new-key", "publisher.key", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no password" in done.stdout
    assert answers == [1]
    assert (tmp_path / "publisher.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "publisher.pub").is_file()
    assert shoal("sign", "--new-key", "publisher.key", cwd=tmp_path).returncode == 4
    assert shoal("sign", "--new-key", "other.key", "--no-password", cwd=tmp_path).returncode == 0
    assert answers == [1, 1], "nobody was asked for a password"


BAD_SIGNING = [
    (["sign", "release"], 2, "--key"),
    (["sign", "--key", "publisher.key"], 2, "DIRECTORY"),
    (["sign", "release", "--key", "schema.toml"], 4, "minisign"),
    (["sign", "release", "--key", "nobody.key"], 4, "nobody.key"),
    (["sign", "release", "--new-key", "new.key"], 2, "omit the other options"),
    (["sign", "--new-key", "new.key", "--password-file", "empty.csv"], 2, "first line"),
    (["verify", "release", "--signer", "people.csv"], 4, "public key"),
    (["handover", "release"], 2, "--to"),
    (["handover", "nowhere", "--to", "x.zip"], 4, "manifest"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD_SIGNING)
def test_bad_signing_says_why(room, words, code, said):
    (room / "empty.csv").write_text("")
    done = shoal(*words, cwd=room)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (room / "new.key").exists()
    assert not (room / "release/manifest.json.minisig").exists()


def test_markup_in_names_is_printed_as_it_is(room, tmp_path):
    out = tmp_path / "o[v2]"
    done = shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", out, "-m", "centroid", cwd=room)
    assert done.returncode == 0, done.stderr
    assert "o[v2]" in done.stdout.replace("\n", "")


def test_decimal_commas(room, tmp_path):
    text = "age;bmi\n" + "\n".join(f"{20 + i};{20 + i},5" for i in range(12)) + "\n"
    (tmp_path / "odd.csv").write_bytes(text.encode("latin-1"))
    (tmp_path / "odd.toml").write_text(
        '[columns.age]\nrole = "quasi"\n[columns.bmi]\nrole = "quasi"\nkind = "numeric"\n'
    )
    words = ["anonymize", "odd.csv", "-s", "odd.toml", "-o", "out", "-k", "3"]
    assert shoal(*words, "--decimal", ".", cwd=tmp_path).returncode == 4
    done = shoal(*words, cwd=tmp_path)  # the comma is certain
    assert done.returncode == 0, done.stderr
    assert shoal("verify", "out", "--original", "odd.csv", cwd=tmp_path).returncode == 0


def test_replay_gives_the_same_bytes(room, tmp_path):
    done = shoal("anonymize", "--replay", room / "release.internal/replay.toml", "-o", tmp_path / "again", cwd=room)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again/release.csv").read_bytes() == (room / "release/release.csv").read_bytes()


def test_without_a_seed_two_runs_differ(room, tmp_path):
    for name in ("one", "two"):
        shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", tmp_path / name, "--no-register", cwd=room)
    assert (tmp_path / "one/release.csv").read_bytes() != (tmp_path / "two/release.csv").read_bytes()


@pytest.mark.parametrize("format", ["tsv", "parquet", "dta", "sav", "xpt"])
def test_formats(room, tmp_path, format):
    words = ["-g", "mdav", "-m", "centroid", "-f", format]
    done = shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", tmp_path / "out", *words, cwd=room)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / f"release.{format}").is_file()
    assert shoal("verify", tmp_path / "out", cwd=room).returncode == 5


def test_centroid_release_is_k_anonymous_on_disk(room, tmp_path):
    out = tmp_path / "out"
    done = shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", out, "-m", "centroid", "-k", 7, cwd=room)
    assert done.returncode == 0, done.stderr
    quasi = ["gender", "age_group", "education", "income"]
    assert pl.read_csv(out / "release.csv").group_by(quasi).len()["len"].min() >= 7
    assert "holds" in shoal("verify", out, cwd=room).stdout


def test_a_release_is_a_folder(room, tmp_path):
    done = shoal("anonymize", "people.csv", "-s", "schema.toml", "-o", "-", cwd=room)
    assert (done.returncode, (room / "-").exists()) == (2, False)
    assert "shoal export" in done.stderr


def test_schema_infer_with_a_codebook(room, tmp_path):
    (tmp_path / "book.csv").write_text("variable,label\ngender,Sex of the person\nshoe,Size of shoes\n")
    done = shoal("schema", "infer", "people.csv", "--codebook", tmp_path / "book.csv", cwd=room)
    assert "does not have: shoe." in done.stdout
    refused = shoal("schema", "infer", "people.csv", "--codebook", tmp_path / "book.csv", "--linked", cwd=room)
    assert refused.returncode == 2


def test_schema_infer_then_check(room, tmp_path):
    done = shoal("schema", "infer", "people.csv", "-o", tmp_path / "s.toml", cwd=room)
    assert done.returncode == 0, done.stderr
    assert "#" in (tmp_path / "s.toml").read_text()
    assert shoal("schema", "infer", "people.csv", "-o", tmp_path / "s.toml", cwd=room).returncode == 4
    assert shoal("schema", "check", "people.csv", "-s", tmp_path / "s.toml", cwd=room).returncode == 0


def test_risk(room):
    done = shoal("risk", "people.csv", "-s", "schema.toml", cwd=room)
    assert done.returncode == 0, done.stderr
    assert "k" in done.stdout
    done = shoal("risk", "people.csv", "-s", "schema.toml", "--json", cwd=room)
    assert json.loads(done.stdout)


def test_demo(tmp_path):
    done = shoal("demo", "--rows", 500, "--out", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("centroid", "resample", "cell-dither", "gaussian-dither"):
        assert name in done.stdout
    assert (tmp_path / "demo/report.html").is_file()


BAD = [
    (["anonymize", "people.csv", "-s", "schema.toml"], 2, "--out"),
    (["anonymize", "people.csv", "-o", "x"], 2, "--schema"),
    (["anonymize", "-s", "schema.toml", "-o", "x"], 2, "FILE"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-k", "1"], 2, "at least 2"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-k", "9", "-g", "mdav:k=3"], 2, "must agree"),
    (["anonymize", "--replay", "release.internal/replay.toml", "-o", "x", "-k", "9"], 2, "--k"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-k", "five"], 2, "not a valid int"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-m", "blur"], 2, "known method"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-f", "docx"], 2, "format"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "people.csv"], 2, "input"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "."], 4, "already holds"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", ".", "--overwrite"], 2, "manifest.json"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "x", "-k", "401"], 3, "at least k = 401"),
    (["anonymize", "nobody.csv", "-s", "schema.toml", "-o", "x"], 4, "nobody.csv"),
    (["anonymize", "people.csv", "-s", "nobody.toml", "-o", "x"], 4, "nobody.toml"),
    (["anonymize", "empty.csv", "-s", "schema.toml", "-o", "x"], 4, "empty.csv"),
    (["anonymize", "twice.csv", "-s", "schema.toml", "-o", "x"], 4, "unique"),
    (["anonymize", "short.csv", "-s", "schema.toml", "-o", "x"], 4, "income"),
    (["anonymize", "people.csv", "-s", "role.toml", "-o", "x"], 4, "role must be one of"),
    (["anonymize", "people.csv", "-s", "kind.toml", "-o", "x"], 4, "kind must be one of"),
    (["anonymize", "people.csv", "-s", "schema.toml", "-o", "people.csv/inside"], 4, "folder"),
    (["verify", "nowhere"], 4, "manifest"),
    (["anonymize", "--replay", "schema.toml", "-o", "x"], 4, "must hold"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD)
def test_bad_input_says_why_and_writes_nothing(room, words, code, said):
    (room / "empty.csv").write_text("")
    (room / "twice.csv").write_text("a,a\n1,2\n")
    (room / "short.csv").write_text("gender,age_group,education,cost,weight\nF,1,1,1,1\n")
    text = (room / "schema.toml").read_text()
    (room / "role.toml").write_text(text.replace('role = "sensitive"', 'role = "secret"'))
    (room / "kind.toml").write_text(text.replace('kind = "ordinal"', 'kind = "sorted"'))
    before = sorted(path.name for path in room.iterdir())
    done = shoal(*words, cwd=room)
    assert (done.returncode, said in done.stderr.replace("\n", " ")) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in room.iterdir()) == before


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_no_release(tmp_path, how):
    health_survey(1_000, seed=1).write_csv(tmp_path / "people.csv")
    health_survey_schema().write(tmp_path / "schema.toml")
    words = ["anonymize", "people.csv", "-s", "schema.toml", "-o", "release"]
    process = subprocess.Popen([*SHOAL, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".release.partial-*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate()
    assert not (tmp_path / "release").exists()
    left = list(tmp_path.glob(".release.partial-*"))
    if how != signal.SIGKILL:
        assert not left
        assert b"stopped; nothing was written." in said
        assert process.returncode == 128 + how
        return
    done = shoal(*words, "-m", "centroid", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob(".release.partial-*"))


def test_paths_with_spaces_and_letters(room, tmp_path):
    folder = Path(tmp_path / "Æ folder")
    folder.mkdir()
    (folder / "people.csv").write_bytes((room / "people.csv").read_bytes())
    done = shoal("anonymize", "people.csv", "-s", room / "schema.toml", "-o", "ut gång", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "ut gång" / "report.html").is_file()
