"""The LUDIA study: its tables and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.aggregate import CAUTION
from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import number
from shoal.study.ludia import KINDS, METHODS, Error, LudiaStudy, Settings, run
from shoal.study.ludia_findings import findings
from shoal.study.ludia_inpatient import Effects, InpatientPart, LevelError
from shoal.study.page import colours, multiples, paragraph
from shoal.study.study import Study

__all__ = ["STUDY"]

_COLOURS = {
    "original": "#cfc9bd",
    "MP": "#857e70",
    "ER as published": "#d08a63",
    "ER": "#9a4a1f",
    "Ridge": "#b5892b",
    "LUDIA": "#0b6470",
    "LUDIA, standardised": "#6fb3bd",
    "CUDIA": "#6a5fa5",
}
_DRAWN = ("MP", "ER", "Ridge", "LUDIA", "LUDIA, standardised")
_TABLE_4_3 = (
    ("county", "MP", "0.648 (±0.75)", "0.976 (±3.28)"),
    ("county", "ER", "0.466 (±0.45)", "0.422 (±0.87)"),
    ("county", "LUDIA", "0.514 (±0.48)", "0.497 (±1.14)"),
    ("hospital", "MP", "0.609 (±0.69)", "0.851 (±2.92)"),
    ("hospital", "ER", "0.513 (±0.49)", "0.501 (±1.10)"),
    ("hospital", "LUDIA", "0.435 (±0.40)", "0.348 (±0.68)"),
    ("zip", "MP", "0.589 (±0.69)", "0.824 (±2.92)"),
    ("zip", "ER", "0.319 (±0.28)", "0.184 (±0.38)"),
    ("zip", "LUDIA", "0.289 (±0.26)", "0.152 (±0.34)"),
)


def _errors(study: LudiaStudy) -> list[dict[str, Any]]:
    """All errors on simulated tables, a row each."""
    words = study.to_dict()
    return [
        {"part": part, **{name: cell for name, cell in row.items() if name != "runs"}}
        for part in ("few", "many", "knob")
        for row in words[part]
    ]


def _heading(study: LudiaStudy) -> str:
    settings = study.settings
    return f"Chapter 4, sections 4.5.1 and 4.5.2; {settings.runs} tables of each kind and size; seed {settings.seed}"


def _figures(study: LudiaStudy) -> dict[str, Html]:
    return {
        "Error against points per group": _few(study),
        "Many groups of different case mix": _many(study),
        "Iterations are the tuning knob": _knob(study),
        "Three starts": _starts(study),
        **{f"Charges: {part.data}": _inpatient(part) for part in study.inpatient},
        "Table 4.3 as printed": rows_table(
            "The paper's numbers on its Texas file, which isn't at hand", ("Level", "Method", "MAE", "MSE"), _TABLE_4_3
        ),
    }


def _few(study: LudiaStudy) -> Html:
    words = (
        f"Figure 4.4: {study.settings.n_groups} groups, rows assigned at random. ER as published has no correction "
        "line; ER has the one that the paper gave to LUDIA only. The axis is logarithmic: with few groups ER swings "
        "wildly."
    )
    charts = multiples(_few_figure(study, kind) for kind in KINDS)
    return join([paragraph(words), charts, _error_table("Mean absolute error (standard error)", study.few)])


def _few_figure(study: LudiaStudy, kind: str) -> Html:
    alt = altair()
    rows = [{"size": e.size, "mae": e.mae, "line": e.method} for e in study.few if e.kind == kind]
    chart = (
        alt.Chart(data(alt, rows), width=215, height=170)
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title="points per group", scale=alt.Scale(type="log")),
            y=alt.Y("mae:Q", title="mean absolute error", scale=alt.Scale(type="log")),
            color=colours(_COLOURS, tuple(METHODS), columns=2),
        )
    )
    return figure(draw(chart, f"Error against points per group on {kind}, one line for each method"), f"{kind}.")


def _error_table(caption: str, errors: Sequence[Error]) -> Html:
    keys = list(dict.fromkeys((e.kind, e.n_groups, e.size) for e in errors))
    rows = [_error_row(key, [e for e in errors if (e.kind, e.n_groups, e.size) == key]) for key in keys]
    methods = list(dict.fromkeys(e.method for e in errors))
    head = ("Kind", "Groups", "Points", *methods)
    return rows_table(caption, head, rows, numeric=range(1, 3 + len(methods)))


def _error_row(key: tuple[str, int, int], errors: Sequence[Error]) -> list[Child]:
    least = min(e.mae for e in errors)
    cells: list[Child] = [key[0], f"{key[1]}", f"{key[2]}"]
    for e in errors:
        text = f"{number(e.mae)} ({number(e.standard_error)})"
        cells.append(tag("strong", text) if e.mae == least else text)
    return cells


def _many(study: LudiaStudy) -> Html:
    words = (
        "Groups whose mean covariates differ, as those of counties do: slopes can then be learnt from means. Not in "
        "the paper, which has five groups of the same mix."
    )
    return join([paragraph(words), _error_table("Mean absolute error (standard error)", study.many)])


def _knob(study: LudiaStudy) -> Html:
    alt = altair()
    rows = [{"i": int(e.method), "mae": e.mae, "line": f"{e.n_groups} groups"} for e in study.knob]
    chart = (
        alt.Chart(data(alt, rows), width=640, height=220)
        .mark_line(point=True)
        .encode(
            x=alt.X("i:Q", title="iterations", scale=alt.Scale(type="log")),
            y=alt.Y("mae:Q", title="mean absolute error", scale=alt.Scale(zero=False)),
            color=alt.Color("line:N", scale=alt.Scale(range=["#0b6470", "#9a4a1f"])),
        )
    )
    words = (
        "The objective (4.9) can be brought to 0 for any slope, so its minimum says nothing. Few iterations give group "
        "means, more move towards ecological regression, many overshoot."
    )
    return join([paragraph(words), figure(draw(chart, "LUDIA's error against its number of iterations"), "RE1.")])


def _starts(study: LudiaStudy) -> Html:
    alt = altair()
    figures = []
    for start in study.starts:
        rows = [{"x": x, "y": y} for x, y in zip(start.original, start.reconstructed, strict=True)]
        points = alt.Chart(data(alt, rows), width=200, height=170).mark_point(size=8, color="#0b6470")
        chart = points.encode(x=alt.X("x:Q", title="original"), y=alt.Y("y:Q", title="rebuilt"))
        ends = [{"x": min(start.original)}, {"x": max(start.original)}]
        line = (
            alt.Chart(data(alt, ends))
            .mark_line(strokeDash=[4, 3], color="#57544c")
            .encode(x=alt.X("x:Q"), y=alt.Y("x:Q"))
        )
        label = f"Rebuilt against original values, LUDIA from {start.start}"
        figures.append(figure(draw(chart + line, label), f"From {start.start}: error {number(start.mae)} over runs."))
    return join([paragraph("Figure 4.5, on one table of kind RE1."), multiples(figures)])


def _inpatient(part: InpatientPart) -> Html:
    head = ("Level", "Groups", "Method", "MAE", "MSE")
    rows = [_level_row(e) for e in (*part.levels, *part.stacked)]
    pieces = [rows_table(f"Table 4.3's layout, log charge, {part.n:,} stays", head, rows, numeric=(1, 3, 4))]
    pieces.append(_scatter(part))
    if part.daily:
        pieces += [_daily_figure(part), _effects_figures(part), _effects_table(part)]
    return join([*pieces, _lasso_figure(part), _lasso_table(part)])


def _scatter(part: InpatientPart) -> Html:
    alt = altair()
    ends = [{"x": min(part.scatter.original)}, {"x": max(part.scatter.original)}]
    figures = []
    for method in _DRAWN:
        rows = [{"x": x, "y": y} for x, y in zip(part.scatter.original, part.scatter.rebuilt[method], strict=True)]
        points = alt.Chart(data(alt, rows), width=200, height=170).mark_point(size=8, color=_COLOURS[method])
        x, y = (
            alt.X("x:Q", title="original", scale=alt.Scale(zero=False)),
            alt.Y("y:Q", title="rebuilt", scale=alt.Scale(zero=False)),
        )
        line = alt.Chart(data(alt, ends)).mark_line(strokeDash=[4, 3], color="#57544c")
        chart = points.encode(x=x, y=y) + line.encode(x=alt.X("x:Q"), y=alt.Y("x:Q"))
        figures.append(figure(draw(chart, f"Rebuilt against original log charges, {method}"), f"{method}."))
    words = f"Figure 4.6a: log charges of {len(part.scatter.original)} people rebuilt from hospital means."
    return join([paragraph(words, "Dashed: perfect."), multiples(figures)])


def _effects_figures(part: InpatientPart) -> Html:
    shown = [e for e in part.effects if e.method in ("original", *_DRAWN)]
    return join(
        [
            paragraph("Figure 4.7: one line for each hospital (at most 30), its intercept and the common slope."),
            multiples(figure(draw(_lines(e, shown), f"Fitted lines, {e.method}"), f"{e.method}.") for e in shown),
        ]
    )


def _lines(effects: Effects, shown: Sequence[Effects]) -> Any:
    """One method's lines, on the scale of all that are shown."""
    alt = altair()
    ends = [intercept + e.slope * x for e in shown for intercept in e.intercepts[:30] for x in (0.0, 3.5)]
    domain = alt.Scale(domain=[min(ends), max(ends)], nice=True)
    rows = [
        {"x": x, "y": intercept + effects.slope * x, "hospital": i}
        for i, intercept in enumerate(effects.intercepts[:30])
        for x in (0.0, 3.5)
    ]
    lines = alt.Chart(data(alt, rows), width=200, height=170).mark_line(strokeWidth=1, color=_COLOURS[effects.method])
    x, y = alt.X("x:Q", title="log days"), alt.Y("y:Q", title="log charge, centred", scale=domain)
    return lines.encode(x=x, y=y, detail=alt.Detail("hospital:N"))


