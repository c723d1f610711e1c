"""Small charts drawn straight to SVG: axes, bars, tiles and words.

A report holds two dozen charts of five fixed shapes. A general plotting engine would take most of a small run's time
for them; these few marks take a millisecond a chart. A chart is a `Panel`: marks in pixels from the upper left corner
of its plot area, with room left around it for axes and titles. Every text is escaped; colours and fonts are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from shoal.report.drawing import FONT, INK, LINE
from shoal.report.markup import Html

__all__ = ["Panel", "Scale", "bands", "beside", "share_scale", "text_width"]

GRID = "#ebe8e1"
_SIZE = 11  # pixels of a letter
_WIDTHS = {"narrow": 0.32, "usual": 0.56, "capital": 0.72, "wide": 1.0}  # of its size, amply


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A range of numbers laid out over pixels, with its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        """The pixel of a number."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    @classmethod
    def over(cls, low: float, high: float, start: float, end: float, *, about: int) -> Scale:
        """Exactly from `low` to `high`, with `about` so many round ticks inside."""
        return cls(low=low, high=high, start=start, end=end, ticks=_round_ticks(low, high, about))


def share_scale(largest: float, start: float, end: float, *, about: int) -> Scale:
    """Shares from 0 to a round number at or above the `largest`."""
    top = largest if largest > 0 else 1.0
    step = _round_step(top / about)
    high = math.ceil(top / step - 1e-9) * step
    return Scale(low=0.0, high=high, start=start, end=end, ticks=_round_ticks(0.0, high, about))


def bands(n: int, length: float, *, gap: float = 0.1) -> list[tuple[float, float]]:
    """Start and width of `n` bands side by side, with a share of `gap` of each left free."""
    step = length / max(1, n)
    return [(step * (i + gap / 2), step * (1 - gap)) for i in range(n)]


