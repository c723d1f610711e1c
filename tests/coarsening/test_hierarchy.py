import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coarsening.default_hierarchies import default_hierarchy, ladder_for
from shoal.coarsening.hierarchy import Hierarchy, check_nested
from shoal.errors import ColumnError, FileError, ParameterError
from shoal.schema import Column, Schema

ROWS = [
    ["Paris", "France", "Europe"],
    ["Lyon", "France", "Europe"],
    ["Rome", "Italy", "Europe"],
    ["Tokyo", "Japan", "Asia"],
]


def levels(hierarchy, values):
    ladder = hierarchy.climb(pl.Series("c", values))
    return [ladder.written(level).to_list() for level in range(ladder.height + 1)]


def test_a_table_gives_one_level_a_column_and_a_top():
    written = levels(Hierarchy.table(ROWS), ["Rome", "Paris", None])
    assert written == [
        ["Rome", "Paris", None],
        ["Italy", "France", None],
        ["Europe", "Europe", None],
        ["*", "*", "*"],
    ]


def test_a_tree_is_a_table_and_shallow_branches_repeat():
    tree = Hierarchy.tree({"Europe": {"France": ["Paris", "Lyon"], "Italy": ["Rome"]}, "Asia": ["Tokyo"]})
    assert tree.rows()[-1] == ["Tokyo", "Asia", "Asia", "*"]
    assert tree.rows()[0] == ["Paris", "France", "Europe", "*"]


def test_missing_values_stay_a_level_of_their_own_up_to_the_top():
    ladder = Hierarchy.intervals(widths=[10, 100]).climb(pl.Series("age", [1, 2, None]))
    for level in range(ladder.height):
        assert ladder.groups[level][-1] != ladder.groups[level][0]
        assert ladder.written(level)[2] is None
    assert ladder.written(ladder.height).to_list() == ["*"] * 3


@pytest.mark.parametrize(
    "words",
    [
        {"kind": "intervals", "widths": [5, 10], "origin": 0.0},
        {"kind": "intervals", "edges": [[0, 18, 40, 65], [18, 65]]},
        {"kind": "prefix", "keep": [4, 3, 1], "pad": False, "length": 5},
        {"kind": "dates", "parts": ["year-month", "year"]},
        {"kind": "table", "rows": ROWS},
        {"kind": "flat"},
        {"kind": "steps", "steps": [{"kind": "round", "base": 10}, {"kind": "bins", "width": 50.0, "origin": 0.0}]},
    ],
    ids=lambda words: words["kind"],
)
def test_words_in_and_out(words):
    hierarchy = Hierarchy.of(words)
    assert hierarchy.to_dict() == words
    schema = Schema.of(quasi=["c"], hierarchies={"c": hierarchy})
    assert Hierarchy.of(schema["c"].hierarchy) == hierarchy


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"kind": "none such"},
        {"kind": "intervals"},
        {"kind": "intervals", "widths": 5},
        {"kind": "intervals", "widths": [0]},
        {"kind": "prefix"},
        {"kind": "prefix", "keep": [2], "colour": 3},
        {"kind": "table", "rows": []},
        {"kind": "table", "rows": [["a", "b"], ["c"]]},
        {"kind": "table", "rows": [["a", "b"], ["a", "c"]]},
        {"kind": "tree", "tree": {"a": "b"}},
    ],
    ids=str,
)
def test_wrong_words_are_refused(words):
    with pytest.raises(ParameterError):
        Hierarchy.of(words)
    with pytest.raises(ColumnError, match="'age'"):
        ladder_for(
            pl.Series("age", [1]), Column(name="age", role="quasi", kind="numeric", hierarchy={"kind": "x"} | words)
        )


def test_levels_that_do_not_nest_are_refused_with_column_and_level_but_no_value():
    with pytest.raises(ColumnError, match=r"'age'.*level 1 .*level 2") as caught:
        Hierarchy.intervals(widths=[10, 15]).climb(pl.Series("age", range(100)))
    assert caught.value.got == "3 such classes"
    rows = [["77191", "x", "u"], ["77192", "x", "v"], ["77193", "y", "u"]]
    with pytest.raises(ColumnError, match="not nested") as caught:
        Hierarchy.table(rows).climb(pl.Series("c", ["77193"]))  # wrong as a whole, though not for this value
    assert "7719" not in str(caught.value)


def test_a_value_missing_in_the_hierarchy_names_the_column_and_how_many():
    with pytest.raises(ColumnError, match=r"'city'.*got 2 such values") as caught:
        Hierarchy.table(ROWS).climb(pl.Series("city", ["Paris", "Sentinel", "Sentinel", "Other"]))
    assert "Sentinel" not in str(caught.value)


