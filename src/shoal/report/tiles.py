"""The mosaic as a picture: tiles as wide and as high as their share of the records."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.drawing import short_names
from shoal.report.markup import Child, Html, details, figure, rows_table, tag
from shoal.report.mosaic import Mosaic, Tiles
from shoal.report.numbers import percent
from shoal.report.svg import Panel, beside

__all__ = ["mosaic_figure"]

SHADES = ("#0b6470", "#4f9aa3", "#a5cdd1", "#e6dcc6", "#cfa46a", "#9a6a2f", "#6d675c")
SIDE = 290
TALL = 0.86  # of the height: above it stand the names
IN_A_ROW = 3  # entries of the legend
NARROW = 0.05  # of the width: a narrower column has no room for its name


def mosaic_figure(mosaic: Mosaic | None) -> list[Child]:
    """The picture with its caption; nothing where there is none to show."""
    if mosaic is None or not mosaic.before.counts.any() or not mosaic.after.counts.any():
        return []
    across, down = mosaic.columns
    sides = [_side(mosaic.before, "Before", mosaic), _side(mosaic.after, "After", mosaic)]
    label = f"Mosaic of {across} (across) and {down} (down), before and after"
    drawn = beside(*sides, label=label)
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


def _side(tiles: Tiles, title: str, mosaic: Mosaic) -> Panel:
    panel = Panel(width=SIDE, height=SIDE * 0.72)
    total, left = int(tiles.counts.sum()), 0.0
    for at, name in enumerate(short_names(tiles.across)):
        width = tiles.counts[at].sum() / total
        if width == 0:
            continue
        _column(panel, tiles, mosaic.columns, at, left, left + width)
        if width >= NARROW:
            place = SIDE * (left + 0.4 * width), panel.height * (1 - TALL) - 4
            panel.text(name, *place, anchor="start", turn=-40, size=9)
        left += width
    _legend(panel, short_names(tiles.down), mosaic.columns[1])
    panel.headed(title)
    return panel


def _column(panel: Panel, tiles: Tiles, columns: tuple[str, str], at: int, left: float, right: float) -> None:
    """The tiles of one level, from below."""
    counts, low = tiles.counts[at], 0.0
    for j, shade in enumerate(SHADES[: len(counts)]):
        high = low + TALL * counts[j] / counts.sum()
        share = whole_percent(counts[j] / int(tiles.counts.sum()))
        said = f"{columns[0]} {tiles.across[at]}, {columns[1]} {tiles.down[j]}: {share} of the records"
        if high > low:
            x, y = SIDE * left, panel.height * (1 - high)
            box = (x, y, SIDE * (right - left), panel.height * (high - low))
            panel.rect(*box, words=said, fill=shade, stroke="#ffffff", stroke_width=1.5)
        low = high


def _legend(panel: Panel, names: Sequence[str], title: str) -> None:
    entries = [(name, shade, "#ffffff") for name, shade in zip(names, SHADES, strict=False)]
    panel.text(title, 0, panel.height + 18, anchor="start", font_weight="600")
    panel.legend(entries, y=panel.height + 36, columns=IN_A_ROW)
    panel.bottom = 30 + 16 * -(-len(entries) // IN_A_ROW)
