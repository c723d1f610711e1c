import csv
import gzip
import io
import json
import os

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import FileError, InputError, ShoalError
from shoal.files import read_table, write_table
from shoal.web import inspect, table_reading
from shoal.web.inspect import Opened, check_unchanged, open_file
from shoal.web.table_reading import whole_lines


@pytest.fixture
def file(tmp_path, people):
    path = tmp_path / "people.csv"
    people.write_csv(path)
    return path


def test_everything_is_told_and_comes_back(file):
    opened = open_file(file)
    assert (opened.n_rows, opened.n_columns, opened.stage, opened.format) == (24, 7, "full", "csv")
    assert [c.type for c in opened.columns] == ["text", "whole number", "text", "text", "text", "number", "text"]
    assert opened.columns[2].n_missing == 0
    assert opened.columns[3].n_missing == 6
    assert opened.columns[1].n_distinct == 24
    assert opened.preview[0][:3] == ["SENTINEL-0", "20", "f"]
    assert opened.preview[2][3] == ""
    assert opened.proposal["schema"]["columns"]["name"]["role"] == "identifier"
    assert opened.scan["findings"][0]["column"] == "name"
    assert opened.notes == ()
    assert Opened.from_dict(json.loads(json.dumps(opened.to_dict()))) == opened
    assert "SENTINEL" not in repr(opened)
    assert "SENTINEL" not in json.dumps(opened.slim().to_dict())


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "dta", "sav", "xpt"])
def test_every_format(tmp_path, people, ending):
    path = tmp_path / f"people.{ending}"
    write_table(people, path)
    opened = open_file(path, keep=tmp_path)
    assert (opened.n_rows, opened.n_columns) == (24, 7)
    source = table_reading.source_of(opened)
    assert source.frame.equals(read_table(path))
    path.with_name("again").mkdir()
    (tmp_path / "kept" / "table.arrow").unlink()
    assert table_reading.source_of(opened).frame.equals(source.frame)
    assert table_reading.source_of(opened).labels == source.labels


def test_labels_are_kept(tmp_path):
    import pyreadstat

    path = tmp_path / "x.sav"
    frame = pl.DataFrame({"sex": [1, 2, 1], "age": [30, 40, 50]})
    pyreadstat.write_sav(
        frame, str(path), column_labels={"sex": "Sex"}, variable_value_labels={"sex": {1: "f", 2: "m"}}
    )
    source = table_reading.source_of(open_file(path, keep=tmp_path))
    assert source.labels.values["sex"] == {1: "f", 2: "m"}
    assert source.labels.columns == {"sex": "Sex"}


