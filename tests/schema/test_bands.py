"""Bands of ages, incomes and years are proposed in their order, whatever the language; years are numbers."""

import polars as pl
import pytest

from shoal.schema.infer import propose

SIX = 6  # rows of each level: enough people for it to be shown


def column_of(name, levels):
    proposal = propose(pl.DataFrame({name: sorted(levels) * SIX}))
    return proposal.schema[name], proposal


@pytest.mark.parametrize(
    "bands",
    [
        (" 0-4999", " 5000-9999", " 10000-24999", "100,000 and over"),
        ("<18", "18-34", "35-64", "65+"),
        ("15-24", "25-34", "35-44", "+60"),
        ("unter 5", "5 bis 9", "10 bis 20", "über 20"),
        ("unter 1.000", "1.000 bis 1.999", "2.000 bis 4.999", "5.000 und mehr"),
        ("moins de 25", "25 à 44", "45 à 64", "65 et plus"),
        ("menos de 1000", "1000 a 1999", "2000 a 2999", "3000 y más"),
        ("jonger dan 18", "18 tot 39", "40 tot 64", "65 en ouder"),
        ("meno di 18", "18-39", "40-64", "65 e oltre"),
        ("before 1990", "1990-1999", "2000-2009", "2010 or later"),
        ("less than 12 years", "12 years", "13-15 years", "16+ years"),
        ("under 18.5", "18.5 to 24.9", "25 to 29.9", "30 and above"),
        ("under 2,5", "2,5 - 4,9", "over 5"),
        ("<$20,000", "$20,000 – $49,999", "$50,000 – $99,999", "$100K+"),
        ("moins de 10 000", "10 000 - 19 999", "20 000 et plus"),
        ("(-inf,18]", "(18,65]", "(65,inf)"),
        ("0", "1", "2", "3+"),
    ],
)
def test_bands_are_ordinal_in_their_order(bands):
    column, _ = column_of("x", bands)
    assert (column.kind, column.levels) == ("ordinal", bands)


@pytest.mark.parametrize(
    "levels",
    [
        ("3A", "3B", "4A"),
        ("1 Male", "2 Female"),
        ("250 Diabetes", "401 Hypertension", "493 Asthma"),
        ("Stage 1", "Stage 2"),
        ("470-11", "5-2"),
        ("O+", "A+"),
        ("daily", "1 to 3 times a week"),
    ],
)
def test_other_texts_with_numbers_have_no_order(levels):
    assert column_of("x", levels)[0].kind == "nominal"


def test_words_for_an_absence_among_bands_come_last_and_are_asked_about():
    column, proposal = column_of("income", ("unknown", "refused", "0-999", "1000 or more"))
    assert column.levels == ("0-999", "1000 or more", "refused", "unknown")
    assert proposal.doubtful == {"income": {"refused": SIX, "unknown": SIX}}
    assert "take it out of the levels" in proposal.comments["income"]


def test_bands_that_few_people_have_are_not_shown_but_named_as_bands():
    proposal = propose(pl.DataFrame({"income": ["0-999"] * 20 + ["1000-1999"] * 20 + ["SENTINEL 7", "2000+"]}))
    assert "bands" not in proposal.reasons["income"]
    proposal = propose(pl.DataFrame({"income": ["0-999"] * 20 + ["1000-1999"] * 20 + ["2000+"] * 4}))
    assert proposal.schema["income"].levels is None
    assert "they are bands: say ordinal, and list them in their order" in proposal.reasons["income"]
    assert "2000" not in proposal.to_toml()


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("Year", [2019, 2021], "numeric"),
        ("year", [2015, 2016, 2017, 2018], "numeric"),
        ("Yrs_exp", [0, 1, 2, 5, 11], "numeric"),
        ("Yrs_exp", [0, 1, 2, 5, 10], "ordinal"),  # ten are steps of a scale, eleven aren't
        ("year_group", [1, 2, 12], "ordinal"),
        ("anno_nascita", [1950, 1960], "numeric"),
    ],
)
def test_years_and_how_many_there_were_are_numbers(name, values, kind):
    proposal = propose(pl.DataFrame({name: values * 60}))
    assert proposal.schema[name].kind == kind


def test_how_long_something_lasts_on_a_day_is_no_date():
    _, proposal = column_of("TV_day", ("0_hrs", "1_hrs", "12", "82"))
    assert "date" not in proposal.reasons["TV_day"]
    assert "date" in column_of("seen_day", ("Mon", "Tue", "Sat"))[1].reasons["seen_day"]
