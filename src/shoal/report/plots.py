"""The pictures of a report: class sizes, risk, correlations, marginals, each before and after.

Every mark says in words what it shows, and nothing that the table beside it does not: shares of cells that the
small-cell rule allows, never a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.report import vega
from shoal.report.bands import Band, Bands
from shoal.report.correlation import Correlations
from shoal.report.drawing import AFTER, BEFORE, BEFORE_FILL, INK, data, hover, picture, short_names
from shoal.report.marginal import Cell, Marginal
from shoal.report.markup import Html
from shoal.report.numbers import percent

__all__ = ["class_size_plot", "correlation_plot", "marginal_plot", "picture", "risk_plot", "short_names", "two_digits"]

BAND, BOTTOM = "band:N", "people who share the combination"


def class_size_plot(bands: Bands, label: str) -> Html:
    """Share of the records by the size of their class, before and after."""
    alt = vega
    rows = [
        {"band": band.label, "when": when, "share": share}
        for band in bands.bands
        for when, share in zip(("before", "after"), band.shares, strict=True)
    ]
    said = [{"band": band.label, "said": f"{_sharing(band)}: {_both(*band.shares)}"} for band in bands.bands]
    bars = (
        alt.Chart(data(alt, rows))
        .mark_bar(strokeWidth=0.75, aria=False)
        .encode(
            x=alt.X(BAND, sort=None, title=BOTTOM, axis=_slanted(alt, bands)),
            xOffset=alt.XOffset("when:N", sort=["before", "after"]),
            y=_shares(alt),
            **_when(alt),
        )
    )
    return picture(alt.layer(bars, _columns(alt, said, 180, BOTTOM), width=640, height=180), label)


def risk_plot(bands: Bands, label: str) -> Html:
    """Share of the records by their probability of being found."""
    alt = vega
    title = "probability of being found"
    rows = [{"band": band.label, "share": band.shares[0]} for band in bands.bands]
    said = [
        {"band": band.label, "said": f"Probability {band.label}: {percent(band.shares[0])} of the records"}
        for band in bands.bands
    ]
    bars = (
        alt.Chart(data(alt, rows))
        .mark_bar(color=AFTER, aria=False)
        .encode(x=alt.X(BAND, sort=None, title=title, axis=alt.Axis(labelAngle=0)), y=_shares(alt))
    )
    return picture(alt.layer(bars, _columns(alt, said, 160, title), width=640, height=160), label)


def _shares(alt: Any) -> Any:
    return alt.Y("share:Q", title="share of records", axis=alt.Axis(format="~%", tickCount=4))


def _columns(alt: Any, said: list[dict[str, Any]], height: int, title: str) -> Any:
    """What each band of a bar chart says, over its whole height."""
    return hover(alt, said, x=alt.X(BAND, sort=None, title=title), y=alt.YValue(0), y2=alt.Y2Value(height))


def _sharing(band: Band) -> str:
    return "Nobody else has the combination" if band.label == "1" else f"{band.label} people share the combination"


def _both(before: float, after: float) -> str:
    return f"{percent(before)} before, {percent(after)} after"


def correlation_plot(correlations: Correlations, label: str) -> Html:
    """Two correlation matrices side by side on one scale."""
    alt = vega
    names = short_names(correlations.names)
    size = 26 if len(names) > 6 else 34
    sides = [
        _heat_map(alt, names, _spoken(correlations, matrix), title, size)
        for title, matrix in (("Before", correlations.before), ("After", correlations.after))
    ]
    return picture(alt.hconcat(*sides), label)


def _spoken(correlations: Correlations, matrix: FloatArray) -> list[dict[str, Any]]:
    """The correlations of one side, each with both in words."""
    full, short = correlations.names, short_names(correlations.names)
    return [
        {
            "row": short[i],
            "column": short[j],
            "r": float(matrix[i, j]),
            "text": two_digits(matrix[i, j]),
            "said": f"{full[j]} and {full[i]}: {two_digits(correlations.before[i, j])} before, "
            f"{two_digits(correlations.after[i, j])} after",
        }
        for i in range(len(full))
        for j in range(i)
        if np.isfinite(matrix[i, j])
    ]


def marginal_plot(marginal: Marginal, label: str) -> Html:
    """The distribution of one column, before and after."""
    bins = [cell for cell in marginal.cells if cell.low is not None or cell.high is not None]
    chart = _histogram(marginal, bins) if bins else _bars(marginal)
    return picture(chart, label)


def _cell_words(marginal: Marginal, cell: Cell) -> str:
    return f"{marginal.column} {cell.label}: {_both(cell.before_share, cell.after_share)}"


def _slanted(alt: Any, bands: Bands) -> Any:
    """Labels that would run into each other lean."""
    return alt.Axis(labelAngle=-35) if len(bands.bands) > 9 else alt.Axis(labelAngle=0)


def _when(alt: Any, **legend: Any) -> dict[str, Any]:
    fill = alt.Scale(domain=["before", "after"], range=[BEFORE_FILL, AFTER])
    edge = alt.Scale(domain=["before", "after"], range=[BEFORE, AFTER])
    return {"fill": alt.Fill("when:N", scale=fill, **legend), "stroke": alt.Stroke("when:N", scale=edge, **legend)}


def _heat_map(alt: Any, names: Sequence[str], rows: list[dict[str, Any]], title: str, size: int) -> Any:
    chart = alt.Chart(data(alt, rows), title=title, width=size * (len(names) - 1), height=size * (len(names) - 1))
    across = alt.X("column:N", sort=list(names), title=None, scale=alt.Scale(domain=list(names[:-1])))
    down = alt.Y("row:N", sort=list(names), title=None, scale=alt.Scale(domain=list(names[1:])))
    scale = alt.Scale(domain=[-1, 0, 1], range=["#9a4a1f", "#f7f5f0", "#0b6470"])
    colour = alt.Color("r:Q", scale=scale, legend=None)
    boxes = chart.mark_rect().encode(x=across, y=down, color=colour, description=alt.Description("said:N"))
    pale = alt.ColorValue(INK, condition={"test": "abs(datum.r) > 0.55", "value": "#ffffff"})
    return boxes + chart.mark_text(fontSize=10 if size > 30 else 8).encode(
        x=across, y=down, text=alt.Text("text:N"), color=pale
    )


def two_digits(r: float) -> str:
    """A correlation as it stands in a picture."""
    if not np.isfinite(r):
        return "none"
    return f"{round(r, 2) + 0.0:.2f}".replace("-", "−")


def _histogram(marginal: Marginal, bins: Sequence[Cell]) -> Any:
    """Bars before, a line of steps after."""
    alt, step = vega, marginal.step or 1.0
    rows, points = [], []
    for cell in bins:
        low = cell.low if cell.low is not None else (cell.high or 0.0) - step
        high = cell.high if cell.high is not None else low + step
        scale = step / (high - low)  # a merged bin is as high as its share per step
        said = _cell_words(marginal, cell)
        rows.append({"low": low, "high": high, "share": cell.before_share * scale, "said": said})
        points += [(low, cell.after_share * scale), (high, cell.after_share * scale)]
    outline = [(points[0][0], 0.0), *points, (points[-1][0], 0.0)]
    line = [{"x": x, "y": y, "i": i, "when": "after"} for i, (x, y) in enumerate(outline)]
    span = alt.Scale(domain=[points[0][0], points[-1][0]], nice=False)
    wide = points[-1][0] - points[0][0] >= 100
    axis = alt.Axis(grid=False, tickCount=4, format=",d" if wide else ",~f")
    bars = (
        alt.Chart(data(alt, rows))
        .mark_rect(stroke=BEFORE, strokeWidth=0.75, color=BEFORE_FILL, aria=False)
        .encode(
            x=alt.X("low:Q", scale=span, axis=axis, title=None),
            x2=alt.X2("high:Q"),
            y=alt.Y("share:Q", axis=alt.Axis(format="~%", tickCount=3), title=None),
            y2=alt.Y2Datum(0),
        )
    )
    steps = (
        alt.Chart(data(alt, line))
        .mark_line(color=AFTER, strokeWidth=1.75, strokeJoin="miter", aria=False)
        .encode(x=alt.X("x:Q", scale=span), y=alt.Y("y:Q"), order=alt.Order("i:O"))
    )
    whole = {"x": alt.X("low:Q", scale=span), "x2": alt.X2("high:Q"), "y": alt.YValue(0), "y2": alt.Y2Value(110)}
    return alt.layer(bars, steps, hover(alt, rows, **whole), width=230, height=110)


def _bars(marginal: Marginal) -> Any:
    alt, cells = vega, marginal.cells
    names = short_names([cell.label for cell in cells])
    rows = [
        {"level": name, "when": when, "share": share}
        for name, cell in zip(names, cells, strict=True)
        for when, share in (("before", cell.before_share), ("after", cell.after_share))
    ]
    said = [{"level": name, "said": _cell_words(marginal, cell)} for name, cell in zip(names, cells, strict=True)]
    bars = (
        alt.Chart(data(alt, rows))
        .mark_bar(strokeWidth=0.75, aria=False)
        .encode(
            y=alt.Y("level:N", sort=names, title=None, axis=alt.Axis(labelLimit=0)),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            x=alt.X("share:Q", title=None, axis=alt.Axis(format="~%", tickCount=3)),
            **_when(alt, legend=None),
        )
    )
    whole = {"y": alt.Y("level:N", sort=names, title=None), "x": alt.XValue(0), "x2": alt.X2Value(150)}
    return alt.layer(bars, hover(alt, said, **whole), width=150, height=max(60, 20 * len(cells)))
