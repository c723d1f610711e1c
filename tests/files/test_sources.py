"""Workbooks, databases, folders, archives and streams through the one door: nothing lost, no cell in an error."""

import datetime as dt
import io
import sqlite3
import sys
import zipfile

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import ColumnError, FileError, InputError, ParameterError
from shoal.files import read_source, read_table, write_table
from shoal.files.column_types import forms_of
from shoal.files.database import write_rows

SENTINEL = "SENTINEL-CELL"


def refused(error, *words, where=InputError, **call):
    """The call raises `error`'s kind with all of `words` and without the cell."""
    with pytest.raises(where) as caught:
        read_table(error, **call)
    message = str(caught.value)
    assert SENTINEL not in message
    for word in words:
        assert word in message
    return message


# Workbooks


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(**sheets):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for name, rows in sheets.items():
            sheet = made.create_sheet(name)
            for row in rows:
                sheet.append(row)
        made.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return write


def test_workbook_keeps_codes_whole_numbers_dates_and_times(book):
    path = book(
        people=[
            ["zip", "age", "cost", "born", "at", "seen"],
            ["01301", 34, 1.5, dt.date(1990, 2, 1), dt.time(7, 30), dt.datetime(2020, 1, 1, 12)],
            [None, 51, 2, dt.date(1985, 12, 31), dt.time(23, 5), dt.datetime(2020, 1, 2)],
        ]
    )
    source = read_source(path)
    assert (source.format, source.sheet) == ("xlsx", "people")
    assert source.frame.rows() == [
        ("01301", 34, 1.5, dt.date(1990, 2, 1), dt.time(7, 30), dt.datetime(2020, 1, 1, 12)),
        (None, 51, 2.0, dt.date(1985, 12, 31), dt.time(23, 5), dt.datetime(2020, 1, 2)),
    ]


def test_texts_among_numbers_of_a_workbook_stay(book):
    frame = read_table(book(people=[["n"], [1], ["NA"], [2.5]]))
    assert frame["n"].to_list() == ["1", "NA", "2.5"]


def test_sheet_is_chosen_by_name(book):
    path = book(one=[["a"], [1]], two=[["b"], [2]], empty=[])
    assert read_table(path, sheet="two").to_dict(as_series=False) == {"b": [2]}
    refused(path, "2 sheets", "one, two")
    refused(path, "no sheet 'three'", "one, two, empty", sheet="three")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "group", None], [1, SENTINEL, 3]], ("its own name", "column C", "merged")),
        ([["a", "a"], [1, 2]], ("unique", "columns 1 and 2")),
        ([["a"]], ()),
    ],
)
def test_heads_of_a_workbook(book, rows, words):
    path = book(people=rows)
    if words:
        refused(path, "people", *words)
    else:
        assert read_table(path).shape == (0, 1)


def test_error_in_a_cell_is_named_by_its_place(book):
    path = book(people=[["a", "n"], [SENTINEL, 1], ["x", "#DIV/0!"]])
    refused(path, "B3", "error")


def test_damaged_or_empty_workbook(tmp_path, book):
    (tmp_path / "bad.xlsx").write_bytes(SENTINEL.encode())
    refused(tmp_path / "bad.xlsx", "intact workbook", where=FileError)
    refused(book(people=[]), "0 sheets")


def test_sheet_belongs_to_a_workbook(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    refused(tmp_path / "t.csv", "a workbook", where=ParameterError, sheet="x")


# Databases


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "clinic.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (zip TEXT, age INTEGER, cost REAL)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", [("01301", 34, 1.5), (None, 51, None)])
        connection.execute("CREATE TABLE mixed (cell)")
        connection.executemany("INSERT INTO mixed VALUES (?)", [(1,), (SENTINEL,), (b"x",)])
    connection.close()
    return path


@pytest.mark.parametrize("spell", [str, lambda path: f"sqlite:///{path}"])
def test_query_to_sqlite(sqlite, spell):
    source = read_source(spell(sqlite), sql="SELECT * FROM people WHERE age > 1 ORDER BY age")
    assert source.frame.rows() == [("01301", 34, 1.5), (None, 51, None)]
    assert (source.path, source.format, source.single) == (str(sqlite), "sql", False)
    assert read_source(str(sqlite), **source.reading).sha256 == source.sha256


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT * FROM people WHERE age > 99", ("at least one row",)),
        ("SELECT * FROM nobody", ("no such table",)),
        ("SELEKT", ("syntax",)),
        ("SELECT cell FROM mixed", ("column 'cell'", "CAST")),
        ("SELECT age, age FROM people", ("unique",)),
        ("DELETE FROM people", ("Give a SELECT",)),
    ],
)
def test_unusable_query_is_an_error_without_a_cell(sqlite, sql, words):
    refused(str(sqlite), *words, sql=sql)
    assert len(read_table(str(sqlite), sql="SELECT * FROM people")) == 2


