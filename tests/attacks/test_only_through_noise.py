"""A release that claims ε depends on its people through the noise alone.

The door of noise is replaced by one that looks at the shape of the counts only. Then whatever is changed in the private
table, its people, types, order or length, every file that leaves must come out byte for byte, and the model too.
"""

import numpy as np
import polars as pl
import pytest
from test_non_interference import changed, leaving

import shoal
from shoal.dp import noise

SCHEMA = shoal.Schema.of(
    identifier=["name"],
    quasi=["stage", "smoker", "age"],
    sensitive=["dose"],
    levels={"stage": [1, 2, 3], "smoker": ["n", "y"], "dose": [1.5, 2.0, 4.0]},
    bounds={"age": (0, 100)},
)
METHODS = {
    "PeGS": (shoal.PeGS(epsilon=1.0), 40),
    "PeGS, its own total": (shoal.PeGS(epsilon=1.0), None),
    "PeGS, zCDP": (shoal.PeGS(epsilon=1.0, delta=1e-6), 40),
    "bootstrap": (shoal.MarginalBootstrap(epsilon=1.0), None),
}


@pytest.fixture(autouse=True)
def blind_noise(monkeypatch):
    def drawn(counts, measurement):
        return (np.arange(counts.size, dtype=np.int64) % 7 + 3).reshape(counts.shape)

    monkeypatch.setattr(noise, "_noised", drawn)
    monkeypatch.setattr(noise, "_chosen", lambda *given: 0)


def people(n=60):
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "stage": rng.integers(1, 4, n),
            "smoker": rng.choice(["n", "y"], n),
            "age": rng.integers(0, 100, n),
            "dose": rng.choice([1.5, 2.0, 4.0], n),
        }
    )


def others(table):
    """Other private tables, or the same one kept in other ways."""
    return {
        "another person": changed(table, 3, stage=1, smoker="y", age=99, dose=4.0),
        "an age that is not whole": changed(table, 3, age=50.5),
        "a missing record": changed(table, 3, stage=None, smoker=None, age=None, dose=None),
        "fewer people": table.head(20),
        "everybody alike": table.with_columns(stage=1, smoker=pl.lit("n"), age=1, dose=2.0),
        "other order": table.reverse().select("dose", "age", "name", "smoker", "stage"),
        "pandas": table.to_pandas(),
        "narrow": table.with_columns(pl.col("stage", "age").cast(pl.Float32), pl.col("smoker").cast(pl.Categorical)),
        "texts": table.with_columns(pl.col("stage").cast(pl.String)),
    }


@pytest.mark.parametrize("name", METHODS)
def test_nothing_else_gets_through(name, tmp_path):
    method, rows = METHODS[name]

    def files(table, place):
        shoal.synthesize(table, SCHEMA, method, rows=rows, seed=4).write(place)
        return leaving(place) | {"model": (place.with_name(f"{place.name}.internal") / "model.json").read_bytes()}

    before = files(people(), tmp_path / "before")
    for i, (what, table) in enumerate(others(people()).items()):
        assert files(table, tmp_path / f"after {i}") == before, what


def test_a_method_without_a_claim_tells_its_rules_and_not_who_needed_them(tmp_path):
    """ "Rows with a missing number were left out" told that there were such rows."""
    schema = shoal.Schema.of(quasi=["stage", "age"], sensitive=["dose"], missing={"age": "drop"})
    table = people().drop("name", "smoker")
    notes = [
        shoal.synthesize(side, schema, shoal.MarginalBootstrap(epsilon=None), rows=10, seed=1).notes
        for side in (table, changed(table, 2, age=None))
    ]
    assert notes[0] == notes[1]
