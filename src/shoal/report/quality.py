"""Synthetic rows as users judge them: scores of columns and pairs, and models trained on them. Internal only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.reading import Reading
from shoal.report.drawing import INK, short_names
from shoal.report.markup import Child, Html, details, figure, rows_table, tag
from shoal.report.numbers import between, count, number, percent
from shoal.report.readings import verdict
from shoal.report.svg import Panel, bands, beside
from shoal.utility import PairScore, Quality, Usefulness

__all__ = ["quality_figures", "trained_table"]

_MOST_SHOWN = 18
_WORST = 12
_PALE, _DEEP = (0xF7, 0xF5, 0xF0), (0x9A, 0x4A, 0x1F)
_LOST = 0.3  # of a score, less than a fresh sample has: the deepest shade


def quality_figures(found: Quality | None) -> list[Child]:
    """The overall score, a table of the columns, and the pairs as a picture and by the worst of them."""
    if found is None:
        return []
    words = (
        f"Overall {percent(found.overall)}; as many real records drawn again have {percent(found.resampled)}. The "
        "scores are those of SDMetrics: 100% is the original's distribution, and what a fresh sample has is as much as "
        "can be asked for."
    )
    return [tag("h3", "Quality of columns and pairs"), tag("p", words), _columns(found), *_pairs(found)]


def _columns(found: Quality) -> Html:
    rows = [_scored(one.column, one.measure, one.score, one.resampled) for one in found.columns]
    return rows_table("Columns", ("Column", *_HEAD), rows, numeric=(2, 3), quiet=True)


_HEAD = ("Score by", "Score", "A fresh sample", "Reading")


def _scored(name: str, measure: str, score: float, resampled: float) -> tuple[Child, ...]:
    read = Reading(name=name, value=score, chance=resampled, better="higher", slack=0.02)
    return name, measure, percent(score), percent(resampled), verdict(read)


def _pairs(found: Quality) -> list[Child]:
    if not found.pairs or found.trends is None:
        return []
    worst = sorted(found.pairs, key=_lost, reverse=True)
    names = _shown(found, worst)
    shown = f" The {len(names)} columns whose pairs lost most are shown." if len(names) < len(found.columns) else ""
    part = f" {count(len(found.pairs))} of {count(found.n_pairs)} pairs were scored, drawn at random."
    caption = (
        f"Pairs of columns, {percent(found.trends)} on average. The deeper the colour, the more of the tie is lost "
        f"beyond what a fresh sample loses.{shown}{part if len(found.pairs) < found.n_pairs else ''}"
    )
    spoken = f"Scores of the pairs of {len(names)} columns. The worst: {_pair_words(worst[0])}."
    rows = [_scored(" and ".join(p.columns), p.measure, p.score, p.resampled) for p in worst[:_WORST]]
    table = rows_table("Pairs that lost most", ("Columns", *_HEAD), rows, numeric=(2, 3))
    return [figure(_picture(found, names, spoken), caption, details("Pairs that lost most", table))]


def _shown(found: Quality, worst: Sequence[PairScore]) -> list[str]:
    """All columns, or those of the pairs that lost most, in their order."""
    every = [one.column for one in found.columns]
    picked: list[str] = []
    for pair in worst:
        picked += [name for name in pair.columns if name not in picked]
    return [name for name in every if name in picked[:_MOST_SHOWN]]


def _picture(found: Quality, names: Sequence[str], spoken: str) -> Html:
    size = 30 if len(names) > 8 else 38
    side = size * (len(names) - 1)
    panel, places = Panel(width=side, height=side), bands(len(names) - 1, side, gap=0)
    at = {name: k for k, name in enumerate(names)}
    for pair in found.pairs:
        if all(name in at for name in pair.columns):
            j, i = sorted(at[name] for name in pair.columns)
            _cell(panel, pair, j * size, (i - 1) * size, size)
    short = short_names(names)
    panel.left_names(short[1:], places)
    panel.bottom_names(short[:-1], places, turn=-90)
    return beside(panel, label=spoken)


def _cell(panel: Panel, pair: PairScore, x: float, y: float, size: int) -> None:
    share = min(1.0, _lost(pair) / _LOST)
    fill = "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(_PALE, _DEEP, strict=True))
    panel.rect(x, y, size, size, words=_pair_words(pair), fill=fill)
    ink = "#ffffff" if share > 0.55 else INK
    panel.text(f"{100 * pair.score:.0f}", x + size / 2, y + size / 2 + 4, size=10, fill=ink)


def _lost(pair: PairScore) -> float:
    return max(0.0, pair.resampled - pair.score)


def _pair_words(pair: PairScore) -> str:
    return f"{' and '.join(pair.columns)}: {percent(pair.score)}, a fresh sample {percent(pair.resampled)}"


def trained_table(found: Usefulness | None) -> list[Child]:
    """Two models, trained on the synthetic rows and on real ones."""
    if found is None:
        return []
    whom = (
        "people who took no part in the release"
        if found.with_control
        else "records that the second model did not see (the synthesis did; give a control table to leave that out)"
    )
    words = (
        f"Train on synthetic rows, test on real people: {found.measure} of predicting {found.target}, on "
        f"{count(found.n_test)} {whom}. Without any model: {number(found.no_model)}."
    )
    rows = [
        (
            {"regression": "Regression", "trees": "Boosted trees"}[one.learner],
            number(one.on_released),
            between(one.released_interval, "number"),
            number(one.on_original),
            between(one.original_interval, "number"),
            verdict(_as_original(one)),
        )
        for one in found.models
    ]
    head = ("Model", "Trained on the release", "95% interval", "Trained on the original", "95% interval", "Reading")
    return [
        tag("h3", "Models trained on the release"),
        tag("p", words),
        rows_table(f"Predicting {found.target}", head, rows, numeric=(1, 2, 3, 4), quiet=True),
    ]


def _as_original(one: Any) -> Reading:
    return Reading(
        name=one.learner, value=one.on_released, chance=one.on_original, shows="number", better="higher", slack=0.02
    )
