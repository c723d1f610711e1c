"""Minimal sample uniques against every subset of every record, and the published scores."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.frame import enter
from shoal.risk.keys import coded_keys, missing_keys
from shoal.risk.suda_scores import minimal_uniques, unit_score
from shoal.schema import Schema

NAMES = ["a", "b", "c", "d"]
SCHEMA = Schema.of(quasi=NAMES)
rows = st.lists(st.tuples(*[st.sampled_from([0, 1, 2, None])] * 4), min_size=1, max_size=14)


def oracle(values, size, persons=None):
    """Each record, each set of columns: alone on it, and on no proper subset."""
    n = len(values)
    persons = list(range(n)) if persons is None else persons

    def alone(i, places):
        mine = [values[i][j] for j in places]
        others = [r for r in range(n) if persons[r] != persons[i] and [values[r][j] for j in places] == mine]
        return None not in mine and not others

    found = set()
    for i in range(n):
        for s in range(1, size + 1):
            for places in combinations(range(len(values[0])), s):
                subsets = [sub for t in range(1, s) for sub in combinations(places, t)]
                if alone(i, places) and not any(alone(i, sub) for sub in subsets):
                    found.add((places, i))
    return found


def fast(values, size, persons=None):
    frame = enter(pl.DataFrame(values, schema=dict.fromkeys(NAMES, pl.Int64), orient="row"))
    found = minimal_uniques(coded_keys(frame, SCHEMA), missing_keys(frame, SCHEMA), size, persons)
    return {(places, int(row)) for places, alone in found for row in alone}


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(1, 4))
def test_every_minimal_unique_and_no_other(values, size):
    assert fast(values, size) == oracle(values, size)


@settings(max_examples=30, deadline=None)
@given(rows, st.data())
def test_persons_with_several_rows(values, data):
    persons = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    assert fast(values, 3, np.array(persons)) == oracle(values, 3, persons)


def test_the_guide(guide, guide_schema):
    elliot = risk.suda(guide, guide_schema)
    assert elliot.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert elliot.dis == pytest.approx(0.006688963, abs=1e-9)
    assert elliot.dis_scores[[2, 4, 6, 7]] == pytest.approx(
        [0.004986798, 0.01138301, 0.004986798, 0.009166679], abs=1e-8
    )
    shares = {share.column: share for share in elliot.columns}
    names = guide_schema.quasi
    assert [shares[n].full for n in names] == pytest.approx([0.2352941, 0.1764706, 0.6470588, 0.2352941], abs=1e-7)
    assert [shares[n].share for n in names] == pytest.approx([0.2058824, 0.08823529, 0.5882353, 0.1176471], abs=1e-7)
    ihsn = risk.suda(guide, guide_schema, scale="ihsn")
    assert ihsn.scores.tolist() == [0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0]
    assert ihsn.dis_scores[[2, 4, 6, 7]] == pytest.approx(
        [0.005120313, 0.010702061, 0.005120313, 0.008775093], abs=1e-8
    )
    assert elliot.riskiest(2).tolist() == [4, 7]
    assert str(elliot.combinations[0]) == "residence rural"
    assert elliot.by_columns[0] == (("education",), 3)
    assert (elliot.n_unique, elliot.n_at_risk, elliot.n_minimal) == (4, 4, {1: 4, 2: 5, 3: 0})


def test_three_records():
    table = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    found = risk.suda(table, Schema.of(quasi=["a", "b", "c"]), size=2)
    assert found.scores.tolist() == [2, 4, 2]
    shares = {share.column: (share.full, share.share) for share in found.columns}
    assert shares == {"a": (0.5, 0.375), "b": (0.375, 0.3125), "c": (0.375, 0.3125)}
    assert found.dis == 1.0
    assert set(found.dis_scores) == {1.0}


def test_units_of_both_scales():
    assert [unit_score(k, 4, 3, "elliot") for k in (1, 2, 3, 4)] == [6, 2, 1, 1]
    assert [unit_score(k, 4, 3, "ihsn") for k in (1, 2, 3, 4)] == [1.75, 0.5, 0.25, 0]


def test_a_duplicate_hides(guide, guide_schema):
    twice = pl.concat([guide, guide])
    found = risk.suda(twice, guide_schema)
    assert (found.n_at_risk, found.scores.sum(), found.combinations, found.dis) == (0, 0, (), 0.0)


def test_words_and_bad_input(make_frame, guide, guide_schema):
    table = make_frame(guide)
    words = risk.suda(table, guide_schema).to_dict()
    json.dumps(words, allow_nan=False)
    assert not {"scores", "dis_scores"} & set(words)
    assert risk.Suda.releasable is False
    for size in (0, 2.5, True):
        with pytest.raises(ParameterError, match="size"):
            risk.suda(table, guide_schema, size=size)
    with pytest.raises(ParameterError, match="scale"):
        risk.suda(table, guide_schema, scale="other")
    with pytest.raises(ParameterError, match="fraction"):
        risk.suda(table, guide_schema, fraction=0)
    with pytest.raises(InputError, match="one row"):
        risk.suda(guide[:0], guide_schema)
    with pytest.raises(SchemaError, match="quasi"):
        risk.suda(guide, Schema.of(other=guide.columns))
