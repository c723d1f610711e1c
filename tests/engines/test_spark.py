"""What only Spark does: tasks that run twice, workers that die. Run by `make test-spark`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.engines.conftest import SPARK, coarsen_files, cut

import shoal
from shoal.engine import Inputs
from shoal.engine.marks import with_marks
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, GuaranteeError, InputError
from shoal.recipe import Anonymization
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

pytestmark = pytest.mark.skipif(not SPARK, reason="make test-spark runs these")


@pytest.fixture(autouse=True)
def _functions_travel_whole():
    """Workers can't import the tests, so what these hand to them is pickled by value."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


KEY = "3c" * 32
SCHEMA = shoal.Schema.of(unit="who", quasi=["age", "zip", "ill"], sensitive=["cost"], other=["rate"])
RECIPE = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())


def made(engine, inputs, target, recipe=RECIPE):
    return release_files(engine, inputs, SCHEMA, recipe, target, seed=7, key=KEY, plan=Plan(rows=700, sample=1500))


def test_spark_writes_the_bytes_of_memory(spark_engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 3))
    found = made(spark_engine, inputs, tmp_path / "spark")
    expected = made(MemoryEngine(), inputs, tmp_path / "memory")
    assert found.parts == expected.parts
    assert found.claims == expected.claims
    assert (found.k, found.n_classes) == (expected.k, expected.n_classes)


def test_mixes_and_codes_that_are_texts_on_spark(spark_engine, visits, tmp_path):
    """Workers are told the mix of the whole table; a code that is a text comes back as one."""
    table = visits.select("age", "ill").with_columns(income=pl.Series(["N", "12", "20", "33", "41"] * 600)).head(600)
    schema = shoal.Schema.of(
        quasi=["age", "income"],
        sensitive=["ill"],
        kinds={"income": "numeric"},
        missing_codes={"income": {"N": "none"}},
    )
    inputs, method = Inputs.of(cut(table, tmp_path / "in", 2)), shoal.Mondrian(k=4, diversity=2, closeness=0.6)
    asked = {"seed": 3, "key": KEY, "plan": Plan(rows=200, sample=600)}
    found = coarsen_files(spark_engine, inputs, schema, method, tmp_path / "spark", **asked)
    expected = coarsen_files(MemoryEngine(), inputs, schema, method, tmp_path / "memory", **asked)
    assert found.parts == expected.parts
    assert found.claims == expected.claims


@pytest.mark.parametrize(("partitions", "adaptive", "batch"), [(7, False, 13)])
def test_partitions_batches_and_the_optimiser_do_not_matter(
    spark_engine, visits, tmp_path, monkeypatch, partitions, adaptive, batch
):
    settings = {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.execution.arrow.maxRecordsPerBatch": batch,
    }
    session = spark_engine._spark
    before = {name: session.conf.get(name) for name in settings}
    inputs = Inputs.of(cut(visits.head(400), tmp_path / "in", 2))
    recipe = Anonymization.of(shoal.MDAV(k=5), shoal.Centroid())
    try:
        for name, value in settings.items():
            session.conf.set(name, str(value).lower())
        found = made(spark_engine, inputs, tmp_path / "spark", recipe)
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
    assert found.parts == made(MemoryEngine(), inputs, tmp_path / "memory", recipe).parts


def test_spark_writes_delimited_text_under_pseudonyms_and_enters_the_register(spark_engine, visits, tmp_path):
    """The same marks, tokens and bytes as in memory, and a run that can be made again there."""
    from shoal.ledger import Ledger
    from shoal.pseudonym import ProjectKey, Pseudonyms
    from shoal.register.person_marks import People

    names = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry")
    schema = shoal.Schema.of(unit="who", pseudonym=["who"], quasi=["age", "zip", "ill"], other=["cost", "rate"])
    inputs = Inputs.of(cut(visits.head(600), tmp_path / "in", 2))
    recipe = Anonymization.of(shoal.MDAV(k=5), shoal.Centroid())
    seen = []
    for name, engine in (("spark", spark_engine), ("memory", MemoryEngine())):
        Ledger.open(url := f"sqlite:///{tmp_path}/{name}.db").close()
        register = shoal.Register.open("visits", ledger=url)
        words = {"pseudonyms": names, "format": "csv", "register": register, "seed": 7, "key": KEY}
        done = release_files(engine, inputs, schema, recipe, tmp_path / name, plan=Plan(rows=300, sample=600), **words)
        people = People.from_bytes(register.ledger.released_marks(register.releases()[0], "people"))
        seen.append((done.parts, len(people.marks)))
        register.close()
    assert seen[0] == seen[1]


def test_two_hundred_partitions_without_the_optimiser(spark_engine, visits, tmp_path):
    session = spark_engine._spark
    settings = {"spark.sql.shuffle.partitions": "200", "spark.sql.adaptive.enabled": "false"}
    before = {name: session.conf.get(name) for name in settings}
    relation = spark_engine.scan(Inputs.of(cut(visits, tmp_path / "in", 2)))
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        found = spark_engine.collect(spark_engine.count(relation, ["age", "zip"], "who"))
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
    memory = MemoryEngine()
    expected = memory.collect(memory.count(memory.of(visits), ["age", "zip"], "who"))
    assert sorted(found.rows()) == sorted(expected.select(found.columns).rows())