def test_csv_as_arx_has_it(tmp_path):
    path = tmp_path / "city.csv"
    Hierarchy.table(ROWS).write_csv(path)
    assert path.read_text().splitlines()[0] == "Paris;France;Europe;*"
    again = Hierarchy.read_csv(path)
    assert levels(again, ["Lyon", "Tokyo"]) == levels(Hierarchy.table(ROWS), ["Lyon", "Tokyo"])
    Hierarchy.intervals(widths=[10]).write_csv(path, pl.Series("age", [5, 12, 5, None]))
    assert path.read_text() == "5;0-9;*\n12;10-19;*\n"
    path.write_text('"a, b",x\nc,"y ""z"""\n')
    assert Hierarchy.read_csv(path).rows() == [["a, b", "x", "*"], ["c", 'y "z"', "*"]]
    with pytest.raises(ParameterError, match="values"):
        Hierarchy.flat().write_csv(path)
    path.write_text("a;b\nc\n")
    with pytest.raises(FileError, match="row 2"):
        Hierarchy.read_csv(path)
    with pytest.raises(FileError):
        Hierarchy.read_csv(tmp_path / "none.csv")


def test_numbers_match_the_texts_of_a_table():
    table = Hierarchy.table([["1", "low"], ["2", "low"], ["3", "high"]])
    assert levels(table, [1, 3])[1] == ["low", "high"]
    assert levels(table, [2.0, 3.0])[1] == ["low", "high"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_nesting_is_a_function_from_finer_to_coarser_classes(fine, coarse):
    coarse = coarse[: len(fine)]
    seen = {}
    nested = all(seen.setdefault(a, b) == b for a, b in zip(fine, coarse, strict=True))
    groups = [np.array(fine), np.array(coarse)]
    if nested:
        check_nested("c", groups)
    else:
        with pytest.raises(ColumnError):
            check_nested("c", groups)


# A hierarchy for a column that has none.


def column(kind, **entries):
    return Column(name="c", role="quasi", kind=kind, **entries)


def defaults(values, col):
    ladder = ladder_for(pl.Series("c", values), col)
    return [ladder.written(level).to_list() for level in range(ladder.height + 1)]


def test_numbers_get_doubling_widths_cut_at_the_public_bounds():
    written = defaults([0, 47, 120], column("numeric", bounds=(0, 120)))
    assert written[1:] == [
        ["0-9", "40-49", "120"],
        ["0-19", "40-59", "120"],
        ["0-39", "40-79", "120"],
        ["0-79", "0-79", "80-120"],
        ["*"] * 3,
    ]
    assert default_hierarchy(pl.Series("c", [0.1, 0.9]), column("numeric")).to_dict()["widths"][0] == 0.05
    assert defaults([3, 3], column("numeric")) == [[3, 3], ["*", "*"]]


def test_ordinal_neighbours_merge_and_names_stay_apart():
    levels_ = ("a", "b", "c", "d", "e")
    written = defaults(["a", "c", "e", None], column("ordinal", levels=levels_))
    assert written[1:] == [["a to b", "c to d", "e", None], ["a to d", "a to d", "e", None], ["*"] * 4]
    clash = defaults(["a", "b", "a to b"], column("ordinal", levels=("a", "b", "a to b")))
    assert clash[1] == ["a .. b", "a .. b", "a to b"]


def test_other_kinds():
    assert defaults(["02139", "02140", "94110"], column("nominal"))[2] == ["021**", "021**", "941**"]
    assert defaults(["f", "m"], column("nominal")) == [["f", "m"], ["*", "*"]]
    assert defaults(["123", "45"], column("nominal"))[1] == ["*", "*"]
    dates = defaults([datetime.date(2020, 5, 1), datetime.date(2021, 5, 1)], column("ordinal"))
    assert dates[3:] == [[2020, 2021], ["2020-2029", "2020-2029"]]
    assert defaults([True, False], column("nominal"))[1] == ["*", "*"]


@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-50, 50), min_size=1, max_size=30))
def test_generated_levels_nest_and_end_in_one_class(values):
    ladder = ladder_for(pl.Series("c", values, strict=False).cast(pl.Float64), column("numeric"))
    assert len(set(ladder.groups[-1].tolist())) == 1
    sizes = [len(set(groups.tolist())) for groups in ladder.groups]
    assert sizes == sorted(sizes, reverse=True)
