"""Dates that somebody tried to get past: among other values, beside codes, in one row of a hundred, on an engine."""

from datetime import date, timedelta

import polars as pl
import pytest

import shoal
from shoal.compliance.safe_harbor import SafeHarbor
from shoal.compliance.scan import scan
from shoal.conform import prepare
from shoal.errors import GuaranteeError
from shoal.schema.judgement.dates import read_dates
from shoal.schema.judgement.identifiers import DATES
from shoal.schema.judgement.judge import counted_cells

DAYS = [date(2015, 1, 3) + timedelta(days=11 * i) for i in range(200)]


def dates_in(name, values):
    return scan(pl.DataFrame({name: pl.Series(values, strict=False)})).of(DATES)


def sas(day):
    return (day - date(1960, 1, 1)).days


ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
DISGUISES = {
    "YYYYMMDD beside a code": [*(int(day.strftime("%Y%m%d")) for day in DAYS), -8],
    "YYYYMMDD beside many codes": [*(int(day.strftime("%Y%m%d")) for day in DAYS), *range(-60, 0)],
    "digits among other texts": [*(day.strftime("%Y%m%d") for day in DAYS), *(f"A{i}" for i in range(80))],
    "SAS days beside codes": [*(sas(day) for day in DAYS), -9, -8, 99999],
    "SAS days as texts beside words": [*(str(sas(day)) for day in DAYS), "unknown", "n/a", "."],
    "one cell in fifty": [*(f"level {i}" for i in range(196)), *(f"{day:%d %B %Y}" for day in DAYS[:4])],
    "several forms": [f"{day:%d.%m.%Y}" if i % 2 else f"{day:%B %d, %Y}" for i, day in enumerate(DAYS)],
    "blanks of no width": [f"{day:%Y}\u200b-{day:%m}\u200b-{day:%d}" for day in DAYS],
    "letters of full width": [f"{day:%d} Ｍａｙ {day:%Y}" for day in DAYS],
    "capitals": [f"{day:%d %b %Y}".upper() for day in DAYS],
    "the name of a day after it": [f"{day:%d/%m/%Y} ({day:%a})" for day in DAYS],
    "text before it": [f"seen on {day:%d %B %Y}" for day in DAYS],
    "brackets": [f"[{day}]" for day in DAYS],
    "quotation marks": [f'"{day:%d.%m.%Y}"' for day in DAYS],
    "bars": [f"{day.year}|{day.month}|{day.day}" for day in DAYS],
    "semicolons": [f"{day.day};{day.month};{day.year}" for day in DAYS],
    "colons, as cameras write": [f"{day:%Y:%m:%d} 10:15:00" for day in DAYS],
    "a word glued to it": [f"ADM-{day}" for day in DAYS],
    "from and to": [f"{day:%d.%m.}-{day + timedelta(days=3):%d.%m.%Y}" for day in DAYS],
    "Roman months": [f"{day.day}.{ROMAN[day.month - 1]}.{day.year}" for day in DAYS],
    "the Buddhist calendar": [f"{day.day}/{day.month}/{day.year + 543}" for day in DAYS],
    "the day spelled out": [f"{day:%A}, the {day.day}th day of {day:%B}, {day.year}" for day in DAYS],
    "SAS days with marks between thousands": [f"{sas(day):,}" for day in DAYS],
    "Excel days with a decimal comma": [f"{sas(day) + 21916},5" for day in DAYS],
    "bullets": [f"{day:%d•%m•%Y}" for day in DAYS],
    "tildes": [f"{day:%d~%m~%Y}" for day in DAYS],
    "fraction slashes": [f"{day:%d}\u2044{day:%m}\u2044{day:%Y}" for day in DAYS],
    "middle dots": [f"{day:%d·%m·%Y}" for day in DAYS],
    "quarters in German": [f"{(day.month + 2) // 3}. Quartal {day.year}" for day in DAYS],
    "quarters in French": [f"T{(day.month + 2) // 3}-{day.year}" for day in DAYS],
    "quarters of the year of accounts": [f"FY{day:%y}Q{(day.month + 2) // 3}" for day in DAYS],
    "months of the year of accounts": [f"FY{day.year}-M{day:%m}" for day in DAYS],
    "months as statisticians write": [f"{day.year}M{day:%m}" for day in DAYS],
    "an unknown day": [f"UN-{day:%b-%Y}".upper() for day in DAYS],
    "an unknown day last": [f"{day:%Y-%m}-UN" for day in DAYS],
    "seconds at midnight": [int(timedelta(days=sas(day)).total_seconds()) for day in DAYS],
}


