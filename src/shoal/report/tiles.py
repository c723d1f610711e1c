"""The mosaic as a picture: tiles as wide and as high as their share of the records."""

from __future__ import annotations

from typing import Any

from shoal.report.markup import Child, figure, tag
from shoal.report.mosaic import Mosaic, Tiles
from shoal.report.plots import picture, short_names

__all__ = ["mosaic_figure"]

SHADES = ("#0b6470", "#4f9aa3", "#a5cdd1", "#e6dcc6", "#cfa46a", "#9a6a2f", "#6d675c")
SIDE = 290
NARROW = 0.05  # of the width: a narrower column has no room for its name


def mosaic_figure(mosaic: Mosaic | None) -> list[Child]:
    """The picture with its caption; nothing where there is none to show."""
    if mosaic is None or not mosaic.before.counts.any() or not mosaic.after.counts.any():
        return []
    import altair as alt

    across, down = mosaic.columns
    sides = [_side(alt, mosaic.before, "Before", down), _side(alt, mosaic.after, "After", down)]
    label = f"Mosaic of {across} (across) and {down} (down), before and after"
    drawn = picture(alt.hconcat(*sides).resolve_scale(color="independent"), label)
    words = (
        f"Mosaic of {across} (width of the columns) and {down} (height of the tiles). Counts are rounded to multiples "
        f"of {mosaic.k}."
    )
    return [tag("h3", "Quasi-identifiers together"), figure(drawn, words)]


def _side(alt: Any, tiles: Tiles, title: str, down: str) -> Any:
    rows, names = _rectangles(tiles)
    base = alt.Chart(alt.Data(values=rows), title=title, width=SIDE, height=SIDE * 0.72)
    flat = {"scale": alt.Scale(domain=[0, 1], nice=False), "axis": None}
    shades = alt.Scale(domain=short_names(tiles.down), range=list(SHADES[: len(tiles.down)]))
    legend = alt.Legend(title=down, orient="bottom", columns=3, labelLimit=120)
    boxes = base.mark_rect(stroke="#ffffff", strokeWidth=1.5).encode(
        x=alt.X("x:Q", **flat),
        x2="x2:Q",
        y=alt.Y("y:Q", **flat),
        y2="y2:Q",
        color=alt.Color("down:N", scale=shades, legend=legend),
    )
    text = (
        alt.Chart(alt.Data(values=names))
        .mark_text(angle=320, align="left", fontSize=9, dy=-4)
        .encode(x=alt.X("x:Q", **flat), y=alt.Y("y:Q", **flat), text="name:N")
    )
    return boxes + text


def _rectangles(tiles: Tiles) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    total, left = int(tiles.counts.sum()), 0.0
    rows: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    downs = short_names(tiles.down)
    for name, counts in zip(short_names(tiles.across), tiles.counts, strict=True):
        width, low = counts.sum() / total, 0.0
        if width == 0:
            continue
        for level, count in zip(downs, counts, strict=True):
            high = low + 0.86 * count / counts.sum()
            rows.append({"x": left, "x2": left + width, "y": low, "y2": high, "down": level})
            low = high
        if width >= NARROW:
            names.append({"x": left + 0.4 * width, "y": 0.87, "name": name})
        left += width
    return rows, names
