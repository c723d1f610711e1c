"""Names of intervals as people write them, the same for the same interval whatever else the column holds.

Whole numbers read ``20-29`` (one number alone: ``20``; below 0: ``-10 to -1``), all others ``0.5 to <1``, which leaves
out its upper end. What lies beyond the outer edges reads ``<18`` and ``90+``. Ends are rounded to twelve significant
digits, so that intervals of width 0.1 nest in those of width 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray

__all__ = ["around", "between", "closed", "interval", "is_whole", "nice", "of_width", "tidy"]


def is_whole(values: FloatArray) -> bool:
    """Whether all numbers are whole; NaN is no number."""
    known = values[~np.isnan(values)]
    return bool(np.all(known == np.floor(known)))


def tidy(values: FloatArray) -> FloatArray:
    """Numbers without the dust of floating point: to twelve significant digits, so that 3 · 0.1 is 0.3."""
    distinct, place = np.unique(values, return_inverse=True)
    clean = np.array([value if math.isnan(value) else float(f"{value:.12g}") for value in distinct.tolist()])
    return clean[place.reshape(-1)] if len(clean) else values


def of_width(values: FloatArray, width: float, origin: float, within: tuple[float, float] | None = None) -> pl.Series:
    """The names of the intervals of one width in which numbers lie; ends beyond `within` are not shown."""
    whole = is_whole(values) and all(float(end).is_integer() for end in (width, origin, *(within or ())))
    index = np.floor((values - origin) / width)
    index = index + (values >= tidy(origin + (index + 1) * width)) - (values < tidy(origin + index * width))
    distinct, place = _distinct(index)
    lows, highs = tidy(origin + distinct * width), tidy(origin + (distinct + 1) * width)
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    return _named([_cut(low, high, whole, within) for low, high in pairs], place)


def between(values: FloatArray, edges: FloatArray) -> pl.Series:
    """The names of the intervals between edges in which numbers lie, and of what is beyond."""
    whole = is_whole(values) and is_whole(edges)
    inner = [interval(low, high, whole) for low, high in pairwise(edges.tolist())]
    names = [f"<{_short(edges[0])}", *inner, f"{_short(edges[-1])}+"]
    place = np.searchsorted(edges, values, side="right")
    return _named(names, np.where(np.isnan(values), -1, place))


def _distinct(index: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct numbers and the place of each among them; −1 where it is missing."""
    known = ~np.isnan(index)
    distinct, found = np.unique(index[known], return_inverse=True)
    place = np.full(len(index), -1, dtype=np.int64)
    place[known] = found.reshape(-1)
    return distinct, place


def _named(names: Sequence[str], place: IntArray) -> pl.Series:
    return pl.Series([*names, None], dtype=pl.String).gather(np.where(place < 0, len(names), place))


def interval(low: float, high: float, whole: bool) -> str:
    """The name of the numbers from `low` to below `high`."""
    return closed(low, high - 1, whole) if whole else f"{_short(low)} to <{_short(high)}"


def closed(low: float, high: float, whole: bool) -> str:
    """The name of the numbers from `low` to `high`, both of which belong to them."""
    if low == high:
        return _short(low)
    hyphen = "-" if whole and low >= 0 else " to "  # a minus sign beside a hyphen would be hard to read
    return f"{_short(low)}{hyphen}{_short(high)}"


def around(values: Sequence[float]) -> str:
    """The name of an interval with all these numbers in it; ends of numbers that aren't whole are nobody's own.

    Examples
    --------
    >>> around([12.963, 21.5, 30.8594]), around([3, 9])
    ('12 to <32', '3-9')
    """
    low, high = float(min(values)), float(max(values))
    if is_whole(np.asarray(values, dtype=np.float64)) or low == high:
        return closed(low, high, low == math.floor(low))
    step = nice((high - low) / 10)
    return interval(_tidied(math.floor(low / step) * step), _tidied((math.floor(high / step) + 1) * step), whole=False)


def nice(width: float) -> float:
    """The next larger number of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(_tidied(times * power) for times in (1, 2, 5, 10) if times * power >= width * (1 - 1e-9))


def _tidied(number: float) -> float:
    return float(f"{number:.12g}")


def _cut(low: float, high: float, whole: bool, within: tuple[float, float] | None) -> str:
    """The name of an interval whose ends don't go beyond the public range, which holds both of its own ends."""
    if within is None:
        return interval(low, high, whole)
    low, is_cut = max(low, within[0]), high > within[1]
    return closed(low, within[1], whole) if is_cut else interval(low, high, whole)


def _short(number: float) -> str:
    return f"{number:.12g}"
