"""How much of a noisy deviation to believe: cell by cell, and by the few patterns that a table of ties is made of.

D is a table of deviations from what was expected, D = truth + noise, the noise independent with variance s². Two
estimates of the truth, averaged with weights 1/3 and 2/3:

- *cell by cell*: a prior N(0, v) for each cell gives the posterior mean τ D, τ = v / (v + s²);
- *by patterns*: ties between two columns are mostly of low rank (older people stay longer), noise is not. Singular
  values y of a D, with a = √(τ / max τ) so that cells without hope don't add their noise, are set to 0 within the reach
  of noise and shrunk beyond,

      η(y) = √((y² − β − 1)² − 4β) / y  for y > 1 + √β,  β = rows / columns, y in units of s √columns,

  the shrinkage of least squared error for equal noise (Gavish and Donoho, "Optimal shrinkage of singular values",
  2017), and weighted by a once more.

The second errs where a tie has full rank (a copy of a column), the first where it is faint in every cell; together they
were as good as the better of them, or better, on the tables that they were tried on. All of it is post-processing.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["believed", "low_rank"]

_PATTERNS = 2 / 3
_FEW = 3  # rows or columns below which patterns can't be told from cells


def believed(D: FloatArray, prior: FloatArray, variance: float) -> FloatArray:
    """The estimate of the truth behind D, given its cells' prior variances and that of the noise."""
    trust = prior / (prior + variance)
    cell_by_cell = trust * D
    if min(D.shape) < _FEW:
        return np.asarray(cell_by_cell, dtype=np.float64)
    a = np.sqrt(trust / trust.max())
    patterns = a * low_rank(a * D, variance * float((a**2).mean()))
    return np.asarray(
        _PATTERNS * patterns + (1 - _PATTERNS) * cell_by_cell if patterns.any() else cell_by_cell, dtype=np.float64
    )


def low_rank(D: FloatArray, variance: float) -> FloatArray:
    """D with its singular values shrunk as far as noise of this variance asks for."""
    if D.shape[0] > D.shape[1]:
        return low_rank(D.T, variance).T
    U, values, V = np.linalg.svd(D, full_matrices=False)
    unit = math.sqrt(variance * D.shape[1])
    return np.asarray((U * (unit * _shrunk(values / unit, D.shape[0] / D.shape[1]))) @ V, dtype=np.float64)


def _shrunk(y: FloatArray, beta: float) -> FloatArray:
    seen = y > 1 + math.sqrt(beta)
    kept = np.where(seen, y, 1.0 + math.sqrt(beta))
    return np.where(seen, np.sqrt(np.maximum((kept**2 - beta - 1) ** 2 - 4 * beta, 0.0)) / kept, 0.0)
