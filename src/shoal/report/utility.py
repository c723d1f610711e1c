"""The section on utility: what the release keeps."""

from __future__ import annotations

import math

from shoal.report.correlation import Correlations
from shoal.report.evidence import Evidence
from shoal.report.marginal import Cell, Marginal
from shoal.report.markup import Child, Html, details, figure, join, rows_table, section, tag
from shoal.report.numbers import ABSENT, NOT_MEASURED, between, listed, number, percent
from shoal.report.pieces import bullets, people, too_few
from shoal.report.plots import correlation_plot, marginal_plot, two_digits
from shoal.report.tiles import mosaic_figure

__all__ = ["utility"]

KEYS = join(
    [
        tag("span", class_="key", aria_hidden="true"),
        "before ",
        tag("span", class_="key after", aria_hidden="true"),
        "after",
    ]
)


def utility(evidence: Evidence) -> Html:
    """What the release keeps."""
    return section(
        "utility",
        "Utility: what is preserved",
        tag(
            "p",
            "What does an analyst lose? Two samples of the same population also differ, so the distribution is "
            "compared with that of a bootstrap sample drawn from the original.",
        ),
        tag("h3", "What is kept"),
        _kept_table(evidence),
        *_regression(evidence),
        bullets(evidence.utility.notes, "note"),
        tag("h3", "Correlations before and after"),
        *_correlation_figure(evidence),
        *mosaic_figure(evidence.mosaic),
        tag("h3", "Distributions before and after"),
        *_multiples(evidence),
    )


def _kept_table(evidence: Evidence) -> Html:
    kept = evidence.utility
    moments, variation = kept.moments, kept.total_variation
    fresh = kept.bootstrap_intersection
    rows: list[tuple[str, str, str]] = [
        (
            "Joint distribution of the quasi-identifiers",
            percent(kept.histogram_intersection),
            "histogram intersection, 100% is equal; a bootstrap reaches "
            f"{percent(fresh.value)} ({between(fresh.interval)})",
        ),
    ]
    if kept.weighted_histogram_intersection is not None:
        rows.append(("The same with survey weights", percent(kept.weighted_histogram_intersection), "100% is equal"))
    rows += [
        ("Single columns moved by", percent(variation.one_way.mean), "mean total variation; 0% is equal"),
        ("Pairs of quasi-identifiers moved by", percent(variation.two_way.mean), "mean total variation"),
        ("Pairs with a sensitive column moved by", percent(variation.response.mean), "mean total variation"),
        ("Means are off by", percent(moments.abim), "average, relative to the mean (ABIM)"),
        ("Standard deviations are off by", percent(moments.abisd), "average, relative (ABISD)"),
        (
            "Correlations are off by",
            number(moments.correlation_difference),
            f"average absolute difference; the largest is {number(moments.largest_correlation_difference)}",
        ),
        (
            "Correlations with sensitive columns are off by",
            number(moments.response_correlation_difference),
            f"the largest is {number(moments.largest_response_correlation_difference)}",
        ),
        ("Values moved", percent(moments.sse_sst), "of the total variance (SSE/SST); this is what hides the person"),
        (
            "Telling released rows from original ones",
            number(kept.propensity.ratio),
            "propensity ratio: about 1 for a fresh sample, larger where a classifier sees differences",
        ),
        (
            "Distance of the two clouds of points",
            number(max(0.0, kept.energy.coefficient)),
            "energy coefficient, from 0 to 1",
        ),
    ]
    head = ("What", "Value", "How to read it")
    told = [_told(row, kept.unmeasured.get(_MEASURES.get(row[0], ""))) for row in rows]
    return rows_table("What is kept", head, told, numeric=(1,), quiet=True)


_MEASURES = {
    "Single columns moved by": "total_variation_one_way",
    "Pairs of quasi-identifiers moved by": "total_variation_two_way",
    "Pairs with a sensitive column moved by": "total_variation_response",
    "Means are off by": "abim",
    "Standard deviations are off by": "abisd",
    "Correlations are off by": "correlation_difference",
    "Correlations with sensitive columns are off by": "response_correlation_difference",
    "Values moved": "sse_sst",
    "Telling released rows from original ones": "propensity_ratio",
}
"""The name in `UtilityReport.summary` of each row that may have nothing to tell."""


def _told(row: tuple[str, str, str], why: str | None) -> tuple[str, str, str]:
    """The row, or that it was not measured and why."""
    return (row[0], NOT_MEASURED, f"because {why}") if row[1] == ABSENT and why else row


