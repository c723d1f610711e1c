"""Rules between columns: words in and out, and which rows break them."""

import polars as pl
import pytest

from shoal.errors import SchemaError
from shoal.schema import Schema
from shoal.schema.constraint import Rule

NEWBORN = {"when": {"admission": ["newborn"]}, "then": {"age": {"max": 0.0}}}
NEVER = {"never": {"sex": ["male"], "diagnosis": ["pregnancy", "birth"]}}


def columns(**given):
    return {name: pl.Series(name, values) for name, values in given.items()}


def test_when_and_then():
    rule = Rule.from_dict(NEWBORN)
    table = columns(admission=["newborn", "newborn", "urgent", None], age=[0, 3, 50, 7])
    assert rule.broken(table).tolist() == [False, True, False, False]


def test_a_missing_value_meets_no_condition():
    rule = Rule.from_dict(NEWBORN)
    assert rule.broken(columns(admission=["newborn"], age=[None])).tolist() == [True]


def test_never():
    table = columns(sex=["male", "male", "female"], diagnosis=["pregnancy", "flu", "birth"])
    assert Rule.from_dict(NEVER).broken(table).tolist() == [True, False, False]


@pytest.mark.parametrize(("values", "level"), [([1, 0], 1), ([1.0, 0.0], 1), ([True, False], True), (["1", "0"], 1)])
def test_levels_compare_as_they_are_written(values, level):
    rule = Rule.from_dict({"never": {"a": [level]}})
    assert rule.broken(columns(a=values)).tolist() == [True, False]


@pytest.mark.parametrize("words", [NEWBORN, NEVER])
def test_words_there_and_back(words):
    assert Rule.from_dict(words).to_dict() == words


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"when": {"a": [1]}},
        {"then": {"a": [1]}},
        {"when": {}, "then": {"a": [1]}},
        {"never": {"a": []}},
        {"never": {"a": {"low": 1}}},
        {"never": {"a": {"min": 2, "max": 1}}},
        {"never": {"a": {"min": "x"}}},
        {"never": {"a": [[1]]}},
    ],
)
def test_wrong_words(words):
    with pytest.raises(SchemaError):
        Rule.from_dict(words)


def test_a_schema_carries_rules_and_checks_their_columns(tmp_path):
    schema = Schema.of(quasi=["admission", "age"], rules=[NEWBORN])
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    assert schema.released.rules == schema.rules
    with pytest.raises(SchemaError, match="'age'"):
        Schema.of(quasi=["admission"], rules=[NEWBORN])


def test_entries_of_a_column_survive_the_file(tmp_path):
    schema = Schema.of(
        quasi=["age", "zip"],
        edges={"age": [0, 18, 65, 120]},
        hierarchies={"zip": {"kind": "prefix", "keep": [3, 1]}},
        metrics={"zip": "nominal"},
    )
    schema.write(tmp_path / "schema.toml")
    again = Schema.read(tmp_path / "schema.toml")
    assert again == schema
    assert again["zip"].metric == {"kind": "nominal"}


def test_a_named_file_becomes_rows_of_the_schema(tmp_path):
    (tmp_path / "zip.csv").write_text("53703;537**;*\n53711;537**;*\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(
        '[columns.zip]\nrole = "quasi"\nhierarchy = { kind = "tree", file = "zip.csv" }\n', encoding="utf-8"
    )
    words = Schema.read(tmp_path / "schema.toml")["zip"].hierarchy
    assert words == {"kind": "tree", "rows": [["53703", "537**", "*"], ["53711", "537**", "*"]]}


@pytest.mark.parametrize("edges", [[1], [1, 1], [2, 1], ["a", "b"]])
def test_wrong_edges(edges):
    with pytest.raises(SchemaError, match="edges"):
        Schema.of(quasi=["age"], edges={"age": edges})


ORDER = {"order": ["born", "admitted", "left"]}
SUM = {"sum": {"wages": 1.0, "rent": 1.0, "income": -1.0}, "equals": 0.0}
BETWEEN = {"when": {"kind": ["total"]}, "sum": {"a": 1.0, "b": -2.0}, "min": 0.0, "max": 5.0}
ABSENT = {"when": {"single": ["yes"]}, "then": {"married": {"absent": True}}}


@pytest.mark.parametrize("words", [ORDER, SUM, BETWEEN, ABSENT])
def test_words_of_comparisons_there_and_back(words):
    assert Rule.from_dict(words).to_dict() == words


def test_dates_stand_in_order_where_they_are_there():
    table = columns(
        born=["1990-01-01"] * 4, admitted=["2020-01-01", "1980-01-01", None, "2020-01-01"], left=["2020-01-02"] * 4
    )
    dates = {name: content.str.to_date() for name, content in table.items()}
    for given in (table, dates):
        assert Rule.from_dict(ORDER).broken(given).tolist() == [False, True, False, False]


def test_sums_hold_to_rounding():
    table = columns(wages=[0.1, 1.0, None], rent=[0.2, 1.0, 1.0], income=[0.3, 3.0, 9.0])
    assert Rule.from_dict(SUM).broken(table).tolist() == [False, True, False]


def test_sums_hold_when_their_condition_does():
    table = columns(kind=["total", "total", "part"], a=[9, 20, 20], b=[3, 3, 3])
    assert Rule.from_dict(BETWEEN).broken(table).tolist() == [False, True, False]


def test_a_code_is_absent_and_no_number():
    table = columns(single=["yes", "yes", "yes"], married=[-8, None, 1980])
    assert Rule.from_dict(ABSENT).broken(table, {"married": (-8,)}).tolist() == [False, False, True]
    low = Rule.from_dict({"never": {"married": {"max": 0}}})
    assert low.broken(table, {"married": (-8,)}).tolist() == [False, False, False]
    assert low.broken(table).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "words",
    [{"order": ["a"]}, {"order": "ab"}, {"sum": {}, "equals": 0}, {"sum": {"a": "x"}, "equals": 0}, {"sum": {"a": 1}},
     {"sum": {"a": 1}, "equals": 0, "min": 1}, {"order": ["a", "b"], "then": {"a": [1]}}],
)  # fmt: skip
def test_wrong_comparisons(words):
    with pytest.raises(SchemaError):
        Rule.from_dict(words)
