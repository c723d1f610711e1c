"""Identifiers that name nobody are found, and those that only look so are left alone."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ColumnError, ProblemsError
from shoal.linked import Collection
from shoal.schema.placeholder_ids import n_placeholders

HOMES = [home for home in range(1, 200) for _ in range(1 + home % 4)]
NINE_DIGITS = [100_000_007 + 4_321_987 * i for i in range(200)]


@pytest.mark.parametrize(
    ("ids", "rows"),
    [
        ([*HOMES, *[0] * 40], 40),
        ([*HOMES, *[999] * 40], 40),
        ([*HOMES, -1, -1], 2),
        ([*HOMES, 999_999_999], 1),
        ([*NINE_DIGITS, *[999_999_999] * 12], 12),
        ([*map(str, HOMES), "", "  ", "Unknown"], 3),
        ([*(f"P{home}" for home in HOMES), "0", "0", "000"], 3),
        ([*map(float, HOMES), None, *[0.0] * 40], 40),
        ([*map(str, HOMES), *["00"] * 40], 40),
    ],
)
def test_what_names_nobody_is_counted(ids, rows):
    assert n_placeholders(pl.Series("id", ids, strict=False)) == rows


@pytest.mark.parametrize(
    "ids",
    [
        range(2000),  # counted from 0, past 999
        range(0, 3000, 7),
        [*range(1, 1000), 999],
        [999, 999, 999, *range(500, 1500)],
        NINE_DIGITS,
        ["a", "b", "c"],
        [0, 0, 0, 0, 0, 0],
        [None, None],
        [],
        [0.5, 1.5, 0.0],
    ],
)
def test_what_only_looks_so_is_left_alone(ids):
    assert n_placeholders(pl.Series("id", list(ids))) == 0


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=50), st.sampled_from([0, 999_999_999, -1]))
def test_numbers_texts_and_floats_are_judged_alike(ids, nobody):
    column = pl.Series("id", [*ids, *[nobody] * 6])
    found = {n_placeholders(column.cast(dtype)) for dtype in (pl.Int64, pl.Float64, pl.String)}
    assert len(found) == 1


def test_a_table_with_a_giant_person_or_household_is_refused_with_both_remedies():
    n = len(HOMES)
    table = pl.DataFrame(
        {"home": [*HOMES, *[0] * 40], "who": [*range(1, n + 1), *["999999999"] * 40], "age": 3}, strict=False
    )
    schema = shoal.Schema.of(quasi=["age"], household="home", unit="who")
    with pytest.raises(ProblemsError) as caught:
        shoal.anonymize(table, schema, group=shoal.MDAV(k=2))
    said = str(caught.value)
    assert "column 'home'" in said
    assert "column 'who'" in said
    assert said.count("40 rows") == 2
    assert "Leave these cells empty" in said
    empty = table.with_columns(pl.col("home").replace(0, None), pl.col("who").replace("999999999", None))
    assert shoal.conform.prepare(empty, schema).n == len(table)


def test_linked_tables_name_every_key_that_names_nobody():
    tables, schema = shoal.datasets.clinic(60, seed=1), shoal.datasets.clinic_schema()
    patients = tables["patients"]
    nobody = patients.with_columns(
        patient=pl.when(pl.col("patient") == patients["patient"][0]).then(999_999_999).otherwise("patient")
    )
    visits = tables["visits"].with_columns(
        patient=pl.when(pl.col("patient") == patients["patient"][0]).then(999_999_999).otherwise("patient")
    )
    with pytest.raises((ColumnError, ProblemsError)) as caught:
        Collection.of({**tables, "patients": nobody, "visits": visits}, schema)
    assert "table 'patients', column 'patient'" in str(caught.value)
    assert "table 'visits', column 'patient'" in str(caught.value)
    homes = patients.with_columns(household=pl.when(pl.int_range(pl.len()) < 40).then(0).otherwise("household"))
    with pytest.raises(Exception, match="table 'patients', column 'household'.*40 rows.*household of their own"):
        Collection.of({**tables, "patients": homes}, schema)
