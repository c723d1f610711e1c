"""Who is left out of a release of an engine leaves no trace in it: change the rest of their record, compare bytes."""

import json
from datetime import datetime

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import Inputs
from shoal.recipe import Coarsening
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

KEY = "5a" * 32
N = 160
QUASI = ["age", "sex", "town"]
SCHEMA = shoal.Schema.of(quasi=QUASI, sensitive=["cost"], time=["seen"], other=["visits"])
AS_THEY_ARE = dict.fromkeys(QUASI, 0)
METHODS = {
    "generalize": shoal.Generalize(k=4, suppression=0.05, limits=AS_THEY_ARE),
    "suppress": shoal.Suppress(k=4, records=0.05),
}


def crowd(**cells):
    """Crowds that resemble each other, and one person in a town of their own, with these cells, who is suppressed."""
    rng = np.random.default_rng(1)
    table = {
        "age": rng.integers(3, 6, N) * 10,
        "sex": rng.choice(["f", "m"], N),
        "town": rng.choice(["Alba", "Boro"], N),
        "cost": rng.integers(0, 9, N) * 10,
        "visits": rng.integers(0, 9, N),
        "seen": [datetime(2020, 1, 1 + i % 9) for i in range(N)],
    }
    own = {"town": "Zed", **cells}
    return pl.DataFrame(
        {name: pl.Series([own.get(name, values[0]), *values[1:]], strict=False) for name, values in table.items()}
    )


def leaving(engine, table, recipe, folder, **given):
    """The files that leave, without the keyed commitment of the input and what follows from it."""
    source = folder.with_suffix(".parquet")
    table.write_parquet(source)
    plan = Plan(rows=700, sample=700)
    release_files(engine, Inputs.of(source), SCHEMA, recipe, folder, seed=3, key=KEY, plan=plan, **given)
    words = json.loads((folder / "manifest.json").read_text())
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sum(len(pl.read_parquet(content)) for name, content in files.items() if name.endswith("parquet")) == N - 1
    for hidden in (words["input"]["commitment"], words["files"]["report.html"]):
        files = {name: content.replace(hidden.encode(), b"") for name, content in files.items()}
    return files


@pytest.mark.parametrize("method", METHODS)
def test_the_decimals_and_the_clock_of_a_left_out_person_do_not_show(engine, method, tmp_path):
    """One cost of 5.25 made everybody's 10 a 10.0, one visit at noon gave everybody's days a time."""
    recipe = Coarsening.of(METHODS[method])
    before = leaving(engine, crowd(), recipe, tmp_path / "before")
    odd = crowd(age=30.5, cost=5.25, visits=1.5, seen=datetime(2020, 1, 1, 12))
    assert leaving(engine, odd, recipe, tmp_path / "after") == before


def test_that_a_left_out_person_is_over_89_is_not_told(engine, tmp_path):
    recipe = Coarsening.of([shoal.compliance.SafeHarbor(), METHODS["generalize"]])
    given = {"preset": "safe-harbor", "accept": True}
    before = leaving(engine, crowd(sex="x"), recipe, tmp_path / "before", **given)
    assert leaving(engine, crowd(sex="x", age=95), recipe, tmp_path / "after", **given) == before
