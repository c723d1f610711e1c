"""The section on risk: what an intruder achieves, in rows of people and in rows of nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.reading import Reading
from shoal.report.attackers import attackers
from shoal.report.bands import Band
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, details, figure, join, rows_table, section, tag
from shoal.report.numbers import between, count, number, percent
from shoal.report.pieces import before_share, guarded, may_tell, people, proved_bound, too_few
from shoal.report.plots import class_size_plot, risk_plot
from shoal.report.readings import reading_table, verdict
from shoal.report.what_was_done import is_apart
from shoal.risk import ClassMix, IntervalDisclosure, UnchangedColumnsAttack

__all__ = ["risk", "synthetic_risk"]

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
        tag("h3", f"How many {evidence.crowd} share a combination"),
        *_size_figure(evidence),
        tag("h3", "Attacker models"),
        *attackers(evidence, internal),
    )


def _attacks(evidence: Evidence, internal: bool) -> Html:
    found, linked, bound = evidence.risk.reidentification, evidence.risk.linkage, proved_bound(evidence)
    n = found.n_records
    too_low = " A set or range is read as one value, so this is too low here." if evidence.coarsened else ""
    limit: dict[str, Any] = {"limit": bound, "basis": "proved" if bound else ""}
    readings = [
        Reading(
            name="Nearest match finds the right person",
            value=found.expected,
            interval=found.interval,
            before=before_share(evidence),
            chance=1 / n,
            n=n,
            meaning="Mean over all records, ties at random, in this release.",
            **limit,
        )
    ]
    if found.by_group is not None:
        readings += [
            Reading(
                name="The same, over all releases the method could have drawn",
                value=found.by_group.mean,
                chance=1 / n,
                n=n,
                meaning="Mean over all records (group formula).",
                **limit,
            ),
            Reading(
                name="The same, for the person most at risk",
                value=found.by_group.largest,
                chance=1 / n,
                meaning="The largest over all records (group formula).",
                **limit,
            ),
        ]
    readings += [
        *_unchanged_readings(evidence.risk.unchanged, before_share(evidence), apart=is_apart(evidence.recipe)),
        Reading(
            name="The nearest or second nearest original is the source",
            value=linked.share,
            interval=linked.interval,
            chance=2 / n,
            n=linked.n_rows,
            meaning=f"Share of released rows that lead back to their person (record linkage, two guesses).{too_low}",
        ),
        _close_reading(evidence.risk.intervals),
    ]
    return tag("div", reading_table("Attacks and their success", readings), _verbatim(evidence, internal))


def _close_reading(close: IntervalDisclosure) -> Reading:
    name = "Masked values close to the person's own"
    if close.share is None:
        return Reading(name=name, value=None, meaning=f"Because {close.why}.")
    meaning = f"Within {percent(close.width)} of the spread, or the same level."
    return Reading(name=name, value=close.share, chance=close.chance, before=1.0, meaning=meaning)


def _unchanged_readings(found: UnchangedColumnsAttack, before: float | None, *, apart: bool) -> list[Reading]:
    name = f"Match on quasi-identifiers and on {'all other columns' if apart else 'columns published unchanged'}"
    if found.expected is None:
        return [Reading(name=name, value=None, meaning=f"Because {found.why}.")]
    tried = f"{count(found.n_targets)} records tried" if found.sampled else "All records tried"
    chance = 1 / found.n_records
    return [
        Reading(
            name=name,
            value=found.expected,
            interval=found.interval,
            before=before,
            chance=chance,
            n=found.n_targets,
            meaning=f"{tried}; nearest match finds {percent(found.baseline)} of them."
            + ("" if apart else " No proof limits this attack."),
        ),
        Reading(
            name="The same, where the intruder is most certain",
            value=found.surest,
            interval=found.surest_interval,
            chance=chance,
            meaning="Over the tenth of the records of which the attack is most certain.",
        ),
    ]


def _dependences(evidence: Evidence) -> Html | None:
    """Unchanged columns that are tied to quasi-identifiers, with what can be done."""
    found = evidence.risk.dependences
    if not found:
        return None
    items = [tag("li", f"{one.finding} {one.remedy}") for one in found]
    return tag("div", tag("h3", "Unchanged columns that undo the masking"), tag("ul", *items))


def _verbatim(evidence: Evidence, internal: bool) -> Html | None:
    """Combinations that stand in both tables; a share that may not be told is not in the table."""
    copies, n = evidence.risk.verbatim, evidence.risk.verbatim.n_rows
    shared = evidence.risk.reidentification.by_group is not None
    texts = {
        "Released combinations that occur in the original": (
            copies.share,
            f"Of all quasi-identifiers together{'; they may belong to anyone in the group' if shared else ''}. The "
            "original itself has 100%.",
        ),
        "Released combinations that one person has in the original": (
            copies.unique_share,
            "The combination is real, the rest of the row belongs to another member of the group, or to that person."
            if shared
            else "The combination is real, and the rest of the row may be that person's own.",
        ),
    }
    rows = [
        (name, guarded(share, n, evidence, internal=internal), count(n), join([_copied(share), f" {meaning}"]))
        for name, (share, meaning) in texts.items()
        if may_tell(share, n, evidence, internal=internal)
    ]
    head = ("Combinations", "Share", "Of rows", "Reading")
    return rows_table("Original combinations in the release", head, rows, numeric=(1, 2)) if rows else None


def _copied(share: float) -> Html:
    return verdict(Reading(name="combinations", value=share, before=1.0))


def _class_mix(evidence: Evidence, internal: bool) -> Html | None:
    """What groups tell about each sensitive column of classes."""
    mixes, n = evidence.risk.class_mix, evidence.risk.verbatim.n_rows
    if not mixes:
        return None
    rows = [
        (
            *mix.columns,
            f"{number(mix.chi_square)} ({number(mix.random_chi_square)})",
            *(
                f"{guarded(share, n, evidence, internal=internal)}{_chance(random, internal)}"
                for share, random in (
                    (mix.homogeneous_share, mix.random_homogeneous_share),
                    (mix.lone_share, mix.random_lone_share),
                )
            ),
            verdict(_mix_reading(mix)),
        )
        for mix in mixes
    ]
    head = (
        "Sensitive column",
        "X² (random groups)",
        "Records in groups of one class",
        "Only one of their class",
        "Reading",
    )
    note = (
        f"Of {count(n)} records. X² is the mean chi-square of a group against the whole table, beside what groups "
        "drawn at random have. Anyone who finds a group of one class knows the class; anyone who finds the group and "
        "knows that a record is the only one of its class there finds the record."
    )
    table = rows_table("Does the group reveal the class?", head, rows, numeric=(1, 2, 3))
    return tag("div", table, tag("p", note, class_="note"))


def _chance(share: float, internal: bool) -> str:
    """What random groups of the same sizes show; the sizes are internal, and so is this."""
    return f" ({percent(share)})" if internal else ""


def _mix_reading(mix: ClassMix) -> Reading:
    return Reading(
        name="class mix", value=mix.chi_square, chance=mix.random_chi_square, against="random groups", shows="number"
    )


def _inference(evidence: Evidence) -> Html | None:
    guesses = _guess_rows(evidence)
    rows = guesses[:MOST_GUESSES]
    if not rows:
        return None
    head = (
        "Sensitive column",
        "Measure",
        "With the combination",
        "95% interval",
        "Without (one guess for all)",
        "Reading",
    )
    table = rows_table("Guessing a sensitive value from the release", head, rows, numeric=(2, 3, 4))
    note = (
        "A better guess with the combination than without is the purpose of statistics; it is a leak only to the "
        "extent that it works better for people in the data than for people outside. "
        f"Tried on {count(evidence.risk.inference.n_targets)} records."
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
    label = f"Bar chart of records by class size, before and after. {spoken}."
    picture = class_size_plot(evidence.sizes, label, evidence.crowd)
    collapsed = evidence.small.smallest[1] >= evidence.k
    meaning = (
        f"After, every combination is shared by at least {evidence.k} {evidence.crowd}."
        if collapsed
        else f"{_rare(evidence)} What counts is the probability above."
    )
    caption = f"Records by the number of {evidence.crowd} that share their combination of quasi-identifiers. {meaning}"
    heading = f"Records by number of {evidence.crowd} that share the combination"
    table = _numbers(heading, bands, ("Before", "After"))
    return [figure(picture, caption, table)]


def _rare(evidence: Evidence) -> str:
    """What a rare combination in the release says, where groups don't share theirs."""
    if evidence.risk.reidentification.by_group is None:
        return "After, the rest of a row may be its own person's."
    return (
        "After, a rare combination does not point at one person: the rest of its row belongs to any member of the "
        "group."
    )


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


