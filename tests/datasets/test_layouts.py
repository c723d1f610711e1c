"""FHIR bulk data, OMOP and CMS layouts as linked tables: roles, unknown fields, and the way back."""

import datetime as dt
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import FileError, InputError, ProblemsError
from shoal.linked import Collection

PATIENTS = [
    {
        "resourceType": "Patient",
        "id": f"p{i}",
        "gender": "female",
        "birthDate": "1980-05-01",
        "address": [{"state": "MA"}],
    }
    for i in range(12)
]
ENCOUNTERS = [
    {
        "resourceType": "Encounter",
        "id": f"e{i}",
        "subject": {"reference": f"Patient/p{i % 12}"},
        "class": {"code": "AMB"},
        "period": {"start": f"2020-0{1 + i % 2}-03T08:00:00Z"},
    }
    for i in range(24)
]
CONDITIONS = [
    {
        "resourceType": "Condition",
        "id": "c1",
        "subject": {"reference": "Patient/p1"},
        "code": {"coding": [{"code": "I10"}]},
        "onsetDateTime": "2020-01-03",
    }
]


def export(folder, **more):
    files = {"Patient": PATIENTS, "Encounter": ENCOUNTERS, "Condition": CONDITIONS, **more}
    for kind, rows in files.items():
        (folder / f"{kind}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_resources_become_linked_tables_and_resources_again(tmp_path):
    tables = shoal.datasets.fhir(export(tmp_path))
    made = Collection.of(tables, shoal.datasets.fhir_schema(tables))
    assert (made.n_persons, made.n_events) == (12, 25)
    assert tables["conditions"].row(0)[:3] == ("c1", "p1", "I10")
    shoal.datasets.write_fhir(tables, tmp_path / "again")
    again = shoal.datasets.fhir(tmp_path / "again")
    assert all(again[name].equals(tables[name]) for name in tables)


def test_a_release_of_resources(tmp_path):
    tables = shoal.datasets.fhir(export(tmp_path))
    schema = shoal.datasets.fhir_schema(tables)
    release = shoal.anonymize(tables, schema, group=shoal.MDAV(k=5), mask=shoal.Resample(), seed=1)
    shoal.datasets.write_fhir(release.table, tmp_path / "out")
    text = (tmp_path / "out" / "Encounter.ndjson").read_text()
    assert len(text.splitlines()) == 24
    assert '"p1"' not in text, "references lead to the new keys"


def test_unknown_fields_are_refused_until_dropped(tmp_path):
    named = [{**PATIENTS[0], "name": [{"family": "Secretname"}], "telecom": []}]
    export(tmp_path, Patient=named, Encounter=ENCOUNTERS[:1], Condition=[])
    with pytest.raises(InputError, match=r"Patient\.name, Patient\.telecom") as caught:
        shoal.datasets.fhir(tmp_path)
    assert "Secretname" not in str(caught.value)
    assert "name" not in shoal.datasets.fhir(tmp_path, drop={"name", "telecom"})["patients"].columns
    assert len(shoal.datasets.fhir(tmp_path, drop={"Patient.name", "Patient.telecom"})["patients"])


NESTED = {
    "Patient": [
        {**PATIENTS[0], "address": [{"state": "MA", "city": "Secretcity", "line": ["1 Road"]}, {"state": "NY"}]}
    ],
    "Encounter": [
        {**ENCOUNTERS[0], "period": {"start": "2020-01-03", "end": "2020-01-04"}, "class": {"code": "A", "x": 1}}
    ],
    "Condition": [
        {
            **CONDITIONS[0],
            "subject": {"reference": "Patient/p0", "display": "Secretname"},
            "code": {"coding": [{"code": "I10", "system": "icd"}, {"code": "38341003"}], "text": "high"},
        }
    ],
}
INSIDE = {
    *("Patient.address[1:]", "Patient.address.city", "Patient.address.line", "Encounter.class.x"),
    *("Encounter.period.end", "Condition.subject.display", "Condition.code.coding[1:]", "Condition.code.coding.system"),
    *("Condition.code.text", "Observation"),
}


def test_what_lies_inside_fields_is_refused_until_dropped_and_all_of_it_is_named(tmp_path):
    export(tmp_path, **NESTED)
    (tmp_path / "Observation.ndjson").write_text("")
    with pytest.raises(InputError) as caught:
        shoal.datasets.fhir(tmp_path)
    assert set(caught.value.rule.removeprefix("nobody decided about ").split(", ")) == INSIDE
    assert "Secret" not in str(caught.value)
    tables = shoal.datasets.fhir(tmp_path, drop=INSIDE)
    assert [tables[name].row(0)[-1] for name in ("patients", "conditions")] == ["MA", dt.date(2020, 1, 3)]
    assert tables["conditions"]["code"].to_list() == ["I10"]
    for one in INSIDE:
        with pytest.raises(InputError) as caught:
            shoal.datasets.fhir(tmp_path, drop=INSIDE - {one})
        assert caught.value.rule == f"nobody decided about {one}"


@given(
    st.recursive(
        st.sampled_from(["x", "", 1, None, True]),
        lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("abc"), below, max_size=2),
        max_leaves=6,
    )
)
def test_no_sub_field_is_left_out_silently(tmp_path_factory, value):
    """Whatever stands beside what is read, at the top or below, it is named."""
    folder = tmp_path_factory.mktemp("export")
    for place, resource in (
        ("Patient.extra", {**PATIENTS[0], "extra": value}),
        ("Patient.address.extra", {**PATIENTS[0], "address": [{"state": "MA", "extra": value}]}),
    ):
        export(folder, Patient=[resource], Encounter=ENCOUNTERS[:1], Condition=[])
        with pytest.raises(InputError, match=f"about {place}$|about {place}[.]"):
            shoal.datasets.fhir(folder)


