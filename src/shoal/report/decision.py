"""What is left to people: the recipient and the use, the decision, and when it expires.

A page has these lines empty, to be written on. Where a decision was signed, its facts are filled in: each of the three
sections, and the answer at a glance, stands between two comments of its own, so that it can be replaced whole on a
finished page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from shoal.errors import InputError
from shoal.record import Record
from shoal.report.markup import Child, Html, join, section, tag

__all__ = ["Decision", "decision", "expiry", "recipient", "signed", "with_decision"]


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
    signed, key
        The day on which it was signed, and the number of the key; both are known before the signature is made, so that
        it covers them.

    Examples
    --------
    >>> from shoal.report.decision import Decision
    >>> Decision(by="R. Roe").to_dict()
    {'decision': None, 'by': 'R. Roe', 'recipient': None, 'expires': None, 'signed': None, 'key': None}
    """

    decision: str | None = None
    by: str | None = None
    recipient: str | None = None
    expires: date | None = None
    signed: date | None = None
    key: str | None = None

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Decision:
        """Read a decision back from its words; an InputError says that they are none."""
        texts = {name: words.get(name) for name in (*_TYPED, *_SIGNED)}
        known = set(words) == set(texts) or set(words) == set(_TYPED)  # earlier versions didn't say who signed when
        if not known or not all(text is None or isinstance(text, str) for text in texts.values()):
            raise InputError("decision", f"must have the texts {', '.join(texts)}, and nothing else")
        return cls(**texts | {name: _day(name, texts[name]) for name in ("expires", "signed")})


_TYPED, _SIGNED = ("decision", "by", "recipient", "expires"), ("signed", "key")


def _day(name: str, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError("decision", f"{name} must be a date, such as 2030-12-31") from None


def with_decision(page: str, decided: Decision | None) -> str:
    """A finished page with the lines of its three sections filled in, or empty again for None."""
    for name, made in _SECTIONS.items():
        begin, end = _marks(name)
        if name == _GLANCE and begin not in page:  # written by an earlier version
            continue
        if page.count(begin) != 1 or page.count(end) != 1:
            raise InputError("report", "must have a place for the decision", got=f"none for '{name}'")
        head, _, rest = page.partition(begin)
        page = f"{head}{made(decided)}{rest.partition(end)[2]}"
    return page


def signed(decided: Decision | None = None) -> Html:
    """Who must decide, at a glance, or who has."""
    begin, end = _marks(_GLANCE)
    return join([begin, *(_open() if decided is None else _closed(decided)), end])


def _open() -> list[Child]:
    words = (
        "A person. Shoal documents; it does not approve. Recipient, decision and expiry are empty lines in this "
        "report until someone signs under "
    )
    return [words, _PLACE, "."]


def _closed(decided: Decision) -> list[Child]:
    """What was signed, in one sentence."""
    day = f" on {decided.signed.isoformat()}" if decided.signed else ""
    who = f" by {decided.by}" if decided.by else ""
    whom = f", for {decided.recipient}" if decided.recipient else ""
    until = f", valid until {decided.expires.isoformat()}" if decided.expires else ""
    return [tag("strong", f"Signed{who}{day}{whom}{until}."), " See ", _PLACE, "."]


_PLACE = tag("a", "Who decides", href="#decision")
_GLANCE = "signed"


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
            _filled(decided) if decided else {},
        ),
    )


def _filled(decided: Decision) -> dict[str, str | None]:
    """The lines that a signed decision fills in."""
    signed = decided.signed.isoformat() if decided.signed else None
    return {
        "Decision": decided.decision,
        "Name": decided.by,
        "Date": signed,
        "Signature": f"digital, by key {decided.key}: manifest.json.minisig" if decided.key else None,
    }


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
    _GLANCE: signed,
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
