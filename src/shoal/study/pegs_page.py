"""The PeGS study: what its numbers say, its tables and its figures."""

from __future__ import annotations

from typing import Any

from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table
from shoal.report.numbers import number
from shoal.study.page import colours, multiples, paragraph, rule
from shoal.study.pegs import (
    EPSILONS,
    HISTOGRAMS,
    POOL_EPSILON,
    POOLED,
    ROW_METHODS,
    TABLE_METHODS,
    VARIANT_EPSILONS,
    VARIANTS,
    PegsStudy,
    Point,
    Settings,
    run,
)
from shoal.study.study import Study

__all__ = ["STUDY", "findings"]

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
HIGH = 10.0  # ε per row from which the contrast of starts is printed
_TERMS = ("intercept", "age", "severity", "surgical", "stay")


def findings(study: PegsStudy) -> list[str]:
    """The sentences."""
    return [
        _price(study),
        *_reset(study),
        _variants_said(study),
        _diverse_said(study),
        _imputation(study),
        _said_equal(study),
        _designs(study),
        _regression(study),
        _attack(study),
    ]


def _at(points: tuple[Point, ...], epsilon: float, total: bool = False) -> Point:
    return next(p for p in points if (p.epsilon_per_data_set if total else p.epsilon_per_row) == epsilon)


def _price(study: PegsStudy) -> str:
    rows = study.settings.rows
    return (
        f"The ε of the paper's maps is per row. A file of {rows:,} rows at ε = 0.1 … 100 per row costs "
        f"ε = {number(0.1 * rows)} … {number(100 * rows)} for the data set."
    )


def _reset(study: PegsStudy) -> list[str]:
    return [_contrast(study, "", "uniform start rows"), _contrast(study, POOLED, _POOL), _starts()]


_POOL = f"start rows drawn from noisy margins (a pool that costs ε = {number(POOL_EPSILON)} once)"


def _contrast(study: PegsStudy, tail: str, starts: str) -> str:
    """The paper's contrast of PeGS and reset from one sort of starts, with intervals."""
    both = list(zip(study.curve(f"PeGS{tail}"), study.curve(f"PeGS with reset{tail}"), strict=True))
    plain = [p for p, r in both if _difference(p, r)[0] > _difference(p, r)[1]]
    reset = [p for p, r in both if -_difference(p, r)[0] > _difference(p, r)[1]]
    said = "; ".join(
        f"ε = {number(p.epsilon_per_row or 0)}: {p.marginal_mae:.4f} and {r.marginal_mae:.4f} (reset minus PeGS "
        f"{number(_difference(p, r)[0])} ± {number(_difference(p, r)[1])})"
        for p, r in both
        if (p.epsilon_per_row or 0) in (1.0, *(e for e in EPSILONS if e >= HIGH))
    )
    return (
        f"PeGS against reset (blocks of 10) with {starts}: mean difference of margins. {said}; 95% intervals over "
        f"{both[0][0].n_files} files each. Beyond its interval, reset is better {_listed(reset)}, PeGS "
        f"{_listed(plain)}."
    )


def _difference(p: Point, r: Point, *, pairs: bool = False) -> tuple[float, float]:
    """The second minus the first in margins (or pairs), and half the width of its 95% interval (Welch)."""
    from scipy.stats import t

    gap = r.pair_variation - p.pair_variation if pairs else r.marginal_mae - p.marginal_mae
    v, w = ((q.pair_spread if pairs else q.marginal_spread) ** 2 / q.n_files for q in (p, r))
    if min(p.n_files, r.n_files) < 2 or v + w == 0:
        return gap, float("nan")
    df = (v + w) ** 2 / (v**2 / (p.n_files - 1) + w**2 / (r.n_files - 1))
    return gap, float(t.ppf(0.975, df) * (v + w) ** 0.5)


def _listed(points: list[Point]) -> str:
    """At which ε, or nowhere."""
    found = ", ".join(number(p.epsilon_per_row or 0) for p in points)
    return f"at ε = {found} per row" if found else "nowhere"


def _starts() -> str:
    return (
        "The paper has reset ahead at small ε and PeGS slightly ahead at large ones. Uniform start rows still show "
        "after one pass and no longer after ten rows of reset, so at large ε the contrast depends on them: compare "
        "the two sentences above."
    )


