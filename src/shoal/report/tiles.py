"""The mosaic as a picture: tiles as wide and as high as their share of the records."""

from __future__ import annotations

from typing import Any

from shoal.report import vega
from shoal.report.drawing import data, picture, short_names
from shoal.report.markup import Child, Html, details, figure, rows_table, tag
from shoal.report.mosaic import Mosaic, Tiles
from shoal.report.numbers import percent

__all__ = ["mosaic_figure"]

SHADES = ("#0b6470", "#4f9aa3", "#a5cdd1", "#e6dcc6", "#cfa46a", "#9a6a2f", "#6d675c")
SIDE = 290
NARROW = 0.05  # of the width: a narrower column has no room for its name


def mosaic_figure(mosaic: Mosaic | None) -> list[Child]:
    """The picture with its caption; nothing where there is none to show."""
    if mosaic is None or not mosaic.before.counts.any() or not mosaic.after.counts.any():
        return []
    alt = vega
    across, down = mosaic.columns
    sides = [_side(alt, mosaic.before, "Before", mosaic), _side(alt, mosaic.after, "After", mosaic)]
    label = f"Mosaic of {across} (across) and {down} (down), before and after"
    drawn = picture(alt.hconcat(*sides).resolve_scale(color="independent"), label)
    words = (
        f"Mosaic of {across} (width of the columns) and {down} (height of the tiles). Counts are rounded to multiples "
        f"of {mosaic.k}, shares to whole percents."
    )
    tables = [_numbers(mosaic.before, "before", mosaic), _numbers(mosaic.after, "after", mosaic)]
    return [tag("h3", "Quasi-identifiers together"), figure(drawn, words, details(f"{across} and {down}", *tables))]


def _numbers(tiles: Tiles, when: str, mosaic: Mosaic) -> Html:
    across, down = mosaic.columns
    total = int(tiles.counts.sum())
    rows = [
        (name, *(whole_percent(count / total) for count in counts))
        for name, counts in zip(tiles.across, tiles.counts.tolist(), strict=True)
    ]
    caption = f"Records by {across} (down) and {down} (across) {when}, in percent of all"
    return rows_table(caption, (across, *tiles.down), rows, numeric=range(1, len(tiles.down) + 1), kind="narrow")


def whole_percent(share: float) -> str:
    """A share to whole percents."""
    return "under 1%" if 0 < share < 0.005 else percent(round(share, 2))


def _side(alt: Any, tiles: Tiles, title: str, mosaic: Mosaic) -> Any:
    down = mosaic.columns[1]
    rows, names = _rectangles(tiles, mosaic.columns)
    base = alt.Chart(data(alt, rows), title=title, width=SIDE, height=SIDE * 0.72)
    flat = {"scale": alt.Scale(domain=[0, 1], nice=False), "axis": None}
    shades = alt.Scale(domain=short_names(tiles.down), range=list(SHADES[: len(tiles.down)]))
    legend = alt.Legend(title=down, orient="bottom", columns=3, labelLimit=120)
    boxes = base.mark_rect(stroke="#ffffff", strokeWidth=1.5).encode(
        x=alt.X("x:Q", **flat),
        x2="x2:Q",
        y=alt.Y("y:Q", **flat),
        y2="y2:Q",
        color=alt.Color("down:N", scale=shades, legend=legend),
        description=alt.Description("said:N"),
    )
    text = (
        alt.Chart(data(alt, names))
        .mark_text(angle=320, align="left", fontSize=9, dy=-4)
        .encode(x=alt.X("x:Q", **flat), y=alt.Y("y:Q", **flat), text=alt.Text("name:N"))
    )
    return boxes + text


def _rectangles(tiles: Tiles, columns: tuple[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    total, left = int(tiles.counts.sum()), 0.0
    rows: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    for at, name in enumerate(short_names(tiles.across)):
        width = tiles.counts[at].sum() / total
        if width == 0:
            continue
        rows += _column(tiles, columns, at, left, left + width)
        if width >= NARROW:
            names.append({"x": left + 0.4 * width, "y": 0.87, "name": name})
        left += width
    return rows, names


def _column(tiles: Tiles, columns: tuple[str, str], at: int, left: float, right: float) -> list[dict[str, Any]]:
    """The tiles of one level, from below."""
    counts, low, rows = tiles.counts[at], 0.0, []
    for j, level in enumerate(short_names(tiles.down)):
        high = low + 0.86 * counts[j] / counts.sum()
        share = whole_percent(counts[j] / int(tiles.counts.sum()))
        said = f"{columns[0]} {tiles.across[at]}, {columns[1]} {tiles.down[j]}: {share} of the records"
        if high > low:
            rows.append({"x": left, "x2": right, "y": low, "y2": high, "down": level, "said": said})
        low = high
    return rows