def test_spark_connect_gives_the_rows_of_memory(visits, tmp_path):
    """A server of its own, reached over gRPC: cells, keyed sample and written bytes."""
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    script = Path(__file__).with_name("connect.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (out := tmp_path / "memory").mkdir()
    memory = MemoryEngine()
    relation = memory.scan(inputs)
    ages = memory.sample(relation, 20, KEY)["age"].to_list()
    parts = [part.sha256 for part in memory.write(with_marks(memory, relation, KEY), out)]
    assert json.loads(done.stdout.splitlines()[-1]) == {"ages": ages, "zips": 6, "parts": parts}


def test_spark_generalizes_as_memory_does(spark_engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 3))
    schema = shoal.Schema.of(unit="who", quasi=["age", "zip"], sensitive=["ill"], other=["rate", "cost"])
    folders = [tmp_path / "spark", tmp_path / "memory"]
    for engine, folder in zip((spark_engine, MemoryEngine()), folders, strict=True):
        coarsen_files(engine, inputs, schema, shoal.Generalize(k=5), folder)
    one, other = (pl.read_parquet(folder / "part-00000.parquet") for folder in folders)
    assert one.sort(one.columns).equals(other.sort(other.columns))
    found = shoal.verify(folders[0], engine=spark_engine)
    assert [check.name for check in found.checks if check.standing == "recomputed"] == []


def first_attempt_of(partition):
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0 and context.partitionId() == partition


@pytest.mark.parametrize("fault", ["raises", "dies"])
def test_a_task_that_fails_once_is_run_again_to_the_same_rows(spark_engine, visits, tmp_path, fault):
    relation = spark_engine.scan(Inputs.of(cut(visits, tmp_path / "in", 3)))

    def once(rows):
        if first_attempt_of(0):
            if fault == "dies":
                os._exit(1)
            raise RuntimeError("lost")
        return rows.select(pl.col("age") * 2)

    found = spark_engine.collect(spark_engine.map(relation, once, {"age": pl.Int64()}))
    assert sorted(found["age"]) == sorted((visits["age"] * 2).to_list())


def test_a_file_written_twice_is_the_same_file(spark_engine, visits, tmp_path, monkeypatch):
    """A task that dies after it has written leaves a whole file, and the next attempt writes the same bytes."""
    from shoal.engine import spark

    writing = spark._writing

    def dying(folder, format):
        write = writing(folder, format)

        def cell(rows):
            found = write(rows)
            if first_attempt_of(0) or not os.path.exists(f"{folder}/died"):
                open(f"{folder}/died", "w").close()
                os._exit(1)
            return found

        return cell

    relation = spark_engine.scan(Inputs.of(cut(visits, tmp_path / "in", 2)))
    (out := tmp_path / "out").mkdir()
    (again := tmp_path / "again").mkdir()
    monkeypatch.setattr(spark, "_writing", dying)
    parts = spark_engine.write(with_marks(spark_engine, relation, KEY), out)
    assert (out / "died").exists()
    memory = MemoryEngine()
    assert parts == memory.write(with_marks(memory, memory.of(visits), KEY), again)


def test_an_error_of_a_worker_comes_back_as_it_is(spark_engine, visits, tmp_path):
    relation = spark_engine.scan(Inputs.of(cut(visits, tmp_path / "in", 2)))

    def wrong(rows):
        raise ColumnError("age", "must hold")

    with pytest.raises(ColumnError, match=r"^column 'age': must hold\.$"):
        spark_engine.collect(spark_engine.map(relation, wrong, relation.types))

    def secret(rows):
        raise ValueError("SENTINEL")

    with pytest.raises(InputError) as caught:
        spark_engine.collect(spark_engine.map(relation, secret, relation.types))
    assert "SENTINEL" not in str(caught.value)


def test_moments_of_spark_itself_are_read_and_written(spark_session, spark_engine, tmp_path):
    """Its own TIMESTAMP is a moment of a zone: a lake that Spark wrote is full of them."""
    moment = "timestamp_seconds(id * 86400) AS seen"
    frame = spark_session.range(60).selectExpr("CAST(id % 7 AS BIGINT) AS age", "id % 3 AS ill", moment)
    frame.write.parquet(str(tmp_path / "lake"))
    for path in (tmp_path / "lake").iterdir():
        path.suffix == ".parquet" or path.unlink()
    inputs, schema = Inputs.of(tmp_path / "lake"), shoal.Schema.of(quasi=["age"], sensitive=["ill"], other=["seen"])
    recipe = Anonymization.of(shoal.MDAV(k=5), shoal.Centroid())
    rows = []
    for engine in (spark_engine, MemoryEngine()):
        release_files(engine, inputs, schema, recipe, tmp_path / engine.name, seed=7, key=KEY)
        table = pl.read_parquet(tmp_path / engine.name / "part-*.parquet")
        rows.append(table.with_columns(pl.col("seen").dt.epoch("s")).rows())
    assert sorted(rows[0]) == sorted(rows[1])


