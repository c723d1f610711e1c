"""A regression on numbers that carry noise of known size: what measurement error models make of it (Fuller 1993).

Noise on a covariate draws its slope towards 0 and pushes the others' about. Who published `AddNoise(ratio=c)` says c,
and with it the second moments before the noise follow from those after it. With x̃, ỹ the released columns less their
means, β solves

    Σ_i (F ∘ x̃_i x̃_iᵀ) β = Σ_i f ∘ x̃_i ỹ_i,

F and f being 1 but for the noisy columns N:

| kind | F | f |
| --- | --- | --- |
| ``"additive"`` | 1/(1 + c²) on the diagonal of N | 1 |
| ``"correlated"`` | 1/(1 + c²) for both in N | 1 |
| ``"kept"`` | 1/√(1 − c²) for one in N and one not | 1/√(1 − c²) in N |

Standard errors are those of estimating equations,

    ψ_i = f ∘ x̃_i ỹ_i − (F ∘ x̃_i x̃_iᵀ) β,    V = A⁻¹ Σ ψψᵀ A⁻ᵀ,    A = Σ F ∘ x̃x̃ᵀ.

Assumed: the noise is as said, the response has none, and nothing was rounded or cut at bounds beyond what noise hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray
from shoal.conform import floats
from shoal.errors import ColumnError, InputError, ParameterError
from shoal.frame import Frame, enter, series
from shoal.mask.add_noise import Kind
from shoal.record import Interval, Record

__all__ = ["CorrectedSlope", "NoiseCorrected", "noise_corrected"]

_OWNER = "noise_corrected"
_NORMAL = 1.959963984540054
_FLAT = 1e-6  # least eigenvalue of the corrected correlations


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedSlope(Record):
    """One slope: as least squares has it, with the noise taken out, and the 95% interval of the latter."""

    term: str
    plain: float
    corrected: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCorrected(Record):
    """A regression on a noisy release, corrected for its noise. It is made from released rows alone.

    Parameters
    ----------
    target, kind, ratio
        The response, and the noise as published.
    slopes
        One for each covariate; a text has one for each level but its first.
    n_rows, n_left_out
        Rows used, and rows left out because a number is missing.
    """

    releasable: ClassVar[bool] = True

    target: str
    kind: Kind
    ratio: float
    slopes: tuple[CorrectedSlope, ...]
    n_rows: int
    n_left_out: int

    def __getitem__(self, term: str) -> CorrectedSlope:
        return next(slope for slope in self.slopes if slope.term == term)


def noise_corrected(
    released: Any,
    target: str,
    covariates: Sequence[str],
    *,
    noisy: Sequence[str],
    ratio: float,
    kind: Kind = "additive",
) -> NoiseCorrected:
    """Regress `target` on `covariates` of a release whose columns `noisy` carry noise.

    Parameters
    ----------
    released
        The released table, of any dataframe type.
    target, covariates
        A numeric column without noise, and what explains it: numbers as they are, texts by indicators.
    noisy, ratio, kind
        What `AddNoise` did, as the release says: its columns, and the size and kind of the noise.

    Notes
    -----
    Correcting needs a noisy covariate that the others don't explain: where what is left of its variance is less than
    the noise, there is an error instead of a slope. Intervals are wider than those of the plain regression, as they
    should be. Rows with a missing number are left out, survey weights aren't used. Cost: linear in rows.

    References
    ----------
    Fuller 1993, *Masking procedures for microdata disclosure limitation*.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=50_000)
    >>> table = pl.DataFrame({"x": x + 0.5 * rng.normal(size=50_000), "y": 2 * x + rng.normal(size=50_000)})
    >>> found = shoal.utility.noise_corrected(table, "y", ["x"], noisy=["x"], ratio=0.5)["x"]
    >>> round(found.plain, 1), round(found.corrected, 1)
    (1.6, 2.0)
    """
    _check(target, covariates, noisy, ratio, kind)
    X, y, terms, is_noisy, left_out = _columns(enter(released), target, covariates, noisy)
    plain, corrected, errors = slopes(X, y, is_noisy, ratio, kind)
    return NoiseCorrected(
        target=target,
        kind=kind,
        ratio=ratio,
        slopes=tuple(
            CorrectedSlope(term=term, plain=p, corrected=c, interval=(c - _NORMAL * e, c + _NORMAL * e))
            for term, p, c, e in zip(terms, plain.tolist(), corrected.tolist(), errors.tolist(), strict=True)
        ),
        n_rows=len(y),
        n_left_out=left_out,
    )


def _check(target: str, covariates: Sequence[str], noisy: Sequence[str], ratio: float, kind: Kind) -> None:
    if not covariates or target in covariates:
        raise ParameterError(_OWNER, "covariates must be columns other than the target", parameter="covariates")
    if not noisy or not set(noisy) <= set(covariates):
        raise ParameterError(_OWNER, "noisy must name some of the covariates", parameter="noisy")
    if not 0 < ratio < (1 if kind == "kept" else np.inf):
        raise ParameterError(
            _OWNER, "ratio must be above 0, and below 1 for kind 'kept'", got=f"{ratio:g}", parameter="ratio"
        )


def _columns(
    frame: Frame, target: str, covariates: Sequence[str], noisy: Sequence[str]
) -> tuple[FloatArray, FloatArray, list[str], BoolArray, int]:
    """Covariates as numbers, the response, the names of the terms, which of them have noise, and rows left out."""
    parts = [_terms(series(frame, name), name in noisy) for name in covariates]
    terms = [term for part in parts for term in part]
    columns = np.column_stack([_number(series(frame, target)), *(v for part in parts for v in part.values())])
    known = ~np.isnan(columns).any(axis=1)
    kept = columns[known]
    if len(kept) <= len(terms) + 1:
        raise InputError("released table", "must have more rows than the regression has terms", got=f"{len(kept)}")
    is_noisy = np.array([term in noisy for term in terms])
    return kept[:, 1:], kept[:, 0], terms, is_noisy, int((~known).sum())


def _terms(column: pl.Series, noisy: bool) -> dict[str, FloatArray]:
    if column.dtype.is_numeric() or noisy:
        return {column.name: _number(column)}
    said = column.cast(pl.String).fill_null("missing")
    levels = said.unique().sort().to_list()[1:]
    return {f"{column.name}[{at}]": floats((said == level).cast(pl.Float64)) for at, level in enumerate(levels, 1)}


def _number(column: pl.Series) -> FloatArray:
    if not column.dtype.is_numeric():
        raise ColumnError(column.name, "must be numeric")
    return floats(column)


def slopes(
    X: FloatArray, y: FloatArray, noisy: BoolArray, ratio: float, kind: Kind
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slopes by least squares, slopes without the noise, and standard errors of the latter."""
    X, y = X - X.mean(axis=0), y - y.mean()
    F, f = _factors(noisy, ratio, kind)
    A = F * (X.T @ X)
    scale = np.sqrt(np.diag(A))
    if not (scale > 0).all() or np.linalg.eigvalsh(A / np.outer(scale, scale))[0] < _FLAT:
        raise InputError(
            _OWNER,
            "the covariates must differ by more than their noise",
            hint="Leave out a covariate that others explain, or one that never varies.",
        )
    beta: FloatArray = np.asarray(np.linalg.solve(A, f * (X.T @ y)), dtype=np.float64)
    plain: FloatArray = np.asarray(np.linalg.solve(X.T @ X, X.T @ y), dtype=np.float64)
    psi = f * X * y[:, None] - X * (X @ (F * beta).T)
    errors: FloatArray = np.sqrt((np.linalg.solve(A, psi.T) ** 2).sum(axis=1))
    return plain, beta, errors


def _factors(noisy: BoolArray, ratio: float, kind: Kind) -> tuple[FloatArray, FloatArray]:
    """F and f: what released moments are multiplied by."""
    both, F, f = np.outer(noisy, noisy), np.ones((len(noisy), len(noisy))), np.ones(len(noisy))
    if kind == "kept":
        F[noisy[:, None] != noisy] = f[noisy] = 1 / np.sqrt(1 - ratio**2)
        return F, f
    F[both if kind == "correlated" else both & np.eye(len(noisy), dtype=bool)] = 1 / (1 + ratio**2)
    return F, f
