"""How much each quasi-identifier counts where one has to give way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shoal.arrays import FloatArray
from shoal.errors import ParameterError

__all__ = ["importance_of"]


def importance_of(owner: str, given: Mapping[str, float] | None, names: Sequence[str]) -> FloatArray:
    """The importance of each of the columns `names`; 1 for those that `given` doesn't name.

    A name that is no quasi-identifier, or a number that isn't positive, is a ParameterError of `owner`.
    """
    wanted = dict(given or {})
    unknown = sorted(str(name) for name in wanted if name not in names)
    if unknown:
        raise ParameterError(owner, "importance must name quasi-identifiers", got=", ".join(unknown)[:60])
    for name, weight in wanted.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise ParameterError(owner, f"importance of '{name}' must be a positive number", got=repr(weight)[:40])
    return np.array([float(wanted.get(name, 1.0)) for name in names])
