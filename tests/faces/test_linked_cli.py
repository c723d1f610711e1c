"""Linked tables on the command line: from a folder to a folder, verified, or refused with nothing written."""

import json

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import InputError, ParameterError


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "clinic").mkdir()
    for name, table in shoal.datasets.clinic(120, visits=2.0, seed=3).items():
        table.write_csv(tmp_path / "clinic" / f"{name}.csv")
    shoal.datasets.clinic_schema().write(tmp_path / "linked.toml")
    return tmp_path


def run(home, *words):
    return CliRunner().invoke(app, [*words[:1], str(home / "clinic"), "-s", str(home / "linked.toml"), *words[1:]])


def test_from_a_folder_to_a_verified_folder(clinic):
    out = str(clinic / "out")
    events = ("--events", "coarsen-events:k=4,m=1,suppression=0.5")
    done = run(clinic, "coarsen", "--method", "mondrian", "--k", "20", *events, "-o", out)
    assert done.exit_code == 0, done.output
    assert "240 of visits" in done.output
    checked = CliRunner().invoke(app, ["verify", out])
    assert checked.exit_code == 5, checked.output
    assert "linked tables" in checked.output


def test_bad_tables_leave_nothing(clinic):
    path = clinic / "clinic" / "visits.csv"
    path.write_text(path.read_text() + "999999,424242,2021-05-01,surgery,I10,5\n")
    done = run(clinic, "anonymize", "--group", "mdav", "-o", str(clinic / "out"))
    assert isinstance(done.exception, InputError)
    assert "1 orphans" in str(done.exception)
    assert "424242" not in str(done.exception)
    assert not (clinic / "out").exists()
    assert not (clinic / "out.internal").exists()


@pytest.mark.parametrize("words", [("--target-linkage", "0.1", "-o", "x"), ("--sheet", "a", "-o", "x")])
def test_what_is_for_one_table_is_refused(clinic, words):
    done = run(clinic, "anonymize", "--group", "mdav", *words)
    assert isinstance(done.exception, ParameterError)


def test_risk_of_linked_tables(clinic):
    done = run(clinic, "risk", "--k", "3")
    assert done.exit_code == 0, done.output
    assert "knows 1 event" in done.output
    assert "no date" in done.output
    assert "households" in done.output
    attack = run(clinic, "risk", "--fail-above", "singling-out=0.1")
    assert "needs one table, not linked ones" in str(attack.exception)
    broken = run(clinic, "risk", "--fail-above", "events=0.1")
    assert broken.exit_code == 3
    refused = run(clinic, "risk", "--original", str(clinic / "clinic"))
    assert isinstance(refused.exception, ParameterError)


def pack(*words):
    return CliRunner().invoke(app, ["schema", "pack", *map(str, words)])


def test_a_pack_is_written_for_the_tables_that_are_there(tmp_path):
    cdm = tmp_path / "cdm"
    cdm.mkdir()
    (cdm / "person.csv").write_text("person_id,gender_concept_id,year_of_birth,region\n1,8507,1980,N\n2,8532,1990,S\n")
    (cdm / "visit_occurrence.csv").write_text(
        "visit_occurrence_id,person_id,visit_start_date,visit_concept_id\n1,1,2020-01-01,9201\n2,2,2020-01-02,9201\n"
    )
    (cdm / "measurement.csv").write_text("measurement_id\n1\n")
    out = tmp_path / "omop.toml"
    refused = pack("omop", cdm, "-o", out)
    assert isinstance(refused.exception, InputError)
    assert "person.region" in str(refused.exception)
    assert not out.exists()
    done = pack("omop", cdm, "--also", "person.region=quasi", "-o", out)
    assert done.exit_code == 0, done.output
    assert "left out: measurement" in done.output
    schema = shoal.LinkedSchema.read(out)
    assert schema["person"].known == ("gender_concept_id", "year_of_birth", "region")
    assert CliRunner().invoke(app, ["schema", "check", str(cdm), "-s", str(out)]).exit_code == 0


@pytest.mark.parametrize(("layout", "n"), [("omop", 4), ("synpuf", 3), ("fhir", 4)])
def test_a_pack_without_tables_has_them_all(layout, n, tmp_path):
    done = pack(layout, "-o", tmp_path / "pack.toml")
    assert done.exit_code == 0, done.output
    assert len(shoal.LinkedSchema.read(tmp_path / "pack.toml").tables) == n


def test_resources_become_tables_a_release_and_resources_again(tmp_path):
    export = tmp_path / "export"
    export.mkdir()
    people = [{"resourceType": "Patient", "id": f"p{i}", "gender": "female", "name": [{}]} for i in range(12)]
    stays = [
        {
            "resourceType": "Encounter",
            "id": f"e{i}",
            "subject": {"reference": f"Patient/p{i % 12}"},
            "class": {"code": "AMB"},
        }
        for i in range(24)
    ]
    for kind, rows in (("Patient", people), ("Encounter", stays)):
        (export / f"{kind}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flat, schema = tmp_path / "flat", tmp_path / "fhir.toml"
    assert "Patient.name" in str(pack("fhir", export, "--tables", flat, "-o", schema).exception)
    assert not flat.exists()
    done = pack("fhir", export, "--tables", flat, "--drop", "name", "-o", schema)
    assert done.exit_code == 0, done.output
    released = tmp_path / "out"
    words = ["coarsen", str(flat), "-s", str(schema), "-o", str(released), "--k", "5", "--no-register"]
    assert CliRunner().invoke(app, words).exit_code == 0
    done = CliRunner().invoke(app, ["export", str(released), "--fhir", str(tmp_path / "shared")])
    assert done.exit_code == 0, done.output
    again = shoal.datasets.fhir(tmp_path / "shared")
    assert {name: len(frame) for name, frame in again.items()} == {"patients": 12, "encounters": 24}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("omop", "--drop", "name", "--tables", "x"), "--drop is for fhir; --tables is for fhir"),
        (("fhir", "--tables", "x", "--also", "a.b=quasi"), "--also is for omop.*needs both"),
        (("omop", "--also", "region"), "TABLE.FIELD=ROLE"),
    ],
)
def test_options_of_a_pack_that_do_not_go_together(words, said):
    with pytest.raises(ParameterError, match=said):
        raise pack(*words).exception
