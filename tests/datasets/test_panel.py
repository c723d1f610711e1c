"""The MEPS loader, on small files of its shape."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.datasets import health_survey_schema, meps, meps_schema
from shoal.errors import InputError, ParameterError
from shoal.files import write_table

RAW = pl.DataFrame(
    {
        "DUPERSID": [f"232000{i}" for i in range(9)],
        "SEX": [1, 2, 1, 2, 1, 2, 1, 2, -8],
        "AGE23X": [17, 18, 25, 26, 44, 64, 74, -1, 85],
        "AGELAST": [17, 18, 25, 26, 44, 64, 74, 75, 85],
        "EDUCYR": [8, 9, 11, 12, 13, 15, 16, 17, -9],
        "POVCAT23": [1, 2, 3, 4, 5, 1, 2, 3, -1],
        "TOTEXP23": [0, 100, 250, 0, 10, 99_999, 5, 7, -1],
        "PERWT23F": [0.0, 1000.5, 2000.25, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5],
    }
)
EXPECTED = pl.DataFrame(
    {
        "gender": ["male", "female", "male", "female", "male", "female", "male", "female", None],
        "age_group": [0, 1, 1, 2, 3, 5, 6, 7, 7],
        "education": [0, 1, 1, 2, 3, 3, 4, 5, None],
        "income": [0, 1, 2, 3, 4, 0, 1, 2, None],
        "cost": [0, 100, 250, 0, 10, 99_999, 5, 7, None],
        "weight": [0.0, 1000.5, 2000.25, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5],
    }
)


def load(tmp_path, frame, ending="csv", **options):
    write_table(frame, tmp_path / f"h251.{ending}")
    return meps(tmp_path / f"h251.{ending}", **options)


@pytest.mark.parametrize("ending", ["csv", "xpt", "dta", "sav", "parquet"])
def test_every_format_gives_the_same_table(tmp_path, ending):
    assert_frame_equal(load(tmp_path, RAW, ending), EXPECTED)


def test_old_transport_ending(tmp_path):
    write_table(RAW, tmp_path / "h251.xpt")
    (tmp_path / "h251.xpt").rename(tmp_path / "h251.ssp")
    assert_frame_equal(meps(tmp_path / "h251.ssp"), EXPECTED)


def test_names_in_small_letters_and_labels_for_codes(tmp_path):
    words = {
        1: "Poor/Negative",
        2: "Near Poor",
        3: "Low Income",
        4: "Middle Income",
        5: "5 High Income",
        -1: "-1 Inapplicable",
    }
    sexes = {1: "1 MALE", 2: "2 FEMALE", -8: "-8 DK"}
    frame = RAW.with_columns(
        pl.col("POVCAT23").replace_strict(words, return_dtype=pl.String),
        pl.col("SEX").replace_strict(sexes, return_dtype=pl.String),
    ).rename(str.lower)
    assert_frame_equal(load(tmp_path, frame), EXPECTED)


@pytest.mark.parametrize(
    ("name", "codes", "levels"),
    [
        ("EDUCYR23", [0, 12, 17], [0, 2, 5]),
        ("EDUCYEAR", [0, 12, 17], [0, 2, 5]),
        ("EDRECODE", [0, 1, 2, 13, 14, 15, 16, -7], [0, 0, 1, 2, 3, 4, 5, None]),
        ("HIDEG", [1, 2, 3, 7, 4, 5, 6, 8, -9], [0, 1, 2, 3, 4, 5, 5, None, None]),
    ],
)
def test_education_of_other_years(tmp_path, name, codes, levels):
    frame = RAW.drop("EDUCYR").head(len(codes)).with_columns(pl.Series(name, codes))
    assert load(tmp_path, frame)["education"].to_list() == levels


def test_old_weight_and_age_at_the_last_interview(tmp_path):
    frame = RAW.rename({"PERWT23F": "WTDPER23"}).drop("AGE23X")
    assert_frame_equal(load(tmp_path, frame), EXPECTED)


def test_year_settles_which_columns_count(tmp_path):
    both = RAW.with_columns(TOTEXP22=pl.lit(1), PERWT22F=pl.lit(1.5), POVCAT22=pl.lit(1), AGE22X=pl.lit(3))
    with pytest.raises(InputError, match="one year; got 2. Give the year"):
        load(tmp_path, both)
    assert_frame_equal(load(tmp_path, both, year=2023), EXPECTED)
    assert load(tmp_path, both, year=2022)["cost"].to_list() == [1] * 9
    with pytest.raises(ParameterError, match="year must be"):
        load(tmp_path, both, year=1950)


@pytest.mark.parametrize("name", ["SEX", "EDUCYR", "POVCAT23", "TOTEXP23", "PERWT23F"])
def test_lacking_variable_is_named(tmp_path, name):
    with pytest.raises(InputError) as caught:
        load(tmp_path, RAW.drop(name))
    assert name.removesuffix("23F").removesuffix("23") in str(caught.value)
    assert "h251.csv" in str(caught.value)


def test_names_that_differ_in_case_only_are_an_error(tmp_path):
    with pytest.raises(InputError, match="more than their case"):
        load(tmp_path, RAW.with_columns(sex=pl.col("SEX")))


def test_file_of_something_else_is_an_error(tmp_path):
    with pytest.raises(InputError, match="at least one of the requested columns"):
        load(tmp_path, pl.DataFrame({"a": [1]}))


def test_no_row_is_dropped_and_the_schema_is_that_of_the_simulator(tmp_path):
    assert load(tmp_path, RAW).height == RAW.height
    assert meps_schema() == health_survey_schema()
