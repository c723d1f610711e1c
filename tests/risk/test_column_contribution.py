"""Contributions and what-if against recounting the table from scratch."""

from __future__ import annotations

import json
import math
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.coarsening.steps import step_of
from shoal.errors import ParameterError, SchemaError
from shoal.risk import column_contribution as module
from shoal.schema import Schema

NAMES = ["a", "b", "c"]
SCHEMA = Schema.of(quasi=NAMES, unit="u")
rows = st.lists(st.tuples(*[st.sampled_from([0, 1, 2, None])] * 3, st.integers(0, 6)), min_size=1, max_size=16)


def frame_of(values):
    return pl.DataFrame(values, schema=dict.fromkeys([*NAMES, "u"], pl.Int64), orient="row")


def oracle_share(values, places, k):
    """Share of rows whose values on `places` fewer than k persons have."""
    if not places:
        return 0.0
    risky = 0
    for row in values:
        mine = [row[j] for j in places]
        risky += len({other[3] for other in values if [other[j] for j in places] == mine}) < k
    return risky / len(values)


@settings(max_examples=40, deadline=None)
@given(rows, st.integers(2, 4))
def test_drop_one_and_shapley_by_all_orders(values, k):
    found = risk.contribution(frame_of(values), SCHEMA, k=k)
    whole = oracle_share(values, (0, 1, 2), k)
    assert found.share == pytest.approx(whole)
    shares = dict.fromkeys(range(3), 0.0)
    for order in permutations(range(3)):
        for i, j in enumerate(order):
            shares[j] += (oracle_share(values, order[: i + 1], k) - oracle_share(values, order[:i], k)) / 6
    for j, name in enumerate(NAMES):
        # Shapley values share out classes below k on no column too: there v is 0 by convention.
        assert found[name].shapley == pytest.approx(shares[j], abs=1e-12)
        rest = tuple(i for i in range(3) if i != j)
        assert found[name].drop_one == pytest.approx(whole - oracle_share(values, rest, k), abs=1e-12)


def test_the_guide(guide, guide_schema):
    found = risk.contribution(guide, guide_schema)
    names = guide_schema.quasi
    assert found.share == 0.4
    assert [found[name].drop_one for name in names] == [0, 0, 0.2, 0]
    assert [found[name].shapley for name in names] == pytest.approx([0.05833333, 0.025, 0.275, 0.04166667], abs=1e-8)
    assert found.exact
    assert found.columns[0].column == "education"
    assert (found.values[0].column, found.values[0].n_freed) == ("education", 1)


def test_two_equal_columns():
    table = pl.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
    found = risk.contribution(table, Schema.of(quasi=["a", "b"]))
    assert [(c.drop_one, c.shapley) for c in found.columns] == [(0, 0.5), (0, 0.5)]


def test_values_are_counted():
    table = pl.DataFrame({"a": ["x", "x", "x", None, "y"], "b": [1, 1, 2, 1, 1]})
    found = risk.contribution(table, Schema.of(quasi=["a", "b"]))
    values = {(v.column, v.value): (v.n_records, v.n_at_risk, v.n_freed) for v in found.values}
    assert values[("a", None)] == (1, 1, 1)
    assert values[("a", "y")] == (1, 1, 1)
    assert values[("b", "2")] == (1, 1, 1)
    assert values[("a", "x")] == (3, 1, 0)


def test_many_columns_are_drawn(guide, guide_schema, monkeypatch):
    exact = risk.contribution(guide, guide_schema)
    monkeypatch.setattr(module, "_MOST_EXACT", 2)
    monkeypatch.setattr(module, "_ORDERS", 400)
    drawn = risk.contribution(guide, guide_schema)
    assert not drawn.exact
    assert sum(c.shapley for c in drawn.columns) == pytest.approx(exact.share)
    for column in drawn.columns:
        assert column.interval[0] - 0.01 <= exact[column.column].shapley <= column.interval[1] + 0.01


