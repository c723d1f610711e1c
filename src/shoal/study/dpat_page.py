"""The study of private trees on paper: a report, and its numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from shoal.files import write_text
from shoal.report.document import altair, data, document, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import number
from shoal.study.dpat import EPSILONS, DpatStudy, Split
from shoal.study.dpat_findings import findings
from shoal.study.folder import check_study_folder

__all__ = ["check_folder", "render", "write"]

_FILES = ("report.html", "study.json")
_DASHES = {"proved": [1, 0], "refuted": [6, 3], "none": [2, 3]}
_COLOURS = ("#0b6470", "#3f7d3a", "#b5892b", "#9a4a1f", "#6a5fa5", "#857e70", "#57544c", "#c25b78", "#4a7fb5")


check_folder = partial(check_study_folder, _FILES)
"""Refuse a folder that holds anything but an older study of this kind that may be replaced."""


def write(study: DpatStudy, out: Path) -> None:
    """Write report.html and study.json to the folder `out`."""
    page = render(study)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "study.json", json.dumps(study.to_dict(), ensure_ascii=False, indent=1))
    write_text(out / "report.html", page)


def render(study: DpatStudy) -> str:
    """The report as one HTML page."""
    kicker = (
        f"{study.data}: {study.n_records:,} records, {study.n_features} features; {study.settings.halves} random "
        f"halves; seed {study.settings.seed}"
    )
    parts = {
        "What came out": tag("ul", *(tag("li", text) for text in findings(study))),
        "C4.5 and 0-DiffStructure (figures 5.3, 5.4)": _trees(study),
        "Admissible and not (figure 5.5)": join([_split(split) for split in study.splits]),
        "AUROC against ε (figures 5.6, 5.7)": _curves(study),
        "ROC at ε = 1": _roc(study),
        "How private is the 0-private structure": _deletions(study),
        "Exact loss of the leaf noise": _losses(study),
        "How it was measured": _method(study),
    }
    return document("Private trees", kicker, "A study: measured, not promised. For inside: exact trees", parts)


def _trees(study: DpatStudy) -> Html:
    pictures = [figure(Html(svg), f"{name}. Bars: share of the outcome.") for name, svg in study.pictures.items()]
    return tag("div", *pictures, class_="scroll", role="region", aria_label="Two trees", tabindex="0")


def _split(split: Split) -> Html:
    alt = altair()
    rows = [{"question": q, "gain": g, "low": low, "high": high} for q, g, low, high in split.questions]
    base = alt.Chart(data(alt, rows), width=420, height=24 * len(rows))
    names = [row["question"] for row in rows]
    y = alt.Y("question:N", sort=names, title=None, axis=alt.Axis(labelLimit=0))
    x = alt.X("low:Q", title="α-gain, α = 1")
    bars = base.mark_rule(strokeWidth=3, color="#b5892b").encode(y=y, x=x, x2=alt.X2("high:Q"))
    dots = base.mark_point(filled=True, size=50, color="#0b6470").encode(y=y, x=alt.X("gain:Q"))
    verdict = (
        "admissible, as its smallest gain beats" if split.admissible else "not admissible, as no gain surely beats"
    )
    label = f"Gains at {split.node} with their range over one-record changes"
    caption = (
        f"At {split.node}: {verdict} the largest of every other variable. Dots: gains of the best question about each "
        "variable. Bars: what one record more or less could make of them."
    )
    return figure(draw(bars + dots, label), caption)


def _curves(study: DpatStudy) -> Html:
    alt = altair()
    rows = [
        {"epsilon": e, "auroc": m, "model": c.model, "said": f"{c.model}: AUROC {m:.3f} at ε = {number(e)}"}
        for c in study.curves
        for e, m in zip(EPSILONS, c.mean, strict=True)
    ]
    base = alt.Chart(data(alt, rows), width=430, height=300).encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log"), axis=alt.Axis(values=list(EPSILONS), format="~g")),
        y=alt.Y("auroc:Q", title="AUROC", scale=alt.Scale(zero=False)),
        color=_coloured(alt, study),
    )
    points = base.mark_point(filled=True, size=35, opacity=1).encode(description=alt.Description("said:N"))
    lines = base.mark_line().encode(strokeDash=_dashed(alt, study))
    words = (
        "ε means different things: certified models and diffprivlib's pay once for the whole model (solid lines); the "
        f"published ones pay for every answer, and their guarantee is refuted (dashed). {study.absent}"
    )
    chart = draw(lines + points, "AUROC against epsilon, a line for each model; the table below has the numbers")
    return join([tag("p", words), figure(chart, "AUROC against ε, mean over the halves."), _curve_table(study)])


def _coloured(alt: Any, study: DpatStudy, shown: Iterable[str] | None = None) -> Any:
    """The same colour for a model in every picture."""
    palette = {c.model: colour for c, colour in zip(study.curves, cycle(_COLOURS), strict=False)}
    names = [name for name in palette if shown is None or name in shown]
    scale = alt.Scale(domain=names, range=[palette[name] for name in names])
    return alt.Color("model:N", scale=scale, legend=_legend(alt))


def _dashed(alt: Any, study: DpatStudy) -> Any:
    """Lines that tell by more than colour: a proved promise, a refuted one, none."""
    names = [c.model for c in study.curves]
    scale = alt.Scale(domain=names, range=[_DASHES[c.promise.rpartition(", ")[2]] for c in study.curves])
    return alt.StrokeDash("model:N", scale=scale, legend=_legend(alt))


def _legend(alt: Any) -> Any:
    return alt.Legend(orient="right", labelLimit=0, symbolType="stroke", symbolSize=300, title=None)


def _curve_table(study: DpatStudy) -> Html:
    rows: list[list[Child]] = [
        [
            join([c.model, tag("br"), _soft(f"pays {c.promise}" if c.promise != "none" else "no promise")]),
            *(join([f"{m:.3f}", tag("br"), _soft(f"± {s:.3f}")]) for m, s in zip(c.mean, c.deviation, strict=True)),
        ]
        for c in study.curves
    ]
    head = ("Model, and what ε pays for", *(f"ε = {number(e)}" for e in EPSILONS))
    caption = f"AUROC, mean and standard deviation over {study.settings.halves} halves"
    return rows_table(caption, head, rows, numeric=range(1, 1 + len(EPSILONS)))


def _soft(text: str) -> Html:
    return tag("span", text, class_="spread")


def _roc(study: DpatStudy) -> Html:
    alt = altair()
    rows = [
        {"false": f, "true": t, "model": name, "i": i}
        for name, points in study.roc.items()
        for i, (f, t) in enumerate(points)
    ]
    chart = alt.Chart(data(alt, rows), width=320, height=320).mark_line()
    chart = chart.encode(
        x=alt.X("false:Q", title="false positive rate"),
        y=alt.Y("true:Q", title="true positive rate"),
        order=alt.Order("i:Q"),
        color=_coloured(alt, study, study.roc),
    )
    words = "The higher a line, the more people with the outcome are found for the same number of false alarms."
    return join([tag("p", words), figure(draw(chart, "ROC curves at epsilon 1"), "One half of the records, ε = 1.")])


def _deletions(study: DpatStudy) -> Html:
    rows: list[list[Child]] = [
        [number(d.alpha), f"{d.changed:,} of {d.tried:,}", number(d.largest_move)] for d in study.deletions
    ]
    head = ("α", "Deletions that change the structure", "Largest move of an answer (noise scales, ε = 1)")
    words = (
        "A structure that is 0-private is the same for all neighbours, hence for all data sets: a constant. Each "
        "deletion that changes it is a counter-example, and one is enough; where none was found among those tried, "
        "that shows nothing."
    )
    return join([tag("p", words), rows_table("One-record deletions", head, rows, numeric=range(3))])


def _losses(study: DpatStudy) -> Html:
    rows: list[list[Child]] = [
        [f"{loss.n1} of {loss.n}", number(loss.inside), number(loss.at_ten), number(loss.at_hundred)]
        for loss in study.losses[:15]
    ]
    head = ("Leaf", "Answers in 0 to 1", "At ±10", "At ±100")
    words = "At ε = 1, against the worst one-record change of the leaf. A mechanism that keeps ε = 1 never exceeds 1."
    return join([tag("p", words), rows_table("Exact privacy loss of one answer", head, rows, numeric=range(1, 4))])


def _method(study: DpatStudy) -> Html:
    said = (
        "Numbers are cut at public bounds of the schema; the paper's thresholds come from the data's own maximum.",
        "φ and χ are corrected, cuts are cumulative, and the rivals of a question are those about other variables.",
        "Published answers carry Laplace noise on a grid of 2⁻²⁰, drawn by OpenDP; they are not clipped here.",
        f"Deletions: {study.deletions[0].tried} records, one at a time, structure compared question by question.",
        "The paper's second data set (MIMIC-II) is not at hand (access on request); give any file with a "
        "schema in its place.",
    )
    return tag("ul", *(tag("li", text) for text in said))
