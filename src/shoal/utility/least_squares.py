"""Weighted least squares that survives collinear columns, and says which coefficients the data determine.

The normal equations are scaled to unit diagonal and solved on the space that the data span; a coefficient is
*estimable* if no direction without information touches it. Standard errors are the classical ones, or with survey
weights the sandwich (heteroscedasticity-consistent) ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray
from shoal.utility.design import Design, Layout

__all__ = ["Fit", "least_squares"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model: `coefficients` in the columns' own units, `working` ones for `Design.dot`.

    `half_widths` are those of 95 % intervals; NaN where no degree of freedom is left.
    """

    working: FloatArray
    coefficients: FloatArray
    errors: FloatArray
    half_widths: FloatArray
    estimable: BoolArray

    def predict(self, design: Design) -> FloatArray:
        """Expected responses; a level that training had not seen counts as the reference level."""
        return design.dot(self.working)


def least_squares(design: Design, layout: Layout, response: FloatArray, weights: FloatArray, *, robust: bool) -> Fit:
    """Fit `response` on `design`; rows of weight 0 count for nothing."""
    center = float(np.average(response, weights=weights))
    gram = design.gram(weights)
    inverse, null, rank = _pseudo_inverse(gram)
    working = inverse @ design.cross(weights * (response - center))
    residuals = response - center - design.dot(working)
    working[0] += center
    freedom = int((weights > 0).sum()) - rank
    covariance = _covariance(design, inverse, residuals, weights, freedom, robust)
    back = _back(layout, design.width)
    errors = np.sqrt(np.maximum(np.sum((back @ covariance) * back, axis=1), 0.0))
    return Fit(
        working=working,
        coefficients=back @ working,
        errors=errors,
        half_widths=errors * _student(freedom),
        estimable=_estimable(back, null),
    )


def _pseudo_inverse(gram: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """The pseudo-inverse on the scale of unit diagonal, the directions without information, and the rank."""
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = values > max(1e-11, 10 * len(gram) * float(np.finfo(np.float64).eps)) * max(float(values[-1]), 1e-300)
    vectors = vectors / scale[:, None]
    used = vectors[:, kept]
    return (used / values[kept]) @ used.T, vectors[:, ~kept], int(kept.sum())


def _covariance(
    design: Design,
    inverse: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    freedom: int,
    robust: bool,
) -> FloatArray:
    if freedom <= 0:
        return np.full_like(inverse, np.nan)
    if not robust:
        return inverse * (float(weights @ residuals**2) / freedom)
    n = int((weights > 0).sum())
    return inverse @ design.gram((weights * residuals) ** 2) @ inverse * (n / freedom)


def _back(layout: Layout, width: int) -> FloatArray:
    """The map from coefficients on standardised numbers to those in the columns' own units."""
    back = np.eye(width)
    a = len(layout.scales)
    back[np.arange(a), np.arange(a)] = 1.0 / layout.scales
    back[0, 1:a] = -(layout.centers / layout.scales)[1:]
    return back


def _estimable(back: FloatArray, null: FloatArray) -> BoolArray:
    if null.shape[1] == 0:
        return np.ones(len(back), dtype=np.bool_)
    touched = np.linalg.norm(back @ (null / np.linalg.norm(null, axis=0)), axis=1)
    return np.asarray(touched <= 1e-6 * np.linalg.norm(back, axis=1), dtype=np.bool_)


def _student(freedom: int) -> float:
    """97.5 % point of Student's t."""
    if freedom <= 0:
        return float("nan")
    if freedom >= 100:  # Fisher's expansion is right to eight digits, and spares the import
        z, v = 1.959963984540054, float(freedom)
        second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        return z + (z**3 + z) / (4 * v) + second + third
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
