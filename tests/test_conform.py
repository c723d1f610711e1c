import numpy as np
import polars as pl
import pytest

from shoal import ColumnError, InputError, Schema, SchemaError
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.frame import series

QUASI = Schema.of(quasi=["a"])


def test_kinds_are_settled_from_the_types():
    table = pl.DataFrame(
        {"n": [1, 2], "s": ["a", "b"], "b": [True, False], "d": [None, None]},
        schema_overrides={"d": pl.Date},
    ).with_columns(e=pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "hi"])))
    schema = prepare(table, Schema.of(quasi=["n", "s", "b", "d", "e"])).schema
    assert [schema[name].kind for name in "nsbde"] == ["numeric", "nominal", "nominal", "ordinal", "ordinal"]
    assert schema["e"].levels == ("lo", "hi")


def test_a_column_without_a_role_is_named(people, people_schema):
    with pytest.raises(SchemaError, match="'extra' of the table has no role"):
        prepare(people.with_columns(extra=1), people_schema)


def test_a_column_missing_from_the_table_is_named(people, people_schema):
    with pytest.raises(SchemaError, match="'age' is not in the table"):
        prepare(people.drop("age"), people_schema)


def test_an_empty_table_is_refused(people, people_schema):
    with pytest.raises(InputError, match="at least one row"):
        prepare(people.head(0), people_schema)


def test_missing_number_without_a_rule_names_three_remedies():
    with pytest.raises(ColumnError, match="'a'.*1 missing.*drop.*median.*number"):
        prepare(pl.DataFrame({"a": [1.0, None]}), QUASI)


@pytest.mark.parametrize(("rule", "values"), [("drop", [1, 5, 9]), ("median", [1, 5, 5, 9]), (0, [1, 0, 5, 9])])
def test_missing_rules(make_frame, rule, values):
    table = make_frame(pl.DataFrame({"a": [1.0, None, 5.0, 9.0]}))
    prepared = prepare(table, Schema.of(quasi=["a"], missing={"a": rule}))
    assert prepared.frame["a"].to_list() == values
    assert prepared.n_original == 4
    assert len(prepared.rows) == len(values)
    assert len(prepared.notes) == 1


def test_all_rows_dropped_is_an_error():
    with pytest.raises(InputError, match="at least one row"):
        prepare(
            pl.DataFrame({"a": [None, None]}, schema={"a": pl.Float64}), Schema.of(quasi=["a"], missing={"a": "drop"})
        )


def test_missing_sensitive_numbers_stay():
    table = pl.DataFrame({"a": [1, 2], "y": [None, 1.0]})
    assert prepare(table, Schema.of(quasi=["a"], sensitive=["y"])).n == 2


@pytest.mark.parametrize(
    ("values", "schema", "rule"),
    [
        ([1.0, float("inf")], QUASI, "finite"),
        ([1.0, 500.0], Schema.of(quasi=["a"], bounds={"a": (0, 120)}), "within the bounds.*1 values outside"),
        (["x", "SENTINEL"], Schema.of(quasi=["a"], levels={"a": ["x", "y"]}), "only levels"),
        (["x", "SENTINEL"], Schema.of(quasi=["a"], kinds={"a": "numeric"}), "must hold numbers"),
        ([1, 2], Schema.of(quasi=["a"], levels={"a": ["one", "two"]}), "only levels.*2 values outside"),
        ([-1.0, 2.0], Schema.of(weight="a"), "at least 0"),
        ([0.0, 0.0], Schema.of(weight="a"), "not all 0"),
    ],
)
def test_content_rules(values, schema, rule):
    with pytest.raises(ColumnError, match=rule) as caught:
        prepare(pl.DataFrame({"a": values}), schema)
    assert "SENTINEL" not in str(caught.value)
    assert "500" not in str(caught.value)


def test_units_are_numbered_and_the_unknown_stand_alone():
    table = pl.DataFrame({"a": [1, 2, 3, 4, 5], "who": ["x", None, "y", "x", None]})
    units = prepare(table, Schema.of(quasi=["a"], unit="who")).units()
    assert units[0] == units[3]
    assert len(np.unique(units)) == 4


def test_no_category_stands_in_an_error():
    table = pl.DataFrame({"a": pl.Series(["SENTINEL", "x"], dtype=pl.Enum(["SENTINEL", "x"]))})
    for schema in (Schema.of(quasi=["a"], kinds={"a": "numeric"}), Schema.of(quasi=["a"], levels={"a": ["y"]})):
        with pytest.raises(ColumnError) as told:
            prepare(table, schema)
        assert "SENTINEL" not in str(told.value)


def test_levels_between_whole_numbers_are_refused():
    with pytest.raises(ColumnError, match="1 values outside"):
        prepare(pl.DataFrame({"a": [1, 2]}), Schema.of(quasi=["a"], levels={"a": [1.5, 2.0]}))
    assert prepare(pl.DataFrame({"a": [1, 2]}), Schema.of(quasi=["a"], levels={"a": [1.0, 2.0]})).n == 2


@pytest.mark.parametrize("levels", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], ["1.0", "2.0", "3"]])
@pytest.mark.parametrize(
    "values", [[1, 2, None], [1.0, 2.0, None], ["1", "2", None], ["1", "2.0", None], ["1.0", " 2", None]]
)
def test_a_level_is_the_same_whatever_its_spelling(levels, values):
    """1, 1.0 and "1" are one level; a column keeps a type that can hold the levels, so no single value changes it."""
    schema = Schema.of(quasi=["a"], levels={"a": levels}, kinds={"a": "nominal"})
    prepared = prepare(pl.DataFrame({"a": values}), schema)
    encoder = Encoder.fit(prepared, ["a"])
    assert encoder.codes(prepared.frame).ravel().tolist() == [0, 1, 3]
    assert encoder.codes(pl.DataFrame({"a": ["2", "1.0", None]})).ravel().tolist() == [1, 0, 3]
    assert encoder.codes(pl.DataFrame({"a": [2, 1, 3]})).ravel().tolist() == [1, 0, 2]
    if isinstance(values[0], str):
        assert series(prepared.frame, "a").dtype == pl.String