def _variants_said(study: PegsStudy) -> str:
    said = "; ".join(
        f"{name} {_at_of(study, name, 1.0).marginal_mae:.4f}, {_at_of(study, name, 10.0).marginal_mae:.4f}, "
        f"{_at_of(study, name, 100.0).marginal_mae:.4f}"
        for name in VARIANTS
    )
    plain = [_at(study.curve(f"PeGS{POOLED}"), epsilon).marginal_mae for epsilon in VARIANT_EPSILONS]
    return (
        f"Other blocks, all from realistic starts, mean difference of margins at ε = 1, 10 and 100 per row: {said}; as "
        f"published {', '.join(f'{value:.4f}' for value in plain)}."
    )


def _at_of(study: PegsStudy, method: str, epsilon: float) -> Point:
    return next(p for p in study.variants if p.method == method and p.epsilon_per_row == epsilon)


def _diverse_said(study: PegsStudy) -> str:
    first, last = study.by_diversity[0], study.by_diversity[-1]
    return (
        f"l-diverse PeGS has no ε. From l = {number(first.diversity or 0)} to {number(last.diversity or 0)} the mean "
        f"difference of margins grows from {first.marginal_mae:.4f} to {last.marginal_mae:.4f}, and the intruder "
        f"misses the category in {first.category_missed:.0%} and {last.category_missed:.0%} of cases: entropy "
        "in every block is paid for by every column, sensitive or not."
    )


def _imputation(study: PegsStudy) -> str:
    point, floor = _at(study.curve("imputation"), 1.0), study.uniform
    both = list(zip(study.curve(f"PeGS{POOLED}"), study.curve("imputation"), strict=True))
    nearer = [p for p, other in both if _difference(p, other)[0] > _difference(p, other)[1]]
    farther = [p for p, other in both if -_difference(p, other)[0] > _difference(p, other)[1]]
    return (
        f"Imputation at ε = 1 per row differs from the original by {point.marginal_mae:.4f} in margins; uniform "
        f"noise by "
        f"{floor.marginal_mae:.4f}. Below ε ≈ {len(study.sizes)} per row (one for each column) it is close to noise. "
        f"PeGS with realistic starts is nearer beyond its interval {_listed(nearer)}, imputation "
        f"{_listed(farther)}."
    )


def _said_equal(study: PegsStudy) -> str:
    ours, by_row = _at(study.total("pairs"), 1.0, True), _at(study.total("PeGS by row"), 1.0, True)
    best = min(study.curve("PeGS") + study.curve("PeGS with reset"), key=lambda p: p.pair_variation)
    gap, half = _difference(best, ours, pairs=True)
    verdict = "not clearly less than" if not gap < -half else "less than"
    return (
        "At ε = 1 for the whole data set, noisy tables of pairs have a mean total variation of two-way margins of "
        f"{ours.pair_variation:.3f}; PeGS by row at the same bill {by_row.pair_variation:.3f}. That is {verdict} the "
        f"best by-row files of the study ({best.pair_variation:.3f}, at ε = {number(best.epsilon_per_data_set or 0)} a "
        f"file; difference {number(gap)} ± {number(half)}). A resample of the original of the same size has "
        f"{study.resample.pair_variation:.3f}."
    )


def _designs(study: PegsStudy) -> str:
    said = []
    for epsilon in (0.1, 1.0, 10.0):
        methods = ("graph, δ = 1e-9", "graph", "pairs, δ = 1e-9", "pairs", "tree", "conditionals", "margins only")
        ranked = sorted((_at(study.total(m), epsilon, True) for m in methods), key=lambda p: p.pair_variation)
        gap, half = _difference(ranked[1], ranked[0], pairs=True)
        clear = "clear" if gap < -half else "not clear"
        order = ", ".join(f"{p.method} {p.pair_variation:.3f}" for p in ranked)
        said.append(f"ε = {number(epsilon)}: {order} (first minus second {number(gap)} ± {number(half)}: {clear})")
    return (
        f"Designs at equal ε for the data set, by two-way total variation, least first, means of {ranked[0].n_files} "
        f"files each, 95% intervals (Welch). {'; '.join(said)}."
    )


def _regression(study: PegsStudy) -> str:
    ours, row, again = _at(study.total("pairs"), 10.0, True), _at(study.curve("PeGS"), 10.0), study.resample
    return (
        f"Linear regression of charge, mean distance in standard errors of the original: {ours.linear_errors:.1f} "
        f"for pairs at ε = 10 for the data set, {row.linear_errors:.1f} for PeGS at ε = 10 per row, "
        f"{again.linear_errors:.1f} for a resample. The paper's own distance, which divides by coefficients, is "
        f"{again.linear_distance:.1f} for the resample."
    )