@pytest.mark.parametrize("how", DISGUISES)
def test_disguised_dates_are_found_whatever_the_column_is_called(how):
    assert dates_in("x7", DISGUISES[how])


@pytest.mark.parametrize("how", DISGUISES)
def test_disguised_dates_do_not_leave(how):
    table = pl.DataFrame({"x7": pl.Series(DISGUISES[how], strict=False)}).with_columns(sex=pl.lit("f"))
    schema = shoal.Schema.of(quasi=["sex"], other=["x7"])
    try:
        made = SafeHarbor(year=2025).apply(prepare(table, schema), 1).columns["x7"].cast(pl.String)
    except GuaranteeError as refused:
        assert "'x7'" in str(refused)  # noqa: PT017
    else:
        assert made.drop_nulls().str.contains(r"^(?:20\d\d|\*)$").all()


@pytest.mark.parametrize("how", ["German month", "SAS days", "compact"])
def test_on_an_engine_no_date_leaves_either(tmp_path, how):
    write = {"German month": lambda d: f"{d.day}. April {d.year}", "SAS days": sas, "compact": lambda d: f"{d:%y%m%d}"}[
        how
    ]
    table = pl.DataFrame({"x7": [write(day) for day in DAYS], "sex": ["f", "m"] * 100})
    table.write_csv(tmp_path / "people.csv")
    schema = shoal.Schema.of(quasi=["sex"], other=["x7"])
    given = str(tmp_path / "people.csv")
    if how == "SAS days":
        with pytest.raises(GuaranteeError, match="dates in 'x7' .could not be judged"):
            shoal.coarsen(given, schema, SafeHarbor(year=2025), engine="duckdb").write(tmp_path / "out")
        return
    shoal.coarsen(given, schema, SafeHarbor(year=2025), engine="duckdb").write(tmp_path / "out")
    (file,) = tmp_path.glob("out/*.parquet")
    assert set(pl.read_parquet(file)["x7"].cast(pl.Int64)) == {day.year for day in DAYS}


@pytest.mark.parametrize(
    ("values", "years"),
    [
        (["Nov-23", "Dec-05", "Jan-11"], "unclear"),
        (["Nov-23", "Dec-45", "Jan-11"], "told"),
        (["10/11/12", "01/02/03"], "unclear"),
        (["10/11/12", "01/02/33"], "told"),
        (["33-01-12", "10-11-12"], "told"),
        (["13/01/2012", "10/11/2012"], "told"),
        (["Fri 18 August", "Mon 3 May"], "none"),
    ],
)
def test_a_year_is_told_only_where_it_is_certain(values, years):
    assert read_dates("visit_date", counted_cells(pl.Series(values))).years == years


@pytest.mark.parametrize(
    ("year", "born"), [(2020, {"24": 1924, "19": 2019, "20": 2020, "21": 1921}), (2026, {"24": 2024, "27": 1927})]
)
def test_years_of_two_digits_lie_no_later_than_the_data(year, born):
    texts = pl.Series([f"03.05.{two}" for two in born] + ["31.05.45"])
    read = read_dates("dob", counted_cells(texts), year=year)
    assert read.year_of(texts).to_list() == [*born.values(), 1945]


@pytest.mark.parametrize(
    "values",
    [
        ["2010-11", "2011-12", "2012-13", "2009-10"],
        [f"{i}.{i % 7}.{i % 5}" for i in range(40)],
        [f"{120 + i}/{70 + i}" for i in range(40)],
        [f"Stage {i % 4 + 1}" for i in range(40)],
        [f"Set {i}" for i in range(1, 9)],
        ["05-09", "10-14", "15-19", "20-24", "25-29"],
        [f"{10 + i % 4}:{i:02d}:{(7 * i) % 60:02d}" for i in range(60)],
        [f"2019-{i:03d}" for i in range(1, 60)],
        [f"A{i:02d}.{i % 10}" for i in range(60)],
        [101 + i for i in range(60)],
        [round(1500.5 + 317.25 * i, 2) for i in range(60)],
        [f"{i % 10}{i % 7}{i % 9}-{i % 5}{i % 3}-{1000 + i}" for i in range(60)],
    ],
)
def test_what_only_looks_like_dates_is_not_called_one(values):
    assert not [found for found in dates_in("x7", values) if found.judged]
