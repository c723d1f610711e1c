import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import ColumnError, Schema
from shoal.conform import prepare
from shoal.encode import Encoder


def encoded(table, schema):
    prepared = prepare(table, schema)
    encoder = Encoder.fit(prepared, schema.quasi)
    return prepared, encoder, encoder.codes(prepared.frame)


def test_codes_mean_what_the_kind_says(people, people_schema):
    _, encoder, codes = encoded(people, people_schema)
    assert codes[:, 0].tolist() == people["age"].to_list()
    assert codes[:3, 3].tolist() == [0, 1, 2]
    assert encoder.codings[2].n_levels == 4
    assert codes[2, 2] == 3  # a missing town is a level of its own, after the last


def test_nominal_codes_are_frequency_ranks():
    _, _, codes = encoded(pl.DataFrame({"a": ["z", "z", "b", "c", "c", "c"]}), Schema.of(quasi=["a"]))
    assert codes[:, 0].tolist() == [1, 1, 2, 0, 0, 0]


def test_every_column_has_variance_one(people, people_schema):
    _, encoder, codes = encoded(people, people_schema)
    points = encoder.points(codes)
    total = points.var(axis=0)
    assert points.shape == (24, 1 + 1 + 4 + 1)
    np.testing.assert_allclose([total[0], total[1], total[2:6].sum(), total[6]], 1)


def test_any_two_different_levels_are_equally_far_apart():
    _, encoder, codes = encoded(pl.DataFrame({"a": ["x", "y", "z", "x", "w"]}), Schema.of(quasi=["a"]))
    points = encoder.points(codes)
    gaps = {round(float(np.sum((p - q) ** 2)), 9) for p in points for q in points}
    assert len(gaps) == 2


def test_indicator_rule_agrees_with_the_two_level_rule():
    share = 0.3
    spread = 1 - share**2 - (1 - share) ** 2
    assert np.isclose(2 / spread, 1 / (share * (1 - share)))


def test_decode_gives_the_same_table_back(make_frame, people, people_schema):
    table = make_frame(people)
    prepared, encoder, codes = encoded(table, people_schema)
    out = encoder.decode(codes, prepared.frame, prepared.frame)
    assert out.schema == prepared.frame.schema
    assert out.to_polars().equals(prepared.frame.to_polars())


def test_categories_and_dates_keep_their_type():
    table = pl.DataFrame({"c": ["u", "v", "u"], "d": ["2020-01-01", "2020-02-01", None]}).with_columns(
        pl.col("c").cast(pl.Categorical), pl.col("d").str.to_date()
    )
    for frame in (table, table.to_pandas(), table.to_arrow()):
        prepared, encoder, codes = encoded(frame, Schema.of(quasi=["c", "d"]))
        out = encoder.decode(codes[::-1], prepared.frame, prepared.frame)
        assert out.schema == prepared.frame.schema


def test_snap_never_gives_a_level_that_does_not_occur():
    schema = Schema.of(quasi=["a"], levels={"a": ["lo", "mid", "hi"]})
    _, encoder, _ = encoded(pl.DataFrame({"a": ["lo", "hi", "hi"]}), schema)
    assert encoder.codings[0].snap(np.array([0.0, 0.9, 1.0, 1.1, 2.0])).tolist() == [0, 0, 0, 2, 2]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.randoms())
def test_a_permutation_changes_no_bit(values, shuffler):
    other = values[:]
    shuffler.shuffle(other)
    schema = Schema.of(quasi=["a"])
    _, first, _ = encoded(pl.DataFrame({"a": values}), schema)
    _, second, _ = encoded(pl.DataFrame({"a": other}), schema)
    assert (first.codings[0].center, first.codings[0].scale) == (second.codings[0].center, second.codings[0].scale)


def test_constant_columns_become_zeros():
    _, encoder, codes = encoded(pl.DataFrame({"a": [1e9, 1e9], "b": ["x", "x"]}), Schema.of(quasi=["a", "b"]))
    assert not encoder.points(codes).any()


def test_unknown_levels_of_a_release_are_an_error():
    _, encoder, _ = encoded(pl.DataFrame({"a": ["x", "y"]}), Schema.of(quasi=["a"]))
    with pytest.raises(ColumnError, match="levels that the original does not have") as caught:
        encoder.codes(pl.DataFrame({"a": ["x", "SENTINEL"]}))
    assert "SENTINEL" not in str(caught.value)


def test_too_wide_a_matrix_names_the_column():
    _, encoder, codes = encoded(pl.DataFrame({"a": [str(i) for i in range(20_000)]}), Schema.of(quasi=["a"]))
    with pytest.raises(ColumnError, match="'a'.*20000 levels"):
        encoder.points(codes)