def _attack(study: PegsStudy) -> str:
    ours, again = _at(study.total("pairs"), 1.0, True), study.resample
    return (
        f"The intruder misses the diagnostic category in {ours.category_missed:.0%} of cases with pairs at ε = 1 for "
        f"the data set, in {again.category_missed:.0%} with a resample of real records, in "
        f"{study.uniform.category_missed:.0%} with uniform noise. Guessing from a model that is true of people in "
        "general is no breach; ε bounds what a single record adds."
    )


def _heading(study: PegsStudy) -> str:
    return (
        f"{study.data}: {study.n_records:,} records, {len(study.sizes)} columns; files of {study.settings.rows:,} "
        f"rows, {study.settings.draws} for each number; seed {study.settings.seed}"
    )


def _figures(study: PegsStudy) -> dict[str, Html]:
    return {
        "By row: what each row costs, and the file": _rows_table(study),
        "Histograms (figure 3.5)": _histograms(study),
        "One row, step by step (table 3.3)": _trace(study),
        "Margins (figure 3.6)": _maps(
            study, (("marginal_mse", "Margins, mean squared"), ("marginal_mae", "Margins, mean absolute")), log=True
        ),
        "Conditionals (figure 3.7)": _maps(
            study, (("age_mse", "Given age, mean squared"), ("age_mae", "Given age, mean absolute"),
                    ("zip_mse", "Given ZIP, mean squared"), ("zip_mae", "Given ZIP, mean absolute")), log=True
        ),
        "Rank correlations of margins (figure 3.8)": _maps(
            study, (("marginal_tau", "Margins, tau-b"), ("marginal_rho", "Margins, Spearman"))
        ),
        "Rank correlations of conditionals (figure 3.9)": _maps(
            study, (("age_tau", "Given age, tau-b"), ("age_rho", "Given age, Spearman"),
                    ("zip_tau", "Given ZIP, tau-b"), ("zip_rho", "Given ZIP, Spearman"))
        ),
        "Regression (figures 3.10, 3.11)": join([_maps(
            study, (("linear_distance", "Linear, Σ |Δβ/β|"), ("linear_errors", "Linear, in standard errors"),
                    ("logistic_distance", "Logistic, Σ |Δβ/β|"), ("logistic_errors", "Logistic, in standard errors")),
                    log=True
        ), _coefficient_plots(study), _coefficients(study)]),
        "Intruder (figure 3.12)": _maps(
            study, (("category_missed", "Category missed"), ("charge_error", "Error of charge (thousand $)"),
                    ("unique_share", "Unique on age, sex, ZIP"))
        ),
        "l-diverse PeGS": _diverse(study),
        "Other blocks, row by row": _variants(study),
        "At equal ε for the data set": _equal(study),
    }  # fmt: skip


def _trace(study: PegsStudy) -> Html:
    words = (
        "A start row from the pool, and the row after each draw, at ε = 10 per row. Each line is made of the start and "
        "of the last line, so showing all of them costs no more than the row."
    )
    names = ("Drawn", *study.names)
    return join([paragraph(words), rows_table("How one row comes about", names, [list(row) for row in study.trace])])


def _diverse(study: PegsStudy) -> Html:
    head = ("l", "Margins", "Given age", "Two-way TV", "Linear, s.e.", "Category missed", "Unique")
    rows: list[list[Child]] = [[number(p.diversity or 0), *_row(p)[3:]] for p in study.by_diversity]
    words = (
        "Every distribution that a value is drawn from has entropy of at least log l. No ε is promised. l can't exceed "
        "the number of levels of any column, which is 2 here. Realistic starts."
    )
    return join([paragraph(words), rows_table("l-diversity", head, rows, numeric=range(7))])


def _variants(study: PegsStudy) -> Html:
    rows = [_row(p) for p in study.variants]
    rows += [_row(p) for p in study.curve(f"PeGS{POOLED}") if p.epsilon_per_row in VARIANT_EPSILONS]
    words = (
        "Virtual records by noisy margins, virtual records on the lowest cells first, and keys by one min-hash of all "
        "other columns in place of parents; everything else as in PeGS with realistic starts."
    )
    return join([paragraph(words), rows_table("Other blocks", _HEAD, rows, numeric=range(1, 9))])


