"""The scan finds what it should, stays silent where it should, and never shows a value."""

import json

import numpy as np
import polars as pl
import pytest

from shoal.compliance.scan import scan
from shoal.datasets import health_survey
from shoal.errors import InputError
from shoal.schema.infer import words_in
from shoal.schema.judgement.identifiers import IDENTIFIERS, named

PEOPLE = 40


def column(name, make):
    return pl.DataFrame({name: [make(i) for i in range(PEOPLE)]})


def titles(table, **how):
    return {finding.identifier for finding in scan(table, **how).findings}


BY_NAME = {
    "patient_name": "names",
    "lastName": "names",
    "homeAddress": "geographic subdivisions",
    "city": "geographic subdivisions",
    "phone_home": "telephone numbers",
    "fax": "fax numbers",
    "email": "e-mail addresses",
    "SSN": "social security numbers",
    "MRN": "medical record numbers",
    "medical_record_no": "medical record numbers",
    "health_plan_id": "health plan beneficiary numbers",
    "member_id": "health plan beneficiary numbers",
    "account_number": "account numbers",
    "driver_license": "certificate and licence numbers",
    "license_plate": "vehicle identifiers and plates",
    "vin": "vehicle identifiers and plates",
    "device_serial": "device identifiers and serial numbers",
    "website": "web addresses",
    "ip_address": "IP addresses",
    "IP": "IP addresses",
    "client_ip": "IP addresses",
    "fingerprint_hash": "biometric identifiers",
    "photo_file": "photographs and images",
    "patient_id": "other unique codes",
    "birth_month": "dates",
    "doy": "dates",
    "yday": "dates",
    "day_of_year": "dates",
    "姓名": "names",
    "氏名": "names",
    "이름": "names",
    "الاسم": "names",
    "Фамилия": "names",
    "ФИО пациента": "names",
    "barrio": "geographic subdivisions",
    "arrondissement": "geographic subdivisions",
    "gmina": "geographic subdivisions",
    "LSOA11CD": "geographic subdivisions",
    "nuts3": "geographic subdivisions",
    "sa2_code": "geographic subdivisions",
    "pincode": "geographic subdivisions",
}


@pytest.mark.parametrize("name", BY_NAME)
def test_names_of_columns(name):
    found = named(words_in(name))
    assert found is not None
    assert found.title == BY_NAME[name]
    assert BY_NAME[name] in titles(column(name, lambda i: f"x{i % 7}"))


@pytest.mark.parametrize(
    "name",
    [
        "stage",
        "age",
        "sex",
        "drug_name",
        "state",
        "charges",
        "n_visits",
        "iris_x",
        "cell_count",
        "year",
        "tip",
        "MEDREIMB_IP",
        "ward_type",
        "time_of_day",
        "возраст",
    ],
)
def test_innocent_names(name):
    assert titles(column(name, lambda i: f"v{i % 3}")) <= ({"biometric identifiers"} if name == "iris_x" else set())


BY_VALUE = {
    "names": lambda i: (
        f"{('Anna', 'Elif', 'John', 'Marta')[i % 4]} {('Smith', 'Okafor', 'Weber')[i % 3]}{'son' * (i // 12)}"
    ),
    "e-mail addresses": lambda i: f"p{i}@clinic.org",
    "telephone numbers": lambda i: f"(617) 555-{1000 + i}",
    "social security numbers": lambda i: f"123-45-{6000 + i}",
    "vehicle identifiers and plates": lambda i: f"1HGCM82633A0{10000 + i}",
    "device identifiers and serial numbers": lambda i: f"00:1A:2B:3C:4D:{i + 16:02X}",
    "web addresses": lambda i: f"https://example.org/{i}",
    "IP addresses": lambda i: f"10.0.0.{i}",
    "photographs and images": lambda i: f"scan{i}.jpg",
    "geographic subdivisions": lambda i: f"0213{i % 10}-{1000 + i}",
    "dates": lambda i: f"{i % 12 + 1}/{i % 28 + 1}/1987",
    "other unique codes": lambda i: f"a{i:07d}-0000-4000-8000-000000000000",
}


@pytest.mark.parametrize("title", BY_VALUE)
def test_forms_of_values(title):
    table = column("x7", BY_VALUE[title])
    (finding,) = scan(table).of(title)
    assert not finding.by_name
    assert (finding.n_matching, finding.n_filled) == (PEOPLE, PEOPLE)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("call 617-555-1234", "telephone numbers"),
        ("SSN 123-45-6789", "social security numbers"),
        ("mail: a@b.org", "e-mail addresses"),
        ("see www.x.org/anna", "web addresses"),
        ("from 10.0.3.17", "IP addresses"),
    ],
)
def test_identifiers_inside_short_remarks(text, title):
    (finding,) = scan(pl.DataFrame({"remark": ["ok"] * (PEOPLE - 1) + [text]})).of(title)
    assert finding.n_matching == 1


PLACES = {
    "coordinates in one cell": lambda i: f"48.{5200 + i}, 9.{6000 + i % 7}",
    "a point": lambda i: f"POINT(9.{100 + i} 48.{500 + i % 7})",
    "degrees": lambda i: f"48°31'{i:02d}\"N 9°3'12\"E",
    "a plus code": lambda i: f"8FWC{'23456789CF'[i % 10]}X37+{'23456789'[i % 8]}2",
    "a Japanese postcode": lambda i: f"〒{100 + i % 20}-{i:04d}",
}
NETS = {"part of an address": lambda i: f"134.2.{i % 9}.x", "a network": lambda i: f"134.2.{i % 9}.0/24"}


