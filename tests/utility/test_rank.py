import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal.schema import Schema
from shoal.utility import ranks
from shoal.utility.rank import kendall_tau_b, spearman_rho

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25)


def split(pairs):
    return np.array([p for p, _ in pairs], dtype=float), np.array([q for _, q in pairs], dtype=float)


@settings(max_examples=20)
@given(PAIRS)
def test_equal_scipy(pairs):
    p, q = split(pairs)
    assume(np.ptp(p) > 0 and np.ptp(q) > 0)
    assert kendall_tau_b(p, q) == pytest.approx(stats.kendalltau(p, q).statistic)
    assert spearman_rho(p, q) == pytest.approx(stats.spearmanr(p, q).statistic)


@settings(max_examples=20)
@given(PAIRS)
def test_symmetric_and_in_range(pairs):
    p, q = split(pairs)
    for measure in (kendall_tau_b, spearman_rho):
        assert measure(p, q) == pytest.approx(measure(q, p))
        assert -1 <= measure(p, q) <= 1
        assert measure(p, p) == pytest.approx(1.0)


def test_no_order_at_all():
    flat, steps = np.ones(4), np.arange(4.0)
    assert (kendall_tau_b(flat, flat), spearman_rho(flat, flat)) == (1.0, 1.0)
    assert (kendall_tau_b(flat, steps), spearman_rho(flat, steps)) == (0.0, 0.0)
    assert (kendall_tau_b(np.ones(1), np.ones(1)), spearman_rho(np.ones(1), np.ones(1))) == (1.0, 1.0)


def test_opposite_orders():
    steps = np.arange(5.0)
    assert (kendall_tau_b(steps, -steps), spearman_rho(steps, -steps)) == pytest.approx((-1.0, -1.0))


def test_golden_by_hand():
    original = pl.DataFrame({"t": list("aaabbc")})
    released = pl.DataFrame({"t": list("aabbbc")})
    found = ranks(original, released, Schema.of(quasi=["t"]))
    assert found.kendall == pytest.approx(1 / 3)  # of three pairs of towns two keep their order
    assert found.spearman == pytest.approx(0.5)


def test_bins_have_no_order_and_are_left_out(survey, noise, schema):
    found = ranks(survey, noise, schema)
    assert [one.column for one in found.columns] == ["sex", "town", "education", "ill"]
    assert (found.kendall, found.spearman) == (1.0, 1.0)


def test_no_categories_at_all():
    table = pl.DataFrame({"x": np.arange(100.0)})
    found = ranks(table, table, Schema.of(quasi=["x"]))
    assert (found.columns, found.kendall, found.spearman) == ((), None, None)


def test_weights_change_the_order():
    table = pl.DataFrame({"t": list("aab"), "w": [1.0, 1.0, 5.0]})
    schema = Schema.of(quasi=["t"], weight="w")
    released = table.with_columns(w=pl.Series([1.0, 1.0, 1.0]))
    assert ranks(table, released, schema).kendall == 1.0
    assert ranks(table, released, schema, weighted=True).kendall == -1.0


def test_a_level_lost_counts_as_frequency_zero():
    original, released = pl.DataFrame({"t": list("aaabbc")}), pl.DataFrame({"t": list("aaaabb")})
    found = ranks(original, released, Schema.of(quasi=["t"]))
    assert (found.columns[0].n_cells, found.kendall) == (3, 1.0)
