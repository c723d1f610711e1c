"""The first rows of a file, each column in the colour of its role."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.report.markup import Html, join, tag
from shoal.web.inspect import Opened

__all__ = ["first_rows"]


def first_rows(opened: Opened, roles: Mapping[str, str]) -> Html:
    """The table of first rows; a column without a known role is left plain."""
    names = opened.preview_columns
    heads = [tag("th", name, _role(roles.get(name)), scope="col", class_=roles.get(name)) for name in names]
    body = [
        tag("tr", *(tag("td", cell, class_=roles.get(name)) for name, cell in zip(names, row, strict=True)))
        for row in opened.preview
    ]
    caption = tag("caption", f"First {len(opened.preview)} rows, as read", class_="heard")
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="preview")
    area = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="First rows")
    return join([tag("h2", "First rows"), _legend() if roles else None, area])


def _role(role: str | None) -> Html | None:
    return tag("span", role, class_="role") if role else None


def _legend() -> Html:
    return tag("p", "Struck out: never released. Blue: masked. Sand: must not be disclosed.", class_="note")
