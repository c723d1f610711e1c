"""Missing keys as wildcards: a record may be anybody whose known values it doesn't contradict.

A missing quasi-identifier is a level of its own everywhere else, which is right where the gap itself can be known (a
question that was not asked). Where a value was suppressed, the gap fits every value: record i then has

    f_i = Σ_m c_im,   F_i = Σ_m c_im w_m,   m over all records that agree with i wherever both have a value,

with c = 1 for its own class (the same values, the same gaps) and for complete records, and α for other incomplete ones
(sdcMicro's α). Records with the same gaps are compared with those of every other pattern of gaps, so the cost is O(n)
for each pattern that occurs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import Codes, combine

__all__ = ["wildcard_counts"]


def wildcard_counts(
    keys: Sequence[Codes], missing: BoolArray, weights: FloatArray | None = None, alpha: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """f and F of each row; F is f where there are no weights.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.equivalence import Codes
    >>> town = Codes(values=np.array([0, 0, 1, 2]), n=3)  # 2 stands for a gap
    >>> wildcard_counts([town], np.array([[False], [False], [False], [True]]))[0].tolist()
    [3.0, 3.0, 2.0, 4.0]
    """
    n = len(missing)
    counts = np.ones((n, 1)) if weights is None else np.column_stack([np.ones(n), weights])
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    rows = [np.flatnonzero(which.reshape(-1) == p) for p in range(len(patterns))]
    total = np.zeros_like(counts)
    for a, mine in enumerate(rows):
        for b, theirs in enumerate(rows):
            share = 1.0 if a == b or not patterns[b].any() else alpha
            shared = [key for key, gap in zip(keys, patterns[a] | patterns[b], strict=True) if not gap]
            total[mine] += share * _agreeing(shared, mine, theirs, counts)
    return total[:, 0], total[:, -1]


def _agreeing(keys: Sequence[Codes], mine: IntArray, theirs: IntArray, counts: FloatArray) -> FloatArray:
    """For each row of `mine` the sum of `counts` over the rows of `theirs` that have the same keys."""
    both = np.concatenate([mine, theirs])
    key = combine([Codes(values=key.values[both], n=key.n) for key in keys], n_rows=len(both))
    held = [np.bincount(key.values[len(mine) :], weights=column[theirs], minlength=key.n) for column in counts.T]
    found: FloatArray = np.column_stack(held).astype(np.float64)
    return found[key.values[: len(mine)]]
