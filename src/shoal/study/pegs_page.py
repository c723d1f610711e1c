"""The PeGS study on paper: a report, and its numbers as JSON."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from shoal.files import write_text
from shoal.report.document import altair, data, document, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import number
from shoal.study.folder import check_study_folder
from shoal.study.pegs import HISTOGRAMS, ROW_METHODS, TABLE_METHODS, PegsStudy, Point
from shoal.study.pegs_findings import findings

__all__ = ["check_folder", "render", "write"]

_FILES = ("report.html", "study.json")
_COLOURS = {
    "PeGS": "#9a4a1f",
    "PeGS with reset": "#0b6470",
    "imputation": "#857e70",
    "PeGS, realistic starts": "#d08a5c",
    "PeGS with reset, realistic starts": "#6fb0b8",
    "graph, δ = 1e-9": "#123f7a",
    "graph": "#5b87c5",
    "pairs, δ = 1e-9": "#0b6470",
    "pairs": "#3f7d3a",
    "tree": "#b5892b",
    "conditionals": "#6a5fa5",
    "margins only": "#857e70",
    "PeGS by row": "#9a4a1f",
    "original": "#57544c",
    "reset, blocks of 10": "#0b6470",
    "reset, blocks of 100": "#b5892b",
}
_TERMS = ("intercept", "age", "severity", "surgical", "stay")


check_folder = partial(check_study_folder, _FILES)
"""Refuse a folder that holds anything but an older study of this kind that may be replaced."""


def write(study: PegsStudy, out: Path) -> None:
    """Write report.html and study.json to the folder `out`."""
    page = render(study)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "study.json", json.dumps(study.to_dict(), ensure_ascii=False, indent=1))
    write_text(out / "report.html", page)


def render(study: PegsStudy) -> str:
    """The report as one HTML page."""
    kicker = (
        f"{study.data}: {study.n_records:,} records, {len(study.sizes)} columns; files of {study.settings.rows:,} "
        f"rows, "
        f"{study.settings.draws} for each number; seed {study.settings.seed}"
    )
    parts = {
        "What came out": tag("ul", *(tag("li", text) for text in findings(study))),
        "By row: what each row costs, and the file": _rows_table(study),
        "Histograms (figure 3.5)": _histograms(study),
        "Margins and conditionals (figures 3.6, 3.7)": _maps(
            study, (("marginal_mse", "Margins, mean squared"), ("marginal_mae", "Margins, mean absolute"),
                    ("age_mae", "Given age, mean absolute"), ("zip_mae", "Given ZIP, mean absolute")), log=True
        ),
        "Rank correlations (figures 3.8, 3.9)": _maps(
            study, (("marginal_tau", "Margins, tau-b"), ("marginal_rho", "Margins, Spearman"),
                    ("age_rho", "Given age, Spearman"), ("zip_rho", "Given ZIP, Spearman"))
        ),
        "Regression (figures 3.10, 3.11)": join([_maps(
            study, (("linear_distance", "Linear, Σ |Δβ/β|"), ("linear_errors", "Linear, in standard errors"),
                    ("logistic_distance", "Logistic, Σ |Δβ/β|"), ("logistic_errors", "Logistic, in standard errors")),
                    log=True
        ), _coefficients(study)]),
        "Intruder (figure 3.12)": _maps(
            study, (("category_missed", "Category missed"), ("charge_error", "Error of charge (thousand $)"),
                    ("unique_share", "Unique on age, sex, ZIP"))
        ),
        "At equal ε for the data set": _equal(study),
        "How it was measured": _method(study),
    }  # fmt: skip
    return document("PeGS study", kicker, "A study: measured, not promised", parts)


def _rows_table(study: PegsStudy) -> Html:
    head = (
        "Method",
        "ε per row",
        "ε of the file",
        "Margins",
        "Given age",
        "Two-way TV",
        "Linear, s.e.",
        "Category missed",
        "Unique",
    )
    rows = [_row(point) for method in ROW_METHODS for point in study.curve(method)]
    rows += [_row(study.resample), _row(study.uniform)]
    caption = (
        "Mean absolute differences of margins and conditionals; TV: mean total variation over all pairs of columns"
    )
    return rows_table(caption, head, rows, numeric=range(1, 9))


def _row(p: Point) -> list[Child]:
    return [
        p.method,
        "–" if p.epsilon_per_row is None else number(p.epsilon_per_row),
        "–" if p.epsilon_per_data_set is None else f"{p.epsilon_per_data_set:,.4g}",
        f"{p.marginal_mae:.4f}",
        f"{p.age_mae:.4f}",
        f"{p.pair_variation:.3f}",
        f"{p.linear_errors:.1f}",
        f"{p.category_missed:.0%}",
        f"{p.unique_share:.0%}",
    ]


def _histograms(study: PegsStudy) -> Html:
    words = (
        "Original and synthetic margins. PeGS pays ε = 10 for each row; with reset the same ε = 10 pays for a "
        "whole block. The "
        "longer the block, the more of its building blocks were visited and reset, and the flatter the margin."
    )
    return join([tag("p", words), tag("div", *(_histogram(study, name) for name in HISTOGRAMS), class_="multiples")])


def _histogram(study: PegsStudy, name: str) -> Html:
    alt = altair()
    rows = [
        {"cell": cell, "share": share, "line": method}
        for method, values in study.histograms[name].items()
        for cell, share in enumerate(values)
    ]
    chart = alt.Chart(data(alt, rows), width=230, height=150).mark_line(interpolate="step-after")
    chart = chart.encode(
        x=alt.X("cell:Q", title=f"level of {name}", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("share:Q", title="share"),
        color=_colour(alt, list(study.histograms[name]), 2),
    )
    return figure(draw(chart, f"Margins of {name}: original and three synthetic files"), f"{name}.")


def _maps(study: PegsStudy, measures: tuple[tuple[str, str], ...], log: bool = False) -> Html:
    return tag("div", *(_map(study, key, title, log) for key, title in measures), class_="multiples")


def _map(study: PegsStudy, key: str, title: str, log: bool) -> Html:
    alt = altair()
    rows = [
        {"epsilon": p.epsilon_per_row, "value": getattr(p, key), "line": method}
        for method in ROW_METHODS
        for p in study.curve(method)
    ]
    return _curves(alt, rows, title, list(ROW_METHODS), "ε per row", getattr(study.resample, key), log)


def _curves(
    alt: Any, rows: list[dict[str, Any]], title: str, lines: list[str], across: str, floor: float, log: bool
) -> Html:
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
    base = alt.Chart(data(alt, rows), width=230, height=160).mark_line(point=True)
    chart = base.encode(
        x=alt.X(
            "epsilon:Q", title=across, scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.1, 1, 10, 100], format="~g")
        ),
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=4, format="~g")),
        color=_colour(alt, lines, 2),
    )
    rule = (
        alt.Chart(data(alt, [{"value": floor}]))
        .mark_rule(strokeDash=[4, 3], color="#57544c")
        .encode(y=alt.Y("value:Q"))
    )
    return figure(draw(chart + rule, f"{title} against {across}"), f"{title}. Dashed: a resample of the original.")


def _colour(alt: Any, lines: list[str], columns: int) -> Any:
    scale = alt.Scale(domain=lines, range=[_COLOURS[line] for line in lines])
    return alt.Color("line:N", scale=scale, legend=alt.Legend(columns=columns))


def _coefficients(study: PegsStudy) -> Html:
    head = ("File", *_TERMS)
    rows: list[list[Child]] = [["original", *(f"{value:.3f}" for value in study.original_coefficients)]]
    for epsilon in (0.1, 1.0, 10.0):
        rows += [
            [f"{p.method}, ε = {number(epsilon)} per row", *(f"{value:.3f}" for value in p.coefficients)]
            for p in study.by_row
            if p.epsilon_per_row == epsilon
        ]
    for epsilon in (1.0, 10.0):
        found = next(p for p in study.total("pairs") if p.epsilon_per_data_set == epsilon)
        rows.append(
            [f"pairs, ε = {number(epsilon)} for the data set", *(f"{value:.3f}" for value in found.coefficients)]
        )
    caption = "Linear model of the charge (thousand $): coefficients, averaged over files"
    return rows_table(caption, head, rows, numeric=range(1, 6))


def _equal(study: PegsStudy) -> Html:
    alt = altair()
    measures = (("pair_variation", "Two-way total variation"), ("marginal_mae", "Margins, mean absolute"),
                ("linear_errors", "Linear, in standard errors"), ("category_missed", "Category missed"))  # fmt: skip
    pictures = [
        _curves(
            alt,
            [
                {"epsilon": p.epsilon_per_data_set, "value": getattr(p, key), "line": method}
                for method in TABLE_METHODS
                for p in study.total(method)
            ],
            title,
            list(TABLE_METHODS),
            "ε for the data set",
            getattr(study.resample, key),
            key != "category_missed",
        )
        for key, title in measures
    ]
    head = ("Method", "ε for the data set", "Margins", "Given age", "Two-way TV", "Linear, s.e.", "Category missed")
    rows: list[list[Child]] = [
        [p.method, number(p.epsilon_per_data_set or 0), f"{p.marginal_mae:.4f}", f"{p.age_mae:.4f}",
        f"{p.pair_variation:.3f}",
         f"{p.linear_errors:.1f}", f"{p.category_missed:.0%}"]
        for method in TABLE_METHODS for p in study.total(method)
    ]  # fmt: skip
    words = (
        "Every file here costs the same ε for the data set. Noisy tables (pairs, tree, conditionals) pay once "
        "and could give a "
        "million rows for it; PeGS by row has to share ε among its rows. Files below the dashed line are closer "
        "to the original "
        "than a resample of as many real records: sampling noise is larger than the noise for privacy there."
    )
    table = rows_table("At equal ε for the data set", head, rows, numeric=range(1, 7))
    return join([tag("p", words), tag("div", *pictures, class_="multiples"), table])


def _method(study: PegsStudy) -> Html:
    settings = study.settings
    said = (
        f"By row: parents are the {settings.parents} columns with most mutual information, chosen from the data "
        f"as published; this "
        "choice voids the paper's ε (one record can change it), so the ε of these maps are the paper's words, "
        "not a promise. Starts are "
        "uniform over the domain, one pass. With reset, blocks have 10 rows and ε per row is a tenth of the block's.",
        f"Imputation: multinomial logistic regressions fitted to {settings.fit_rows:,} records with a mild ridge "
        f"penalty, in place of "
        "the paper's cross-validated elastic net.",
        "Rank correlations are tau-b and Spearman's with mid-ranks; as printed, Kendall's has the wrong sign and "
        "Spearman's the wrong "
        "centre. The regression distance divides by coefficients; a resample of the original scores well above 0 "
        "by it.",
        "The intruder knows age, sex and ZIP (for the charge: age, stay and ZIP) of 2,000 people of the original.",
        "The paper's extract of 2011 Los Angeles discharges is not at hand (access on request), so its "
        "curves can be compared in shape only.",
    )
    return tag("ul", *(tag("li", text) for text in said))
