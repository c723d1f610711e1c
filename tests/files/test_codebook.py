"""Codebooks: the shapes in which people write them, and what is wrong with one, all at once."""

import json
import tomllib

import polars as pl
import pytest

from shoal.errors import InputError, SchemaError
from shoal.files import Labels
from shoal.files.codebook import codebook_labels, codes_in, fitted, read_codebook
from shoal.schema.infer import propose

REDCAP = """Variable / Field Name,Field Type,Field Label,"Choices, Calculations, OR Slider Labels",Identifier?
record_id,text,Study ID,,y
sex,radio,Sex at birth,"1, Male | 2, Female | 9, Unknown",
race,checkbox,Which of these is your race?,"1, White | 2, Black, African American",
"""
NHANES = """Variable Name,SAS Label,Code or Value,Value Description
DIQ010,Doctor told you have diabetes,1,Yes
,,2,No
,,9,Don't know
DIQ040,Age when first told,1 to 79,Range of Values
DIQ040,Age when first told,999,Refused
"""


def book(tmp_path, text, name="book.csv"):
    (tmp_path / name).write_text(text)
    return read_codebook(tmp_path / name)


def test_redcap_dictionary(tmp_path):
    labels = book(tmp_path, REDCAP)
    assert labels.columns["sex"] == "Sex at birth"
    assert labels.values["sex"] == {1: "Male", 2: "Female", 9: "Unknown"}
    assert labels.values["race"][2] == "Black, African American"
    assert labels.identifiers == {"record_id"}
    mine, unused = fitted(labels, ["RECORD_ID", "race___2"])
    assert mine.columns == {"RECORD_ID": "Study ID", "race___2": "Which of these is your race? Black, African American"}
    assert (mine.identifiers, unused) == ({"RECORD_ID"}, ("sex",))


def test_one_row_for_each_code(tmp_path):
    labels = book(tmp_path, NHANES)
    assert labels.columns == {"DIQ010": "Doctor told you have diabetes", "DIQ040": "Age when first told"}
    assert labels.values == {"DIQ010": {1: "Yes", 2: "No", 9: "Don't know"}, "DIQ040": {999: "Refused"}}


@pytest.mark.parametrize(
    "content",
    [
        {"sex": {"label": "Sex", "values": {"1": "male", "2": "female"}}},
        [{"name": "sex", "description": "Sex", "codes": "1=male; 2=female"}],
        {"variables": [{"variable": "sex", "label": "Sex", "categories": ["1 = male", "2 = female"]}]},
    ],
)
def test_json(tmp_path, content):
    labels = book(tmp_path, json.dumps(content), "book.json")
    assert labels == Labels(
        columns={"sex": "Sex"}, values={"sex": {1: "male", 2: "female"}}, codebook=frozenset({"sex"})
    )
    assert book(tmp_path, json.dumps({"sex": "Sex"}), "book.json").columns == {"sex": "Sex"}


def test_workbook_and_tabs(tmp_path):
    frame = pl.DataFrame({"Column": ["age"], "Description": ["Age in years"]})
    frame.write_excel(tmp_path / "book.xlsx")
    assert read_codebook(tmp_path / "book.xlsx").columns == {"age": "Age in years"}
    assert book(tmp_path, "name\tlabel\nage\tAge\n", "book.tsv").columns == {"age": "Age"}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("1: Under 17, 2: Married, 8: Unknown", {1: "Under 17", 2: "Married", 8: "Unknown"}),
        ("Y = yes\nN = no\n.r = refused", {"Y": "yes", "N": "no", ".r": "refused"}),
        ("01=low;02=high", {"01": "low", "02": "high"}),
        ("-8) not asked|-9) no answer", {-8: "not asked", -9: "no answer"}),
        ("years", {}),
        ("", {}),
    ],
)
def test_codes_in_a_cell(text, codes):
    assert codes_in(text) == codes


def test_what_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(SchemaError, match="got 2 on several rows, such as 1, 2 and 3, 4") as caught:
        book(tmp_path, "name,label\nage,Age\nage,Age again\nsex,Sex\nsex,Sex\n")
    assert "sex" not in str(caught.value), "a table of people given by mistake has their names there"
    with pytest.raises(InputError, match="a column with the names of the variables; got the columns foo, bar"):
        book(tmp_path, "foo,bar\n1,2\n")
    with pytest.raises(InputError, match="must describe at least one column"):
        book(tmp_path, "name,label\n,x\n")
    with pytest.raises(InputError, match="must be JSON text"):
        book(tmp_path, "{", "book.json")
    with pytest.raises(InputError, match="must describe a column of the table; got none of them"):
        fitted(Labels(columns={"a": "A"}), ["b"])


def test_signs_that_break_a_schema_or_a_terminal_become_blanks(tmp_path):
    """A name with a line break wrote lines of its own into the proposed schema."""
    name = "zzz\n[columns.ghost]\nrole = 'other'\n#\x00\x1b[2J"
    text = json.dumps({"hlth": "Age\x01 of the\u2028 person", name: "x"})
    (tmp_path / "book.json").write_text(text)
    made = propose(pl.DataFrame({"hlth": [1, 2, 3] * 9}), codebook=tmp_path / "book.json")
    assert set(tomllib.loads(made.to_toml())["columns"]) == {"hlth"}
    assert "\x1b" not in made.to_toml()


@pytest.mark.parametrize(
    "entry",
    [
        {"label": "Age 1:" + "," * 50_000 + "x"},
        {"label": "Age", "values": {"1": "-" * 2_000, "2": "b"}},
        {"label": "Age", "values": "1=a" + " " * 50_000 + "b"},
        {"label": "Age", "values": {"9" * 5_000: "x", "9007199254740993": "y"}},
        {"label": float("nan"), "values": {"1": float("inf"), "2": None}},
    ],
)
def test_what_no_codebook_holds_is_read_all_the_same(entry, tmp_path):
    """Each hung for minutes, or ended with an error of Python's own."""
    (tmp_path / "book.json").write_text(json.dumps({"age": entry}))
    propose(pl.DataFrame({"age": [1, 2] * 9}), codebook=tmp_path / "book.json")


def test_json_without_end_and_texts_that_are_none(tmp_path):
    with pytest.raises(InputError, match="must be JSON text"):
        book(tmp_path, '{"a":' * 100_000, "book.json")
    assert codebook_labels({"age": 3, "sex": None}).columns == {"age": "3"}
    assert codes_in("9007199254740993 = one more than a float can hold") == {
        9007199254740993: "one more than a float can hold"
    }
