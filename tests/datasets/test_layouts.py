"""FHIR bulk data, OMOP and CMS layouts as linked tables: roles, unknown fields, and the way back."""

import json

import polars as pl
import pytest

import shoal
from shoal.errors import FileError, InputError
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


def test_claims_hang_on_beneficiaries():
    people = pl.DataFrame({"DESYNPUF_ID": ["A", "B"], "BENE_SEX_IDENT_CD": [1, 2]})
    claims = pl.DataFrame({"CLM_ID": [1, 2], "DESYNPUF_ID": ["A", "A"], "CLM_FROM_DT": [20080101, 20080102]})
    tables = {"beneficiaries": people, "inpatient": claims}
    assert Collection.of(tables, shoal.datasets.synpuf_schema(tables)).persons["inpatient"].tolist() == [0, 0]
