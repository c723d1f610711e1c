"""The one coding of a column: what it reads, what it refuses, and what it says of itself."""

import inspect
import json

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal import ColumnError
from shoal.domain import Axis, Domain
from shoal.schema import Column
from shoal.schema.constraint import Rule

LEVELS = st.one_of(
    st.lists(st.integers(-99, 99), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-99, 99).map(lambda x: x + 0.5), min_size=1, max_size=6, unique=True),
    st.lists(st.text("abcXYZ ", min_size=1, max_size=4), min_size=1, max_size=6, unique=True),
    st.just([True, False]),
    st.just(["01", "1"]),
    st.just(["2020-01-01", "2020-02-29"]),
)
NUMBERS = st.floats(-1e6, 1e6)


def levelled(levels, **rules):
    return Axis.declare(Column(name="a", role="quasi", kind="nominal", levels=tuple(levels)), **rules)


def binned(low=0.0, high=10.0, bins=5, whole=None, **rules):
    return Axis.declare(Column(name="a", role="quasi", bounds=(low, high), whole=whole), bins, **rules)


@given(LEVELS, st.data())
def test_levels_come_back(levels, data):
    axis = levelled(levels)
    codes = np.array(data.draw(st.lists(st.integers(0, axis.size - 1), max_size=20)), dtype=np.int64)
    rows = axis.decode(codes)
    assert axis.encode(rows).tolist() == codes.tolist()
    assert rows.is_null().to_list() == (codes == axis.n_known).tolist()


@given(
    st.lists(NUMBERS, min_size=2, max_size=2, unique=True).map(sorted),
    st.integers(1, 12),
    st.sampled_from([True, False]),
    st.integers(0, 2**32),
)
def test_bins_come_back(ends, bins, whole, seed):
    assume(ends[1] - ends[0] > 1.5)
    axis = binned(*ends, bins, whole)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, axis.size, 40)
    rows = axis.decode(codes, rng)
    assert rows.dtype == axis.dtype
    assert axis.encode(rows).tolist() == codes.tolist()


@given(st.lists(st.floats(-5, 15), min_size=1, max_size=20), st.sampled_from(["left", "right"]))
def test_bins_by_their_definition(values, closed):
    axis = Axis(name="a", kind="numeric", edges=np.array([0.0, 1.0, 4.0, 10.0]), closed=closed)

    def by_definition(x):
        if not 0 <= x <= 10:
            return -1
        inner = [1.0, 4.0]
        return sum(cut <= x for cut in inner) if closed == "left" else sum(cut < x for cut in inner)

    assert axis.bins(np.array(values)).tolist() == [by_definition(x) for x in values]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True), st.data())
def test_one_level_in_any_spelling(levels, data):
    """1, 1.0 and "1" are one level: as a column of any type, and as the value of a query."""
    spelled = [levels, [float(x) for x in levels], [str(x) for x in levels], [f"{x}.0" for x in levels]]
    axis = levelled(data.draw(st.sampled_from(spelled)))
    for column in spelled:
        assert axis.encode(pl.Series("a", column)).tolist() == list(range(len(levels)))
        assert axis.encode(pl.Series("a", column).cast(pl.String).cast(pl.Categorical)).tolist()[0] == 0
    for column in spelled[:3]:
        assert [axis.code(value) for value in column] == list(range(len(levels)))


def test_a_declared_axis_is_given_no_data():
    """What it is given can't hold a record: an entry of the schema, and rules."""
    assert list(inspect.signature(Axis.declare).parameters) == ["column", "bins", "missing", "unknown"]
    assert levelled([1, 2]).declared
    assert binned().declared
    with pytest.raises(ColumnError, match="no public domain"):
        Axis.declare(Column(name="a", role="quasi", kind="nominal"))


