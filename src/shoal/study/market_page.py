"""The market-risk study: the numbers it was to reach, its tables and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table
from shoal.report.numbers import number, percent
from shoal.study.market_findings import checks, findings, small_risks
from shoal.study.market_risk import MarketRiskStudy, Settings, run, summary
from shoal.study.market_split import CODINGS, MASKS, SHIFTS
from shoal.study.page import multiples, paragraph, rule
from shoal.study.study import Study

__all__ = ["STUDY"]

Curves: TypeAlias = Sequence[dict[str, Any]]

_COLOURS = {"centroid": "#9a4a1f", "resample": "#0b6470", "gaussian": "#6a5fa5"}
_SHIFT_COLOURS = {"none": "#857e70", "logistic": "#b5892b", "ratio": "#0b6470"}


def _heading(study: MarketRiskStudy) -> str:
    settings = study.settings
    size = f"{settings.splits} half splits of {study.n_records:,} records"
    return f"{size}, {len(study.regions)} regions, seed {settings.seed}"


def _figures(study: MarketRiskStudy) -> dict[str, Html]:
    curves = study.curves()
    return {
        "Market shift without protection": _tables(study),
        "Protection without market shift": _no_shift(curves),
        "Protection and market shift": _both(study, curves),
        "The farthest region alone": _farthest(study),
        "What happens at large k": _decay(study),
        "Re-identification": _risks(study),
    }


def _tables(study: MarketRiskStudy) -> Html:
    words = (
        "R² and relative bias (predicted minus true, in percent, with standard error) for each region as new market, "
        "and the histogram intersection of the weighted members with the true new enrolment. Tables 1 and 2."
    )
    return join([paragraph(words), *(_table(study, coding) for coding in CODINGS)])


def _table(study: MarketRiskStudy, coding: str) -> Html:
    head = ("Region", *(f"{what}, {shift}" for what in ("R²", "bias", "intersection") for shift in SHIFTS))
    rows = [_region_row(row) for row in study.table(coding)]
    means: list[Child] = ["mean of |bias|", "", "", ""]
    means += [number(_mean_absolute(study, shift, coding)) for shift in SHIFTS] + ["", "", ""]
    return rows_table(f"{coding.capitalize()}-coded model", head, [*rows, means], numeric=range(1, 10))


def _region_row(row: dict[str, Any]) -> list[Child]:
    return [
        row["region"],
        *(number(row[f"r_squared_{shift}"]) for shift in SHIFTS),
        *(_with_error(row[f"bias_{shift}"], row[f"bias_{shift}_se"]) for shift in SHIFTS),
        *(f"{row[f'intersection_{shift}']:.3f}" for shift in SHIFTS),
    ]


def _mean_absolute(study: MarketRiskStudy, shift: str, coding: str) -> float:
    biases = study.values("bias", "", 1, shift, coding)[:, 1:].mean(axis=0)
    return float(abs(biases).mean())


def _no_shift(curves: Curves) -> Html:
    words = (
        "Existing and new market alike, no weights: bias, R² and histogram intersection against k. Figure 6 of the "
        "paper. The dashed line is the unprotected model."
    )
    panels = [
        _figure(curves, "no_shift_bias", "relative bias (%)", "none", coding, clip=(-40.0, 40.0)) for coding in CODINGS
    ]
    panels += [_figure(curves, "no_shift_r_squared", "R²", "none", coding, clip=(-0.05, 0.05)) for coding in CODINGS]
    panels += [_figure(curves, "no_shift_intersection", "histogram intersection", "none", "dummy", clip=(0.0, 1.0))]
    return join([paragraph(words), multiples(panels)])


def _both(study: MarketRiskStudy, curves: Curves) -> Html:
    words = (
        "Paired difference of the relative bias from the unprotected model (points, mean over the regions), R² and "
        "histogram intersection against k, by shift: figures 7 to 10 of the paper, averaged over all regions."
    )
    panels = []
    for mask in MASKS:
        for coding in CODINGS:
            panels.append(
                _mask_figure(curves, mask, "bias_difference", "paired bias difference", coding, (-20.0, 20.0))
            )
            panels.append(_mask_figure(curves, mask, "r_squared", "R²", coding, (-0.05, 0.05)))
        panels.append(_mask_figure(curves, mask, "intersection", "histogram intersection", "dummy", (0.0, 1.0)))
    return join([paragraph(words), multiples(panels), _difference_table(study, curves)])


def _farthest(study: MarketRiskStudy) -> Html:
    r = int(study.baseline_overlap.argmin()) + 1
    words = (
        "Figures 7 to 9 as drawn in the paper, which takes one rating area: here the region that overlaps least with "
        f"the baseline, {study.regions[r - 1]} ({study.baseline_overlap[r - 1]:.2f}). Relative bias and R² against k, "
        "by shift, down to the unprotected model at k = 1; a line that leaves the picture is drawn at its edge."
    )
    clips = {"bias": (-40.0, 40.0), "r_squared": (-0.05, 0.05)}
    panels = [
        _region_figure(study, r, mask, what, coding, clips[what])
        for mask in MASKS
        for coding in CODINGS
        for what in ("bias", "r_squared")
    ]
    return join([paragraph(words), multiples(panels)])


def _region_figure(
    study: MarketRiskStudy, r: int, mask: str, what: str, coding: str, clip: tuple[float, float]
) -> Html:
    points = (
        (shift, k, float(study.values(what, mask, k, shift, coding)[:, r].mean()))
        for shift in SHIFTS
        for k in (1, *study.ks)
    )
    title = {"bias": "relative bias (%)", "r_squared": "R²"}[what]
    return _lines(_clipped(points, clip), None, title, f"{mask}: {title}, {coding} coding, one region", _SHIFT_COLOURS)


def _difference_table(study: MarketRiskStudy, curves: Curves) -> Html:
    head = ("Mask and k", *(f"{coding}, {what}" for coding in CODINGS for what in ("mean", "worst region", "R²")))
    rows: list[list[Child]] = []
    by_key = {(row["mask"], row["k"], row["shift"], row["coding"]): row for row in curves}
    for mask in MASKS:
        for k in study.ks:
            row: list[Child] = [f"{mask}, k = {k:,}"]
            for coding in CODINGS:
                found = by_key[mask, k, "ratio", coding]
                row += [
                    _with_error(found["bias_difference"], found["bias_difference_se"]),
                    _with_error(found["worst_difference"], found["worst_difference_se"]),
                    number(found["r_squared"]),
                ]
            rows.append(row)
    caption = "Paired bias differences in points, with standard errors, and R²; ratio weights"
    return rows_table(caption, head, rows, numeric=range(1, 7))


def _decay(study: MarketRiskStudy) -> Html:
    large = study.ks[-1]
    n_groups = study.n_records // 2 // large
    words = (
        "The masks of the dither family keep the distribution of the covariates, and only that. Inside a group a cost "
        "is handed to any of the group's covariates, so what is left of their link is the one between groups. "
        f"At k = {large:,} there are {n_groups} groups, each wide in every column: slopes drift, in either direction, "
        "and R² falls. In the unshifted market the drifts cancel on average; a market whose mean of a column differs "
        "by Δ standard deviations gets the change of that slope times Δ of bias. So bias grows with k and with the "
        "distance of the market: a release for a distant market needs a small k."
    )
    head = ("Mask and k", *study.slope_names)
    rows: list[list[Child]] = [["unprotected", *(number(row["raw"]) for row in study.slope_changes("resample", large))]]
    for mask in MASKS:
        for k in sorted({study.ks[0], study.ks[len(study.ks) // 2], large}):
            cells = [_with_error(row["masked"], row["change_se"]) for row in study.slope_changes(mask, k)]
            rows.append([f"{mask}, k = {k:,}", *cells])
    caption = "Slopes of the numeric model, cost per standard deviation of a column (± error of the paired change)"
    regions = _region_differences(study, large)
    return join([paragraph(words), rows_table(caption, head, rows, numeric=range(1, len(head))), regions])


def _region_differences(study: MarketRiskStudy, k: int) -> Html:
    """Each region at the largest k: nothing averaged away."""
    head = ("Region", "Overlap with baseline", "Cost gap to members (%)", *MASKS)
    rows: list[list[Child]] = []
    for r, name in enumerate(study.regions, 1):
        changes = [summary(study.difference("bias", mask, k, "ratio", "dummy")[:, r]) for mask in MASKS]
        row: list[Child] = [name, f"{study.baseline_overlap[r - 1]:.2f}", number(float(study.gap[:, r].mean()))]
        rows.append([*row, *(_with_error(*change) for change in changes)])
    caption = f"Paired bias differences at k = {k:,} by region, dummy coding, ratio weights"
    return rows_table(caption, head, rows, numeric=range(1, 6))


def _risks(study: MarketRiskStudy) -> Html:
    words = (
        "Chance that matching on the quasi-identifiers finds a member's record, by the group formula, averaged over "
        f"{study.settings.draws} masked files. Figures 3 and 4: number of equivalence classes of the original by "
        "chance, and by the difference of resample and centroid (3d, 4d); Figure 5: mean over the members. No chance "
        "exceeds 1/k."
    )
    panels = [draw_one(study, k) for k in small_risks(study) for draw_one in (_histogram, _differences)]
    panels.append(_mean_risks(study))
    head = ("k", "1/k", *(f"mean, {mask}" for mask in MASKS), *(f"largest, {mask}" for mask in MASKS))
    rows: list[list[Child]] = [
        [
            f"{risk.k:,}",
            percent(1 / risk.k),
            *(percent(risk.mean[mask]) for mask in MASKS),
            *(percent(risk.largest[mask]) for mask in MASKS),
        ]
        for risk in study.risks
    ]
    table = rows_table("Chance of re-identification", head, rows, numeric=range(8))
    return join([paragraph(words), *panels, table])


def _differences(study: MarketRiskStudy, k: int) -> Html:
    alt = altair()
    edges, counts = study.risks[study.ks.index(k)].difference_histogram("resample")
    rows = [{"bin": f"{low:+.3g}", "n": n} for low, n in zip(edges, counts, strict=True)]
    chart = (
        alt.Chart(data(alt, rows), width=300, height=110)
        .mark_bar(color="#0b6470")
        .encode(
            x=alt.X("bin:N", sort=[row["bin"] for row in rows], title="resample less centroid, from"),
            y=alt.Y("n:Q", title="classes"),
        )
    )
    label = f"Histogram over equivalence classes of the chance under resample less that under centroid at k = {k}"
    return figure(
        draw(chart, label), f"Difference of the chances, class by class, k = {k}: below 0 resample is better."
    )


def _mean_risks(study: MarketRiskStudy) -> Html:
    rows = [{"line": mask, "k": risk.k, "value": risk.mean[mask]} for risk in study.risks for mask in MASKS]
    return _lines(rows, None, "mean chance", "mean chance of re-identification against k", _COLOURS)


def _histogram(study: MarketRiskStudy, k: int) -> Html:
    alt = altair()
    risk = study.risks[study.ks.index(k)]
    rows = [
        {"mask": mask, "bin": f"{i / 10 / k:.3g}", "n": n} for mask in MASKS for i, n in enumerate(risk.histogram(mask))
    ]
    order = [row["bin"] for row in rows[:10]]
    chart = (
        alt.Chart(data(alt, rows), width=190, height=110)
        .mark_bar(color="#0b6470")
        .encode(
            x=alt.X("bin:N", sort=order, title="chance from", axis=alt.Axis(labelAngle=-60)),
            y=alt.Y("n:Q", title="classes"),
            column=alt.Column("mask:N", sort=list(MASKS), title=None),
        )
    )
    label = f"Histograms of the chance of re-identification over equivalence classes at k = {k}"
    return figure(draw(chart, label), f"Equivalence classes by chance of re-identification, k = {k}.")


def _figure(curves: Curves, key: str, title: str, shift: str, coding: str, clip: tuple[float, float]) -> Html:
    own = [row for row in curves if row["shift"] == shift and row["coding"] == coding]
    rows = _clipped(((row["mask"], row["k"], row[key]) for row in own if row["k"] > 1), clip)
    raw = next(row[key] for row in own if row["k"] == 1)
    return _lines(rows, raw, title, f"{title}, {coding} coding", _COLOURS)


def _mask_figure(curves: Curves, mask: str, key: str, title: str, coding: str, clip: tuple[float, float]) -> Html:
    own = [row for row in curves if row["mask"] == mask and row["coding"] == coding]
    rows = _clipped(((row["shift"], row["k"], row[key]) for row in own), clip)
    return _lines(rows, None, title, f"{mask}: {title}, {coding} coding", _SHIFT_COLOURS)


def _clipped(points: Iterable[tuple[str, int, float]], clip: tuple[float, float]) -> list[dict[str, Any]]:
    """Points of a line; what lies outside `clip` is drawn at its edge (the tables have the numbers)."""
    return [{"line": line, "k": k, "value": min(max(value, clip[0]), clip[1])} for line, k, value in points]


def _lines(rows: list[dict[str, Any]], raw: float | None, title: str, caption: str, colours: dict[str, str]) -> Html:
    alt = altair()
    names = [name for name in colours if any(row["line"] == name for row in rows)]
    scale = alt.Scale(domain=names, range=[colours[name] for name in names])
    x = alt.X("k:Q", scale=alt.Scale(type="log"), title="k", axis=alt.Axis(values=[1, 10, 100, 1000], format="~s"))
    base = alt.Chart(data(alt, rows), width=210, height=140)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    chart = base.mark_line(point=True).encode(x=x, y=y, color=alt.Color("line:N", scale=scale))
    if raw is not None:
        chart = chart + rule(raw)
    return figure(draw(chart, caption), f"{caption[0].upper()}{caption[1:]}.")


def _with_error(value: float, error: float) -> str:
    return number(value) if math.isnan(error) else f"{number(value)} ± {number(error)}"


def _measured(study: MarketRiskStudy) -> list[str]:
    return [
        "Differences are taken from the unprotected model in the same split: the error of a bias itself is nearly all "
        "common to the methods.",
        "Splits come in pairs that exchange training and test half; standard errors count pairs.",
    ]


def _results(study: MarketRiskStudy) -> dict[str, Any]:
    return {**study.to_dict(), "checks": [asdict(c) for c in checks(study)]}


STUDY = Study(
    title="Market-risk study",
    examples=(
        "shoal study market-risk --out study",
        "shoal study market-risk --splits 200 --out study",
        "shoal study market-risk --table meps.csv --schema meps.toml --regions acs.csv --region-column area "
        "--out study",
    ),
    counted="splits",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"results.json": _results, "curves.csv": MarketRiskStudy.curves},
)