_HEAD = (
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


def _coefficient_plots(study: PegsStudy) -> Html:
    """Figure 3.11: coefficients beside the original's, at a small and at a large ε."""
    sorts = (("logistic", "logistic_coefficients", study.original_logistic),
             ("linear", "coefficients", study.original_coefficients))  # fmt: skip
    return multiples(
        _coefficient_plot(study, what, field, original, epsilon)
        for what, field, original in sorts
        for epsilon in (0.1, 10.0)
    )


def _coefficient_plot(study: PegsStudy, what: str, field: str, original: tuple[float, ...], epsilon: float) -> Html:
    alt = altair()
    rows = [
        {"term": term, "value": value / own, "line": p.method}
        for p in study.by_row
        if p.epsilon_per_row == epsilon
        for term, value, own in zip(_TERMS, getattr(p, field), original, strict=True)
    ]
    chart = alt.Chart(data(alt, rows), width=230, height=160).mark_point(filled=True, size=45, opacity=0.8)
    chart = chart.encode(
        x=alt.X("term:N", title=None, sort=list(_TERMS), axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("value:Q", title="coefficient / original's", axis=alt.Axis(tickCount=4, format="~g")),
        color=colours(_COLOURS, list(ROW_METHODS), 1),
    )
    words = f"{what.capitalize()} model at ε = {number(epsilon)} per row"
    return figure(draw(chart + rule(1.0), f"Coefficients: {words}"), f"{words}. Dashed: the original.")


def _rows_table(study: PegsStudy) -> Html:
    rows = [_row(point) for method in ROW_METHODS for point in study.curve(method)]
    rows += [_row(study.resample), _row(study.uniform)]
    caption = (
        "Mean absolute differences of margins and conditionals; TV: mean total variation over all pairs of columns"
    )
    return rows_table(caption, _HEAD, rows, numeric=range(1, 9))


def _row(p: Point) -> list[Child]:
    return [
        p.method,
        "–" if p.epsilon_per_row is None else number(p.epsilon_per_row),
        "–" if p.epsilon_per_data_set is None else number(p.epsilon_per_data_set),
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
    return join([paragraph(words), multiples(_histogram(study, name) for name in HISTOGRAMS)])


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
        color=colours(_COLOURS, list(study.histograms[name]), 2),
    )
    return figure(draw(chart, f"Margins of {name}: original and three synthetic files"), f"{name}.")


def _maps(study: PegsStudy, measures: tuple[tuple[str, str], ...], log: bool = False) -> Html:
    return multiples(_map(study, key, title, log) for key, title in measures)


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
        color=colours(_COLOURS, lines, 1),
    )
    return figure(
        draw(chart + rule(floor), f"{title} against {across}"), f"{title}. Dashed: a resample of the original."
    )


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
        "Every file here costs the same ε for the data set. Noisy tables (pairs, tree, conditionals) pay once and "
        "could give a million rows for it; PeGS by row has to share ε among its rows. Files below the dashed line "
        "are closer to the original than a resample of as many real records: sampling noise is larger than the "
        "noise for privacy there."
    )
    table = rows_table("At equal ε for the data set", head, rows, numeric=range(1, 7))
    return join([paragraph(words), multiples(pictures), table])


def _measured(study: PegsStudy) -> tuple[str, ...]:
    settings = study.settings
    return (
        f"By row: parents are the {settings.parents} columns with most mutual information, chosen from the data as "
        "published; this choice voids the paper's ε (one record can change it), so the ε of these maps are the "
        "paper's words, not a promise. Starts are uniform over the domain, one pass. With reset, blocks have 10 "
        "rows and ε per row is a tenth of the block's.",
        f"Imputation: multinomial logistic regressions fitted to {settings.fit_rows:,} records with a mild ridge "
        "penalty, in place of the paper's cross-validated elastic net.",
        "Rank correlations are tau-b and Spearman's with mid-ranks; as printed, Kendall's has the wrong sign and "
        "Spearman's the wrong centre. The regression distance divides by coefficients; a resample of the original "
        "scores well above 0 by it.",
        "The intruder knows age, sex and ZIP (for the charge: age, stay and ZIP) of 2,000 people of the original.",
        "The paper's extract of 2011 Los Angeles discharges is not at hand (access on request), so its "
        "curves can be compared in shape only.",
    )


STUDY = Study(
    title="PeGS study",
    examples=(
        "shoal study pegs --out study",
        "shoal study pegs --data discharges.csv --schema discharges.toml --rows 1000 --out study",
    ),
    counted="files",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"study.json": PegsStudy.to_dict},
)