def test_fields_that_are_not_what_they_must_be_are_all_named(tmp_path):
    people = [{**PATIENTS[0], "birthDate": "1980"}, {**PATIENTS[1], "gender": 7}]
    visits = [{**ENCOUNTERS[0], "subject": {"reference": "Group/p1"}, "period": {"start": "2020-02-30"}}]
    export(tmp_path, Patient=people, Encounter=visits, Condition=[])
    with pytest.raises(ProblemsError) as caught:
        shoal.datasets.fhir(tmp_path)
    rules = [problem.rule for problem in caught.value.problems]
    places = ("Patient.gender", "Patient.birthDate", "Encounter.subject.reference", "Encounter.period.start")
    assert [rule.split(" must ")[0] for rule in rules] == list(places)
    tables = shoal.datasets.fhir(tmp_path, drop={*places} - {"Encounter.subject.reference"} | {"Encounter"})
    assert tables["patients"].columns == ["id", "state"]
    assert shoal.datasets.fhir_schema(tables)["patients"].known == ("state",)


@pytest.mark.parametrize(
    "reference", ["Patient/p1", "https://x.org/fhir/Patient/p1", "urn:uuid:p1", "Patient/p1/_history/2"]
)
def test_references_lead_to_patients(tmp_path, reference):
    export(tmp_path, Encounter=[{**ENCOUNTERS[0], "subject": {"reference": reference}}])
    assert shoal.datasets.fhir(tmp_path)["encounters"]["patient"].to_list() == ["p1"]


def test_a_resource_may_be_in_several_files(tmp_path):
    export(tmp_path)
    (tmp_path / "Encounter.ndjson").rename(tmp_path / "Encounter.1.ndjson")
    (tmp_path / "Encounter.2.ndjson").write_text(json.dumps({**ENCOUNTERS[0], "id": "e99"}))
    assert len(shoal.datasets.fhir(tmp_path)["encounters"]) == 25


def test_what_has_no_place_in_resources_is_not_written(tmp_path):
    tables = shoal.datasets.fhir(export(tmp_path))
    more = {**tables, "patients": tables["patients"].with_columns(region=pl.lit("a")), "doctors": tables["patients"]}
    with pytest.raises(InputError, match="table 'doctors', column 'region' of 'patients'"):
        shoal.datasets.write_fhir(more, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileError, match="already"):
        shoal.datasets.write_fhir(tables, tmp_path)


