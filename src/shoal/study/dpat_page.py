"""The study of private trees: what its numbers say, its tables and its figures."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

from shoal.report.document import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import number
from shoal.study.dpat import EPSILONS, Deletions, DpatStudy, Settings, Split, run
from shoal.study.page import paragraph
from shoal.study.study import BADGE, Study

__all__ = ["STUDY", "findings"]

_DASHES = {"proved": [1, 0], "refuted": [6, 3], "none": [2, 3]}
_COLOURS = ("#0b6470", "#3f7d3a", "#b5892b", "#9a4a1f", "#6a5fa5", "#857e70", "#57544c", "#c25b78", "#4a7fb5")


def findings(study: DpatStudy) -> list[str]:
    """The sentences."""
    return [
        _certified(study),
        _queries(study),
        *_said_deletions(study),
        _said_losses(study),
        _said_structure(study),
        _said_split(study),
    ]


def _said_structure(study: DpatStudy) -> str:
    lines = {name: text.count("risk ") for name, text in study.trees.items()}
    plain, stable = lines.values()
    return (
        f"C4.5 has {plain} leaves at depth 4; the 0-DiffStructure stops at {stable}, where no question beats all "
        "others by more than single records can change."
    )


def _said_deletions(study: DpatStudy) -> list[str]:
    return [_changed(found) for found in study.deletions if found.changed] + _unchanged(study)


def _changed(found: Deletions) -> str:
    return (
        f"α = {number(found.alpha)}: {found.changed} of {found.tried} one-record deletions change the structure that "
        f"is said to be 0-private; one answer moves by up to {number(found.largest_move)} of its noise scales (ε = 1)."
    )


def _unchanged(study: DpatStudy) -> list[str]:
    """Said as what it is: no counter-example among those tried."""
    orders = [number(found.alpha) for found in study.deletions if not found.changed]
    if not orders:
        return []
    tried = study.deletions[0].tried
    return [f"α = {' and '.join(orders)}: none of {tried} one-record deletions changed the structure; others may."]


def _said_losses(study: DpatStudy) -> str:
    worst = max(study.losses, key=lambda loss: loss.at_hundred)
    return (
        f"Noise scaled to the leaf: at ε = 1 the exact privacy loss of an answer reaches {number(worst.inside)} for "
        f"answers between 0 and 1, {number(worst.at_ten)} at ±10 and {number(worst.at_hundred)} at ±100: it has no "
        "bound."
    )


def _queries(study: DpatStudy) -> str:
    at = EPSILONS.index(1.0)
    each, all_ = study.curve("EDPaT").mean[at], study.curve("EDPaT, ε for all queries").mean[at]
    return (
        f"At ε = 1 a query the published forest has an AUROC of {each:.3f}; if ε = 1 has to cover one query for each "
        f"person of the test half, {all_:.3f}."
    )


def _certified(study: DpatStudy) -> str:
    ours, plain = study.curve("CertifiedForest"), study.curve("C4.5, no privacy")
    values = ", ".join(f"{m:.3f} at {number(e)}" for e, m in zip(EPSILONS, ours.mean, strict=True))
    return (
        f"AUROC of the certified forest, whose ε is proved and covers the model and all its answers: {values}. C4.5 "
        f"without privacy has {plain.mean[0]:.3f}."
    )


def _said_split(study: DpatStudy) -> str:
    words = [f"{split.node}: {'admissible' if split.admissible else 'not admissible'}" for split in study.splits]
    return "Splits shown, " + "; ".join(words) + "."


def _heading(study: DpatStudy) -> str:
    return (
        f"{study.data}: {study.n_records:,} records, {study.n_features} features; {study.settings.halves} random "
        f"halves; seed {study.settings.seed}"
    )


def _figures(study: DpatStudy) -> dict[str, Html]:
    return {
        "C4.5 and 0-DiffStructure (figures 5.3, 5.4)": _trees(study),
        "Admissible and not (figure 5.5)": join([_split(split) for split in study.splits]),
        "AUROC against ε (figures 5.6, 5.7)": _curves(study),
        "ROC at ε = 1": _roc(study),
        "How private is the 0-private structure": _deletions(study),
        "Exact loss of the leaf noise": _losses(study),
    }


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
    return join([paragraph(words), figure(chart, "AUROC against ε, mean over the halves."), _curve_table(study)])


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
    return join([paragraph(words), figure(draw(chart, "ROC curves at epsilon 1"), "One half of the records, ε = 1.")])


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
    return join([paragraph(words), rows_table("One-record deletions", head, rows, numeric=range(3))])


def _losses(study: DpatStudy) -> Html:
    rows: list[list[Child]] = [
        [f"{loss.n1} of {loss.n}", number(loss.inside), number(loss.at_ten), number(loss.at_hundred)]
        for loss in study.losses[:15]
    ]
    head = ("Leaf", "Answers in 0 to 1", "At ±10", "At ±100")
    words = "At ε = 1, against the worst one-record change of the leaf. A mechanism that keeps ε = 1 never exceeds 1."
    return join([paragraph(words), rows_table("Exact privacy loss of one answer", head, rows, numeric=range(1, 4))])


def _measured(study: DpatStudy) -> tuple[str, ...]:
    return (
        "Numbers are cut at public bounds of the schema; the paper's thresholds come from the data's own maximum.",
        "φ and χ are corrected, cuts are cumulative, and the rivals of a question are those about other variables.",
        "Published answers carry Laplace noise on a grid of 2⁻²⁰, drawn by OpenDP; they are not clipped here.",
        f"Deletions: {study.deletions[0].tried} records, one at a time, structure compared question by question.",
        "The paper's second data set (MIMIC-II) is not at hand (access on request); give any file with a "
        "schema in its place.",
    )


STUDY = Study(
    title="Private trees",
    examples=(
        "shoal study dpat --out study",
        "shoal study dpat --data pima_diabetes.csv --halves 30 --out study",
        "shoal study dpat --data sepsis.csv --schema sepsis.toml --target shock --out study",
    ),
    counted="steps",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"study.json": DpatStudy.to_dict},
    badge=f"{BADGE}. For inside: exact trees",
)
