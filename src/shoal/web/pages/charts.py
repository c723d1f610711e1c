"""The workbench's pictures as SVG whose colours come from the style sheet, so that they follow the theme.

A picture is one image to who listens, with a label that says what it shows; a mark with a ``<title>`` says its own
words where the pointer rests. No picture has a script or a style of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from shoal.report.markup import Html, join, tag
from shoal.report.numbers import number, percent
from shoal.report.svg import Scale, bands, share_scale
from shoal.web.pages.marks import framed, line, longest, picture, rect, short, text

__all__ = ["bands_of", "bars", "bullet", "curves", "distribution", "heat_map", "joint", "pair_map", "spark"]


def spark(shares: Sequence[float], *, ordered: bool, label: str) -> Html:
    """A column's distribution, as small as a word: bins in order, or its values from the most frequent down."""
    if not shares:
        return Html("")
    top = max(shares) or 1.0
    drawn = [
        rect(x, 24 - 22 * share / top, max(1.0, wide), 22 * share / top, "bar" if ordered else "bar level")
        for (x, wide), share in zip(bands(max(len(shares), 8), 96, gap=0.12), shares, strict=False)
    ]
    return picture(96, 24, label, drawn, kind="spark")


def bullet(before: float | None, after: float | None, limit: float | None, label: str, *, top: float = 1.0) -> Html:
    """A bar for what is, a notch for what was, and a line for the limit; both ends are 0 and `top`."""
    wide = 220
    across = Scale(low=0.0, high=top or 1.0, start=1, end=wide - 1)
    drawn = [rect(0, 6, wide, 10, "track")]
    if after:
        drawn.append(rect(0, 6, max(2.0, across(min(after, top))), 10, "after"))
    if before is not None:
        drawn.append(line(across(min(before, top)), 3, across(min(before, top)), 19, "before"))
    if limit is not None:
        x = across(min(limit, top))
        drawn.append(line(x, 0, x, 22, "limit"))
    return picture(wide, 22, label, drawn, kind="bullet")


def curves(before: Sequence[float], after: Sequence[float], limit: float | None, label: str) -> Html:
    """The risk of the records in order, highest first, before and after, with the limit across."""
    wide, high = 560, 220
    highest = max(before[0], after[0], limit or 0.0)
    up, across = share_scale(highest, high, 0, about=4), Scale.over(0, 1, 0, wide, about=5)
    drawn = [*_left_axis(up, wide), *_bottom_axis(across, high, "share of the records")]
    drawn += [_area(before, across, up, high, "before"), _area(after, across, up, high, "after")]
    if limit is not None:
        y = up(limit)
        drawn += [line(0, y, wide, y, "limit"), text(f"limit {percent(limit)}", wide - 2, y - 5, "limit end")]
    return framed(wide, high, label, drawn)


def _area(values: Sequence[float], across: Scale, up: Scale, high: float, kind: str) -> Html:
    steps = len(values) - 1
    points = [(across(i / steps), up(value)) for i, value in enumerate(values)]
    outline = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"{outline}L{points[-1][0]:.1f},{high}L0,{high}Z"
    return join([tag("path", d=area, class_=f"area {kind}"), tag("path", d=outline, class_=f"stroke {kind}")])


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
            drawn.append(rect(x + place * step / 2, top, step / 2 - 1, high - top, kind, words))
        drawn.append(text(row["label"], x + step / 2, high + 17, "middle"))
    return framed(wide, high, label, drawn)


def distribution(cells: Sequence[Mapping[str, Any]], label: str) -> Html:
    """One column before (behind) and after (in front); cells by their names."""
    wide, high = 300, 92
    top = max([1e-9, *(max(cell["before"], cell["after"]) for cell in cells)])
    drawn = []
    for cell, (x, step) in zip(cells, bands(len(cells), wide, gap=0.16), strict=True):
        words = f"{cell['label']}: {percent(cell['before'])} before, {percent(cell['after'])} after"
        before, after = (high * cell[kind] / top for kind in ("before", "after"))
        drawn.append(rect(x, high - before, step, before, "before"))
        drawn.append(rect(x + step * 0.22, high - after, step * 0.56, after, "after"))
        drawn.append(rect(x, 0, step, high, "ask", words))
    drawn.append(line(0, high, wide, high, "axis"))
    ends = [(cells[0]["label"], 0, "start"), (cells[-1]["label"], wide, "end")] if cells else []
    drawn += [text(str(words)[:24], x, high + 15, anchor) for words, x, anchor in ends[: 2 if len(cells) > 1 else 1]]
    return picture(wide, high + 20, label, drawn)


