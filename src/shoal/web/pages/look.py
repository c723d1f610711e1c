"""The look of the pages: one style sheet, from the package, the reports' colours."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from shoal.report.markup import Html

__all__ = ["FAVICON", "script", "style"]

FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6470"/>'
    '<g fill="#fff"><path d="M5 11c4-4 9-4 12 0-3 4-8 4-12 0zm12 0 4-3v6z"/>'
    '<path d="M10 21c4-4 9-4 12 0-3 4-8 4-12 0zm12 0 4-3v6z"/></g></svg>'
)


@cache
def style() -> Html:
    """The style sheet."""
    return Html(files("shoal.web.pages").joinpath("style.css").read_text(encoding="utf-8"))


@cache
def script() -> Html:
    """The few lines that run in the browser: sending files, keeping focus and place, copying text."""
    return Html(files("shoal.web.pages").joinpath("script.js").read_text(encoding="utf-8"))
