"""What is left to people: the recipient and the use, the decision, and when it expires.

A page has these lines empty, to be written on. Where a decision was signed, its facts are filled in: each of the three
sections stands between two comments of its own, so that it can be replaced whole on a finished page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from shoal.errors import InputError
from shoal.record import Record
from shoal.report.markup import Html, join, section, tag

__all__ = ["Decision", "decision", "expiry", "recipient", "with_decision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Record):
    """What a person has decided about a release.

    Parameters
    ----------
    decision
        What was decided, in the person's own words.
    by
        Who decided.
    recipient
        Who gets the table.
    expires
        The last day on which the decision holds.

    Examples
    --------
    >>> from shoal.report.decision import Decision
    >>> Decision(by="R. Roe", recipient="University hospital").to_dict()
    {'decision': None, 'by': 'R. Roe', 'recipient': 'University hospital', 'expires': None}
    """

    decision: str | None = None
    by: str | None = None
    recipient: str | None = None
    expires: date | None = None

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Decision:
        """Read a decision back from its words; an InputError says that they are none."""
        texts = {name: words.get(name) for name in ("decision", "by", "recipient", "expires")}
        if set(words) != set(texts) or not all(text is None or isinstance(text, str) for text in texts.values()):
            raise InputError("decision", "must have the texts decision, by, recipient and expires, and nothing else")
        try:
            expires = None if texts["expires"] is None else date.fromisoformat(texts["expires"])
        except ValueError:
            raise InputError("decision", "expires must be a date, such as 2030-12-31") from None
        return cls(decision=texts["decision"], by=texts["by"], recipient=texts["recipient"], expires=expires)


def with_decision(page: str, decided: Decision | None) -> str:
    """A finished page with the lines of its three sections filled in, or empty again for None."""
    for name, made in _SECTIONS.items():
        begin, end = _marks(name)
        if page.count(begin) != 1 or page.count(end) != 1:
            raise InputError("report", "must have a place for the decision", got=f"none for '{name}'")
        head, _, rest = page.partition(begin)
        page = f"{head}{made(decided)}{rest.partition(end)[2]}"
    return page


def recipient(decided: Decision | None = None) -> Html:
    """Lines for who gets the table and what for."""
    return _marked(
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
                "How access is limited (contract, secure environment, public)",
                "Other tables about the same people that the recipient has",
            ),
            {"Recipient": decided.recipient} if decided else {},
        ),
    )


def decision(decided: Decision | None = None) -> Html:
    """A block for the person who decides."""
    return _marked(
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
            {"Decision": decided.decision, "Name": decided.by} if decided else {},
        ),
    )


def expiry(decided: Decision | None = None) -> Html:
    """Lines for how long the decision holds, and what ends it before."""
    until = decided.expires.isoformat() if decided and decided.expires else None
    return _marked(
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
        _lines("Expiry", ("Valid until", "To be looked at again on", "By whom"), {"Valid until": until}),
    )


_SECTIONS: Mapping[str, Callable[[Decision | None], Html]] = {
    "recipient": recipient,
    "decision": decision,
    "expiry": expiry,
}


def _marked(name: str, heading: str, *children: Html) -> Html:
    """A section between its two comments."""
    begin, end = _marks(name)
    return join([begin, section(name, heading, *children), end])


def _marks(name: str) -> tuple[Html, Html]:
    return Html(f"<!--{name}:begin-->"), Html(f"<!--{name}:end-->")


def _lines(caption: str, names: Sequence[str], filled: Mapping[str, str | None]) -> Html:
    """A table of lines to write on, some of them filled in."""
    return tag(
        "table",
        tag("caption", caption if any(filled.values()) else f"{caption}: to be filled in", class_="heard"),
        tag("tbody", *(_line(name, filled.get(name)) for name in names)),
        class_="sign",
    )


def _line(name: str, text: str | None) -> Html:
    empty = None if text else f"{name}: to be filled in"
    return tag("tr", tag("th", name, scope="row"), tag("td", text, aria_label=empty))
