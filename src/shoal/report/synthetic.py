"""What is said of a synthetic table in place of what is said of a masked one."""

from __future__ import annotations

from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, rows_table, section, tag
from shoal.report.sections import signing, tile
from shoal.report.words import between, count, number, percent, plural

__all__ = ["synthetic_risk", "synthetic_summary"]


def synthetic_summary(evidence: Evidence) -> Html:
    """What this is, in a few sentences and numbers that say nothing of the private table."""
    return section(
        "summary",
        "Summary",
        tag(
            "p",
            "This page is the evidence for one synthetic table. Its rows were drawn from a model of records about "
            "people; no row is anybody's. ",
            " ".join(evidence.method),
        ),
        tag(
            "p",
            f"The table has {plural(evidence.n_released, 'row')}. How well it agrees with the private table is "
            "measured and kept inside: the claims below cover the rows, not numbers computed from the private table.",
        ),
        tag("dl", *_tiles(evidence), class_="tiles"),
        signing(),
    )


def _tiles(evidence: Evidence) -> list[Html]:
    tiles = [tile("Rows drawn", count(evidence.n_released), "Of no real person")]
    tiles += [tile(c.kind, number(c.value), f"{c.scope}, {c.basis}") for c in evidence.claims[:3]]
    if not evidence.claims:
        tiles.append(tile("Promises", "none", "Nothing is promised about differential privacy"))
    return tiles


def synthetic_risk(evidence: Evidence) -> Html:
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
            "A unique person's combination that came out again, by chance or by memory",
        ),
    ]
    return section(
        "risk",
        "Risk",
        tag(
            "p",
            "No row is anybody's, so nobody can be found. What is left is a copy of a rare combination, and a good "
            "guess of a sensitive value from people who resemble the person. These numbers compare with the private "
            "table and stay inside.",
        ),
        rows_table("Copies", ("What", "Share", "Meaning"), rows, numeric=(1,)),
        *_guesses(evidence),
    )


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