def test_a_learnt_axis_says_so():
    learnt = Axis.learn([pl.Series("a", ["y", None, "x"])], Column(name="a", role="quasi", kind="nominal"))
    assert not learnt.declared
    assert learnt.levels.to_list() == ["x", "y"]
    numbers = Axis.learn([pl.Series("a", [3, 7])], Column(name="a", role="quasi", kind="numeric"), bins=3)
    assert (numbers.declared, numbers.bounds, numbers.whole) == (False, (3.0, 7.0), True)
    assert not Domain(axes=(levelled([1]), learnt)).declared
    entry = Column(name="a", role="quasi", kind="nominal", levels=("x", "y"))
    assert Axis.learn([pl.Series("a", ["x"])], entry).declared


def test_levels_of_tables_of_different_types_agree():
    column = Column(name="a", role="quasi", kind="nominal")
    axis = Axis.learn([pl.Series("a", [2, 10]), pl.Series("a", [1.0, 2.0])], column)
    assert axis.levels.to_list() == [1.0, 2.0, 10.0]
    mixed = Axis.learn([pl.Series("a", [2, 10]), pl.Series("a", ["x", "2"])], column)
    assert mixed.encode(pl.Series("a", ["2.0", "x"])).tolist() == mixed.encode(pl.Series("a", ["2", "x"])).tolist()
    order = pl.Enum(["low", "high"])
    ordinal = Column(name="a", role="quasi", kind="ordinal")
    assert Axis.learn([pl.Series("a", ["high", "low"], dtype=order)], ordinal).labels() == ["low", "high", "missing"]


MISSING = [("level", [0, 2]), ("drop", [0, -1])]


@pytest.mark.parametrize(("rule", "codes"), MISSING)
def test_missing_levels_follow_the_rule(rule, codes):
    assert levelled(["x", "y"], missing=rule).encode(pl.Series("a", ["x", None])).tolist() == codes


@pytest.mark.parametrize(("rule", "codes"), [("level", [0, 5]), ("drop", [0, -1]), (9.0, [0, 4])])
def test_missing_numbers_follow_the_rule(rule, codes):
    axis = binned(missing=rule, whole=False)
    assert axis.encode(pl.Series("a", [0.5, None])).tolist() == codes
    assert axis.encode(pl.Series("a", ["0.5", "nan"])).tolist() == codes


@pytest.mark.parametrize("axis", [levelled(["x", "7"], missing="refuse"), binned(missing="refuse")])
def test_missing_values_can_be_refused(axis):
    assert axis.size == axis.n_known
    with pytest.raises(ColumnError, match="missing.*1 missing"):
        axis.encode(pl.Series("a", ["7", None]))
    with pytest.raises(ColumnError, match="must not be missing"):
        axis.read(None)


def test_unknown_values_follow_the_rule():
    column = pl.Series("a", ["x", "SENTINEL"])
    with pytest.raises(ColumnError, match="1 values outside") as told:
        levelled(["x", "y"]).encode(column)
    assert "SENTINEL" not in str(told.value)
    assert levelled(["x", "y"], unknown="missing").encode(column).tolist() == [0, 2]
    with pytest.raises(ColumnError, match="2 values outside"):
        binned().encode(pl.Series("a", [-1.0, 3.0, 11.0]))
    assert binned(unknown="clip").encode(pl.Series("a", [-1.0, 3.0, 11.0])).tolist() == [0, 1, 4]
    with pytest.raises(ColumnError, match="finite"):
        binned(unknown="clip").encode(pl.Series("a", [1.0, float("inf")]))


@pytest.mark.parametrize("missing", ["level", "refuse", "drop"])
def test_a_reason_is_a_cell_of_its_own(missing):
    """Numbers or levels, beside values that say why there is none."""
    values = pl.Series("a", [4.0, -8.0, 8.0, -9.0])
    for axis, known in ((binned(missing=missing, whole=False), [2, 4]), (levelled([4, 8], missing=missing), [0, 1])):
        axis = Axis(**{name: getattr(axis, name) for name in FIELDS} | {"reasons": (-8, -9)})
        first = axis.n_known + (missing == "level")
        codes = axis.encode(values)
        assert codes.tolist() == [known[0], first, known[1], first + 1]
        assert axis.size == first + 2
        assert axis.labels()[-2:] == ["-8", "-9"]
        back = axis.decode(codes)
        assert back.to_list()[1::2] == [-8, -9]
        assert axis.encode(back).tolist() == codes.tolist()


