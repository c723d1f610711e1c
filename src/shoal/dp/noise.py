"""The one guarded door to protective noise: every random choice that carries a claim is drawn by OpenDP, here.

Noise is added to *integer counts* only, as noise on floats can be read from the low bits of the result. No function
takes a seed: noise that can be replayed protects nobody. Prices come from OpenDP's own privacy maps, which round
upwards, so a stated price is never below the true one:

- `discrete_laplace`: P(noise = z) ∝ exp(−|z| / scale); costs ε = Δ₁ / scale (`laplace_epsilon`);
- `discrete_gaussian`: P(noise = z) ∝ exp(−z² / (2 scale²)); costs ρ = Δ₂² / (2 scale²) (`gaussian_rho`);
- `noisy_max`: permute-and-flip, at least as good as the exponential mechanism at the same ε = 2Δ / scale;
- `randomised_response`: a category of m stays with probability e^ε / (e^ε + m − 1), else any other; ε for one answer;
- `noisy_max_zcdp`: the exponential mechanism (Gumbel noise), ρ = (Δ / scale)² / 2.

Δ₁ and Δ₂ are the L1 and L2 sensitivities: by how much one person's data may change the whole vector of counts. A Δ₂
such as √13 is itself a rounded number, so a ρ made of it is true to fifteen digits. For
*monotonic* scores (adding a person never lowers one and raises another) selection costs half of ε, a quarter of ρ.

Speed: OpenDP's samplers work with exact fractions. Measured on one core: 10 to 13 µs a cell for Laplace and 20 to 30 µs
for Gaussian noise, at any scale. Batches run on all cores (OpenDP lets go of Python's lock): two cores take 0.8 s and
1.2 s for 100,000 cells, 8 s and 12 s for a million; ten million Laplace cells took 113 s of one core. Such tables are
better noised on first use of a cell: `shoal.dp.LazyCounts` has the same law, in the time of the cells looked at.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.errors import ParameterError
from shoal.extras import need

__all__ = [
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_rho",
    "gaussian_scale",
    "laplace_epsilon",
    "laplace_scale",
    "noisy_max",
    "noisy_max_epsilon",
    "noisy_max_rho",
    "noisy_max_zcdp",
    "randomised_response",
    "response_epsilon",
]

_BATCH = 1 << 14  # cells a thread draws at once: a list of Python integers on the way back, so not too many
_Price = Literal["epsilon", "rho"]


def randomised_response(categories: IntArray, m: int, epsilon: float) -> IntArray:
    """Answer for each of `categories`, numbers below `m`: the truth with probability e^ε / (e^ε + m − 1), else another.

    Notes
    -----
    Each answer costs ε by itself, see `response_epsilon`. About 70 µs an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import noise
    >>> noise.randomised_response(np.array([0, 2, 1]), 3, epsilon=1.0).shape
    (3,)
    """
    if m < 2:
        return np.array(categories, dtype=np.int64)
    answer = _response(m, epsilon)
    return np.fromiter((answer(int(value)) for value in categories), dtype=np.int64, count=len(categories))


def response_epsilon(m: int, epsilon: float) -> float:
    """What one answer costs, by OpenDP's own map: ε, rounded upwards; nothing where there is one category only."""
    return float(_response(m, epsilon).map(1)) if m > 1 else 0.0


@lru_cache(maxsize=64)
def _response(m: int, epsilon: float) -> Any:
    return _opendp().measurements.make_randomized_response(list(range(m)), 1 / (1 + (m - 1) * math.exp(-epsilon)))


def discrete_laplace(counts: IntArray, scale: float) -> IntArray:
    """Add independent discrete Laplace noise to every count.

    Parameters
    ----------
    counts
        Whole numbers, any shape. Missing values do not exist here, and survey weights can't be used: one person must
        count as one.
    scale
        Larger is more private and noisier: the noise has a mean absolute value of about `scale`.

    Returns
    -------
    IntArray
        Noisy counts in the same shape. They may be negative; clip them afterwards at no cost. A sum beyond 64 bits
        stays at the largest number.

    Notes
    -----
    The whole array costs ε = Δ₁ / scale, see `laplace_epsilon`. About 10 µs a cell and core.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import noise
    >>> noise.discrete_laplace(np.array([10, 4, 0]), scale=2.0).shape
    (3,)
    """
    return _noised(_whole("discrete_laplace", counts), _laplace(_positive("discrete_laplace", "scale", scale)))


