"""The frame of every page, and how its blocks speak with the server.

A page is a few blocks of HTML made by `shoal.report.markup`, which can't forget to escape. A block's fields carry
names and its buttons a ``data-do``; what a person changes or presses reaches one handler of the block. NiceGUI
carries the events and replaces blocks; it draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, tag
from shoal.web.controller import GoneError
from shoal.web.pages.look import FAVICON, script, style

__all__ = ["Block", "field", "problem", "screen"]

STEPS = (("columns", "Columns"), ("method", "Method"), ("results", "Results"), ("compare", "Compare"))
_CHANGE = """(e) => {
  const at = e.target;
  const chosen = at.multiple ? [...at.selectedOptions].map((option) => option.value) : at.value;
  const long = chosen.length > LONGEST && !at.multiple;
  at.setCustomValidity(long ? 'This is too long: at most LONGEST characters.' : '');
  if (long) at.reportValidity();
  else if (at.name) emit(at.name, at.type === 'checkbox' ? at.checked : chosen);
}""".replace("LONGEST", "250000")  # a message of more than a million bytes would end the connection
_PRESS = """(e) => {
  const button = e.target.closest('[data-do]');
  if (button && !button.disabled) emit(button.dataset.do, button.dataset.of || '');
}"""


@contextmanager
def screen(title: str, *, bench: str = "", step: str = "", scores: bool = False) -> Iterator[None]:
    """The page around what is built inside: skip link, header with the steps, and the main part."""
    ui.add_head_html(f"<style>{style()}</style>")
    ui.add_body_html(f"<script>{script()}</script>")
    ui.page_title(f"{title} · Shoal")
    ui.html(_top(bench, step, scores), sanitize=False)
    with ui.element("main").classes("sheet").props("id=main"):
        yield


class Block:
    """A part of a page that is drawn as a whole and can be drawn again.

    Parameters
    ----------
    draw
        Makes the HTML.
    on_change
        Called with the name and the value of a field that was changed.
    on_press
        Called with the ``data-do`` and ``data-of`` of a button that was pressed.
    live
        Whether a reader who listens is told when it changes.
    """

    def __init__(
        self,
        draw: Callable[[], Html],
        *,
        on_change: Callable[[str, Any], Any] | None = None,
        on_press: Callable[[str, str], Any] | None = None,
        live: bool = False,
    ) -> None:
        self._draw = draw
        self._shown = draw()
        self._html = ui.html(self._shown, sanitize=False)
        if live:
            self._html.props("aria-live=polite")
        if on_change:
            self._html.on("change", lambda event: _heed(on_change, event), js_handler=_CHANGE)
        if on_press:
            self._html.on("click", lambda event: _heed(on_press, event), js_handler=_PRESS)

    def redraw(self) -> None:
        """Draw it again, if it would look different."""
        made = self._draw()
        if made != self._shown:
            self._shown = made
            self._html.set_content(made)


def _heed(handler: Callable[..., Any], event: Any) -> Any:
    """Hand an event on; no error of it goes unsaid, whether it comes at once or later."""
    try:
        done = handler(*event.args)
    except ShoalError as error:
        return _excuse(error)
    return _heeded(done) if isawaitable(done) else None


async def _heeded(done: Awaitable[Any]) -> None:
    try:
        await done
    except ShoalError as error:
        _excuse(error)


def _excuse(error: ShoalError) -> None:
    """A page whose file was forgotten in another tab says so when it is built anew; else the error is shown."""
    if isinstance(error, GoneError):
        ui.navigate.reload()
    else:
        ui.notify(str(error), type="negative", timeout=0, close_button="Close", multi_line=True)


def problem(error: str | ShoalError | None) -> Html | None:
    """What is wrong and what to do, if anything is."""
    return tag("p", str(error), class_="problem", role="alert") if error else None


def field(label: str, control: Html, help: str = "") -> Html:
    """A control with its name above and its help below."""
    return tag("label", tag("span", label, class_="name"), control, tag("span", help, class_="help") if help else None)


def _top(bench: str, step: str, scores: bool) -> Html:
    brand = tag("a", Html(FAVICON), "Shoal", href="/", class_="brand", aria_label="Shoal: open a file")
    links = [_link("/", "File", step == "file")]
    links += [_step(bench, name, words, step) for name, words in STEPS]
    aside = [tag("a", "Jobs", href="/jobs")]
    if scores:
        aside.append(tag("a", "Scores", href="/scores"))
    nav = tag("nav", tag("ol", *links, class_="steps"), aria_label="Steps")
    inner = tag("div", brand, nav, tag("div", *aside, class_="aside"), class_="inner")
    return join([tag("a", "Skip to the content", href="#main", class_="skip"), tag("header", inner, class_="top")])


def _step(bench: str, name: str, words: str, here: str) -> Html:
    if not bench:
        return tag("li", tag("span", words, aria_disabled="true"))
    return _link(f"/b/{bench}/{name}", words, name == here)


def _link(href: str, words: str, here: bool) -> Html:
    return tag("li", tag("a", words, href=href, aria_current="page" if here else None))
