import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.synth.pegs_by_row import diverse_blocks, diverse_probabilities, entropy

COUNTS = arrays(np.int64, (3, 4), elements=st.integers(0, 50))


@given(COUNTS, st.floats(1.0, 4.0))
def test_entropy_reaches_log_l(counts, l):  # noqa: E741
    p = diverse_probabilities(counts, l)
    assert p.sum(axis=1) == pytest.approx(1)
    assert (entropy(p) >= np.log(l) - 1e-9).all()
    drawn = diverse_blocks(counts, l)
    assert (entropy(drawn / drawn.sum(axis=1, keepdims=True)) >= np.log(l) - 1e-6).all()


@given(COUNTS)
def test_nothing_is_perturbed_where_it_need_not(counts):
    counts = counts + 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    l = float(np.exp(entropy(shares).min() - 1e-6))  # noqa: E741
    assert diverse_probabilities(counts, l) == pytest.approx(shares)


def test_perturbation_is_the_smallest():
    """Entropy is met with equality where something had to be done."""
    p = diverse_probabilities(np.array([[90, 5, 5], [1, 0, 0]]), 2.5)
    assert entropy(p) == pytest.approx(np.log(2.5), abs=1e-9)
    assert p[0, 0] > p[0, 1]


def test_all_levels_and_empty_blocks_are_uniform():
    p = diverse_probabilities(np.array([[7, 0], [0, 0]]), 2.0)
    assert p == pytest.approx(0.5)
