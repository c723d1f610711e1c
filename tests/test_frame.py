import pandas as pd
import polars as pl
import pytest

from shoal.errors import ColumnError, InputError
from shoal.frame import enter, leave, pick, series, with_columns


def test_the_same_type_comes_out(make_frame, people):
    table = make_frame(people)
    assert type(leave(enter(table), like=table)) is type(table)


def test_content_survives_the_door(make_frame, people):
    frame = enter(make_frame(people))
    assert frame.columns == people.columns
    assert series(frame, "town").to_list() == people["town"].to_list()


def test_pick_leaves_no_index(people):
    picked = pick(enter(people.to_pandas().set_index("name", drop=False).rename_axis(None)), [3, 1])
    assert list(picked.to_native().index) == [0, 1]
    assert picked["age"].to_list() == [26, 22]


def test_with_columns_replaces_in_place(make_frame, people):
    import numpy as np

    frame = with_columns(enter(make_frame(people)), {"age": np.arange(24.0)})
    assert frame.columns == people.columns
    assert series(frame, "age").to_list() == list(range(24))


def test_nan_is_missing():
    assert series(enter(pl.DataFrame({"a": [1.0, float("nan")]})), "a").null_count() == 1


def test_mixed_types_are_an_error_without_the_value():
    frame = enter(pd.DataFrame({"a": [1, "SENTINEL", 2.5]}))
    with pytest.raises(ColumnError, match="column 'a'") as caught:
        series(frame, "a")
    assert "SENTINEL" not in str(caught.value)


def test_lists_in_cells_are_an_error():
    with pytest.raises(ColumnError, match="one simple type"):
        series(enter(pl.DataFrame({"a": [[1], [2]]})), "a")


@pytest.mark.parametrize(
    "table",
    [[1, 2], {"a": [1]}, pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({1: [2]}), pl.DataFrame()],
)
def test_unusable_tables(table):
    with pytest.raises(InputError):
        enter(table)
