"""Records by class size and by risk: how many in each band, in bands that the small-cell rule allows.

A class of size s is a combination of quasi-identifiers that s people share. Bands of class sizes begin at 1 (unique),
2, k, 2k, 4k and so on; bands of risk are tenths of the bound, or so, with round ends. Bands that hold 1 to k − 1
people, before or after, are merged with their neighbours. `SmallClasses` counts exactly and is for inside only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.pair import Pair
from shoal.report.marginal import people_of
from shoal.report.numbers import count, percent
from shoal.report.smallcells import Tally, merge_neighbours

__all__ = ["Band", "Bands", "SmallClasses", "class_sizes", "risk_bands"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A band from `low` to `high`, its name, and the share of the records in it, in each table compared."""

    label: str
    low: float
    high: float | None
    records: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """Bands without small cells; none at all where the whole counts fewer than k people."""

    bands: tuple[Band, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"bands": [{"label": b.label, "records": list(b.records), "shares": list(b.shares)} for b in self.bands]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallClasses:
    """Exact numbers of combinations held by few people, before and after: never to be published.

    `sizes` are 1, 2, ... up to k; `before` and `after` count combinations of exactly that many people.
    """

    sizes: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    smallest: tuple[int, int]
    n_classes: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {
            "sizes": list(self.sizes),
            "before": list(self.before),
            "after": list(self.after),
            "smallest": list(self.smallest),
            "n_classes": list(self.n_classes),
        }


def class_sizes(pair: Pair, k: int) -> tuple[Bands, SmallClasses]:
    """Records by the size of their class, before and after: in bands for everybody, and exactly for inside."""
    first, second = pair.original_classes(), pair.released_classes()
    people = people_of(pair)
    before = Tally.of(first.labels, people[0], first.n_classes).counts
    after = Tally.of(second.labels, people[1], second.n_classes).counts
    return (
        _size_bands((before[first.labels], after[second.labels]), people, k),
        _small_classes(before, after, k),
    )


def risk_bands(risks: FloatArray, people: IntArray | None, bound: float, k: int) -> Bands:
    """Records by their probability of being found; `bound` is the largest that is promised."""
    top = max(bound, float(risks.max(initial=0.0)))
    step = _tenth(top)
    n_steps = max(1, math.ceil(top / step - 1e-9))
    edges = np.array([step * i for i in range(n_steps)])
    cells = np.searchsorted(edges[1:], risks * (1 - 1e-12), side="left") if n_steps > 1 else np.zeros(len(risks), int)
    ends = [step * (i + 1) for i in range(n_steps - 1)]
    return _banded([cells.astype(np.int64)], (people,), [float(edge) for edge in edges], ends, k, "risks")


def _size_bands(row_sizes: tuple[IntArray, IntArray], people: Sequence[IntArray | None], k: int) -> Bands:
    largest = max(int(sizes.max()) for sizes in row_sizes)
    doubling = [k * 2**i for i in range(1, largest.bit_length()) if k * 2**i <= largest]
    starts = sorted({1, 2, k, *doubling})
    cells = [np.searchsorted(starts, sizes, side="right") - 1 for sizes in row_sizes]
    ends = [float(start - 1) for start in starts[1:]]
    return _banded(cells, people, [float(start) for start in starts], ends, k, "sizes")


def _small_classes(before: IntArray, after: IntArray, k: int) -> SmallClasses:
    sizes = tuple(range(1, k + 1))
    return SmallClasses(
        sizes=sizes,
        before=tuple(int((before == size).sum()) for size in sizes),
        after=tuple(int((after == size).sum()) for size in sizes),
        smallest=(int(before.min()), int(after.min())),
        n_classes=(len(before), len(after)),
    )


def _tenth(top: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that cuts `top` into at least ten."""
    width = top / 10
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return max((power * digit for digit in (1, 2, 5) if power * digit <= width * (1 + 1e-9)), default=power)


def _banded(
    cells: Sequence[IntArray],
    people: Sequence[IntArray | None],
    starts: list[float],
    ends: list[float],
    k: int,
    kind: str,
) -> Bands:
    n = len(starts)
    runs = merge_neighbours([Tally.of(c, p, n) for c, p in zip(cells, people, strict=True)], k, keep_empty_ends=True)
    counts = [np.bincount(c, minlength=n) for c in cells]
    made = []
    for run in runs:
        high = ends[run[-1]] if run[-1] < len(ends) else None
        records = tuple(int(c[list(run)].sum()) for c in counts)
        label = _size_label(starts[run[0]], high) if kind == "sizes" else _risk_label(starts[run[0]], high)
        shares = tuple(r / max(1, int(c.sum())) for r, c in zip(records, counts, strict=True))
        made.append(Band(label=label, low=starts[run[0]], high=high, records=records, shares=shares))
    return Bands(bands=tuple(made))


def _size_label(low: float, high: float | None) -> str:
    first = count(int(low))
    if high is None:
        return f"{first} or more"
    return first if low == high else f"{first}–{count(int(high))}"


def _risk_label(low: float, high: float | None) -> str:
    if high is None:
        return f"over {percent(low)}" if low else "any"
    return f"{percent(low)}–{percent(high)}".replace("%–", "–")
