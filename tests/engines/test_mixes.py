"""l-diversity and t-closeness of Mondrian and Suppress, cell by cell, on every engine."""

import numpy as np
import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.condition.overall import OverallMix
from shoal.engine import Inputs
from shoal.engine.cell_tree import hosts
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import GuaranteeError, SchemaError
from shoal.recipe import Anonymization
from shoal.release.on_engine import mix
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

PLAN = Plan(rows=300, sample=2000)
BASE = {"quasi": ["age", "zip"], "sensitive": ["ill", "cost"]}
SCHEMAS = {"rows": shoal.Schema.of(identifier=["who"], **BASE), "persons": shoal.Schema.of(unit="who", **BASE)}
ASKED = {
    "distinct": {"diversity": 3},
    "entropy and equal": {"diversity": "entropy:1.8", "closeness": "equal:0.55"},
    "recursive": {"diversity": "recursive:6,2"},
    "by kind": {"closeness": 0.4},
}
METHODS = {"mondrian": shoal.Mondrian, "suppress": shoal.Suppress}


@pytest.fixture
def table():
    """What people have depends on their age: under 34 it is the flu for all, over 50 nearly always cancer."""
    rng, n = np.random.default_rng(5), 3000
    who = rng.integers(1, 1500, n)
    age = 20 + who % 40
    ill = np.where(rng.random(n) < 0.8, np.where(age > 50, "cancer", "no"), rng.choice(["no", "flu", "cancer"], n))
    return pl.DataFrame(
        {
            "who": who,
            "age": age,
            "zip": [f"0{z}" for z in rng.integers(100, 104, n)],
            "ill": np.where(age < 34, "flu", ill),
            "cost": np.where(age > 45, 90, 10) * 1.0 + rng.integers(0, 60, n),
        }
    ).with_columns(pl.when(pl.col("cost") % 7 == 0).then(None).otherwise("ill").alias("ill"))


