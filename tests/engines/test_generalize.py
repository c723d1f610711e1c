"""Generalize on an engine: the rows, levels, claims and facts of memory, whatever the files, order and threads."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from hashlib import sha256

import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.coarsening import coded_table, lattice_nodes
from shoal.engine import Inputs
from shoal.engine.choose import bytes_of
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, FileError, GuaranteeError, InputError, ParameterError, SchemaError
from shoal.release.minisign import new_key
from shoal.release.on_engine import generalize
from shoal.release.on_engine import write as evidence

BASE = {"quasi": ["age", "zip", "rate"], "sensitive": ["ill", "cost"], "kinds": {"rate": "nominal"}}
SCHEMAS = {
    "rows": shoal.Schema.of(identifier=["who"], **BASE),
    "persons": shoal.Schema.of(unit="who", **BASE),
    "bounds": shoal.Schema.of(identifier=["who"], bounds={"age": (0, 120)}, **BASE),
}


def released(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


def multiset(frame):
    return frame.sort(frame.columns, nulls_last=True)


@pytest.mark.parametrize("name", list(SCHEMAS))
@pytest.mark.parametrize("loss", ["granularity", "entropy"])
def test_the_rows_and_claims_of_memory(engine, visits, tmp_path, name, loss):
    schema, method = SCHEMAS[name], shoal.Generalize(k=5, suppression=0.1, loss=loss)
    expected = shoal.coarsen(visits, schema, method)
    made = coarsen_files(engine, Inputs.of(cut(visits, tmp_path / "in", 3)), schema, method, tmp_path / "out")
    found = released(tmp_path / "out")
    assert found.schema == expected.in_file_types().schema
    assert multiset(found).equals(multiset(expected.in_file_types()))
    own = {claim.kind: claim for claim in expected.claims}
    for claim in made.claims:
        same = own[claim.kind]
        assert (claim.value, claim.basis, claim.unit, claim.statement) == (
            same.value,
            same.basis,
            same.unit,
            same.statement,
        )
    assert [claim.kind for claim in made.claims] == ["k-anonymity", "re-identification bound"]
    assert not any("is measured" in text for claim in made.claims for text in claim.assumptions)
    assert list(map(str, made.facts)) == list(map(str, expected.facts))
    assert made.k >= 5


MIXED = {
    "distinct": {"diversity": 3},
    "entropy and equal": {"diversity": "entropy:2", "closeness": "equal:0.5"},
    "recursive": {"diversity": "recursive:3,2"},
    "by kind": {"closeness": 0.45},
}


@pytest.mark.parametrize(
    ("name", "asked"), [*(("rows", asked) for asked in MIXED), ("persons", "entropy and equal"), ("persons", "by kind")]
)
def test_diversity_and_closeness_as_in_memory(engine, visits, tmp_path, name, asked):
    schema, method = SCHEMAS[name], shoal.Generalize(k=5, suppression=0.2, **MIXED[asked])
    expected = shoal.coarsen(visits, schema, method)
    alone = shoal.coarsen(visits, schema, shoal.Generalize(k=5, suppression=0.2))
    assert not multiset(expected.in_file_types()).equals(multiset(alone.in_file_types()))  # it asks for more than k
    made = coarsen_files(engine, Inputs.of(cut(visits, tmp_path / "in", 3)), schema, method, tmp_path / "out")
    assert multiset(released(tmp_path / "out")).equals(multiset(expected.in_file_types()))
    counted = [claim for claim in expected.claims if claim.basis != "measured"]
    assert [(c.kind, c.value, c.column, c.statement) for c in made.claims] == [
        (c.kind, c.value, c.column, c.statement) for c in counted
    ]
    assert list(map(str, made.facts)) == list(map(str, expected.facts))
    shown = [c for c in shoal.verify(tmp_path / "out", engine=engine).checks if c.standing == "recomputed"]
    assert all(check.holds for check in shown)
    assert len(shown) == {"rows": {"recursive": 1, "entropy and equal": 5}.get(asked, 3), "persons": 0}[name]


def test_a_mix_that_is_not_kept_is_no_release(engine, visits, tmp_path, monkeypatch):
    """The classes are counted again over all rows: a search that chose too fine levels doesn't get through."""
    monkeypatch.setattr(shoal.Generalize, "_good", lambda self, counter, node: counter.large_enough(node))
    with pytest.raises(GuaranteeError, match="at least 3 different values of 'ill'"):
        coarsen_files(
            engine,
            Inputs.of(cut(visits, tmp_path / "in", 2)),
            SCHEMAS["rows"],
            shoal.Generalize(k=5, suppression=0.3, diversity=3),
            tmp_path / "out",
        )
    assert not (tmp_path / "out").exists()


