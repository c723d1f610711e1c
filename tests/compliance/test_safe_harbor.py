"""Safe Harbor's rules value by value, and what is refused."""

from datetime import date

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.compliance.scan import scan
from shoal.conform import prepare
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Step


def apply(table, method=None, **roles):
    roles = roles or {"quasi": table.columns}
    nominal = {name: "nominal" for name in table.columns if table[name].dtype == pl.String}
    nominal = {name: kind for name, kind in nominal.items() if name in roles.get("quasi", [])}
    return (method or SafeHarbor()).apply(prepare(table, shoal.Schema.of(**roles, kinds=nominal)), 1)


def test_zip_codes():
    zips = ["02139", "03601", "2139", "02139-4307", "021394307", None, "unknown", "893", "10001 "]
    done = apply(pl.DataFrame({"zip_code": zips}))
    assert done.columns["zip_code"].to_list() == ["021", "000", "021", "021", "021", None, "000", "000", "100"]


def test_zip_codes_as_numbers_and_with_further_areas():
    table = pl.DataFrame({"zip": [2139, 3601, 90210]})
    schema = shoal.Schema.of(quasi=["zip"], kinds={"zip": "nominal"})
    done = SafeHarbor(small_zips=("902",)).apply(prepare(table, schema), 1)
    assert done.columns["zip"].to_list() == ["021", "000", "000"]


def test_dates_become_years_in_every_role():
    table = pl.DataFrame(
        {
            "admitted": [date(2020, 5, 17), None, date(2021, 1, 2)],
            "seen": ["2020-05-17", "17.05.2021", "May 3, 2019"],
            "left_date": [20200517, 20210102, 20190503],
            "sex": ["f", "m", "f"],
        }
    )
    done = apply(table, quasi=["sex"], other=["admitted", "left_date"], sensitive=["seen"])
    assert done.columns["admitted"].to_list() == [2020, None, 2021]
    assert done.columns["seen"].to_list() == [2020, 2021, 2019]
    assert done.columns["left_date"].to_list() == [2020, 2021, 2019]
    assert "sex" not in done.columns


def test_missing_dates_of_a_quasi_identifier_stay_a_level():
    table = pl.DataFrame({"admitted": [date(2020, 5, 17), None, date(2021, 1, 2)]})
    assert apply(table).columns["admitted"].to_list() == [2020, None, 2021]


def test_ages_and_years_of_birth_are_pooled():
    table = pl.DataFrame({"age": [44, 89, 90, 104], "birth_date": [date(y, 1, 1) for y in (1976, 1931, 1930, 1916)]})
    done = apply(table, SafeHarbor(year=2020))
    assert done.columns["age"].to_list() == [44, 89, 90, 90]
    assert done.columns["birth_date"].to_list() == [1976, 1931, 1930, 1930]
    with pytest.raises(GuaranteeError, match="ages over 89 in 'birth_date' .could not be judged.*--year"):
        apply(table)
    assert apply(table, SafeHarbor(allow=("birth_date",))).columns["age"].to_list() == [44, 89, 90, 90]
    years = pl.DataFrame({"yob": [1950, 1910, 1930]})
    assert apply(years, SafeHarbor(year=2020)).columns["yob"].to_list() == [1950, 1930, 1930]


@pytest.mark.parametrize("name", ["born", "YEARBORN", "x7", "year_of_marriage"])
def test_years_that_show_an_age_over_89_are_pooled_whatever_the_name(name):
    table = pl.DataFrame({name: [*range(1922, 1936), 1990]})
    done = apply(table, SafeHarbor(year=2020))
    assert done.columns[name].to_list() == [1930] * 9 + [1931, 1932, 1933, 1934, 1935, 1990]
    with pytest.raises(GuaranteeError, match=f"ages over 89 in '{name}' .could not be judged.*--year"):
        apply(table)


@pytest.mark.parametrize("code", [9999, -8, 0, "9999"])
@pytest.mark.parametrize("name", ["yob", "married"])
def test_codes_that_nobody_declared_hide_no_old_year(name, code):
    years = [1910, *range(1950, 1990)]
    known = [str(y) for y in years] if isinstance(code, str) else years
    table = pl.DataFrame({name: [code, *known]})
    done = apply(table, SafeHarbor(year=2020))
    first = None if name == "yob" else int(code)  # a year of birth is read as one; elsewhere only old years change
    assert done.columns[name].cast(pl.Int64).to_list() == [first, 1930, *years[1:]]
    with pytest.raises(GuaranteeError, match=f"ages over 89 in '{name}' .could not be judged.*--year"):
        apply(table)


def test_old_dates_of_any_kind_show_an_age():
    table = pl.DataFrame({"wedding": [date(1925, 6, 1), date(1990, 6, 1)]})
    assert apply(table, SafeHarbor(year=2020)).columns["wedding"].to_list() == [1930, 1990]
    with pytest.raises(GuaranteeError, match="ages over 89 in 'wedding'"):
        apply(table)


def test_amounts_of_the_size_of_years_stay():
    amounts = [1900.5 + i for i in range(20)]
    few, ahead = [1900, 1950, 2000] * 4, [*range(1900, 1915), 2090]
    table = pl.DataFrame({"cost": amounts[:12], "code": few, "steps": ahead[:11] + ahead[-1:]})
    assert not apply(table, SafeHarbor(year=2020)).columns


