"""One person changes the type of a column, or the order of columns, and so did what was released: at any ε, surely.

The intruder (`type_intruder`) sees the bytes of release and model only; the house fits, draws and writes as a release
does. Where types follow the data he is right in every fit of four cases, and in three more the person stops the fit.
"""

import importlib.util
import io
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.files import read_table, write_table
from shoal.frame import enter
from shoal.score import CertifiedForest, CertifiedTree
from shoal.score.model_file import to_dict
from shoal.synth import MarginalBootstrap, PeGS

spec = importlib.util.spec_from_file_location("type_intruder", Path(__file__).with_name("type_intruder.py"))
type_intruder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(type_intruder)
Intruder, looks, alike = type_intruder.Intruder, type_intruder.looks, type_intruder.alike

EPSILON = 0.01
SCHEMA = Schema.of(
    quasi=["stage", "smoker"],
    sensitive=["dose"],
    levels={"stage": [1, 2, 3], "smoker": [0, 1]},
    bounds={"dose": (0, 10)},
)
RECORDS = [{"stage": 1 + i % 3, "smoker": i % 2, "dose": i % 11} for i in range(40)]


def frame(*more):
    """A table as pandas makes it from records: types by what is in it, columns as the first record has them."""
    return pd.DataFrame([*more, *RECORDS])


def by_file(tmp_path):
    def made(*more):
        path = tmp_path / "people.csv"
        rows = [",".join(str(record[name]) for name in SCHEMA.quasi + SCHEMA.sensitive) for record in [*RECORDS, *more]]
        path.write_text("stage,smoker,dose\n" + "\n".join(rows) + "\n")
        return read_table(path)

    return made


def in_memory(_):
    return frame


PERSONS = {
    "a missing value": (in_memory, {"stage": None, "smoker": 1, "dose": 4}),
    "a float": (in_memory, {"stage": 2.0, "smoker": 1, "dose": 4.0}),
    "a text": (in_memory, {"stage": "2", "smoker": 1, "dose": 4}),
    "true instead of 1": (in_memory, {"stage": 2, "smoker": True, "dose": 4}),
    "fields in another order": (in_memory, {"dose": 4, "smoker": 1, "stage": 2}),
    "1.0 in a file": (by_file, {"stage": "1.0", "smoker": 1, "dose": 4}),
    "01 in a file": (by_file, {"stage": "01", "smoker": "1", "dose": "04"}),
    "nothing in a file": (by_file, {"stage": "", "smoker": "", "dose": ""}),
}
METHODS = {"PeGS": PeGS(epsilon=EPSILON), "bootstrap": MarginalBootstrap(epsilon=EPSILON)}
FITS = {"PeGS": 2, "bootstrap": 11}  # on each side of each case: 208 in all


def released(method, table):
    """What leaves the house: bytes of the release and of the model."""
    model = method.fit(table, SCHEMA)
    out = io.BytesIO()
    enter(model.sample(30)).to_polars().write_csv(out)
    return out.getvalue(), json.dumps(model.to_dict()).encode()


@pytest.mark.parametrize("person", list(PERSONS))
@pytest.mark.parametrize("method", list(METHODS))
def test_types_do_not_tell_who_is_in(method, person, tmp_path):
    table, record = PERSONS[person]
    without, with_person = table(tmp_path)(), table(tmp_path)(record)
    intruder = Intruder(released(METHODS[method], without), released(METHODS[method], with_person))
    sides = [without, with_person] * FITS[method]
    assert [intruder.is_in(*released(METHODS[method], side)) for side in sides] == [None] * len(sides)


def test_the_intruder_can_tell_types_apart():
    """Were types those of the data, he would be right: two releases that differ in a type only."""
    _, model = released(METHODS["bootstrap"], frame())
    release = b"stage,smoker,dose\n1,true,2\n3,false,5\n"
    words = json.loads(model)
    words["domain"]["columns"][0] |= {"dtype": "Float64", "levels": [1.0, 2.0, 3.0]}
    assert Intruder((release, model), (release, json.dumps(words).encode())).is_in(release, model) is False
    table = pl.read_csv(io.BytesIO(release)).with_columns(pl.col("stage").cast(pl.Float64))
    assert Intruder((release, model), (table.write_csv().encode(), model)).is_in(release, model) is False


@pytest.mark.parametrize("person", ["a missing value", "1.0 in a file"])
def test_a_written_release_tells_no_types(person, tmp_path):
    """The whole folder: table, model, manifest; and its table is one of whole numbers on both sides."""
    table, record = PERSONS[person]
    seen = []
    for side in (table(tmp_path)(), table(tmp_path)(record)):
        release = shoal.synthesize(side, SCHEMA, PeGS(epsilon=EPSILON), rows=200)
        folder = release.write(tmp_path / f"release {len(seen)}")
        manifest = json.loads((folder / "manifest.json").read_text())
        files = (
            (folder / "release.csv").read_bytes(),
            (folder.with_name(f"{folder.name}.internal") / "model.json").read_bytes(),
        )
        seen.append((looks(*files), {name: manifest[name] for name in ("columns", "schema", "claims", "removed")}))
    assert alike(seen[0][0], seen[1][0])
    assert seen[0][1] == seen[1][1]
    assert all(formats in ([], ["whole"]) for look, _ in seen for formats in look[1].values())


@pytest.mark.parametrize("person", [name for name in PERSONS if name != "nothing in a file"])
@pytest.mark.parametrize("model", [CertifiedForest(EPSILON, SCHEMA), CertifiedTree(EPSILON, SCHEMA, max_depth=2)])
def test_types_do_not_show_in_a_certified_model(model, person, tmp_path):
    table, record = PERSONS[person]
    files = []
    for side in (table(tmp_path)(), table(tmp_path)(record)):
        rows = enter(side)
        fitted = model.fit(rows.select("stage", "smoker").to_native(), rows["smoker"].to_native())
        files.append(json.dumps(to_dict(fitted)).encode())
    assert alike(looks(b"x\n", files[0]), looks(b"x\n", files[1]))


def test_the_bytes_of_a_table_are_those_of_its_values(tmp_path):
    """What the test above writes is what `Release.write` writes."""
    rows = MarginalBootstrap(epsilon=1.0).fit(frame(), SCHEMA).sample(20, seed=1)
    write_table(enter(rows).to_polars(), tmp_path / "release.csv")
    out = io.BytesIO()
    enter(rows).to_polars().write_csv(out)
    assert (tmp_path / "release.csv").read_bytes() == out.getvalue()