def test_files_order_and_threads_do_not_matter(visits, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "fresh_key", lambda: "7c" * 32)
    seen = set()
    for number, (n_files, threads) in enumerate([(1, 1), (2, 2), (7, 2)]):
        shuffled = visits.sample(fraction=1, shuffle=True, seed=number)
        inputs = Inputs.of(cut(shuffled, tmp_path / f"in{number}", n_files))
        with DuckDBEngine(threads=threads, spill=tmp_path) as engine:
            made = coarsen_files(engine, inputs, SCHEMAS["persons"], shoal.Generalize(k=5), tmp_path / f"out{number}")
        seen.add(made.parts)
    made = coarsen_files(MemoryEngine(), inputs, SCHEMAS["persons"], shoal.Generalize(k=5), tmp_path / "memory")
    assert seen == {made.parts}  # byte for byte


def test_a_persons_rows_count_once(engine, tmp_path):
    """A class of four rows of two persons is no class of four."""
    frame = pl.DataFrame({"who": [1, 1, 2, 2, 3, 4, 5, 6], "q": ["a"] * 4 + ["b"] * 4})
    inputs = Inputs.of(cut(frame, tmp_path / "in", 2))
    method = shoal.Generalize(k=4, suppression=0)
    coarsen_files(engine, inputs, shoal.Schema.of(unit="who", quasi=["q"]), method, tmp_path / "persons")
    assert released(tmp_path / "persons")["q"].unique().to_list() == ["*"]
    coarsen_files(engine, inputs, shoal.Schema.of(identifier=["who"], quasi=["q"]), method, tmp_path / "rows")
    assert sorted(released(tmp_path / "rows")["q"].unique().to_list()) == ["a", "b"]


def test_one_person_may_hold_more_than_a_kth_of_a_class(engine, tmp_path):
    frame = pl.DataFrame({"who": [1] * 6 + [2, 3, 4], "q": ["a"] * 9})
    schema, method = shoal.Schema.of(unit="who", quasi=["q"]), shoal.Generalize(k=4)
    made = coarsen_files(engine, Inputs.of(cut(frame, tmp_path / "in", 2)), schema, method, tmp_path / "out")
    assert made.claims[1].value == pytest.approx(6 / 9)


@pytest.mark.parametrize("rule", ["drop", 30])
def test_missing_numbers_by_rule(engine, visits, tmp_path, rule):
    table = visits.with_columns(pl.when(pl.col("cost") == 0).then(None).otherwise("age").alias("age"))
    schema = shoal.Schema.of(identifier=["who"], missing={"age": rule}, **BASE)
    method = shoal.Generalize(k=5)
    coarsen_files(engine, Inputs.of(cut(table, tmp_path / "in", 2)), schema, method, tmp_path / "out")
    expected = shoal.coarsen(table, schema, method).in_file_types()
    assert multiset(released(tmp_path / "out")).equals(multiset(expected))


def test_manifest_and_verification(engine, visits, tmp_path):
    out = tmp_path / "out"
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    made = coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), out)
    words = json.loads((out / "manifest.json").read_text())
    page = sha256((out / "report.html").read_bytes()).hexdigest()
    assert words["files"] == {part.name: part.sha256 for part in made.parts} | {"report.html": page}
    assert {path.name for path in out.iterdir()} == {"manifest.json", *words["files"]}
    assert "who" in words["removed"]
    assert (tmp_path / "out.internal" / "replay.toml").stat().st_mode & 0o777 == 0o600
    found = shoal.verify(out, engine=engine)
    assert found.exit_code == 5
    (k,) = [check for check in found.checks if check.name == "k-anonymity 5"]
    assert (k.standing, k.holds) == ("recomputed", True)
    secret, public = new_key(tmp_path / "publisher.key")
    shoal.sign(out, key=secret, decision="May be published.", by="R. Roe")
    assert shoal.verify(out, engine=engine, signer=public).exit_code == 0
    assert shoal.verify(out, original=tmp_path / "in", engine=engine).holds  # the run repeated, byte for byte


