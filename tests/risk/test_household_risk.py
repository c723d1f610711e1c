"""Household risk by loops over households."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import SchemaError
from shoal.risk import posterior
from shoal.risk.household_risk import household_risks
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["q"], other=["home"])
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=20)


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from([None, 200]))
def test_members_and_composition(values, population):
    table = pl.DataFrame(values, schema=["q", "home"], orient="row")
    found = risk.households(table, SCHEMA, "home", population=population)
    p = 1.0 if population is None else len(values) / population
    homes = sorted({home for _, home in values})
    kinds = {home: tuple(sorted(q for q, h in values if h == home)) for home in homes}
    same = Counter(kinds.values())
    expected = persons = 0.0
    for home in homes:
        alone = 1.0
        for q in kinds[home]:
            others = len({h for r, h in values if r == q})
            alone *= 1 - posterior.negative_binomial(np.array([others]), np.array([p]))[0]
        own = posterior.negative_binomial(np.array([same[kinds[home]]]), np.array([p]))[0]
        risk_of = max(1 - alone, own)
        expected, persons = expected + risk_of, persons + risk_of * len(kinds[home])
    assert found.expected_households == pytest.approx(expected)
    assert found.expected_persons == pytest.approx(persons)
    assert found.n_unique == sum(count == 1 for count in same.values())
    assert found.n_households == len(homes)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_bounds(risks):
    found = household_risks(np.array(risks), np.zeros(len(risks), dtype=int), 1)[0]
    assert max(risks) - 1e-12 <= found <= min(1.0, math.fsum(risks)) + 1e-12


def test_the_handbook():
    assert household_risks(np.array([0.02, 0.03, 0.03]), np.zeros(3, dtype=int), 1)[0] == pytest.approx(0.077918)


def test_twins_of_one_household_hide_nobody():
    table = pl.DataFrame({"q": [1, 1], "home": [7, 7]})
    assert risk.households(table, SCHEMA, "home").largest == 1.0


def test_words_and_bad_input(make_frame):
    table = make_frame(pl.DataFrame({"q": [1, 1, 2], "home": ["SENTINEL", None, None]}))
    found = risk.households(table, SCHEMA, "home")
    assert found.n_households == 3
    assert "risks" not in json.dumps(found.to_dict(), allow_nan=False)
    for wrong in (None, "nowhere"):
        with pytest.raises(SchemaError, match="identifies households") as caught:
            risk.households(table, SCHEMA, wrong)
        assert "SENTINEL" not in str(caught.value)
