"""`shoal coarsen` and `shoal synthesize` as a new user would run them."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import health_survey
from shoal.errors import FileError, GuaranteeError, ParameterError, ShoalError
from shoal.schema import Schema

LEVELS = {
    "gender": ["female", "male"],
    "age_group": list(range(8)),
    "education": list(range(8)),
    "income": list(range(6)),
}


def shoal(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coarsen")
    table = health_survey(400, seed=1).with_columns(zip=pl.Series(["02139", "02140", "94110", "94112"] * 100))
    table.write_csv(folder / "people.csv")
    Schema.of(
        quasi=["gender", "age_group", "education", "income", "zip"],
        sensitive=["cost"],
        weight="weight",
        levels=LEVELS | {"zip": ["02139", "02140", "94110", "94112"]},
        bounds={"cost": (0, 1e6)},
        kinds=dict.fromkeys(("age_group", "education", "income"), "ordinal"),
    ).write(folder / "schema.toml")
    (folder / "zip.csv").write_text("".join(f"{z};{z[:3]};*\n" for z in ("02139", "02140", "94110", "94112")))
    return folder


def coarsen(room, out, *words):
    return shoal("coarsen", room / "people.csv", "-s", room / "schema.toml", "-o", out, *words)


@pytest.mark.parametrize("method", ["mondrian", "generalize:suppression=0.2", "suppress", "mondrian:write=means"])
def test_from_file_to_verified_release(room, tmp_path, method):
    done = coarsen(room, tmp_path / "out", "--method", method, "--seed", 1)
    assert done.exit_code == 0, done.exception
    assert "k-anonymity 5" in done.stdout
    assert shoal("verify", tmp_path / "out").exit_code == 5
    again = shoal("verify", tmp_path / "out", "--original", room / "people.csv")
    assert again.exit_code == 0, again.stdout


def test_hierarchies_in_and_out(room, tmp_path):
    words = ("-m", "generalize:suppression=0.2", "--hierarchy", f"zip={room / 'zip.csv'}", "--limit", "zip=1")
    done = coarsen(room, tmp_path / "out", *words, "--export", tmp_path / "hierarchies")
    assert done.exit_code == 0, done.exception
    assert (tmp_path / "hierarchies" / "zip.csv").read_text().splitlines()[0] == "02139;021;*"
    table = pl.read_csv(tmp_path / "out" / "release.csv", schema_overrides={"zip": pl.String})
    assert set(table["zip"]) <= {"021", "941", "02139", "02140", "94110", "94112"}


def test_recode_and_conditions(room, tmp_path):
    done = coarsen(
        room, tmp_path / "out", "--recode", "zip=prefix:keep=3", "--diversity", "3", "--importance", "gender=5"
    )
    assert done.exit_code == 0, done.exception
    assert "distinct l-diversity 3" in done.stdout
    words = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [method["method"] for method in words["recipe"]["coarsen"]] == ["recode", "mondrian"]


def test_presets(room, tmp_path):
    done = coarsen(room, tmp_path / "a", "--preset", "public-11")
    assert done.exit_code == 0, done.exception
    assert "k-anonymity 11" in done.stdout
    done = coarsen(room, tmp_path / "b", "--preset", "safe-harbor", "--method", "none", "--no-register")
    assert done.exit_code == 0, done.exception
    assert set(pl.read_csv(tmp_path / "b" / "release.csv", infer_schema=False)["zip"]) == {"021", "941"}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--k", 401], GuaranteeError),
        (["--k", 1], ParameterError),
        (["--method", "mondrain"], ParameterError),
        (["--preset", "hipaa"], ParameterError),
        (["--preset", "cms", "--k", 5], ParameterError),
        (["--importance", "gender"], ParameterError),
        (["--importance", "gender=x"], ParameterError),
        (["--hierarchy", "zip=missing.csv"], FileError),
        (["--method", "none"], ParameterError),
        (["--method", "none", "--k", 5], ParameterError),
        (["--diversity", "lots"], ParameterError),
        (
            ["--method", "generalize", "--suppression", "0", "--limit", "age_group=0", "--limit", "cost=0"],
            ParameterError,
        ),
    ],
)
def test_what_is_refused_leaves_nothing(room, tmp_path, words, kind):
    done = coarsen(room, tmp_path / "out", *words)
    assert isinstance(done.exception, kind), (done.exception, done.stdout)
    assert list(tmp_path.iterdir()) == []


def test_synthesize_with_an_account(room, tmp_path):
    data = tmp_path / "people.csv"
    data.write_bytes((room / "people.csv").read_bytes())
    words = ("synthesize", data, "-s", room / "schema.toml", "-n", 50)
    assert "ε = 1" in shoal(*words, "--epsilon", 1, "--price").stdout
    assert not (tmp_path / "people.csv.budget.json").exists()
    done = shoal(*words, "--epsilon", 1, "--limit", 1.5, "-o", tmp_path / "a")
    assert done.exit_code == 0, done.exception
    assert "epsilon-DP 1" in done.stdout
    assert "left ε = 0.5" in done.stdout
    assert len(pl.read_csv(tmp_path / "a" / "release.csv")) == 50
    assert shoal("verify", tmp_path / "a", "--original", data).exit_code == 5, "nobody can draw it again"
    refused = shoal(*words, "--epsilon", 1, "-o", tmp_path / "b")
    assert isinstance(refused.exception, GuaranteeError)
    assert not (tmp_path / "b").exists()
    changed = shoal(*words, "--epsilon", 0.1, "--limit", 5, "-o", tmp_path / "b")
    assert isinstance(changed.exception, ParameterError)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_refused_synthesis_leaves_nothing_beside_its_input(room, tmp_path, engine):
    data = tmp_path / "people.csv"
    pl.read_csv(room / "people.csv").with_columns(income=pl.lit(77)).write_csv(data)
    words = ("synthesize", data, "-s", room / "schema.toml", "-n", 50, "-o", tmp_path / "out", "--engine", engine)
    refused = shoal(*words)
    assert isinstance(refused.exception, ShoalError), (refused.exception, refused.stdout)
    assert list(tmp_path.iterdir()) == [data]
    blank = shoal(*words, "--recipient", " ")
    assert isinstance(blank.exception, ParameterError)
    assert list(tmp_path.iterdir()) == [data]


def test_synthesize_without_a_claim_needs_no_account(room, tmp_path):
    done = shoal(
        "synthesize", room / "people.csv", "-s", room / "schema.toml", "-n", 30, "-o", tmp_path / "out",
        "--method", "multiple-imputation:K=2",
    )  # fmt: skip
    assert done.exit_code == 0, done.exception
    assert "nothing is promised" in done.stdout
    assert not (room / "people.csv.budget.json").exists()


@pytest.mark.parametrize("words", [["--epsilon", 0], ["--epsilon", -1], ["--scope", "world"], ["--rows", 0]])
def test_synthesize_refuses_wrong_words(room, tmp_path, words):
    given = ("synthesize", room / "people.csv", "-s", room / "schema.toml", "-o", tmp_path / "out", "--no-account")
    assert isinstance(shoal(*given, *words).exception, ParameterError)
    assert not (tmp_path / "out").exists()


def test_screen_says_how_many_records_are_left_out_and_how_many_may_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = [*[30, 40] * 30, 90]
    pl.DataFrame({"age": ages, "sex": ["f"] * 61}).write_csv("people.csv")
    (tmp_path / "s.toml").write_text('[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n')
    words = ["coarsen", "people.csv", "-s", "s.toml", "-o", "out", "-m", "generalize"]
    assert "60 rows released, 1 left out (1.6%; limit 5%) by generalize" in CliRunner().invoke(app, words).output


def test_where_the_screen_is_short_promises_stay_and_figures_give_way():
    import shoal as library
    from shoal.cli.summary import summary

    table = health_survey(300, seed=1).select("gender", "age_group", "education", "income", "cost")
    schema = Schema.of(quasi=["gender", "age_group", "education", "income"], sensitive=["cost"])
    release = library.coarsen(table, schema, library.Mondrian(k=5, diversity=3), seed=1)
    firm = [claim for claim in release.claims if claim.basis != "measured"]
    for most in range(len(firm) + 3, 15):
        lines = summary(release, True, most)
        assert len(lines) <= most
        assert sum(line.startswith(("verified", "proved")) for line in lines) == len(firm)
        heads = [i for i, line in enumerate(lines) if line.rstrip().endswith("reading")]
        assert all(lines[i + 1].startswith("  ") for i in heads), "no head without a figure"


def test_a_note_that_is_too_long_goes_on_in_the_next_line():
    from types import SimpleNamespace

    from shoal.cli.summary import _watch

    notes = ("joined tables, 1 known event: at least 5 persons fit; 0.0% have fewer than 5, as was asked", "short")
    release = SimpleNamespace(
        model=None,
        risk=SimpleNamespace(dependences=()),
        notes=notes,
        inside_warnings=(),
        claims=(),
        recipe=SimpleNamespace(k=5),
    )
    lines = _watch(release, 3)
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == f"note {notes[0]} note short"
    assert _watch(release, 2) == ["watch     2 points in the report"]


@pytest.mark.parametrize("engine", [(), ("--engine", "duckdb")], ids=["memory", "duckdb"])
def test_the_screen_names_the_groups_that_suppression_took(tmp_path, engine):
    """19 of a small state, of whom 12 share a class: a share of 1.7% of all records is 37% of the state."""
    race = [*["A", "B", "C", "D"] * 100, *["A"] * 12, *"BCDEFGH"]
    table = pl.DataFrame(
        {"state": ["Ohio"] * 400 + ["Wyoming"] * 19, "race": race, "cost": [i % 7 for i in range(419)]}
    )
    table.write_csv(tmp_path / "people.csv")
    kinds = {"state": "nominal", "race": "nominal"}
    Schema.of(quasi=["state", "race"], sensitive=["cost"], kinds=kinds).write(tmp_path / "schema.toml")
    method = "generalize:k=10,suppression=0.05,limits=state=0/race=0"
    words = ("coarsen", tmp_path / "people.csv", "-s", tmp_path / "schema.toml", "-o", tmp_path / "out", "-m", method)
    done = shoal(*words, *engine)
    assert done.exit_code == 0, done.exception
    said = " ".join(done.stdout.split())
    assert "Suppression took most of: state Wyoming 36.8% (19 → 12)" in said
    assert "4 levels vanished: race E (1), race F (1), race G (1), race H (1)." in said
    assert "To keep more of state Wyoming: merge Wyoming with another level" in said
    assert len(done.stdout.splitlines()) <= 15 or engine


def test_what_a_preset_did_is_listed_on_the_screen_and_by_name(room, tmp_path):
    done = coarsen(room, tmp_path / "a", "--preset", "safe-harbor", "--method", "none", "--no-register")
    assert "columns   ZIP codes cut to three digits: zip" in done.stdout
    done = coarsen(room, tmp_path / "b", "--preset", "safe-harbor", "--method", "none", "--no-register", "--json")
    assert json.loads(done.stdout)["treated"]["ZIP codes cut to three digits"] == ["zip"]
