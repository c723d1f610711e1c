"""Tables in and out of files: nothing lost, nothing half-written, nothing quoted."""

import datetime as dt
import gzip
import hashlib
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.errors import FileError, InputError, ParameterError
from shoal.files import Labels, Source, read_source, read_table, sha256, write_table, write_text

SENTINEL = "SENTINEL-CELL"
DELIMITED = ["csv", "tsv", "csv.gz", "tsv.gz"]
STATISTICAL = ["dta", "sav", "zsav", "xpt"]


def written(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_text(tmp_path, content, name="table.csv", **options):
    return read_table(written(tmp_path, content, name), **options)


@pytest.fixture
def survey():
    return pl.DataFrame(
        {
            "sex": [1, 2, None, 2],
            "cost": [0.1, None, 1e-7, 123456.789],
            "town": ["Alba", None, "Bön,y", 'C"o\nve'],
            "born": [dt.date(1950, 1, 2), None, dt.date(2001, 12, 31), dt.date(1999, 2, 28)],
        }
    )


# Types of delimited text


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "", "3"], [1, None, 3]),
        (["1", " ", " 3"], [1, None, 3]),
        (["9223372036854775807"], [9223372036854775807]),
        (["9223372036854775808"], ["9223372036854775808"]),
        (["1.5", "2", "-.5", "3.", "1e-7", "1E+20"], [1.5, 2.0, -0.5, 3.0, 1e-7, 1e20]),
        (["1.5", "12345678901234567"], ["1.5", "12345678901234567"]),
        (["1.5", "1e999"], ["1.5", "1e999"]),
        (["1E50", "5E10"], ["1E50", "5E10"]),
        (["01301", "10001"], ["01301", "10001"]),
        (["00", "1"], ["00", "1"]),
        (["-01", "2"], ["-01", "2"]),
        (["+1", "2"], ["+1", "2"]),
        (["1", "NA"], ["1", "NA"]),
        (["None", "null", "nan"], ["None", "null", "nan"]),
        (["NaN", "NaN"], ["NaN", "NaN"]),
        (["1", "-inf"], [1.0, float("-inf")]),
        (["true", "", "false"], [True, None, False]),
        (["TRUE", "False"], [True, False]),
        (["T", "F"], ["T", "F"]),
        (["2020-02-29", ""], [dt.date(2020, 2, 29), None]),
        (["2020-02-30"], ["2020-02-30"]),
        (["2020-02-29T10:11:12", "2020-02-29 10:11:12.5"], None),
        (["01/02/2020"], ["01/02/2020"]),
        (["1,5"], [1.5]),
        (["1,234", "5,678"], ["1,234", "5,678"]),
        (["٣"], ["٣"]),
    ],
)
def test_type_keeps_every_cell(tmp_path, cells, values):
    content = "cell;more\n" + "".join(f"{cell};x\n" for cell in cells)
    column = read_text(tmp_path, content, delimiter=";")["cell"]
    if values is None:
        values = [dt.datetime(2020, 2, 29, 10, 11, 12), dt.datetime(2020, 2, 29, 10, 11, 12, 500_000)]
    assert column.to_list() == values


def test_nan_in_a_column_of_numbers_is_a_number(tmp_path):
    column = read_text(tmp_path, "a,b\n1,x\nNaN,y\n")["a"]
    assert column.dtype == pl.Float64
    assert np.isnan(column[1])


def test_late_text_makes_the_column_text_and_loses_nothing(tmp_path):
    numbers = [str(i) for i in range(30_000)]
    column = read_text(tmp_path, "a,b\n" + "".join(f"{n},1\n" for n in numbers) + "late,1\n")["a"]
    assert column.to_list() == [*numbers, "late"]


def test_named_columns_stay_text(tmp_path):
    frame = read_text(tmp_path, "ward,n\n1,1\n2,2\n", text=["ward"])
    assert frame.to_dict(as_series=False) == {"ward": ["1", "2"], "n": [1, 2]}


def test_decimal_comma_is_read_where_it_is_named(tmp_path):
    content = "cost;n;text\n1,5;1;1.000\n-2;2;2\n"
    frame = read_text(tmp_path, content, decimal=",")
    assert frame.to_dict(as_series=False) == {"cost": [1.5, -2.0], "n": [1, 2], "text": ["1.000", "2"]}