def test_what_a_session_skips_is_not_skipped(spark_session, spark_engine, tmp_path):
    """With `ignoreCorruptFiles` a file whose pages are damaged had no rows, and nothing was said."""
    folder = cut(pl.DataFrame({"age": [i * 7919 % 40_009 for i in range(40_000)]}), tmp_path / "in", 2)
    whole = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[:4] + b"\xff" * 5000 + whole[5004:])
    assert Inputs.of(folder).columns == ("age",)  # the end of the file, which tells of its columns, is whole
    names = [f"spark.sql.files.ignore{which}Files" for which in ("Corrupt", "Missing")]
    try:
        for name in names:
            spark_session.conf.set(name, "true")
        with pytest.raises(InputError, match="can't be worked on by Spark"):
            spark_engine.known(spark_engine.scan(Inputs.of(folder)), ["age"])
    finally:
        for name in names:
            spark_session.conf.unset(name)


def test_a_data_frame_comes_back_as_one_and_the_session_stays(spark_session, visits, tmp_path):
    """From a DataFrame, and from files beside a session that is there, as in a notebook."""
    from pyspark.sql import DataFrame

    folder = cut(visits.head(600), tmp_path / "in", 2)
    schema = shoal.Schema.of(identifier=["who"], quasi=["age", "zip", "ill"], sensitive=["cost"], other=["rate"])
    words = {"group": shoal.MDAV(k=5), "mask": shoal.GaussianDither(exact=True), "seed": 3}
    for table in (spark_session.read.parquet(str(folder)), folder):
        with shoal.anonymize(table, schema, engine="spark", **words) as release:
            assert isinstance(release.table, DataFrame)
            found = pl.from_arrow(release.table.toArrow())
        names = ["age", "zip", "ill"]
        assert found.select(names).sort(names).equals(visits.head(600).select(names).sort(names))
        assert spark_session.range(3).count() == 3


def test_too_few_people_leave_nothing(spark_engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    with pytest.raises(GuaranteeError, match="at least k = 4000"):
        made(spark_engine, inputs, tmp_path / "out", Anonymization.of(shoal.MDAV(k=4000), shoal.Centroid()))
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_spark_orders_compares_and_rounds_in_its_own_ways(spark_session):
    """What no result rests on, as it is: the engine has one sort, null-safe joins and whole numbers instead."""

    def row(query):
        return tuple(spark_session.sql(query).collect()[0])

    def column(query):
        return [one for (one,) in spark_session.sql(query).collect()]

    numbers = "(SELECT explode(array(2, NULL, 1)) AS x)"
    assert column(f"SELECT x FROM {numbers} ORDER BY x") == [None, 1, 2]
    assert column(f"SELECT x FROM {numbers} ORDER BY x DESC") == [2, 1, None]
    assert row("SELECT NULL = NULL, NULL <=> NULL, 0.0D = -0.0D, double('NaN') = double('NaN')") == (
        None,
        True,
        True,
        True,
    )
    assert column("SELECT 1 WHERE 2 NOT IN (1, NULL)") == []
    assert row("SELECT round(2.5), round(0.5), bround(2.5)") == (3, 1, 2)
    assert row("SELECT CAST(2.7D AS INT), -7 % 3, -7 div 3") == (2, -1, -2)
    assert row("SELECT percentile(x, 0.5) FROM (SELECT explode(array(1, 2, 3, 10)) AS x)") == (2.5,)
    assert row("SELECT dayofweek(DATE '2024-06-09'), weekday(DATE '2024-06-09')") == (1, 6)
    assert row("SELECT count(DISTINCT a, b) FROM VALUES (1, 1), (1, NULL) AS t(a, b)") == (1,)
    assert row("SELECT isnan(max(x)) FROM VALUES (1.0D), (double('NaN')) AS t(x)") == (True,)
    assert row("SELECT xxhash64(NULL), CAST(0.1F AS DOUBLE) <= 0.1D, typeof(0.1)") == (42, False, "decimal(1,1)")
    assert row("SELECT typeof(avg(x)), typeof(sum(x)) FROM VALUES (CAST(1 AS DECIMAL(10, 2))) AS t(x)") == (
        "decimal(14,6)",
        "decimal(20,2)",
    )
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        row(f"SELECT sum(x) FROM VALUES ({2**63 - 1}L), (1L) AS t(x)")


def test_an_executor_killed_in_the_middle_changes_nothing(visits, tmp_path):
    """A local cluster with executors of their own: masked rows are the bytes of memory, noise is charged once."""
    inputs = Inputs.of(cut(visits, tmp_path / "in", 3))
    script = Path(__file__).with_name("lost_executor.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (tmp_path / "masking").exists()  # both kills took place
    assert (tmp_path / "drawing").exists()
    expected = made(MemoryEngine(), inputs, tmp_path / "memory")
    assert found["parts"] == [part.sha256 for part in expected.parts]
    assert (found["rows"], found["charges"]) == (1500, 1)
    assert shoal.verify(tmp_path / "drawn").holds
