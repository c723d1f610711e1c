"""The risk-utility map (R-U confidentiality map of Duncan, Keller-McNulty and Stokes): risk across, utility up.

Points have the numbers of their lines in a table beside the picture. Those on the front are filled and joined by
steps: between two of them nothing better was found, so a step keeps the utility of the point on its left. The axis of
risk is stretched towards 0 and that of utility towards 1 (square roots), where choices are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import dist, sqrt
from typing import Any

from shoal.report.drawing import INK, altair, data, draw
from shoal.report.markup import Html

__all__ = ["Point", "risk_chart", "risk_map"]

COLOURS = ("#0b6470", "#b5892b", "#9a4a1f", "#6a5fa5", "#3f7d3a", "#857e70")
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
WARN, QUIET = "#8a3b12", "#57544c"
WIDTH, HEIGHT = 640, 380
_TICKS = (0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
_NEAR = 0.008  # of the axis: ticks nearer to 0 would run into each other
_LINE_TEXT = 164  # pixels: the text beside the line of another sample
_TOUCH = 17  # pixels: labels nearer than this are written as one


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One release on the map: where it lies, its number in the table, its family, and what a tooltip says."""

    risk: float
    utility: float
    number: str
    family: str
    on_front: bool
    words: str


def risk_map(points: Sequence[Point], label: str, **given: Any) -> Html:
    """Draw the map, with a label for readers who listen; the rest as in `risk_chart`."""
    return draw(risk_chart(points, **given), label)


