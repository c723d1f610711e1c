"""What groupers share: an order of the rows that does not depend on that of the file."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.group.grouper import _sorted_rows, canonical_order

VALUES = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0])


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=VALUES))
def test_rows_are_sorted_as_by_lexsort(points):
    assert np.array_equal(_sorted_rows(points), np.lexsort(points.T[::-1]))


def test_no_rows_and_no_columns_have_an_order_too():
    rng = np.random.default_rng(1)
    assert len(canonical_order(np.empty((0, 2)), rng)) == 0
    assert sorted(canonical_order(np.empty((3, 0)), rng)) == [0, 1, 2]
