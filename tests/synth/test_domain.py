import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import ColumnError, Schema, SchemaError
from shoal.domain import Domain
from shoal.errors import ProblemsError
from shoal.synth.domain import encode_table


def encoded(table, schema, **options):
    given_ = {"bins": 4, "missing": "level", "public": True, "owner": "test"}
    return encode_table(table, schema, **(given_ | options))


TABLE = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "age": [0, 37, 120, 64],
        "sex": ["f", "m", None, "f"],
        "weight_kg": [2.5, 80.0, 55.5, None],
        "free": ["x", "y", "z", "w"],
    }
)
SCHEMA = Schema.of(
    identifier=["id"],
    quasi=["age", "sex"],
    sensitive=["weight_kg"],
    other=["free"],
    levels={"sex": ["m", "f"]},
    bounds={"age": (0, 120)},
    edges={"weight_kg": [0, 10, 60, 300]},
)


def test_cells_of_each_kind():
    found = encoded(TABLE, SCHEMA)
    assert found.domain.names == ("age", "sex", "weight_kg")
    assert found.domain.sizes == (5, 3, 4)
    assert found.codes.tolist() == [[0, 1, 0], [1, 0, 2], [3, 2, 1], [2, 1, 3]]
    assert any("free: left out" in note for note in found.notes)


def test_values_come_back_into_their_cells():
    found = encoded(TABLE, SCHEMA)
    rng = np.random.default_rng(1)
    codes = found.domain.uniform(500, rng)
    rows = found.domain.decode(codes, rng)
    assert rows.schema["age"] == pl.Int64
    assert rows["age"].drop_nulls().is_between(0, 120).all()
    assert (found.domain.encode(rows) == codes).all()


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=8, unique=True).map(sorted), st.integers(0, 10**6))
def test_whole_numbers_stay_whole_and_in_their_bin(edges, seed):
    low, high = int(np.ceil(edges[0])), int(np.floor(edges[-1]))
    if low > high:
        return
    table = pl.DataFrame({"x": [low, high]})
    found = encoded(table, Schema.of(quasi=["x"], edges={"x": edges}, whole={"x": True}), missing="refuse")
    rng = np.random.default_rng(seed)
    codes = found.domain.uniform(50, rng)
    rows = found.domain.decode(codes, rng)
    assert rows.schema["x"] == pl.Int64
    assert rows["x"].is_between(low, high).all()
    assert (found.domain.encode(rows) == codes).all()


def test_few_whole_numbers_get_a_bin_each():
    found = encoded(pl.DataFrame({"x": [1, 2, 3]}), Schema.of(quasi=["x"], bounds={"x": (1, 3)}), missing="refuse")
    assert found.domain.sizes == (3,)


def test_undeclared_domain_names_the_column_and_the_remedy():
    with pytest.raises(ColumnError, match="column 'age': has no public domain.*Declare its levels"):
        encoded(TABLE.select("age"), Schema.of(quasi=["age"]))


def test_undeclared_domain_is_read_from_the_data_without_a_claim():
    found = encoded(TABLE.select("age", "sex"), Schema.of(quasi=["age", "sex"]), public=False)
    assert found.domain.sizes == (5, 3)


@pytest.mark.parametrize(
    ("table", "schema"),
    [
        ({"x": ["a", "q"]}, Schema.of(quasi=["x"], levels={"x": ["a", "b"]})),
        ({"x": [1.0, 9.0]}, Schema.of(quasi=["x"], bounds={"x": (0, 5)})),
        ({"x": [1.0, 9.0]}, Schema.of(quasi=["x"], edges={"x": [0, 2, 5]})),
    ],
)
def test_values_outside_the_domain(table, schema):
    with pytest.raises(ColumnError, match="column 'x'.*1 values outside") as error:
        encoded(pl.DataFrame(table), schema)
    assert "9" not in str(error.value)
    assert "q" not in str(error.value).replace("quasi", "")


def test_missing_values_can_be_refused():
    with pytest.raises(ProblemsError, match="column 'sex': has missing values"):
        encoded(TABLE, SCHEMA, missing="refuse")


def test_a_median_is_not_public():
    schema = Schema.of(quasi=["x"], bounds={"x": (0, 5)}, missing={"x": "median"})
    with pytest.raises(ColumnError, match="median"):
        encoded(pl.DataFrame({"x": [1.0, None]}), schema)


def test_a_declared_number_takes_the_place_of_missing_ones():
    schema = Schema.of(quasi=["x"], bounds={"x": (0, 4)}, missing={"x": 0.5})
    assert encoded(pl.DataFrame({"x": [3.5, None]}), schema).codes.tolist() == [[3], [0]]


def test_nothing_to_release():
    with pytest.raises(SchemaError, match="must have a quasi, sensitive or other column"):
        encoded(TABLE.select("id"), Schema.of(identifier=["id"]))


def test_words_and_back():
    schema = Schema.of(
        quasi=["d", "e", "b"],
        levels={"d": ["early", "late"], "e": ["lo", "hi"], "b": [True, False]},
        rules=[{"never": {"e": ["lo"], "b": [True]}}],
    )
    table = pl.DataFrame({"d": ["early"], "e": ["hi"], "b": [True]}).with_columns(
        pl.col("e").cast(pl.Enum(["lo", "hi"]))
    )
    domain = encoded(table, schema).domain
    back = Domain.from_dict(domain.to_dict())
    assert back.sizes == domain.sizes
    assert back.rules == domain.rules
    assert back.encode(table).tolist() == domain.encode(table).tolist() == [[0, 1, 0]]
    rng = np.random.default_rng(0)
    types = {"d": pl.String, "e": pl.String, "b": pl.Boolean}  # those of the levels, not of the table
    assert back.decode(np.array([[0, 1, 0]]), rng).schema == types


def test_one_record_does_not_change_the_type_of_what_is_written():
    """A fraction among whole numbers once turned a released column into floats: one record, told with certainty."""
    schema = Schema.of(quasi=["x"], bounds={"x": (0, 100)})
    for last in (40.0, 40.5):
        found = encoded(pl.DataFrame({"x": [1.0, 2.0, last]}), schema, missing="refuse")
        assert found.domain.axes[0].whole
    open_ended = Schema.of(quasi=["x"], bounds={"x": (0, 100)}, whole={"x": False})
    assert not encoded(pl.DataFrame({"x": [1, 2, 3]}), open_ended, missing="refuse").domain.axes[0].whole


def test_notes_tell_the_rule_and_not_whether_it_was_needed():
    schema = Schema.of(quasi=["x"], bounds={"x": (0, 100)}, missing={"x": "drop"})
    full = encoded(pl.DataFrame({"x": [1, 2, 3]}), schema)
    holes = encoded(pl.DataFrame({"x": [1, 2, None]}), schema)
    assert full.notes == holes.notes