def discrete_gaussian(counts: IntArray, scale: float) -> IntArray:
    """Add independent discrete Gaussian noise to every count.

    Parameters
    ----------
    counts
        Whole numbers, any shape; see `discrete_laplace`.
    scale
        Standard deviation of the noise (very nearly, from 1 upwards).

    Returns
    -------
    IntArray
        Noisy counts in the same shape; they may be negative.

    Notes
    -----
    The whole array costs ρ = Δ₂² / (2 scale²), see `gaussian_rho`. About 20 to 30 µs a cell and core.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import noise
    >>> noise.discrete_gaussian(np.array([[10, 4], [0, 7]]), scale=3.0).shape
    (2, 2)
    """
    return _noised(_whole("discrete_gaussian", counts), _gaussian(_positive("discrete_gaussian", "scale", scale)))


def laplace_epsilon(scale: float, sensitivity_l1: int = 1) -> float:
    """Price of `discrete_laplace` by OpenDP's privacy map, rounded upwards.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.laplace_epsilon(scale=4.0, sensitivity_l1=2)
    0.5
    """
    measurement = _laplace(_positive("laplace_epsilon", "scale", scale))
    return _finite("laplace_epsilon", measurement, _positive_whole("laplace_epsilon", sensitivity_l1))


def gaussian_rho(scale: float, sensitivity_l2: float = 1.0) -> float:
    """Price ρ (zCDP) of `discrete_gaussian` by OpenDP's privacy map, rounded upwards.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.gaussian_rho(scale=2.0, sensitivity_l2=1.0)
    0.125
    """
    measurement = _gaussian(_positive("gaussian_rho", "scale", scale))
    return _finite("gaussian_rho", measurement, _positive("gaussian_rho", "sensitivity_l2", sensitivity_l2))


def laplace_scale(epsilon: float, sensitivity_l1: int = 1) -> float:
    """Least scale (but for the last bits) at which `discrete_laplace` costs at most `epsilon`.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.laplace_scale(epsilon=0.5, sensitivity_l1=2)
    4.0
    """
    target = _positive("laplace_scale", "epsilon", epsilon)
    sensitivity = _positive_whole("laplace_scale", sensitivity_l1)
    return _raised(sensitivity / target, target, lambda scale: laplace_epsilon(scale, sensitivity))


def gaussian_scale(rho: float, sensitivity_l2: float = 1.0) -> float:
    """Least scale (but for the last bits) at which `discrete_gaussian` costs at most `rho`.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.gaussian_scale(rho=0.125)
    2.0
    """
    target = _positive("gaussian_scale", "rho", rho)
    sensitivity = _positive("gaussian_scale", "sensitivity_l2", sensitivity_l2)
    return _raised(sensitivity / math.sqrt(2 * target), target, lambda scale: gaussian_rho(scale, sensitivity))


def noisy_max(scores: FloatArray | IntArray, sensitivity: float, epsilon: float, *, monotonic: bool = False) -> int:
    """Choose the position of a high score, at the price `epsilon`.

    Parameters
    ----------
    scores
        One finite number a candidate. Whole numbers (an integer array) are exact; for floats the sensitivity must
        cover the rounding of the sums that made them.
    sensitivity
        By how much one person may change any one score.
    epsilon
        Price of the choice; raising it makes the best candidate likelier.
    monotonic
        True only where one person moves all scores in the same direction (counts under add/remove): half the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import noise
    >>> noise.noisy_max(np.array([0.0, 900.0, 3.0]), sensitivity=1.0, epsilon=1.0)
    1
    """
    target = _positive("noisy_max", "epsilon", epsilon)
    reach = _positive("noisy_max", "sensitivity", sensitivity)
    guess = (1 if monotonic else 2) * reach / target
    scale = _raised(guess, target, lambda scale: noisy_max_epsilon(scale, reach, monotonic=monotonic))
    return _chosen("noisy_max", scores, reach, scale, "epsilon", monotonic)


def noisy_max_zcdp(scores: FloatArray | IntArray, sensitivity: float, rho: float, *, monotonic: bool = False) -> int:
    """Choose the position of a high score by the exponential mechanism, at the zCDP price `rho`.

    Parameters are those of `noisy_max`. Against `noisy_max` at the ε that gives the same ρ this is worth it where the
    rest is accounted in zCDP, as its price is ε²/8 instead of ε²/2.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import noise
    >>> noise.noisy_max_zcdp(np.array([0.0, 900.0, 3.0]), sensitivity=1.0, rho=0.5)
    1
    """
    target = _positive("noisy_max_zcdp", "rho", rho)
    reach = _positive("noisy_max_zcdp", "sensitivity", sensitivity)
    guess = (0.5 if monotonic else 1) * reach / math.sqrt(2 * target)
    scale = _raised(guess, target, lambda scale: noisy_max_rho(scale, reach, monotonic=monotonic))
    return _chosen("noisy_max_zcdp", scores, reach, scale, "rho", monotonic)


