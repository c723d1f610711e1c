"""A mosaic of two quasi-identifiers, before and after: how the table is cut into cells, and how the cells were merged.

Each column of tiles is a level of the first quasi-identifier, as wide as it has records; its tiles are the levels of
the second. Coarsened columns show the categories that were written. Counts are rounded to multiples of k, so neither
the picture nor a subtraction from the marginals tells of fewer people; a level that fewer than k people have is not
named. In the picture, tiles are as wide and as high as their share of the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats
from shoal.domain.absence import bare, numbers
from shoal.frame import Frame, series
from shoal.pair import Pair
from shoal.report.bands import people_of
from shoal.report.drawing import short_names
from shoal.report.markup import Child, Html, details, figure, rows_table, tag
from shoal.report.numbers import percent
from shoal.report.svg import Panel, beside

__all__ = ["Mosaic", "Tiles", "mosaic_figure", "mosaic_of", "tile_panel", "tiles_of"]

MOST = 6
OTHERS = "others"
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """One table's cross tabulation: names of the levels and counts, rounded to multiples of k."""

    across: tuple[str, ...]
    down: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Mosaic:
    """Two quasi-identifiers, before and after."""

    columns: tuple[str, str]
    before: Tiles
    after: Tiles
    k: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        sides = {"before": self.before, "after": self.after}
        return {
            "columns": list(self.columns),
            **{
                when: {"across": list(t.across), "down": list(t.down), "counts": t.counts.tolist()}
                for when, t in sides.items()
            },
        }


def mosaic_of(pair: Pair, k: int) -> Mosaic | None:
    """The mosaic of two quasi-identifiers with few levels; None where the schema has fewer than two."""
    names = _chosen(pair)
    if names is None:
        return None
    cuts = [_edges(pair, name) for name in names]
    before = [_levels(_known(pair, pair.original.frame, n), cut) for n, cut in zip(names, cuts, strict=True)]
    after = [
        _written(pair, name) if _is_coarse(pair, name) else _levels(_known(pair, pair.released, name), cut)
        for name, cut in zip(names, cuts, strict=True)
    ]
    people = people_of(pair)
    rare = [
        () if _is_coarse(pair, name) else _rare(levels, people[0], k)
        for name, levels in zip(names, before, strict=True)
    ]
    first = _tiles(before, people[0], k, ((), ()))
    return Mosaic(columns=names, before=first, after=_tiles(after, people[1], k, rare), k=k)


def _chosen(pair: Pair) -> tuple[str, str] | None:
    """Coarsened columns of which something is left first, then those of few levels."""
    quasi = [coding.name for coding in pair.encoder.codings]
    if len(quasi) < 2:
        return None
    distinct = {c.name: len(np.unique(pair.original_codes[:, j])) for j, c in enumerate(pair.encoder.codings)}
    left = {name: series(pair.released, name).n_unique() for name in quasi}
    ranked = sorted(quasi, key=lambda name: (left[name] < 2, not _is_coarse(pair, name), distinct[name]))
    return ranked[0], ranked[1]


def _is_coarse(pair: Pair, name: str) -> bool:
    return pair.exact is not None and not bool(pair.exact[:, pair.encoder.names.index(name)].all())


def _edges(pair: Pair, name: str) -> FloatArray | None:
    """Cuts of a numeric column at round quantiles; None for levels."""
    if pair.schema[name].kind != "numeric":
        return None
    values = numbers(series(pair.original.frame, name), pair.schema[name])
    present = values[~np.isnan(values)]
    cuts = np.quantile(present, np.linspace(0, 1, MOST + 1)[1:-1], method="closest_observation")
    spread = float(present.max() - present.min()) or 1.0
    step = 10.0 ** np.floor(np.log10(spread / MOST))
    return np.unique(np.round(cuts / step) * step)


def _known(pair: Pair, frame: Frame, name: str) -> pl.Series:
    return bare(series(frame, name), pair.schema[name])