def test_database_out_of_reach(tmp_path, sqlite):
    refused(str(tmp_path / "no.sqlite"), "accessible", where=FileError, sql="SELECT 1")
    assert not (tmp_path / "no.sqlite").exists()
    sqlite.write_bytes(b"no database at all, but long enough to be looked at" * 50)
    refused(str(sqlite), "accessible", where=FileError, sql="SELECT * FROM people")
    refused(str(sqlite), "--sql", where=ParameterError)
    refused("oracle://host/db", "SQLite, PostgreSQL or DuckDB", where=ParameterError, sql="SELECT 1")


def test_password_is_never_shown():
    url = "postgresql://me:hunter2@127.0.0.1:1/none"
    message = refused(url, "accessible", "127.0.0.1", where=FileError, sql="SELECT 1")
    assert "hunter2" not in message


def test_duckdb_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT '01301' AS zip, 34 AS age, 1.50 AS cost, DATE '1990-02-01' AS born"
        )
    frame = read_table(path, sql="SELECT * FROM people")
    assert frame.rows() == [("01301", 34, 1.5, dt.date(1990, 2, 1))]
    refused(path, "nobody", sql="SELECT * FROM nobody")
    refused(path, "at least one row", sql="SELECT * FROM people WHERE age > 99")
    refused(path, "Give a SELECT", sql="DELETE FROM people")


_ENDLESS = (
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 9000000000) SELECT max(i) AS n FROM r"
)


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_a_query_without_end_is_given_up(tmp_path, ending):
    path = tmp_path / f"clinic.{ending}"
    with (
        pytest.importorskip("duckdb").connect(str(path)) if ending == "duckdb" else sqlite3.connect(path) as connection
    ):
        connection.execute("CREATE TABLE people (age INTEGER)")
    refused(str(path), "must answer within 0.2 seconds", "--timeout", where=FileError, sql=_ENDLESS, timeout=0.2)
    refused(str(path), "above 0", where=ParameterError, sql="SELECT 1", timeout=0)


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_table_is_written_to_a_database_whole_or_not_at_all(tmp_path, ending, monkeypatch):
    pytest.importorskip("duckdb")
    path = str(tmp_path / f"out.{ending}")
    frame = pl.DataFrame(
        {"zip": ["01301", None], "age": [34, 51], "cost": [1.5, None], "born": [dt.date(1990, 2, 1), None]}
    )
    write_rows(frame, path, "people")
    back = read_table(path, sql="SELECT * FROM people")
    assert_frame_equal(
        back.with_columns(pl.col("born").cast(pl.String)), frame.with_columns(pl.col("born").cast(pl.String))
    )
    with pytest.raises(InputError, match="already has a table"):
        write_rows(frame, path, "people")
    write_rows(frame.head(1), path, "people", replace=True)
    assert len(read_table(path, sql="SELECT * FROM people")) == 1
    with pytest.raises(ParameterError, match="plain name"):
        write_rows(frame, path, "people; DROP TABLE people")


def test_failing_write_leaves_the_old_table(sqlite, monkeypatch):
    frame = pl.DataFrame({"n": [1, 2**63]}, schema={"n": pl.UInt64})  # more than the database's numbers hold
    with pytest.raises(InputError) as caught:
        write_rows(frame, str(sqlite), "people", replace=True)
    assert str(2**63) not in str(caught.value)
    assert read_table(str(sqlite), sql="SELECT * FROM people").columns == ["zip", "age", "cost"]


# Folders and patterns


def folder_of(tmp_path, **files):
    folder = tmp_path / "visits"
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    return folder


def test_folder_is_one_table_in_order_of_names(tmp_path):
    folder = folder_of(tmp_path, b="n,zip\n3,01301\n", a="zip,n\n12345,1.5\n99999,2\n")
    expected = {"zip": ["12345", "99999", "01301"], "n": [1.5, 2.0, 3.0]}
    assert read_table(folder).to_dict(as_series=False) == expected
    source = read_source(f"{folder}/*.csv")
    assert source.frame.to_dict(as_series=False) == expected
    assert source.sha256 == read_source(folder).sha256
    (folder / "b.csv").write_text("n,zip\n3,01302\n")
    assert source.sha256 != read_source(folder).sha256