@pytest.mark.parametrize("form", PLACES | NETS)
def test_places_and_networks_by_their_form(form):
    title = "geographic subdivisions" if form in PLACES else "IP addresses"
    assert titles(column("x7", (PLACES | NETS)[form])) == {title}


def test_bytes_in_which_everybody_differs_are_codes():
    assert titles(column("x7", lambda i: b"A%d" % i)) == {"other unique codes"}
    assert not titles(column("x7", lambda i: b"A%d" % (i % 3)))


def test_all_eighteen_are_looked_for():
    assert sorted(identifier.letter for identifier in IDENTIFIERS) == list("ABCDEFGHIJKLMNOPQR")


@pytest.mark.parametrize(
    "values",
    [
        [f"{i % 5}0-{i % 5}9" for i in range(PEOPLE)],  # ranges
        [f"{i % 24:02d}:30:00" for i in range(PEOPLE)],  # times
        ["United States", "United Kingdom"] * 20,
        [f"I{i % 9}.{i % 4}" for i in range(PEOPLE)],  # diagnosis codes
        [2000 + i % 20 for i in range(PEOPLE)],
        [0.5 * i for i in range(PEOPLE)],
        [None] * PEOPLE,
        [True, False] * 20,
        ["10000-20000", "20000-30000"] * 20,
        ["1.2.840.10008", "1.2.840.10009"] * 20,
        ["Version 10.2", "V 1.2.3.4"] * 20,
        ["48.52, 9.06", "rho 0.91, 0.88"] * 20,  # two figures each
    ],
)
def test_innocent_values(values):
    assert titles(pl.DataFrame({"x7": values})) == set()


def test_dates_of_all_sorts():
    days = pl.Series(range(PEOPLE)).cast(pl.Date)
    assert titles(pl.DataFrame({"x7": days})) == {"dates"}
    assert titles(pl.DataFrame({"x7": days.cast(pl.Datetime)})) == {"dates"}
    assert titles(pl.DataFrame({"visit_date": [20240100 + i % 28 + 1 for i in range(PEOPLE)]})) == {"dates"}
    assert titles(pl.DataFrame({"x7": ["12 March 2020", "3 May 2021"] * 20})) == {"dates"}
    assert titles(pl.DataFrame({"dob": [str(1950 + i % 20) for i in range(PEOPLE)]})) == set()
    assert titles(pl.DataFrame({"birth_year": [1950 + i % 20 for i in range(PEOPLE)]})) == set()


def test_ages_are_counted_unless_pooled():
    old = pl.DataFrame({"age": [30] * 37 + [90, 93, 101]})
    (finding,) = scan(old).findings
    assert (finding.identifier, finding.n_matching) == ("ages over 89", 3)
    assert not scan(pl.DataFrame({"age": [30] * 37 + [90] * 3})).findings
    assert not scan(pl.DataFrame({"age": [30, 89]})).findings


def test_zip_codes_of_three_digits_may_stay_where_many_people_live():
    (five,) = scan(pl.DataFrame({"zip": [2139 + i for i in range(PEOPLE)]})).findings
    assert (five.identifier, five.n_matching) == ("geographic subdivisions", PEOPLE)
    assert not scan(pl.DataFrame({"zip": ["021", "121", "000", "*", "{021, 036}", "35-37"] * 6})).findings
    (small,) = scan(pl.DataFrame({"zip": ["021"] * 37 + ["036", "36", "059"]})).findings
    assert (small.identifier, small.n_matching) == ("geographic subdivisions", 3)


def test_identifiers_inside_free_text():
    notes = [f"Seen again after the operation, doing rather well on day {i}." for i in range(PEOPLE)]
    assert titles(pl.DataFrame({"x7": notes})) == {"free text"}
    notes[3] += " Call (617) 555-0199 or write to ann@home.org; SSN 123-45-6789."
    found = scan(pl.DataFrame({"x7": notes}))
    assert {f.identifier: f.n_matching for f in found.findings} == {
        "free text": PEOPLE,
        "telephone numbers": 1,
        "e-mail addresses": 1,
        "social security numbers": 1,
    }


def test_missing_values_and_repeats_are_counted_rightly():
    table = pl.DataFrame({"x7": ["a@b.org"] * 5 + [None] * 3 + ["none"] * 2})
    (finding,) = scan(table).findings
    assert (finding.n_matching, finding.n_filled, finding.share) == (5, 7, 5 / 7)


def test_sample_is_stated():
    table = column("x7", lambda i: f"p{i}@clinic.org")
    found = scan(table, sample=10)
    assert found.to_dict()["n_looked_at"] == 10
    assert found.findings[0].n_filled == 10


def test_never_a_value(make_frame):
    table = pl.DataFrame(
        {"name": [f"Sentinel Person{i}" for i in range(PEOPLE)], "note": [f"SENTINEL {i}" * 9 for i in range(PEOPLE)]}
    )
    found = scan(make_frame(table))
    text = json.dumps(found.to_dict()) + repr(found)
    assert "entinel" not in text.lower()
    assert found.columns == ("name", "note")
    assert not found.releasable


def test_survey_is_clean_and_input_stays():
    table = health_survey(300, seed=1)
    before = table.clone()
    scan(table)
    assert table.equals(before)
    with pytest.raises(InputError, match="table"):
        scan([1, 2])


def test_categories_are_texts():
    table = pl.DataFrame({"x7": pl.Series(["a@b.org", "c@d.org"] * 20, dtype=pl.Categorical)})
    assert titles(table) == {"e-mail addresses"}
    assert np.isclose(scan(table).findings[0].share, 1.0)