def test_broken_files(tmp_path):
    (export(tmp_path) / "Encounter.ndjson").write_text("{nothing\n")
    with pytest.raises(FileError, match="one JSON resource"):
        shoal.datasets.fhir(tmp_path)
    (tmp_path / "Encounter.ndjson").write_text(json.dumps(PATIENTS[0]))
    with pytest.raises(FileError, match="of the type Encounter"):
        shoal.datasets.fhir(tmp_path)


def test_omop_fields_have_roles_and_others_want_one():
    person = pl.DataFrame({"person_id": [1, 2], "year_of_birth": [1980, 1981], "person_source_value": ["x", "y"]})
    visits = pl.DataFrame({"visit_occurrence_id": [1], "person_id": [2], "visit_start_date": ["2020-01-01"]})
    tables = {"person": person, "visit_occurrence": visits}
    schema = shoal.datasets.omop_schema(tables)
    assert schema["person"].columns["person_source_value"].is_removed
    Collection.of(tables, schema)
    more = {**tables, "person": person.with_columns(region=pl.lit("a"))}
    with pytest.raises(InputError, match="'region' of the table has no role"):
        Collection.of(more, shoal.datasets.omop_schema(more))
    Collection.of(more, shoal.datasets.omop_schema(more, also={"person": {"region": "quasi"}}))


CLAIMS = {
    "beneficiaries": pl.DataFrame(
        {
            "DESYNPUF_ID": ["A", "B"],
            "BENE_BIRTH_DT": [19230501, 19431001],
            "BENE_SEX_IDENT_CD": [1, 2],
            "SP_STATE_CODE": [26, 39],
            "SP_CHF": [2, 1],
            "MEDREIMB_CAR": [550.0, 0.0],
        }
    ),
    "inpatient": pl.DataFrame(
        {
            "DESYNPUF_ID": ["A", "A", "B"],
            "CLM_ID": [1, 1, 2],
            "SEGMENT": [1, 2, 1],
            "CLM_FROM_DT": [20080131, 20080201, 20081231],
            "ICD9_DGNS_CD_1": [4019, 4019, 25000],
            "HCPCS_CD_45": pl.Series([None] * 3, dtype=pl.String),
        }
    ),
}


def test_claims_hang_on_beneficiaries_and_their_dates_are_dates():
    """Codes are no numbers though they look like some, and a claim may have two segments under one number."""
    schema = shoal.datasets.synpuf_schema(CLAIMS)
    made = Collection.of(CLAIMS, schema)
    assert made.persons["inpatient"].tolist() == [0, 0, 1]
    assert made.tables["inpatient"]["CLM_FROM_DT"].to_list()[1] == dt.date(2008, 2, 1)
    kinds = {c.name: c.kind for c in schema["beneficiaries"].columns.columns}
    codes = ("BENE_SEX_IDENT_CD", "SP_STATE_CODE", "SP_CHF")
    assert kinds == {**dict.fromkeys(codes, "nominal"), "BENE_BIRTH_DT": None, "MEDREIMB_CAR": None}
    moved = shoal.ShiftDates(days=40, weeks=None).first(made, None, "00").collection.tables["inpatient"]["CLM_FROM_DT"]
    assert (moved[1] - moved[0]).days == 1, "a shift counts days and not numbers"


def test_a_release_of_omop_tables(tmp_path):
    """From the pack to a verified folder, with no concept that was not there before."""
    n = 40
    person = {"person_id": range(n), "gender_concept_id": [8507, 8532] * (n // 2), "year_of_birth": range(1940, 1980)}
    visits = {
        "visit_occurrence_id": range(2 * n),
        "person_id": [*range(n)] * 2,
        "visit_concept_id": [9201, 9202] * n,
        "visit_start_date": [dt.date(2020, 1 + i % 4, 3) for i in range(2 * n)],
    }
    tables = {"person": pl.DataFrame(person), "visit_occurrence": pl.DataFrame(visits)}
    schema = shoal.datasets.omop_schema(tables)
    release = shoal.anonymize(tables, schema, group=shoal.MDAV(k=5), mask=shoal.Centroid(), events=shoal.ExchangeBags())
    assert set(release.table["person"]["gender_concept_id"]) <= {8507, 8532}
    release.write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").holds
