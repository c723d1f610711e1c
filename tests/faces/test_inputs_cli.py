"""The commands read any table through one door, list all problems at once, and hand a release on."""

import io
import sqlite3
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import InputError, ParameterError, ProblemsError
from shoal.files import Labels, read_source, read_table, write_table

SCHEMA = """\
# mine
[columns.id]
role = "identifier"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
[columns.born]
role = "quasi"
format = "DD.MM.YYYY"
[columns.cost]
role = "sensitive"
"""


def rows(n=40):
    for i in range(n):
        yield i, 20 + i % 20, "fm"[i % 2], f"{1 + i % 28}.{1 + i % 12}.{1950 + i % 9}", f"{i % 7},5"


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [";".join(map(str, row)) for row in rows()]
    (tmp_path / "people.csv").write_text("\n".join(["id;age;sex;born;cost", *lines]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    with sqlite3.connect(tmp_path / "clinic.sqlite") as connection:
        connection.execute("CREATE TABLE people (id INTEGER, age INTEGER, sex TEXT, born TEXT, cost REAL)")
        values = [(*row[:4], float(row[4].replace(",", "."))) for row in rows()]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", values)
    connection.close()
    return tmp_path


def run(*words, error=None, input=None):
    result = CliRunner().invoke(app, list(words), input=input)
    if error is not None:
        assert isinstance(result.exception, error), result.output
        return str(result.exception)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_release_of_a_query_is_replayed_verified_and_exported(room):
    query = ["--sql", "SELECT * FROM people ORDER BY id", "--database", "clinic.sqlite"]
    run("coarsen", *query, "-s", "schema.toml", "-o", "out", "-k", "3")
    assert pl.read_csv(room / "out/release.csv").columns == ["age", "sex", "born", "cost"]
    assert "No check fails" in run("verify", "out", "--original", "clinic.sqlite")
    run("export", "out", "--database", "research.sqlite", "--table", "people")
    assert "already has a table" in run(
        "export", "out", "--database", "research.sqlite", "--table", "people", error=InputError
    )
    assert run("export", "out").encode() == (room / "out/release.csv").read_bytes()
    (room / "out/release.csv").write_text("changed")
    run("export", "out", error=Exception)


def test_scan_takes_standard_input_and_a_pattern(room, monkeypatch):
    whole = run("scan", "people.csv")
    assert run("scan", "peo*.csv") == whole
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((room / "people.csv").read_bytes())))
    assert run("scan", "-", input=(room / "people.csv").read_bytes()) == whole


@pytest.mark.parametrize("command", [["scan"], ["schema", "infer"]])
def test_a_pattern_that_the_shell_has_replaced_must_be_quoted(room, command):
    files = [room / "a.csv", room / "b.csv"]
    for file in files:
        file.write_text("x\n1\n")
    done = CliRunner().invoke(app, [*command, *map(str, files)])
    assert done.exit_code == 2
    assert "quote a pattern" in " ".join(done.output.replace("│", " ").split())
    done = CliRunner().invoke(app, [*command, str(files[0]), "nowhere"])
    assert done.exit_code == 2
    assert "unexpected extra argument" in done.output
    assert "quote" not in done.output


def test_where_the_table_comes_from_is_said_once(room):
    assert "FILE must be given" in run("scan", error=ParameterError)
    assert "--database" in run("scan", "--sql", "SELECT 1", error=ParameterError)
    both = run("scan", "people.csv", "--sql", "SELECT 1", "--database", "clinic.sqlite", error=ParameterError)
    assert "not both" in both
    words = ["--sql", "SELECT * FROM people", "--database", "clinic.sqlite", "-s", "schema.toml", "-o", "out"]
    assert "account" in run("synthesize", *words, error=ParameterError)


def test_all_problems_are_listed_and_the_safe_ones_fixed(room):
    path = room / "schema.toml"
    path.write_text(SCHEMA.replace("[columns.sex]", "[columns.sexx]").replace('"DD.MM.YYYY"', '"MM/DD/YYYY"'))
    message = run("schema", "check", "people.csv", "-s", "schema.toml", error=InputError)
    assert "written as MM/DD/YYYY" in message  # the file can't be read so: nothing else can be told yet
    path.write_text(SCHEMA.replace("[columns.sex]", "[columns.sexx]"))
    message = run("schema", "check", "people.csv", "-s", "schema.toml", error=ProblemsError)
    assert "'sexx' is not in the table" in message
    assert "'sex' of the table has no role" in message
    run("schema", "fix", "people.csv", "-s", "schema.toml", input="n\n", error=ProblemsError)
    assert "sexx" in path.read_text()
    assert "fits its schema" in run("schema", "fix", "people.csv", "-s", "schema.toml", "--yes")
    assert path.read_text().startswith("# mine\n")
    assert "sexx" not in path.read_text()


