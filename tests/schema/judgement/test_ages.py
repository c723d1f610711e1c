"""Ages in years, months, weeks and days: pooled above 89 years, and untouched below."""

from datetime import date, timedelta

import polars as pl
import pytest

import shoal
from shoal.compliance.safe_harbor import SafeHarbor
from shoal.compliance.scan import scan
from shoal.conform import prepare
from shoal.schema.judgement.ages import oldest_allowed, speaks_of_age
from shoal.schema.judgement.identifiers import AGES

BORN = date(1897, 5, 1)  # 1900 was no leap year, so nobody turned 90 after fewer days
TURNED_90 = date(1987, 5, 1)
UNITS = {
    "age": 90,
    "agemonths": 90 * 12,
    "age_in_months": 90 * 12,
    "AgeMos": 90 * 12,
    "age_weeks": (TURNED_90 - BORN).days // 7,
    "ageDays": (TURNED_90 - BORN).days,
    "age_at_diagnosis": 90,
    "alter": 90,
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("text", [False, True])
def test_the_last_age_that_stands_is_just_below_ninety_years(name, text):
    ninety = UNITS[name]
    ages = [ninety // 2, ninety - 1, ninety, ninety + 100]
    table = pl.DataFrame({name: [str(age) for age in ages] if text else ages, "sex": ["f", "m"] * 2})
    [finding] = scan(table).of(AGES)
    assert (finding.column, finding.n_matching) == (name, 2)
    schema = shoal.Schema.of(quasi=["sex"], other=[name])
    made = SafeHarbor().apply(prepare(table, schema), 1).columns[name].cast(pl.String).to_list()
    assert made[:2] == [str(ninety // 2), str(ninety - 1)]
    assert len(set(made[2:])) == 1
    assert not scan(pl.DataFrame({name: made})).of(AGES)
    assert not scan(pl.DataFrame({name: made[:2]})).findings


@pytest.mark.parametrize("name", ["age", "agemonths", "ageDays"])
def test_small_types_are_pooled_without_an_error(name):
    table = pl.DataFrame({name: pl.Series([4, 90, 100], dtype=pl.UInt8), "sex": ["f", "m", "f"]})
    made = SafeHarbor().apply(prepare(table, shoal.Schema.of(quasi=["sex"], other=[name])), 1)
    assert made.columns.get(name, table[name]).max() == (90 if name == "age" else 100)


def test_ages_of_full_width_are_ages():
    assert scan(pl.DataFrame({"age": ["９７", "３０"]})).of(AGES)


@pytest.mark.parametrize("text", ["٩٧", "९७", "๙๗"])
def test_ages_in_digits_of_other_scripts_are_ages(text):
    assert [f.identifier for f in scan(pl.DataFrame({"age": [text, "30"]})).findings] == [AGES]
    assert not [f.identifier for f in scan(pl.DataFrame({"x7": [text, "30"]})).of(AGES)]


@pytest.mark.parametrize(
    "name",
    [
        "возраст",
        "Возраст_лет",
        "年齢",
        "年龄",
        "나이",
        "ηλικία",
        "גיל",
        "العمر",
        "उम्र",
        "ikä",
        "yaş",
        "età",
        "years_old",
        "RIDAGEYR",
    ],
)
def test_ages_under_names_of_other_languages_are_pooled(name):
    table = pl.DataFrame({name: [30, 89, 90, 97], "sex": ["f", "m"] * 2})
    assert [(f.identifier, f.n_matching) for f in scan(table).findings] == [(AGES, 2)]
    made = SafeHarbor().apply(prepare(table, shoal.Schema.of(quasi=["sex"], other=[name])), 1).columns[name]
    assert made.to_list() == [30, 89, 90, 90]


@pytest.mark.parametrize("text", ["nonagenarian", "Centenarians", "ninety-five", "in her nineties"])
def test_ages_in_words_are_pooled(text):
    table = pl.DataFrame({"age_group": ["adult", "elderly", text, text], "sex": ["f", "m"] * 2})
    assert [(f.identifier, f.n_matching) for f in scan(table).findings] == [(AGES, 2)]
    made = SafeHarbor().apply(prepare(table, shoal.Schema.of(quasi=["sex"], other=["age_group"])), 1)
    assert made.columns["age_group"].to_list() == ["adult", "elderly", "90+", "90+"]


@pytest.mark.parametrize("name", ["stage", "dosage", "language", "wage", "agent", "agency"])
def test_other_words_are_no_ages(name):
    assert not speaks_of_age(name)


def test_units_by_name():
    assert oldest_allowed("age_at_month_6") == 89
    assert (BORN + timedelta(days=oldest_allowed("age_days") + 1)) == TURNED_90
