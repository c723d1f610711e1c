"""What is left to people, on paper: the recipient and the use, the decision, and when it expires."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.markup import Html, section, tag

__all__ = ["decision", "expiry", "recipient"]


def recipient() -> Html:
    """Empty lines for who gets the table and what for."""
    return section(
        "recipient",
        "Recipient and use",
        tag(
            "p",
            "How far a table protects people depends on who holds it. No program knows that: the person who decides "
            "fills in these lines before reading on.",
        ),
        _lines(
            "Recipient and use",
            (
                "Recipient",
                "Purpose of the use",
                "What the recipient knows or can get of these people",
                "How access is limited (contract, secure room, public)",
                "Other tables about the same people that the recipient has",
            ),
        ),
    )


def decision() -> Html:
    """An empty block for the person who decides."""
    return section(
        "decision",
        "Who decides",
        tag(
            "p",
            "No tool can tell whether a release is acceptable: that depends on who receives it, what they know and "
            "what they have agreed to. The person below has read this page and decides.",
        ),
        _lines(
            "Decision",
            ("The assumptions hold for this recipient", "Decision", "Conditions", "Name", "Role", "Date", "Signature"),
        ),
    )


def expiry() -> Html:
    """Empty lines for how long the decision holds, and what ends it before."""
    return section(
        "expiry",
        "Expiry",
        tag("p", "A decision should expire: what outsiders know changes. Look at the release again before the date if"),
        tag(
            "ul",
            tag("li", "the recipient, the use or the way of access changes;"),
            tag("li", "another table about the same people is released, by anybody;"),
            tag("li", "a register or file becomes public that shares columns with this table;"),
            tag("li", "an attack becomes known that does better than those tried here."),
        ),
        _lines("Expiry", ("Valid until", "To be looked at again on", "By whom")),
    )


def _lines(caption: str, names: Sequence[str]) -> Html:
    """A table of empty lines to write on."""
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", aria_label=f"{name}: to be filled in")) for name in names]
    return tag(
        "table", tag("caption", f"{caption}: to be filled in", class_="heard"), tag("tbody", *rows), class_="sign"
    )
