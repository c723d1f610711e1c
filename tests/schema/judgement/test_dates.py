"""Dates by their values: an oracle that goes through the calendar, and numbers that are none."""

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.compliance.scan import scan
from shoal.schema.judgement.dates import are_years, read_dates
from shoal.schema.judgement.identifiers import AGES
from shoal.schema.judgement.judge import counted_cells

DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2090, 12, 31))
WRITE = {"YYYYMMDD": "%Y%m%d", "YYYYMM": "%Y%m", "MMDDYYYY": "%m%d%Y"}


@pytest.mark.parametrize("form", WRITE)
@given(days=st.lists(DAYS, min_size=1, max_size=20))
def test_every_date_of_the_calendar_is_one(form, days):
    texts = pl.Series("x", [day.strftime(WRITE[form]) for day in days])
    for column in (texts, texts.cast(pl.Int64), texts.cast(pl.Int64).cast(pl.Float64)):
        read = read_dates("x", counted_cells(column))
        assert read is not None
        assert read.fits.all()
        if read.form == form:  # 11111911 reads in several orders
            assert read.year_of(column).to_list() == [day.year for day in days]


@pytest.mark.parametrize(
    "values",
    [
        [195000, 202000, 210450],
        [20200213, 20201399, 20209999],
        [0.5, 20200213.0],
        [21915, 22000],
        ["1234567", "7654321"],
        [True, False],
        [],
    ],
)
def test_other_numbers_are_none(values):
    assert read_dates("x", counted_cells(pl.Series("x", values))) is None


@pytest.mark.parametrize(
    ("texts", "years"),
    [
        (["1977-2005", "1934-1974"], True),
        (["{1981, 2016} or missing", "*", "missing"], True),
        (["<1950", "1950 to <1960", "1990+"], True),
        (["1934-0105"], False),
        (["1977-05"], False),
        (["1977-05-06"], False),
        (["1977-2005", "1977-2005-01"], False),
    ],
)
def test_ranges_of_years_are_years_and_days_are_not(texts, years):
    assert are_years(pl.Series(texts)) is years


def test_ranges_of_years_of_birth_that_show_an_age_over_89_are_found():
    old, young = (pl.DataFrame({"birthdate": [text] * 30}) for text in ("1900-1940", "1934-1940"))
    [finding] = scan(old, year=2024).findings
    assert finding.identifier == AGES
    assert not scan(young, year=2024).findings
