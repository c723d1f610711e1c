"""The section on risk: what an intruder achieves."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.bands import Band
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, details, figure, rows_table, section, tag
from shoal.report.numbers import ABSENT, NOT_MEASURED, between, count, number, percent
from shoal.report.pieces import capped, found_before, guarded, people, proved_bound, too_few
from shoal.report.plots import class_size_plot, risk_plot
from shoal.risk import IntervalDisclosure, UnchangedColumnsAttack

__all__ = ["risk"]

MOST_GUESSES = 12


def risk(evidence: Evidence, *, internal: bool) -> Html:
    """What an intruder achieves."""
    return section(
        "risk",
        "Risk, before and after",
        tag(
            "p",
            "How well does an intruder do who knows a person's true quasi-identifiers and looks for that person in the "
            "released table? Attack results are measured on this release; a low number is not a proof.",
        ),
        tag("h3", "Attacks that were tried"),
        _attacks(evidence, internal),
        _dependences(evidence),
        *_sample_note(evidence),
        _inference(evidence),
        _class_mix(evidence, internal),
        tag("h3", "Probability of being found"),
        *_risk_figure(evidence),
        tag("h3", "How many people share a combination"),
        *_size_figure(evidence),
        tag("h3", "Attacker models"),
        _attacker_table(evidence, internal),
        _attacker_note(evidence),
    )


def _attacks(evidence: Evidence, internal: bool) -> Html:
    found, linked, close = evidence.risk.reidentification, evidence.risk.linkage, evidence.risk.intervals
    bound = proved_bound(evidence)
    rows: list[tuple[Child, ...]] = [
        (
            "Nearest match finds the right person",
            percent(found.expected),
            between(found.interval),
            f"Mean over all records, ties at random, in this release{found_before(evidence)}",
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
                f"Proved to be at most {percent(bound)}" if bound else "The largest over all records (group formula)",
            ),
        ]
    rows += [
        *_unchanged_rows(evidence.risk.unchanged),
        (
            "The nearest or second nearest original is the source",
            percent(linked.share),
            between(linked.interval),
            "Share of released rows that lead back to their person (record linkage)",
        ),
        _close_row(close),
        *_verbatim_rows(evidence, internal),
    ]
    head = ("Attack", "Result", "95% interval", "Meaning")
    return rows_table("Attacks and their success", head, rows, numeric=(1, 2), quiet=True)


def _close_row(close: IntervalDisclosure) -> tuple[Child, ...]:
    name = "Masked values close to the person's own"
    if close.share is None:
        return (name, NOT_MEASURED, "", f"Because {close.why}")
    meaning = f"Within {percent(close.width)} of the spread, or the same level; by chance {percent(close.chance)}"
    return (name, percent(close.share), "", meaning)


def _unchanged_rows(found: UnchangedColumnsAttack) -> list[tuple[Child, ...]]:
    name = "Match on quasi-identifiers and on columns published unchanged"
    if found.expected is None:
        return [(name, NOT_MEASURED, "", f"Because {found.why}")]
    tried = f"{count(found.n_targets)} records tried" if found.sampled else "All records tried"
    meaning = f"{tried}; nearest match finds {percent(found.baseline)} of them. No proof limits this attack"
    surest = "Over the tenth of the records of which the attack is most certain"
    return [
        (name, percent(found.expected), between(found.interval), meaning),
        ("The same, where the intruder is most certain", percent(found.surest), between(found.surest_interval), surest),
    ]


def _dependences(evidence: Evidence) -> Html | None:
    """Unchanged columns that are tied to quasi-identifiers, with what can be done."""
    found = evidence.risk.dependences
    if not found:
        return None
    items = [tag("li", f"{one.finding} {one.remedy}") for one in found]
    return tag("div", tag("h3", "Unchanged columns that undo the masking"), tag("ul", *items))


def _verbatim_rows(evidence: Evidence, internal: bool) -> list[tuple[Child, ...]]:
    copies = evidence.risk.verbatim
    rows: list[tuple[Child, ...]] = [
        (
            "Released combinations that occur in the original",
            guarded(copies.share, copies.n_rows, evidence, internal=internal),
            "",
            "Of all quasi-identifiers together; they may belong to anyone in the group",
        ),
        (
            "Released combinations that one person has in the original",
            guarded(copies.unique_share, copies.n_rows, evidence, internal=internal),
            "",
            "The combination is real, the rest of the row belongs to another member of the group, or to that person",
        ),
    ]
    return [row for row in rows if row[1] != ABSENT]


def _class_mix(evidence: Evidence, internal: bool) -> Html | None:
    mix, n = evidence.risk.class_mix, evidence.risk.verbatim.n_rows
    if mix is None:
        return None
    rows = [
        (
            "Class mix of the groups (X²)",
            number(mix.chi_square),
            f"Mean chi-square of a group against the whole table; groups drawn at random have about "
            f"{number(mix.random_chi_square)}",
        ),
        (
            "Records in groups of one class",
            guarded(mix.homogeneous_share, n, evidence, internal=internal),
            "Anyone who finds the group knows the class",
        ),
        (
            "Records that are the only one of their class in the group",
            guarded(mix.lone_share, n, evidence, internal=internal),
            "Anyone who finds the group and knows the class finds the record",
        ),
    ]
    caption = f"Does the group reveal the class? Classes: {', '.join(mix.columns)}"
    return rows_table(caption, ("Measure", "Result", "Meaning"), rows, numeric=(1,))


def _inference(evidence: Evidence) -> Html | None:
    guesses = list(evidence.risk.inference.columns.values())
    rows = [
        (
            guess.column,
            "share guessed right" if guess.measure == "success" else "mean absolute error",
            percent(guess.value) if guess.measure == "success" else number(guess.value),
            between(guess.interval, "percent" if guess.measure == "success" else "number"),
            percent(guess.baseline) if guess.measure == "success" else number(guess.baseline),
        )
        for guess in guesses[:MOST_GUESSES]
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
        "A better guess with the combination than without is the purpose of statistics; it is a leak only to the "
        "extent that it works better for people in the data than for people outside."
    )
    limits = f" The first {len(rows)} of {len(guesses)} columns are shown." if len(rows) < len(guesses) else ""
    return tag("div", table, tag("p", note, limits, class_="note"))


def _risk_figure(evidence: Evidence) -> list[Child]:
    bands = evidence.risks.bands
    if not bands:
        return [too_few(evidence)]
    by_group = evidence.risk.reidentification.by_group
    basis = "over all releases the method could have drawn" if by_group else "in this release"
    spoken = "; ".join(f"{band.label}: {percent(band.shares[0])}" for band in bands)
    picture = risk_plot(evidence.risks, f"Bar chart of records by probability of being found. {spoken}.")
    caption = f"Records by their probability of being found by nearest match, {basis}. Small bands are merged."
    table = _numbers("Records by probability of being found", bands, ("Records",))
    return [figure(picture, caption, table)]


def _size_figure(evidence: Evidence) -> list[Child]:
    bands = evidence.sizes.bands
    if not bands:
        return [too_few(evidence)]
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
    heading = "Records by number of people who share the combination"
    table = _numbers(heading, bands, ("Before", "After"))
    return [figure(picture, caption, table)]


def _numbers(caption: str, bands: Sequence[Band], tables: tuple[str, ...]) -> Html:
    """The numbers of a picture: counts and shares."""
    head = ["Band"]
    for name in tables:
        before = f"{name}: " if len(tables) > 1 else ""
        head += [f"{before}records", f"{before}share"]
    rows = [_band_row(band) for band in bands]
    numeric = tuple(range(1, len(head)))
    return details(caption, rows_table(caption, head, rows, numeric=numeric, kind="narrow"))


def _band_row(band: Band) -> list[Child]:
    row: list[Child] = [band.label]
    for records, share in zip(band.records, band.shares, strict=True):
        row += [people(records), percent(share)]
    return row


def _attacker_table(evidence: Evidence, internal: bool) -> Html:
    """Shares above 1/k and bands of class sizes have the same cut, so that no difference of the two tells more."""
    k, sides = evidence.k, evidence.attackers
    n = (evidence.n_used, evidence.n_released)
    above = [
        guarded(side.prosecutor.above_share, size, evidence, internal=internal)
        for side, size in zip(sides, n, strict=True)
    ]
    rows: list[tuple[Child, ...]] = [
        ("Prosecutor: largest", *(capped(side.prosecutor.largest, k, internal=internal) for side in sides)),
        ("Prosecutor: mean", *(percent(side.prosecutor.mean) for side in sides)),
        (f"Prosecutor: records above {percent(1 / k)}", *above),
        ("Journalist: largest expected", *(capped(side.journalist.largest, k, internal=internal) for side in sides)),
        ("Journalist: mean", *(percent(side.journalist.mean) for side in sides)),
        ("Marketer: expected share of correct matches", *(percent(side.marketer) for side in sides)),
    ]
    told = [row for row in rows if ABSENT not in row]
    return rows_table("Risk by attacker model", ("Model", "Before", "After"), told, numeric=(1, 2), quiet=True)


def _attacker_note(evidence: Evidence) -> Html:
    population, model = evidence.attackers[1].population, evidence.attackers[1].model
    size = (
        "The table is taken to be the whole population, which is the worst case."
        if population is None
        else f"The population is taken to have about {number(population)} people; how many of them share a combination "
        f"is unknown, so the journalist's and the marketer's risk are expectations under the {model} model, and a "
        "single record may be at higher risk."
    )
    words = (
        "The prosecutor knows that the person is in the table; the journalist matches against a register of the "
        "population; the marketer wants as many matches as possible. The models count equal combinations and take "
        "each at face value: where a mask moved the values, they say little and the attacks above say more. "
        f"{size}"
    )
    return tag("p", words, class_="note")


def _sample_note(evidence: Evidence) -> list[Child]:
    """Which of the attacks were tried on a random sample, and what still counts every record."""
    found, linked = evidence.risk.reidentification, evidence.risk.linkage
    said = [
        f"{what}: {count(result.n_targets)} of {count(n)}, drawn at random, each compared with all"
        for what, result, n in (
            ("Records matched", found, found.n_records),
            ("Released rows linked", linked, linked.n_rows),
        )
        if result.sampled
    ]
    end = "Intervals are those of the sample; bounds, class sizes and attacker models count every record."
    return [tag("p", "; ".join(said), ". ", end, class_="note")] if said else []