@dataclass(slots=True, kw_only=True)
class Panel:
    """A plot area of `width` by `height` pixels, and the room around it that its axes take."""

    width: float
    height: float
    left: float = 6.0
    right: float = 8.0
    top: float = 6.0
    bottom: float = 6.0
    body: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, *, words: str | None = None, **style: Any) -> None:
        """A rectangle; with `words` it is a mark that a reader can ask."""
        box = {"x": x, "y": y, "width": max(0.0, width), "height": max(0.0, height)}
        self.body.append(_element("rect", {**box, **style}, words))

    def unseen(self, x: float, y: float, width: float, height: float, words: str) -> None:
        """A mark that only says its words, as wide as a band, so that a low bar is no needle."""
        self.rect(x, y, width, height, words=words, fill=INK, fill_opacity=0)

    def path(self, points: Iterable[tuple[float, float]], **style: Any) -> None:
        """A line through points."""
        d = "M" + "L".join(f"{_pixels(x)},{_pixels(y)}" for x, y in points)
        self.body.append(_element("path", {"d": d, "fill": "none", **style}))

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = LINE) -> None:
        """A thin straight line."""
        self.body.append(_element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": colour}))

    def text(
        self,
        said: str,
        x: float,
        y: float,
        *,
        anchor: str = "middle",
        turn: float = 0,
        size: float = _SIZE,
        **style: Any,
    ) -> None:
        """A text at a point, turned by degrees."""
        place = {"transform": f"translate({_pixels(x)},{_pixels(y)})" + (f" rotate({turn:g})" if turn else "")}
        look = {"text-anchor": anchor, "font-size": f"{size:g}px", "fill": INK, **style}
        self.body.append(_element("text", {**place, **look}, inner=escape(said)))

    def left_axis(self, scale: Scale, say: Callable[[float], str], *, title: str | None = None) -> None:
        """Ticks of a vertical scale, with lines across the panel."""
        said = [say(tick) for tick in scale.ticks]
        for tick, words in zip(scale.ticks, said, strict=True):
            y = scale(tick)
            self.line(0, y, self.width, y, GRID)
            self.text(words, -7, y + 4, anchor="end")
        self.line(0, 0, 0, self.height)
        room = 10 + max((text_width(words) for words in said), default=0)
        if title:
            self.text(title, -room - 8, self.height / 2, turn=-90)
        self.left = max(self.left, room + (20 if title else 0))

    def bottom_axis(self, scale: Scale, say: Callable[[float], str], *, grid: bool = True) -> None:
        """Ticks of a horizontal scale."""
        for tick in scale.ticks:
            x = scale(tick)
            if grid:
                self.line(x, 0, x, self.height, GRID)
            self.line(x, self.height, x, self.height + 5)
            self.text(say(tick), x, self.height + 17)
        self.line(0, self.height, self.width, self.height)
        self.bottom = max(self.bottom, 24)

    def left_names(self, names: Sequence[str], places: Sequence[tuple[float, float]]) -> None:
        """Names of bands, on the left."""
        for name, (start, wide) in zip(names, places, strict=True):
            self.text(name, -7, start + wide / 2 + 4, anchor="end")
        self.left = max(self.left, 10 + max((text_width(name) for name in names), default=0))

    def bottom_names(
        self, names: Sequence[str], places: Sequence[tuple[float, float]], *, turn: float = 0, title: str | None = None
    ) -> None:
        """Names of bands, below; turned ones end where their band is."""
        longest = max((text_width(name) for name in names), default=0)
        anchor, down = ("end", 9) if turn else ("middle", 16)
        for name, (start, wide) in zip(names, places, strict=True):
            x = start + wide / 2 + (4 if turn == -90 else 0)
            self.text(name, x, self.height + down, anchor=anchor, turn=turn)
        self.line(0, self.height, self.width, self.height)
        room = 20 + abs(math.sin(math.radians(turn))) * longest
        if title:
            self.text(title, self.width / 2, self.height + room + 12)
        self.bottom = max(self.bottom, room + (18 if title else 0))

    def legend(self, entries: Sequence[tuple[str, str, str]], *, y: float, columns: int = 9) -> None:
        """Squares with fill and edge, each with its name, from the left at height `y`."""
        widest = max((text_width(name) for name, _, _ in entries), default=0) + 26
        for i, (name, fill, edge) in enumerate(entries):
            x, at = (i % columns) * widest, y + 16 * (i // columns)
            self.rect(x, at - 9, 10, 10, fill=fill, stroke=edge)
            self.text(name, x + 15, at, anchor="start")

    def headed(self, title: str) -> None:
        """A title above, flush left."""
        self.text(title, 0, -9, anchor="start", size=12, font_weight="600")
        self.top = max(self.top, 24)


def beside(*panels: Panel, label: str) -> Html:
    """Panels side by side as one picture, with a name for readers who listen."""
    gap, x = 20.0, 0.0
    top, height = max(panel.top for panel in panels), max(panel.height for panel in panels)
    bottom = max(panel.bottom for panel in panels)
    parts = []
    for panel in panels:
        parts.append(f'<g transform="translate({_pixels(x + panel.left)},{_pixels(top)})">{"".join(panel.body)}</g>')
        x += panel.left + panel.width + panel.right + gap
    wide, high = _pixels(x - gap), _pixels(top + height + bottom)
    head = f'role="img" aria-label="{escape(label)}" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    return Html(f'<svg {head} font-family="{escape(FONT)}">{"".join(parts)}</svg>')


def text_width(text: str, size: float = _SIZE) -> float:
    """About how many pixels a text takes."""
    return size * sum(_WIDTHS[_breadth(letter)] for letter in text)


def _breadth(letter: str) -> str:
    if letter in "fijlrtI.,:;|!'()[] ":
        return "narrow"
    if letter in "mwMW%@" or ord(letter) > 0x2E7F:  # scripts of full-width signs
        return "wide"
    return "capital" if letter.isupper() else "usual"


def _element(name: str, attributes: dict[str, Any], words: str | None = None, *, inner: str = "") -> str:
    said = "".join(f' {key.replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    if words is not None:
        return f'<{name} class="m"{said}><title>{escape(words)}</title></{name}>'
    return f"<{name}{said}>{inner}</{name}>" if inner else f"<{name}{said}/>"


def _value(value: Any) -> str:
    return escape(value) if isinstance(value, str) else _pixels(value)


def _pixels(value: float) -> str:
    return f"{round(float(value), 2) + 0.0:g}"


def _round_step(width: float) -> float:
    """1, 2 or 5 times a power of ten, as near to `width` as they come."""
    power = 10.0 ** math.floor(math.log10(width))
    share = width / power
    return power * (1 if share < math.sqrt(2) else 2 if share < math.sqrt(10) else 5 if share < math.sqrt(50) else 10)


def _round_ticks(low: float, high: float, about: int) -> tuple[float, ...]:
    """Round numbers within a range, about so many."""
    if not (math.isfinite(low) and math.isfinite(high) and high - low > 1e-300):
        return (low,)
    step = _round_step((high - low) / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{i * step:.12g}") for i in range(first, last + 1))
