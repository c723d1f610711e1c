"""A schema proposed for linked tables: persons, keys, links and roles; and that it runs as it is."""

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import InputError
from shoal.files.database import write_tables
from shoal.files.workbook import write_workbook
from shoal.schema.infer_linked import propose_linked


@pytest.fixture(scope="module")
def tables():
    return shoal.datasets.clinic(120, visits=2.0, seed=3)


def shape(schema):
    return [(table.name, table.key, table.parent, table.link) for table in schema.tables]


EXPECTED = [
    ("patients", "patient", None, None),
    ("visits", "visit", "patients", "patient"),
    ("prescriptions", None, "visits", "visit"),
]


def test_keys_and_links_are_found(tables):
    found = propose_linked(dict(reversed(tables.items()))).schema
    assert shape(found) == EXPECTED
    assert found.persons.birth == "born"
    assert found.persons.columns.household == "household"
    assert found["visits"].columns.time == ("day",)
    assert [str(one) for one in found["visits"].summaries] == ["count", "first:day", "last:day"]


def test_a_second_name_of_the_person_goes(tables):
    owners = tables["visits"].select("visit", "patient")
    drugs = tables["prescriptions"].join(owners, on="visit")
    found = propose_linked(tables | {"prescriptions": drugs}).schema
    assert (found["prescriptions"].parent, found["prescriptions"].link) == ("visits", "visit")
    assert found["prescriptions"].columns["patient"].role == "identifier"


def test_the_proposal_comes_back_from_its_text(tables, tmp_path):
    proposal = propose_linked(tables)
    (tmp_path / "linked.toml").write_text(proposal.to_toml())
    assert shoal.LinkedSchema.read(tmp_path / "linked.toml") == proposal.schema
    assert "# The name suggests" in proposal.to_toml()


def test_the_proposal_runs_as_it_is(tables):
    schema = propose_linked(tables).schema
    release = shoal.coarsen(tables, schema, shoal.Mondrian(k=20), events=shoal.CoarsenEvents(k=3, suppression=0.5))
    assert set(release.table) == set(tables)


def test_tables_that_link_to_nobody_are_named(tables):
    with pytest.raises(InputError, match="none was found of: beds"):
        propose_linked(tables | {"beds": pl.DataFrame({"bed": ["a1", "b2"], "floor": [1.5, 2.5]})})
    with pytest.raises(InputError, match="no table links to another"):
        propose_linked({"a": pl.DataFrame({"x": [0.5, 1.5]}), "b": pl.DataFrame({"y": ["p", "p"]})})


@pytest.mark.parametrize("place", ["folder", "clinic.xlsx", "clinic.duckdb", "clinic.sqlite"])
def test_on_the_command_line(tables, tmp_path, place):
    path = tmp_path / place
    if place == "folder":
        path.mkdir()
        for name, table in tables.items():
            table.write_csv(path / f"{name}.csv")
    elif place.endswith(".xlsx"):
        write_workbook(tables, path)
    else:
        write_tables(tables, str(path))
    schema = tmp_path / "linked.toml"
    done = CliRunner().invoke(app, ["schema", "infer", str(path), "--linked", "--out", str(schema)])
    assert done.exit_code == 0, done.output
    assert sorted(shape(shoal.LinkedSchema.read(schema))) == sorted(EXPECTED)
    checked = CliRunner().invoke(app, ["schema", "check", str(path), "--schema", str(schema)])
    assert checked.exit_code == 0, checked.output
    assert "hang together" in checked.output
