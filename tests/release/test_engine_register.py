"""The register for files on an engine: the same marks as in memory, the same refusals, nothing of it in the files."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import Inputs, open_engine
from shoal.errors import GuaranteeError, InputError
from shoal.ledger import Ledger
from shoal.recipe import Anonymization, Coarsening
from shoal.register.person_marks import People
from shoal.release.on_engine.make import release_files, repeat_files

SCHEMA = shoal.Schema.of(
    identifier=["id"],
    quasi=["age", "sex"],
    sensitive=["cost"],
    other=["seen", "share"],
    kinds={"age": "numeric", "sex": "nominal", "cost": "numeric"},
    bounds={"age": (0, 120)},
    hierarchies={"age": {"kind": "intervals", "widths": [10, 20, 40]}},
)
RECIPE = Anonymization.of(shoal.MDAV(k=5), [shoal.Resample()])


def people(n=300, seed=1, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"sentinel{i}" for i in range(first, first + n)],
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "cost": np.round(1000 * rng.random(n), 3),
            "seen": pl.Series(rng.integers(0, 2000, n)).cast(pl.Int32).cast(pl.Date),
            "share": rng.integers(0, 50, n).astype(float),  # whole numbers kept as floats
        }
    )


@pytest.fixture
def register(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(url).close()
    made = shoal.Register.open("lake", ledger=url)
    yield made
    made.close()


@pytest.fixture(params=["memory", "duckdb"])
def engine(request):
    with open_engine(request.param) as made:
        yield made


def lake(table, folder, parts=3):
    folder.mkdir()
    for i in range(parts):
        table[i::parts].write_parquet(folder / f"part-{i}.parquet")
    return Inputs.of(folder)


def marks(register, release):
    return People.from_bytes(register.ledger.released_marks(register.releases()[release], "people"))


def test_marks_on_an_engine_are_those_of_memory(engine, register, tmp_path):
    table = people()
    made = release_files(
        engine, lake(table, tmp_path / "lake"), SCHEMA, RECIPE, tmp_path / "one", register=register, seed=1
    )
    assert (made.beside.people, made.beside.newcomers, made.beside.holds) == (300, 300, True)
    shoal.anonymize(
        table, SCHEMA, group=shoal.MDAV(k=5), mask=shoal.Resample(), register=register.to(None, despite="a test")
    ).write(tmp_path / "two")
    one, two = marks(register, 0), marks(register, 1)
    assert np.array_equal(one.marks, two.marks)
    assert np.array_equal(one.signatures, two.signatures)
    words = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert words["register"] == {"holds": True, "same_groups": False}
    written = pl.read_parquet(tmp_path / "one" / "part-*.parquet")
    assert set(written.columns) == {"age", "sex", "cost", "seen", "share"}
    assert np.bincount(np.unique(one.labels, return_inverse=True)[1]).min() >= 5
    assert shoal.verify(tmp_path / "one").exit_code == 5


def test_releases_of_memory_and_engine_are_held_against_each_other(engine, register, tmp_path):
    table, inputs = people(), lake(people(), tmp_path / "lake")
    shoal.anonymize(table, SCHEMA, group=shoal.KMember(k=5), register=register).write(tmp_path / "one")
    book = shoal.Register.open(ledger=register.place)  # nobody says whose data they are: known by their rows
    generalize, mondrian = shoal.Generalize(k=5, suppression=0.2), shoal.Mondrian(k=5)
    for release in (
        lambda **words: release_files(engine, inputs, SCHEMA, RECIPE, tmp_path / "two", **words),
        lambda **words: release_files(engine, inputs, SCHEMA, Coarsening.of(generalize), tmp_path / "two", **words),
        lambda **words: release_files(engine, inputs, SCHEMA, Coarsening.of(mondrian), tmp_path / "two", **words),
    ):
        with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people") as error:
            release(register=book)
        assert "sentinel" not in str(error.value)
        assert not (tmp_path / "two").exists()
    done = release_files(
        engine,
        inputs,
        SCHEMA,
        Coarsening.of(mondrian),
        tmp_path / "two",
        register=book.to(None, despite="a test"),
        seed=3,
    )
    assert done.beside.below > 50
    manifest = json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert manifest["register"]["despite"] == "a test"
    assert [words["people"] for words in register.releases()] == [300, 300]
    assert marks(register, 1).labels.tolist() != []
    book.close()


def test_a_register_changes_no_row_and_the_run_can_be_repeated(engine, register, tmp_path):
    inputs = lake(people(), tmp_path / "lake")
    words = {"seed": 5, "key": "11" * 32}
    plain = release_files(engine, inputs, SCHEMA, RECIPE, tmp_path / "without", **words)
    made = release_files(engine, inputs, SCHEMA, RECIPE, tmp_path / "with", register=register, **words)
    assert made.claims == plain.claims
    repeat_files(engine, tmp_path / "with.internal" / "replay.toml", tmp_path / "again")
    files = [sorted((tmp_path / name).glob("part-*.parquet")) for name in ("without", "with", "again")]
    assert [[file.read_bytes() for file in some] for some in files[1:]] == [[f.read_bytes() for f in files[0]]] * 2


def test_without_an_identifier_people_are_their_rows_and_equal_rows_are_two(engine, register, tmp_path):
    schema = shoal.Schema.of(
        quasi=["age", "sex"], sensitive=["cost"], other=["seen", "share"], bounds={"age": (0, 120)}
    )
    table = people().drop("id")
    table = pl.concat([table, table[:40], table[:10]])
    made = release_files(
        engine, lake(table, tmp_path / "lake"), schema, RECIPE, tmp_path / "one", register=register, seed=1
    )
    assert made.beside.people == 350
    words = {"group": shoal.MDAV(k=5), "mask": shoal.Resample(), "register": register.to(None, despite="a test")}
    shoal.anonymize(table[::-1], schema, **words).write(tmp_path / "two")
    assert np.array_equal(marks(register, 0).marks, marks(register, 1).marks)
    narrower = shoal.Schema(tuple(c for c in schema.columns if c.name != "share"))
    inputs = lake(table.drop("share"), tmp_path / "narrower")
    with pytest.raises(InputError, match="the table has no column 'share'"):
        release_files(engine, inputs, narrower, RECIPE, tmp_path / "three", register=register)


def test_a_unit_with_several_rows_counts_once(engine, register, tmp_path):
    schema = shoal.Schema.of(
        unit="id", quasi=["age", "sex"], sensitive=["cost"], other=["seen", "share"], bounds={"age": (0, 120)}
    )
    twice = pl.concat([people(), people().with_columns(pl.col("cost") + 0.5)])
    made = release_files(
        engine, lake(twice, tmp_path / "lake"), schema, RECIPE, tmp_path / "one", register=register, seed=1
    )
    assert (made.beside.people, made.n_rows) == (300, 600)


OTHER_FORMS = {
    "renamed": pl.col("cost").alias("charges"),
    "in cents": (pl.col("cost") * 1000).round(0).cast(pl.Int64).alias("charges"),
    "log": pl.col("cost").log1p().alias("log_cost"),
}
ONLY_COST = shoal.Schema.of(
    identifier=["id"],
    quasi=["age", "sex"],
    sensitive=["cost"],
    kinds={"age": "numeric", "sex": "nominal", "cost": "numeric"},
    bounds={"age": (0, 120)},
)


def renamed_schema(name, **roles):
    given = {"quasi": ["age", "sex"], "sensitive": [name]} | roles
    kinds = {"age": "numeric", "sex": "nominal", name: "numeric"}
    return shoal.Schema.of(identifier=["id"], kinds=kinds, bounds={"age": (0, 120)}, **given)


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("first", ["memory", "engine"])
def test_a_column_under_another_name_is_joined_on_an_engine(first, form, engine, register, tmp_path):
    table = people().drop("seen", "share")
    if first == "memory":
        words = {"group": shoal.KMember(k=5), "mask": shoal.Resample(), "register": register}
        shoal.anonymize(table, ONLY_COST, **words).write(tmp_path / "one")
    else:
        inputs = lake(table, tmp_path / "first")
        release_files(engine, inputs, ONLY_COST, RECIPE, tmp_path / "one", register=register, seed=1)
    again = table.with_columns(OTHER_FORMS[form]).drop("cost")
    name = again.columns[-1]
    mondrian = Coarsening.of(shoal.Mondrian(k=5))
    given = {"register": register, "seed": 2}
    inputs = lake(again, tmp_path / "second")
    with pytest.raises(GuaranteeError, match=f"can be joined by {name}"):
        release_files(engine, inputs, renamed_schema(name), mondrian, tmp_path / "two", **given)
    assert not (tmp_path / "two").exists()


def test_an_earlier_quasi_identifier_that_is_shown_is_refused_on_an_engine(engine, register, tmp_path):
    table = people().drop("seen", "share")
    inputs = lake(table, tmp_path / "first")
    release_files(engine, inputs, ONLY_COST, RECIPE, tmp_path / "one", register=register, seed=1)
    shown = lake(table.rename({"age": "years"}).drop("cost"), tmp_path / "second")
    kinds = {"sex": "nominal", "years": "numeric"}
    schema = shoal.Schema.of(identifier=["id"], quasi=["sex"], other=["years"], kinds=kinds)
    with pytest.raises(GuaranteeError, match="column 'years', which carries 'age', unchanged"):
        release_files(engine, shown, schema, RECIPE, tmp_path / "two", register=register, seed=2)
    words = {"group": shoal.MDAV(k=5), "mask": shoal.Centroid(), "register": register}
    with pytest.raises(GuaranteeError, match="column 'years', which carries 'age', unchanged"):
        shoal.anonymize(table.rename({"age": "years"}).drop("cost"), schema, **words)


def test_people_under_other_identifiers_are_recognised_on_an_engine(engine, register, tmp_path):
    table = people()
    inputs = lake(table, tmp_path / "first")
    release_files(engine, inputs, SCHEMA, RECIPE, tmp_path / "one", register=register, seed=1)
    again = table.with_columns(id=pl.Series([f"x{i}" for i in range(300)]))
    mondrian = Coarsening.of(shoal.Mondrian(k=5))
    other = lake(again, tmp_path / "second")
    with pytest.raises(GuaranteeError, match="under other identifiers"):
        release_files(engine, other, SCHEMA, mondrian, tmp_path / "two", register=register, seed=2)
    with pytest.raises(GuaranteeError, match="under other identifiers"):
        shoal.anonymize(again, SCHEMA, register=register)
