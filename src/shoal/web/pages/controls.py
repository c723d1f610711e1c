"""One control for each kind of question: what is asked by a number, a choice, a box to tick, columns or a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.markup import Html, tag
from shoal.web.forms import Field

__all__ = ["control", "option", "shown"]

_EXAMPLES = {
    "diversity": "3, entropy:2.5 or recursive:3,2",
    "closeness": "0.2, equal:0.2 or ordered:0.2",
    "edges": "0; 18; 40; 65",
    "within": "0 to 120",
    "rows": "I21;I20-I25;I00-I99",
}


def control(
    entry: Field,
    name: str,
    value: Any,
    columns: Sequence[str] = (),
    *,
    label: str | None = None,
    wrong: bool = False,
) -> Html:
    """The control that asks for `entry` under `name`; its `label` is heard where none is written beside it."""
    marks = {"name": name, "aria_label": label, "aria_invalid": "true" if wrong else None}
    if entry.kind == "flag":
        return tag("input", type="checkbox", checked=bool(value), **marks)
    if entry.kind == "choice":
        none = [option("", "choose", True)] if entry.required else []
        none += [option("none", "none", value is None)] if entry.optional else []
        options = [option(str(choice), str(choice), choice == value) for choice in entry.choices]
        return tag("select", *none, *options, **marks)
    if entry.kind == "columns":
        chosen = {value} if isinstance(value, str) else set(value or ())
        options = [option(column, column, column in chosen) for column in columns]
        return tag("select", *options, multiple=True, size=str(min(6, max(2, len(options)))), **marks)
    return tag("input", **marks, value=shown(value), **_limits(entry))


def option(value: str, words: str, chosen: bool) -> Html:
    """One option of a choice."""
    return tag("option", words, value=value, selected=chosen)


def shown(value: Any) -> str:
    """An answer as text; lists with semicolons, as everywhere on the pages."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "; ".join(map(shown, value))
    return f"{value:.6g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


def _limits(entry: Field) -> dict[str, str | None]:
    if entry.kind not in ("whole", "number"):
        return {"type": "text", "placeholder": _EXAMPLES.get(entry.name)}
    ends = {"min": entry.minimum, "max": entry.maximum}
    limits = {end: None if value is None else f"{value:g}" for end, value in ends.items()}
    return {"type": "number", "step": "1" if entry.kind == "whole" else "any", **limits}
