"""Coarse cells are read as the typical value of the records behind them; classes go by what was written."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema, risk
from shoal.decode import _modes
from shoal.encode import Encoder
from shoal.errors import ColumnError
from shoal.pair import NOBODY, Pair

TABLE = pl.DataFrame(
    {
        "age": [21, 23, 34, 36, 38, 70],
        "edu": ["none", "none", "school", "college", "college", "school"],
        "town": ["a", "a", "b", "c", "c", "c"],
    }
)
SCHEMA = Schema.of(
    quasi=["age", "edu", "town"], levels={"edu": ["none", "school", "college"]}, kinds={"edu": "ordinal"}
)
COARSE = pl.DataFrame(
    {
        "age": ["20-29", "20-29", "30-39", "30-39", "30-39", "70"],
        "edu": ["none", "none", "school to college", "school to college", "school to college", "*"],
        "town": ["a", "a", "{b, c}", "{b, c}", "{b, c}", None],
    }
)


def test_typical_values():
    pair = Pair.of(TABLE, COARSE, SCHEMA)
    assert pair.released_column("age").to_list() == [22.0, 22.0, 36.0, 36.0, 36.0, 70.0]
    assert pair.released_column("edu").to_list() == ["none", "none", "college", "college", "college", "school"]
    assert pair.released_column("town").to_list() == ["a", "a", "c", "c", "c", None]
    assert pair.exact.tolist()[0] == [False, True, True]
    assert pair.exact.tolist()[5] == [True, False, False]


def test_the_intruder_finds_the_class_and_no_more():
    found = risk.reidentification(TABLE, COARSE, SCHEMA)
    assert found.records.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1])
    assert risk.verbatim(TABLE, COARSE, SCHEMA).share == 0
    assert risk.classes(COARSE, SCHEMA).k == 1


def test_cells_that_read_alike_stay_different_classes():
    """Two intervals with the same mean: the intruder, who knows the recoding, tells them apart."""
    table = pl.DataFrame({"age": [10, 20, 15, 15]})
    coarse = pl.DataFrame({"age": ["10-20", "10-20", "14-16", "14-16"]})
    found = risk.reidentification(table, coarse, Schema.of(quasi=["age"]))
    assert found.records.tolist() == [0.5] * 4


def test_a_suppressed_record_is_nowhere():
    kept = [0, 1, 2, 3, 4]
    found = risk.reidentification(TABLE, COARSE[kept], SCHEMA, source_rows=kept)
    assert found.records[5] == 0
    assert found.records[:5].tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("order", [[4, 2, 0, 1, 3, 5], [5, 4, 3, 2, 1, 0]])
def test_the_order_of_rows_changes_nothing(order):
    first = risk.reidentification(TABLE, COARSE, SCHEMA)
    again = risk.reidentification(TABLE, COARSE[order], SCHEMA, source_rows=order)
    assert np.array_equal(first.records, again.records)


def test_without_a_source_a_coarse_cell_has_no_meaning():
    with pytest.raises(ColumnError):
        Pair.of(TABLE, COARSE, SCHEMA, [NOBODY] * 6)


def test_rows_that_stand_for_nobody():
    pair = Pair.of(TABLE, TABLE[:4], SCHEMA, [NOBODY] * 4)
    assert (pair.source_rows == NOBODY).all()
    assert pair.cells is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=20))
def test_a_mode_is_the_first_of_the_most_frequent(rows):
    cell, level = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    tallies = [[sum((c, v) == row for row in rows) for v in range(4)] for c in range(5)]
    assert _modes(cell, level, 5).tolist() == [float(np.argmax(tally)) for tally in tallies]


def test_a_pair_codes_a_column_once(monkeypatch):
    table = pl.DataFrame({"age": [30, 40, 50], "cost": [1.0, 2.0, 4.0]})
    pair = Pair.of(table, table, Schema.of(quasi=["age"], sensitive=["cost"]))
    first = pair.codes_of(["cost", "age"])
    monkeypatch.setattr(Encoder, "fit", None)
    again = pair.codes_of(["age", "cost"])
    assert first[0].names == ("cost", "age")
    assert again[1].tolist() == first[1][:, ::-1].tolist() == [[30, 1], [40, 2], [50, 4]]
    assert again[2].tolist() == again[1].tolist()
    assert pair.codes_of([])[1].shape == (3, 0)