def test_what_if_recounts(guide, guide_schema):
    table = guide.with_columns(age=pl.Series([31, 31, 33, 52, 52, 54, 60, 61, 90, 30]))
    schema = Schema.of(quasi=["gender", "education", "age"], other=["residence", "labour"], weight="weight")
    found = risk.what_if(table, schema)
    seen = set()
    for change in found.changes:
        seen.add((change.column, change.action))
        if change.action == "drop":
            after, bits = table.drop(change.column), 0.0
        else:
            written = step_of(change.step).apply(table[change.column])
            after, bits = table.with_columns(written), entropy(written)
        keys = [name for name in schema.quasi if name in after.columns]
        alone = int(after.select(pl.struct(keys).is_unique()).to_series().sum())
        assert change.n_at_risk == alone
        assert change.n_freed == found.n_at_risk - alone
        assert change.bits_lost == pytest.approx(entropy(table[change.column]) - bits)
    assert {("age", "drop"), ("age", "round"), ("age", "coarsen"), ("gender", "drop")} <= seen
    gains = [change.gain for change in found.changes]
    assert gains == sorted(gains, reverse=True)
    assert found.best == found.changes[0]
    assert found.strongest.n_freed == max(change.n_freed for change in found.changes)


def entropy(column):
    shares = [count / len(column) for count in column.value_counts()["count"]]
    return -sum(share * math.log2(share) for share in shares)


def test_what_if_top_codes_a_long_tail():
    ages = [20, 21] * 100 + [95, 96]
    found = risk.what_if(pl.DataFrame({"age": ages}), Schema.of(quasi=["age"]))
    best = next(change for change in found.changes if change.action == "top-code")
    assert (best.n_freed, best.n_at_risk) == (2, 0)
    assert best.bits_lost < 0.1


def test_what_if_uses_the_schemas_hierarchy_and_says_nothing_of_flat_ones():
    schema = Schema.of(quasi=["zip", "sex"])
    table = pl.DataFrame({"zip": ["10115", "10117", "10119", "20095"], "sex": ["f", "f", "f", "m"]})
    found = {(c.column, c.action): c for c in risk.what_if(table, schema).changes}
    assert set(found) == {("zip", "drop"), ("zip", "coarsen"), ("sex", "drop")}
    assert found["zip", "coarsen"].n_freed == 3


def test_what_if_takes_numbers_among_codes_that_are_texts():
    codes = {"stay": {".a": "not applicable"}}
    schema = Schema.of(quasi=["stay"], kinds={"stay": "numeric"}, missing={"stay": "level"}, missing_codes=codes)
    found = risk.what_if(pl.DataFrame({"stay": ["5.1", ".a", "4.7", ".a", "10"]}), schema)
    assert [change.action for change in found.changes] == ["drop"]


def test_nothing_at_risk():
    table = pl.DataFrame({"a": [1, 1], "b": [2, 2]})
    found = risk.what_if(table, Schema.of(quasi=["a", "b"]))
    assert (found.n_at_risk, found.best) == (0, None)


def test_words_and_bad_input(make_frame, guide, guide_schema):
    table = make_frame(guide)
    for measure in (risk.contribution, risk.what_if):
        json.dumps(measure(table, guide_schema).to_dict(), allow_nan=False)
        for wrong in (1, 2.5, True):
            with pytest.raises(ParameterError, match="k must be"):
                measure(table, guide_schema, k=wrong)
        with pytest.raises(SchemaError, match="'zzz'"):
            measure(table, Schema.of(quasi=["zzz"]))


def test_a_notebook_shows_the_changes_and_no_value():
    table = pl.DataFrame({"age": range(70_000, 70_200), "sex": ["f", "m"] * 100})  # the cap would be 70,197
    schema = Schema.of(quasi=["age", "sex"])
    shown = risk.what_if(table, schema)._repr_html_()
    assert all(word in shown for word in ("age", "drop", "n_freed", "top-code"))
    assert "701" not in shown.replace(",", "")
    assert "<th" in risk.contribution(table, schema)._repr_html_()
    assert "negative binomial" in risk.attackers(table, schema, population=900)._repr_html_()