def noisy_max_epsilon(scale: float, sensitivity: float, *, monotonic: bool = False) -> float:
    """Price ε of a permute-and-flip choice at `scale`, by OpenDP's privacy map.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.noisy_max_epsilon(scale=4.0, sensitivity=1.0)
    0.5
    """
    return _selection_price("noisy_max_epsilon", scale, sensitivity, "epsilon", monotonic)


def noisy_max_rho(scale: float, sensitivity: float, *, monotonic: bool = False) -> float:
    """Price ρ of an exponential-mechanism choice at `scale`, by OpenDP's privacy map.

    Examples
    --------
    >>> from shoal.dp import noise
    >>> noise.noisy_max_rho(scale=1.0, sensitivity=1.0)
    0.5
    """
    return _selection_price("noisy_max_rho", scale, sensitivity, "rho", monotonic)


@cache
def _opendp() -> SimpleNamespace:
    """OpenDP's parts, loaded on first use; its prelude would take ten times as long."""
    need("opendp", "differential privacy")
    from opendp import domains, measurements, measures, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return SimpleNamespace(domains=domains, measurements=measurements, measures=measures, metrics=metrics)


@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    cells = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    return dp.measurements.make_laplace(cells, dp.metrics.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=64)
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    cells = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    return dp.measurements.make_gaussian(cells, dp.metrics.l2_distance(T="f64"), scale=scale)


@lru_cache(maxsize=64)
def _selector(kind: str, scale: float, price: _Price, monotonic: bool) -> Any:
    dp = _opendp()
    atom = dp.domains.atom_domain(T=kind, nan=False) if kind == "f64" else dp.domains.atom_domain(T=kind)
    measure = dp.measures.max_divergence() if price == "epsilon" else dp.measures.zero_concentrated_divergence()
    metric = dp.metrics.linf_distance(T=kind, monotonic=monotonic)
    return dp.measurements.make_noisy_max(dp.domains.vector_domain(atom), metric, measure, scale=scale)


def _selection_price(owner: str, scale: float, sensitivity: float, price: _Price, monotonic: bool) -> float:
    selector = _selector("f64", _positive(owner, "scale", scale), price, monotonic)
    return _finite(owner, selector, _positive(owner, "sensitivity", sensitivity))


def _chosen(owner: str, scores: AnyArray, reach: float, scale: float, price: _Price, monotonic: bool) -> int:
    values = np.asarray(scores)
    whole = np.issubdtype(values.dtype, np.integer)
    if values.ndim != 1 or values.size == 0 or not (whole or np.issubdtype(values.dtype, np.floating)):
        raise ParameterError(owner, "scores must be a one-dimensional array of at least one number")
    if not whole and not np.isfinite(values).all():
        raise ParameterError(owner, "scores must be finite")
    kind = "i64" if whole else "f64"
    exact = _whole(owner, values) if whole else values.astype(np.float64)
    return int(_selector(kind, scale, price, monotonic)(exact.tolist()))


def _noised(counts: IntArray, measurement: Any) -> IntArray:
    """Noise for every cell, in batches on all cores; the batches are independent, so their order does not matter."""
    flat = counts.ravel()
    out = np.empty_like(flat)

    def draw(start: int) -> None:
        out[start : start + _BATCH] = measurement(flat[start : start + _BATCH].tolist())

    starts = range(0, len(flat), _BATCH)
    if len(starts) <= 1:
        for start in starts:
            draw(start)
    else:
        with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as pool:
            list(pool.map(draw, starts))
    return out.reshape(counts.shape)


def _raised(scale: float, target: float, price: Callable[[float], float]) -> float:
    """The scale by the formula, raised by single bits until OpenDP's own map agrees that it costs at most `target`."""
    step = 1
    while price(scale) > target:
        scale += step * math.ulp(scale)
        step *= 2
    return scale


def _finite(owner: str, measurement: Any, sensitivity: float) -> float:
    price = float(measurement.map(sensitivity))
    if not math.isfinite(price):
        raise ParameterError(owner, "the price must be finite", hint="Raise the scale.")
    return price


def _whole(owner: str, counts: AnyArray) -> IntArray:
    values = np.asarray(counts)
    if not np.can_cast(values.dtype, np.int64, casting="safe") or values.dtype == np.bool_:
        raise ParameterError(
            owner,
            "counts must be an array of whole numbers of at most 64 bits",
            got=f"an array of {values.dtype}",
            hint="Noise on floats leaks through their low bits; add noise to the counts and divide afterwards.",
        )
    return np.ascontiguousarray(values, dtype=np.int64)


def _positive(owner: str, name: str, value: float) -> float:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not (0 < value < math.inf):
        raise ParameterError(owner, f"{name} must be a finite number greater than 0", got=repr(value)[:60])
    return float(value)


def _positive_whole(owner: str, value: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        rule = "sensitivity_l1 must be a whole number of at least 1"
        raise ParameterError(owner, rule, got=repr(value)[:60])
    return int(value)
