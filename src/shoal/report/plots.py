"""The pictures of a report: class sizes, risk, correlations, marginals, each before and after.

Every mark says in words what it shows, and nothing that the table beside it does not: shares of cells that the
small-cell rule allows, never a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.report.bands import Band, Bands
from shoal.report.correlation import Correlations
from shoal.report.drawing import AFTER, BEFORE, BEFORE_FILL, INK, short_names
from shoal.report.marginal import Cell, Marginal
from shoal.report.markup import Html
from shoal.report.numbers import percent
from shoal.report.svg import Panel, Scale, bands, beside, share_scale

__all__ = ["class_size_plot", "correlation_plot", "marginal_plot", "risk_plot", "two_digits"]

_SIDES = (("before", BEFORE_FILL, BEFORE), ("after", AFTER, AFTER))
_LOW, _MIDDLE, _HIGH = (0x9A, 0x4A, 0x1F), (0xF7, 0xF5, 0xF0), (0x0B, 0x64, 0x70)


def class_size_plot(sizes: Bands, label: str, crowd: str) -> Html:
    """Share of the records by the size of their class, in `crowd` (people or rows), before and after."""
    panel = _columns(sizes, 180, f"{crowd} that share the combination", turn=-35 if len(sizes.bands) > 9 else 0)
    panel.legend(_SIDES, y=-12)
    panel.top = 28
    said = [f"{_sharing(band, crowd)}: {_both(*band.shares)}" for band in sizes.bands]
    return _with_words(panel, said, label)


def risk_plot(risks: Bands, label: str) -> Html:
    """Share of the records by their probability of being found."""
    panel = _columns(risks, 160, "probability of being found")
    said = [f"Probability {band.label}: {percent(band.shares[0])} of the records" for band in risks.bands]
    return _with_words(panel, said, label)


def _columns(found: Bands, height: int, title: str, turn: float = 0) -> Panel:
    """Bars of shares over bands: those before and after side by side, or one bar where there is one share."""
    panel, places = Panel(width=640, height=height), bands(len(found.bands), 640)
    up = share_scale(max((max(band.shares) for band in found.bands), default=0), height, 0, about=4)
    panel.left_axis(up, _tick_percent, title="share of records")
    for band, (start, wide) in zip(found.bands, places, strict=True):
        sides = _SIDES[-len(band.shares) :]
        for i, ((_, fill, edge), share) in enumerate(zip(sides, band.shares, strict=True)):
            each = wide / len(sides)
            panel.rect(start + i * each, up(share), each, height - up(share), fill=fill, stroke=edge, stroke_width=0.75)
    panel.bottom_names([band.label for band in found.bands], places, turn=turn, title=title)
    return panel


def _with_words(panel: Panel, said: Sequence[str], label: str) -> Html:
    """The panel with what each band says, over its whole height."""
    for words, (start, wide) in zip(said, bands(len(said), panel.width, gap=0), strict=True):
        panel.unseen(start, 0, wide, panel.height, words)
    return beside(panel, label=label)


def _sharing(band: Band, crowd: str) -> str:
    return "Nobody else has the combination" if band.label == "1" else f"{band.label} {crowd} share the combination"


def _both(before: float, after: float) -> str:
    return f"{percent(before)} before, {percent(after)} after"


def correlation_plot(correlations: Correlations, label: str) -> Html:
    """Two correlation matrices side by side on one scale."""
    sides = (("Before", correlations.before), ("After", correlations.after))
    return beside(*(_heat_map(correlations, matrix, title) for title, matrix in sides), label=label)


def _heat_map(correlations: Correlations, matrix: FloatArray, title: str) -> Panel:
    names = short_names(correlations.names)
    size = 26 if len(names) > 6 else 34
    side = size * (len(names) - 1)
    panel, places = Panel(width=side, height=side), bands(len(names) - 1, side, gap=0)
    for i in range(1, len(names)):
        for j in range(i):
            if np.isfinite(matrix[i, j]):
                _heat(panel, correlations, (i, j), float(matrix[i, j]), size)
    panel.left_names(names[1:], places)
    panel.bottom_names(names[:-1], places, turn=-90)
    panel.headed(title)
    return panel


def _heat(panel: Panel, correlations: Correlations, at: tuple[int, int], r: float, size: int) -> None:
    """One cell: its colour, its number, and both numbers in words."""
    (i, j), full = at, correlations.names
    before, after = (two_digits(matrix[i, j]) for matrix in (correlations.before, correlations.after))
    words = f"{full[j]} and {full[i]}: {before} before, {after} after"
    x, y, ink = j * size, (i - 1) * size, "#ffffff" if abs(r) > 0.55 else INK
    panel.rect(x, y, size, size, words=words, fill=_shade(r))
    panel.text(two_digits(r), x + size / 2, y + size / 2 + 4, size=10 if size > 30 else 8, fill=ink)


def _shade(r: float) -> str:
    end, share = (_HIGH if r > 0 else _LOW), min(1.0, abs(r))
    mixed = (round(middle + share * (far - middle)) for middle, far in zip(_MIDDLE, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def two_digits(r: float) -> str:
    """A correlation as it stands in a picture."""
    if not np.isfinite(r):
        return "none"
    return f"{round(r, 2) + 0.0:.2f}".replace("-", "−")


def marginal_plot(marginal: Marginal, label: str) -> Html:
    """The distribution of one column, before and after."""
    bins = [cell for cell in marginal.cells if cell.low is not None or cell.high is not None]
    return beside(_histogram(marginal, bins) if bins else _bars(marginal), label=label)


def _cell_words(marginal: Marginal, cell: Cell) -> str:
    return f"{marginal.column} {cell.label}: {_both(cell.before_share, cell.after_share)}"


def _histogram(marginal: Marginal, bins: Sequence[Cell]) -> Panel:
    """Bars before, a line of steps after; a merged bin is as high as its share per step."""
    step, height = marginal.step or 1.0, 110
    ends = [_ends(cell, step) for cell in bins]
    per_step = [step / (high - low) for low, high in ends]
    tallest = max(max(cell.before_share, cell.after_share) * scale for cell, scale in zip(bins, per_step, strict=True))
    x = Scale.over(ends[0][0], ends[-1][1], 0, 230, about=4)
    y = share_scale(tallest, height, 0, about=3)
    panel, outline = Panel(width=230, height=height), [(x(ends[0][0]), y(0))]
    panel.left_axis(y, _tick_percent)
    panel.bottom_axis(x, _tick_number, grid=False)
    for cell, (low, high), scale in zip(bins, ends, per_step, strict=True):
        top, after = y(cell.before_share * scale), y(cell.after_share * scale)
        look: dict[str, Any] = {"fill": BEFORE_FILL, "stroke": BEFORE, "stroke_width": 0.75}
        panel.rect(x(low), top, x(high) - x(low), height - top, **look)
        outline += [(x(low), after), (x(high), after)]
    panel.path([*outline, (x(ends[-1][1]), y(0))], stroke=AFTER, stroke_width=1.75)
    for cell, (low, high) in zip(bins, ends, strict=True):
        panel.unseen(x(low), 0, x(high) - x(low), height, _cell_words(marginal, cell))
    return panel


def _ends(cell: Cell, step: float) -> tuple[float, float]:
    """The ends of a bin; an open one is as wide as a step."""
    low = cell.low if cell.low is not None else (cell.high or 0.0) - step
    return low, cell.high if cell.high is not None else low + step


def _bars(marginal: Marginal) -> Panel:
    cells = marginal.cells
    width, height = 150, max(60, 20 * len(cells))
    panel, places = Panel(width=width, height=height), bands(len(cells), height)
    largest = max((max(cell.before_share, cell.after_share) for cell in cells), default=0)
    x = share_scale(largest, 0, width, about=3)
    panel.bottom_axis(x, _tick_percent)
    panel.left_names(short_names([cell.label for cell in cells]), places)
    for cell, (start, wide) in zip(cells, places, strict=True):
        for i, share in enumerate((cell.before_share, cell.after_share)):
            _, fill, edge = _SIDES[i]
            panel.rect(0, start + i * wide / 2, x(share), wide / 2, fill=fill, stroke=edge, stroke_width=0.75)
        panel.unseen(0, start, width, wide, _cell_words(marginal, cell))
    return panel


def _tick_percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def _tick_number(value: float) -> str:
    plain = f"{value:,.6f}".rstrip("0").rstrip(".")
    is_exact = abs(value) < 1e12 and float(plain.replace(",", "")) == value
    return (plain if is_exact else f"{value:.3g}").replace("-", "−")
