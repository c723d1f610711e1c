"""What goes wrong with files, memory and disk: a clear error without any cell, and nothing left behind."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import duckdb
import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.engine import Inputs, open_engine
from shoal.engine.duckdb import DuckDBEngine, _reporting
from shoal.engine.interrupts import interruptible
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError


def test_a_column_missing_in_one_file(tmp_path):
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet: column 'b' is missing, which 0\.parquet has"):
        Inputs.of(tmp_path)


def test_a_column_too_many_in_one_file(tmp_path):
    (tmp_path / "0.csv").write_text("a\n1\n")
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"0\.csv: column 'b' is missing"):
        Inputs.of(tmp_path, delimiter=",")


def test_a_file_without_a_header_line_shows_no_cell(tmp_path):
    """Its "names" are the first person's cells."""
    (tmp_path / "0.csv").write_text("SENTINEL,34\n01301,51\n")
    (tmp_path / "1.csv").write_text("zip,age\n01301,60\n")
    with pytest.raises(InputError, match=r"1\.csv: must have the columns of 0\.csv.* header line missing") as caught:
        Inputs.of(tmp_path)
    assert "SENTINEL" not in str(caught.value)


NAMES = {"capitals": ["age", "zip", "Age"], "an engine's own": ["age", "zip", "#group"]}


@pytest.mark.parametrize("names", list(NAMES))
@pytest.mark.parametrize("ending", ["parquet", "csv", ""], ids=["parquet", "text", "frame"])
def test_names_that_an_engine_takes_for_others(engine, tmp_path, names, ending):
    """DuckDB gave one column twice and the other never; ``#group`` was released as the number of the group."""
    table = pl.DataFrame([pl.Series(name, [i, i]) for i, name in enumerate(NAMES[names])])
    with pytest.raises(InputError, match="column names must.* on an engine; got column.* 3"):
        engine.scan(Inputs.of(cut(table, tmp_path / "in", 1, ending))) if ending else engine.of(table)


def test_another_type_in_one_file(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match="column 'a' has another type"):
        Inputs.of(tmp_path)


@pytest.mark.parametrize(
    ("names", "rule"),
    [({"a.csv": "x\n1\n", "b.parquet": ""}, "one format"), ({"notes.md": "x"}, "Parquet or CSV"), ({}, "at least one")],
)
def test_folders_that_hold_something_else(tmp_path, names, rule):
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rule):
        Inputs.of(tmp_path)


def test_a_broken_parquet_file(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FileError, match="whole Parquet file"):
        Inputs.of(tmp_path / "a.parquet")


def test_a_file_that_changes_while_it_is_read(engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "f", 2))
    visits.head(5).write_parquet(tmp_path / "f" / "1.parquet")
    with pytest.raises(FileError, match=r"1\.parquet: must not change while it is read"):
        engine.collect(engine.count(engine.scan(inputs), ["age"]))


def test_a_line_that_is_too_long_shows_no_cell(engine, tmp_path, capfd):
    """Neither in the error nor in a log: Spark's quotes the line."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4,SENTINEL\n")
    with pytest.raises(InputError, match=r"a\.csv") as caught:
        engine.collect(engine.scan(Inputs.of(tmp_path / "a.csv")))
    assert "SENTINEL" not in str(caught.value)
    assert "SENTINEL" not in "".join(capfd.readouterr())


ROWS = "".join(f"{i},town {i}\n" for i in range(9000))  # longer than what is looked at to list a file
BROKEN = {
    "other letters": (b"7,M\xfcnster\n8,M\xf6nster\n", "UTF-8"),
    "an open quote": (b'7,"SENTINEL\n8,Bonn\n', "quote|whole"),
    "a quote in the middle": (b'7,"SENTINEL"town\n', "quote|whole"),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_text_that_would_be_read_as_something_else(engine, tmp_path, how):
    """Spark made one town of two whose letters it can't read, and one cell of all lines after an open quote."""
    line, rule = BROKEN[how]
    cut(pl.DataFrame({"a": [1], "b": ["Ulm"]}), tmp_path / "in", 1, "csv")
    (tmp_path / "in" / "x.csv").write_bytes(f"a,b\n{ROWS}".encode() + line)
    if how != "an open quote" and engine.name == "memory":  # its reader knows other letters, and such quotes
        assert engine.collect(engine.scan(Inputs.of(tmp_path / "in")))["b"].n_unique() > 9001
        return
    with pytest.raises(InputError, match=rule) as caught:
        engine.collect(engine.scan(Inputs.of(tmp_path / "in")))
    assert "SENTINEL" not in str(caught.value)