# Delimiters, encodings, quotes


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(tmp_path, delimiter):
    content = f'a{delimiter}b{delimiter}c\n1,5{delimiter}"x;y"{delimiter}z\n'.replace(
        "1,5", "15" if "," in delimiter else "1,5"
    )
    path = tmp_path / "t.csv"
    path.write_text(content)
    source = read_source(path)
    assert source.delimiter == delimiter
    assert source.frame.columns == ["a", "b", "c"]


def test_tab_is_the_delimiter_of_tsv(tmp_path):
    assert read_text(tmp_path, "a,b\tc\n1,2\t3\n", "t.tsv").columns == ["a,b", "c"]


def test_given_delimiter_wins(tmp_path):
    assert read_text(tmp_path, "a:b,c\n1:2,3\n", delimiter=":").columns == ["a", "b,c"]


def test_table_of_one_column(tmp_path):
    assert read_text(tmp_path, "age\n1\n2\n")["age"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
    ],
)
def test_encoding_is_found(tmp_path, encoding, found):
    content = "größe,ort\n1,Köln\n2,Liège\n" + "3,plain\n" * 20
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode(encoding))
    source = read_source(path)
    assert source.encoding == found
    assert source.frame.columns == ["größe", "ort"]
    assert source.frame["ort"].to_list()[:2] == ["Köln", "Liège"]
    again = read_source(path, encoding=source.encoding, delimiter=source.delimiter)
    assert_frame_equal(again.frame, source.frame)


def test_bytes_that_windows_leaves_open_are_latin(tmp_path):
    assert read_text(tmp_path, b"a,b\n\x81\xe9,1\n")["a"].to_list() == ["\x81é"]


def test_given_encoding_wins(tmp_path):
    assert read_text(tmp_path, "a,b\nŁódź,1\n".encode("cp1250"), encoding="cp1250")["a"].to_list() == ["Łódź"]


def test_quotes_line_breaks_and_line_ends(tmp_path):
    content = 'a,b\r\n"x, ""y""",1\r\n"two\nlines",2\r\n\r\n5\'10",3\r\n'
    frame = read_text(tmp_path, content)
    assert frame["a"].to_list() == ['x, "y"', "two\nlines", "5'10\""]
    assert frame["b"].to_list() == [1, 2, 3]


def test_old_line_ends_and_no_last_line_end(tmp_path):
    assert read_text(tmp_path, "a,b\r1,2\r3,4")["b"].to_list() == [2, 4]


def test_quoted_empty_cell_is_missing(tmp_path):
    frame = read_text(tmp_path, '"a","b"\n"1",""\n"","x"\n')
    assert frame.rows() == [(1, None), (None, "x")]


def test_header_alone_is_a_table_without_rows(tmp_path):
    for content in ("a,b\n", "a,b"):
        frame = read_text(tmp_path, content)
        assert (frame.columns, frame.height) == (["a", "b"], 0)


def test_gzip(tmp_path):
    assert read_text(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz").rows() == [(1, 2)]


def test_gzip_holds_no_clock_and_no_name(tmp_path):
    write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.csv.gz")
    head = (tmp_path / "t.csv.gz").read_bytes()[:10]
    assert head[3:8] == b"\x00" * 5  # no flags (so no name), no time


def test_source_says_what_was_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"name;n\n" + SENTINEL.encode() + b";1\n")
    source = read_source(path)
    assert (source.path, source.format, source.delimiter, source.encoding) == (str(path), "csv", ";", "utf-8")
    assert source.labels is None
    assert source.sha256 == sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert SENTINEL not in repr(source)


# Unusable files


BAD_TEXTS = {
    "empty": (b"", "header line and rows"),
    "blank": (b"\n\r\n  \n", "header line and rows"),
    "short line": (f"a,b\n1,2\n{SENTINEL}\n".encode(), "every line must have 2 cells"),
    "long line": (f"a,b\n1,2\n3,4,{SENTINEL}\n".encode(), "every line must have 2 cells"),
    "name twice": (b"a,b,a\n1,2,3\n", "one name for columns 1 and 3"),
    "no name": (b"a,,b\n1,2,3\n", "every column must have a name; got none for column 2"),
    "row names twice": (b",row_names,b\n1,2,3\n", "every column must have a name; got none for column 1"),
    "short header": (f"a,b\n1,2,{SENTINEL}\n1,2,3,4\n".encode(), "every line must have 2 cells"),
    "no header": (f"1,2\n3,4\n5,{SENTINEL}\n".encode(), "first line must hold the column names"),
    "open quote": (f'a,b\n1,2\n3,"{SENTINEL}\n4,5\n'.encode(), "every quote must be closed"),
    "nulls": (f"a,b\n1,{SENTINEL}\x00\n".encode(), "must be text"),
    "binary": (np.random.default_rng(1).bytes(4000), "must be text"),
    "parquet inside": (b"PAR1\x15\x04\x15\x10" * 50, "must be text"),
}


