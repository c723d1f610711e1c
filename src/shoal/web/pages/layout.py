"""The document around a page: head, header with the five pages, the parts, and what is said at the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.report.markup import Child, Html, tag

if TYPE_CHECKING:
    from shoal.web.pages.page import Page

__all__ = ["FAVICON", "STYLE", "accepted_risk", "document", "empty", "field", "notice", "problem", "select"]

ROOMS = (("columns", "Columns"), ("method", "Method"), ("result", "Result"), ("compare", "Compare"))
STYLE = Html('<link rel="stylesheet" href="/static/style.css"><link rel="icon" href="/static/shoal.svg">')
_HEAD = Html(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)
_SCRIPT = Html('<script type="module" src="/static/app.js"></script>')
_SURE = Html(
    '<dialog id="sure" aria-labelledby="sure-text"><p id="sure-text"></p><div class="actions">'
    '<button type="button" value="yes" class="warn">Yes, do it</button>'
    '<button type="button" value="no" autofocus>No</button></div></dialog>'
)
_SAID = Html(
    '<div id="said" class="said" role="alert" hidden><p></p>'
    '<button type="button" class="quiet" data-close>Close</button></div>'
)
FAVICON = Html(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true">'
    '<rect width="32" height="32" rx="7" fill="#0b6470"/><g fill="#fff">'
    '<path d="M5 11c4-4 9-4 12 0-3 4-8 4-12 0zm12 0 4-3v6z"/>'
    '<path d="M10 21c4-4 9-4 12 0-3 4-8 4-12 0zm12 0 4-3v6z"/></g></svg>'
)


def document(page: Page, theme: str = "") -> str:
    """The whole page as HTML."""
    stamp = page.stamp if page.status == 200 else None  # what isn't there doesn't change either
    parts = [tag("div", part, id=name, class_=f"part {name}") for name, part in page.parts().items()]
    main = tag("main", *parts, id="main", class_="sheet", tabindex="-1")
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    body = tag("body", skip, _header(page), main, _SAID, _SURE)
    marks: dict[str, Any] = {"lang": "en", "data_stamp": stamp, "data_theme": theme if theme in _THEMES else None}
    head = tag("head", _HEAD, tag("title", page.title), STYLE, _SCRIPT)
    return f"<!DOCTYPE html>\n{tag('html', head, body, **marks)}\n"


_THEMES = ("light", "dark")


def problem(error: str | ShoalError | None) -> Html | None:
    """What is wrong and what to do, if anything is."""
    return tag("p", str(error), class_="problem", role="alert") if error else None


def empty(heading: str, words: Child, *links: Child) -> Html:
    """A page, or a part of one, with nothing to show: why, and what to do."""
    actions = tag("div", *links, class_="actions") if links else None
    return tag("div", FAVICON, tag("h1", heading), tag("p", words, class_="lead"), actions, class_="empty")


def notice(words: str) -> Html:
    """What went well."""
    return tag("p", words, class_="fine", role="status")


def field(label: str, control: Html, help: str = "") -> Html:
    """A control with its name above and its help below."""
    return tag("label", tag("span", label, class_="name"), control, tag("span", help, class_="help") if help else None)


def select(name: str, options: dict[str, str], chosen: Any, **marks: Any) -> Html:
    """A choice of one among some; what is chosen is among them even if it is none of them."""
    now = "" if chosen is None else str(chosen)
    entries = options if now in options else {**options, now: now}
    drawn = [tag("option", words, value=value, selected=value == now) for value, words in entries.items()]
    return tag("select", *drawn, name=name, **marks)


def _header(page: Page) -> Html:
    brand = tag("a", FAVICON, "Shoal", href="/", class_="brand", aria_label="Shoal: files")
    links = [_link("/", "File", page.slug == "file")]
    links += [_room(page.session, name, words, page.slug) for name, words in ROOMS]
    nav = tag("nav", tag("ol", *links, class_="steps"), aria_label="Steps")
    return tag("header", tag("div", brand, nav, _aside(page), class_="inner"), class_="top")


def _aside(page: Page) -> Html:
    links = []
    if page.session:
        links.append(_plain(f"/b/{page.session}/history", "History", page.slug == "history"))
    links.append(_plain("/jobs", "Jobs", page.slug == "jobs"))
    links.append(_plain("/releases", "Releases", page.slug == "releases"))
    if page.controller.scores:
        links.append(_plain("/scores", "Scores", page.slug == "scores"))
    words = [Html("&#9681;"), tag("span", "Light or dark", class_="heard")]
    theme = tag("button", *words, type="button", class_="quiet icon", data_theme_to=True, title="Light or dark")
    return tag("div", *links, theme, class_="aside")


def _plain(href: str, words: str, here: bool) -> Html:
    return tag("a", words, href=href, aria_current="page" if here else None)


def _room(session: str, name: str, words: str, here: str) -> Html:
    if not session:
        return tag("li", tag("span", words, aria_disabled="true"))
    return _link(f"/b/{session}/{name}", words, name == here)


def _link(href: str, words: str, here: bool) -> Html:
    return tag("li", tag("a", words, href=href, aria_current="page" if here else None))


def accepted_risk(limit: float) -> Html:
    """The field for the risk that is accepted, which holds on every page."""
    entry = tag(
        "input",
        type="number",
        name="risk_limit",
        value=f"{100 * limit:g}",
        min="0.1",
        max="100",
        step="any",
        aria_label="Accepted risk in percent",
    )
    return tag("label", "Accepted risk ", entry, " %", class_="inline")
