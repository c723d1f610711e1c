"""Dates by their values: an oracle that goes through the calendar, and numbers that are none."""

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.compliance.dates import packed_form, packed_hits, year_of

DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2090, 12, 31))
WRITE = {"YYYYMMDD": "%Y%m%d", "YYYYMM": "%Y%m", "MMDDYYYY": "%m%d%Y"}


@pytest.mark.parametrize("form", WRITE)
@given(days=st.lists(DAYS, min_size=1, max_size=20))
def test_every_date_of_the_calendar_is_one(form, days):
    texts = pl.Series("x", [day.strftime(WRITE[form]) for day in days])
    for column in (texts, texts.cast(pl.Int64), texts.cast(pl.Int64).cast(pl.Float64)):
        assert packed_hits(column).all()
        if packed_form(column) == form:  # 11111911 reads in several orders
            assert year_of(column).to_list() == [day.year for day in days]


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
    assert packed_form(pl.Series("x", values)) is None
    assert not packed_hits(pl.Series("x", values)).any()
