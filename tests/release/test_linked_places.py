"""Linked tables in and out of every kind of place: folder, workbook, database, mapping; links checked in each."""

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import ColumnError, FileError, GuaranteeError, InputError
from shoal.files.database import write_tables
from shoal.files.linked import read_linked
from shoal.files.workbook import write_workbook
from shoal.linked import Collection
from shoal.pseudonym import ProjectKey, Pseudonyms
from shoal.release.contents import export_tables, released_tables

SCHEMA = shoal.datasets.clinic_schema()
PLACES = ("folder", "clinic.xlsx", "clinic.sqlite", "clinic.duckdb")


@pytest.fixture(scope="module")
def tables():
    return shoal.datasets.clinic(60, visits=2.0, seed=3)


def put(tables, home, place):
    """The tables in a place of some kind."""
    path = home / place
    if place.endswith(".xlsx"):
        write_workbook(tables, path)
    elif place == "folder":
        path.mkdir()
        for name, table in tables.items():
            table.write_csv(path / f"{name}.csv")
    else:
        write_tables(tables, str(path))
    return path


@pytest.mark.parametrize("place", PLACES)
def test_tables_come_from_any_place_alike(tables, tmp_path, place):
    source = read_linked(put(tables, tmp_path, place), list(tables))
    for name, table in tables.items():
        assert source.frame[name].sort(pl.all()).equals(table.sort(pl.all()).cast(source.frame[name].schema))
    assert Collection.of(source.frame, SCHEMA).n_persons == 60


@pytest.fixture(scope="module", params=["numbers", "pseudonyms"])
def released(tables, tmp_path_factory, request):
    home = tmp_path_factory.mktemp("places")
    source = read_linked(put(tables, home, "clinic.duckdb"), list(tables))
    names = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry") if request.param == "pseudonyms" else None
    shoal.anonymize(source, SCHEMA, group=shoal.MDAV(k=5), pseudonyms=names).write(home / "out")
    return home / "out"


@pytest.mark.parametrize("place", PLACES[1:])
def test_a_release_goes_to_the_same_kind_of_place(released, tables, tmp_path, place):
    to = str(tmp_path / place)
    assert export_tables(released, to) == {name: len(frame) for name, frame in released_tables(released).items()}
    back = Collection.of(read_linked(to, list(tables)).frame, SCHEMA.released)
    assert back.n_persons == 60
    with pytest.raises((InputError, FileError), match="already has|must not exist"):
        export_tables(released, to)


def test_on_the_command_line(released, tmp_path):
    for words in (("--workbook", str(tmp_path / "a.xlsx")), ("--database", str(tmp_path / "a.sqlite"))):
        done = CliRunner().invoke(app, ["export", str(released), *words])
        assert done.exit_code == 0, done.output
        assert "rows to visits" in done.output


def test_nothing_goes_out_of_a_changed_folder(released, tmp_path):
    import shutil

    copy = shutil.copytree(released, tmp_path / "out")
    (copy / "visits.csv").write_text((copy / "visits.csv").read_text() + "1,1,2020-01-01,a,b,3\n")
    with pytest.raises(GuaranteeError):
        export_tables(copy, str(tmp_path / "a.duckdb"))
    assert not (tmp_path / "a.duckdb").exists()


def test_all_tables_or_none(tmp_path):
    path = str(tmp_path / "a.duckdb")
    one = pl.DataFrame({"x": [1]})
    write_tables({"second": one}, path)
    with pytest.raises(InputError, match="already has a table 'second'"):
        write_tables({"first": one, "second": one}, path)
    with pytest.raises(InputError):
        read_linked(path, ["first"])


@pytest.mark.parametrize("place", PLACES)
def test_orphans_are_found_in_any_place(tables, tmp_path, place):
    seen = tables["visits"]["patient"][0]
    torn = tables | {"patients": tables["patients"].filter(pl.col("patient") != seen)}
    with pytest.raises((ColumnError, InputError), match="orphans"):
        shoal.anonymize(put(torn, tmp_path, place), SCHEMA, group=shoal.MDAV(k=5))


def test_a_long_table_is_no_sheet(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.files.workbook._MOST_ROWS", 2)
    with pytest.raises(FileError, match="a sheet has at most"):
        write_workbook({"a": pl.DataFrame({"x": [1, 2, 3]})}, tmp_path / "a.xlsx")
