"""Deciding early that a node suppresses too much, against counting it to the end."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coarsening import counting


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=60, unique=True),
    st.integers(0, 2**30),
    st.integers(2, 6),
    st.booleans(),
)
def test_too_many_rows_in_small_classes(combinations, seed, k, exact):
    rng = np.random.default_rng(seed)
    codes = np.array(combinations, dtype=np.int32)
    rows = rng.integers(1, 4, len(codes))
    lut = np.concatenate([np.arange(4), np.arange(4) // 2, np.zeros(4)]).astype(np.int32)
    at, radix = rng.permutation([0, 4, 8]), np.array([4, 4, 4])
    sizes = {}
    for combination, n in zip(combinations, rows.tolist(), strict=True):
        key = tuple(int(lut[at[j] + code]) for j, code in enumerate(combination))
        sizes[key] = sizes.get(key, 0) + n
    small = sum(size for size in sizes.values() if size < k)
    deal = counting.dealt(codes, rows, lut, at)
    for limit in (0, small - 1, small, small + 1):
        assert counting.exceeds(*deal, lut, at, radix, exact, k, limit) == (small > limit)
