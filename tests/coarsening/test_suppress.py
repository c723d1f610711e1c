"""Local suppression against counting by hand, and against the fewest cells found by trying everything."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.coarsening.cell_search import patterns_of
from shoal.coarsening.mondrian import Mondrian
from shoal.coarsening.suppress import Suppress
from shoal.conform import prepare
from shoal.errors import GuaranteeError, ParameterError, SchemaError


def written(table, done):
    """The released rows, counted as anybody would who has the file."""
    return table.with_columns(*done.columns.values()).filter(pl.Series(done.kept))


def smallest(table, names, unit=None):
    size = pl.len() if unit is None else pl.col(unit).n_unique()
    return table.group_by(names).agg(size=size)["size"].min()


def fewest_cells(rows, k):
    """The fewest suppressed cells, over all patterns of all rows."""
    n, d = len(rows), len(rows[0])
    patterns = sorted(product((False, True), repeat=d), key=sum)
    best = n * d

    def go(i, keys, spent):
        nonlocal best
        if spent >= best:
            return
        if i == n:
            if all(keys.count(key) >= k for key in set(keys)):
                best = spent
            return
        for p in patterns:
            key = tuple("*" if hidden else value for value, hidden in zip(rows[i], p, strict=True))
            go(i + 1, [*keys, key], spent + sum(p))

    go(0, [], 0)
    return best


@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=4, max_size=6),
    k=st.sampled_from([2, 3]),
)
@settings(max_examples=25)
def test_near_the_fewest_cells_of_tiny_tables(rows, k):
    table = pl.DataFrame({"p": [row[0] for row in rows], "q": [row[1] for row in rows]})
    done = Suppress(k=k).apply(prepare(table, shoal.Schema.of(quasi=["p", "q"])), 1)
    best = fewest_cells(rows, k)
    assert best <= done.details["suppressed_cells"] <= best + 2 * k
    assert smallest(written(table, done), ["p", "q"]) >= k


def test_ratio_to_the_optimum_on_average():
    rng = np.random.default_rng(3)
    found = optimum = 0
    for _ in range(30):
        values = rng.integers(0, 3, (6, 2))
        table = pl.DataFrame({"p": [f"a{v}" for v in values[:, 0]], "q": [f"b{v}" for v in values[:, 1]]})
        done = Suppress(k=2).apply(prepare(table, shoal.Schema.of(quasi=["p", "q"])), 1)
        found += done.details["suppressed_cells"]
        optimum += fewest_cells(list(table.iter_rows()), 2)
    assert found <= 1.25 * optimum  # 1.17 when written


@st.composite
def tables(draw):
    n = draw(st.integers(6, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return pl.DataFrame(
        {
            "age": rng.integers(20, 24, n),
            "sex": rng.choice(["f", "m"], n),
            "town": pl.Series([["A", "B", "C", None][i] for i in rng.integers(0, 4, n)], dtype=pl.String),
            "day": pl.Series(rng.integers(0, 3, n)).cast(pl.Date),
            "ill": rng.choice(["no", "yes", "maybe"], n),
            "who": rng.integers(0, max(3, n // 2), n),
        }
    )


NAMES = ["age", "sex", "town", "day"]


@given(table=tables(), k=st.integers(2, 5), records=st.sampled_from([0.0, 0.1, 0.5]))
def test_every_class_is_large_enough_and_what_is_left_is_true(table, k, records):
    schema = shoal.Schema.of(quasi=NAMES, other=["ill", "who"])
    done = Suppress(k=k, records=records).apply(prepare(table, schema), 1)
    out = written(table, done)
    assert smallest(out, NAMES) >= k
    assert len(table) - len(out) <= records * len(table)
    kept = table.filter(pl.Series(done.kept))
    for name in NAMES:
        gone = (out[name] == "*") if out[name].dtype == pl.String else out[name].is_null()
        assert out[name].filter(~gone.fill_null(False)).equals(kept[name].filter(~gone.fill_null(False)))
    assert out["age"].dtype == pl.Int64
    assert out["day"].dtype == pl.Date


@given(table=tables(), k=st.integers(2, 3))
def test_persons_are_counted_not_rows(table, k):
    assume(table["who"].n_unique() >= k)
    schema = shoal.Schema.of(quasi=NAMES, other=["ill"], unit="who")
    done = Suppress(k=k).apply(prepare(table, schema), 1)
    assert smallest(written(table, done), NAMES, "who") >= k


@given(table=tables(), records=st.sampled_from([0.0, 0.3]), closeness=st.sampled_from([None, 0.3]))
def test_conditions_hold_on_what_is_written(table, records, closeness):
    schema = shoal.Schema.of(quasi=NAMES, sensitive=["ill"], other=["who"])
    assume(table["ill"].n_unique() >= 2)
    done = Suppress(k=2, diversity=2, records=records, closeness=closeness).apply(prepare(table, schema), 1)
    out = written(table, done)
    text = out.with_columns(pl.col(NAMES).cast(pl.String))
    measured = shoal.risk.classes(text, schema).sensitive["ill"]
    assert measured.distinct_l >= 2
    assert closeness is None or measured.t <= closeness + 1e-9


@given(table=tables(), seed=st.integers(0, 100))
def test_order_of_rows_is_forgotten(table, seed):
    schema = shoal.Schema.of(quasi=NAMES, sensitive=["ill"], other=["who"])
    turned = table.sample(fraction=1, shuffle=True, seed=seed)
    one, two = (
        written(t, Suppress(k=3).apply(prepare(t, schema), 7)).drop("who").cast(pl.String) for t in (table, turned)
    )
    assert one.sort(one.columns).equals(two.sort(two.columns))


def test_a_class_one_short_takes_a_record_from_a_large_one():
    table = pl.DataFrame({"sex": ["f"] * 9, "town": ["A"] * 7 + ["B", "C"]})
    done = Suppress(k=3).apply(prepare(table, shoal.Schema.of(quasi=["sex", "town"])), 1)
    out = written(table, done)
    assert done.details["suppressed_by_column"] == {"sex": 0, "town": 3}
    assert sorted(out["town"]) == ["*"] * 3 + ["A"] * 6


def test_importance_decides_which_column_goes():
    table = pl.DataFrame({"p": ["a", "a", "b", "b"], "q": ["x", "y", "x", "y"]})
    prepared = prepare(table, shoal.Schema.of(quasi=["p", "q"]))
    for kept, lost in (("p", "q"), ("q", "p")):
        done = Suppress(k=2, importance={kept: 5.0}).apply(prepared, 1)
        assert done.details["suppressed_by_column"] == {kept: 0, lost: 4}


def test_safe_table_is_left_alone_and_numbers_become_missing():
    table = pl.DataFrame({"age": [30, 30, 40, 40], "town": ["A", "A", "B", "B"]})
    prepared = prepare(table, shoal.Schema.of(quasi=["age", "town"]))
    assert not Suppress(k=2).apply(prepared, 1).columns
    done = Suppress(k=3).apply(prepared, 1)
    assert done.columns["age"].to_list() == [None] * 4
    assert done.columns["town"].to_list() == ["*"] * 4


def test_both_zeros_are_written_alike():
    table = pl.DataFrame({"x": [0.0, -0.0, 0.0, 1.5, 1.5, 1.5]})
    prepared = prepare(table, shoal.Schema.of(quasi=["x"]))
    for method in (Suppress(k=3), Mondrian(k=3)):
        out = written(table, method.apply(prepared, 1))
        assert out["x"].cast(pl.String).to_list() == ["0.0"] * 3 + ["1.5"] * 3


def test_many_columns_use_a_chain():
    masks = patterns_of(np.ones(20), [2] * 19 + [100])
    assert len(masks) <= 4096 + 20
    assert not masks[0].any()
    assert masks[-1].all()
    assert (np.diff(masks.sum(axis=1)) >= 0).all()
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"c{i}": rng.integers(0, 3, 300).astype(str) for i in range(20)})
    done = Suppress(k=4).apply(prepare(table, shoal.Schema.of(quasi=table.columns)), 1)
    assert smallest(written(table, done), table.columns) >= 4


def test_subsets_are_reported():
    table = pl.DataFrame({"p": ["a"] * 5 + ["b"] * 3, "q": ["x"] * 8})
    done = Suppress(k=2, subsets=2).apply(prepare(table, shoal.Schema.of(quasi=["p", "q"])), 1)
    assert done.details["k_by_subset_size"] == {"1": 3, "2": 3}


def test_bad_input():
    table = pl.DataFrame({"p": ["a", "b"], "q": ["x", "y"]})
    schema = shoal.Schema.of(quasi=["p", "q"])
    prepared = prepare(table, schema)
    with pytest.raises(GuaranteeError, match="at least k"):
        Suppress(k=3).apply(prepared, 1)
    with pytest.raises(ParameterError, match="records"):
        Suppress(k=2, records=1.0).apply(prepared, 1)
    with pytest.raises(ParameterError, match="importance"):
        Suppress(k=2, importance={"nobody": 1}).apply(prepared, 1)
    with pytest.raises(ParameterError, match="positive"):
        Suppress(k=2, importance={"p": 0}).apply(prepared, 1)
    with pytest.raises(SchemaError, match="quasi"):
        Suppress(k=2).apply(prepare(table, shoal.Schema.of(other=["p", "q"])), 1)
