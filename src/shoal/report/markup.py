"""HTML that can't forget to escape: what is not `Html` is text, and text is escaped.

Column names, levels and schema words reach the page only through `tag`, which escapes every child and attribute that
isn't `Html` already. `Html` is MarkupSafe's `Markup`, so templates and joins of other libraries keep the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from markupsafe import Markup as Html
from markupsafe import escape

__all__ = ["Child", "Html", "details", "figure", "join", "rows_table", "section", "tag"]


Child: TypeAlias = "str | Html | None"


def tag(element: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """One element; ``class_`` and ``aria_label`` style names give the attributes class and aria-label."""
    inner = join(children)
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in ("br", "hr", "input", "meta", "col"):
        return Html(f"<{element}{said}>")
    return Html(f"<{element}{said}>{inner}</{element}>")


def join(children: Iterable[Child]) -> Html:
    """Children one after the other, texts escaped."""
    return Html("").join(child for child in children if child is not None)


def section(name: str, heading: str, *children: Child) -> Html:
    """A section with its heading, which names it for readers who listen."""
    head = tag("h2", heading, id=f"{name}-heading")
    return tag("section", head, *children, id=name, aria_labelledby=f"{name}-heading")


def rows_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numeric: Sequence[int] = (),
    kind: str | None = None,
    quiet: bool = False,
) -> Html:
    """A table with caption, column headers and row headers; the columns `numeric` are set flush right.

    A `quiet` caption is only heard: a heading just above says as much to those who see.
    """
    heads = [_head(text, _flush(i, numeric)) for i, text in enumerate(head)]
    body = [tag("tr", *_cells(row, numeric, len(heads))) for row in rows]
    table = tag(
        "table",
        tag("caption", caption, class_="heard" if quiet else None),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        class_=kind,
    )
    return tag("div", table, class_="scroll", role="group", aria_label=caption, tabindex="0")


def details(about: str, *children: Child) -> Html:
    """What a reader may open: the numbers behind a picture; who listens is told which picture's."""
    return tag("details", tag("summary", "Numbers", tag("span", f": {about}", class_="heard")), *children)


def figure(picture: Html, caption: Child, *more: Child) -> Html:
    """A picture with its caption."""
    return tag("figure", picture, tag("figcaption", caption), *more)


def _head(text: str, kind: str | None) -> Html:
    """The head of a column; a corner without words is no head."""
    return tag("th", text, scope="col", class_=kind) if text else tag("td")


def _cells(row: Sequence[Child], numeric: Sequence[int], wide: int) -> list[Html]:
    """Its cells; that of a row with nothing else takes the whole of the table's width."""
    first = tag(
        "th", row[0], scope="row", class_=_flush(0, numeric), colspan=str(wide) if 1 == len(row) < wide else None
    )
    return [first, *(tag("td", cell, class_=_flush(i, numeric)) for i, cell in enumerate(row[1:], 1))]


def _flush(i: int, numeric: Sequence[int]) -> str | None:
    return "number" if i in numeric else None


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