def test_a_name_with_signs_of_patterns_and_quotes(engine, tmp_path):
    folder = tmp_path / "it's [odd]"
    folder.mkdir()
    pl.DataFrame({'the "name"': [1, 2]}).write_parquet(folder / "a*b.parquet")
    if engine.name == "spark":
        with pytest.raises(FileError, match="which Spark takes for a pattern"):
            engine.scan(Inputs.of(folder))
        return
    assert engine.collect(engine.scan(Inputs.of(folder)))['the "name"'].sort().to_list() == [1, 2]


def test_no_space_for_spilling(tmp_path):
    frame = pl.DataFrame({"a": range(600_000)}).with_columns(b=pl.col("a").cast(pl.String) + "-" * 40)
    frame.write_parquet(tmp_path / "a.parquet")
    with DuckDBEngine(memory="30MB", spill=tmp_path, threads=1) as engine:
        engine._run("SET max_temp_directory_size = '1MB'")
        relation = engine.scan(Inputs.of(tmp_path / "a.parquet"))
        with pytest.raises(FileError, match="no room for spilling") as caught:
            engine.collect(engine.aggregate(engine.count(relation, ["a", "b"]), [], ["#rows"]))
    assert "--memory" in str(caught.value)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_fault_of_the_input(tmp_path, code):
    with pytest.raises(FileError, match="no room for spilling.*--spill"), _reporting(tmp_path / "room"):
        raise duckdb.IOException(f'Could not write file "work.duckdb": {os.strerror(code)}')


LONG = "SELECT sum(hash(i) % 7) AS n FROM range(20000000000) t(i)"
ASKED = {
    "run": lambda engine: engine._run(f"CREATE TABLE long AS {LONG}"),
    "row": lambda engine: engine._row(LONG),
    "fetch": lambda engine: engine._fetch(LONG),
    "batches": lambda engine: list(engine._batches(LONG)),
    "the middle of a reader": lambda engine: [
        len(rows) for rows in engine._batches("SELECT i FROM range(4000000000) t(i)")
    ],
}


class Ended(BaseException):
    """What a handler raises."""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", list(ASKED))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query_on_all_threads_and_raises_what_its_handler_does(tmp_path, how, number):
    def ending(number, frame):
        raise Ended

    before = signal.signal(number, ending)
    try:
        with DuckDBEngine(spill=tmp_path, threads=2) as engine:
            threading.Timer(0.3, signal.raise_signal, [number]).start()
            start = time.process_time()
            with pytest.raises(Ended):
                ASKED[how](engine)
            assert time.process_time() - start < 20  # the query takes minutes
            assert engine._row("SELECT 1") == (1,)
            assert signal.getsignal(number) is ending
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_query_that_can_not_be_ended_still_raises_what_the_handler_does():
    def ending(number, frame):
        raise Ended

    def gone():
        raise duckdb.ConnectionException("closed")

    before = signal.signal(signal.SIGINT, ending)
    try:
        with pytest.raises(Ended), interruptible(gone):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_whose_handler_goes_on_ends_nothing(tmp_path):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *given: seen.append(given[0]))
    try:
        with DuckDBEngine(spill=tmp_path, threads=2) as engine:
            threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
            assert engine._row("SELECT count(*) FROM range(300000000) t(i) WHERE hash(i) % 7 < 9") == (300_000_000,)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_more_rows_than_memory_are_counted_on_disk(tmp_path):
    frame = pl.DataFrame({"a": range(400_000)}).with_columns(b=pl.col("a").cast(pl.String) + "-" * 60)
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=20_000)
    with DuckDBEngine(memory="60MB", spill=tmp_path, threads=1) as engine:
        relation = engine.scan(Inputs.of(tmp_path / "a.parquet"))
        found = engine.collect(engine.aggregate(engine.count(relation, ["a", "b"]), [], ["#rows"]))
    assert found["#rows"].to_list() == [400_000]


