"""Rows by a value of a column: numbers as numbers, texts by a part of them; never part of a project."""

from dataclasses import replace

import polars as pl
import pytest

from shoal.errors import InputError
from shoal.web.row_filter import _has, rows_with


def test_numbers_and_texts(survey):
    opened, _ = survey
    n, rows = rows_with(opened, "", "age_group", "3", ["gender", "age_group"])
    assert n > 0
    assert {row[1] for row in rows} == {"3"}
    assert rows_with(opened, "", "age_group", "3.0", ["age_group"])[0] == n
    assert rows_with(opened, "", "age_group", "old", ["age_group"]) == (0, [])
    n, rows = rows_with(opened, "", "gender", "FEM", ["gender"])
    assert {row[0] for row in rows} == {"female"}
    assert len(rows) == min(n, 50)
    assert rows_with(opened, "", "gender", ".*", ["gender"])[0] == 0  # a text, no pattern


def test_what_can_not_be_looked_at_is_said(survey):
    opened, _ = survey
    with pytest.raises(InputError, match="has no copy here any more"):
        rows_with(replace(opened, copy=None), "", "gender", "f", ["gender"])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 7])
def test_long_numbers_are_told_from_their_neighbours(value):
    frame = pl.DataFrame({"id": [value - 1, value, value + 1]})
    found = frame.filter(_has(frame.schema["id"], "id", str(value)))
    assert found["id"].to_list() == [value]
    assert frame.filter(_has(frame.schema["id"], "id", str(2**70))).is_empty()