def risk_chart(
    points: Sequence[Point],
    *,
    families: Sequence[str],
    across: str,
    up: str,
    limit: float | None = None,
    mark: float | None = None,
    steps: bool = True,
    best: str | None = None,
) -> Any:
    """The map as a chart of Altair's.

    Parameters
    ----------
    points, families
        The releases, and the families in the order of their colours.
    across, up
        Titles of the axes.
    limit
        A risk to draw a line at.
    mark
        A utility to draw a line at: what another sample would keep.
    steps
        Whether to join the points of the front.
    best
        The number of the point that gets a ring.
    """
    alt = altair()
    room = _Room.of(points, limit, mark)
    axes = _axes(alt, room, across, up)
    layers = [
        *_lines(alt, axes, limit, mark, room, points),
        *(_steps(alt, axes, points) if steps else []),
        *_ring(alt, axes, [point for point in points if point.number == best]),
        *_marks(alt, axes, points, families),
        _numbers(alt, axes, room, points),
    ]
    return alt.layer(*layers, width=WIDTH, height=HEIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """How far the axes go: risk from 0 to `right`, loss of utility from 0 (at the top) to `bottom`."""

    right: float
    bottom: float

    @classmethod
    def of(cls, points: Sequence[Point], limit: float | None, mark: float | None) -> _Room:
        risks = [point.risk for point in points] + [limit or 0.0, 0.01]
        losses = [1 - point.utility for point in points] + [0.0 if mark is None else 1 - mark, 0.02]
        return cls(right=1.12 * max(risks), bottom=1.12 * max(losses))

    def place(self, point: Point) -> tuple[float, float]:
        """Where a point lies, in pixels from the upper left."""
        return WIDTH * sqrt(point.risk / self.right), HEIGHT * sqrt((1 - point.utility) / self.bottom)


def _axes(alt: Any, room: _Room, across: str, up: str) -> dict[str, Any]:
    """Risk across and loss up (labelled by what is kept), both with the square root's room near the best corner."""
    kept = alt.Axis(values=_ticks(room.bottom), labelExpr="format(1 - datum.value, '.4~%')")
    found = alt.Axis(values=_ticks(room.right), labelExpr="format(datum.value, '.2~%')")
    right = alt.Scale(type="sqrt", domain=[0, room.right], nice=False)
    down = alt.Scale(type="sqrt", domain=[room.bottom, 0], nice=False)
    return {
        "x": alt.X("x:Q", scale=right, axis=found, title=across),
        "y": alt.Y("y:Q", scale=down, axis=kept, title=up),
    }


def _ticks(end: float) -> list[float]:
    return [tick for tick in _TICKS if tick <= end and (tick == 0 or tick >= _NEAR * end)]


def _lines(
    alt: Any,
    axes: dict[str, Any],
    limit: float | None,
    mark: float | None,
    room: _Room,
    points: Sequence[Point],
) -> list[Any]:
    made = []
    if limit is not None:
        base = alt.Chart(data(alt, [{"x": limit, "text": "limit"}]))
        made.append(base.mark_rule(color=WARN, strokeDash=[5, 4], aria=False).encode(x=axes["x"]))
        text = base.mark_text(align="left", baseline="bottom", dx=4, dy=-4, color=WARN, fontSize=11, aria=False)
        made.append(text.encode(x=axes["x"], y=alt.YValue(HEIGHT), text=alt.Text("text:N")))
    if mark is not None:
        base = alt.Chart(data(alt, [{"y": 1 - mark, "text": "another sample of the same size"}]))
        made.append(base.mark_rule(color=QUIET, strokeDash=[2, 3], aria=False).encode(y=axes["y"]))
        y = HEIGHT * sqrt((1 - mark) / room.bottom)
        x, dy = beside_line(y, [room.place(point) for point in points])
        text = base.mark_text(align="left", baseline="middle", dy=dy, color=QUIET, fontSize=11, aria=False)
        made.append(text.encode(x=alt.XValue(x), y=axes["y"], text=alt.Text("text:N")))
    return made


def beside_line(y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Where the text beside a line across at `y` begins, and how far below the line: where the fewest points are."""
    free = [(x, dy) for x in (WIDTH - 4 - _LINE_TEXT, 4) for dy in (9, -9)]

    def crowded(place: tuple[float, float]) -> int:
        x, dy = place
        return sum(x - 24 < a < x + _LINE_TEXT + 10 and -14 < b - (y + dy) < 24 for a, b in taken)

    return min(free, key=crowded)


def _steps(alt: Any, axes: dict[str, Any], points: Sequence[Point]) -> list[Any]:
    ahead = sorted((point for point in points if point.on_front), key=lambda point: (point.risk, point.utility))
    rows = [{"x": point.risk, "y": 1 - point.utility, "i": i} for i, point in enumerate(ahead)]
    if len(rows) < 2:
        return []
    line = alt.Chart(data(alt, rows)).mark_line(
        color=INK, strokeWidth=1.2, interpolate="step-after", opacity=0.55, aria=False
    )
    return [line.encode(x=axes["x"], y=axes["y"], order=alt.Order("i:O"))]


def _ring(alt: Any, axes: dict[str, Any], chosen: Sequence[Point]) -> list[Any]:
    rows = [{"x": point.risk, "y": 1 - point.utility} for point in chosen]
    if not rows:
        return []
    ring = alt.Chart(data(alt, rows)).mark_point(
        size=480, shape="circle", color=INK, filled=False, strokeDash=[4, 3], aria=False
    )
    return [ring.encode(x=axes["x"], y=axes["y"])]


def _marks(alt: Any, axes: dict[str, Any], points: Sequence[Point], families: Sequence[str]) -> list[Any]:
    used = [family for family in families if any(point.family == family for point in points)]
    order = [list(families).index(family) for family in used]
    rows = [
        {
            "x": point.risk,
            "y": 1 - point.utility,
            "family": point.family,
            "words": point.words,
            "fill": 0.9 if point.on_front else 0.0,
        }
        for point in points
    ]
    colour = alt.Scale(domain=used, range=[COLOURS[i % len(COLOURS)] for i in order])
    shape = alt.Scale(domain=used, range=[SHAPES[i % len(SHAPES)] for i in order])
    legend = alt.Legend(orient="top", title=None, symbolSize=90, labelFontSize=12)
    dots = alt.Chart(data(alt, rows)).mark_point(size=110, strokeWidth=1.8)
    return [
        dots.encode(
            x=axes["x"],
            y=axes["y"],
            stroke=alt.Stroke("family:N", scale=colour, legend=legend),
            fill=alt.Fill("family:N", scale=colour, legend=None),
            shape=alt.Shape("family:N", scale=shape, legend=legend),
            fillOpacity=alt.FillOpacity("fill:Q", scale=None),
            description=alt.Description("words:N"),
        )
    ]


def _numbers(alt: Any, axes: dict[str, Any], room: _Room, points: Sequence[Point]) -> Any:
    """The number of each point; those of points that touch stand together."""
    rows = [
        {"x": near[0].risk, "y": 1 - near[0].utility, "text": ", ".join(point.number for point in near)}
        for near in together(points, room.place)
    ]
    base = alt.Chart(data(alt, rows)).mark_text(dx=9, dy=-9, align="left", fontSize=11, color=INK, aria=False)
    return base.encode(x=axes["x"], y=axes["y"], text=alt.Text("text:N"))


def together(points: Sequence[Point], place: Callable[[Point], tuple[float, float]]) -> list[list[Point]]:
    """Points in lists: each joins the first list whose first point is so near that their labels would touch."""
    lists: list[list[Point]] = []
    for point in points:
        near = [found for found in lists if dist(place(found[0]), place(point)) < _TOUCH]
        if near:
            near[0].append(point)
        else:
            lists.append([point])
    return lists
