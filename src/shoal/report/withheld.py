"""What a page for everybody says where no comparison with the original may leave."""

from __future__ import annotations

from shoal.report.evidence import Evidence
from shoal.report.markup import Html, rows_table, section, tag
from shoal.report.numbers import percent

__all__ = ["risk_withheld", "utility_withheld"]


def risk_withheld(evidence: Evidence, first: str = "") -> Html:
    """Why there is no measured risk, after what is said `first`."""
    words = f"{first}What an intruder achieves was measured against the original. The numbers are internal: "
    return section("risk", "Risk, before and after", tag("p", f"{words}{evidence.withheld}."))


def utility_withheld(evidence: Evidence) -> Html:
    """Why there is no measured utility, and what the rows themselves show of it."""
    words = (
        "How well the table agrees with the original was measured but is internal, for the same reason. Ask "
        "the publisher to run an analysis on the original and to say whether the results agree."
    )
    return section("utility", "Utility: what is preserved", tag("p", words), _blanked(evidence))


def _blanked(evidence: Evidence) -> Html | None:
    """The share of values that are blank in the released rows: anybody can count it there."""
    if not evidence.blanked:
        return None
    rows = [(name, percent(share)) for name, share in evidence.blanked.items()]
    caption = "Values suppressed in the released rows"
    return rows_table(caption, ("Column", "Share suppressed"), rows, numeric=(1,), kind="narrow")