def _lasso_figure(part: InpatientPart) -> Html:
    alt = altair()
    names = ("low", "q1", "median", "q3", "high")
    rows = [{"method": e.method, **dict(zip(names, e.quantiles, strict=True))} for e in part.lasso]
    base = alt.Chart(data(alt, rows), width=480, height=26 * len(rows))
    y = alt.Y("method:N", sort=[e.method for e in part.lasso], title=None, axis=alt.Axis(labelLimit=0))
    reach = base.mark_rule(color="#857e70").encode(y=y, x=alt.X("low:Q", title="absolute error"), x2=alt.X2("high:Q"))
    box = base.mark_bar(size=12, color="#6fb3bd").encode(y=y, x=alt.X("q1:Q"), x2=alt.X2("q3:Q"))
    middle = base.mark_tick(size=14, thickness=2, color="#0b6470").encode(y=y, x=alt.X("median:Q"))
    caption = "Figure 4.8: absolute errors on held-out people, 5 to 95%, quartiles and median, by the lasso's targets."
    return figure(draw(reach + box + middle, "Absolute errors of a lasso by its training targets"), caption)


def _lasso_table(part: InpatientPart) -> Html:
    rows = [
        [e.method, f"{number(e.mae)} (±{number(e.spread)})", f"{number(e.behind)} ± {number(e.half)}"]
        for e in part.lasso
    ]
    head = ("Targets", "MAE", "Behind the best rebuilt targets, paired")
    return rows_table("Figure 4.8: a lasso trained on rebuilt targets, on held-out people", head, rows)


