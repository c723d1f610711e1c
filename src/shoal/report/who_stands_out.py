"""Who stands out, and why; what would help most: two sections of the internal report, with their pictures.

They tell of single columns and pairs of columns of the original, by counts of people who are alone, so they never
leave: the external page has neither section.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray
from shoal.equivalence import Codes, combine
from shoal.pair import Pair
from shoal.record import Record
from shoal.report.drawing import AFTER, BEFORE, BEFORE_FILL, INK, short_names
from shoal.report.markup import Child, Html, figure, rows_table, section, tag
from shoal.report.numbers import count, percent
from shoal.report.svg import Panel, Scale, bands, beside, share_scale
from shoal.risk import Contribution, RiskReport, WhatIf, column_contribution, what_if_changes
from shoal.risk.keys import coded_keys

__all__ = ["Standing", "change_words", "help_most", "standing_of", "stands_out"]

_POINTS = 201  # of a curve
_MOST_COLUMNS = 12
_MOST_CHANGES = 10
_LIGHT, _DARK = (0xF7, 0xF5, 0xF0), (0x9A, 0x4A, 0x1F)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Record):
    """Who stands out in the original, through which columns, and what each change of one column would do.

    Parameters
    ----------
    before, after
        The risk of the records in order, highest first, at equal steps from the first record to the last: 1 / (people
        who share the combination) in the original, and the probability of being found in the release.
    contribution, what_if
        See the measures of these names.
    names, pairs, n_rows
        The first quasi-identifiers, the share of records that are alone on each pair of them, and how many there are.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("before", "after", "pairs")

    before: FloatArray
    after: FloatArray
    contribution: Contribution
    what_if: WhatIf
    names: tuple[str, ...]
    pairs: FloatArray
    n_rows: int


def standing_of(pair: Pair, risk: RiskReport) -> Standing:
    """Measure who stands out in the original of `pair`, and how the release changed that."""
    frame, schema, found = pair.original.frame, pair.schema, risk.reidentification
    keys, classes = coded_keys(frame, schema), pair.original_classes()
    after = found.records if found.by_group is None else found.by_group.records
    return Standing(
        before=_curve(1.0 / classes.row_sizes),
        after=_curve(after),
        contribution=column_contribution.measure(frame, schema, found=classes, keys=keys),
        what_if=what_if_changes.measure(frame, schema, found=classes, keys=keys),
        names=schema.quasi[:_MOST_COLUMNS],
        pairs=_alone_on_pairs(keys[:_MOST_COLUMNS]),
        n_rows=len(frame),
    )


def stands_out(standing: Standing) -> Html:
    """Who stands out, and why."""
    parts = standing.contribution
    words = (
        f"In the original {count(parts.n_at_risk)} of {count(parts.n_records)} records ({percent(parts.share)}) are "
        "alone with their combination of quasi-identifiers. This section tells of single people and must not leave."
    )
    return section(
        "standing",
        "Who stands out, and why",
        tag("p", words, class_="warning"),
        tag("h3", "Risk of the records, in order"),
        figure(_curves(standing), _CURVES),
        *_columns(standing),
        *_pairs(standing),
    )


_CURVES = (
    "Each record's probability of being found, highest first: before, by its combination in the original; after, by "
    "the nearest match in the release. The further the second curve lies below the first, the more was gained."
)


def _columns(standing: Standing) -> list[Child]:
    parts = standing.contribution
    if not parts.n_at_risk:
        return []
    n = parts.n_at_risk
    rows = [
        (c.column, percent(c.shapley / parts.share), f"{count(n)} → {count(n - c.n_freed)}", percent(c.drop_one))
        for c in parts.columns
    ]
    head = ("Column", "Its share in who is alone", "Alone, with it → without", "Fewer, of all records")
    table = rows_table("Columns by their share", head, rows, numeric=(1, 2, 3), kind="narrow")
    caption = "Which columns make records stand out: each one's share (Shapley), all together 100%."
    return [tag("h3", "Through which columns"), figure(_bars(parts), caption, table)]


def _pairs(standing: Standing) -> list[Child]:
    if len(standing.names) < 2:
        return []
    most = float(standing.pairs.max())
    caption = (
        "Records that are alone on two columns, or on one (the diagonal); the darkest cell has "
        f"{count(_alone(standing, most))} ({percent(most)}), and nobody should be alone on so little."
        if most
        else "Nobody is alone on two columns."
    )
    return [tag("h3", "Pairs of columns"), figure(_heat_map(standing), caption)]


def help_most(standing: Standing) -> Html:
    """What would help most: every change of one column, by people freed per information lost."""
    found = standing.what_if
    rows = [
        (
            change_words(change),
            f"{count(found.n_at_risk)} → {count(change.n_at_risk)}",
            percent(change.information_lost),
        )
        for change in found.changes[:_MOST_CHANGES]
        if change.n_freed > 0
    ]
    words = (
        "Each change was tried by itself on the whole original, and counted. They are in the order of people who no "
        "longer stand out per information lost; after one is made, ask again (shoal risk)."
    )
    head = ("Change", "Alone, before → after it", "Information lost")
    nothing = tag("p", "Nobody stands out." if not found.n_at_risk else "No change of a single column helps.")
    table = rows_table("Changes of one column", head, rows, numeric=(1, 2)) if rows else nothing
    return section("help", "What would help most", tag("p", words), table)


