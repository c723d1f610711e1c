"""Columns from which a place, a date or an age follows that Safe Harbor rewrites."""

from datetime import date, timedelta
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.compliance.scan import scan
from shoal.compliance.side_doors import rows_of
from shoal.conform import prepare
from shoal.errors import GuaranteeError
from shoal.frame import enter
from shoal.schema.judgement.identifiers import AGES, DATES, GEOGRAPHIC
from shoal.schema.judgement.places import may_be_small_place


def stays(n=240, door="x7"):
    """Stays in 12 hospitals of four counties; the column that tells the hospital has a name that says nothing."""
    rng = np.random.default_rng(5)
    hospital = rng.integers(0, 12, n)
    return pl.DataFrame(
        {
            door: [f"house {i}" for i in hospital],
            "county": [f"c{i % 4}" for i in hospital],
            "payer": rng.choice(["a", "b", "c", "d", "e"], n),
            "cost": rng.integers(0, 10**6, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def apply(table, method=None, unit=None):
    other = [name for name in table.columns if name not in ("sex", unit)]
    return (method or SafeHarbor()).apply(prepare(table, shoal.Schema.of(quasi=["sex"], other=other, unit=unit)), 1)


def doors(table):
    return {f.column: (f.identifier, f.gives_away) for f in scan(table).findings if f.gives_away}


def test_a_column_that_gives_a_suppressed_place_away_is_refused_until_allowed():
    table = stays()
    with pytest.raises(GuaranteeError, match="'x7' .could not be judged: 'county' follows from it") as refused:
        apply(table)
    assert "house" not in str(refused.value)
    assert "--allow" in str(refused.value)
    assert not any(f"'{name}'" in str(refused.value) for name in ("payer", "cost", "sex"))
    assert set(apply(table, SafeHarbor(allow=("x7",))).columns) == {"county"}
    assert set(apply(table, SafeHarbor(allow=("county",))).columns) == set()  # a person lets the place itself stand


def test_a_column_that_does_not_determine_the_place_is_not_refused():
    table = stays().with_columns(x7=pl.Series([f"house {i % 12}" for i in range(240)]))
    assert set(apply(table).columns) == {"county"}
    one_off = stays().with_columns(county=pl.Series(["c9", *stays()["county"][1:]]))
    assert not doors(one_off)


def test_a_limited_data_set_may_keep_both():
    assert not apply(stays(), LimitedDataSet()).columns


def test_missing_values_count_as_one():
    table = stays().with_columns(pl.when(pl.col("x7") == "house 3").then(None).otherwise(pl.col("x7")).alias("x7"))
    assert doors(table) == {"x7": (GEOGRAPHIC, ("county",))}
    mixed = table.with_columns(pl.when(pl.int_range(240) % 7 == 0).then(None).otherwise(pl.col("x7")).alias("x7"))
    assert not doors(mixed)


def test_dates_and_ages_have_side_doors_too():
    wave = np.arange(300) % 6
    table = pl.DataFrame(
        {
            "visited": [date(2020, 1, 1) + timedelta(days=40 * int(i)) for i in wave],
            "wave": wave,
            "age": [80 + int(i) // 6 % 15 for i in range(300)],
            "grade": [f"g{int(i) // 6 % 15}" for i in range(300)],
        }
    )
    assert doors(table) == {"wave": (DATES, ("visited",)), "grade": (AGES, ("age",))}
    with pytest.raises(GuaranteeError, match="'age' follows from it"):
        apply(table.with_columns(sex=pl.lit("f")))


def test_what_the_rule_lets_stand_is_no_side_door():
    place = np.arange(200) % 4
    table = pl.DataFrame(
        {
            "home": [("MA", "NH", "VT", "ME")[i] for i in place],
            "year": [2000 + int(i) for i in place],
            "zip": [("02139", "03110", "05401", "04101")[i] for i in place],
            "county": [("Kent", "York", "Bath", "Ely")[i] for i in place],
        }
    )
    assert not doors(table)


def test_what_would_prove_nothing_is_not_said():
    everybody = pl.DataFrame({"x7": [f"k{i}" for i in range(90)], "county": ["a", "b", "c"] * 30})
    constant = pl.DataFrame({"x7": ["a", "b"] * 30, "county": ["only"] * 60})
    few = pl.DataFrame({"x7": ["a", "b"] * 3, "county": ["c", "d"] * 3})
    rare = pl.DataFrame({"x7": [f"k{i % 9}" for i in range(90)], "county": ["a"] * 90}).with_columns(
        county=pl.when(pl.col("x7") == "k0").then(pl.lit("b")).otherwise("county")
    )
    assert not doors(everybody)
    assert not doors(constant)
    assert not doors(few)
    assert doors(rare)  # ten people of one house are the only ones of their county: no accident


def test_rows_of_one_person_are_not_several_people():
    person = np.repeat(np.arange(40), 5)
    table = pl.DataFrame(
        {"who": person, "total": person * 17.5, "county": [f"c{i % 4}" for i in person], "sex": ["f"] * 200}
    )
    assert set(apply(table, unit="who").columns) == {"county"}
    assert "total" in doors(table.drop("who"))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=30))
def test_pairs_are_counted_with_missing_values(cells):
    frame = pl.DataFrame(cells, schema={"x": pl.Int64, "y": pl.String}, orient="row")
    assert rows_of(enter(frame)).n_pairs("x", "y") == len(set(cells))


@pytest.mark.parametrize(
    "name",
    [
        *(f"{what}{which}" for what, which in product(["hospital", "clinic", "facility"], ["", "_id", "_name", "ID"])),
        *("providerid", "admitting_hospital", "Permanent Facility Id", "referring_provider", "region", "study_site"),
    ],
)
def test_names_of_facilities_are_a_question(name):
    table = pl.DataFrame({name: [f"house {i % 7}" for i in range(40)], "sex": ["f", "m"] * 20})
    found = scan(table).of(GEOGRAPHIC)
    assert [(finding.column, finding.judged) for finding in found] == [(name, False)]
    with pytest.raises(GuaranteeError, match="could not be judged"):
        apply(table)


@pytest.mark.parametrize(
    "name",
    ["time_in_hospital", "days_hospital", "provider_type", "hospital_ownership", "hospitalized", "facility_type_code"],
)
def test_other_words_beside_a_facility_are_not(name):
    assert not may_be_small_place(name)
    assert not scan(pl.DataFrame({name: list(range(7)) * 6})).findings


def test_whether_somebody_was_in_hospital_is_not_a_place():
    assert not scan(pl.DataFrame({"hospital": ["yes", "no"] * 20})).findings
