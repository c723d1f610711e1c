"""A hierarchy as a picture: each level a row of bands, as wide as the people they hold, each above the one it joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntArray
from shoal.coarsening.hierarchy import Ladder
from shoal.frame import as_text
from shoal.report.markup import Html
from shoal.report.numbers import count, percent
from shoal.report.svg import text_width
from shoal.web.pages.charts import bands_of

__all__ = ["Band", "draw_levels", "levels_of"]

FEW = 5  # people: a band of fewer is marked
MOST_BANDS = 200  # in a row; more would be hairlines


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One value of a level: what is written for it, and how many cells it holds."""

    label: str
    n: int


def levels_of(ladder: Ladder) -> list[list[Band]]:
    """The bands of each level, in one order for all: those that a later level joins are neighbours."""
    held = np.bincount(ladder.codes[ladder.codes >= 0], minlength=len(ladder.groups[0]))
    order = np.lexsort(ladder.groups)  # the last level counts most, then the one below it
    return [_bands(ladder, level, order, held) for level in range(ladder.height + 1)]


def _bands(ladder: Ladder, level: int, order: IntArray, held: IntArray) -> list[Band]:
    groups, labels = ladder.groups[level][order], as_text(ladder.labels[level]).to_list()
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    sizes = np.add.reduceat(held[order], starts)
    written = [labels[order[start]] for start in starts]
    return [
        Band(label="missing" if label is None else str(label), n=int(n))
        for label, n in zip(written, sizes, strict=True)
        if n
    ]


def draw_levels(levels: Sequence[Sequence[Band]], name: str) -> Html:
    """The picture; a band that holds fewer than five people is marked, one wide enough says what it is."""
    rows = [_row(bands) for bands in levels]
    label = f"Levels of {name}, the finest on top: bands as wide as the people they hold"
    return bands_of(rows, label)


def _row(bands: Sequence[Band]) -> list[tuple[float, float, str, str, str]]:
    """Start, width (shares of the row), kind, the label where there is room for it, and what the pointer is told."""
    total = sum(band.n for band in bands) or 1
    if len(bands) > MOST_BANDS:
        words = f"{count(len(bands))} values"
        return [(0.0, 1.0, "band many", words, words)]
    drawn, start = [], 0.0
    for band in bands:
        wide = band.n / total
        said = f"{band.label}: {count(band.n)} ({percent(wide)})"
        shown = band.label if text_width(band.label) < WIDE * wide - 6 else ""
        drawn.append((start, wide, "band few" if band.n < FEW else "band", shown, said))
        start += wide
    return drawn


WIDE = 330  # pixels of a row, as `shoal.web.pages.charts.bands_of` draws it
