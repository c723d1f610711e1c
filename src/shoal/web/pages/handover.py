"""Hand a release over: sign the decision, write, send; and what can be done where earlier releases forbid it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.release.folders import inside_of
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import count
from shoal.web.controller import Controller
from shoal.web.handover import default_folder, default_key
from shoal.web.job import Job
from shoal.web.pages.layout import field, notice, problem
from shoal.web.releases import Left

__all__ = ["handover_cards", "releases_table", "ways_on"]


def handover_cards(controller: Controller, session: str, job: Job, *, wrong: Mapping[str, str]) -> Html:
    """Three cards in their order; `wrong` says what went wrong there (``sign``, ``write``)."""
    cards = [
        _sign(controller, session, job, wrong.get("sign", "")),
        _write(controller, session, job, wrong.get("write", "")),
        _take(job),
    ]
    return tag(
        "section",
        tag("h2", "Decide, sign, write, hand over"),
        tag("div", *cards, class_="three"),
        class_="way-out",
        id="way-out",
    )


def _sign(controller: Controller, id: str, job: Job, wrong: str) -> Html:
    session = controller.session(id)
    given = session.notes.get("decisions", {}).get(job.id, {})
    done = _signed(given) if given.get("signed") else None
    if not controller.by_path:
        words = "Signing needs a key on this machine: download the release and use `shoal sign`."
        return _card("1. Sign the decision", tag("p", words, class_="note"))
    key = str(given.get("key") or session.notes.get("key") or default_key())
    entries = [
        _entry("decision", "Decision", given.get("decision") or "May be released to the recipient."),
        _entry("by", "Who decides", given.get("by", "")),
        _entry("recipient", "Recipient", given.get("recipient", "")),
        field("Valid until", tag("input", type="date", name="expires", value=str(given.get("expires") or ""))),
        _entry("key", "Key file", key, "Made for you if there is none; keep it secret."),
        field(
            "Password of the key",
            tag("input", type="password", name="password", autocomplete="off"),
            "Only if the key has one, or is to have one.",
        ),
    ]
    press = tag("button", "Sign", type="submit", class_="main")
    form = tag("form", *entries, tag("div", press, class_="actions"), data_do="sign", class_="stack paired")
    return _card("1. Sign the decision", done, problem(wrong), form, kind="card broad")


def _signed(given: Mapping[str, Any]) -> Html:
    """Who signed and when; a project of an earlier version didn't note the day."""
    day = "" if given["signed"] is True else f" on {given['signed']}"
    return notice(f"Signed by {given['by']}{day}. Report and manifest say so. Sign again to change it.")


def _write(controller: Controller, session: str, job: Job, wrong: str) -> Html:
    notes = controller.session(session).notes
    done, entered = (notes.get(name, {}).get(job.id) for name in ("written", "entered"))
    said = notice(f"Written to {done}. Do not release {inside_of(done)}.") if done else None
    if not controller.by_path:
        return _card("2. Write", tag("p", "Files can't be written here by path: download them.", class_="note"))
    words = "What leaves is entered in your register of releases, and later ones are checked against it."
    registered = tag("p", f"In the register: release {entered}." if entered else words, class_="note")
    entry = _entry("target", "New folder on this machine", default_folder(controller, session))
    press = tag("button", "Write", type="submit", class_="main")
    form = tag("form", entry, tag("div", press, class_="actions"), data_do="write", class_="stack")
    return _card("2. Write", said, problem(wrong), form, registered if controller.registers else None)


def _take(job: Job) -> Html:
    base = f"/jobs/{job.id}"
    links = [
        tag("a", "Download the release", href=f"{base}/release.zip", class_="button main"),
        tag("a", "External report", href=f"{base}/report.html", target="_blank", rel="noopener", class_="button"),
        tag("a", "Internal report", href=f"{base}/internal.html", target="_blank", rel="noopener", class_="button"),
        tag("a", "Download the internal files", href=f"{base}/internal.zip", class_="button"),
    ]
    words = "The release holds table, report, manifest and signature. The internal files hold the seed: keep them."
    return _card("3. Hand over", tag("p", words, class_="note"), tag("div", *links, class_="stack"))