@pytest.mark.parametrize(("content", "rule"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_unusable_text_is_an_error_without_a_cell(tmp_path, content, rule):
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, content)
    assert rule in str(caught.value)
    assert "table.csv" in str(caught.value)
    assert SENTINEL not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("header", [",age,sex", '"","age","sex"', "age,sex", " ,age,sex"])
def test_a_first_column_without_a_name_is_one_of_row_names(tmp_path, header):
    source = read_source(written(tmp_path, f"{header}\n1,30,f\n2,41,m\n"))
    assert source.frame.columns == ["row_names", "age", "sex"]
    assert source.names_rows
    assert source.frame["row_names"].to_list() == [1, 2]


def test_row_names_are_proposed_as_an_identifier(tmp_path):
    lines = "".join(f"{i},{20 + i % 40},{'fm'[i % 2]}\n" for i in range(100))
    frame = read_text(tmp_path, f",age,sex\n{lines}")
    assert shoal.Schema.infer(frame).identifier == ("row_names",)


def test_named_columns_stay(tmp_path):
    source = read_source(written(tmp_path, "age,sex\n30,f\n41,m\n"))
    assert source.frame.columns == ["age", "sex"]
    assert not source.names_rows


def test_ragged_line_is_named_by_its_place(tmp_path):
    with pytest.raises(InputError, match="got 3 in line 3, and 1 more such line"):
        read_text(tmp_path, "a,b\n1,2\n3,4,5\n6\n")


@pytest.mark.parametrize("name", ["t.docx", "t", "t.json", "t.csv.rar"])
def test_unknown_ending_is_an_error(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="extension must be a supported format"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "dta", "sas7bdat"])
def test_file_out_of_reach_is_an_error(tmp_path, ending):
    with pytest.raises(FileError, match="no such file"):
        read_table(tmp_path / f"absent.{ending}")
    (tmp_path / f"folder.{ending}").mkdir()
    with pytest.raises(FileError, match="with at least one file"):
        read_table(tmp_path / f"folder.{ending}")


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "sas7bdat", "xpt", "ssp", "dta", "sav"])
def test_junk_is_an_error_that_names_the_file(tmp_path, ending):
    path = tmp_path / f"junk.{ending}"
    path.write_bytes(SENTINEL.encode() * 200)
    with pytest.raises(FileError, match="junk") as caught:
        read_table(path)
    assert SENTINEL not in str(caught.value)


def test_cport_file_gets_its_own_hint(tmp_path):
    path = tmp_path / "h251.ssp"
    path.write_bytes(b"**COMPRESSED** " * 100)
    with pytest.raises(FileError, match="CPORT"):
        read_table(path)


def test_wrong_options_are_errors(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nö,1\n".encode("latin-1"))
    with pytest.raises(ParameterError, match="delimiter must be one"):
        read_table(path, delimiter="::")
    with pytest.raises(ParameterError, match="decimal must be"):
        read_table(path, decimal="'")
    with pytest.raises(ParameterError, match="encoding must be supported by Python"):
        read_table(path, encoding="utf-99")
    with pytest.raises(FileError, match="must be text encoded in utf-8"):
        read_table(path, encoding="utf-8")
    write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="delimiter must be omitted"):
        read_table(tmp_path / "t.parquet", delimiter=",")


def test_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    (tmp_path / "t.dta").write_bytes(b"x")
    with pytest.raises(FileError, match=r"pip install 'shoal\[formats\]'"):
        read_table(tmp_path / "t.dta")
    with pytest.raises(FileError, match=r"pip install 'shoal\[formats\]'"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "u.sav")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.dta"]


# Round trips


@pytest.mark.parametrize("ending", [*DELIMITED, "parquet", *STATISTICAL])
def test_table_comes_back(tmp_path, survey, ending):
    path = tmp_path / f"t.{ending}"
    write_table(survey, path)
    assert_frame_equal(read_table(path), survey)
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


