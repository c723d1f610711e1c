"""The risk-utility map: a dot for each recipe, which can be pressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from shoal.report.markup import Html, tag
from shoal.report.numbers import percent
from shoal.web.pages.marks import framed, line, rect, text

__all__ = ["Dot", "risk_map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One recipe on the map: where it lies, its number, its family's number, what it says, and what pressing does."""

    risk: float
    utility: float
    number: str
    family: int
    words: str
    name: str
    on_front: bool = False
    chosen: bool = False
    best: bool = False


def risk_map(dots: Sequence[Dot], label: str, *, limit: float, mark: float | None = None) -> Html:
    """Risk across, utility up, both stretched towards the best corner; every dot can be pressed."""
    wide, high = 760, 420
    right = 1.12 * max([limit, 0.01, *(dot.risk for dot in dots)])
    most_lost = 1.12 * max([0.02, 0.0 if mark is None else 1 - mark, *(1 - dot.utility for dot in dots)])

    def place(risk: float, utility: float) -> tuple[float, float]:
        return wide * sqrt(max(0.0, risk) / right), high * sqrt(max(0.0, 1 - utility) / most_lost)

    places = [place(dot.risk, dot.utility) for dot in dots]
    x = place(limit, 1)[0]
    drawn = [rect(0, 0, x, high, "accepted")]
    drawn += _map_axes(right, most_lost, wide, high)
    said: list[_Said] = [(f"accepted risk {percent(limit)}", x + 6, high - 8)]
    drawn += [line(x, 0, x, high, "limit"), text(*said[0], "limit start")]
    if mark is not None:
        y = place(0, mark)[1]
        said.append(_beside_line("another sample of the same size", wide, y, places))
        drawn += [line(0, y, wide, y, "mark"), text(*said[1], "start soft")]
    drawn += [_steps(dots, place), *(_dot(dot, *at, places, said) for dot, at in zip(dots, places, strict=True))]
    return framed(wide, high, label, drawn, role="group", bottom=46)


_Said = tuple[str, float, float]  # a text, where it begins, and its base line
_LETTER = 6.2


def _beside_line(words: str, wide: float, y: float, taken: Sequence[tuple[float, float]]) -> _Said:
    """A text above or below a line, where the fewest dots are."""
    long, size = _LETTER * len(words), 14
    free = [(wide - 2 - long, y - 5), (wide - 2 - long, y + 14), (wide / 2, y - 5), (wide / 2, y + 14), (4, y - 5)]

    def crowded(place: tuple[float, float]) -> int:
        x, bottom = place
        return sum(x - 14 < a < x + long + 14 and bottom - size - 10 < b < bottom + 26 for a, b in taken)

    return (words, *min(free, key=crowded))


_TICKS = (0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)


def _map_axes(right: float, most_lost: float, wide: float, high: float) -> list[Html]:
    drawn = []
    for tick in _ticks(right):
        x = wide * sqrt(tick / right)
        drawn += [line(x, 0, x, high, "grid"), text(percent(tick), x, high + 17, "middle")]
    for tick in _ticks(most_lost):
        y = high * sqrt(tick / most_lost)
        drawn += [line(0, y, wide, y, "grid"), text(percent(1 - tick), -8, y + 4, "end")]
    drawn.append(text("share of records found: less is better", wide / 2, high + 36, "middle soft"))
    drawn.append(
        tag(
            "text",
            "two-way distributions preserved",
            transform=f"translate(-44,{high / 2:.0f}) rotate(-90)",
            class_="middle soft",
        )
    )
    return drawn


def _ticks(end: float) -> list[float]:
    """Ticks that don't run into each other."""
    kept: list[float] = []
    for tick in _TICKS:
        if tick <= end and (not kept or sqrt(tick / end) - sqrt(kept[-1] / end) > 0.055):
            kept.append(tick)
    return kept


def _steps(dots: Sequence[Dot], place: Any) -> Html:
    front = sorted((dot for dot in dots if dot.on_front), key=lambda dot: (dot.risk, dot.utility))
    if len(front) < 2:
        return Html("")
    points = [place(dot.risk, dot.utility) for dot in front]
    d = f"M{points[0][0]:.1f},{points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return tag("path", d=d, class_="front")


_CORNERS = ((11, -8, "start"), (-11, -8, "end"), (11, 16, "start"), (-11, 16, "end"))


def _free_corner(
    x: float, y: float, places: Sequence[tuple[float, float]], said: Sequence[_Said]
) -> tuple[float, float, str]:
    """Where a dot's number covers fewest dots, other numbers and texts."""

    def covered(corner: tuple[float, float, str]) -> int:
        left = x + corner[0] - (0 if corner[2] == "start" else 14)
        middle = y + corner[1] - 4
        dots = sum(left - 10 < a < left + 24 and abs(b - middle) < 14 for a, b in places if (a, b) != (x, y))
        return dots + sum(
            left - _LETTER * len(words) < start + 6 < left + 26 and abs(base - 4 - middle) < 12
            for words, start, base in said
        )

    return min(_CORNERS, key=covered)


def _dot(dot: Dot, x: float, y: float, places: Sequence[tuple[float, float]], said: Sequence[_Said]) -> Html:
    kinds = ["dot", f"family-{dot.family}"]
    kinds += [name for name, holds in (("on-front", dot.on_front), ("chosen", dot.chosen), ("best", dot.best)) if holds]
    marks = [tag("title", dot.words)]
    if dot.best:
        marks.append(tag("circle", r="15", class_="halo"))
    above = -20 if dot.best else -15
    at, up, kind = (0, above, "middle") if dot.best or dot.chosen else _free_corner(x, y, places, said)
    marks += [tag("circle", r="8"), tag("text", dot.number, x=f"{at}", y=f"{up}", class_=kind)]
    return tag(
        "g",
        *marks,
        class_=" ".join(kinds),
        transform=f"translate({x:.1f},{y:.1f})",
        tabindex="0",
        role="button",
        aria_label=dot.words,
        aria_pressed=str(dot.chosen).lower(),
        data_do="pick",
        data_of=dot.name,
        data_key=f"dot {dot.name}",
    )
