"""What differential privacy costs when group means are published: the noise, from OpenDP.

A mean of N values inside (low, high) moves by at most (high − low)/N when one person's value changes. Laplace noise of
scale

    b = (high − low) / (N ε)

makes its publication ε-differentially private with N known. The scale is asked of OpenDP, which also counts the
rounding of floating point, and not computed here. A person is in one group of each set, so sets add up: k sets at ε
each cost kε.

This is advice. The noise of a real release must come from OpenDP's own sampler, unseeded; nothing here draws any.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.extras import need

__all__ = ["NoiseAdvice", "noise_for_means"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAdvice:
    """Laplace noise that makes the mean of a group of `size` people ε-differentially private.

    `scale` is the noise's scale b; its standard deviation is √2 b. `share` is b over the width of the bounds.
    """

    epsilon: float
    size: int
    low: float
    high: float
    scale: float

    @property
    def share(self) -> float:
        """The scale as a share of the bounds' width."""
        return self.scale / (self.high - self.low)

    def to_dict(self) -> dict[str, Any]:
        """The advice as JSON-safe words."""
        return {**asdict(self), "share": self.share}


def noise_for_means(*, epsilon: float, size: int, bounds: tuple[float, float], n_sets: int = 1) -> NoiseAdvice:
    """The Laplace scale that the mean of a group needs for a total of `epsilon`.

    Parameters
    ----------
    epsilon
        Privacy budget of a person for all sets of groups together. Raising it lowers the noise.
    size
        People in the group, taken as public.
    bounds
        Public range of a value; values outside are clamped. Never take it from the data.
    n_sets
        Sets of groups published, each of which gets epsilon / n_sets.

    Examples
    --------
    >>> from shoal.aggregate import noise_for_means
    >>> round(noise_for_means(epsilon=1.0, size=50, bounds=(0, 100)).scale, 6)
    2.0
    """
    low, high = (float(end) for end in bounds)
    _check(epsilon, size, low, high, n_sets)
    scale = _laplace_scale(epsilon / n_sets, int(size), low, high)
    return NoiseAdvice(epsilon=epsilon, size=int(size), low=low, high=high, scale=scale)


def _check(epsilon: float, size: int, low: float, high: float, n_sets: int) -> None:
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("noise_for_means", "epsilon must be a number greater than 0", got=repr(epsilon)[:40])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterError("noise_for_means", "bounds must be two finite numbers, the lower first")
    if size < 1 or n_sets < 1:
        raise ParameterError("noise_for_means", "size and n_sets must be at least 1", got=f"{size} and {n_sets}")


@lru_cache(maxsize=256)
def _laplace_scale(epsilon: float, size: int, low: float, high: float) -> float:
    """The least scale that OpenDP accepts, searched by OpenDP itself."""
    need("opendp", "noise_for_means")
    from opendp import domains, measurements, metrics, mod, transformations

    mod.enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(bounds=(low, high)), size=size), metrics.symmetric_distance()
    mean: Any = transformations.then_mean
    changed = 2  # one person's value replaced: one row out, one in
    found: float = mod.binary_search_param(
        lambda scale: space >> mean() >> measurements.then_laplace(scale), d_in=changed, d_out=epsilon
    )
    return found