def test_empty_column_in_one_file_takes_the_type_of_the_others(tmp_path):
    folder = folder_of(tmp_path, a="x,n\nu,1\n", b="x,n\nv,\n")
    assert read_table(folder)["n"].to_list() == [1, None]


def test_column_missing_in_one_file_is_named(tmp_path):
    folder = folder_of(tmp_path, a=f"x,n\n{SENTINEL},1\n", b="x\nv\n", c="x,n,more\nu,1,2\n")
    refused(folder, "b.csv", "column 'n' is missing", "a.csv")
    (folder / "b.csv").unlink()
    refused(folder, "a.csv", "column 'more' is missing", "c.csv")


def test_folder_of_several_formats_or_of_nothing(tmp_path):
    folder = folder_of(tmp_path, a="x\nu\n")
    pl.DataFrame({"x": ["v"]}).write_parquet(folder / "b.parquet")
    refused(folder, "one format", ".csv (a.csv)", ".parquet (b.parquet)")
    refused(tmp_path / "no*.csv", "at least one file", where=FileError)


# Archives and streams


def test_zip_with_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("folder/t.csv", "zip;cost\n01301;1,5\n")
        archive.writestr("__MACOSX/._t.csv", "x")
    assert read_table(tmp_path / "t.zip").rows() == [("01301", 1.5)]
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as archive:
        archive.writestr("u.csv", SENTINEL)
    refused(tmp_path / "t.zip", "exactly one file", "2 files", where=FileError)
    (tmp_path / "t.zip").write_bytes(SENTINEL.encode())
    refused(tmp_path / "t.zip", "intact ZIP file", where=FileError)


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def arrow(frame, *, stream):
    buffer = io.BytesIO()
    (frame.write_ipc_stream if stream else frame.write_ipc)(buffer)
    return buffer.getvalue()


def test_standard_input_is_csv_or_arrow(monkeypatch, tmp_path):
    frame = pl.DataFrame({"zip": ["01301", "2"], "n": [1, 2]})
    for data in (b"zip,n\n01301,1\n2,2\n", arrow(frame, stream=False), arrow(frame, stream=True)):
        piped(monkeypatch, data)
        source = read_source("-")
        assert_frame_equal(source.frame, frame)
        assert (source.path, source.single) == ("-", False)
    piped(monkeypatch, b"")
    refused("-", "standard input", "empty", where=FileError)
    piped(monkeypatch, b"ARROW1" + SENTINEL.encode())
    refused("-", "standard input", "Arrow", where=FileError)
    (tmp_path / "t.arrow").write_bytes(arrow(frame, stream=True))
    assert_frame_equal(read_table(tmp_path / "t.arrow"), frame)


# Numbers and dates as people write them


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        ("cost;n\n1,5;1\n2;2\n", ","),
        ("cost\tn\n0,125\t1\n", ","),
        ("cost;n\n1,234;1\n5,678;2\n", "."),
        ("cost;n\n1,5;1.5\n", "."),
        ('cost,n\n"1,5",1\n', "."),
        ("cost;n\n1,5;x\nnone;y\n", "."),
    ],
)
def test_decimal_comma_is_recognised_only_where_it_is_sure(tmp_path, content, mark):
    (tmp_path / "t.csv").write_text(content)
    source = read_source(tmp_path / "t.csv")
    assert source.decimal == mark
    assert source.frame["cost"].dtype.is_numeric() == (mark == ",")


def test_thousands_marks_are_read_where_they_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("cost;code;odd\n1.234.567,5;01.301;12.34\n-12;2;1.000\n")
    assert read_table(path, decimal=",")["cost"].dtype == pl.String
    frame = read_table(path, decimal=",", thousands=".")
    assert frame.rows() == [(1234567.5, "01.301", "12.34"), (-12.0, "2", "1.000")]
    refused(path, "thousands", where=ParameterError, thousands=".")
    refused(path, "thousands", where=ParameterError, thousands="x")


