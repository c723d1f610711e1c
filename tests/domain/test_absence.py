"""A number or a reason: read, written back, and kept apart from the numbers."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import ColumnError, Schema, SchemaError
from shoal.conform import as_written, prepare
from shoal.domain import Axis
from shoal.domain.absence import coded, numbers, written
from shoal.encode import Encoder
from shoal.schema import Column

CODES = {-8: "not applicable", "N": "refused"}
INCOME = Column(name="income", role="quasi", kind="numeric", missing="level", missing_codes=CODES)
CELLS = st.lists(st.one_of(st.integers(0, 9999).map(str), st.sampled_from(["-8", "N"]), st.none()), min_size=1)


@given(CELLS)
def test_what_is_read_is_written_again(cells):
    content = pl.Series("income", cells, dtype=pl.String)
    assert written(coded(content, INCOME), INCOME).to_list() == cells


@given(CELLS)
def test_numbers_are_those_cells_that_are_no_reason(cells):
    found = numbers(coded(pl.Series("income", cells, dtype=pl.String), INCOME), INCOME)
    expected = [float(cell) if cell not in (None, "-8", "N") else float("nan") for cell in cells]
    np.testing.assert_array_equal(found, expected)


def test_a_text_that_is_no_code_is_named_with_its_remedy_and_not_quoted():
    schema = Schema.of(quasi=["income"], kinds={"income": "numeric"}, missing_codes={"income": {"N": "refused"}})
    with pytest.raises(ColumnError, match="missing_codes") as error:
        prepare(pl.DataFrame({"income": ["12", "N", "SENTINEL"]}), schema)
    assert "1 values" in str(error.value)
    assert "SENTINEL" not in str(error.value)


def test_the_kind_of_a_column_of_numbers_and_codes_needs_no_declaration():
    schema = Schema.of(quasi=["income"], missing_codes={"income": {"N": "refused"}})
    assert prepare(pl.DataFrame({"income": ["12", "N", "13"]}), schema).schema["income"].kind == "numeric"


def test_codes_are_outside_the_bounds_and_no_number_is():
    schema = Schema.of(quasi=["age"], bounds={"age": (0, 120)}, missing_codes={"age": {-8: "unknown", 999: "refused"}})
    assert prepare(pl.DataFrame({"age": [3, -8, 999]}), schema).n == 3
    with pytest.raises(ColumnError, match="1 values outside"):
        prepare(pl.DataFrame({"age": [3, -8, 998]}), schema)


@pytest.mark.parametrize(("rule", "left"), [("drop", [3, 5]), (7.0, [3, 7, 7, 5]), ("median", [3, 4, 4, 5])])
def test_a_rule_for_missing_numbers_covers_the_codes(rule, left):
    schema = Schema.of(quasi=["x"], missing={"x": rule}, missing_codes={"x": {-8: "unknown"}})
    assert prepare(pl.DataFrame({"x": [3, -8, None, 5]}), schema).frame["x"].to_list() == left


def test_codes_alone_leave_an_empty_cell_without_a_rule():
    schema = Schema.of(quasi=["x"], missing_codes={"x": {-8: "unknown"}})
    with pytest.raises(ColumnError, match="1 missing"):
        prepare(pl.DataFrame({"x": [3, -8, None]}), schema)


def test_the_schema_survives_its_file(tmp_path):
    schema = Schema.of(
        quasi=["income"],
        missing={"income": "level"},
        missing_codes={"income": {-8: "not applicable", 97.5: "refused", "N": "unknown", "007": "agent"}},
        absence={"income": "both"},
        steps={"income": 5},
    )
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


@pytest.mark.parametrize("codes", [{}, {1: ""}, {1: 2}, {1: "a", "1": "b"}, ["a"]])
def test_wrong_codes_are_refused(codes):
    with pytest.raises(SchemaError, match="missing_codes"):
        Column(name="x", role="quasi", missing_codes=codes)


def prepared(values, **entries):
    schema = Schema.of(quasi=["x"], missing={"x": "level"}, missing_codes={"x": {-8: "a", -9: "b"}}, **entries)
    return prepare(pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}), schema)


VALUES = st.lists(st.one_of(st.integers(0, 200), st.sampled_from([-8, -9, None])), min_size=2, max_size=30)


@given(VALUES)
def test_codes_go_there_and_back(values):
    table = prepared(values)
    encoder = Encoder.fit(table, ["x"])
    back = encoder.decode(encoder.codes(table.frame), table.frame, table.frame)
    assert as_written(back, table.schema)["x"].to_list() == values


@given(VALUES)
def test_reasons_are_equally_far_apart_and_no_number_is_nearer(values):
    table = prepared([*values, 5, -8, -9, None])
    encoder = Encoder.fit(table, ["x"])
    points = encoder.points(encoder.codes(table.frame))
    reason = encoder.codings[0].reason(encoder.codes(table.frame)[:, 0])
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    between = [apart[i, j] for i in range(len(reason)) for j in range(i) if reason[i] != reason[j]]
    of_reasons = apart[np.ix_(reason > 0, reason > 0)]
    assert min(between) >= of_reasons.max() - 1e-9
    assert np.ptp(of_reasons[of_reasons > 1e-9]) < 1e-9


@given(VALUES)
def test_under_a_metric_a_reason_is_as_far_from_every_number(values):
    from shoal.distance import Spaces

    table = prepared([*values, 5, -8, -9, None])
    encoder = Encoder.fit(table, ["x"])
    codes = encoder.codes(table.frame)
    spaces = Spaces.fit(table.schema, encoder, codes)
    reason = encoder.codings[0].reason(codes[:, 0])
    far = [
        spaces.joint(codes[[i]], codes[[j]])[0] for i in range(len(codes)) for j in range(i) if reason[i] != reason[j]
    ]
    assert np.ptp(far) < 1e-9


def test_an_axis_has_a_cell_for_each_code_and_writes_it_again():
    column = Column(name="x", role="quasi", bounds=(0, 9), missing_codes={-8: "a", "N": "b"})
    axis = Axis.declare(column, bins=2)
    cells = axis.encode(pl.Series(["3", "-8", "N", None]))
    assert cells.tolist() == [0, 3, 4, 2]
    assert axis.decode(cells).to_list()[1:] == ["-8", "N", None]
    again = Axis.from_dict(axis.to_dict())
    assert again.encode(pl.Series(["3", "-8", "N", None])).tolist() == cells.tolist()
    assert (axis.code("N"), axis.code(-8), axis.code(3)) == (4, 3, 0)