LETTERS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t")
TEXTS = st.text(LETTERS, max_size=8).map("x".__add__)
CELLS = {
    "text": st.none() | TEXTS,
    "real": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
    "truth": st.none() | st.booleans(),
    "day": st.none() | st.dates(),
    "moment": st.none() | st.datetimes(min_value=dt.datetime(1900, 1, 1), max_value=dt.datetime(2200, 1, 1)),
}


@st.composite
def frames(draw, cells):
    n = draw(st.integers(1, 6))
    columns = {f"{name}": draw(st.lists(kind, min_size=n, max_size=n)) for name, kind in cells.items()}
    frame = pl.DataFrame(columns, schema_overrides={"text": pl.String, "real": pl.Float64, "whole": pl.Int64})
    return frame.select(draw(st.permutations(frame.columns)))


def blank_columns_are_text(frame):
    """What delimited text can say of a column without any cell."""
    return frame.with_columns(pl.col(c).cast(pl.String) for c in frame.columns if frame[c].null_count() == len(frame))


@given(frame=frames(CELLS), ending=st.sampled_from(DELIMITED), delimiter=st.sampled_from([None, ";", "|"]))
def test_delimited_text_keeps_every_cell(tmp_path_factory, frame, ending, delimiter):
    path = tmp_path_factory.mktemp("t") / f"t.{ending}"
    write_table(frame, path, delimiter=delimiter)
    # Whole numbers that happen to be written in a column of reals stay reals: a point is always written.
    assert_frame_equal(read_table(path, delimiter=delimiter), blank_columns_are_text(frame), check_exact=True)


@given(frame=frames(CELLS))
def test_parquet_keeps_every_cell(tmp_path_factory, frame):
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    write_table(frame, path)
    assert_frame_equal(read_table(path), frame, check_exact=True)


@given(
    frame=frames(
        {
            "text": st.none() | st.text("abcé年 ", min_size=1, max_size=300).map(lambda text: f"{text}."),
            "real": st.none() | st.floats(-1e70, 1e70).filter(lambda x: abs(x) > 1e-70),
            "whole": st.none() | st.integers(-(2**53), 2**53),
            "day": st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1)),
        }
    ),
    ending=st.sampled_from(STATISTICAL),
)
def test_statistical_files_keep_every_number(tmp_path_factory, frame, ending):
    path = tmp_path_factory.mktemp("t") / f"t.{ending}"
    write_table(frame, path)
    back = read_table(path)
    assert back.columns == frame.columns
    for column in frame:
        assert back[column.name].to_list() == column.to_list()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1, unique=True))
def test_names_come_back(tmp_path_factory, names):
    names = [f"v{name}" for name in names]
    path = tmp_path_factory.mktemp("t")
    for ending in ("csv", "parquet"):
        write_table(pl.DataFrame({name: [1, None] for name in names}), path / f"t.{ending}")
        assert read_table(path / f"t.{ending}", delimiter="," if ending == "csv" else None).columns == names


def test_empty_text_and_nan_are_missing_in_text_files(tmp_path):
    frame = pl.DataFrame({"a": ["", "x"], "b": [float("nan"), 1.5]})
    for ending in ["csv", *STATISTICAL]:
        write_table(frame, tmp_path / f"t.{ending}")
        assert read_table(tmp_path / f"t.{ending}").rows() == [(None, None), ("x", 1.5)]


def test_missing_cells_of_one_column_are_rows(tmp_path):
    for values in ([None, 1, None], [None, "x", None]):
        write_table(pl.DataFrame({"a": values}), tmp_path / "t.csv")
        assert read_table(tmp_path / "t.csv")["a"].to_list() == values


@pytest.mark.parametrize("ending", [*DELIMITED, "parquet", *STATISTICAL])
def test_same_frame_gives_the_same_bytes(tmp_path, survey, ending, monkeypatch):
    path = tmp_path / f"t.{ending}"
    digests = set()
    for chunked in (survey, pl.concat([survey[:1], survey[1:]], rechunk=False)):
        write_table(chunked, path, labels=Labels(columns={"sex": "Sex"}))
        digests.add(sha256(path))
    assert len(digests) == 1