def test_the_spill_folder_is_private_and_goes(tmp_path):
    with open_engine("duckdb", spill=tmp_path):
        (room,) = tmp_path.iterdir()
        assert room.stat().st_mode & 0o777 == 0o700
    assert not any(tmp_path.iterdir())


def test_what_a_killed_process_spilled_is_removed_by_the_next(tmp_path):
    code = (
        "import os, pathlib, sys; from shoal.engine import open_engine; "
        "open_engine('duckdb', spill=pathlib.Path(sys.argv[1])); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, env=os.environ | {"PYTHONPATH": "src"})
    assert len(list(tmp_path.iterdir())) == 1
    with open_engine("duckdb", spill=tmp_path):
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("memory", ["4", "much", "0GB", "4GB; DROP"])
def test_memory_is_a_size(memory):
    with pytest.raises(ParameterError, match="size such as"):
        open_engine("duckdb", memory=memory)


def test_engines_have_names():
    with pytest.raises(ParameterError, match="memory, duckdb or spark"):
        open_engine("abacus")
    with pytest.raises(FileError, match="folder to spill to"):
        open_engine("duckdb", spill=Path("/nowhere/at/all"))


@pytest.mark.parametrize("module", ["pyarrow", "pandas"])
def test_a_spark_without_arrow(monkeypatch, module):
    """Nor does PySpark hand rows over through Arrow where pandas is missing."""
    monkeypatch.setitem(sys.modules, module, None)  # as where it isn't installed
    with pytest.raises(ParameterError, match=rf"engine spark: needs the package {module}.*shoal\[spark\]"):
        open_engine("spark")
    extras = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [package for package in extras["spark"] if package.startswith(module)]


def test_parquet_files_without_arrow(monkeypatch, tmp_path):
    """The files are listed before an engine is opened."""
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match=r"Parquet on an engine: needs the package pyarrow.*shoal\[spark\]"):
        Inputs.of(tmp_path)


def test_a_spark_that_is_too_old():
    from shoal.engine.spark import SparkEngine

    class Old:
        version = "3.5.1"

    with pytest.raises(ParameterError, match=r"must be Spark 4 or newer.*got Spark 3\.5\.1"):
        SparkEngine(session=Old())


def test_a_release_from_files_that_differ_leaves_nothing(visits, tmp_path):
    cut(visits, tmp_path / "in", 2)
    visits.drop("ill").write_parquet(tmp_path / "in" / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: column 'ill' is missing"):
        shoal.anonymize(tmp_path / "in", shoal.Schema.of(quasi=["age"], other=["ill"]), engine="duckdb")
    visits.with_columns(pl.col("age").cast(pl.String)).write_parquet(tmp_path / "in" / "2.parquet")
    with pytest.raises(InputError, match="column 'age' has another type"):
        shoal.synthesize(tmp_path / "in", shoal.Schema.of(quasi=["age"], bounds={"age": (0, 99)}), engine="duckdb")
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_an_engine_that_failed_watches_the_old_files_no_more(visits, tmp_path):
    schema = shoal.Schema.of(identifier=["who"], quasi=["age", "zip"], other=["rate", "ill", "cost"])
    first, second = (Inputs.of(cut(visits, tmp_path / name, 1)) for name in ("first", "second"))
    with DuckDBEngine(spill=tmp_path) as engine:
        with pytest.raises(GuaranteeError):
            coarsen_files(engine, first, schema, shoal.Mondrian(k=5000), tmp_path / "out")
        visits.head(5).write_parquet(tmp_path / "first" / "0.parquet")
        coarsen_files(engine, second, schema, shoal.Mondrian(k=5), tmp_path / "out")
        assert engine._inputs == []
