"""The study of private trees: what its numbers say, its tables and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any

from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import listed, number
from shoal.study.dpat import EPSILONS, Deletions, DpatStudy, Settings, Split, run
from shoal.study.dpat_attacks import Attack
from shoal.study.page import paragraph
from shoal.study.paired import Paired, paired
from shoal.study.study import BADGE, Study

__all__ = ["STUDY", "findings"]

_DASHES = {"proved": [1, 0], "refuted": [6, 3], "none": [2, 3]}
_COLOURS = ("#0b6470", "#3f7d3a", "#b5892b", "#9a4a1f", "#6a5fa5", "#857e70", "#57544c", "#c25b78", "#4a7fb5")


def findings(study: DpatStudy) -> list[str]:
    """The sentences."""
    return [
        _certified(study),
        *_paper_contrasts(study),
        _queries(study),
        *_said_deletions(study),
        _said_losses(study),
        _said_structure(study),
        _said_split(study),
        *_said_attacks(study),
        _said_alphas(study),
    ]


def _said_attacks(study: DpatStudy) -> list[str]:
    return [
        f"Bob, who saw a score and knows all but '{study.hidden}', finds its range in {_shares(study.on_value)}; "
        f"taking the most frequent range is right in {study.on_value[0].chance:.0%}. A private model does not help "
        "Alice: she is not in its data.",
        f"Bob, who knows all records but Dave's outcome, finds it in {_shares(study.on_outcome)}; a coin in 50%.",
    ]


def _shares(attacks: tuple[Attack, ...]) -> str:
    return listed([f"{a.success:.0%} ± {a.half:.0%} ({a.model}, {a.shown})" for a in attacks])


def _said_alphas(study: DpatStudy) -> str:
    n = sum(len(equal) for equal in study.alphas.values())
    return f"{n} values of α grow {len(study.alphas)} different structures, kept by α = {listed(list(study.alphas))}."


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


def _paper_contrasts(study: DpatStudy) -> Iterator[str]:
    """What the paper reads off figure 5.6, half by half: who is ahead, by how much."""
    for first, second, printed in _CONTRASTS:
        ours, theirs = (study.curve(name).at(1.0) for name in (first, second))
        here, elsewhere = paired(ours, theirs), paired(ours, theirs, shared=1.0)
        yield (
            f"At ε = 1 {first} has an AUROC of {_mean(ours):.3f} and {second} of {_mean(theirs):.3f}, less in "
            f"{here.lower} of {here.n} halves; difference {number(here.difference)} ± {number(here.half)} over "
            f"halves of this file, ± {elsewhere.half:.3f} for other files like it: "
            f"{_verdict(here, elsewhere, first, second)}. {printed}"
        )


def _verdict(here: Paired, elsewhere: Paired, first: str, second: str) -> str:
    ahead = first if here.difference > 0 else second
    if elsewhere.clear:
        return f"{ahead} is ahead"
    return f"{ahead} is ahead on this file, not clearly beyond it" if here.clear else "no clear difference"


_COMPARABLE = "The paper calls EDPaT comparable to C4.5 above ε = 1."
_CONTRASTS = (
    ("EDPaT", "C4.5, no privacy", _COMPARABLE),
    ("EDPaT, 3 cuts", "C4.5, 3 cuts, no privacy", f"{_COMPARABLE} Cuts are ours: it doesn't tell how many it had."),
    ("EDPaT", "DPaT", "The paper has EDPaT above DPaT at every ε."),
    ("CertifiedForest", "EDPaT", "The first pays its ε once for the model, the second for every answer."),
)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


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
        "The chapter's two attacks, carried out (cases 5.0.1, 5.0.2)": _attacks(study),
        "Which α give trees that differ": _alphas(study),
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


def _attacks(study: DpatStudy) -> Html:
    words = (
        f"Case 5.0.1: Bob saw Alice's score, knows her values but '{study.hidden}', and asks about every value that "
        "she may have. No promise about training records speaks of Alice. The table shows what coarser numbers are "
        "worth; what helps is not to show the score to others."
    )
    more = (
        "Case 5.0.2: Bob knows all training records but Dave's outcome, fits the model both ways and asks for Dave. "
        "The bound e^{2ε} / (1 + e^{2ε}) holds for every attack on a certified model; the success is that of this one."
    )
    head = ("Model", "Score shown", "People", "Bob is right", "By chance", "At most")
    return join(
        [
            paragraph(words),
            rows_table(f"Bob finds the range of '{study.hidden}'", head[:5], _attack_rows(study.on_value)[0]),
            paragraph(more),
            rows_table("Bob finds Dave's outcome", head, _attack_rows(study.on_outcome)[1]),
        ]
    )


def _attack_rows(attacks: tuple[Attack, ...]) -> tuple[list[list[Child]], list[list[Child]]]:
    """Rows without and with the bound."""
    rows: list[list[Child]] = [
        [a.model, a.shown, f"{a.n}", f"{a.success:.0%} ± {a.half:.0%}", f"{a.chance:.0%}"] for a in attacks
    ]
    bounds = ["no bound" if a.bound is None else f"{a.bound:.0%}" for a in attacks]
    return rows, [[*row, bound] for row, bound in zip(rows, bounds, strict=True)]


def _alphas(study: DpatStudy) -> Html:
    words = (
        "Trees of one structure say the same thing twice, so a forest gains nothing by the second. Reading this off "
        "the data is a look at it that no ε covers."
    )
    rows: list[list[Child]] = [[kept, ", ".join(number(a) for a in equal)] for kept, equal in study.alphas.items()]
    return join([paragraph(words), rows_table("Structures by α", ("α", "The same structure"), rows)])


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
        "Differences have Student's paired intervals at 95%; for other files they are widened, because random halves "
        "of one file share its records (Nadeau and Bengio 2003).",
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
