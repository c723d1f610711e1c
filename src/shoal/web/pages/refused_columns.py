"""The columns for which a release was refused: why each is, and the two ways on that a person can take with a press."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from shoal.report.markup import Html, join, rows_table, tag
from shoal.web.controller import Controller

__all__ = ["refused_columns"]

LEAD = (
    "Decide column by column. An identifier is left out of the release. Release a column only if you have looked at it "
    "and it names nobody: manifest and report then say that a person allowed it. Free text can be scrubbed first "
    "(shoal scrub)."
)


def refused_columns(controller: Controller, session: str, naming: Sequence[tuple[str, str]]) -> Html:
    """Each refused column with the reason, and what was settled or can be; a run once all are settled."""
    rows = [[_name(controller, session, name), reason, _way(controller, session, name)] for name, reason in naming]
    waits = not all(_settled(controller, session, name) for name, _ in naming)
    run = tag("button", "Run again", type="button", class_="main", data_do="run", data_once=True, disabled=waits)
    table = rows_table("Refused columns", ["column", "why", "what to do"], rows, kind="refused", quiet=True)
    return join([tag("p", LEAD), table, tag("div", run, class_="actions")])


def _name(controller: Controller, session: str, name: str) -> Html:
    table, column = controller.place_of(session, name)
    asked = {"column": column, "q": column, **({"table": table} if table else {})}
    return tag("a", name, href=f"/b/{session}/columns?{urlencode(asked)}")


def _settled(controller: Controller, session: str, name: str) -> str:
    """What a person has decided; empty before that."""
    table, column = controller.place_of(session, name)
    if controller.session(session).columns(table).get(column, {}).get("role") == "identifier":
        return "an identifier: left out"
    return "looked at: released" if name in controller.allowed(session) else ""


def _way(controller: Controller, session: str, name: str) -> Html:
    settled = _settled(controller, session, name)
    if settled:
        return tag("span", settled, class_="verdict good")
    drop = _press("Make it an identifier", "drop", name, f"Make {name} an identifier")
    allow = _press("I have looked: release it", "allow", name, f"I have looked at {name}: release it")
    return tag("div", drop, allow, class_="actions")


def _press(words: str, do: str, name: str, label: str) -> Html:
    return tag("button", words, type="button", class_="small", data_do=do, data_of=name, aria_label=label)