def ways_on(left: Sequence[Left], names: Sequence[str], *, groups: bool, wrong: str = "") -> Html:
    """What can be done where a release doesn't hold beside earlier ones: keep groups, withdraw, or override.

    Parameters
    ----------
    left, names
        The register, and the releases in it that stand in the way.
    groups
        Whether the recipe has groups that could be those of an earlier release.
    wrong
        What went wrong with the last press.
    """
    standing = [one for one in left if one.release in names and not one.withdrawn]
    cards = [_keep(standing[0]) if groups and standing else None, _withdraw(standing), _despite()]
    n = sum(card is not None for card in cards)
    lead = f"Whoever has both tables can narrow some people down to fewer than k. There are {_NUMBERS[n]} options:"
    return join([tag("p", lead), problem(wrong), tag("div", *cards, class_="three")])


_NUMBERS = {2: "two", 3: "three"}


def _keep(last: Left) -> Html:
    words = f"People hide in the groups of release {last.title} again, so that joining both tells nothing new."
    press = tag("button", "Keep its groups and run", type="button", class_="main", data_do="run-groups")
    return _card("Keep the groups", tag("p", words, class_="note"), tag("div", press, class_="actions"), level="h2")


def _withdraw(standing: Sequence[Left]) -> Html:
    if not standing:
        again = tag("button", "Run again", type="button", class_="main", data_do="run")
        words = "What stood in the way is withdrawn."
        return _card("It never left", tag("p", words, class_="note"), tag("div", again, class_="actions"), level="h2")
    words = "A release that was only a trial, or was recalled, need not count against this one."
    forms = [
        tag(
            "form",
            tag("p", tag("strong", f"Release {one.title}"), f" of {one.day}, {_for(one)}"),
            _entry("because", "Why it never left", ""),
            tag("div", tag("button", "Withdraw it and run", type="submit"), class_="actions"),
            data_do="run-withdrawn",
            data_of=one.release,
            class_="stack",
        )
        for one in standing
    ]
    return _card("It never left", tag("p", words, class_="note"), *forms, level="h2")


def _for(one: Left) -> str:
    return f"for {one.recipient}" if one.recipient else "no recipient named"


def _despite() -> Html:
    words = "The reason is signed, printed in the report and recorded in the register."
    form = tag(
        "form",
        _entry("despite", "Reason", ""),
        tag("div", tag("button", "Release despite it", type="submit", class_="warn"), class_="actions"),
        data_do="run-despite",
        class_="stack",
    )
    return _card("Release despite it", tag("p", words, class_="note"), form, level="h2")


def releases_table(left: Sequence[Left]) -> Html:
    """All releases of the register; those that stand can be withdrawn."""
    rows: list[list[Child]] = [
        [
            one.data,
            one.title,
            one.day,
            one.recipient or "–",
            count(one.rows),
            count(one.people),
            count(one.k),
            one.stands,
            None if one.withdrawn else _withdraw_here(one),
        ]
        for one in left
    ]
    head = ["data set", "release", "day", "recipient", "rows", "people", "k", "beside others", ""]
    return rows_table("Releases", head, rows, numeric=[4, 5, 6], quiet=True, kind="releases")


def _withdraw_here(one: Left) -> Html:
    label = f"Why release {one.title} is withdrawn"
    entry = tag("input", type="text", name="because", placeholder="it never left", aria_label=label)
    press = tag("button", "Withdraw", type="submit", class_="small", aria_label=f"Withdraw release {one.title}")
    return tag("form", entry, press, data_do="withdraw", data_of=one.release, class_="inline-form")


def _card(heading: str, *children: Child, kind: str = "card", level: str = "h3") -> Html:
    return tag("div", tag(level, heading), *children, class_=kind)


def _entry(name: str, label: str, value: Any, help: str = "") -> Html:
    return field(label, tag("input", type="text", name=name, value=str(value or "")), help)
