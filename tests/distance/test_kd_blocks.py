"""k-d blocks: a partition, of the wanted sizes, with neighbours together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.distance.kd_blocks import kd_blocks
from shoal.errors import ParameterError


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 300), st.integers(1, 4), st.integers(1, 9), st.integers(1, 20), st.integers(1, 4), st.integers(0, 99)
)
def test_blocks_are_a_partition_into_multiples_of_k(n, d, k, n_blocks, levels, seed):
    k = min(k, n)
    n_blocks = min(n_blocks, n // k)
    points = np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)
    rows = kd_blocks(points, k, n_blocks)
    assert len(rows) == n_blocks
    assert sorted(np.concatenate(rows).tolist()) == list(range(n))
    assert all((np.diff(block) > 0).all() for block in rows)
    assert all(len(block) >= k for block in rows)
    assert sum(len(block) % k for block in rows) == n % k
    assert max(map(len, rows)) - min(map(len, rows)) <= 3 * k


def test_equal_rows_stay_together():
    points = np.random.default_rng(0).integers(0, 3, (3000, 3)).astype(float)
    halves = kd_blocks(points, 1, 2)
    split = set(map(tuple, points[halves[0]])) & set(map(tuple, points[halves[1]]))
    assert len(split) <= 1


def test_refuses_blocks_smaller_than_k():
    with pytest.raises(ParameterError, match="at least k rows; got 3 blocks"):
        kd_blocks(np.zeros((10, 2)), 5, 3)
