"""The workbench's pictures as SVG whose colours come from the style sheet, so that they follow the theme.

A picture is one image to who listens, with a label that says what it shows; a mark with a ``<title>`` says its own
words where the pointer rests. No picture has a script or a style of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from shoal.report.markup import Html, join, tag
from shoal.report.numbers import number, percent
from shoal.report.svg import Scale, bands, share_scale

__all__ = ["Dot", "bars", "bullet", "curves", "distribution", "heat_map", "joint", "pair_map", "risk_map", "spark"]

_ROOM = {"left": 46, "right": 14, "top": 12, "bottom": 40}


def spark(shares: Sequence[float], *, ordered: bool, label: str) -> Html:
    """A column's distribution, as small as a word: bins in order, or its values from the most frequent down."""
    if not shares:
        return Html("")
    top = max(shares) or 1.0
    drawn = [
        _rect(x, 24 - 22 * share / top, max(1.0, wide), 22 * share / top, "bar" if ordered else "bar level")
        for (x, wide), share in zip(bands(max(len(shares), 8), 96, gap=0.12), shares, strict=False)
    ]
    return _picture(96, 24, label, drawn, kind="spark")


def bullet(before: float | None, after: float | None, limit: float | None, label: str, *, top: float = 1.0) -> Html:
    """A bar for what is, a notch for what was, and a line for the limit; both ends are 0 and `top`."""
    wide = 220
    across = Scale(low=0.0, high=top or 1.0, start=1, end=wide - 1)
    drawn = [_rect(0, 6, wide, 10, "track")]
    if after:
        drawn.append(_rect(0, 6, max(2.0, across(min(after, top))), 10, "after"))
    if before is not None:
        drawn.append(_line(across(min(before, top)), 3, across(min(before, top)), 19, "before"))
    if limit is not None:
        x = across(min(limit, top))
        drawn.append(_line(x, 0, x, 22, "limit"))
    return _picture(wide, 22, label, drawn, kind="bullet")


def curves(before: Sequence[float], after: Sequence[float], limit: float | None, label: str) -> Html:
    """The risk of the records in order, highest first, before and after, with the limit across."""
    wide, high = 560, 220
    highest = max(before[0], after[0], limit or 0.0)
    up, across = share_scale(highest, high, 0, about=4), Scale.over(0, 1, 0, wide, about=5)
    drawn = [*_left_axis(up, wide), *_bottom_axis(across, high, "share of the records")]
    drawn += [_area(before, across, up, high, "before"), _area(after, across, up, high, "after")]
    if limit is not None:
        y = up(limit)
        drawn += [_line(0, y, wide, y, "limit"), _text(f"limit {percent(limit)}", wide - 2, y - 5, "limit end")]
    return _framed(wide, high, label, drawn)


def _area(values: Sequence[float], across: Scale, up: Scale, high: float, kind: str) -> Html:
    steps = len(values) - 1
    points = [(across(i / steps), up(value)) for i, value in enumerate(values)]
    line = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"{line}L{points[-1][0]:.1f},{high}L0,{high}Z"
    return join([tag("path", d=area, class_=f"area {kind}"), tag("path", d=line, class_=f"stroke {kind}")])


def bars(rows: Sequence[Mapping[str, Any]], label: str) -> Html:
    """Shares before and after side by side, by the names of the bands."""
    wide, high = 560, 220
    largest = max([0.01, *(max(row["before"], row["after"]) for row in rows)])
    up = share_scale(largest, high, 0, about=4)
    drawn = _left_axis(up, wide)
    for row, (x, step) in zip(rows, bands(len(rows), wide, gap=0.24), strict=True):
        for place, kind in enumerate(("before", "after")):
            top = up(row[kind])
            words = f"{row['label']}: {percent(row[kind])} {kind}"
            drawn.append(_rect(x + place * step / 2, top, step / 2 - 1, high - top, kind, words))
        drawn.append(_text(row["label"], x + step / 2, high + 17, "middle"))
    return _framed(wide, high, label, drawn)


def distribution(cells: Sequence[Mapping[str, Any]], label: str) -> Html:
    """One column before (behind) and after (in front); cells by their names."""
    wide, high = 300, 92
    top = max([1e-9, *(max(cell["before"], cell["after"]) for cell in cells)])
    drawn = []
    for cell, (x, step) in zip(cells, bands(len(cells), wide, gap=0.16), strict=True):
        words = f"{cell['label']}: {percent(cell['before'])} before, {percent(cell['after'])} after"
        before, after = (high * cell[kind] / top for kind in ("before", "after"))
        drawn.append(_rect(x, high - before, step, before, "before"))
        drawn.append(_rect(x + step * 0.22, high - after, step * 0.56, after, "after"))
        drawn.append(_rect(x, 0, step, high, "ask", words))
    drawn.append(_line(0, high, wide, high, "axis"))
    ends = [(cells[0]["label"], 0, "start"), (cells[-1]["label"], wide, "end")] if cells else []
    drawn += [_text(str(words)[:24], x, high + 15, anchor) for words, x, anchor in ends[: 2 if len(cells) > 1 else 1]]
    return _picture(wide, high + 20, label, drawn)


