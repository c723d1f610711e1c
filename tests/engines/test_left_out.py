"""Who is left out of a release of an engine leaves no trace in it: change the rest of their record, compare bytes."""

import json
from datetime import date, datetime

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


def leaving(engine, table, recipe, folder, schema=SCHEMA, **given):
    """The files that leave, without the keyed commitment of the input and what follows from it."""
    source = folder.with_suffix(".parquet")
    table.write_parquet(source)
    plan = Plan(rows=700, sample=700)
    release_files(engine, Inputs.of(source), schema, recipe, folder, seed=3, key=KEY, plan=plan, **given)
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


BORN = shoal.Schema.of(
    quasi=["age", "born", "admitted", "sex"],
    sensitive=["cost"],
    other=["zip3", "visits"],
    bounds={"age": (0, 120), "born": (1900, 2024)},
    missing={"age": "level", "born": "level"},
)
UNDER_PRESETS = [
    {"age": 95},
    {"age": 12, "born": 1901},
    {"age": None, "born": None, "admitted": None},
    {"admitted": date(1901, 2, 3), "zip3": "03601"},
    {"zip3": None, "cost": 5.25, "visits": 61},
]


def patients(**cells):
    """Crowds, and one person with a sex of their own, who is suppressed."""
    place = np.arange(N) % 8
    table = {
        "age": 30 + 20 * (place // 4),
        "born": 1990 - 20 * (place // 4),
        "admitted": [date(2019 + int(p) // 2 % 2, 5, 3) for p in place],
        "sex": np.array(["f", "m"])[place % 2],
        "zip3": np.array(["021", "100"])[np.random.default_rng(1).integers(0, 2, N)],
        "cost": np.random.default_rng(2).integers(0, 9, N) * 10,
        "visits": np.random.default_rng(3).integers(0, 9, N),
    }
    own = {"sex": "x", **cells}
    return pl.DataFrame(
        {name: pl.Series([own.get(name, values[0]), *values[1:]], strict=False) for name, values in table.items()}
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("cells", UNDER_PRESETS, ids=" ".join)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_shows_after_the_steps_of_a_preset(engine, method, cells, tmp_path):
    last = METHODS["suppress"] if method == "suppress" else shoal.Generalize(k=4, suppression=0.05, limits={"sex": 0})
    recipe = Coarsening.of([shoal.SafeHarbor(year=2021), last])
    given = {"schema": BORN, "preset": "safe-harbor", "accept": True}
    before = leaving(engine, patients(), recipe, tmp_path / "before", **given)
    assert leaving(engine, patients(**cells), recipe, tmp_path / "after", **given) == before
