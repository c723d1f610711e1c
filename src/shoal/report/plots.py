"""Pictures as inline SVG: drawn with Altair, turned to SVG by vl-convert, named for readers who listen.

Data and column names enter only as values, never as field names or expressions. Each picture is one ``img`` to a
screen reader, with a label that says what it shows; the numbers are in a table beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.report.bands import Bands
from shoal.report.correlation import Correlations
from shoal.report.marginal import Cell, Marginal
from shoal.report.markup import Html

__all__ = ["class_size_plot", "correlation_plot", "marginal_plot", "picture", "risk_plot", "short_names"]

BEFORE, BEFORE_FILL, AFTER, INK, LINE = "#857e70", "#cfc9bd", "#0b6470", "#2b2a27", "#d9d5cc"
FONT = "Source Sans 3, Segoe UI, Helvetica Neue, Arial, sans-serif"
LONGEST_LABEL = 18
_CONFIG = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "gridColor": "#ebe8e1",
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 170,
    },
    "legend": {"labelColor": INK, "labelFontSize": 11, "orient": "top", "title": None, "symbolType": "square"},
    "title": {"color": INK, "fontSize": 12, "fontWeight": 600, "anchor": "start"},
}


def class_size_plot(bands: Bands, label: str) -> Html:
    """Share of the records by the size of their class, before and after."""
    alt = _altair()

    rows = [
        {"band": band.label, "when": when, "share": share}
        for band in bands.bands
        for when, share in zip(("before", "after"), band.shares, strict=True)
    ]
    chart = (
        alt.Chart(alt.Data(values=rows), width=640, height=180)
        .mark_bar(strokeWidth=0.75)
        .encode(
            x=alt.X("band:N", sort=None, title="people who share the combination", axis=_slanted(alt, bands)),
            xOffset=alt.XOffset("when:N", sort=["before", "after"]),
            y=alt.Y("share:Q", title="share of records", axis=alt.Axis(format="~%", tickCount=4)),
            **_when(alt),
        )
    )
    return picture(chart, label)


def risk_plot(bands: Bands, label: str) -> Html:
    """Share of the records by their probability of being found."""
    alt = _altair()

    rows = [{"band": band.label, "share": band.shares[0]} for band in bands.bands]
    chart = (
        alt.Chart(alt.Data(values=rows), width=640, height=160)
        .mark_bar(color=AFTER)
        .encode(
            x=alt.X("band:N", sort=None, title="probability of being found", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="share of records", axis=alt.Axis(format="~%", tickCount=4)),
        )
    )
    return picture(chart, label)


def correlation_plot(correlations: Correlations, label: str) -> Html:
    """Two correlation matrices side by side on one scale."""
    alt = _altair()

    names = short_names(correlations.names)
    size = 26 if len(names) > 6 else 34
    sides = [
        _heat_map(alt, names, matrix, title, size)
        for title, matrix in (("Before", correlations.before), ("After", correlations.after))
    ]
    return picture(alt.hconcat(*sides), label)


def marginal_plot(marginal: Marginal, label: str) -> Html:
    """The distribution of one column, before and after."""
    alt = _altair()

    bins = [cell for cell in marginal.cells if cell.low is not None or cell.high is not None]
    return picture(_histogram(alt, bins, marginal.step or 1.0) if bins else _bars(alt, marginal.cells), label)


def _altair() -> Any:
    """Altair, loaded when the first picture is drawn: it takes a second."""
    import altair

    return altair


def _slanted(alt: Any, bands: Bands) -> Any:
    """Labels that would run into each other lean."""
    return alt.Axis(labelAngle=-35) if len(bands.bands) > 9 else alt.Axis(labelAngle=0)


def _when(alt: Any, **legend: Any) -> dict[str, Any]:
    fill = alt.Scale(domain=["before", "after"], range=[BEFORE_FILL, AFTER])
    edge = alt.Scale(domain=["before", "after"], range=[BEFORE, AFTER])
    return {"fill": alt.Fill("when:N", scale=fill, **legend), "stroke": alt.Stroke("when:N", scale=edge, **legend)}


def _heat_map(alt: Any, names: Sequence[str], matrix: FloatArray, title: str, size: int) -> Any:
    rows = [
        {"row": names[i], "column": names[j], "r": float(matrix[i, j]), "text": _two_digits(matrix[i, j])}
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(matrix[i, j])
    ]
    chart = alt.Chart(alt.Data(values=rows), title=title, width=size * (len(names) - 1), height=size * (len(names) - 1))
    across = alt.X("column:N", sort=list(names), title=None, scale=alt.Scale(domain=list(names[:-1])))
    down = alt.Y("row:N", sort=list(names), title=None, scale=alt.Scale(domain=list(names[1:])))
    scale = alt.Scale(domain=[-1, 0, 1], range=["#9a4a1f", "#f7f5f0", "#0b6470"])
    boxes = chart.mark_rect().encode(x=across, y=down, color=alt.Color("r:Q", scale=scale, legend=None))
    pale = alt.condition("abs(datum.r) > 0.55", alt.value("#ffffff"), alt.value(INK))
    return boxes + chart.mark_text(fontSize=10 if size > 30 else 8).encode(x=across, y=down, text="text:N", color=pale)


def _two_digits(r: float) -> str:
    return f"{round(r, 2) + 0.0:.2f}".replace("-", "−")


def _histogram(alt: Any, bins: Sequence[Cell], step: float) -> Any:
    """Bars before, a line of steps after."""
    rows, points = [], []
    for cell in bins:
        low = cell.low if cell.low is not None else (cell.high or 0.0) - step
        high = cell.high if cell.high is not None else low + step
        scale = step / (high - low)  # a merged bin is as high as its share per step
        rows.append({"low": low, "high": high, "share": cell.before_share * scale, "when": "before"})
        points += [(low, cell.after_share * scale), (high, cell.after_share * scale)]
    outline = [(points[0][0], 0.0), *points, (points[-1][0], 0.0)]
    line = [{"x": x, "y": y, "i": i, "when": "after"} for i, (x, y) in enumerate(outline)]
    span = alt.Scale(domain=[points[0][0], points[-1][0]], nice=False)
    wide = points[-1][0] - points[0][0] >= 100
    axis = alt.Axis(grid=False, tickCount=4, format=",d" if wide else ",~f")
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(stroke=BEFORE, strokeWidth=0.75, color=BEFORE_FILL)
        .encode(
            x=alt.X("low:Q", scale=span, axis=axis, title=None),
            x2="high:Q",
            y=alt.Y("share:Q", axis=alt.Axis(format="~%", tickCount=3), title=None),
            y2=alt.Y2Datum(0),
        )
    )
    steps = (
        alt.Chart(alt.Data(values=line))
        .mark_line(color=AFTER, strokeWidth=1.75, strokeJoin="miter")
        .encode(x=alt.X("x:Q", scale=span), y="y:Q", order="i:O")
    )
    return alt.layer(bars, steps, width=230, height=110)


def _bars(alt: Any, cells: Sequence[Cell]) -> Any:
    names = short_names([cell.label for cell in cells])
    rows = [
        {"level": name, "when": when, "share": share}
        for name, cell in zip(names, cells, strict=True)
        for when, share in (("before", cell.before_share), ("after", cell.after_share))
    ]
    return (
        alt.Chart(alt.Data(values=rows), width=150, height=max(60, 20 * len(cells)))
        .mark_bar(strokeWidth=0.75)
        .encode(
            y=alt.Y("level:N", sort=names, title=None, axis=alt.Axis(labelLimit=0)),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            x=alt.X("share:Q", title=None, axis=alt.Axis(format="~%", tickCount=3)),
            **_when(alt, legend=None),
        )
    )


def picture(chart: Any, label: str) -> Html:
    """A chart as inline SVG with an accessible name."""
    spec = json.dumps({**chart.to_dict(), "config": _CONFIG}, sort_keys=True)
    return Html(_svg(spec).replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1))


@lru_cache(maxsize=256)
def _svg(spec: str) -> str:
    """The SVG of a chart, fit to stand inside a page: no namespaces, no roles inside, ids that are its own."""
    from vl_convert import vegalite_to_svg

    svg: str = vegalite_to_svg(json.loads(spec))
    own = hashlib.sha256(spec.encode()).hexdigest()[:10]
    svg = re.sub(r' (?:xmlns(?::xlink)?|version|class|role|aria-[a-z]+)="[^"]*"', "", svg)
    svg = re.sub(r'\bid="([^"]*)"', rf'id="p{own}-\1"', svg)
    return re.sub(r'url\((?:#|&quot;#|"#|\'#)([^)"\'&]*)[^)]*\)', rf"url(#p{own}-\1)", svg)


def short_names(names: Sequence[str]) -> list[str]:
    """Names short enough to stand in a picture, each different from the others."""
    return _distinct([_short(name) for name in names])


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that were cut to the same beginning get a number, so that each keeps its own place."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