def test_reading_as_asked(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("größe;name\n1,5;Ä\n2,5;Ö\n".encode("cp1252"))
    opened = open_file(path, delimiter=";", encoding="cp1252", decimal=",")
    assert [c.type for c in opened.columns] == ["number", "text"]
    assert opened.asked == {"delimiter": ";", "encoding": "cp1252", "decimal": ","}
    assert table_reading.source_of(opened).frame["name"].to_list() == ["Ä", "Ö"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_first_stage_begins_as_the_whole(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(table_reading, "LARGE", 1)
    monkeypatch.setattr(table_reading, "HEAD_BYTES", 4000)
    frame = pl.DataFrame(
        {"age": [i % 90 for i in range(3000)], "note": [f'a "quoted"\nnote, {i}' for i in range(3000)]}
    )
    path = tmp_path / f"x.{ending}"
    write_table(frame, path)
    stages = []
    full = open_file(path, tell=stages.append)
    (first,) = stages
    assert (first.stage, first.n_rows, first.proposal) == ("preview", None, None)
    assert first.preview == full.preview
    assert [c.name for c in first.columns] == [c.name for c in full.columns]
    assert first.is_same(full)
    assert first.format == full.format


def test_first_stage_never_fails_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(table_reading, "LARGE", 1)
    monkeypatch.setattr(table_reading, "HEAD_BYTES", 64)
    stages = []
    utf16 = tmp_path / "wide.csv"
    utf16.write_bytes(("age,sex\n" + "30,f\n" * 100).encode("utf-16"))
    assert open_file(utf16, tell=stages.append).n_rows == 100
    one_line = tmp_path / "long.csv"
    one_line.write_text("a" * 200 + ",b\n1,2\n")
    assert open_file(one_line, tell=stages.append).n_rows == 1
    assert stages == []


@given(st.lists(st.lists(st.text('a"\n, ', max_size=5), min_size=2, max_size=2), max_size=8), st.integers(0, 120))
def test_whole_lines_cut_between_records(rows, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode()
    part = whole_lines(data[:size])
    assert data.startswith(part)
    read = list(csv.reader(io.StringIO(part.decode(), newline="")))
    assert read == rows[: len(read)]


def _wide(path, n, delimiter=","):
    lines = [delimiter.join(f"c{i}" for i in range(n)), *(delimiter.join(["1"] * n) for _ in range(3))]
    path.write_text("\n".join(lines) + "\n")


def test_many_columns_are_shown_in_part(tmp_path):
    path = tmp_path / "wide.csv"
    _wide(path, 120)
    opened = open_file(path)
    assert (opened.n_rows, opened.n_columns, len(opened.columns)) == (3, 120, 120)
    assert len(opened.preview[0]) == len(opened.preview_columns) == 50
    assert opened.notes == ("The preview shows the first 50 of 120 columns.",)
    assert len(opened.proposal["schema"]["columns"]) == 120


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_ten_thousand_columns_are_refused_before_they_are_read(tmp_path, monkeypatch, ending):
    path = tmp_path / f"wide.{ending}"
    if ending == "parquet":
        pl.DataFrame({f"c{i}": [1] for i in range(10_000)}).write_parquet(path)
    else:
        _wide(path, 10_000, "," if ending == "csv" else "\t")
    monkeypatch.setattr("shoal.files.read_source", None)
    with pytest.raises(InputError, match=r"at most 3,000 columns; got 10,000. Keep only the columns"):
        open_file(path)


def test_too_many_columns_by_the_table_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect, "MOST_COLUMNS", 3)
    path = tmp_path / "wide.dta"
    write_table(pl.DataFrame({name: [1, 2] for name in "abcd"}), path)
    with pytest.raises(InputError, match=r"at most 3 columns; got 4"):
        open_file(path)


def test_large_tables_are_sampled_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect, "MOST_CELLS", 100)
    path = tmp_path / "x.csv"
    pl.DataFrame({"age": list(range(300)), "sex": ["f", "m"] * 150}).write_csv(path)
    opened = open_file(path)
    assert opened.n_rows == 300
    assert opened.notes == ("The proposal and the identifier scan used 50 of 300 rows, evenly spaced.",)


def _truncated(path):
    pl.DataFrame({"age": list(range(5000))}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])


def _cut_gzip(path):
    path.write_bytes(gzip.compress(b"age,sex\n" + b"30,f\n" * 500)[:-20])


BAD = {
    "wrong ending": ("people.docx", lambda path: path.write_text("a,b\n1,2\n"), FileError),
    "no ending": ("people", lambda path: path.write_text("a,b\n1,2\n"), FileError),
    "truncated parquet": ("people.parquet", _truncated, FileError),
    "text as parquet": ("people.parquet", lambda path: path.write_text("a,b\n1,2\n"), FileError),
    "binary junk": ("people.csv", lambda path: path.write_bytes(bytes(range(256)) * 40), FileError),
    "parquet as csv": ("people.csv", lambda path: pl.DataFrame({"a": [1]}).write_parquet(path), FileError),
    "cut gzip": ("people.csv.gz", _cut_gzip, FileError),
    "empty": ("people.csv", lambda path: path.write_text(""), FileError),
    "empty parquet": ("people.parquet", lambda path: path.write_bytes(b""), FileError),
    "header only": ("people.csv", lambda path: path.write_text("age,sex\n"), InputError),
    "ragged": ("people.csv", lambda path: path.write_text("age,sex\n1,f,3\n2,m\n"), InputError),
    "junk as spss": ("people.sav", lambda path: path.write_bytes(b"SENTINEL" * 100), FileError),
    "junk as sas": ("people.sas7bdat", lambda path: path.write_bytes(b"SENTINEL" * 100), FileError),
    "a folder": ("people.csv", lambda path: path.mkdir(), FileError),
    "a pipe": ("people.csv", os.mkfifo, FileError),
    "nothing": ("people.csv", lambda path: None, FileError),
    "lists": ("people.parquet", lambda path: pl.DataFrame({"a": [[1], [2]]}).write_parquet(path), InputError),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_files(tmp_path, monkeypatch, case):
    monkeypatch.setattr(table_reading, "LARGE", 0)
    name, write, kind = BAD[case]
    path = tmp_path / name
    write(path)
    with pytest.raises(kind) as caught:
        open_file(path, tell=lambda opened: None)
    assert "SENTINEL" not in str(caught.value)


def test_a_file_that_changes(file):
    opened = open_file(file)
    check_unchanged(opened)
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b" \n")
    with pytest.raises(InputError, match="has changed since it was opened. Open it again"):
        check_unchanged(opened)
    with pytest.raises(InputError, match="changed"):
        table_reading.source_of(opened)
    file.unlink()
    with pytest.raises(ShoalError):
        check_unchanged(opened)


def test_a_file_that_changes_while_it_is_read(file, monkeypatch):
    read = inspect.stamp_of
    stamps = iter([{"size": 1}, None])
    monkeypatch.setattr(inspect, "stamp_of", lambda path: next(stamps) or read(path))
    with pytest.raises(InputError, match="changed"):
        open_file(file)


def test_a_full_disk_does_not_stop_the_look(file, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    opened = open_file(file, keep=tmp_path)
    assert opened.copy is None
    assert opened.n_rows == 24


@pytest.fixture
def coded_file(tmp_path):
    """An SPSS file that declares −8 and −9 missing, in one column each."""
    import pyreadstat

    path = tmp_path / "x.sav"
    frame = pl.DataFrame({"income": [*range(1000, 1040), -8, -8], "visits": [*range(40), -9, -9]})
    labels = {"income": {-8: "refused"}}
    ranges = {"income": [-8], "visits": [-9]}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, missing_ranges=ranges)
    return path


@pytest.mark.parametrize("kept", [True, False])
def test_codes_of_a_statistical_file_come_where_the_schema_has_them(tmp_path, coded_file, kept):
    opened = open_file(coded_file, keep=tmp_path if kept else None)
    columns = opened.proposal["schema"]["columns"]
    assert columns["income"]["missing_codes"] == {"-8": "refused"}
    assert columns["visits"]["missing_codes"] == {"-9": "unknown"}
    assert [column.n_missing for column in opened.columns] == [2, 2]
    for coded in ((), ("income",), ("income", "visits")):
        source = table_reading.source_of(opened, coded)
        assert source.frame.equals(read_table(coded_file, codes=coded))
        assert set(source.labels.missing) == set(coded)
    assert table_reading.column_of(opened, "income").null_count() == 2
