"""A page of its own in the house style: title, badge, sections, and pictures that look alike.

One script of its own (tooltips), no link to anything outside. Text is escaped by `shoal.report.markup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.drawing import altair, data, picture
from shoal.report.layout import shell
from shoal.report.markup import Html, join, section, tag

__all__ = ["altair", "data", "document", "draw"]


def document(title: str, kicker: str, badge: str, parts: Mapping[str, Html]) -> str:
    """A complete HTML document; `parts` are its sections by heading, each with the id that `anchor` gives it."""
    header = tag(
        "header",
        tag("p", badge, class_="badge internal"),
        tag("h1", title),
        tag("p", kicker, class_="kicker"),
        class_="page",
    )
    sections = join(section(anchor(heading), heading, part) for heading, part in parts.items())
    return shell(title, header, {anchor(heading): heading for heading in parts}, sections)


def anchor(heading: str) -> str:
    """The id of a section."""
    return "".join(letter if letter.isalnum() else "-" for letter in heading.lower()).strip("-")


def draw(chart: Any, label: str) -> Html:
    """An Altair chart as inline SVG, one image to a screen reader, with the words of each mark as its tooltip."""
    return picture(chart, label)