def _level_row(e: LevelError) -> list[Child]:
    mae, mse = (f"{number(a)} (±{number(b)})" for a, b in ((e.mae, e.mae_spread), (e.mse, e.mse_spread)))
    return [e.level, f"{e.n_groups}", e.method, mae, mse]


def _daily_figure(part: InpatientPart) -> Html:
    alt = altair()
    shown = ("original", "MP", "ER", "Ridge", "LUDIA")
    rows = [
        {"low": low, "share": share, "line": d.method}
        for d in part.daily
        if d.method in shown
        for low, share in zip(part.bins, d.shares, strict=False)
    ]
    lines = alt.Chart(data(alt, rows), width=640, height=200).mark_line(interpolate="step-after")
    chart = lines.encode(
        x=alt.X("low:Q", title="dollars a day", axis=alt.Axis(format=",d")),
        y=alt.Y("share:Q", title="share of stays", axis=alt.Axis(format="~%")),
        color=colours(_COLOURS, shown, columns=5),
    )
    means = ", ".join(f"{d.method} {d.mean:,.0f}" for d in part.daily)
    caption = f"Figure 4.6b: daily charges rebuilt from hospital means. Average daily charge: {means}."
    return figure(draw(chart, "Histogram of daily charges by method"), caption)


def _effects_table(part: InpatientPart) -> Html:
    head = ("Values", "Slope on log days", "MSE of intercepts", "Correlation of intercepts")
    rows = [[e.method, number(e.slope), number(e.effects_mse), number(e.effects_correlation)] for e in part.effects]
    return rows_table("Figure 4.7: hospital intercepts fitted to rebuilt charges", head, rows, numeric=(1, 2, 3))


def _measured(study: LudiaStudy) -> tuple[str, ...]:
    return (
        "Every method has an intercept. y is centred and divided by a guess of its spread from the known means; "
        "LUDIA's covariates are as given, or standardised where said, and it makes 50 iterations.",
        "v_y is updated with W = (AAᵀ)⁻¹; Algorithm 2 prints AAᵀ there, which raises the objective.",
        "Random intercepts fitted afterwards (4.4.1) are not shown: they are the correction line itself.",
        "Standard errors are over tables; the ± of charges is the spread over people, as in the paper.",
        CAUTION,
    )


STUDY = Study(
    title="LUDIA study",
    examples=(
        "shoal study ludia --out study",
        "shoal study ludia --runs 50 --out study",
        "shoal study ludia --data discharges.csv --value charge --by county --by hospital --days los --out study",
    ),
    counted="tables",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"errors.csv": _errors, "results.json": lambda study: {"findings": findings(study), **study.to_dict()}},
)
