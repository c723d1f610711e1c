"""How much each column counts where losses or distances of several columns are added."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shoal.arrays import FloatArray
from shoal.errors import ParameterError

__all__ = ["importance_of"]


def importance_of(
    owner: str, given: Mapping[str, float] | None, names: Sequence[str], rule: str = "must name quasi-identifiers"
) -> FloatArray:
    """The importance of each of the columns `names`; 1 for those that `given` doesn't name.

    A name that is none of them, or a number that isn't positive, is a ParameterError of `owner`.
    """
    weights = dict(given or {})
    unknown = sorted(str(name) for name in weights if name not in names)
    if unknown:
        raise ParameterError(owner, f"importance {rule}", got=", ".join(unknown)[:60])
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise ParameterError(owner, f"importance of '{name}' must be a positive number", got=repr(weight)[:40])
    return np.array([float(weights.get(name, 1.0)) for name in names])
