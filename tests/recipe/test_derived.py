"""Columns that follow from others: computed again from what is released, coarsened along, or left out."""

import numpy as np
import polars as pl
import pytest

from shoal import (
    Centroid,
    GaussianDither,
    Generalize,
    KMember,
    Mondrian,
    PeGS,
    Resample,
    Schema,
    SchemaError,
    anonymize,
    coarsen,
    synthesize,
    verify,
)

RNG = np.random.default_rng(2)
AGE = RNG.integers(16, 80, 60)
TABLE = pl.DataFrame(
    {
        "age": AGE,
        "agegr": [f"{age // 10 * 10}s" for age in AGE],
        "height": 150 + RNG.integers(0, 4, 60) * 10,
        "weight": 50 + RNG.integers(0, 4, 60) * 10,
        "cost": RNG.integers(0, 900, 60),
    }
).with_columns(bmi=(pl.col("weight") / (pl.col("height") / 100) ** 2))
ROLES = {"quasi": ["age", "agegr", "height", "weight", "bmi"], "sensitive": ["cost"]}
SCHEMA = Schema.of(**ROLES, derived={"agegr": "age", "bmi": ["height", "weight"]}, kinds={"agegr": "nominal"})


def agrees(table):
    """The oracle: the group of the nearest age that somebody has."""
    ages = sorted(set(AGE.tolist()))
    nearest = [min(ages, key=lambda one, age=age: (abs(one - age), one)) for age in table["age"]]
    return [f"{age // 10 * 10}s" for age in nearest] == table["agegr"].to_list()


@pytest.mark.parametrize("mask", [Resample(), GaussianDither(), Centroid()])
def test_a_group_of_ages_is_that_of_the_released_age(mask):
    without = Schema.of(**ROLES, kinds={"agegr": "nominal"})
    assert not agrees(anonymize(TABLE, without, group=KMember(k=6), mask=Centroid(), seed=1).table)
    release = anonymize(TABLE, SCHEMA, group=KMember(k=6), mask=mask, seed=1)
    assert agrees(release.table)
    assert release.risk.classes.n_records == 60


def test_a_whole_row_has_its_own_index_and_a_made_up_one_has_none():
    whole = anonymize(TABLE, SCHEMA, group=KMember(k=6), mask=Resample(), seed=1).table
    expected = whole["weight"] / (whole["height"] / 100) ** 2
    np.testing.assert_allclose(whole["bmi"], expected)
    made_up = anonymize(TABLE, SCHEMA, group=KMember(k=6), mask=Centroid(), seed=1)
    assert "bmi" not in made_up.table.columns
    assert any("left out, as it follows from height and weight" in note for note in made_up.notes)


@pytest.mark.parametrize("method", [Mondrian(k=5), Generalize(k=5, suppression=0.3)])
def test_a_group_of_ages_is_as_coarse_as_the_age(method):
    release = coarsen(TABLE, SCHEMA, method, seed=1)
    behind = TABLE[release.source_rows]["agegr"]
    for written in release.table["age"].unique():
        rows = (release.table["age"] == written).fill_null(False)
        (told,) = release.table.filter(rows)["agegr"].unique()
        assert set(told.strip("{}").split(", ")) == set(behind.filter(rows))
    assert min(claim.value for claim in release.claims if claim.kind == "k-anonymity") == 5


def test_a_derived_column_says_nothing_that_its_source_does_not():
    """Attack: joined with its source, it makes no class smaller."""
    release = coarsen(TABLE, SCHEMA, Mondrian(k=5), seed=1).table
    with_it = release.group_by("age", "agegr", "height", "weight", "bmi").len()
    assert len(with_it) == len(release.group_by("age", "height", "weight").len())


def odd(times):
    """The table several times, with one row whose group doesn't follow."""
    first = pl.int_range(pl.len()) == 0
    return pl.concat([TABLE] * times).with_columns(agegr=pl.when(first).then(pl.lit("odd")).otherwise(pl.col("agegr")))


def test_what_does_not_follow_is_refused_with_a_count():
    with pytest.raises(SchemaError, match="must follow from age.* got 1 rows") as error:
        anonymize(pl.concat([odd(1), TABLE.head(2)]), SCHEMA, mask=Resample())
    assert "odd" not in str(error.value)


def test_one_row_in_a_hundred_may_be_an_exception_and_is_not_written():
    release = anonymize(odd(4), SCHEMA, group=KMember(k=6), mask=Resample(), seed=1)
    assert agrees(release.table)


@pytest.mark.parametrize("derived", [{"agegr": "nobody"}, {"agegr": "agegr"}, {"agegr": "age", "age": "agegr"}])
def test_sources_must_be_plain_columns(derived):
    with pytest.raises(SchemaError, match="follow"):
        Schema.of(**ROLES, derived=derived)


def test_a_quasi_identifier_must_not_follow_from_an_unchanged_column():
    schema = Schema.of(quasi=["agegr", "height"], sensitive=["age"], other=["weight", "bmi", "cost"],
                       derived={"agegr": ["age", "height"]})  # fmt: skip
    with pytest.raises(SchemaError, match="which is none"):
        anonymize(TABLE, schema, mask=Resample())


def test_synthetic_rows_leave_it_out():
    schema = Schema.of(quasi=["age", "agegr"], sensitive=["cost"], other=["height", "weight", "bmi"],
                       derived={"agegr": "age"}, bounds={"age": (0, 99), "cost": (0, 999)})  # fmt: skip
    release = synthesize(TABLE, schema, PeGS(epsilon=5.0), rows=50)
    assert "agegr" not in release.table.columns
    assert any("follows from age" in note for note in release.notes)


def test_it_is_verified_like_any_release(tmp_path):
    path = tmp_path / "people.csv"
    TABLE.write_csv(path)
    from shoal.files import read_source

    for name, mask in (("whole", Resample()), ("centre", Centroid())):
        anonymize(read_source(path), SCHEMA, group=KMember(k=6), mask=mask, seed=1).write(tmp_path / name)
        assert verify(tmp_path / name, original=path).holds


def test_the_entry_survives_its_file(tmp_path):
    SCHEMA.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == SCHEMA


def test_a_range_of_decimals_has_nobodys_value_for_an_end():
    schema = Schema.of(quasi=["height", "bmi"], other=["age", "agegr", "weight", "cost"], derived={"bmi": "height"})
    table = TABLE.with_columns(bmi=pl.col("height") / 7)
    written = coarsen(table, schema, Mondrian(k=40), seed=1).table["bmi"].unique()
    ends = {float(end) for text in written for end in text.split(" to <")}
    assert all(" to <" in text for text in written)
    assert not ends & set(table["bmi"])
