"""The section on utility: what the release keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from shoal.reading import Reading, Shows
from shoal.report.correlation import Correlations
from shoal.report.evidence import Evidence
from shoal.report.marginal import Cell, Marginal
from shoal.report.markup import Child, Html, details, figure, join, rows_table, section, tag
from shoal.report.mosaic import mosaic_figure
from shoal.report.numbers import between, count, listed, number, percent
from shoal.report.pieces import bullets, moved_words, people, too_few
from shoal.report.plots import correlation_plot, marginal_plot, two_digits
from shoal.report.quality import quality_figures, trained_table
from shoal.report.readings import reading_table, verdict
from shoal.utility import UtilityReport
from shoal.utility.moment import FreshMoments

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
        tag("h3", "What is preserved"),
        _kept_table(evidence),
        *_regression(evidence),
        bullets(evidence.utility.notes, "note"),
        *quality_figures(evidence.quality),
        *trained_table(evidence.usefulness),
        tag("h3", "Correlations before and after"),
        *_correlation_figure(evidence),
        *mosaic_figure(evidence.mosaic),
        tag("h3", "Distributions before and after"),
        *_multiples(evidence),
    )


def _kept_table(evidence: Evidence) -> Html:
    kept = evidence.utility
    return reading_table("What is preserved", [*_distributions(kept), *_moments(kept), *_apart(kept)])


def _distributions(kept: UtilityReport) -> Iterator[Reading]:
    fresh, variation = kept.bootstrap_intersection, kept.total_variation
    yield _kept(
        "Joint distribution of the quasi-identifiers",
        kept.histogram_intersection,
        fresh.value,
        f"Histogram intersection, 100% is equal; a fresh sample lies within {between(fresh.interval)}.",
        better="higher",
    )
    if kept.weighted_histogram_intersection is not None:
        weighted = kept.weighted_histogram_intersection
        yield _kept("The same with survey weights", weighted, fresh.value, "100% is equal.", better="higher")
    for name, order, measure in (
        ("Single columns moved by", variation.one_way, "total_variation_one_way"),
        ("Pairs of quasi-identifiers moved by", variation.two_way, "total_variation_two_way"),
        ("Pairs with a sensitive column moved by", variation.response, "total_variation_response"),
    ):
        yield _kept(
            name, order.mean, order.fresh, "Mean total variation; 0% is equal.", why=kept.unmeasured.get(measure)
        )


def _moments(kept: UtilityReport) -> Iterator[Reading]:
    moments, why = kept.moments, kept.unmeasured
    fresh = moments.fresh or FreshMoments(
        abim=None, abisd=None, correlation_difference=None, response_correlation_difference=None
    )
    yield _kept(
        "Means are off by", moments.abim, fresh.abim, "Average, relative to the mean (ABIM).", why=why.get("abim")
    )
    relative = "Average, relative (ABISD)."
    yield _kept("Standard deviations are off by", moments.abisd, fresh.abisd, relative, why=why.get("abisd"))
    yield _kept(
        "Correlations are off by",
        moments.correlation_difference,
        fresh.correlation_difference,
        f"Average absolute difference; the largest is {number(moments.largest_correlation_difference)}.",
        shows="number",
        why=why.get("correlation_difference"),
    )
    yield _kept(
        "Correlations with sensitive columns are off by",
        moments.response_correlation_difference,
        fresh.response_correlation_difference,
        f"The largest is {number(moments.largest_response_correlation_difference)}.",
        shows="number",
        why=why.get("response_correlation_difference"),
    )


def _apart(kept: UtilityReport) -> Iterator[Reading]:
    """How far values moved, and how well the two tables can be told apart."""
    moved = "Of the total variance (SSE/SST): this is what hides the person. The original has 0%, a shuffled one 200%."
    yield _kept("Values moved", kept.moments.sse_sst, None, moved, why=kept.unmeasured.get("sse_sst"))
    yield _kept(
        "Telling released rows from original ones",
        kept.propensity.ratio,
        1.0,
        "Propensity ratio: larger where a classifier sees differences.",
        shows="number",
        slack=1.0,
        why=kept.unmeasured.get("propensity_ratio"),
    )
    energy = max(0.0, kept.energy.coefficient)
    yield _kept("Distance of the two clouds of points", energy, 0.0, "Energy coefficient, from 0 to 1.", shows="number")


def _kept(
    name: str,
    value: float | None,
    fresh: float | None,
    meaning: str,
    *,
    shows: Shows = "share",
    better: Literal["lower", "higher"] = "lower",
    slack: float = 0.02,
    why: str | None = None,
) -> Reading:
    """A measure beside what a fresh sample reaches, or why it was not measured."""
    value = None if value is None or math.isnan(value) else value
    said = f"Because {why}." if value is None and why else meaning
    return Reading(
        name=name,
        value=value,
        chance=fresh,
        against="a fresh sample",
        meaning=said,
        shows=shows,
        better=better,
        slack=slack,
    )


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
            _as_trained(released.r_squared, original.r_squared),
        ),
        (
            "Bias of the mean prediction",
            _points(original.relative_bias),
            _points(released.relative_bias),
            between([x / 100 for x in released.relative_bias_interval]) if released.relative_bias_interval else "",
            _as_unbiased(released.relative_bias, original.relative_bias),
        ),
    ]
    tested = (
        f"{count(model.n_test)} people left out of the training: half of all, drawn once for this file and the same "
        "whatever the seed or the method, so that two releases are tested alike"
        if model.held_out
        else "the same people (in sample)"
    )
    overlap = (
        f" The 95% intervals of its coefficients overlap by {percent(model.mean_overlap)} on average."
        if model.mean_overlap is not None
        else ""
    )
    words = (
        f"Regression of {model.target} on the quasi-identifiers, trained on either table and tested on the original "
        f"records of {tested}.{overlap}"
    )
    head = ("Measure", "Trained on the original", "Trained on the release", "95% interval of the latter", "Reading")
    return [
        tag("h3", "Regression"),
        tag("p", words),
        rows_table(f"Predicting {model.target}", head, rows, numeric=(1, 2, 3), quiet=True),
    ]


def _as_trained(value: float | None, original: float | None) -> Html:
    """A model that explains nothing of the original is no yardstick."""
    useful = original is not None and original > 0
    chance = original if useful else None
    return verdict(Reading(name="", value=value, chance=chance, shows="number", better="higher", slack=0.02))


def _as_unbiased(value: float | None, original: float | None) -> Html:
    """A bias in percent of the mean, either way, beside that of the original's own model."""
    sizes = [None if bias is None else abs(bias) / 100 for bias in (value, original)]
    return verdict(Reading(name="", value=sizes[0], chance=sizes[1], slack=0.02))


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
    caption = f"{moved_words(marginal)}{gone}"
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