FIELDS = ["name", "kind", "levels", "edges", "bounds", "whole", "missing", "unknown"]

QUERIES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["1", "1.0", "01", "true", "True", "x", "y", "", "0", "-1", "2020-01-01"]),
    st.just([1]),
    st.just({"x": 1}),
)


@given(
    st.sampled_from([[1, 2], [1.0, 2.5], ["1", "2"], ["01", "1"], [True, False], ["x", "y"], ["2020-01-01"]]),
    st.sampled_from(["level", "refuse"]),
    QUERIES,
)
def test_the_json_schema_allows_what_is_read(levels, missing, value):
    agree(levelled(levels, missing=missing), value)


@given(st.sampled_from(["refuse", "drop", 3.0, "level"]), QUERIES)
def test_the_json_schema_of_a_number_allows_what_is_read(missing, value):
    agree(binned(missing=missing), value)


def agree(axis, value):
    try:
        read, note = axis.read(value)
    except ColumnError:
        read_it = False
    else:
        read_it = True
        assert axis.read(read) == (read, "")  # what was read is read again as itself
        assert axis.code(value) == axis.code(read)
        assert json.loads(json.dumps(read)) == read
        assert (note != "") == (axis.numeric and value is not None and not 0 <= value <= 10)
    assert read_it == jsonschema.Draft202012Validator(axis.json_schema()).is_valid(value)


@given(LEVELS)
def test_a_query_and_a_column_have_one_coding(levels):
    axis = levelled(levels)
    assert [axis.code(level) for level in levels] == axis.encode(pl.Series("a", levels)).tolist()
    assert axis.read(axis.example()) == (axis.example(), "")
    assert axis.form_field()["levels"] == json.loads(json.dumps(axis.form_field()["levels"]))


@pytest.mark.parametrize(
    "axis", [levelled(["b", "a"]), levelled([True, False]), binned(whole=True), binned(missing="refuse")]
)
def test_words_and_back(axis):
    words = json.loads(json.dumps(axis.to_dict()))
    back = Axis.from_dict(words)
    assert back.to_dict() == words
    assert (back.size, back.dtype, back.labels()) == (axis.size, axis.dtype, axis.labels())


def test_names_of_cells():
    assert binned(bins=3, high=6.0, whole=False).labels() == ["below 2", "2 to 4", "4 and above", "missing"]
    assert Axis.cut("a", np.array([1.0, 2.5])).labels() == ["up to 1", "1 to 2.5", "above 2.5", "missing"]
    assert Axis.cut("a", np.array([])).labels() == ["any number", "missing"]
    assert levelled([1.0, 2.5]).labels() == ["1", "2.5", "missing"]
    assert levelled([True, False]).labels() == ["true", "false", "missing"]


@pytest.mark.parametrize("level", [1, 1.0, "1", True, "1.0"])
@pytest.mark.parametrize("column", [[1, 2, None], [1.0, 2.5, None], ["1", "2", None], [True, False, None]])
def test_a_rule_of_the_schema_knows_a_level_in_any_spelling(level, column):
    rule = Rule.from_dict({"never": {"a": [level]}})
    assert rule.broken({"a": pl.Series("a", column)}).tolist() == [True, False, False]


def test_texts_that_are_one_number_are_told_apart_where_a_column_holds_both():
    rule = Rule.from_dict({"never": {"a": ["01"]}})
    assert rule.broken({"a": pl.Series("a", ["01", "1", None])}).tolist() == [True, False, False]
    assert rule.broken({"a": pl.Series("a", [1, 2, None])}).tolist() == [True, False, False]