@pytest.mark.parametrize(("ending", "clock"), [("dta", b"01 Jan 1970"), ("sav", b"01 Jan 70"), ("xpt", b"01JAN70")])
def test_statistical_files_hold_no_clock(tmp_path, survey, ending, clock):
    path = tmp_path / f"t.{ending}"
    write_table(survey, path)
    content = path.read_bytes()
    assert clock in content
    assert str(dt.date.today().year).encode() not in content[:300]


# Labels


LABELS = Labels(
    columns={"sex": "Sex of the person", "cost": "Yearly cost", "gone": "no such column"},
    values={"sex": {1: "Male", 2: "Female"}, "cost": {0: "Nothing"}, "gone": {1: "x"}, "town": {"Alba": "A town"}},
)


@pytest.mark.parametrize("ending", ["dta", "sav", "zsav"])
def test_labels_come_back(tmp_path, survey, ending):
    path = tmp_path / f"t.{ending}"
    write_table(survey, path, labels=LABELS)
    labels = read_source(path).labels
    assert labels.columns == {"sex": "Sex of the person", "cost": "Yearly cost"}
    assert labels.values["sex"] == {1: "Male", 2: "Female"}
    assert set(labels.values) == {"sex"} | ({"town"} if ending != "dta" else set())
    assert b"no such column" not in path.read_bytes()


def test_sas_keeps_variable_labels_only(tmp_path, survey):
    path = tmp_path / "t.xpt"
    write_table(survey, path, labels=LABELS)
    assert read_source(path).labels == Labels(columns={"sex": "Sex of the person", "cost": "Yearly cost"})


def test_long_names_and_texts_take_the_newer_sas_version(tmp_path):
    frame = pl.DataFrame({"a_name_of_some_length": ["x" * 300, "y"]})
    write_table(frame, tmp_path / "t.xpt")
    assert_frame_equal(read_table(tmp_path / "t.xpt"), frame)


def test_codes_stay_codes(tmp_path, survey):
    write_table(survey, tmp_path / "t.sav", labels=LABELS)
    source = read_source(tmp_path / "t.sav")
    assert source.frame["sex"].to_list() == [1, 2, None, 2]
    assert source.frame["sex"].dtype == pl.Int64


@pytest.mark.parametrize("ending", ["csv", "parquet", *STATISTICAL])
def test_only_the_columns_asked_for_are_read(tmp_path, survey, ending):
    path = tmp_path / f"t.{ending}"
    write_table(survey, path)
    kept = read_source(path, keep=lambda name: name in ("town", "sex")).frame
    assert_frame_equal(kept, survey.select("sex", "town"))
    with pytest.raises(InputError, match="at least one of the requested columns"):
        read_source(path, keep=lambda _: False)


# What must not be written


def test_categories_that_occur_in_no_row_stay_behind(tmp_path):
    kinds = {
        "category": pl.Series(["b", SENTINEL, "b"], dtype=pl.Categorical),
        "list": pl.Series(["b", SENTINEL, "b"], dtype=pl.Enum(["b", SENTINEL])),
    }
    kept = pl.DataFrame(kinds)[[0, 2]]
    for ending in ["csv", "parquet", *STATISTICAL]:
        path = tmp_path / f"t.{ending}"
        write_table(kept, path)
        assert SENTINEL.encode() not in path.read_bytes()
        assert read_table(path).rows() == [("b", "b"), ("b", "b")]


def test_parquet_holds_no_path_and_no_pandas_words(tmp_path, survey):
    from pyarrow.parquet import read_metadata

    write_table(survey, tmp_path / "t.parquet")
    assert set(read_metadata(tmp_path / "t.parquet").metadata or {}) <= {b"ARROW:schema"}
    content = (tmp_path / "t.parquet").read_bytes()
    assert b"pandas" not in content
    assert tmp_path.name.encode() not in content


def test_nameless_pandas_index_is_no_column(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": [1, 2]}, index=[7, 9]).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").to_dict(as_series=False) == {"a": [1, 2]}


def test_repeated_name_in_parquet_is_an_error(tmp_path):
    import pyarrow as pa
    from pyarrow.parquet import write_table as write_arrow

    write_arrow(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="must be unique"):
        read_table(tmp_path / "t.parquet")


# Failing, whole or not at all


BAD_FRAMES = {
    "csv": pl.DataFrame({"a": [[1]]}),
    "parquet": pl.DataFrame({"a": [object()]}, schema={"a": pl.Object}),
    "dta": pl.DataFrame({"a b": [1]}),
    "sav": pl.DataFrame({"_a": [1]}),
    "xpt": pl.DataFrame({"a": [1e300]}),
}


