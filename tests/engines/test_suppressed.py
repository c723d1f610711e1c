"""What suppression took is counted on every engine as in memory, and none of it leaves."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import Inputs
from shoal.recipe import Coarsening
from shoal.release.folders import SUPPRESSION, inside_of
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

SCHEMA = shoal.Schema.of(
    quasi=["state", "race", "age"],
    sensitive=["cost"],
    kinds={"state": "nominal", "race": "nominal"},
    bounds={"age": (0, 120)},
    missing={"age": "drop"},
)
GENERALIZE = shoal.Generalize(k=10, suppression=0.1, limits={"state": 0, "race": 0})


def people(seed=3):
    """A large state, and a small one with a few people of rare races; three ages are unknown."""
    rng = np.random.default_rng(seed)
    state = [*["Ohio"] * 400, *["Wyoming"] * 40]
    race = [*rng.choice(["A", "B"], 400), *["A"] * 30, *"BCDEFGHIJK"]
    age = [*rng.integers(2, 8, 440).tolist()]
    age = [None if i in (5, 6, 410) else 10 * value for i, value in enumerate(age)]
    return pl.DataFrame({"state": state, "race": race, "age": age, "cost": range(440)})


def made(engine, table, method, folder):
    source = folder.with_suffix(".parquet")
    table.write_parquet(source)
    plan = Plan(rows=700, sample=700)
    return release_files(engine, Inputs.of(source), SCHEMA, Coarsening.of(method), folder, seed=3, plan=plan)


def test_an_engine_counts_as_memory_does(engine, tmp_path):
    table = people()
    found = made(engine, table, GENERALIZE, tmp_path / "out").suppression
    expected = shoal.coarsen(table, SCHEMA, GENERALIZE, seed=1).suppression
    assert found == expected
    assert "state Wyoming" in [group.name for group in found.worst()]


def test_blanks_are_counted_on_what_was_written(engine, tmp_path):
    table = people().drop_nulls()
    done = made(engine, table, shoal.Suppress(k=10, records=0.05), tmp_path / "out")
    written = pl.concat([pl.read_parquet(part) for part in sorted((tmp_path / "out").glob("*.parquet"))])
    found = done.suppression
    assert found.after == len(written)
    for group in found.levels:
        (name,), (level,) = group.columns, group.values
        assert group.before == (table[name].cast(pl.String) == level).sum()
        assert group.after == (written[name].cast(pl.String) == level).sum()
    blank = sum(int((written[n].is_null() | (written[n].cast(pl.String) == "*")).sum()) for n in SCHEMA.quasi)
    assert found.blanked == blank > 0


@pytest.mark.parametrize("method", [GENERALIZE, shoal.Suppress(k=10, records=0.05)], ids=["generalize", "suppress"])
def test_none_of_it_leaves(engine, method, tmp_path):
    made(engine, people(), method, tmp_path / "out")
    words = json.loads((inside_of(tmp_path / "out") / SUPPRESSION).read_text())
    assert words["columns"][0]["column"] == "state"
    assert "What suppression took" in (inside_of(tmp_path / "out") / "report.html").read_text()
    for name in ("report.html", "manifest.json"):
        outside = (tmp_path / "out" / name).read_text()
        assert "What suppression took" not in outside
        assert '"suppression":' not in outside.replace('"suppression": 0.1', "")
    assert not (tmp_path / "out" / SUPPRESSION).exists()


def test_nothing_suppressed_is_nothing_told(engine, tmp_path):
    done = made(engine, people().drop_nulls(), shoal.Generalize(k=2, suppression=0), tmp_path / "out")
    assert done.suppression is None
    assert not (inside_of(tmp_path / "out") / SUPPRESSION).exists()
