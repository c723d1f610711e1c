"""What every page has around its sections: head, skip link, contents, landmarks, footer.

One self-contained file: its one style sheet and its one script (tooltips) are inside, the policy in its head lets no
other script run and nothing be fetched, and it reads the same without the script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from shoal.report.markup import Html, join, tag

__all__ = ["shell"]


def shell(title: str, header: Html, contents: Mapping[str, str], sections: Html, *, name: str | None = None) -> str:
    """A complete HTML document.

    Parameters
    ----------
    title
        What the page is about; `name` is what a browser calls it, if that is another.
    header
        What stands above everything else, with the page's ``h1``.
    contents
        The sections' headings by their ids.
    sections
        The sections themselves.
    """
    body = join(
        [
            tag("a", "Skip to the report", href="#report", class_="skip"),
            header,
            tag("div", _contents(contents), tag("main", sections, id="report", tabindex="-1"), class_="frame"),
            tag("footer", tag("p", f"{title}. Shoal documents; a person decides."), class_="page"),
            tag("script", script()),
        ]
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(name or title), tag('body', body), lang='en')}\n"


def _contents(contents: Mapping[str, str]) -> Html:
    links = [tag("li", tag("a", heading, href=f"#{anchor}")) for anchor, heading in contents.items()]
    return tag("nav", tag("p", "Contents", id="contents"), tag("ol", *links), aria_labelledby="contents")


def _head(name: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="Shoal"),
        tag("title", name),
        tag("style", _file("style.css")),
    )


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