@pytest.mark.parametrize(("ending", "frame"), BAD_FRAMES.items(), ids=BAD_FRAMES)
def test_failed_writing_leaves_the_old_file(tmp_path, ending, frame):
    path = tmp_path / f"t.{ending}"
    path.write_text("before")
    with pytest.raises(InputError, match=rf"t\.{ending}"):
        write_table(frame, path)
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_library_error_is_told_without_its_words(tmp_path, survey, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError(SENTINEL)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    with pytest.raises(FileError) as caught:
        write_table(survey, tmp_path / "t.parquet")
    assert SENTINEL not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "numbers", [{"a": [2**53 + 1]}, {"a": [1e308, 1.0]}, {"a": [float("inf"), 1.0]}], ids=["whole", "real", "infinite"]
)
def test_number_that_a_format_would_change_is_an_error(tmp_path, numbers):
    for ending in STATISTICAL:
        with pytest.raises(FileError, match="'a' holds numbers too big"):
            write_table(pl.DataFrame(numbers), tmp_path / f"t.{ending}")


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.UInt64, pl.Int32, pl.Float32, pl.Decimal(10, 2), pl.Boolean])
def test_numbers_of_every_type_are_written(tmp_path, dtype):
    frame = pl.DataFrame({"a": [1, None, 0]}).cast(dtype)
    for ending in [*DELIMITED, "parquet", *STATISTICAL]:
        write_table(frame, tmp_path / f"t.{ending}")
        assert read_table(tmp_path / f"t.{ending}")["a"].to_list() == [1, None, 0]


def test_writing_out_of_reach_is_an_error(tmp_path, survey):
    with pytest.raises(FileError, match="no such file"):
        write_table(survey, tmp_path / "absent" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="must be a file"):
        write_table(survey, tmp_path / "folder.csv")
    with pytest.raises(FileError, match=r"can't be written as \.sas7bdat"):
        write_table(survey, tmp_path / "t.sas7bdat")
    with pytest.raises(FileError, match="extension must be"):
        write_table(survey, tmp_path / "t.docx")
    with pytest.raises(InputError, match="at least one column"):
        write_table(pl.DataFrame(), tmp_path / "t.csv")


def test_text_is_written_whole_with_plain_line_ends(tmp_path):
    write_text(tmp_path / "t.txt", "a\nö\n")
    assert (tmp_path / "t.txt").read_bytes() == "a\nö\n".encode()
    with pytest.raises(FileError, match="valid Unicode"):
        write_text(tmp_path / "t.txt", "\ud800")
    assert (tmp_path / "t.txt").read_bytes() == "a\nö\n".encode()
    assert [item.name for item in tmp_path.iterdir()] == ["t.txt"]


def test_source_is_a_value_with_defaults():
    source = Source(frame=pl.DataFrame({"a": [1]}), path="t.parquet", format="parquet", labels=None, sha256="0")
    assert (source.delimiter, source.encoding, source.decimal) == (None, None, None)


@pytest.mark.parametrize("ending", ["sav", "zsav", "xpt"])
def test_texts_that_end_in_blanks_are_named_with_a_remedy(tmp_path, ending):
    table = pl.DataFrame({"town": ["Alba ", "Boro"], "job": ["cook", "clerk"], "name": ["SENTINEL ", "x"]})
    with pytest.raises(FileError, match="end in blanks.*: town, name.*Strip the blanks") as error:
        write_table(table, tmp_path / f"people.{ending}")
    assert "SENTINEL" not in str(error.value)
    assert not (tmp_path / f"people.{ending}").exists()


def test_stata_keeps_blanks(tmp_path):
    table = pl.DataFrame({"town": ["Alba ", "Boro"]})
    write_table(table, tmp_path / "people.dta")
    assert read_table(tmp_path / "people.dta").equals(table)


def test_user_missing_values_of_spss_come_in_where_the_schema_speaks_of_them(tmp_path):
    import pyreadstat

    table = pl.DataFrame({"income": [100.0, -8.0, -9.0, None], "rent": [10.0, -8.0, 20.0, 30.0]})
    ranges = {"income": [-8, {"lo": -99, "hi": -9}], "rent": [-8]}
    pyreadstat.write_sav(table, str(tmp_path / "people.sav"), missing_ranges=ranges)
    read = read_source(tmp_path / "people.sav", codes=["income"]).frame
    assert read["income"].to_list() == [100, -8, -9, None]
    assert read["rent"].to_list() == [10, None, 20, 30]
    assert read_table(tmp_path / "people.sav")["income"].to_list() == [100, None, None, None]


