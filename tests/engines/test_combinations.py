"""Combinations as numbers: what is chosen from them, and written, is what memory chooses from the rows themselves."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.canonical import canonical
from shoal.coarsening.coded_table import order_of
from shoal.coarsening.lattice_nodes import Combinations
from shoal.conform import prepare
from shoal.engine import ROWS
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, GuaranteeError, InputError
from shoal.recipe import quiet
from shoal.release.on_engine.combinations import fetch
from shoal.release.on_engine.conform import prepare_relation
from shoal.release.on_engine.generalize import generalize_relation

ROW = st.tuples(
    st.one_of(st.none(), st.integers(0, 6)),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, float("nan")]),
    st.one_of(st.none(), st.sampled_from(["a", "b", "é", "Z"])),
    st.sampled_from(["no", "flu"]),
    st.one_of(st.none(), st.integers(1, 4)),
)
TYPES = {"age": pl.Int64, "rate": pl.Float64, "place": pl.String, "ill": pl.String, "who": pl.Int64}
METHODS = [
    shoal.Generalize(k=2, suppression=0.3),
    shoal.Generalize(k=2, suppression=0.0, loss="entropy", importance={"age": 3}),
    shoal.Generalize(k=2, suppression=0.4, loss="discernibility", limits={"age": 1}),
    shoal.Generalize(k=2, suppression=0.5, diversity=2),
]


def schema_of(age, rate, by_person):
    roles = {"unit": "who"} if by_person else {"identifier": ["who"]}
    kinds = {"age": "numeric", "rate": "numeric", "place": "nominal"}
    missing = {"age": age, "rate": rate}
    return shoal.Schema.of(quasi=["age", "rate", "place"], sensitive=["ill"], kinds=kinds, missing=missing, **roles)


def outcome(run):
    """What a run gives, or what kind of error."""
    try:
        return run()
    except (GuaranteeError, InputError) as error:
        return type(error).__name__


def multiset(frame):
    return frame.sort(frame.columns, nulls_last=True)


def in_memory(frame, schema, method):
    made = shoal.coarsen(frame, schema, method, seed=1)
    return multiset(made.in_file_types()), [(str(fact), dict(fact.values)) for fact in made.facts]


def by_combinations(engine, frame, schema, method):
    made = generalize_relation(engine, engine.of(frame), schema, method, quiet)
    rows = engine.collect(engine.select(made.relation, [c.name for c in made.schema.released.columns]))
    return multiset(rows), [(str(fact), dict(fact.values)) for fact in made.facts]


@pytest.fixture(scope="module")
def duckdb_engine(tmp_path_factory):
    with DuckDBEngine(spill=tmp_path_factory.mktemp("spill")) as opened:
        yield opened


@given(
    rows=st.lists(ROW, min_size=4, max_size=30),
    age=st.sampled_from(["drop", "level", 3]),
    rate=st.sampled_from(["drop", "level", 0.5]),
    method=st.sampled_from(METHODS),
    by_person=st.booleans(),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_levels_and_facts_are_those_of_memory(duckdb_engine, rows, age, rate, method, by_person):
    frame, schema = pl.DataFrame(rows, schema=TYPES, orient="row"), schema_of(age, rate, by_person)
    expected = outcome(partial(in_memory, frame, schema, method))
    for engine in (MemoryEngine(), duckdb_engine):
        found = outcome(partial(by_combinations, engine, frame, schema, method))
        if isinstance(expected, str):
            assert found == expected
            continue
        assert found[0].equals(expected[0])
        assert found[0].schema == expected[0].schema
        assert found[1] == expected[1]


@given(rows=st.lists(ROW, min_size=4, max_size=40), age=st.sampled_from(["drop", "level", 3]))
@settings(max_examples=40, deadline=None)
def test_combinations_are_the_rows_in_order(rows, age):
    """Decoded and repeated, they are the prepared table; as they came, the table itself."""
    frame, schema = pl.DataFrame(rows, schema=TYPES, orient="row"), schema_of(age, "level", False)
    expected = outcome(lambda: canonical(prepare(frame, schema)).frame.to_polars().select(schema.quasi))
    engine = MemoryEngine()
    relation = engine.of(frame)
    counted = engine.count(relation, schema.quasi)
    found = outcome(lambda: fetch(engine, relation, counted, schema.quasi, schema))
    if isinstance(expected, str):
        assert found == expected
        return
    table = found.table
    decoded = pl.DataFrame([table.values[name].gather(table.codes[:, j]) for j, name in enumerate(schema.quasi)])
    times = np.repeat(np.arange(len(decoded)), table.counted.rows)
    assert decoded[times].equals(expected)
    everything = found.without(np.zeros(len(table.codes), dtype=bool))
    assert multiset(everything).equals(multiset(counted.plan.filter(pl.col(ROWS) > 0).select(schema.quasi)))


@given(
    codes=st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=40),
    sizes=st.sampled_from([(4, 4, 4), (4, 2**61, 4)]),
)
def test_order_and_merging_of_equal_combinations(codes, sizes):
    """By one number or by all columns: the order of tuples; what is equal is one combination with the sum of rows."""
    array = np.array(codes, dtype=np.uint16)
    order = order_of(array, sizes)
    assert [tuple(row) for row in array[order].tolist()] == sorted(map(tuple, codes))
    merged = Combinations.of_sorted(array[order], np.ones(len(codes), dtype=np.int64))
    distinct = sorted(set(map(tuple, codes)))
    assert [tuple(row) for row in merged.codes.tolist()] == distinct
    assert merged.rows.tolist() == [list(map(tuple, codes)).count(row) for row in distinct]
    assert [distinct[i] for i in merged.of_items(np.arange(merged.n))] == sorted(map(tuple, codes))
    assert (merged.of_row is None) == (len(distinct) == len(codes))


@pytest.mark.parametrize(("numbers", "refused"), [(900, True), (3, False)])
def test_numbers_among_texts_are_judged_by_records_not_by_values(numbers, refused):
    """Two numbers and five texts: where most records have a number, the texts look like mistakes, as in memory."""
    texts = ["a", "b", "c", "d", "e"] * 20
    frame = pl.DataFrame({"code": ["0", "1"] * numbers + texts, "ill": "no"})
    schema = shoal.Schema.of(quasi=["code"], sensitive=["ill"])
    engine = MemoryEngine()
    ways = [
        lambda: prepare(frame, schema),
        lambda: generalize_relation(engine, engine.of(frame), schema, shoal.Generalize(k=2), quiet),
        lambda: prepare_relation(engine, engine.of(frame), schema),
    ]
    for way in ways:
        if refused:
            with pytest.raises(ColumnError, match="mixes numbers and texts"):
                way()
        else:
            way()