def test_verification_finds_what_was_changed(engine, visits, tmp_path):
    out = tmp_path / "out"
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), out)
    words = json.loads((out / "manifest.json").read_text())
    words["claims"][0]["value"] = 500
    (out / "manifest.json").write_text(json.dumps(words))
    assert [check.name for check in shoal.verify(out, engine=engine).checks if check.holds is False] == [
        "k-anonymity 500"
    ]
    released(out).head(100).write_parquet(out / "part-00000.parquet")
    assert shoal.verify(out, engine=engine).exit_code == 3
    (out / "part-00001.parquet").write_bytes(b"")
    assert shoal.verify(out, engine=engine).exit_code == 3


@pytest.mark.parametrize(
    ("schema", "method", "error", "rule"),
    [
        (SCHEMAS["rows"], shoal.Generalize(k=5, subsets=2), ParameterError, "in memory"),
        (SCHEMAS["rows"], shoal.Generalize(k=5, diversity=9), GuaranteeError, "'ill'.*too few values"),
        (SCHEMAS["rows"], shoal.Generalize(k=5, closeness="ordered:0.2"), ParameterError, "'ill' is nominal"),
        (SCHEMAS["rows"], shoal.Generalize(k=4000), GuaranteeError, "at least k = 4000"),
        (shoal.Schema.of(quasi=["age"]), shoal.Generalize(), InputError, "has no role"),
        (shoal.Schema.of(other=list("abc")), shoal.Generalize(), InputError, "is not in the table"),
        (
            shoal.Schema.of(identifier=["who"], missing={"cost": "median"}, **BASE),
            shoal.Generalize(),
            ColumnError,
            "'cost'.*needs the table in memory",
        ),
        (
            shoal.Schema.of(identifier=["who"], bounds={"cost": (0, 100)}, **BASE),
            shoal.Generalize(),
            ColumnError,
            "'cost'.*within the bounds",
        ),
    ],
)
def test_bad_input_leaves_nothing(engine, visits, tmp_path, schema, method, error, rule):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    with pytest.raises(error, match=rule):
        coarsen_files(engine, inputs, schema, method, tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_too_many_combinations(engine, visits, tmp_path, monkeypatch):
    monkeypatch.setattr(generalize, "_MOST_COMBINATIONS", 10)
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    with pytest.raises(InputError, match="at most 10 distinct combinations"):
        coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out")


def test_an_input_that_changes_in_the_middle_leaves_nothing(engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))

    def change(step):
        if step == "writing":
            os.utime(tmp_path / "in" / "0.parquet", (1, 1))

    with pytest.raises(FileError, match="must not change"):
        coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out", progress=change)
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_written_file_that_lost_a_row_is_no_release(engine, visits, tmp_path, monkeypatch):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    write = type(engine).write

    def lossy(self, relation, folder, format):
        (part,) = write(self, relation, folder, format)
        pl.read_parquet(folder / part.name).head(-1).write_parquet(folder / part.name)
        return (part,)

    monkeypatch.setattr(type(engine), "write", lossy)
    with pytest.raises(GuaranteeError, match="exactly the released rows"):
        coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_killed_run_leaves_no_half_folder(visits, tmp_path):
    cut(visits, tmp_path / "in", 2)
    SCHEMAS["rows"].write(tmp_path / "schema.toml")
    code = """
import sys, time
from pathlib import Path
import shoal
from shoal.engine import Inputs, open_engine
from shoal.recipe import Coarsening
from shoal.release.on_engine.make import release_files

base = Path(sys.argv[1])
def stop(step):
    if step == "verifying":
        (base / "stopped").touch()
        time.sleep(60)
with open_engine("duckdb", spill=base) as engine:
    schema = shoal.Schema.read(base / "schema.toml")
    recipe = Coarsening.of(shoal.Generalize(k=5))
    release_files(engine, Inputs.of(base / "in"), schema, recipe, base / "out", progress=stop)
"""
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=os.environ | {"PYTHONPATH": "src"})
    while not (tmp_path / "stopped").exists():
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.internal").exists()
    with DuckDBEngine(spill=tmp_path) as engine:
        coarsen_files(engine, Inputs.of(tmp_path / "in"), SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out")
    left = {path.name for path in tmp_path.iterdir()} - {"in", "schema.toml", "stopped"}
    assert left == {"out", "out.internal"}  # what the killed run staged and spilled is gone too


def test_codes_for_an_absence_are_written_as_in_memory(engine, visits, tmp_path):
    schema = shoal.Schema.of(
        identifier=["who"],
        missing={"age": "level"},
        missing_codes={"age": {20: "refused"}},
        bounds={"age": (0, 120)},
        **BASE,
    )
    method = shoal.Generalize(k=5, suppression=0.1)
    expected = shoal.coarsen(visits, schema, method)
    coarsen_files(engine, Inputs.of(cut(visits, tmp_path / "in", 3)), schema, method, tmp_path / "out")
    assert multiset(released(tmp_path / "out")).equals(multiset(expected.in_file_types()))


@pytest.mark.parametrize(
    "more", [{"rules": [{"never": {"ill": ["x"], "age": {"max": 1}}}]}, {"derived": {"zip": "age"}}]
)
def test_what_needs_memory_is_refused(engine, visits, tmp_path, more):
    schema = shoal.Schema.of(identifier=["who"], **BASE, **more)
    with pytest.raises(SchemaError, match="needs the table in memory"):
        coarsen_files(
            engine, Inputs.of(cut(visits, tmp_path / "in", 1)), schema, shoal.Generalize(k=5), tmp_path / "out"
        )


def test_combinations_that_do_not_fit_in_memory_are_refused(visits, tmp_path, monkeypatch):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 1))
    monkeypatch.setattr(MemoryEngine, "driver_memory", lambda self: 100)
    with pytest.raises(InputError, match=r"than fit in memory; got [0-9]+, for about 0\.[0-9] GiB where 0\.0 are left"):
        coarsen_files(MemoryEngine(), inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_duckdb_gives_back_its_memory_while_the_driver_works(visits, tmp_path, monkeypatch):
    seen = []
    batches = DuckDBEngine.batches

    def limit(engine):
        return bytes_of(engine._row("SELECT current_setting('memory_limit')")[0])

    def noted(self, relation):
        seen.append(limit(self))
        return batches(self, relation)

    monkeypatch.setattr(DuckDBEngine, "batches", noted)
    with DuckDBEngine(memory="4GiB", spill=tmp_path) as engine:
        before = limit(engine)
        assert before == 3 * 2**30  # the program itself takes some of it
        coarsen_files(
            engine, Inputs.of(cut(visits, tmp_path / "in", 1)), SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out"
        )
        assert seen == [pytest.approx(before / 8, rel=0.1)]
        assert limit(engine) == before


def test_the_memory_limit_counts_what_the_driver_holds(visits, tmp_path, monkeypatch):
    """Of a limit of 1 GB the program and DuckDB at rest leave little: combinations that need more are refused."""
    monkeypatch.setattr(generalize, "_BYTES_OF_ONE", 10**6)
    inputs = Inputs.of(cut(visits, tmp_path / "in", 1))
    for memory, fits in (("1GB", False), ("8GB", True)):
        with DuckDBEngine(memory=memory, spill=tmp_path) as engine:
            run = partial(coarsen_files, engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / "out")
            if fits:
                run()
            else:
                with pytest.raises(InputError, match="than fit in memory.*Raise --memory"):
                    run()
        assert (tmp_path / "out").exists() == fits


def test_combinations_of_many_values_are_as_those_of_few(engine, visits, tmp_path, monkeypatch):
    """Codes of more than two bytes, and rows that no single number holds, give the same rows."""
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    for name, narrow, largest in (("narrow", 2**16, 2**62), ("wide", 2, 2)):
        monkeypatch.setattr(lattice_nodes, "_NARROW", narrow)
        monkeypatch.setattr(coded_table, "LARGEST_KEY", largest)
        coarsen_files(engine, inputs, SCHEMAS["rows"], shoal.Generalize(k=5), tmp_path / name, key="3c" * 32)
    assert released(tmp_path / "narrow").equals(released(tmp_path / "wide"))