@pytest.mark.parametrize("codes", [(), None, ["rent"]])
def test_column_of_spss_with_user_missing_values_may_be_empty(tmp_path, codes):
    """A column that a release suppressed in every row still declares its codes; reading the file back failed."""
    table = pl.DataFrame({"income": [1.0, 2.0], "rent": pl.Series([None, None], dtype=pl.Float64)})
    write_table(table, tmp_path / "people.sav", labels=Labels(missing={"rent": (-8,)}))
    assert read_source(tmp_path / "people.sav", codes=codes).frame["rent"].to_list() == [None, None]


@pytest.mark.parametrize("ending", ["dta", "xpt"])
@pytest.mark.parametrize("long_name", ["income", "income_of_the_household"])
def test_marks_of_stata_and_sas_come_in_as_such_and_go_out_as_such(tmp_path, ending, long_name):
    path = tmp_path / f"people.{ending}"
    table = pl.DataFrame(
        {long_name: ["100", ".a", "2.5", None, ".z"], "age": [1, 2, None, 4, 5], "job": [".a", "x", None, "yy", "z"]}
    )
    labels = Labels(values={long_name: {".a": "refused"}}, missing={long_name: (".a", ".b", ".z")})
    write_table(table, path, labels=labels)
    source = read_source(path, codes=[long_name])
    assert_frame_equal(source.frame, table)
    assert source.labels.missing == {long_name: (".a", ".z")}
    assert read_source(path, codes=None).labels.missing == {long_name: (".a", ".z")}
    assert source.labels.values == ({long_name: {".a": "refused"}} if ending == "dta" else {})
    plain = read_table(path)
    assert plain[long_name].to_list() == [100.0, None, 2.5, None, None]
    assert plain["job"].to_list() == table["job"].to_list()
    assert read_table(path, codes=["age"]).equals(plain)


def test_every_letter_of_a_transport_file_is_read_as_another_reader_has_it(tmp_path):
    import string

    marks = [f".{letter}" for letter in string.ascii_lowercase]
    table = pl.DataFrame({"a": ["x"] * 27, "n": [*marks, "1"]})
    write_table(table, tmp_path / "p.xpt", labels=Labels(missing={"n": tuple(marks)}))
    cells = (tmp_path / "p.xpt").read_bytes()[-27 * 9 - (-27 * 9 % 80) :]
    assert [cells[9 * row + 1 : 9 * row + 9] for row in range(26)] == [
        letter.encode() + bytes(7) for letter in string.ascii_uppercase
    ]
    assert read_table(tmp_path / "p.xpt", codes=["n"])["n"].to_list() == table["n"].to_list()


def test_codes_for_an_absence_are_declared_missing_in_spss_files(tmp_path):
    table = pl.DataFrame({"income": [100, -8, -9, 200], "job": ["cook", "NA", "clerk", "x"], "rent": [-1, -2, -3, -4]})
    missing = {"income": (-8, -9), "job": ("NA",), "rent": (-1, -2, -3, -4)}
    labels = Labels(values={"income": {-8: "not applicable"}}, missing=missing)
    write_table(table, tmp_path / "p.sav", labels=labels)
    assert read_table(tmp_path / "p.sav").rows() == [
        (100, "cook", None),
        (None,) * 3,
        (None, "clerk", None),
        (200, "x", None),
    ]
    source = read_source(tmp_path / "p.sav", codes=None)
    assert_frame_equal(source.frame, table)
    assert source.labels.values == {"income": {-8: "not applicable"}}
    assert source.labels.missing == {"income": (-9, -8), "job": ("NA",), "rent": (-4, -3, -2, -1)}


def test_more_codes_than_spss_can_declare_are_refused(tmp_path):
    table = pl.DataFrame({"income": [1, 3, 5, 7, 2, 4, 6, 8]})
    with pytest.raises(FileError, match="'income' has more codes for an absence.*got 4 codes.*Pool"):
        write_table(table, tmp_path / "p.sav", labels=Labels(missing={"income": (1, 3, 5, 7)}))
    assert not (tmp_path / "p.sav").exists()
