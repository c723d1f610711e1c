"""The metric mapping drawn: how far apart people are in each column, as measured and as compared. Internal only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.distance.mapped_column import MappedColumn
from shoal.distance.space import Spaces
from shoal.method import FAMILIES
from shoal.pair import Pair
from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, tag
from shoal.report.what_was_done import methods_in
from shoal.rng import stream

__all__ = ["mapped_of", "mapping_figure", "mapping_section"]

MOST_COLUMNS = 12
_ACROSS = 4
_WHEN = {"before": "#857e70", "after": "#0b6470"}


def mapped_of(pair: Pair, recipe: Mapping[str, Any]) -> tuple[MappedColumn, ...]:
    """The first quasi-identifiers, where a method of the recipe compares people by mapped distances."""
    named = [one for family in FAMILIES for one in methods_in(recipe, family)]
    if not any(one.maps_distances for one in named):
        return ()
    spaces = Spaces.fit(pair.schema, pair.encoder, pair.original_codes)
    positions = spaces.positions(pair.original_codes)
    return tuple(
        MappedColumn.of(space, positions[:, j], stream(0, "pairs", space.name))
        for j, space in enumerate(spaces)
        if j < MOST_COLUMNS
    )


def mapping_section(mapped: Sequence[MappedColumn]) -> list[Child]:
    """The figure with its reading, for the inside section."""
    if not mapped:
        return []
    words = (
        "Distances between random pairs of people, in ten bins. The method adds distances of all columns after a "
        "mapping that makes them comparable: those of numbers then fall off evenly, those of levels keep their few "
        "values, further out the rarer a difference is. A column whose mapped distances all lie at 0 tells nobody "
        "apart."
    )
    return [tag("h3", "Distances, before and after the metric mapping"), tag("p", words), mapping_figure(mapped)]


def mapping_figure(mapped: Sequence[MappedColumn]) -> Html:
    """One small chart for each column."""
    alt = altair()
    charts = [_chart(alt, column) for column in mapped]
    rows = [alt.hconcat(*charts[i : i + _ACROSS]) for i in range(0, len(charts), _ACROSS)]
    picture = draw(alt.vconcat(*rows), "Distances of each column before and after mapping")
    return figure(picture, "Grey: as measured. Blue: mapped.")


def _chart(alt: Any, column: MappedColumn) -> Any:
    rows = [
        {"bin": (i + 0.5) / 10, "share": share, "when": when}
        for when, shares in (("before", column.before), ("after", column.after))
        for i, share in enumerate(shares)
    ]
    colour = alt.Color("when:N", scale=alt.Scale(domain=list(_WHEN), range=list(_WHEN.values())))
    return (
        alt.Chart(data(alt, rows), title=column.name, width=140, height=90)
        .mark_line(interpolate="step")
        .encode(
            x=alt.X("bin:Q", title="distance, share of largest", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("share:Q", title="share of pairs"),
            color=colour,
        )
    )
