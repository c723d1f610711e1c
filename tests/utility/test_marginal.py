from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import marginals, ranks
from shoal.utility.marginal import kendall_tau_b, spearman_rho

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30)
SCHEMA = Schema.of(quasi=["a", "b"], kinds={"a": "nominal", "b": "nominal"})
EVERY = [(a, b) for a in range(4) for b in range(3)]


def frame(rows):
    return pl.DataFrame(rows, schema=["a", "b"], orient="row")


def share(values, of):
    return sum(value == of for value in values) / len(values)


def oracle_marginal(first, second, column, domain):
    gaps = [share([r[column] for r in first], v) - share([r[column] for r in second], v) for v in domain]
    return sum(map(abs, gaps)) / 2, np.mean(np.square(gaps)), np.mean(np.abs(gaps))


def oracle_conditional(first, second, column, given_column, domain, given_domain):
    """001 section 3.3: the average over x_j of the average over x_i."""
    parts = []
    for value in given_domain:
        within = [[r for r in rows if r[given_column] == value] for rows in (first, second)]
        if all(within):
            parts.append(oracle_marginal(*within, column, domain))
    return np.mean(parts, axis=0)


def triple(distances):
    return distances.total_variation, distances.mse, distances.mae


@settings(max_examples=20)
@given(ROWS, ROWS)
def test_equals_the_oracle(first, second):
    first, second = first + EVERY, second + EVERY
    found = marginals(frame(first), frame(second), SCHEMA, given="b")
    a, b = found.columns
    assert triple(a.marginal) == pytest.approx(oracle_marginal(first, second, 0, range(4)))
    assert triple(a.conditional) == pytest.approx(oracle_conditional(first, second, 0, 1, range(4), range(3)))
    assert b.conditional is None
    assert (found.n_given, found.n_given_lost) == (3, 0)
    assert 0 <= a.marginal.total_variation <= 1


def test_a_lost_given_level_is_left_out_and_counted():
    first, second = frame(EVERY), frame([row for row in EVERY if row[1] != 2])
    found = marginals(first, second, SCHEMA, given="b")
    assert (found.n_given, found.n_given_lost) == (2, 1)
    assert triple(found.columns[0].conditional) == (0.0, 0.0, 0.0)


def test_nothing_left_to_condition_on():
    schema = Schema.of(quasi=["a", "b"], levels={"b": [0, 1]}, kinds={"a": "nominal", "b": "nominal"})
    found = marginals(frame([(0, 0), (1, 0)]), frame([(0, 1), (1, 1)]), schema, given="b")
    assert found.columns[0].conditional is None
    assert (found.n_given, found.n_given_lost) == (0, 2)
    assert found.columns[1].marginal.total_variation == 1.0


def test_golden_by_hand():
    first, second = frame([(0, 0)] * 2 + [(1, 0)] * 2), frame([(0, 0)] * 3 + [(1, 0)])
    a, b = marginals(first, second, SCHEMA).columns
    assert (triple(a.marginal), a.n_cells) == ((0.25, 0.0625, 0.25), 2)
    assert (triple(b.marginal), b.n_cells) == ((0.0, 0.0, 0.0), 1)


def test_the_original_itself_has_no_distance(survey, schema):
    found = marginals(survey, survey.reverse(), schema, given="ill")
    assert float(found) == 0.0
    assert all(column.conditional is None or column.conditional.mae < 1e-15 for column in found.columns)
    assert [column.role for column in found.columns] == ["quasi"] * 5 + ["sensitive"] * 2


def test_noise_keeps_marginals_and_changes_conditionals(survey, noise, schema):
    found = marginals(survey, noise, schema, given="sex")
    assert found.total_variation == pytest.approx(0.0)
    assert found.columns[0].conditional.total_variation > 0.05


def test_a_weight_of_two_equals_a_row_twice(survey, noise, schema):
    rows = np.repeat(np.arange(len(survey)), survey["perwt"].cast(pl.Int64).to_numpy())
    weighted = marginals(survey, noise, schema, given="education", weighted=True)
    repeated = marginals(survey[rows], noise[rows], schema, given="education")
    for one, other in zip(weighted.columns, repeated.columns, strict=True):
        assert triple(one.marginal) == pytest.approx(triple(other.marginal))
        assert one.column == "education" or triple(one.conditional) == pytest.approx(triple(other.conditional))


def test_json(survey, noise, schema):
    found = marginals(survey, noise, schema, given="sex")
    assert json.loads(json.dumps(found.to_dict()))["given"] == "sex"
    assert found.releasable


@pytest.mark.parametrize("given_name", ["nobody", "perwt"])
def test_bad_given(given_name, survey, schema):
    with pytest.raises(ParameterError, match="given must name"):
        marginals(survey, survey, schema, given=given_name)


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


def test_ranks_by_hand():
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
