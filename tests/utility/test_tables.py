import numpy as np
import polars as pl
import pytest

from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.tables import both_columns, is_linked, row_weights, sample_rows, side_by_side

SCHEMA = Schema.of(quasi=["a"], sensitive=["y"], weight="w")


def table(n, weight=1.0):
    return pl.DataFrame({"a": list(range(n)), "y": [0.5] * n, "w": [weight] * n})


def test_same_length_means_same_row_order():
    pair = side_by_side(table(3), table(3), SCHEMA)
    assert pair.source_rows.tolist() == [0, 1, 2]
    assert is_linked(pair)


def test_another_length_means_sources_unknown():
    pair = side_by_side(table(3), table(2), SCHEMA)
    assert pair.source_rows.tolist() == [-1, -1]
    assert not is_linked(pair)


def test_given_source_rows_are_kept():
    assert side_by_side(table(3), table(2), SCHEMA, [2, 0]).source_rows.tolist() == [2, 0]


def test_sample_takes_the_same_people_where_linked():
    pair = side_by_side(table(9), table(9).reverse(), SCHEMA, list(range(8, -1, -1)))
    original, released = sample_rows(pair, 4, stream(0, "t"))
    assert (pair.source_rows[released] == original).all()
    assert len(set(released.tolist())) == 4


def test_sensitive_columns_that_the_release_lacks_are_left_out():
    pair = side_by_side(table(3), table(3).drop("y"), SCHEMA)
    assert [column.name for column in both_columns(pair)] == ["a"]


def test_a_missing_level_is_no_number():
    schema = Schema.of(quasi=["e"], levels={"e": ["low", "high"]}, kinds={"e": "ordinal"})
    frame = pl.DataFrame({"e": ["low", None, "high"]})
    (column,) = both_columns(side_by_side(frame, frame, schema))
    assert np.isnan(column.numbers()[0]).tolist() == [False, True, False]


def test_weights_need_a_column_in_both_tables():
    pair = side_by_side(table(3), table(3).drop("w"), SCHEMA)
    with pytest.raises(SchemaError, match="weight column 'w'"):
        row_weights(pair, True, "measure")
    plain = Schema.of(quasi=["a"], sensitive=["y"], other=["w"])
    with pytest.raises(ParameterError, match="measure: weighted must be False"):
        row_weights(side_by_side(table(3), table(3), plain), True, "measure")


@pytest.mark.parametrize("weight", [-1.0, 0.0, None, float("inf")])
def test_bad_released_weights(weight):
    released = table(3).with_columns(w=pl.Series([weight] * 3, dtype=pl.Float64))
    with pytest.raises(ColumnError, match="weights, which must be"):
        row_weights(side_by_side(table(3), released, SCHEMA), True, "measure")


def test_no_quasi_identifier():
    frame = pl.DataFrame({"y": [1.0]})
    with pytest.raises(SchemaError, match="at least one quasi"):
        both_columns(side_by_side(frame, frame, Schema.of(sensitive=["y"])))


def test_coarsened_cells_are_read_by_their_own_records_or_not_at_all():
    table = pl.DataFrame({"age": [20, 22, 40, 50]})
    bands = pl.DataFrame({"age": ["20-22", "20-22", "40-50", "40-50"]})
    schema = Schema.of(quasi=["age"])
    assert side_by_side(table, bands, schema).released_codes[:, 0].tolist() == [21, 21, 45, 45]
    with pytest.raises(ColumnError, match="must hold numbers"):
        side_by_side(table, bands.head(2), schema)  # whose cells these are isn't known
