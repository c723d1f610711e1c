"""What is said of a synthetic table in place of what is said of a masked one."""

from __future__ import annotations

from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, rows_table, section, tag
from shoal.report.numbers import between, count, number, percent

__all__ = ["synthetic_risk"]


def synthetic_risk(evidence: Evidence, *, internal: bool) -> Html:
    """What an intruder gets out of rows that are nobody's: copies of real rows, and guesses of sensitive values."""
    copies = evidence.risk.verbatim
    rows: list[tuple[Child, ...]] = [
        (
            "Synthetic combinations that occur in the original",
            percent(copies.share),
            "Of all quasi-identifiers together",
        ),
        (
            "Synthetic combinations that one person has in the original",
            percent(copies.unique_share),
            "A unique person's combination that was reproduced, by chance or by memorisation",
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
        rows_table("Copies", ("What", "Share", "Meaning"), rows, numeric=(1,)),
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
    rows: list[tuple[Child, ...]] = [
        ("Median distance to the closest record", number(found.median), number(found.other_median)),
        ("At distance 0", percent(found.copied_share), percent(found.other_copied_share)),
    ]
    head = ("Closest record", "Synthetic rows", "Other people")
    return [tag("p", words), rows_table("Distance to the closest record", head, rows, numeric=(1, 2))]


def _guesses(evidence: Evidence) -> list[Child]:
    guesses = list(evidence.risk.inference.columns.values())
    rows = [
        (
            guess.column,
            "share guessed right" if guess.measure == "success" else "mean absolute error",
            percent(guess.value) if guess.measure == "success" else number(guess.value),
            between(guess.interval, "percent" if guess.measure == "success" else "number"),
            percent(guess.baseline) if guess.measure == "success" else number(guess.baseline),
        )
        for guess in guesses
    ]
    head = ("Column", "Measure", "From the synthetic table", "95% interval", "Without it")
    return [rows_table("Guessing sensitive values", head, rows, numeric=(2, 3, 4))] if rows else []