def bands_of(rows: Sequence[Sequence[tuple[float, float, str, str, str]]], label: str) -> Html:
    """Rows of bands: each with start and width as shares of the row, its kind, the text in it and what it says."""
    room, wide, high = 16, 330, 24
    drawn = []
    for level, row in enumerate(rows):
        y = level * (high + 3)
        drawn.append(text(str(level), 0, y + 16, "soft"))
        for start, share, kind, shown, words in row:
            x = room + wide * start
            drawn.append(rect(x, y, max(0.6, wide * share - 1), high, kind, words))
            if shown:
                drawn.append(text(shown, x + (wide * share - 1) / 2, y + 16, "middle"))
    return picture(room + wide, len(rows) * (high + 3), label, drawn, kind="levels-picture")


def _side(n: int) -> int:
    """Pixels of a cell in a square of `n` by `n`: large where they are few."""
    return max(26, min(46, 300 // max(1, n)))


def heat_map(names: Sequence[str], values: Sequence[Sequence[float | None]], label: str) -> Html:
    """A square of numbers from −1 to 1, each cell as dark as its size."""
    side, room = _side(len(names)), 10 + longest(names)
    drawn = []
    for i, (name, row) in enumerate(zip(names, values, strict=True)):
        drawn.append(text(short(name), room - 6, room + side * (i + 0.5) + 4, "end"))
        place = f"translate({room + side * (i + 0.5) + 4:.0f},{room - 6:.0f}) rotate(-90)"
        drawn.append(tag("text", short(name), transform=place, class_="start"))
        for j, value in enumerate(row):
            words = f"{name} and {names[j]}: {number(value)}"
            x, y = room + side * j, room + side * i
            drawn.append(rect(x, y, side - 2, side - 2, "cell"))
            if value is not None:
                kind = "cell after" if value >= 0 else "cell minus"
                share = {"fill_opacity": f"{min(1.0, abs(value)):.2f}"}
                drawn.append(rect(x, y, side - 2, side - 2, kind, words, **share))
    whole = room + side * len(names)
    return picture(whole, whole, label, drawn)


def pair_map(names: Sequence[str], kept: Mapping[tuple[int, int], float], chosen: str) -> Html:
    """How much of each pair is lost, in a triangle; a pair is pressed to be seen in full."""
    side, room = _side(len(names)), 10 + longest(names)
    worst = max([0.02, *(1 - share for share in kept.values())])
    drawn = []
    for i, name in enumerate(names):
        drawn.append(text(short(name), room - 6, 4 + side * (i + 0.5) + 4, "end"))
        place = f"translate({room + side * (i + 0.5) + 4:.0f},{8 + side * len(names):.0f}) rotate(-90)"
        drawn.append(tag("text", short(name), transform=place, class_="end"))
    for (i, j), share in kept.items():
        x, y, key = room + side * i, 4 + side * j, f"{i},{j}"
        words = f"{names[i]} and {names[j]}: {percent(share)} preserved"
        drawn.append(rect(x, y, side - 2, side - 2, "cell"))
        marks = {"fill_opacity": f"{(1 - share) / worst:.2f}", "data_do": "pair", "data_of": key, "data_key": key}
        kind = "cell minus press chosen" if key == chosen else "cell minus press"
        drawn.append(rect(x, y, side - 2, side - 2, kind, words, **marks))
    label = "How much of each pair of columns is preserved; the same is in the list above"
    return picture(room + side * len(names), 12 + room + side * len(names), label, drawn)


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
    left, below = 12 + longest(rows), 12 + longest(columns)
    drawn = []
    for i, name in enumerate(rows):
        drawn.append(text(short(name), left - 6, 4 + side * (i + 0.5) + 4, "end"))
        for j, other in enumerate(columns):
            size = (side - 2) * sqrt(shares[i][j] / top) if top else 0.0
            x, y = left + side * j, 4 + side * i
            words = f"{titles[0]} {name}, {titles[1]} {other}: {percent(shares[i][j])}"
            drawn.append(rect(x + (side - size) / 2, y + (side - size) / 2, size, size, "after"))
            drawn.append(rect(x, y, side, side, "ask", words))
    for j, name in enumerate(columns):
        place = f"translate({left + side * (j + 0.5) + 4:.0f},{10 + side * len(rows):.0f}) rotate(-90)"
        drawn.append(tag("text", short(name), transform=place, class_="end"))
    return picture(left + side * len(columns), 8 + side * len(rows) + below, label, drawn)


def _left_axis(up: Scale, wide: float) -> list[Html]:
    drawn = []
    for tick in up.ticks:
        y = up(tick)
        drawn += [line(0, y, wide, y, "grid"), text(percent(tick), -8, y + 4, "end")]
    return drawn


def _bottom_axis(across: Scale, high: float, title: str) -> list[Html]:
    drawn = [line(0, high, across.end, high, "axis")]
    drawn += [text(percent(tick), across(tick), high + 17, "middle") for tick in across.ticks]
    return [*drawn, text(title, across.end / 2, high + 34, "middle soft")]
