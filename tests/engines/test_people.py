"""Whose rows they are: identifiers that name nobody are refused on an engine as in memory, whatever the batches."""

import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.engine import Inputs, duckdb
from shoal.errors import ColumnError
from shoal.release.on_engine import named_people
from shoal.release.on_engine.named_people import check_people
from shoal.schema.placeholder_ids import n_placeholders

SCHEMA = shoal.Schema.of(unit="id", quasi=["age"])
IDS = {
    "nobody's number far above": [*range(1, 40), *[999999999] * 2],
    "nobody's number by its rows": [*range(1, 40), *[0] * 6],
    "a blank": [*(f"P{i}" for i in range(40)), " "],
    "a word": [*(f"P{i}" for i in range(40)), "Unknown"],
    "a number among names": [*(f"P{i}" for i in range(40)), "0"],
    "a negative number": [*range(40), -1],
    "whole numbers as floats": [*map(float, range(1, 40)), *[999999999.0] * 2],
    "texts of digits": [*map(str, range(100, 140)), "999999"],
    "zero as any other": [*range(40)],
    "nines as any other": [*range(980, 1020)],
    "all alike": [0] * 40,
}


@pytest.mark.parametrize("ids", list(IDS))
@pytest.mark.parametrize("most", [10_000_000, 3])
def test_identifiers_that_name_nobody(ids, most, engine, monkeypatch):
    monkeypatch.setattr(named_people, "_MOST_IDS", most)  # by the mean step, where there are many
    table = pl.DataFrame({"id": IDS[ids], "age": 30})
    n = n_placeholders(table["id"])
    if n == 0:
        check_people(engine, engine.of(table), SCHEMA)
        return
    with pytest.raises(ColumnError, match=f"'id': holds identifiers that seem to stand for 'unknown'.*got {n} rows"):
        check_people(engine, engine.of(table), SCHEMA)


def test_a_batch_does_not_decide(tmp_path, monkeypatch):
    """Zero is one of many, and stands apart from the others of its batch."""
    table = pl.DataFrame({"id": [0, *range(1500, 2000), *range(1, 1500)], "age": [30, 31] * 1000, "level": "a"})
    assert (n_placeholders(table["id"]), n_placeholders(table["id"][:501])) == (0, 1)
    monkeypatch.setattr(duckdb, "_BATCH", 501)
    schema = shoal.Schema.of(unit="id", quasi=["age", "level"], levels={"level": ["a"]})
    with duckdb.DuckDBEngine(spill=tmp_path, threads=1) as engine:
        coarsen_files(engine, Inputs.of(cut(table, tmp_path / "in", 1)), schema, shoal.Mondrian(k=5), tmp_path / "out")


def test_nobody_lives_in_two_households(engine):
    schema = shoal.Schema.of(unit="id", household="home", quasi=["age"])
    table = pl.DataFrame({"id": [11, 11, 12, None], "home": [1, 1, 1, 2], "age": 30})
    check_people(engine, engine.of(table), schema)
    with pytest.raises(ColumnError, match="'home': must be the same in all rows of a person"):
        check_people(engine, engine.of(table.with_columns(home=pl.Series([1, 2, 1, 2]))), schema)


def test_a_release_with_identifiers_of_nobody_leaves_nothing(engine, visits, tmp_path):
    table = visits.with_columns(pl.col("who").fill_null(999_999_999))
    schema = shoal.Schema.of(unit="who", quasi=["age", "zip"], other=["rate", "ill", "cost"])
    inputs = Inputs.of(cut(table, tmp_path / "in", 2))
    with pytest.raises(ColumnError, match="'who'.*Leave these cells empty: each row then counts as a person"):
        coarsen_files(engine, inputs, schema, shoal.Generalize(k=5), tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out")]