def bands_of(rows: Sequence[Sequence[tuple[float, float, str, str, str]]], label: str) -> Html:
    """Rows of bands: each with start and width as shares of the row, its kind, the text in it and what it says."""
    room, wide, high = 16, 330, 24
    drawn = []
    for level, row in enumerate(rows):
        y = level * (high + 3)
        drawn.append(_text(str(level), 0, y + 16, "soft"))
        for start, share, kind, shown, words in row:
            x = room + wide * start
            drawn.append(_rect(x, y, max(0.6, wide * share - 1), high, kind, words))
            if shown:
                drawn.append(_text(shown, x + (wide * share - 1) / 2, y + 16, "middle"))
    return _picture(room + wide, len(rows) * (high + 3), label, drawn, kind="levels-picture")


def _side(n: int) -> int:
    """Pixels of a cell in a square of `n` by `n`: large where they are few."""
    return max(26, min(46, 300 // max(1, n)))


def heat_map(names: Sequence[str], values: Sequence[Sequence[float | None]], label: str) -> Html:
    """A square of numbers from −1 to 1, each cell as dark as its size."""
    side, room = _side(len(names)), 10 + _longest(names)
    drawn = []
    for i, (name, row) in enumerate(zip(names, values, strict=True)):
        drawn.append(_text(_short(name), room - 6, room + side * (i + 0.5) + 4, "end"))
        place = f"translate({room + side * (i + 0.5) + 4:.0f},{room - 6:.0f}) rotate(-90)"
        drawn.append(tag("text", _short(name), transform=place, class_="start"))
        for j, value in enumerate(row):
            words = f"{name} and {names[j]}: {number(value)}"
            x, y = room + side * j, room + side * i
            drawn.append(_rect(x, y, side - 2, side - 2, "cell"))
            if value is not None:
                kind = "cell after" if value >= 0 else "cell minus"
                share = {"fill_opacity": f"{min(1.0, abs(value)):.2f}"}
                drawn.append(_rect(x, y, side - 2, side - 2, kind, words, **share))
    whole = room + side * len(names)
    return _picture(whole, whole, label, drawn)


def pair_map(names: Sequence[str], kept: Mapping[tuple[int, int], float], chosen: str) -> Html:
    """How much of each pair is lost, in a triangle; a pair is pressed to be seen in full."""
    side, room = _side(len(names)), 10 + _longest(names)
    worst = max([0.02, *(1 - share for share in kept.values())])
    drawn = []
    for i, name in enumerate(names):
        drawn.append(_text(_short(name), room - 6, 4 + side * (i + 0.5) + 4, "end"))
        place = f"translate({room + side * (i + 0.5) + 4:.0f},{8 + side * len(names):.0f}) rotate(-90)"
        drawn.append(tag("text", _short(name), transform=place, class_="end"))
    for (i, j), share in kept.items():
        x, y, key = room + side * i, 4 + side * j, f"{i},{j}"
        words = f"{names[i]} and {names[j]}: {percent(share)} preserved"
        drawn.append(_rect(x, y, side - 2, side - 2, "cell"))
        marks = {"fill_opacity": f"{(1 - share) / worst:.2f}", "data_do": "pair", "data_of": key, "data_key": key}
        kind = "cell minus press chosen" if key == chosen else "cell minus press"
        drawn.append(_rect(x, y, side - 2, side - 2, kind, words, **marks))
    label = "How much of each pair of columns is preserved; the same is in the list above"
    return _picture(room + side * len(names), 12 + room + side * len(names), label, drawn)


def joint(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Sequence[Sequence[float]],
    titles: tuple[str, str],
    label: str,
    *,
    top: float,
) -> Html:
    """A table of shares as squares whose area is the share: two columns against each other."""
    side = min(36, _side(max(len(rows), len(columns))))
    left, below = 12 + _longest(rows), 12 + _longest(columns)
    drawn = []
    for i, name in enumerate(rows):
        drawn.append(_text(_short(name), left - 6, 4 + side * (i + 0.5) + 4, "end"))
        for j, other in enumerate(columns):
            size = (side - 2) * sqrt(shares[i][j] / top) if top else 0.0
            x, y = left + side * j, 4 + side * i
            words = f"{titles[0]} {name}, {titles[1]} {other}: {percent(shares[i][j])}"
            drawn.append(_rect(x + (side - size) / 2, y + (side - size) / 2, size, size, "after"))
            drawn.append(_rect(x, y, side, side, "ask", words))
    for j, name in enumerate(columns):
        place = f"translate({left + side * (j + 0.5) + 4:.0f},{10 + side * len(rows):.0f}) rotate(-90)"
        drawn.append(tag("text", _short(name), transform=place, class_="end"))
    return _picture(left + side * len(columns), 8 + side * len(rows) + below, label, drawn)


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

    x = place(limit, 1)[0]
    drawn = [_rect(0, 0, x, high, "accepted")]
    drawn += _map_axes(right, most_lost, wide, high)
    drawn += [_line(x, 0, x, high, "limit"), _text(f"accepted risk {percent(limit)}", x + 6, high - 8, "limit start")]
    if mark is not None:
        y = place(0, mark)[1]
        taken = [place(dot.risk, dot.utility) for dot in dots]
        drawn += [_line(0, y, wide, y, "mark"), _beside_line("another sample of the same size", wide, y, taken)]
    drawn += [_steps(dots, place), *(_dot(dot, *place(dot.risk, dot.utility)) for dot in dots)]
    return _framed(wide, high, label, drawn, role="group", bottom=46)


def _beside_line(words: str, wide: float, y: float, taken: Sequence[tuple[float, float]]) -> Html:
    """A text above or below a line, where the fewest dots are."""
    long, size = 6.2 * len(words), 14
    free = [(wide - 2 - long, y - 5), (wide - 2 - long, y + 14), (wide / 2, y - 5), (wide / 2, y + 14), (4, y - 5)]

    def crowded(place: tuple[float, float]) -> int:
        x, bottom = place
        return sum(x - 14 < a < x + long + 14 and bottom - size - 10 < b < bottom + 26 for a, b in taken)

    return _text(words, *min(free, key=crowded), "start soft")


_TICKS = (0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)


def _map_axes(right: float, most_lost: float, wide: float, high: float) -> list[Html]:
    drawn = []
    for tick in _ticks(right):
        x = wide * sqrt(tick / right)
        drawn += [_line(x, 0, x, high, "grid"), _text(percent(tick), x, high + 17, "middle")]
    for tick in _ticks(most_lost):
        y = high * sqrt(tick / most_lost)
        drawn += [_line(0, y, wide, y, "grid"), _text(percent(1 - tick), -8, y + 4, "end")]
    drawn.append(_text("share of records found: less is better", wide / 2, high + 36, "middle soft"))
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


def _dot(dot: Dot, x: float, y: float) -> Html:
    kinds = ["dot", f"family-{dot.family}"]
    kinds += [name for name, holds in (("on-front", dot.on_front), ("chosen", dot.chosen), ("best", dot.best)) if holds]
    marks = [tag("title", dot.words)]
    if dot.best:
        marks.append(tag("circle", r="15", class_="halo"))
    at, above = ("0", "-20") if dot.best else ("0", "-15") if dot.chosen else ("11", "-8")
    kind = "middle" if dot.best or dot.chosen else "start"
    marks += [tag("circle", r="8"), tag("text", dot.number, x=at, y=above, class_=kind)]
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


def _left_axis(up: Scale, wide: float) -> list[Html]:
    drawn = []
    for tick in up.ticks:
        y = up(tick)
        drawn += [_line(0, y, wide, y, "grid"), _text(percent(tick), -8, y + 4, "end")]
    return drawn


def _bottom_axis(across: Scale, high: float, title: str) -> list[Html]:
    drawn = [_line(0, high, across.end, high, "axis")]
    drawn += [_text(percent(tick), across(tick), high + 17, "middle") for tick in across.ticks]
    return [*drawn, _text(title, across.end / 2, high + 34, "middle soft")]


def _short(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:13]}…"


def _longest(names: Sequence[str]) -> float:
    """Room for the longest of some labels; capitals and wide signs take more of it."""
    return max((sum(8.0 if sign.isupper() else 6.4 for sign in _short(name)) for name in names), default=0.0)


def _rect(x: float, y: float, wide: float, high: float, kind: str, words: str | None = None, **more: Any) -> Html:
    box = {"x": _px(x), "y": _px(y), "width": _px(max(0.0, wide)), "height": _px(max(0.0, high))}
    return tag("rect", tag("title", words) if words else None, **box, class_=kind, **more)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return tag("line", x1=_px(x1), y1=_px(y1), x2=_px(x2), y2=_px(y2), class_=kind)


def _text(words: str, x: float, y: float, kind: str) -> Html:
    return tag("text", words, x=_px(x), y=_px(y), class_=kind)


def _px(value: float) -> str:
    return f"{round(float(value), 1) + 0.0:g}"


def _framed(
    wide: float, high: float, label: str, drawn: Sequence[Html], *, role: str = "img", bottom: float = 40
) -> Html:
    """A picture with room for its axes."""
    left = 62 if role == "group" else _ROOM["left"]
    inner = tag("g", *drawn, transform=f"translate({left},{_ROOM['top']})")
    return _picture(left + wide + _ROOM["right"], _ROOM["top"] + high + bottom, label, [inner], role=role)


def _picture(wide: float, high: float, label: str, drawn: Sequence[Html], *, kind: str = "", role: str = "img") -> Html:
    box = {"viewBox": f"0 0 {_px(wide)} {_px(high)}", "width": _px(wide), "height": _px(high)}
    box |= {"preserveAspectRatio": "none"} if kind == "bullet" else {}
    return tag("svg", *drawn, **box, class_=f"chart {kind}".strip(), role=role, aria_label=label)
