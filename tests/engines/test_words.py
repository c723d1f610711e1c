"""What is written beside an engine's rows: made again byte for byte, as CSV, under pseudonyms, registered."""

import json

import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.engine import Inputs, open_engine
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.ledger import Ledger
from shoal.pseudonym import ProjectKey, Pseudonyms
from shoal.recipe import Anonymization, Coarsening
from shoal.release.minisign import new_key
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files, repeat_files

PLAN = Plan(rows=400, sample=1000)
BASE = {"quasi": ["age", "zip", "ill"], "sensitive": ["cost"], "other": ["rate"]}
RECIPE = Anonymization.of(shoal.MDAV(k=5), shoal.Centroid())
NAMES = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry")


def made(engine, inputs, target, schema=None, recipe=RECIPE, **given):
    schema = schema or shoal.Schema.of(identifier=["who"], **BASE)
    return release_files(engine, inputs, schema, recipe, target, seed=7, key="3c" * 32, plan=PLAN, **given)


def checks(found):
    return {check.name: check.holds for check in found.checks}


@pytest.fixture
def inputs(visits, tmp_path):
    return Inputs.of(cut(visits, tmp_path / "in", 2))


@pytest.fixture
def register(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(url).close()
    opened = shoal.Register.open("visits", ledger=url)
    yield opened
    opened.close()


def test_report_and_manifest_are_made_again_byte_for_byte(engine, inputs, tmp_path):
    made(engine, inputs, tmp_path / "out")
    found = shoal.verify(tmp_path / "out", original=tmp_path / "in", engine=engine)
    assert found.exit_code == 0, found
    assert checks(found)["report"]
    assert checks(found)["manifest"]
    assert checks(found)["bound by the group formula"]


def test_a_page_that_says_something_else_is_found_although_its_hash_was_changed_too(inputs, tmp_path):
    from shoal.files import sha256

    made(MemoryEngine(), inputs, out := tmp_path / "out")
    page = (out / "report.html").read_text()
    (out / "report.html").write_text(page.replace("k-anonymity", "K-anonymity", 1))
    words = json.loads((out / "manifest.json").read_text())
    words["files"]["report.html"] = sha256(out / "report.html")
    (out / "manifest.json").write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")
    assert shoal.verify(out).holds  # who has only the folder can't see it
    found = checks(shoal.verify(out, original=tmp_path / "in"))
    assert (found["replay"], found["report"], found["manifest"]) == (True, False, False)


def test_what_was_decided_and_registered_is_made_again_too(inputs, tmp_path, register):
    made(MemoryEngine(), inputs, out := tmp_path / "out", register=register)
    secret, public = new_key(tmp_path / "publisher.key")
    shoal.sign(out, key=secret, decision="May leave.", by="R. Roe")
    found = shoal.verify(out, original=tmp_path / "in", signer=public)
    assert found.exit_code == 0, found


def texts():
    """Texts, days, truths and numbers that delimited text must bring back, commas, quotes and line ends included."""
    odd = ["a,b", 'a "b"', "two\nlines", " 7", "007", "", None, "é", "e\u0301", "1e3"]
    return pl.DataFrame(
        {
            "age": [20 + i % 5 for i in range(200)],
            "word": [odd[i % 10] for i in range(200)],
            "part": [0.1 * (i % 7) for i in range(200)],
            "big": [2**62 + i % 3 for i in range(200)],
            "yes": [i % 3 == 0 for i in range(200)],
            "day": pl.Series([19_000 + i % 9 for i in range(200)], dtype=pl.Int32).cast(pl.Date),
            "at": pl.Series([10**15 + 1000 * (i % 9) for i in range(200)]).cast(pl.Datetime("us")),
        }
    )


def test_a_table_is_written_as_csv(engine, tmp_path):
    inputs = Inputs.of(cut(texts(), tmp_path / "in", 2))
    schema = shoal.Schema.of(quasi=["age"], other=["word", "part", "big", "yes", "day", "at"])
    done = made(engine, inputs, out := tmp_path / "out", schema, format="csv")
    assert [part.name for part in done.parts] == ["part-00000.csv"]
    again = made(MemoryEngine(), inputs, tmp_path / "memory", schema, format="csv")
    assert again.parts == done.parts  # byte for byte, whatever the engine
    written = pl.read_csv(out / "part-00000.csv", schema_overrides={"word": pl.String})
    expected = texts().with_columns(pl.col("word").replace("", None))
    written = written.with_columns(pl.col("word").replace("", None))
    for name in ("word", "part", "big", "yes"):
        assert written[name].sort().equals(expected[name].sort()), name
    found = shoal.verify(out, original=tmp_path / "in", engine=engine)
    assert found.exit_code == 0, found
    (out / "part-00001.parquet").write_bytes(b"PAR1")
    assert shoal.verify(out, engine=engine).exit_code == 3


def test_other_formats_are_refused_before_anything_is_read(inputs, tmp_path):
    with pytest.raises(ParameterError, match="must be parquet or csv on an engine"):
        made(MemoryEngine(), inputs, tmp_path / "out", format="sav")


@pytest.mark.parametrize("method", ["anonymize", "generalize", "suppress"])
def test_identifiers_stay_under_pseudonyms(engine, visits, inputs, tmp_path, method):
    schema = shoal.Schema.of(unit="who", pseudonym=["who"], **BASE)
    recipe = {
        "anonymize": RECIPE,
        "generalize": Coarsening.of(shoal.Generalize(k=5)),
        "suppress": Coarsening.of(shoal.Suppress(k=5)),
    }[method]
    made(engine, inputs, out := tmp_path / "out", schema, recipe, pseudonyms=NAMES)
    written = pl.read_parquet(out / "part-00000.parquet")
    tokens = dict(zip(visits["who"], NAMES.of(visits["who"]), strict=True))
    assert set(written["who"]) <= set(tokens.values())
    rows = visits.with_columns(NAMES.of(visits["who"])).group_by("who").len().sort("who")
    if method == "anonymize":
        assert written.group_by("who").len().sort("who").equals(rows)
    words = json.loads((out / "manifest.json").read_text())
    assert words["pseudonyms"] == NAMES.to_dict()
    assert words["columns"]["who"]["role"] == "pseudonym"
    again = repeat_files(engine, tmp_path / "out.internal" / "replay.toml", tmp_path / "again", project_key=NAMES.key)
    assert {part.name: part.sha256 for part in again.parts}.items() <= words["files"].items()


def test_pseudonyms_that_tie_rows_or_lack_a_key_are_refused(inputs, tmp_path):
    schema = shoal.Schema.of(identifier=["who"], pseudonym=["who"], **BASE)
    with pytest.raises(ColumnError, match="ties rows together"):
        made(MemoryEngine(), inputs, tmp_path / "out", schema, pseudonyms=NAMES)
    with pytest.raises(ParameterError, match="needs a project key and a scope"):
        made(MemoryEngine(), inputs, tmp_path / "out", schema)
    assert not (tmp_path / "out").exists()


def test_two_people_with_one_pseudonym_in_different_batches_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engine.duckdb._BATCH", 1)
    monkeypatch.setattr(Pseudonyms, "_token", lambda self, domain, one: "same")
    table = pl.DataFrame({"who": [1, 2] * 20, "age": [30, 31] * 20})
    schema = shoal.Schema.of(unit="who", pseudonym=["who"], quasi=["age"])
    inputs = Inputs.of(cut(table, tmp_path / "in", 2))
    with (
        open_engine("duckdb", spill=tmp_path) as engine,
        pytest.raises(GuaranteeError, match="all differ"),
    ):
        made(engine, inputs, tmp_path / "out", schema, pseudonyms=NAMES)


def test_a_release_from_python_is_registered_and_named(inputs, tmp_path, register):
    schema = shoal.Schema.of(unit="who", pseudonym=["who"], **BASE)
    words = {"engine": "duckdb", "register": register, "pseudonyms": NAMES}
    with shoal.anonymize(tmp_path / "in", schema, group=shoal.MDAV(k=5), **words) as release:
        assert register.releases() == []  # not before it is written
        release.write(tmp_path / "one", format="csv")
    assert [entry["folder"] for entry in register.releases()] == [str(tmp_path / "one")]
    with pytest.raises(GuaranteeError, match="must hold beside release 1"):
        shoal.coarsen(tmp_path / "in", schema, shoal.Generalize(k=5), **words)


def test_what_python_can_not_have_on_an_engine_is_refused(inputs, tmp_path):
    schema = shoal.Schema.of(identifier=["who"], **BASE)
    for more in ({"same_groups_as": "last"}, {"events": {}}):
        with pytest.raises(ParameterError, match="needs the table in memory, not the engine duckdb"):
            shoal.anonymize(tmp_path / "in", schema, engine="duckdb", **more)


def test_generalize_is_made_again_with_its_words(inputs, tmp_path):
    with DuckDBEngine(spill=tmp_path) as engine:
        schema = shoal.Schema.of(unit="who", **BASE)
        coarsen_files(engine, inputs, schema, shoal.Generalize(k=5), tmp_path / "out")
        assert shoal.verify(tmp_path / "out", original=tmp_path / "in", engine=engine).exit_code == 0
