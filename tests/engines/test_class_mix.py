"""Groupers that look at classes, cell by cell, on every engine."""

import numpy as np
import polars as pl
import pytest
from tests.engines.conftest import cut

import shoal
from shoal.conform import prepare
from shoal.engine import Inputs
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.group.mix import class_codes
from shoal.group.whole_classes import WholeClasses
from shoal.recipe import Anonymization
from shoal.release.on_engine import class_mix
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

PLAN = Plan(rows=150, sample=2000)
BASE = {"quasi": ["age", "zip"], "sensitive": ["ill", "ward", "cost"]}
SCHEMAS = {"rows": shoal.Schema.of(identifier=["who"], **BASE), "persons": shoal.Schema.of(unit="who", **BASE)}
GROUPERS = {
    "t-close": shoal.TCloseMST(k=4, t=0.35),
    "crest": shoal.Crest(k=4),
    "crest, each": shoal.Crest(k=4, classes="each", alpha=0.3),
}


@pytest.fixture
def table():
    """The young have the flu, the old have cancer: no cell is mixed as the table is."""
    rng, n = np.random.default_rng(2), 1500
    who = rng.integers(1, 900, n)
    age = 20 + who % 40
    usual = np.where(age < 35, "flu", np.where(age > 45, "cancer", "none"))
    ill = np.where(rng.random(n) < 0.6, usual, rng.choice(["flu", "none", "cancer"], n))
    ward = np.where(rng.random(n) < 0.05, None, rng.choice(["a", "b"], n))
    return pl.DataFrame(
        {"who": who, "age": age, "zip": rng.choice(["01", "02", "03"], n), "ill": ill, "ward": ward.tolist(),
         "cost": rng.integers(0, 90, n) * 1.0}
    )  # fmt: skip


def run(engine, table, tmp_path, schema, grouper, name="out"):
    inputs = Inputs.of(cut(table, tmp_path / f"in-{name}", 3))
    recipe = Anonymization.of(grouper, shoal.Centroid())
    return release_files(engine, inputs, schema, recipe, tmp_path / name, seed=3, key="3c" * 32, plan=PLAN)


def released(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


def variations(rows, table, name):
    """Total variation of each class of released rows from the table, counted by hand."""
    overall = {value: n / len(table) for value, n in table[name].value_counts().iter_rows()}
    found = []
    for _, part in rows.group_by("age", "zip"):
        own = {value: n / len(part) for value, n in part[name].value_counts().iter_rows()}
        found.append(sum(abs(own.get(value, 0.0) - share) for value, share in overall.items()) / 2)
    return found


@pytest.mark.parametrize("schema", list(SCHEMAS))
def test_every_group_is_close_to_the_whole_table(engine, table, tmp_path, schema):
    made = run(engine, table, tmp_path, SCHEMAS[schema], GROUPERS["t-close"])
    rows = released(tmp_path / "out")
    for name in ("ill", "ward"):
        assert max(variations(rows, table, name)) <= 0.35 + 1e-9
    assert made.n_rows == len(table)
    assert len(rows.unique(["age", "zip"])) > 10
    assert shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in-out").holds


def test_compared_with_its_own_cell_a_group_would_be_too_far(table, tmp_path, monkeypatch):
    """The mutation that the test above must catch: cells that are not told the classes of the table."""
    monkeypatch.setattr(WholeClasses, "tell", lambda self, prepared: None)
    monkeypatch.setattr(class_mix.Mixes, "holding", lambda *given: lambda placed: lambda paths: True)
    run(MemoryEngine(), table, tmp_path, SCHEMAS["rows"], GROUPERS["t-close"])
    assert max(variations(released(tmp_path / "out"), table, "ill")) > 0.4


@pytest.mark.parametrize("grouper", list(GROUPERS))
@pytest.mark.parametrize("schema", list(SCHEMAS))
def test_engines_write_the_same_bytes(table, tmp_path, schema, grouper):
    run(MemoryEngine(), table, tmp_path, SCHEMAS[schema], GROUPERS[grouper], "memory")
    with DuckDBEngine(spill=tmp_path, threads=2) as engine:
        mixed = table.sample(fraction=1, shuffle=True)
        run(engine, mixed, tmp_path, SCHEMAS[schema], GROUPERS[grouper], "duckdb")
    assert released(tmp_path / "memory").equals(released(tmp_path / "duckdb"))


@pytest.mark.parametrize("grouper", list(GROUPERS))
def test_told_the_classes_of_everybody_a_cell_of_everybody_is_grouped_as_in_memory(table, grouper):
    schema = SCHEMAS["rows"]
    together = grouper == "crest"
    alone = prepare(table, schema)
    told = prepare(table, schema)
    number = pl.DataFrame(class_codes(alone, ("ill", "ward")), schema=["#ill", "#ward"])
    by = [["ill", "ward"]] if together else [["ill"], ["ward"]]
    coded = pl.concat([table, number], how="horizontal")
    counted = [coded.group_by(*names, *(f"#{name}" for name in names)).len() for names in by]
    counted = [each.sort([f"#{name}" for name in names]) for each, names in zip(counted, by, strict=True)]
    whole = WholeClasses(
        tables=tuple(each.select(names) for each, names in zip(counted, by, strict=True)),
        counts=tuple(each["len"].to_numpy() for each in counted),
    )
    whole.tell(told)
    assert (GROUPERS[grouper].group(told, 1).labels == GROUPERS[grouper].group(alone, 1).labels).all()


def test_classes_are_numbered_by_the_whole_table(table):
    counted = table.group_by("ward").len().sort("ward", nulls_last=True)
    whole = WholeClasses(tables=(counted.drop("len"),), counts=(counted["len"].to_numpy(),))
    part = prepare(table.filter(pl.col("ward") == "b"), SCHEMAS["rows"])
    assert set(class_codes(part, ("ward",))[:, 0]) == {0}
    assert set(whole.codes(part)[:, 0]) == {1}  # after a
    assert (whole.total, whole.overall.tolist()) == (len(table), counted["len"].to_list())


def test_what_can_not_be_mixed_is_refused_before_anything_is_cut(engine, table, tmp_path, monkeypatch):
    one = table.with_columns(ward=pl.lit("a"))
    with pytest.raises(ColumnError, match="two classes"):
        run(engine, one, tmp_path, SCHEMAS["rows"], GROUPERS["crest, each"])
    without = shoal.Schema.of(identifier=["who", "ill", "ward"], quasi=["age", "zip"], sensitive=["cost"])
    with pytest.raises(SchemaError, match="class column"):
        run(engine, table, tmp_path, without, GROUPERS["crest"], "none")
    many = table.with_columns(ward=pl.Series([f"ward {i % 1200} north" for i in range(len(table))]))
    monkeypatch.setattr("shoal.group.mix._MOST_COUNTS", 100_000)
    with pytest.raises(InputError, match="too many classes"):
        run(engine, many, tmp_path, SCHEMAS["rows"], GROUPERS["t-close"], "many")
    assert not any((tmp_path / name).exists() for name in ("out", "none", "many"))
