"""k, l and t counted by an engine are the numbers of `shoal.risk.classes`, to the last bit."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.conftest import cut

import shoal
from shoal.engine import Inputs, open_engine
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.risk import class_sizes as module
from shoal.risk.class_sizes import counted_classes

ROWS = shoal.Schema.of(quasi=["zip", "rate"], sensitive=["ill", "cost"], other=["who", "age"])
PERSONS = shoal.Schema.of(unit="who", quasi=["age", "zip"], sensitive=["ill", "cost"], other=["rate"])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("schema", [ROWS, PERSONS], ids=["rows", "persons"])
def test_the_numbers_of_memory(engine, visits, tmp_path, schema, ending, monkeypatch):
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 400)  # several parts
    relation = engine.scan(Inputs.of(cut(visits, tmp_path / "f", 3, ending)))
    assert counted_classes(engine, relation, schema) == shoal.risk.classes(visits, schema)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_files_and_order_do_not_matter(visits, tmp_path, threads):
    expected = shoal.risk.classes(visits, PERSONS)
    for n_files in (1, 2, 7):
        folder = cut(visits.sample(fraction=1, shuffle=True, seed=n_files), tmp_path / str(n_files), n_files)
        with DuckDBEngine(threads=threads, spill=tmp_path) as engine:
            assert counted_classes(engine, engine.scan(Inputs.of(folder)), PERSONS) == expected


cells = st.tuples(
    st.one_of(st.none(), st.integers(0, 3)),
    st.sampled_from([None, "", "a", "é", "é", "😀"]),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, float("nan"), 1.5])),
    st.sampled_from(["x", "y", None]),
    st.integers(-(2**63), 2**63 - 1),
)


@pytest.fixture(scope="module")
def both():
    with open_engine("duckdb") as engine:
        yield MemoryEngine(), engine


@given(rows=st.lists(cells, min_size=1, max_size=30))
def test_any_table(both, rows):
    names = {"who": pl.Int64, "text": pl.String, "rate": pl.Float64, "ill": pl.String, "big": pl.Int64}
    frame = pl.DataFrame(rows, schema=names, orient="row")
    kinds = {"big": "nominal"}
    schema = shoal.Schema.of(unit="who", quasi=["text", "rate"], sensitive=["ill", "big"], kinds=kinds)
    expected = shoal.risk.classes(frame, schema)
    for engine in both:
        assert counted_classes(engine, engine.of(frame), schema) == expected


def test_declared_order_of_levels(engine):
    frame = pl.DataFrame(
        {"q": ["a"] * 4 + ["b"] * 4, "pain": ["low", "high", "mid", "low", "mid", "mid", "high", None]}
    )
    levels = {"pain": ["low", "mid", "high"]}
    schema = shoal.Schema.of(quasi=["q"], sensitive=["pain"], kinds={"pain": "ordinal"}, levels=levels)
    assert counted_classes(engine, engine.of(frame), schema) == shoal.risk.classes(frame, schema)


def test_nan_that_the_statistics_of_a_parquet_file_do_not_tell_of(engine, tmp_path):
    """min and max of the column are 0 and 1 in the file; NaN is missing all the same."""
    frame = pl.DataFrame({"q": [0.0, 1.0, float("nan"), None] * 2})
    frame.write_parquet(tmp_path / "a.parquet")
    schema = shoal.Schema.of(quasi=["q"])
    found = counted_classes(engine, engine.scan(Inputs.of(tmp_path / "a.parquet")), schema)
    assert found == shoal.risk.classes(frame, schema)
    assert found.histogram == {2: 2, 4: 1}


def test_dates_in_a_form_of_their_own_need_memory(engine):
    frame = pl.DataFrame({"day": ["01.02.2020"] * 3})
    schema = shoal.Schema.of(quasi=["day"])
    with_format = schema.with_columns([replace(schema["day"], format="DD.MM.YYYY")])
    with pytest.raises(ColumnError, match="date format"):
        counted_classes(engine, engine.of(frame), with_format)


def test_days_moments_and_times_of_csv(engine, tmp_path):
    rows = [("2020-01-02", "2020-01-02 10:00:00", "2020-01-02T10:00:00.5Z", "10:00:01", "true", "-1.50")] * 2
    (tmp_path / "a.csv").write_text("\n".join(",".join(row) for row in [tuple("abcdef"), *rows, ("",) * 5 + ("7",)]))
    found = engine.scan(Inputs.of(tmp_path / "a.csv"))
    expected = shoal.read_table(tmp_path / "a.csv")
    assert dict(found.types) == dict(expected.schema)
    assert engine.collect(found).sort("f").equals(expected.sort("f"))


def test_bad_input(engine):
    frame = pl.DataFrame({"q": ["a"], "s": [1]})
    with pytest.raises(SchemaError, match="column 'age'"):
        counted_classes(engine, engine.of(frame), shoal.Schema.of(quasi=["age"]))
    with pytest.raises(InputError, match="at least one row"):
        counted_classes(engine, engine.of(frame.clear()), shoal.Schema.of(quasi=["q"]))
    with pytest.raises(InputError, match="at least one row"):
        counted_classes(engine, engine.of(frame.clear()), shoal.Schema.of(quasi=["q"], sensitive=["s"]))