def test_dates_by_value_whatever_the_name():
    table = pl.DataFrame(
        {
            "dod": [20200213, 20191231, None],
            "disch": [20201218] * 3,
            "x1": [202005, 202011, 201901],
            "x2": ["12252020", "01022019", "10311999"],
            "x3": ["2020-05", "17MAR2021", "2019Q4"],
            "income": [195000, 202000, 210450],
        }
    )
    done = apply(table, other=table.columns)
    assert {name: column.to_list() for name, column in done.columns.items()} == {
        "dod": [2020, 2019, None],
        "disch": [2020] * 3,
        "x1": [2020, 2020, 2019],
        "x2": [2020, 2019, 1999],
        "x3": [2020, 2021, 2019],
    }
    assert Step(name="x", cells=done.cells).of_released(np.arange(3)).outside == {
        "dates": ["dod", "disch", "x1", "x2", "x3"]
    }


def test_two_valued_places_and_age_groups():
    table = pl.DataFrame(
        {
            "city": ["Boston"] * 3,
            "county": ["Kings", "Queens", "Kings"],
            "where": ["Salem, MA", "Lynn, MA", "Reno, NV"],
            "age_group": ["80-89", "90-94", "95+"],
            "city_dweller": ["yes", "no", "yes"],
        }
    )
    done = apply(table)
    assert all(set(done.columns[name]) == {"*"} for name in ("city", "county", "where"))
    assert done.columns["age_group"].to_list() == ["80-89", "90+", "90+"]
    assert "city_dweller" not in done.columns


def test_what_only_a_person_can_judge_is_refused_until_allowed():
    table = pl.DataFrame({"region": ["Cape", "North Shore"], "visit_date": [21915, 22000]})
    with pytest.raises(GuaranteeError, match="could not be judged") as refused:
        apply(table, other=table.columns)
    assert "'region'" in str(refused.value)
    assert "'visit_date'" in str(refused.value)
    assert "Cape" not in str(refused.value)
    assert not apply(table, SafeHarbor(allow=tuple(table.columns)), other=table.columns).columns
    large = pl.DataFrame({"region": ["South", "West"], "area": ["MA", "New York"]})
    assert not apply(large, other=large.columns).columns


def test_free_text_is_refused():
    notes = pl.DataFrame({"x7": [f"She came in feeling rather unwell, as she had on visit {i}." for i in range(9)]})
    with pytest.raises(GuaranteeError, match="free text in 'x7'"):
        apply(notes, other=["x7"])
    with pytest.raises(GuaranteeError, match="free text in 'x7'"):
        apply(notes, LimitedDataSet(), other=["x7"])


def test_small_places_are_suppressed():
    table = pl.DataFrame({"county": ["Kent", "York", "Bath"], "latitude": [1.5, 2.5, 3.5], "state": ["MA", "NH", "VT"]})
    done = apply(table)
    assert done.columns["county"].to_list() == ["*"] * 3
    assert done.columns["latitude"].to_list() == ["*"] * 3
    assert "state" not in done.columns


def test_direct_identifiers_are_refused_unless_dropped_or_allowed():
    table = pl.DataFrame({"contact": ["a@b.org", "c@d.org"], "sex": ["f", "m"]})
    with pytest.raises(GuaranteeError, match="e-mail addresses in 'contact'") as refused:
        apply(table, quasi=["sex"], other=["contact"])
    assert "a@b.org" not in str(refused.value)
    assert not apply(table, quasi=["sex"], identifier=["contact"]).columns
    assert not apply(table, SafeHarbor(allow=("contact",)), quasi=["sex"], other=["contact"]).columns


def test_dates_in_notes_are_refused_not_rewritten():
    notes = [f"Operated on 12/03/2020 and doing rather well since then, case {i}" for i in range(9)]
    with pytest.raises(GuaranteeError, match="dates in 'x7'"):
        apply(pl.DataFrame({"x7": notes}), other=["x7"])


def test_what_is_written_passes_the_scan():
    table = pl.DataFrame(
        {
            "zip": [f"{i:05d}" for i in range(2100, 2140)],
            "age": list(range(60, 100)),
            "visit": pl.Series(range(40)).cast(pl.Date),
            "city": [f"town {i % 5}" for i in range(40)],
        }
    )
    done = apply(table)
    assert not scan(table.with_columns(*done.columns.values())).findings
    assert done.kept.all()
    assert SafeHarbor().k == 1


def test_limited_data_set_keeps_places_and_dates_but_no_street():
    table = pl.DataFrame({"zip": ["02139", "03601"], "city": ["A", "B"], "visit": [date(2020, 1, 2)] * 2})
    assert not apply(table, LimitedDataSet()).columns
    with pytest.raises(GuaranteeError, match="geographic subdivisions in 'street'"):
        apply(pl.DataFrame({"street": ["Oak 1", "Elm 2", "Ash 3"]}), LimitedDataSet())


def test_bad_parameters():
    table = pl.DataFrame({"sex": ["f", "m"]})
    with pytest.raises(ParameterError, match="small_zips"):
        apply(table, SafeHarbor(small_zips=("36",)))
    with pytest.raises(ParameterError, match="year"):
        apply(table, SafeHarbor(year=20))
    with pytest.raises(ParameterError, match="k must"):
        apply(table, SafeHarbor(k=5))
