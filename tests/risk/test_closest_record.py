"""Whether synthetic rows lie nearer to real records than other people do."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import InputError, SchemaError
from shoal.risk.closest_record import nearer
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age", "income", "region"], kinds={"region": "nominal"}, levels={"region": list("abcd")})


def draw(seed, n):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n)
    return pl.DataFrame({"age": age, "income": age + rng.normal(0, 5, n), "region": rng.choice(list("abcd"), n)})


def test_a_model_that_repeats_its_records_is_seen():
    table = draw(1, 500)
    found = risk.closest_record(table, table, SCHEMA)
    assert found.interval[0] > 0.75
    assert found.copied_share > 0.7
    assert found.other_copied_share == 0.0
    assert found.median < found.other_median
    assert risk.closest_record(table, table, SCHEMA, control=draw(2, 500)).share == 1.0


def test_almost_copies_are_seen_too():
    table = draw(1, 500)
    near = table.with_columns(pl.col("age") + np.random.default_rng(0).normal(0, 0.01, 500))
    found = risk.closest_record(table, near, SCHEMA)
    assert found.copied_share == 0.0
    assert found.interval[0] > 0.75


def test_rows_drawn_anew_have_one_half_at_the_stated_rate():
    # 95 % intervals: more than 12 misses of 80 have a chance below 0.001, for either form.
    misses = np.zeros(2, dtype=int)
    for seed in range(80):
        table, fresh, control = draw(3 * seed, 300), draw(3 * seed + 1, 200), draw(3 * seed + 2, 300)
        forms = risk.closest_record(table, fresh, SCHEMA), risk.closest_record(table, fresh, SCHEMA, control=control)
        misses += [not form.interval[0] <= 0.5 <= form.interval[1] for form in forms]
    assert (misses <= 12).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_the_share_is_that_of_all_comparisons(x, y):
    share, (low, high) = nearer(np.array(x, dtype=float), np.array(y, dtype=float))
    assert share == pytest.approx(np.mean([(a < b) + (a == b) / 2 for a in x for b in y]))
    assert 0 <= low <= share <= high <= 1


def test_large_tables_are_sampled_and_say_so():
    found = risk.closest_record(draw(0, 400), draw(1, 2500), SCHEMA)
    assert (found.sampled, found.n_targets, found.n_reference) == (True, 2000, 320)
    assert not risk.closest_record(draw(0, 400), draw(1, 100), SCHEMA).sampled


def test_rows_of_one_person_are_no_reference_for_each_other():
    table = pl.concat([draw(0, 100), draw(0, 100)]).with_columns(who=pl.Series([*range(100), *range(100)]))
    schema = Schema.of(quasi=["age", "income", "region"], unit="who", kinds={"region": "nominal"})
    found = risk.closest_record(table, draw(1, 100), schema)
    assert found.other_copied_share == 0.0


def test_order_of_rows_changes_nothing():
    table, fresh = draw(0, 200), draw(1, 200)
    moved = risk.closest_record(table.reverse(), fresh.reverse(), SCHEMA)
    assert moved.share == pytest.approx(risk.closest_record(table, fresh, SCHEMA).share)


def test_words_and_tiny_tables():
    found = risk.closest_record(draw(0, 40), draw(1, 3), SCHEMA)
    json.dumps(found.to_dict(), allow_nan=False)
    assert not risk.ClosestRecord.releasable
    assert float(found) == found.share
    assert risk.closest_record(draw(0, 3), draw(1, 3), SCHEMA) is None


def test_a_control_group_without_a_column_or_a_row_is_refused():
    table = draw(0, 30)
    with pytest.raises(SchemaError, match="income"):
        risk.closest_record(table, table, SCHEMA, control=table.drop("income"))
    with pytest.raises(InputError, match="at least one row"):
        risk.closest_record(table, table, SCHEMA, control=table[:0])
