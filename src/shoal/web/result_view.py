"""What the result page shows of a release, as JSON-safe words: for inside only, since it compares with the original.

Runs in the child that made the release. Risk and use are its readings (`shoal.reading`), each with its yardsticks;
pictures are drawn from the words by the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.coarsening import SUPPRESSED
from shoal.frame import enter, pick, series
from shoal.pair import NOBODY, Pair
from shoal.release import Release
from shoal.release.hierarchical_risk import hierarchy_of
from shoal.report.correlation import correlations_of
from shoal.report.marginal import Marginal, cells_of_rows
from shoal.report.numbers import listed, percent
from shoal.report.pieces import weak_bound
from shoal.report.suppressed import loss_points
from shoal.risk.assessment import sampled
from shoal.web.column_pairs import joint_cells

__all__ = ["view_of"]

POINTS = 101
ROWS = 50
MOST_COLUMNS = 24
MOST_CORRELATED = 15
MOST_SHOWN = 40
LONGEST = 60
MOST_NAMED = 6
MUCH, MOVED = 0.2, 0.1  # shares from which a blank column, and a distribution that moved, are worth a word


def view_of(release: Release) -> dict[str, Any]:
    """Everything the page shows beside claims and notes."""
    pair = release.pair
    people = pair.is_of_people
    shown = [name for name in (*pair.schema.quasi, *pair.schema.sensitive) if name in pair.released.columns]
    cells = cells_of_rows(pair, shown[:MOST_COLUMNS], release.small_cell)
    marginals = [one.marginal for one in cells]
    blanks = _blanks(pair)
    return {
        "lost": _lost(release),
        "rows_are": release.whose_rows.counts,
        "crowd": release.whose_rows.crowd,
        "levels": _levels(release),
        "lattice": _lattice(release),
        "blanks": blanks,
        "found": release.risk.strongest if people else None,
        "risk": [reading.to_dict() for reading in release.risk_lines],
        "use": [reading.to_dict() for reading in release.utility_lines],
        "curve": _curves(release) if people and release.schema.quasi else None,
        "sizes": _sizes(release) if people else [],
        "columns": [_column(marginal) for marginal in marginals],
        "correlations": _correlations(pair),
        "pairs": joint_cells(cells[:MOST_CORRELATED]),
        "rows": _beside(release),
        "tables": _tables(release),
        "events": _events(release),
        "watch": _watch(release, marginals, blanks),
        "asked": _asked(release) if people and release.recipe.repeats else [],
    }


def _asked(release: Release) -> list[dict[str, Any]]:
    """The measures that were tried on a sample: on how many of how many."""
    return [one.to_dict() for one in sampled(release.risk)]


def _lost(release: Release) -> dict[str, int]:
    """Rows that came in, that could be used, and that went out."""
    return {
        "came": release.prepared.n_original,
        "used": release.prepared.n,
        "out": len(release.source_rows),
    }


def _levels(release: Release) -> list[dict[str, Any]]:
    """The level of each column that a generalisation has chosen, and how many there are."""
    found: dict[str, dict[str, Any]] = {}
    for step in release.steps:
        heights = step.details.get("heights", {})
        for name, level in step.details.get("levels", {}).items():
            found[name] = {"column": name, "level": int(level), "height": int(heights.get(name, level))}
    return list(found.values())


def _lattice(release: Release) -> dict[str, Any] | None:
    """The choices of levels around the one that was made, where a generalisation alone made the release."""
    from shoal.coarsening import Generalize
    from shoal.coarsening.neighbourhood import neighbourhood

    methods = release.recipe.methods
    if len(methods) != 1 or not isinstance(methods[0], Generalize):
        return None
    centre = {one["column"]: one["level"] for one in _levels(release)}
    return neighbourhood(release.prepared, methods[0], centre).to_dict()


def _blanks(pair: Pair) -> dict[str, float]:
    """The share of blanked cells of each released quasi-identifier that has any more than came in."""
    shares = {}
    for name in pair.schema.quasi:
        content = series(pair.released, name)
        starred = int((content.cast(pl.String, strict=False) == SUPPRESSED).sum()) if content.dtype == pl.String else 0
        before = series(pair.original.frame, name).null_count() / max(1, pair.original.n)
        after = (content.null_count() + starred) / max(1, len(content))
        if after > before + 1e-9:
            shares[name] = after - before
    return shares


def _has_classes(release: Release) -> bool:
    """Whether equal rows hide each other; else the rows of a group do, which look different."""
    return release.pair.cells is not None or not (release.labels >= 0).any()


def _sizes_after(release: Release) -> Any:
    """Of each released record, how many it hides among."""
    if _has_classes(release):
        return release.pair.released_classes().row_sizes
    labels = release.labels[release.labels >= 0]
    return np.bincount(labels)[labels]


def _curves(release: Release) -> dict[str, list[float]]:
    """The risk of the records, highest first, at equal steps."""
    found = release.risk.reidentification
    after = found.records if found.by_group is None else found.by_group.records
    return {"before": _curve(1.0 / release.pair.original_classes().row_sizes), "after": _curve(after)}


def _curve(risks: FloatArray) -> list[float]:
    ordered = np.sort(np.asarray(risks, dtype=np.float64))[::-1]
    places = np.round(np.linspace(0, len(ordered) - 1, POINTS)).astype(np.int64)
    return [round(float(risk), 6) for risk in ordered[places]]


_ENDS = ((1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, None))


def _sizes(release: Release) -> list[dict[str, Any]]:
    """Shares of records by how many they hide among, before and after."""
    if not release.schema.quasi:
        return []
    before, after = release.pair.original_classes().row_sizes, _sizes_after(release)
    return [
        {"label": _band(low, high), "before": _within(before, low, high), "after": _within(after, low, high)}
        for low, high in _ENDS
    ]


def _within(sizes: Any, low: int, high: int | None) -> float:
    inside = (sizes >= low) & ((sizes <= high) if high is not None else True)
    return float(np.mean(inside)) if len(sizes) else 0.0


def _band(low: int, high: int | None) -> str:
    if low == high:
        return "alone"
    return f"{low} or more" if high is None else f"{low} to {high}"


def _column(marginal: Marginal) -> dict[str, Any]:
    cells = [
        {"label": cell.label, "before": cell.before_share, "after": cell.after_share, "missing": cell.missing}
        for cell in marginal.cells
    ]
    return {
        "column": marginal.column,
        "role": marginal.role,
        "ordered": marginal.kind != "nominal",
        "moved": marginal.distance(),
        "cells": cells,
    }


def _correlations(pair: Pair) -> dict[str, Any] | None:
    found = correlations_of(pair).first(MOST_CORRELATED)
    return found.to_dict() if len(found.names) > 1 else None


def _beside(release: Release) -> dict[str, Any]:
    """Some released rows beside the rows of the same people; of synthetic ones only what was drawn."""
    names = [name for name in release.frame.columns if name in release.schema][:MOST_SHOWN]
    places = np.flatnonzero(release.source_rows != NOBODY)[:ROWS] if release.pair.is_of_people else np.arange(0)
    shown = places if len(places) else np.arange(min(ROWS, len(release.frame)))
    after = pick(release.frame.select(names), shown)
    original = _originals(release)
    both = [name for name in names if name in original.columns]
    before = pick(original.select(both), release.source_rows[places]) if len(places) else None
    return {
        "columns": [{"name": name, "role": release.schema[name].role} for name in names],
        "after": _texts(after, names),
        "before": None if before is None else _texts(before, both),
        "both": both,
    }


def _originals(release: Release) -> Any:
    """The original rows, those of the persons where tables are linked."""
    if release.linked is None:
        return enter(release.original)
    return enter(release.original[release.linked.schema.persons.name])


def _tables(release: Release) -> list[dict[str, Any]]:
    """Rows in and out of each of linked tables."""
    if release.linked is None:
        return []
    names = [table.name for table in release.linked.schema.events]
    return [
        {"table": name, "came": len(enter(release.original[name])), "out": len(enter(release.linked.tables[name]))}
        for name in names
    ]


def _events(release: Release) -> list[dict[str, Any]]:
    """Who knows some events of a person: the share that is left with fewer than k candidates, before and after."""
    if release.linked is None:
        return []
    before, after = hierarchy_of(release)["events"]
    known = {} if before is None else {(one.knows, one.events): one.below_share for one in before.by_events}
    return [
        {"knows": one.knows, "events": one.events, "before": known.get((one.knows, one.events)), "k": one.k}
        | {"after": one.below_share, "k_required": after.k_required}
        for one in after.by_events
    ]


def _texts(frame: Any, names: list[str]) -> list[list[str]]:
    columns = [series(frame, name).to_list() for name in names]
    return [["" if cell is None else _text(cell) for cell in row] for row in zip(*columns, strict=True)]


def _text(cell: Any) -> str:
    return (f"{cell:.6g}" if isinstance(cell, float) else str(cell))[:LONGEST]


def _watch(release: Release, marginals: Sequence[Marginal], blanks: Mapping[str, float]) -> list[str]:
    """What the person who decides should look at first."""
    lost = _lost(release)
    blank = {name: share for name, share in blanks.items() if share > MUCH}
    found = _ranked("Blank in most or many of the released rows", blank)
    gone = lost["used"] - lost["out"]
    if gone > 0.02 * max(1, lost["used"]) and release.pair.is_of_people:
        found.append(f"{gone:,} of {lost['used']:,} usable rows are not in the release; who they are is not random.")
    if lost["came"] > lost["used"]:
        found.append(f"{lost['came'] - lost['used']:,} rows were dropped because a number was missing.")
    found += [] if release.suppression is None else loss_points(release.suppression, every=True)
    moved = {one.column: one.distance() for one in marginals if one.distance() > MOVED and one.column not in blank}
    found += _ranked("Distributions that moved", moved)
    weak = weak_bound(release.claims, release.recipe.k)
    if weak:
        found.insert(0, f"{weak[0].upper()}{weak[1:]}.")
    first = [text for text in release.inside_warnings if text not in release.warnings]
    return [*first, *found, *_found_by_events(release), *release.warnings]


def _ranked(what: str, shares: Mapping[str, float]) -> list[str]:
    """One line that names the columns with the largest shares, and how many more there are."""
    order = sorted(shares, key=lambda name: -shares[name])
    named = [f"{name} {percent(shares[name])}" for name in order[:MOST_NAMED]]
    rest = [f"{len(order) - MOST_NAMED} more"] if len(order) > MOST_NAMED else []
    return [f"{what}: {listed([*named, *rest])}."] if named else []


def _found_by_events(release: Release) -> list[str]:
    """Of linked tables: whom one known event still leaves with too few candidates."""
    if release.linked is None:
        return []
    joint = release.linked.joint
    share = joint.share_below("1")
    words = (
        f"For {share:.0%} of the people, an intruder who knows one event beside the row is left with fewer than "
        f"{joint.k_required} candidates. Exchanging events limits what can be learnt; coarsening them hides whose they "
        "are."
    )
    return [words] if share > MUCH else []
