"""What every page has around its sections: head, skip link, contents, landmarks, footer.

One self-contained file: its one style sheet and its one script (tooltips) are inside, the policy in its head lets no
other script run and nothing be fetched, and it reads the same without the script. `document` is a page of its
own in the house style.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from shoal.report.markup import Html, join, section

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["document", "shell"]


def shell(
    title: str,
    kicker: str,
    contents: Mapping[str, str],
    sections: Html,
    *,
    badge: str,
    audience: str = "internal",
    name: str | None = None,
) -> str:
    """A complete HTML document.

    Parameters
    ----------
    title, kicker
        What the page is about, and the line below it; `name` is what a browser calls it, if that is another.
    contents
        The sections' headings by their ids.
    sections
        The sections themselves.
    badge, audience
        For whom the page is, in words and in one word.
    """
    page = _template().render(
        title=title, kicker=kicker, contents=contents, sections=sections, badge=badge, audience=audience,
        name=name or title, policy=policy(), style=_file("style.css"), script=script(),
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{page}\n"


@cache
def _template() -> Template:
    """The page around its sections; its lines are for whoever edits it, the page has nothing between elements."""
    from jinja2 import Environment, StrictUndefined  # a tenth of a second, and most commands draw no page

    lines = _file("templates/page.html").splitlines()
    return Environment(autoescape=True, undefined=StrictUndefined).from_string("".join(map(str.strip, lines)))


@cache
def policy() -> str:
    """Nothing may be fetched, sent or run but the page's own script."""
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )


@cache
def script() -> Html:
    """The script that shows a mark's words at the pointer and at the arrow keys."""
    return _file("tooltip.js")


@cache
def _file(name: str) -> Html:
    return Html(files("shoal.report").joinpath(name).read_text(encoding="utf-8"))


def document(title: str, kicker: str, badge: str, parts: Mapping[str, Html]) -> str:
    """A complete HTML document; `parts` are its sections by heading, each with the id that `anchor` gives it."""
    sections = join(section(anchor(heading), heading, part) for heading, part in parts.items())
    return shell(title, kicker, {anchor(heading): heading for heading in parts}, sections, badge=badge)


def anchor(heading: str) -> str:
    """The id of a section."""
    return "".join(letter if letter.isalnum() else "-" for letter in heading.lower()).strip("-")
