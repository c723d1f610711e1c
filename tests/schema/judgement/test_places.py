"""Towns and postcodes: by words for places in several languages, and by forms that nothing else has."""

import polars as pl
import pytest

from shoal.schema.judgement.judge import counted_cells, findings_in

TOWNS = ["Boston", "Springfield", "Concord", "Lynn", "Salem"] * 12


def found(name, values):
    return [(one.identifier, one.judged) for one in findings_in(name, counted_cells(pl.Series(name, values)), None)]


@pytest.mark.parametrize("name", ["residence", "loc", "hometown", "domicile", "lieu", "place_of_residence"])
def test_towns_under_a_name_of_any_place_are_asked_about(name):
    assert found(name, TOWNS) == [("geographic subdivisions", False)]
    assert found(name, ["MA", "New York", "South"] * 20) == []


@pytest.mark.parametrize("name", ["Wohnort", "ville", "comune", "Gemeinde", "PLZ", "woonplaats", "ciudad"])
def test_words_for_towns_in_other_languages_are_certain(name):
    assert found(name, TOWNS) == [("geographic subdivisions", True)]


@pytest.mark.parametrize("code", ["SW1A 1AA", "M1 1AE", "K1A 0B1", "1012 AB"])
def test_postcodes_of_other_countries_by_their_form(code):
    assert found("x7", [code] * 20) == [("geographic subdivisions", True)]
