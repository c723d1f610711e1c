"""The α-gain against a slow oracle, the eight cases one by one, and the sensitivity of n × Gini gain by exhaustion."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.score.splits import GINI_SENSITIVITY, alpha_gain, eight_cases, gain_range, gini_gain

ALPHAS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, -1.0)
counts = st.integers(0, 30)


def oracle(table, alpha):
    """D_α by its definition, cell by cell."""
    n = sum(map(sum, table))
    if n == 0:
        return 0.0
    total = 0.0
    for x, y in itertools.product((0, 1), repeat=2):
        p = table[x][y] / n
        q = sum(table[x]) / n * (table[0][y] + table[1][y]) / n
        if alpha == 1:
            total += p * math.log(p / q) if p else 0.0
        elif alpha == 0:
            total += 0.0 if not q else q * math.log(q / p) if p else math.inf
        elif not q:
            total += 0.0
        elif p == 0:
            total += math.inf if alpha < 0 else 0.0
        else:
            total += p**alpha * q ** (1 - alpha)
    return total if alpha in (0, 1) else (1 - total) / (alpha * (1 - alpha))


@given(counts, counts, counts, counts, st.sampled_from(ALPHAS))
def test_gain_is_its_definition(a, b, c, d, alpha):
    ours = float(alpha_gain(np.array([[a, b], [c, d]]), alpha))
    theirs = oracle([[a, b], [c, d]], alpha)
    assert ours == pytest.approx(max(theirs, 0.0), abs=1e-9)


def test_limits_of_alpha():
    table = np.array([[7.0, 3.0], [2.0, 9.0]])
    assert float(alpha_gain(table, 1.0)) == pytest.approx(float(alpha_gain(table, 1 + 1e-6)), abs=1e-5)
    assert float(alpha_gain(table, 0.0)) == pytest.approx(float(alpha_gain(table, 1e-6)), abs=1e-5)
    n = table.sum()
    P = table / n
    Q = np.outer(P.sum(1), P.sum(0))
    assert float(alpha_gain(table, 2.0)) == pytest.approx(float(((P - Q) ** 2 / Q).sum() / 2))
    assert float(alpha_gain(table, 0.5)) == pytest.approx(float(2 * ((P**0.5 - Q**0.5) ** 2).sum()))


def test_alpha_two_ranks_as_gini_does():
    rng = np.random.default_rng(0)
    total = np.array([40, 25])
    yes = np.column_stack([rng.integers(1, 40, 200), rng.integers(1, 25, 200)])
    tables = np.stack([total - yes, yes], axis=1).astype(float)
    assert gini_gain(tables) == pytest.approx(alpha_gain(tables, 2.0) * 2 * 40 * 25 / 65, abs=1e-9)  # so ranks agree


@given(counts, counts, counts, counts, st.sampled_from((0.5, 1.0, 2.0)))
def test_eight_cases(a, b, c, d, alpha):
    table = [[a, b], [c, d]]
    gains = []
    for x, y, step in itertools.product((0, 1), (0, 1), (1, -1)):
        changed = [row[:] for row in table]
        changed[x][y] += step
        if changed[x][y] >= 0:
            gains.append(max(0.0, oracle(changed, alpha)))
    low, high = gain_range(np.array(table, dtype=float), alpha)
    assert float(low) == pytest.approx(min(gains), abs=1e-9)
    assert float(high) == pytest.approx(max(gains), abs=1e-9)
    possible = ~np.isnan(eight_cases(np.array(table))).any(axis=(1, 2))
    assert possible.sum() == len(gains)


def test_sensitivity_of_gini_gain_on_all_small_tables():
    """Every 2×2 table with up to 7 records in a cell, every added record: the gain moves by less than 1."""
    cells = np.array(list(itertools.product(range(8), repeat=4)), dtype=float).reshape(-1, 2, 2)
    before = gini_gain(cells)
    worst = 0.0
    for x, y in itertools.product((0, 1), repeat=2):
        more = cells.copy()
        more[:, x, y] += 1
        worst = max(worst, float(np.abs(gini_gain(more) - before).max()))
    assert 0.7 < worst < 1.0
    assert GINI_SENSITIVITY > 1.0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 3))
def test_sensitivity_of_gini_gain_on_large_tables(a, b, c, d, cell):
    table = np.array([a, b, c, d], dtype=float)
    more = table.copy()
    more[cell] += 1
    assert abs(float(gini_gain(more.reshape(2, 2)) - gini_gain(table.reshape(2, 2)))) <= GINI_SENSITIVITY


def test_alpha_gain_times_n_has_no_such_bound():
    def scaled(table):
        return float(table.sum() * alpha_gain(table, 1.0))

    jumps = [
        scaled(np.array([[n, 0.0], [0.0, 1.0]])) - scaled(np.array([[n, 0.0], [0.0, 0.0]])) for n in (10, 1000, 10**6)
    ]
    assert jumps[0] < jumps[1] < jumps[2]
    assert jumps[2] > 10