def _levels(column: pl.Series, edges: FloatArray | None) -> pl.Series:
    """Each row's level as text."""
    if edges is None:
        return column.cast(pl.String).fill_null(MISSING)
    values = floats(column)
    names = [f"under {edges[0]:g}", *(f"{low:g} to {high:g}" for low, high in pairwise(edges))]
    names.append(f"{edges[-1]:g} and over")
    at = np.searchsorted(edges, values, side="right")
    return pl.Series(np.array([*names, MISSING], dtype=object)[np.where(np.isnan(values), len(names), at)].tolist())


def _written(pair: Pair, name: str) -> pl.Series:
    return series(pair.released, name).cast(pl.String).fill_null(MISSING)


def tiles_of(across: pl.Series, down: pl.Series) -> Tiles:
    """The tiles of two columns of texts, with exact counts: for inside only."""
    return _tiles([across, down], None, 1, ((), ()))


def _tiles(levels: Sequence[pl.Series], people: IntArray | None, k: int, rare: Sequence[Sequence[str]]) -> Tiles:
    across, at = _numbered(levels[0], people, k, rare[0])
    down, to = _numbered(levels[1], people, k, rare[1])
    counts = np.bincount(at * len(down) + to, minlength=len(across) * len(down)).reshape(len(across), len(down))
    return Tiles(across=across, down=down, counts=(np.round(counts / k) * k).astype(np.int64))


def _rare(column: pl.Series, people: IntArray | None, k: int) -> list[str]:
    """Levels that fewer than k people have: not to be named after either, though a mask may have spread them."""
    return _held(column, people).filter(pl.col("n") < k)["level"].to_list()


def _held(column: pl.Series, people: IntArray | None) -> pl.DataFrame:
    """How many people have each level."""
    person = pl.Series("person", np.arange(len(column)) if people is None else people)
    return pl.DataFrame({"level": column, "person": person}).group_by("level").agg(n=pl.col("person").n_unique())


def _numbered(
    column: pl.Series, people: IntArray | None, k: int, rare: Sequence[str]
) -> tuple[tuple[str, ...], IntArray]:
    """The levels that most people have, in their order, the rest as others; and the number of each row's."""
    held = _held(column, people)
    named = held.filter((pl.col("n") >= k) & ~pl.col("level").is_in(list(rare)))
    large = named.sort("n", "level", descending=[True, False])["level"].to_list()
    names = sorted(large if len(large) == len(held) <= MOST + 1 else large[:MOST], key=_natural)
    places = pl.Series(np.arange(len(names), dtype=np.int64))
    at = column.replace_strict(pl.Series(names, dtype=pl.String), places, default=len(names), return_dtype=pl.Int64)
    has_others = len(held) > len(names)
    return (*names, *([OTHERS] if has_others else [])), at.to_numpy().astype(np.int64)


def _natural(level: str) -> tuple[int, float, str]:
    """Numbers and intervals by their first number, other texts by the alphabet, missing last."""
    head = level.removeprefix("under ").lstrip("[(").split("-")[0].split(",")[0].split(" ")[0]
    try:
        return 0, float(head) - (0.5 if level.startswith("under") else 0.0), level
    except ValueError:
        return (2 if level in (MISSING, "*") else 1), 0.0, level


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
    sides = [tile_panel(tiles, title, mosaic.columns) for title, tiles in _sides(mosaic)]
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


def _sides(mosaic: Mosaic) -> tuple[tuple[str, Tiles], ...]:
    return ("Before", mosaic.before), ("After", mosaic.after)


def tile_panel(tiles: Tiles, title: str, columns: tuple[str, str]) -> Panel:
    """The picture of one table's tiles."""
    panel = Panel(width=SIDE, height=SIDE * 0.72)
    total, left = int(tiles.counts.sum()), 0.0
    for at, name in enumerate(short_names(tiles.across)):
        width = tiles.counts[at].sum() / total
        if width == 0:
            continue
        _column(panel, tiles, columns, at, left, left + width)
        if width >= NARROW:
            place = SIDE * (left + 0.4 * width), panel.height * (1 - TALL) - 4
            panel.text(name, *place, anchor="start", turn=-40, size=9)
        left += width
    _legend(panel, short_names(tiles.down), columns[1])
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