@pytest.mark.parametrize(
    ("form", "cell", "value"),
    [
        ("DD.MM.YYYY", "3.4.2021", dt.date(2021, 4, 3)),
        ("DD/MM/YYYY", "03/04/2021", dt.date(2021, 4, 3)),
        ("MM/DD/YYYY", "03/04/2021", dt.date(2021, 3, 4)),
        ("YYYYMMDD", "20210403", dt.date(2021, 4, 3)),
        ("YYYYMM", "202104", dt.date(2021, 4, 1)),
        ("HH:MM", "7:30", dt.time(7, 30)),
        ("HH:MM:SS", "7:30:15", dt.time(7, 30, 15)),
    ],
)
def test_dates_are_read_by_declaration(tmp_path, form, cell, value):
    (tmp_path / "t.csv").write_text(f"x,day\n1,{cell}\n2,\n")
    assert read_table(tmp_path / "t.csv", formats={"day": form})["day"].to_list() == [value, None]
    assert read_table(tmp_path / "t.csv")["day"].dtype in (pl.String, pl.Int64)


def test_cell_that_is_no_date_is_counted_and_placed(tmp_path):
    (tmp_path / "t.csv").write_text(f"day\n03.04.2021\n31.02.2021\n{SENTINEL}\n")
    refused(tmp_path / "t.csv", "2 cells", "row 2", where=ColumnError, formats={"day": "DD.MM.YYYY"})
    refused(tmp_path / "t.csv", "supported", formats={"day": "%d"})


def test_universal_time_is_read_as_moments(tmp_path):
    (tmp_path / "t.csv").write_text(
        "at,half\n2020-01-02T03:04:05Z,2020-01-02T03:04:05Z\n2020-01-02T03:04:06Z,2020-01-02T03:04:06\n"
    )
    frame = read_table(tmp_path / "t.csv")
    assert frame["at"].to_list() == [dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(2020, 1, 2, 3, 4, 6)]
    assert frame["half"].dtype == pl.String


def test_three_thousand_columns(tmp_path):
    names = [f"c{i}" for i in range(3000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 3000) + "\n")
    assert read_table(tmp_path / "t.csv").shape == (1, 3000)


@pytest.mark.parametrize(
    ("form", "cells", "seconds"),
    [
        ("[H]:MM", ["36:15", "0:05", None], [130500, 300, None]),
        ("[H]:MM:SS", ["100:00:01", "0:00:00", None], [360001, 0, None]),
        ("PnDTnHnMnS", ["P1DT2H", "PT45M", "PT5S"], [93600, 2700, 5]),
    ],
)
def test_durations_become_seconds(tmp_path, form, cells, seconds):
    (tmp_path / "t.csv").write_text("stay,age\n" + "".join(f"{cell or ''},1\n" for cell in cells))
    assert read_table(tmp_path / "t.csv", formats={"stay": form})["stay"].to_list() == seconds
    assert forms_of(pl.Series(cells)) == (form,)


def test_what_is_no_duration_is_counted_and_placed(tmp_path):
    (tmp_path / "t.csv").write_text(f"stay\n1:30\n{SENTINEL}\nP\n")
    refused(
        tmp_path / "t.csv", "2 cells that are none, the first in row 2", where=ColumnError, formats={"stay": "[H]:MM"}
    )


def test_times_of_day_are_no_durations_and_the_type_duration_is_seconds(tmp_path):
    assert forms_of(pl.Series(["07:30", "23:59"])) == ("HH:MM",)
    pl.DataFrame({"stay": [dt.timedelta(hours=30), None]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["stay"].to_list() == [108000, None]


def test_parts_of_a_second_are_kept(tmp_path):
    pl.DataFrame({"stay": [dt.timedelta(milliseconds=1500), None]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["stay"].to_list() == [1.5, None]


def test_moments_in_a_time_zone_are_written_as_universal_time(tmp_path):
    moment = pl.Series([dt.datetime(2020, 7, 2, 3, 4, 5)]).dt.replace_time_zone("Europe/Berlin")
    write_table(pl.DataFrame({"at": moment, "age": [1]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "at,age\n2020-07-02T01:04:05Z,1\n"
    assert read_table(tmp_path / "t.csv")["at"].to_list() == [dt.datetime(2020, 7, 2, 1, 4, 5)]


def test_times_of_day_come_back_from_sqlite(tmp_path):
    rows = pl.DataFrame({"seen": [dt.time(7, 30), None, dt.time(23, 59, 1)]})
    write_rows(rows, str(tmp_path / "t.sqlite"), "visits")
    assert read_table(str(tmp_path / "t.sqlite"), sql="SELECT * FROM visits").equals(rows)
