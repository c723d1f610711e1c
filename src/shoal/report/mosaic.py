"""A mosaic of two quasi-identifiers, before and after: how the table is cut into cells, and how the cells were merged.

Each column of tiles is a level of the first quasi-identifier, as wide as it has records; its tiles are the levels of
the second. Coarsened columns show the categories that were written. Counts are rounded to multiples of k, so neither
the picture nor a subtraction from the marginals tells of fewer people; a level that fewer than k people have is not
named.
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
from shoal.frame import series
from shoal.pair import Pair
from shoal.report.marginal import people_of

__all__ = ["Mosaic", "Tiles", "mosaic_of"]

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
    before = [_levels(series(pair.original.frame, name), cut) for name, cut in zip(names, cuts, strict=True)]
    after = [
        _written(pair, name) if _is_coarse(pair, name) else _levels(series(pair.released, name), cut)
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
    values = floats(series(pair.original.frame, name))
    present = values[~np.isnan(values)]
    cuts = np.quantile(present, np.linspace(0, 1, MOST + 1)[1:-1], method="closest_observation")
    spread = float(present.max() - present.min()) or 1.0
    step = 10.0 ** np.floor(np.log10(spread / MOST))
    return np.unique(np.round(cuts / step) * step)


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
