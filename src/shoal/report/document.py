"""A page of its own in the house style: title, badge, sections, and pictures that look alike.

No script, no link to anything outside. Text is escaped by `shoal.report.markup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from shoal.report.markup import Html, join, tag
from shoal.report.plots import picture

__all__ = ["altair", "document", "draw"]


def document(title: str, kicker: str, badge: str, parts: Mapping[str, Html]) -> str:
    """A complete HTML document; `parts` are its sections by heading, each with the id that `anchor` gives it."""
    links = [tag("li", tag("a", heading, href=f"#{anchor(heading)}")) for heading in parts]
    header = tag(
        "header",
        tag("h1", title),
        tag("p", kicker, class_="kicker"),
        tag("p", badge, class_="badge internal"),
        tag("nav", tag("ol", *links), aria_label="Sections"),
        class_="page",
    )
    footer = tag("footer", tag("p", f"{title}. Shoal documents; a person decides."), class_="page")
    body = join([header, tag("main", *(_part(heading, part) for heading, part in parts.items())), footer])
    return f"<!DOCTYPE html>\n{tag('html', _head(title), tag('body', body), lang='en')}\n"


def anchor(heading: str) -> str:
    """The id of a section."""
    return "".join(letter if letter.isalnum() else "-" for letter in heading.lower()).strip("-")


def altair() -> Any:
    """Altair, loaded when the first picture is drawn: it takes a second."""
    import altair as alt

    return alt


def draw(chart: Any, label: str) -> Html:
    """An Altair chart as inline SVG, one image to a screen reader."""
    return picture(chart, label)


def _part(heading: str, content: Html) -> Html:
    name = anchor(heading)
    return tag("section", tag("h2", heading, id=f"{name}-heading"), content, id=name, aria_labelledby=f"{name}-heading")


def _head(title: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="Shoal"),
        tag("title", title),
        tag("style", _style()),
    )


@cache
def _style() -> Html:
    return Html(files("shoal.report").joinpath("style.css").read_text(encoding="utf-8"))