def change_words(change: Any) -> str:
    """A change as a person would say it."""
    step = change.step
    if change.action == "drop":
        return f"drop {change.column}"
    if change.action == "round":
        return f"{change.column} rounded to {step['base']:g}"
    if change.action == "top-code":
        return f"{change.column} top-coded at {step['high']:g}"
    if change.action == "bottom-code":
        return f"{change.column} bottom-coded at {step['low']:g}"
    return f"{change.column} {_coarser(step)}"


def _coarser(step: Mapping[str, Any]) -> str:
    kind = step["kind"]
    if kind == "bins":
        return f"in intervals of {step['width']:g}" if "width" in step else "in intervals"
    if kind == "prefix":
        return f"to its first {step['keep']} characters"
    return f"to {step['part']}" if kind == "date" else "one level coarser"


def _curve(risks: FloatArray) -> FloatArray:
    """The risks in order, highest first, at equal steps."""
    ordered = np.sort(risks)[::-1]
    places = np.round(np.linspace(0, len(ordered) - 1, _POINTS)).astype(np.int64)
    curve: FloatArray = ordered[places].astype(np.float64)
    return curve


def _alone_on_pairs(keys: tuple[Codes, ...]) -> FloatArray:
    """The share of records that are alone on two columns; on the diagonal, on one."""
    shares = np.zeros((len(keys), len(keys)))
    for i, j in combinations_with_replacement(range(len(keys)), 2):
        both = combine([keys[i], keys[j]])
        shares[i, j] = shares[j, i] = float((np.bincount(both.values, minlength=both.n) == 1).sum() / len(both.values))
    return shares


def _curves(standing: Standing) -> Html:
    panel = Panel(width=640, height=200)
    highest = max(float(standing.before[0]), float(standing.after[0]))
    across, up = Scale.over(0, 1, 0, 640, about=5), share_scale(highest, 200, 0, about=4)
    panel.left_axis(up, percent, title="probability of being found")
    panel.bottom_axis(across, percent, grid=False)
    steps = np.linspace(0, 1, _POINTS)
    for risks, colour in ((standing.before, BEFORE), (standing.after, AFTER)):
        points = [(across(float(x)), up(float(y))) for x, y in zip(steps, risks, strict=True)]
        panel.path(points, stroke=colour, stroke_width=1.75)
    panel.legend((("before", BEFORE_FILL, BEFORE), ("after", AFTER, AFTER)), y=-12)
    panel.top = 28
    half = percent(float(standing.before[_POINTS // 2])), percent(float(standing.after[_POINTS // 2]))
    label = f"Curves of risk by record. Half of the records have less than {half[0]} before and {half[1]} after."
    return beside(panel, label=label)


def _bars(parts: Contribution) -> Html:
    shown = parts.columns[:_MOST_COLUMNS]
    height = max(60, 22 * len(shown))
    panel, places = Panel(width=360, height=height), bands(len(shown), height)
    shares = [max(0.0, column.shapley / parts.share) for column in shown]
    across = share_scale(max(shares), 0, 360, about=4)
    panel.bottom_axis(across, percent)
    panel.left_names(short_names([column.column for column in shown]), places)
    for column, share, (start, wide) in zip(shown, shares, places, strict=True):
        words = f"{column.column}: {percent(share)} of who is alone"
        panel.rect(0, start, across(share), wide, words=words, fill=AFTER)
    spoken = "; ".join(f"{c.column} {percent(s)}" for c, s in zip(shown, shares, strict=True))
    return beside(panel, label=f"Bars of the share of each column. {spoken}.")


def _heat_map(standing: Standing) -> Html:
    names = short_names(standing.names)
    size, n = 40, len(names)
    panel, places = Panel(width=size * n, height=size * n), bands(n, size * n, gap=0)
    for i in range(n):
        for j in range(i + 1):
            share = float(standing.pairs[i, j])
            who = standing.names[i] if i == j else f"{standing.names[j]} and {standing.names[i]}"
            alone, depth = count(_alone(standing, share)), _depth(share, float(standing.pairs.max()))
            words = f"{who}: {alone} records ({percent(share)}) are alone"
            panel.rect(j * size, i * size, size, size, words=words, fill=_shade(depth))
            ink = "#ffffff" if depth > 0.6 else INK
            panel.text(alone, j * size + size / 2, i * size + size / 2 + 4, size=9, fill=ink)
    panel.left_names(names, places)
    panel.bottom_names(names, places, turn=-90)
    worst = np.unravel_index(np.argmax(np.tril(standing.pairs, -1)), standing.pairs.shape)
    most = " and ".join(standing.names[int(i)] for i in worst)
    return beside(panel, label=f"Heat map of pairs of columns by the share of records alone. Most: {most}.")


def _alone(standing: Standing, share: float) -> int:
    return round(share * standing.n_rows)


def _depth(share: float, most: float) -> float:
    """How dark a cell is: by its square root, so that a few people are seen beside many."""
    return float(np.sqrt(share / most)) if most else 0.0


def _shade(depth: float) -> str:
    mixed = (round(low + depth * (high - low)) for low, high in zip(_LIGHT, _DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
