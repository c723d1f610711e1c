"""l-diverse building blocks: the smallest α in each block whose perturbed distribution has entropy of at least log l.

    H(α) = − Σ_j p_j log p_j,    p_j = (n_j + α) / (N + C α).

H grows with α from the entropy of the counts to log C. So α = 0 where the counts already reach log l, else the root of
H(α) = log l; an empty block, and l = C, give the uniform distribution; l > C is impossible.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Domain
from shoal.errors import ParameterError

__all__ = ["check_diversity", "diverse_blocks", "diverse_probabilities", "entropy"]

_STEPS = 200
_GRAINS = 1 << 40


def check_diversity(domain: Domain, l: float) -> None:  # noqa: E741
    """Refuse an l that a column can't reach, and name the column."""
    for axis in domain.axes:
        if axis.size < l:
            raise ParameterError(
                "PeGS",
                f"diversity must not exceed the number of levels of column '{axis.name}'",
                got=f"l = {l:g} for {axis.size} levels",
                hint="Lower l, or leave the column out.",
            )


def entropy(p: FloatArray) -> FloatArray:
    """Shannon entropy of each row, in nats."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-(p * logs).sum(axis=1), dtype=np.float64)


def diverse_probabilities(counts: IntArray, l: float) -> FloatArray:  # noqa: E741
    """The distribution of each block (row of counts), perturbed as little as log l asks for."""
    C = counts.shape[1]
    n = counts.astype(np.float64)
    wanted = np.log(l)
    plain = _perturbed(n, np.zeros(len(n)))
    open_rows = entropy(plain) < wanted
    low, high = np.full(len(n), -30.0), np.full(len(n), 40.0)  # log α
    for _ in range(_STEPS):
        middle = (low + high) / 2
        short = entropy(_perturbed(n, np.exp(middle))) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    mended = _perturbed(n, np.exp(high))
    mended = np.where(entropy(mended)[:, None] < wanted, 1.0 / C, mended)  # l = C: α is infinite
    return np.where(open_rows[:, None], mended, plain)


def diverse_blocks(counts: IntArray, l: float) -> IntArray:  # noqa: E741
    """The same as whole-number weights."""
    weights: IntArray = np.rint(diverse_probabilities(counts, l) * _GRAINS).astype(np.int64)
    return weights


def _perturbed(n: FloatArray, alpha: FloatArray) -> FloatArray:
    C = n.shape[1]
    total = n.sum(axis=1) + C * alpha
    p = (n + alpha[:, None]) / np.where(total > 0, total, 1)[:, None]
    return np.where((total > 0)[:, None], p, 1.0 / C)
