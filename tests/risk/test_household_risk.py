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

from shoal import Mondrian, RecordSwap, anonymize, coarsen, risk
from shoal import frequency as posterior
from shoal.errors import ColumnError, SchemaError
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


def test_persons_of_two_in_households_of_one():
    """Heads 40 40 42 42, children 10 12 10 12: each person has a double, no household has one."""
    table = pl.DataFrame({"age": [40, 40, 42, 42, 10, 12, 10, 12], "home": [1, 2, 3, 4] * 2})
    schema = Schema.of(quasi=["age"], household="home")
    found = risk.households(table, schema)
    assert risk.classes(table, schema).k == 2
    assert (found.k, found.n_unique, found.largest) == (1, 4, 1.0)
    assert found.by_members / found.n_households == pytest.approx(0.75)


@settings(max_examples=40, deadline=None)
@given(rows)
def test_the_household_of_the_schema_and_its_k(values):
    table = pl.DataFrame(values, schema=["q", "home"], orient="row")
    found = risk.households(table, Schema.of(quasi=["q"], household="home"))
    kinds = Counter(tuple(sorted(q for q, h in values if h == home)) for home in {h for _, h in values})
    assert found.k == min(kinds.values())
    assert found.expected_households == risk.households(table, SCHEMA, "home").expected_households


def test_a_person_lives_in_one_household():
    schema = Schema.of(unit="p", quasi=["q"], household="home")
    table = pl.DataFrame({"p": [1, 1, 2], "q": [1, 2, 3], "home": ["SENTINEL", "SENTINEL", "B"]})
    assert risk.households(table, schema).n_households == 2
    with pytest.raises(ColumnError, match="same in all rows of a person") as caught:
        risk.households(table.with_columns(home=pl.Series(["SENTINEL", "A", "B"])), schema)
    assert "SENTINEL" not in str(caught.value)


def test_a_household_is_never_released():
    table = pl.DataFrame({"q": [1, 2] * 20, "home": [f"H{i // 2}" for i in range(40)]})
    schema = Schema.of(quasi=["q"], household="home")
    assert schema.released.columns == (schema["q"],)
    assert anonymize(table, schema).table.columns == ["q"]
    assert coarsen(table, schema, Mondrian(k=5)).table.columns == ["q"]
    with pytest.raises(SchemaError, match="at most one"):
        Schema.from_dict({"columns": {name: {"role": "household"} for name in "ab"}})


def test_swapping_moves_the_households_of_the_schema():
    """Whole households change place, without the mask being told again which they are."""
    homes = 60
    table = pl.DataFrame(
        {
            "region": [f"R{h % 3}" for h in range(homes) for _ in range(2)],
            "age": [(7 * h + m) % 5 for h in range(homes) for m in range(2)],
            "home": [h for h in range(homes) for _ in range(2)],
        }
    )
    schema = Schema.of(quasi=["region", "age"], household="home", kinds={"age": "nominal"})
    told = Schema.of(quasi=["region", "age"], other=["home"], kinds={"age": "nominal"})
    by_schema = anonymize(table, schema, mask=RecordSwap(hierarchy=["region"], rate=0.3), seed=1)
    moved = pl.DataFrame({"home": table["home"].gather(by_schema.source_rows), "region": by_schema.table["region"]})
    assert moved.unique().height == homes
    assert moved.unique().sort("home")["region"].to_list() != [f"R{h % 3}" for h in range(homes)]
    by_name = anonymize(table, told, mask=RecordSwap(hierarchy=["region"], household="home", rate=0.3), seed=1)
    assert by_name.table.select("home", "region").unique().height == homes


def test_words_and_bad_input(make_frame):
    table = make_frame(pl.DataFrame({"q": [1, 1, 2], "home": ["SENTINEL", None, None]}))
    found = risk.households(table, SCHEMA, "home")
    assert found.n_households == 3
    assert "risks" not in json.dumps(found.to_dict(), allow_nan=False)
    for wrong in (None, "nowhere"):
        with pytest.raises(SchemaError, match="identifies households") as caught:
            risk.households(table, SCHEMA, wrong)
        assert "SENTINEL" not in str(caught.value)


def test_a_household_that_the_schema_doesnt_name():
    table = pl.DataFrame({"age": [30, 30, 7, 8], "home": [1, 2, 1, 2]})
    named = risk.households(table, Schema.of(quasi=["age"], household="home"))
    assert risk.households(table, Schema.of(quasi=["age"]), household="home") == named
    moving = table.with_columns(who=pl.Series(["a", "a", "b", "c"]))
    with pytest.raises(ColumnError):
        risk.households(moving, Schema.of(quasi=["age"], unit="who"), household="home")