def synthetic_risk(evidence: Evidence, *, internal: bool) -> Html:
    """What an intruder gets out of rows that are nobody's: copies of real rows, and guesses of sensitive values."""
    copies = evidence.risk.verbatim
    readings = [
        Reading(
            name="Synthetic combinations that occur in the original",
            value=copies.share,
            before=1.0,
            n=copies.n_rows,
            meaning="Of all quasi-identifiers together.",
        ),
        Reading(
            name="Synthetic combinations that one person has in the original",
            value=copies.unique_share,
            before=evidence.attackers[0].prosecutor.above_share if evidence.k == 2 else None,
            n=copies.n_rows,
            meaning="A unique person's combination that was reproduced, by chance or by memorisation.",
        ),
    ]
    return section(
        "risk",
        "Risk, before and after",
        tag(
            "p",
            "No row belongs to a real person, so nobody can be found. What remains is a copy of a rare "
            "combination, and a good guess of a sensitive value from people who resemble the person. These numbers "
            "compare with "
            "the private table and are internal.",
        ),
        reading_table("Copies", readings, quiet=False),
        *_closest(evidence),
        *_guesses(evidence),
    )


def _closest(evidence: Evidence) -> list[Child]:
    """How near the rows are to real records, beside how near other people are to them."""
    found = evidence.risk.closest
    if found is None:
        return []
    which = "a random sample of the synthetic rows" if found.sampled else "all synthetic rows"
    words = (
        f"A model that memorises draws rows closer to real records than another person would be. Measured on "
        f"{count(found.n_targets)} rows ({which}), each against {count(found.n_reference)} records: closer than "
        f"another person in {percent(found.share)} of comparisons (95% interval {between(found.interval)}); new "
        "rows from the same population would give 50%."
    )
    closer = Reading(
        name="closer", value=found.share, interval=found.interval, chance=0.5, against="new rows", slack=0.02
    )
    rows: list[tuple[Child, ...]] = [
        ("Median distance to the closest record", number(found.median), number(found.other_median)),
        ("At distance 0", percent(found.copied_share), percent(found.other_copied_share)),
    ]
    head = ("Closest record", "Synthetic rows", "Other people")
    return [
        tag("p", words, " ", verdict(closer)),
        rows_table("Distance to the closest record", head, rows, numeric=(1, 2)),
    ]


def _guesses(evidence: Evidence) -> list[Child]:
    rows = _guess_rows(evidence)
    head = ("Column", "Measure", "From the synthetic table", "95% interval", "Without it", "Reading")
    return [rows_table("Guessing sensitive values", head, rows, numeric=(2, 3, 4))] if rows else []


def _guess_rows(evidence: Evidence) -> list[tuple[Child, ...]]:
    """How well each sensitive column is guessed: a share where it has categories, an error where it has numbers."""
    rows: list[tuple[Child, ...]] = []
    for guess in evidence.risk.inference.columns.values():
        is_share = guess.measure == "success"
        shown = percent if is_share else number
        measure = "share guessed right" if is_share else "mean absolute error"
        interval = between(guess.interval, "percent" if is_share else "number")
        better = Reading(
            name=guess.column,
            value=guess.value,
            chance=guess.baseline,
            shows="share" if is_share else "number",
            better="lower" if is_share else "higher",
        )
        texts = (guess.column, measure, shown(guess.value), interval, shown(guess.baseline), verdict(better))
        rows.append(texts)
    return rows
