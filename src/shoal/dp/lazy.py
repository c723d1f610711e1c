"""Noisy counts whose noise is drawn when a cell is first looked at, and kept.

A table of ten million cells would take OpenDP a minute, and a synthesizer may look at a hundredth of it. Noise on
different cells is independent, so drawing it late gives the same law as drawing it all at once, *provided that* a cell
once drawn keeps its value, and that which cells are looked at follows from public things and earlier noisy counts only.
The whole table is paid for at the start, looked at or not.
"""

from __future__ import annotations

import threading
from typing import Any, Literal

import numpy as np

from shoal.arrays import IntArray
from shoal.dp import noise
from shoal.errors import ParameterError

__all__ = ["LazyCounts"]


class LazyCounts:
    """Counts behind noise, drawn on first use.

    Parameters
    ----------
    counts
        The true counts, one axis. They are copied, and never shown: no method, message or pickle gives them away.
    scale
        Scale of the noise; see `shoal.dp.noise`.
    law
        ``"laplace"`` or ``"gaussian"``.

    Notes
    -----
    The price is that of noising the whole array at once. A look-up costs about 10 µs (Laplace) or 20 µs (Gaussian) for
    each new cell and core, and nothing much for an old one. Memory: 17 bytes a cell. Safe to use from several threads.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.dp import LazyCounts
    >>> cells = LazyCounts(np.zeros(1_000_000, dtype=np.int64), scale=13.0)
    >>> first = cells.at(np.array([5, 7, 5]))
    >>> bool((first == cells.at(np.array([5, 7, 5]))).all()), cells.n_drawn, len(cells)
    (True, 2, 1000000)
    """

    def __init__(self, counts: IntArray, scale: float, *, law: Literal["laplace", "gaussian"] = "laplace") -> None:
        if law not in ("laplace", "gaussian"):
            raise ParameterError("LazyCounts", "law must be 'laplace' or 'gaussian'", got=repr(law)[:60])
        if np.ndim(counts) != 1:
            raise ParameterError("LazyCounts", "counts must have one axis", got=f"{np.ndim(counts)} axes")
        self._draw = noise.discrete_laplace if law == "laplace" else noise.discrete_gaussian
        self._scale, self._law = scale, law
        self._draw(np.asarray(counts)[:0], scale)  # checks kind and scale before anything is kept
        self._values: IntArray = np.array(counts, dtype=np.int64)
        self._drawn = np.zeros(len(self._values), dtype=np.bool_)
        self._lock = threading.Lock()

    def at(self, cells: IntArray) -> IntArray:
        """The noisy counts of `cells` (positions from 0, any shape, repeats allowed)."""
        positions = np.asarray(cells)
        if not np.issubdtype(positions.dtype, np.integer):
            raise ParameterError("LazyCounts", "cells must be whole numbers", got=f"an array of {positions.dtype}")
        if positions.size and not (positions.min() >= 0 and positions.max() < len(self)):
            raise ParameterError("LazyCounts", f"cells must lie from 0 to {len(self) - 1}")
        with self._lock:
            self._settle(positions.ravel())
            return self._values[positions]

    def all(self) -> IntArray:
        """Every noisy count; draws those that are still missing."""
        return self.at(np.arange(len(self)))

    @property
    def n_drawn(self) -> int:
        """How many cells have got their noise."""
        return int(self._drawn.sum())

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"LazyCounts({len(self)} cells, {self._law} noise of scale {self._scale:g})"

    def __reduce__(self) -> Any:
        raise ParameterError("LazyCounts", "can't be pickled or copied, as it holds true counts", hint="Keep all().")

    def _settle(self, positions: IntArray) -> None:
        new = np.unique(positions[~self._drawn[positions]])
        self._values[new] = self._draw(self._values[new], self._scale)
        self._drawn[new] = True