def released(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


def run(engine, table, tmp_path, schema, method, name="out"):
    inputs = Inputs.of(cut(table, tmp_path / f"in-{name}", 3))
    return coarsen_files(engine, inputs, schema, method, tmp_path / name, seed=3, key="3c" * 32, plan=PLAN)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("asked", list(ASKED))
def test_every_class_of_the_release_is_mixed_enough(engine, table, tmp_path, method, asked):
    made = run(engine, table, tmp_path, SCHEMAS["rows"], METHODS[method](k=5, **ASKED[asked]))
    found = shoal.risk.classes(released(tmp_path / "out"), SCHEMAS["rows"]).sensitive
    for one in found.values():
        assert asked != "distinct" or one.distinct_l >= 3
        assert asked != "entropy and equal" or one.entropy_l >= 1.8 - 1e-9
        assert asked != "by kind" or one.t <= 0.4 + 1e-9
    assert asked != "entropy and equal" or found["ill"].t <= 0.55 + 1e-9
    kinds = {(claim.kind, claim.column) for claim in made.claims if claim.column}
    assert len(kinds) == (4 if asked == "entropy and equal" else 2)
    assert made.n_rows == len(table)
    found = shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in-out")
    assert found.holds


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("schema", list(SCHEMAS))
def test_engines_write_the_same_bytes(table, tmp_path, schema, method):
    asked = METHODS[method](k=4, diversity=2, closeness=0.5)
    run(MemoryEngine(), table, tmp_path, SCHEMAS[schema], asked, "memory")
    with DuckDBEngine(spill=tmp_path, threads=2) as engine:
        run(engine, table.sample(fraction=1, shuffle=True, seed=1), tmp_path, SCHEMAS[schema], asked, "duckdb")
    one, other = ((tmp_path / name / "part-00000.parquet").read_bytes() for name in ("memory", "duckdb"))
    assert one == other


def test_persons_count_once_in_a_class(engine, table, tmp_path):
    """Counted by hand on the released rows beside the persons, whose column is unique to each row here."""
    schema = shoal.Schema.of(unit="who", other=["row"], **BASE)
    numbered = table.with_columns(row=pl.Series(np.arange(len(table)) * 0.5))
    run(engine, numbered, tmp_path, schema, shoal.Mondrian(k=5, diversity=3, closeness="equal:0.6"))
    both = released(tmp_path / "out").join(numbered.select("row", "who"), on="row")
    once = both.unique(["age", "zip", "ill", "who"])
    whole = once["ill"].fill_null("?").value_counts(normalize=True)
    for _, part in once.with_columns(pl.col("ill").fill_null("?")).group_by("age", "zip"):
        assert part["who"].n_unique() >= 5
        assert part["ill"].n_unique() >= 3
        mixed = whole.join(part["ill"].value_counts(normalize=True), on="ill", how="left").fill_null(0.0)
        assert (mixed["proportion"] - mixed["proportion_right"]).abs().sum() / 2 <= 0.6 + 1e-9


def test_a_cell_that_can_not_hold_joins_its_neighbour(table, tmp_path, monkeypatch):
    """What people have depends on their age: cells of the young alone have no solution."""
    counts = {"00": 900, "01": 900, "1": 900}
    assert hosts(counts, 5, lambda paths: "00" not in paths or len(paths) > 1) == {"00": "01", "01": "01", "1": "1"}
    assert set(hosts(counts, 5, lambda paths: False).values()) in ({"00"}, {"01"}, {"1"})
    method = shoal.Mondrian(k=5, closeness=0.3)
    plain = run(MemoryEngine(), table, tmp_path, SCHEMAS["rows"], shoal.Mondrian(k=5), "plain")
    mixed = run(MemoryEngine(), table, tmp_path, SCHEMAS["rows"], method, "mixed")
    cells = [next(fact.values["n"] for fact in made.facts if "cells" in fact.says) for made in (plain, mixed)]
    assert 1 < cells[1] < cells[0]
    monkeypatch.setattr(mix.Mixes, "holding", lambda self, engine, cell, unit: lambda placed: lambda paths: True)
    with pytest.raises(GuaranteeError, match=r"cell \d+: the conditions must be met"):
        run(MemoryEngine(), table, tmp_path, SCHEMAS["rows"], method, "alone")


@pytest.mark.parametrize("method", list(METHODS))
def test_the_mix_is_that_of_the_whole_table(table, tmp_path, monkeypatch, method):
    """Cells that compare with their own mix don't get through: every class is counted again over all rows."""
    monkeypatch.setattr(OverallMix, "tell", lambda self, prepared, name: None)
    monkeypatch.setattr(mix.Mixes, "holding", lambda self, engine, cell, unit: lambda placed: lambda paths: True)
    with pytest.raises(GuaranteeError, match="differ from those of the whole release by at most 0.4"):
        run(MemoryEngine(), table, tmp_path, SCHEMAS["rows"], METHODS[method](k=5, closeness=0.4))
    assert not (tmp_path / "out").exists()


def test_what_no_release_can_have_is_refused(engine, table, tmp_path):
    with pytest.raises(GuaranteeError, match="too few values"):
        run(engine, table, tmp_path, SCHEMAS["rows"], shoal.Mondrian(k=5, diversity=9))
    bare = shoal.Schema.of(identifier=["who"], quasi=["age", "zip"], other=["ill", "cost"])
    with pytest.raises(SchemaError, match="must name a sensitive column"):
        run(engine, table, tmp_path, bare, shoal.Suppress(k=5, closeness=0.3), "bare")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out")]


@pytest.mark.parametrize("asked", ["by kind", "distinct"])
def test_mixed_groups_are_held_to_the_whole_table(engine, table, tmp_path, asked):
    """Each cell saw its own mix alone: groups of the young were close to the young, and nothing was claimed."""
    inputs = Inputs.of(cut(table, tmp_path / "in", 3))
    recipe = Anonymization.of(shoal.Mixed(of=shoal.MDAV(k=5), **ASKED[asked]), shoal.Centroid())
    made = release_files(engine, inputs, SCHEMAS["rows"], recipe, tmp_path / "out", seed=3, key="3c" * 32, plan=PLAN)
    found = shoal.risk.classes(released(tmp_path / "out"), SCHEMAS["rows"]).sensitive
    assert all(one.t <= 0.4 + 1e-9 if asked == "by kind" else one.distinct_l >= 3 for one in found.values())
    claimed = [(claim.column, claim.scope, claim.basis) for claim in made.claims if claim.column]
    assert claimed == [("ill", "per class", "verified"), ("cost", "per class", "verified")]
    assert shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in").holds
