import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.coarsening.recode import Recode
from shoal.coarsening.steps import Bins, Cap, DatePart, Prefix, Round, Star, TreeLevel, step_of
from shoal.conform import prepare
from shoal.errors import ColumnError, ParameterError, SchemaError

SECRET = "sentinel-7719"


@pytest.mark.parametrize(
    ("step", "values", "written"),
    [
        (Bins(width=10), [0, 9, 10, None], ["0-9", "0-9", "10-19", None]),
        (Bins(width=10, origin=5), [5, 14, 4], ["5-14", "5-14", "-5 to 4"]),
        (Bins(width=10), [-1, -10, 3], ["-10 to -1", "-10 to -1", "0-9"]),
        (Bins(width=0.5), [0.49, 0.5, 2.0], ["0 to <0.5", "0.5 to <1", "2 to <2.5"]),
        (Bins(width=1), [4, 5], ["4", "5"]),
        (Bins(width=10), [4.0, 15.0], ["0-9", "10-19"]),
        (Bins(edges=(18, 65, 90)), [17, 18, 64, 90], ["<18", "18-64", "18-64", "90+"]),
        (Bins(width=80, within=(0, 120)), [3, 80, 120], ["0-79", "80-120", "80-120"]),
        (Bins(width=1, within=(0.5, 1.5)), [0.75, 1.5], ["0.5 to <1", "1 to 1.5"]),
        (Cap(low=5, high=90), [1, 50, 99, None], [5, 50, 90, None]),
        (Cap(high=2.5), [1, 9], [1.0, 2.5]),
        (Round(base=5), [2, 3, -3, None], [0, 5, -5, None]),
        (Round(base=0.1), [0.31, 0.25], [0.3, 0.3]),
        (Prefix(keep=3), ["02139", "1", None], ["021**", "1", None]),
        (Prefix(keep=2, pad=False), ["02139", "é1x"], ["02", "é1"]),
        (Prefix(keep=3, length=5), [2139, 94110], ["021**", "941**"]),
        (Star(), [1, None], ["*", "*"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_steps_write(step, values, written):
    assert step.apply(pl.Series("c", values)).to_list() == written


def test_dates_come_out_as_parts_and_years_as_whole_numbers():
    born = pl.Series("born", [datetime.datetime(1989, 12, 31, 23, 5), None])
    written = {
        part: DatePart(part=part).apply(born) for part in ("day", "year-month", "year-quarter", "year", "decade")
    }
    assert [column[0] for column in written.values()] == ["1989-12-31", "1989-12", "1989-Q4", 1989, "1980-1989"]
    assert all(column[1] is None for column in written.values())
    assert written["year"].dtype == pl.Int64
    assert DatePart(part="year").apply(pl.Series("d", ["2020-02-29"])).to_list() == [2020]


def test_numeric_columns_stay_numeric_and_of_their_type():
    ages = pl.Series("age", [1, 99], dtype=pl.Int8)
    assert Cap(high=90).apply(ages).dtype == pl.Int8
    assert Round(base=5).apply(ages).dtype == pl.Int8
    assert Round(base=1000).apply(pl.Series("age", [99, 120], dtype=pl.Int8)).to_list() == [0, 0]
    assert Cap(low=200).apply(ages).to_list() == [200, 200]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.sampled_from([0.1, 0.3, 1.0, 2.5, 7.0]))
def test_intervals_hold_their_values_and_double_widths_nest(values, width):
    column = pl.Series("x", values)
    fine, coarse = Bins(width=width).apply(column), Bins(width=2 * width).apply(column)
    groups = {}
    for value, small, large in zip(values, fine, coarse, strict=True):
        if small.startswith("["):
            low, high = map(float, small[1:-1].split(", "))
            assert low <= value < high
        assert groups.setdefault(small, large) == large


@pytest.mark.parametrize(
    "words",
    [
        {"kind": "bins", "width": 10.0, "origin": 5.0},
        {"kind": "bins", "edges": [1, 2], "origin": 0.0},
        {"kind": "cap", "high": 90},
        {"kind": "round", "base": 5},
        {"kind": "date", "part": "year"},
        {"kind": "prefix", "keep": 3, "pad": False},
        {"kind": "tree", "rows": [["a", "x"], ["b", "x"]], "level": 1},
        {"kind": "star"},
    ],
    ids=lambda words: words["kind"],
)
def test_words_in_and_out(words):
    assert step_of(words).to_dict() == words
    assert step_of(step_of(words)) == step_of(words)


@pytest.mark.parametrize(
    "words",
    [
        {},
        None,
        {"kind": "none such"},
        {"kind": "bins"},
        {"kind": "bins", "width": 0},
        {"kind": "bins", "width": float("nan")},
        {"kind": "bins", "width": 5, "edges": [1, 2]},
        {"kind": "bins", "edges": [2, 1]},
        {"kind": "bins", "edges": ["a"]},
        {"kind": "bins", "width": 1, "within": [3]},
        {"kind": "cap"},
        {"kind": "cap", "low": 5, "high": 5},
        {"kind": "round"},
        {"kind": "round", "base": -1},
        {"kind": "date", "part": "hour"},
        {"kind": "prefix", "keep": 0},
        {"kind": "tree", "rows": []},
        {"kind": "tree", "rows": [["a", "x"], ["a", "y"]]},
        {"kind": "tree", "rows": [["a", "x"], ["b"]]},
        {"kind": "tree", "rows": [["a", 3]]},
        {"kind": "tree", "rows": [["a", "x"]], "level": 2},
        {"kind": "star", "more": 1},
    ],
    ids=str,
)
def test_wrong_words_are_refused(words):
    with pytest.raises(ParameterError):
        step_of(words)


@pytest.mark.parametrize(
    ("step", "values"),
    [
        (Bins(width=5), [SECRET]),
        (Cap(high=5), [SECRET]),
        (Round(base=5), [SECRET]),
        (DatePart(part="year"), [SECRET, "2020-01-01"]),
        (DatePart(part="year"), [7719]),
        (Prefix(keep=2), [7719]),
        (TreeLevel(rows=(("a", "x"),), level=1), [SECRET, "a"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_errors_name_the_column_and_never_a_value(step, values):
    with pytest.raises(ColumnError, match="'secrets'") as caught:
        step.apply(pl.Series("secrets", values))
    assert "7719" not in str(caught.value)


def test_a_value_missing_in_a_tree_is_counted():
    with pytest.raises(ColumnError, match="2 such values"):
        TreeLevel(rows=(("a", "x"),), level=1).apply(pl.Series("c", ["a", "b", "c", "c", None]))


def test_recoding_keeps_all_records_and_touches_only_what_is_named():
    table = pl.DataFrame({"age": [1, 95, None], "sex": ["f", "m", "f"]})
    prepared = prepare(table, Schema.of(quasi=["age", "sex"], missing={"age": 40}))
    done = Recode(steps={"age": Cap(high=90)}).apply(prepared, seed=0)
    assert list(done.columns) == ["age"]
    assert done.columns["age"].to_list() == [1, 90, 40]
    assert np.all(done.kept)
    assert Recode(steps={}).k == 1
    with pytest.raises(SchemaError, match="'weight'"):
        Recode(steps={"weight": Star()}).apply(prepared, seed=0)