def test_problems_are_a_table_on_the_screen(capsys):
    from shoal.cli.console import complain_of
    from shoal.errors import ColumnError

    complain_of(ProblemsError([ColumnError("a", "must b", got="c", hint="Do d."), ColumnError("[e]", "must f")]))
    shown = capsys.readouterr().err
    for word in ("2 problems", "remedy", "column 'a'", "must b; c", "Do d.", "column '[e]'"):
        assert word in shown
    complain_of(ProblemsError([ColumnError(name, "must b", got=name * 3, hint="Do d.") for name in "xyz"]))
    shown = capsys.readouterr().err
    assert (shown.count("must b"), shown.count("Do d."), shown.count("as above")) == (1, 1, 2)
    assert "the same; zzz" in shown


def test_a_proposal_says_on_the_screen_what_is_left_to_decide(capsys):
    from shoal.cli.proposal import print_proposal
    from shoal.schema.infer import propose

    ages = [20 + i % 40 for i in range(200)]
    table = pl.DataFrame(
        {
            "age": ages,
            "agegr": [age // 10 for age in ages],
            "[DUQ]": [i % 3 for i in range(200)],
            "income": [-8] * 10 + [*range(190)],
        }
    )
    print_proposal(propose(table))
    shown = " ".join(capsys.readouterr().out.split())
    assert "quasi (4) age, agegr, [DUQ], income" in shown
    assert "undecided: sensitive? [DUQ] codes for an absence? income derived from others? agegr" in shown


def test_rules_of_a_preset_with_the_same_result_share_a_line(capsys):
    from shoal.cli.verify import _print
    from shoal.release.verify import Check

    rules = [
        Check(name=f"p: {rule}", holds=holds, detail="none", standing="recomputed", preset="p", rule=rule)
        for rule, holds in (("A", True), ("B", False), ("C", True))
    ]
    _print([Check(name="rows", holds=True, detail="none"), *rules, Check(name="table", holds=True, detail="none")])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["holds rows: none", "recomputed p, 2 rules (A; C): none", "fails p: B: none", "holds table: none"]


def test_check_names_what_does_not_follow_beside_rules_that_are_broken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age,agegr,sex\n" + "".join(f"{20 + i % 9},{i},m\n" for i in range(40)))
    Path("t.toml").write_text(
        '[columns.age]\nrole = "quasi"\n[columns.agegr]\nrole = "quasi"\nderived = ["age"]\n'
        '[columns.sex]\nrole = "quasi"\n[[rules]]\nnever = { sex = ["m"] }\n'
    )
    message = run("schema", "check", "t.csv", "-s", "t.toml", error=ProblemsError)
    assert "rule 1 (sex)" in message
    assert "'agegr' must follow from age" in message


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_absences_of_statistical_files_go_through_a_release(room, ending):
    codes = {-8: "not applicable", -9: "refused"} if ending == "sav" else {".a": "not applicable", ".r": "refused"}
    cells = [[*codes][i % 5] if i % 5 < 2 else 100 + i for i in range(60)]
    typed = cells if ending == "sav" else list(map(str, cells))
    table = pl.DataFrame({"age": [20 + i % 30 for i in range(60)], "income": typed, "cost": [i % 7 for i in range(60)]})
    write_table(table, f"p.{ending}", labels=Labels(values={"income": codes}, missing={"income": tuple(codes)}))
    run("schema", "infer", f"p.{ending}", "-o", "proposed.toml")
    run("anonymize", f"p.{ending}", "-s", "proposed.toml", "-o", "out", "-g", "mdav", "-m", "centroid", "-k", "3")
    written = read_source(room / f"out/release.{ending}", codes=None)
    assert set(written.labels.missing["income"]) == set(codes)
    assert written.frame["income"].is_in(list(codes)).sum() == 24
    assert read_table(room / f"out/release.{ending}")["income"].null_count() == 24
    assert "No check fails" in run("verify", "out", "--original", f"p.{ending}")
