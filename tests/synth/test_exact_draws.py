import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from shoal.synth.exact_draws import GRAIN, below, pick_cell, virtual_records


@given(st.floats(1e-4, 2000), st.integers(1, 40))
def test_alpha_is_never_too_small(epsilon, draws):
    alpha = virtual_records(epsilon, draws) / GRAIN
    assert draws * math.log1p(1 / alpha) <= epsilon * (1 + 1e-9)


def test_alpha_of_the_paper():
    assert virtual_records(1.0, 13) / GRAIN == pytest.approx(1 / math.expm1(1 / 13), rel=1e-5)


def test_draws_are_uniform_and_below():
    totals = np.repeat(np.array([3, 7, 1, 2**62 + 1]), 4000)
    drawn = below(totals)
    assert (drawn >= 0).all()
    assert (drawn < totals).all()
    assert chisquare(np.bincount(drawn[:4000], minlength=3)).pvalue > 1e-6
    assert chisquare(np.bincount(drawn[4000:8000], minlength=7)).pvalue > 1e-6
    assert set(drawn[8000:12000]) == {0}
    assert 0.45 < (drawn[12000:] / 2**62).mean() < 0.55


def test_seeded_draws_repeat():
    totals = np.full(50, 1000)
    draws = [below(totals, np.random.default_rng(3)) for _ in range(2)]
    assert (draws[0] == draws[1]).all()
    assert (below(totals) != below(totals)).any()


def test_cells_are_stretches_of_the_cumulative_weights():
    cumulative = np.array([[2, 2, 5]] * 5)
    assert pick_cell(cumulative, np.arange(5)).tolist() == [0, 0, 2, 2, 2]