def _regression(evidence: Evidence) -> list[Child]:
    model = evidence.utility.regression
    if model is None:
        return []
    released, original = model.trained_on_released, model.trained_on_original
    rows = [
        (
            "Variance explained (R²)",
            percent(original.r_squared),
            percent(released.r_squared),
            between(released.r_squared_interval),
        ),
        (
            "Bias of the mean prediction",
            _points(original.relative_bias),
            _points(released.relative_bias),
            between([x / 100 for x in released.relative_bias_interval]) if released.relative_bias_interval else "",
        ),
    ]
    tested = "people left out of the training" if model.held_out else "the same people (in sample)"
    overlap = (
        f" The 95% intervals of its coefficients overlap by {percent(model.mean_overlap)} on average."
        if model.mean_overlap is not None
        else ""
    )
    words = (
        f"Regression of {model.target} on the quasi-identifiers, trained on either table and tested on the original "
        f"records of {tested}.{overlap}"
    )
    head = ("Measure", "Trained on the original", "Trained on the release", "95% interval of the latter")
    return [
        tag("h3", "Regression"),
        tag("p", words),
        rows_table(f"Predicting {model.target}", head, rows, numeric=(1, 2, 3), quiet=True),
    ]


def _points(value: float | None) -> str:
    return percent(None if value is None else value / 100)


def _correlation_figure(evidence: Evidence) -> list[Child]:
    found = evidence.correlations
    if math.isnan(found.largest_change()):
        return [tag("p", "There is no correlation to compare: fewer than two columns are ordered and vary.")]
    shown, all_of = len(found.names), evidence.n_correlated
    change = found.largest_change()
    spoken = f"Two correlation matrices of {shown} columns. The largest change of a correlation is {number(change)}."
    limits = f" The first {shown} of {all_of} columns are shown." if shown < all_of else ""
    left = f" Omitted, because their levels have no order: {listed(found.left_out[:20])}." if found.left_out else ""
    weights = "With survey weights, as an analyst would use them, the" if evidence.weighted else "The"
    caption = f"{weights} largest change is {number(change)}.{limits}{left}"
    return [figure(correlation_plot(found, spoken), caption, _correlation_table(found))]


def _correlation_table(found: Correlations) -> Html:
    rows = [
        (f"{found.names[j]} and {found.names[i]}", two_digits(found.before[i, j]), two_digits(found.after[i, j]))
        for i in range(len(found.names))
        for j in range(i)
    ]
    head = ("Columns", "Before", "After")
    return details("Correlations", rows_table("Correlations", head, rows, numeric=(1, 2), kind="narrow"))


def _multiples(evidence: Evidence) -> list[Child]:
    shown, all_of = len(evidence.marginals), evidence.n_marginals
    weights = "weighted by the survey weight" if evidence.weighted else "of the records"
    limits = f" The first {shown} of {all_of} columns are shown." if shown < all_of else ""
    intro = tag("p", KEYS, f". Shares {weights}. The outer bars of a numeric column include everything beyond.{limits}")
    return [intro, tag("div", *(_multiple(marginal, evidence) for marginal in evidence.marginals), class_="multiples")]


def _multiple(marginal: Marginal, evidence: Evidence) -> Html:
    head = tag("h4", marginal.column, " ", tag("span", _role(marginal), class_="role"))
    if not marginal.cells:
        return tag("article", head, too_few(evidence))
    spoken = (
        f"Distribution of {marginal.column} before and after in {len(marginal.cells)} cells; total variation "
        f"{percent(marginal.distance())}. The numbers are in the table below."
    )
    missing = [cell for cell in marginal.cells if cell.missing]
    gone = f" Missing: {percent(missing[0].before_share)}, then {percent(missing[0].after_share)}." if missing else ""
    moved = marginal.distance()
    caption = f"{f'Moved by {percent(moved)}' if moved else 'No change'}.{gone}"
    table = _marginal_table(marginal)
    return tag("article", head, figure(marginal_plot(marginal, spoken), caption, table))


def _role(marginal: Marginal) -> str:
    return "quasi-identifier" if marginal.role == "quasi" else marginal.role


def _marginal_table(marginal: Marginal) -> Html:
    """Counts and shares."""
    rows = [
        (_cell_name(c), people(c.before), percent(c.before_share), people(c.after), percent(c.after_share))
        for c in marginal.cells
    ]
    head = ("Value", "Before", "Share", "After", "Share")
    table = rows_table(f"{marginal.column}: records and shares", head, rows, numeric=range(1, len(head)))
    return details(marginal.column, table)


def _cell_name(cell: Cell) -> Child:
    if cell.name is None:
        return tag("span", cell.label, class_="pooled")
    return tag("span", cell.label, class_="absent") if cell.missing else cell.label
