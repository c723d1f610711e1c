"""The form that asks for the token: plain HTML, no script."""

from __future__ import annotations

from shoal.report.markup import Html, join, tag
from shoal.web.pages.look import style

__all__ = ["login_page"]


def login_page(*, wrong: bool) -> str:
    """The page; `wrong` says that the token just given was not the right one."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Shoal workbench"),
        tag("style", style()),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', _body(wrong)), lang='en')}\n"


def _body(wrong: bool) -> Html:
    said = tag("p", "That token is not valid.", class_="problem", role="alert") if wrong else None
    field = Html('<input id="token" name="token" type="password" autocomplete="off" required autofocus>')
    form = tag(
        "form",
        tag("label", "Token", for_="token"),
        field,
        tag("button", "Enter", class_="main", type="submit"),
        method="post",
        action="/login",
        class_="login",
    )
    words = tag("p", "The command that started the workbench printed the token.")
    return tag("main", tag("h1", "Shoal workbench"), join([words, said, form]), class_="sheet")
