"""The sections of the page that show what was measured: risk and utility."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.report.evidence import Evidence
from shoal.report.html import Child, Html, figure, join, rows_table, section, tag
from shoal.report.marginal import Cell, Marginal
from shoal.report.plots import class_size_plot, correlation_plot, marginal_plot, risk_plot
from shoal.report.words import between, count, listed, number, percent

__all__ = ["headline_tiles", "risk", "utility"]

KEYS = join(
    [
        tag("span", class_="key", aria_hidden="true"),
        "before ",
        tag("span", class_="key after", aria_hidden="true"),
        "after",
    ]
)


def headline_tiles(evidence: Evidence) -> list[Html]:
    """Four numbers for a first look."""
    found, kept = evidence.risk.reidentification, evidence.utility
    bound = found.by_group.bound if found.by_group else None
    beside = f"No more than {percent(bound)} for any person, by proof" if bound else "One attack on this release"
    whom = "people" if evidence.has_unit else "records"
    return [
        _tile("Smallest group (k)", f"{evidence.k} {whom}", "Each person hides in a group of at least this many"),
        _tile("Rows released", count(evidence.n_released), _rows_beside(evidence)),
        _tile("Found by nearest match", percent(found.expected), beside),
        _tile(
            "Distribution kept",
            percent(kept.histogram_intersection),
            f"A fresh sample of the same people keeps {percent(kept.bootstrap_intersection.value)}",
        ),
    ]


def risk(evidence: Evidence, *, internal: bool) -> Html:
    """What an intruder achieves."""
    return section(
        "risk",
        "Risk",
        tag(
            "p",
            "How well does an intruder do who knows a person's true quasi-identifiers and looks for that person in the "
            "released table? Results of attacks are measured on this release; a low number is no proof.",
        ),
        tag("h3", "Attacks that were tried"),
        _attacks(evidence, internal),
        _inference(evidence),
        tag("h3", "Probability of being found"),
        *_risk_figure(evidence),
        tag("h3", "How many people share a combination"),
        *_size_figure(evidence),
        tag("h3", "Attacker models"),
        _attacker_table(evidence, internal),
        _attacker_note(evidence),
    )


def utility(evidence: Evidence) -> Html:
    """What the release keeps."""
    return section(
        "utility",
        "Utility",
        tag(
            "p",
            "What does an analyst lose? Two samples of the same population differ too, so the distribution is compared "
            "with that of a bootstrap, a fresh sample drawn from the original.",
        ),
        tag("h3", "What is kept"),
        _kept_table(evidence),
        *_regression(evidence),
        *_noted(evidence.utility.notes),
        tag("h3", "Correlations before and after"),
        *_correlation_figure(evidence),
        tag("h3", "Distributions before and after"),
        *_multiples(evidence),
    )


def _rows_beside(evidence: Evidence) -> str:
    return f"{evidence.left_out.capitalize()} were left out" if evidence.left_out else "All that came in"


def _tile(name: str, value: str, beside: str) -> Html:
    shown = tag("dd", tag("span", value, class_="figure"), tag("div", beside, class_="beside"))
    return tag("div", tag("dt", name), shown, class_="tile")


def _attacks(evidence: Evidence, internal: bool) -> Html:
    found, linked, close = evidence.risk.reidentification, evidence.risk.linkage, evidence.risk.intervals
    rows: list[tuple[Child, ...]] = [
        (
            "Nearest match finds the right person",
            percent(found.expected),
            between(found.interval),
            "Mean over all records, ties at random, in this release",
        )
    ]
    if found.by_group is not None:
        rows += [
            (
                "The same, over all releases the method could have drawn",
                percent(found.by_group.mean),
                "",
                "Mean over all records (group formula)",
            ),
            (
                "The same, for the person most at risk",
                percent(found.by_group.largest),
                "",
                f"Proved to be at most {percent(found.by_group.bound)}",
            ),
        ]
    rows += [
        (
            "The nearest or second nearest original is the source",
            percent(linked.share),
            between(linked.interval),
            "Share of released rows that lead back to their person (record linkage)",
        ),
        (
            "Masked values close to the person's own",
            percent(close.share),
            "",
            f"Within {percent(close.width)} of the spread, or the same level; by chance {percent(close.chance)}",
        ),
        *_verbatim_rows(evidence, internal),
    ]
    head = ("Attack", "Result", "95% interval", "Meaning")
    return rows_table("Attacks and their success", head, rows, numeric=(1, 2), quiet=True)


def _verbatim_rows(evidence: Evidence, internal: bool) -> list[tuple[Child, ...]]:
    copies = evidence.risk.verbatim
    rows: list[tuple[Child, ...]] = [
        (
            "Released combinations that occur in the original",
            guarded(copies.share, copies.n_rows, evidence.k, internal),
            "",
            "Of all quasi-identifiers together; they belong to anybody of the group",
        ),
        (
            "Released combinations that one person has in the original",
            guarded(copies.unique_share, copies.n_rows, evidence.k, internal),
            "",
            "The combination is real, the rest of the row belongs to another member of the group, or to that person",
        ),
    ]
    return rows


def _inference(evidence: Evidence) -> Html | None:
    rows = [
        (
            guess.column,
            "share guessed right" if guess.measure == "success" else "mean absolute error",
            percent(guess.value) if guess.measure == "success" else number(guess.value),
            between(guess.interval, "percent" if guess.measure == "success" else "number"),
            percent(guess.baseline) if guess.measure == "success" else number(guess.baseline),
        )
        for guess in evidence.risk.inference.columns.values()
    ]
    if not rows:
        return None
    head = (
        "Sensitive column",
        "Measure",
        "With the combination",
        "95% interval",
        "Without (one guess for all)",
    )
    table = rows_table("Guessing a sensitive value from the release", head, rows, numeric=(2, 3, 4))
    note = (
        "A better guess with the combination than without is what statistics is for; it is a leak only as far as it "
        "works better for people in the data than for people outside."
    )
    return tag("div", table, tag("p", note, class_="note"))


def _risk_figure(evidence: Evidence) -> list[Child]:
    bands = evidence.risks.bands
    if not bands:
        return [_too_few(evidence)]
    by_group = evidence.risk.reidentification.by_group
    basis = "over all releases the method could have drawn" if by_group else "in this release"
    spoken = "; ".join(f"{band.label}: {percent(band.shares[0])}" for band in bands)
    picture = risk_plot(evidence.risks, f"Bar chart of records by probability of being found. {spoken}.")
    caption = f"Records by their probability of being found by nearest match, {basis}. Small bands are merged."
    return [
        figure(picture, caption),
        _numbers("Records by probability of being found", bands, ("Records",)),
    ]


def _size_figure(evidence: Evidence) -> list[Child]:
    bands = evidence.sizes.bands
    if not bands:
        return [_too_few(evidence)]
    spoken = "; ".join(f"{b.label}: {percent(b.shares[0])} before, {percent(b.shares[1])} after" for b in bands)
    picture = class_size_plot(evidence.sizes, f"Bar chart of records by class size, before and after. {spoken}.")
    collapsed = evidence.small.smallest[1] >= evidence.k
    meaning = (
        f"After, every combination is shared by at least {evidence.k} people."
        if collapsed
        else "After, a rare combination does not point at one person: the rest of its row belongs to any member of the "
        "group. What counts is the probability above."
    )
    caption = f"Records by the number of people who share their combination of quasi-identifiers. {meaning}"
    table = _numbers("Records by number of people who share the combination", bands, ("Before", "After"))
    return [figure(picture, caption), table]


def _numbers(caption: str, bands: Sequence[object], tables: tuple[str, ...]) -> Html:
    head = ["Band"]
    for name in tables:
        head += [f"{name}: records" if len(tables) > 1 else name, f"{name}: share" if len(tables) > 1 else "Share"]
    rows = []
    for band in bands:
        row: list[Child] = [band.label]  # type: ignore[attr-defined]
        for records, share in zip(band.records, band.shares, strict=True):  # type: ignore[attr-defined]
            row += [_people(records), percent(share)]
        rows.append(row)
    numeric = tuple(range(1, len(head)))
    return tag("details", tag("summary", "Numbers"), rows_table(caption, head, rows, numeric=numeric, kind="narrow"))


def _attacker_table(evidence: Evidence, internal: bool) -> Html:
    """Shares above 1/k and bands of class sizes have the same cut, so that no difference of the two tells more."""
    k, sides = evidence.k, evidence.attackers
    n = (evidence.n_used, evidence.n_released)
    above = [guarded(side.prosecutor.above_share, size, k, internal) for side, size in zip(sides, n, strict=True)]
    rows: list[tuple[Child, ...]] = [
        ("Prosecutor: largest", *(capped(side.prosecutor.largest, k, internal) for side in sides)),
        ("Prosecutor: mean", *(percent(side.prosecutor.mean) for side in sides)),
        (f"Prosecutor: records above {percent(1 / k)}", *above),
        ("Journalist: largest", *(capped(side.journalist.largest, k, internal) for side in sides)),
        ("Journalist: mean", *(percent(side.journalist.mean) for side in sides)),
        ("Marketer: expected share matched rightly", *(percent(side.marketer) for side in sides)),
    ]
    return rows_table("Risk by attacker model", ("Model", "Before", "After"), rows, numeric=(1, 2), quiet=True)


def _attacker_note(evidence: Evidence) -> Html:
    population = evidence.attackers[1].population
    size = (
        "The table is taken to be the whole population, which is the worst case."
        if population is None
        else f"The population is taken to have about {number(population)} people."
    )
    words = (
        "The prosecutor knows that the person is in the table; the journalist matches against a register of the "
        "population; the marketer wants as many matches as possible. The models count equal combinations and take "
        "every one at its word: where a mask moved the values, they say little and the attacks above say more. "
        f"{size}"
    )
    return tag("p", words, class_="note")


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
        ("Values moved", percent(moments.sse_sst), "of the total variance (SSE/SST); what hides the person"),
        (
            "Telling released rows from original ones",
            number(kept.propensity.ratio),
            "propensity ratio: about 1 for a fresh sample, larger where a classifier sees differences",
        ),
        ("Distance of the two clouds of points", number(kept.energy.coefficient), "energy coefficient, from 0 to 1"),
    ]
    head = ("What", "Value", "How to read it")
    return rows_table("What is kept", head, [row for row in rows if row[1] != "–"], numeric=(1,), quiet=True)


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
        return [tag("p", "There is no correlation to compare: fewer than two columns have an order and vary.")]
    shown, all_of = len(found.names), evidence.n_correlated
    change = found.largest_change()
    spoken = f"Two correlation matrices of {shown} columns. The largest change of a correlation is {number(change)}."
    limits = f" The first {shown} of {all_of} columns are shown." if shown < all_of else ""
    left = f" Left out, because their levels have no order: {listed(found.left_out[:20])}." if found.left_out else ""
    weights = "With survey weights, as an analyst would have it, the" if evidence.weighted else "The"
    caption = f"{weights} largest change is {number(change)}.{limits}{left}"
    return [figure(correlation_plot(found, spoken), caption)]


def _multiples(evidence: Evidence) -> list[Child]:
    shown, all_of = len(evidence.marginals), evidence.n_marginals
    weights = "weighted by the survey weight" if evidence.weighted else "of the records"
    limits = f" The first {shown} of {all_of} columns are shown." if shown < all_of else ""
    intro = tag("p", KEYS, f". Shares {weights}. The outer bars of a number hold everything beyond.{limits}")
    return [intro, tag("div", *(_multiple(marginal, evidence) for marginal in evidence.marginals), class_="multiples")]


def _multiple(marginal: Marginal, evidence: Evidence) -> Html:
    head = tag("h4", marginal.column, " ", tag("span", _role(marginal), class_="role"))
    if not marginal.cells:
        return tag("article", head, _too_few(evidence))
    spoken = (
        f"Distribution of {marginal.column} before and after in {len(marginal.cells)} cells; total variation "
        f"{percent(marginal.distance())}. The numbers are in the table below."
    )
    missing = [cell for cell in marginal.cells if cell.missing]
    gone = f" Missing: {percent(missing[0].before_share)}, then {percent(missing[0].after_share)}." if missing else ""
    moved = marginal.distance()
    caption = f"{f'Moved by {percent(moved)}' if moved else 'No change'}.{gone}"
    return tag("article", head, figure(marginal_plot(marginal, spoken), caption, _marginal_table(marginal)))


def _role(marginal: Marginal) -> str:
    return "quasi-identifier" if marginal.role == "quasi" else marginal.role


def _marginal_table(marginal: Marginal) -> Html:
    rows = [
        (
            _cell_name(cell),
            _people(cell.before),
            percent(cell.before_share),
            _people(cell.after),
            percent(cell.after_share),
        )
        for cell in marginal.cells
    ]
    head = ("Value", "Before", "Share", "After", "Share")
    table = rows_table(f"{marginal.column}: records and shares", head, rows, numeric=(1, 2, 3, 4))
    return tag("details", tag("summary", "Numbers"), table)


def _cell_name(cell: Cell) -> Child:
    if cell.name is None:
        return tag("span", cell.label, class_="pooled")
    return tag("span", cell.label, class_="absent") if cell.missing else cell.label


def _people(records: int) -> Html:
    """A count of people's records, marked so that the small-cell rule can be checked on the page."""
    return tag("span", count(records), class_="people")


def _too_few(evidence: Evidence) -> Html:
    return tag("p", f"Fewer than {evidence.k} people: nothing is shown.", class_="note")


def _noted(notes: Sequence[str]) -> list[Child]:
    return [tag("ul", *(tag("li", note) for note in notes), class_="note")] if notes else []


def guarded(share: float, n: int, k: int, internal: bool = False) -> str:
    """A share of `n` records; outside it does not tell counts of 1 to k − 1, nor of all but so many."""
    if internal:
        return percent(share)
    held = round(share * n)
    if 0 < held < k:
        return f"under {percent(k / n)}"
    return f"over {percent(1 - k / n)}" if 0 < n - held < k else percent(share)


def capped(risk: float, k: int, internal: bool = False) -> str:
    """A risk 1/f of a class of f people; outside it does not tell an f below k."""
    return f"over {percent(1 / k)}" if risk > (1 + 1e-9) / k and not internal else percent(risk)
