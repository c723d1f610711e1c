"""The controls of a form: one for each kind of question, and small tables with a value for each of some columns.

A line is named ``0.importance.age``: the place of its method, the parameter, and the rest is the column's name, which
may hold anything. A recoding step has several answers to a line: ``0.steps.high.age``. A line left empty says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.report.markup import Html, join, rows_table, tag
from shoal.web.forms import Field, fields
from shoal.web.inspect import Opened
from shoal.web.pages.layout import field as labelled
from shoal.web.recoding import Choice, begun, choice_of, choices_for, show_part

__all__ = ["Columns", "change_line", "control", "draw_lines", "option", "shown"]

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


MOST = 40  # of more columns only those with an answer have a line; others are added
_ROLES = ("quasi", "sensitive", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a file, as far as a form offers them.

    Parameters
    ----------
    names
        All of them.
    quasi, written
        The quasi-identifiers, and all that are released; all where nothing is known.
    types
        The type of each, as the columns page says it.
    """

    names: tuple[str, ...]
    quasi: tuple[str, ...]
    written: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, opened: Opened, words: Mapping[str, Mapping[str, Any]]) -> Columns:
        """The columns of an opened file, in the roles of its schema's words."""
        roles = {column.name: str(words.get(column.name, {}).get("role", "other")) for column in opened.columns}
        return cls(
            names=tuple(roles),
            quasi=tuple(name for name, role in roles.items() if role == "quasi"),
            written=tuple(name for name, role in roles.items() if role in _ROLES),
            types={column.name: column.type for column in opened.columns},
        )

    @classmethod
    def named(cls, names: Sequence[str]) -> Columns:
        """Columns of which only the names are known."""
        return cls(names=tuple(names), quasi=tuple(names), written=tuple(names))

    def lines(self, entry: Field) -> tuple[str, ...]:
        """The columns that a question's lines can apply to."""
        return self.quasi if entry.each in ("whole", "number") else self.written


def draw_lines(name: str, entry: Field, value: Any, columns: Columns, wrong: str | None) -> Html:
    """The table of lines under `name`; `wrong` is the column at fault (empty: none of them), None if nothing is."""
    given = value if isinstance(value, Mapping) else {}
    fitting = columns.lines(entry)
    at_once = fitting if len(fitting) <= MOST else ()
    shown = [*at_once, *(column for column in given if column not in at_once)]
    rows = [_row(name, entry, column, given.get(column), columns, column == wrong) for column in shown]
    table = rows_table(
        entry.label, _HEADS.get(str(entry.each), ["column", entry.label]), rows, kind="lines", quiet=True
    )
    more = _more(name, entry, [column for column in fitting if column not in shown])
    if entry.each == "step":
        return tag("div", table if rows else None, more, class_="all")
    inside = join([tag("span", entry.help, class_="help"), table if rows else None, more])
    about = f"{entry.label} of each column" if entry.single else entry.label
    return tag("details", tag("summary", about), inside, class_="all", open=bool(given) or wrong is not None)


def change_line(entry: Field, answer: Any, line: str, value: Any) -> dict[str, Any]:
    """The answer with one line changed, as ``age`` or, of a step, ``high.age``."""
    given = dict(answer) if isinstance(answer, Mapping) else {}
    if entry.each != "step":
        return {**given, line: value}
    part, _, column = line.partition(".")
    before = given.get(column) or {}
    return {**given, column: begun(value) if part == "step" else {**before, part: value}}


_HEADS = {"step": ["column", "what is done", "how"]}


def _row(name: str, entry: Field, column: str, value: Any, columns: Columns, wrong: bool) -> list[Html | str]:
    if entry.each == "step":
        return _step_row(
            name, column, value if isinstance(value, Mapping) else {}, columns.types.get(column, ""), wrong
        )
    others = [other for other in columns.written if other != column]
    asked = replace(entry, kind=entry.each or "text", minimum=0.0, maximum=None)  # ends are those of a single value
    label = f"{entry.label} of {column}"
    return [column, control(asked, f"{name}.{column}", value, others, label=label, wrong=wrong)]


def _step_row(name: str, column: str, words: Mapping[str, Any], type: str, wrong: bool) -> list[Html | str]:
    chosen = choice_of(words)
    offered = choices_for(type)
    offered = offered if chosen is None or chosen in offered else (*offered, chosen)
    options = [option("", "leave unchanged", chosen is None)]
    options += [option(choice.name, choice.title, choice == chosen) for choice in offered]
    select = tag("select", *options, name=f"{name}.step.{column}", aria_label=f"what is done to {column}")
    head = join([column, tag("span", type, class_="type") if type else None])
    return [head, select, _parts(name, column, words, chosen, wrong) if chosen else Html("")]


def _parts(name: str, column: str, words: Mapping[str, Any], chosen: Choice, wrong: bool) -> Html:
    asked = {entry.name: entry for entry in fields(chosen.step)}
    return tag("div", *(_part(name, column, words, asked[part], wrong) for part in chosen.parts), class_="parts")


def _part(name: str, column: str, words: Mapping[str, Any], entry: Field, wrong: bool) -> Html:
    place, value = f"{name}.{entry.name}.{column}", words.get(entry.name, entry.default)
    if entry.name == "rows":
        marks = {"aria_invalid": "true" if wrong else None, "placeholder": "I21;I20-I25;I00-I99\nJ45;J40-J47;J00-J99"}
        area = tag("textarea", show_part("rows", value), name=place, rows="4", **marks)
        return labelled("table", area, "one row per value, one column per level, no header")
    if entry.kind in ("flag", "choice"):
        return labelled(entry.label, control(entry, place, value, wrong=wrong), entry.help)
    return labelled(entry.label, control(entry, place, show_part(entry.name, value), wrong=wrong), entry.help)


def _more(name: str, entry: Field, rest: Sequence[str]) -> Html | None:
    if not rest:
        return None
    options = [option("", "choose a column", True), *(option(column, column, False) for column in rest)]
    return labelled("Another column", tag("select", *options, name=f"{name}+", aria_label=f"{entry.label} of another"))
