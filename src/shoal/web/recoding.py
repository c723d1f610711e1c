"""Recoding steps as a form asks for them: one choice for each column, and few answers to each.

What is typed stays as it was typed until it is read: ``0; 18; 40; 65`` for edges, ``0 to 120`` for a range, and a tree
as the table that ARX writes (no header, one row per value, one column per level; semicolon, tab or comma). A step in
the words of the command line, ``cap:high=90``, is read here too.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.coarsening.steps import Bins, Cap, DatePart, Prefix, Round, Star, Step, TreeLevel, step_of
from shoal.errors import ParameterError
from shoal.params import number

__all__ = [
    "CHOICES",
    "Choice",
    "begun",
    "choice_of",
    "choices_for",
    "read_step",
    "show_part",
    "split_steps",
    "table_rows",
    "table_text",
]

_NUMBERS = ("whole number", "number")
_DATES = ("date", "time")
_TEXTS = ("text", "true/false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One thing that can be done to a column.

    Parameters
    ----------
    name, title
        Its name in the form, and what it is called there.
    step
        The step that does it.
    parts
        The step's parameters that are asked for.
    types
        The types of column that it can be done to.

    Examples
    --------
    >>> from shoal.web.recoding import CHOICES
    >>> [(choice.title, choice.parts) for choice in CHOICES][1]
    ('bands between edges', ('edges',))
    """

    name: str
    title: str
    step: type[Step]
    parts: tuple[str, ...] = ()
    types: tuple[str, ...] = (*_NUMBERS, *_DATES, *_TEXTS)


CHOICES = (
    Choice(name="width", title="bands of one width", step=Bins, parts=("width", "origin", "within"), types=_NUMBERS),
    Choice(name="edges", title="bands between edges", step=Bins, parts=("edges",), types=_NUMBERS),
    Choice(name="cap", title="cap at both ends", step=Cap, parts=("low", "high"), types=_NUMBERS),
    Choice(name="round", title="round", step=Round, parts=("base",), types=_NUMBERS),
    Choice(name="date", title="part of a date", step=DatePart, parts=("part",), types=(*_DATES, *_TEXTS)),
    Choice(
        name="prefix",
        title="first letters",
        step=Prefix,
        parts=("keep", "length", "pad"),
        types=(*_NUMBERS, *_TEXTS),
    ),
    Choice(name="tree", title="hierarchy table", step=TreeLevel, parts=("rows", "level")),
    Choice(name="star", title="blank (*)", step=Star),
)
"""What can be done to a column, in the order in which it is offered."""


def choices_for(type: str) -> tuple[Choice, ...]:
    """What can be done to a column of this type; everything where the type isn't known."""
    return tuple(choice for choice in CHOICES if type in choice.types) or CHOICES


def choice_of(words: Mapping[str, Any]) -> Choice | None:
    """The choice that a step's words were made by; None before one is made."""
    kind = words.get("kind")
    found = [choice for choice in CHOICES if choice.step.kind == kind]
    return next((choice for choice in found if choice.name in words), found[0] if found else None)


def begun(name: str) -> dict[str, Any]:
    """The words of a step that was just chosen, its answers still to come; no words where nothing shall be done."""
    choice = next((choice for choice in CHOICES if choice.name == name), None)
    if choice is None:
        return {}
    return {"kind": choice.step.kind, **({name: ""} if name in choice.parts else {})}


def read_step(words: Step | Mapping[str, Any] | str) -> Step | Mapping[str, Any]:
    """A step whose answers may be texts, in checked words; an error says what is wrong with it."""
    given = _spoken(words) if isinstance(words, str) else words
    if isinstance(given, Mapping):
        given = {name: _read(name, value) for name, value in given.items() if value not in ("", None)}
        _check_whole(given)
    step_of(given)
    return given


def split_steps(text: str) -> dict[str, str] | None:
    """The steps of several columns, ``age=cap:high=90/zip=prefix:keep=3``; None where the text is no such list."""
    pairs = [part.partition("=") for part in text.split("/") if part.strip()]
    return {name.strip(): step for name, _, step in pairs} if pairs and all(equals for _, equals, _ in pairs) else None


def show_part(name: str, value: Any) -> str:
    """What a form shows of a step's parameter, such that it is read back as it was; what was typed stays so."""
    if value is None or isinstance(value, str):
        return "" if value in (None, "none") else str(value)
    if name == "rows":
        return table_text(value)
    if isinstance(value, list | tuple):
        return (" to " if name == "within" else "; ").join(map(_digits, value))
    return _digits(value)


def _spoken(text: str) -> dict[str, Any]:
    kind, _, rest = text.strip().partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    return {"kind": kind, **{name.strip(): value.strip() for name, _, value in parts}}


def _read(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name == "rows":
        return table_rows(value)
    if name == "edges":
        return tuple(number(part.strip()) for part in value.split(";") if part.strip())
    return tuple(number(part.strip()) for part in value.split(" to ")) if name == "within" else number(value.strip())


def _check_whole(words: Mapping[str, Any]) -> None:
    """Hold a step to have what it can't do without, by name."""
    cls: Any = next((choice.step for choice in CHOICES if choice.step.kind == words.get("kind")), None)
    for entry in dataclasses.fields(cls) if cls is not None else ():
        if entry.default is dataclasses.MISSING and entry.name not in words:
            raise ParameterError("step", f"{entry.name} must be given")


def table_rows(text: str) -> tuple[tuple[str, ...], ...]:
    """The table with the delimiter by which all its rows have as many columns, and more than one."""
    try:
        tables = [_parsed(text, delimiter) for delimiter in ";\t,"]
    except csv.Error as error:
        raise ParameterError("step", f"rows must be a table ({error})") from None
    even = (table for table in tables if len({len(row) for row in table}) == 1 and len(table[0]) > 1)
    return next(even, max(tables, key=lambda table: max(map(len, table), default=0)))


def _parsed(text: str, delimiter: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)


def table_text(rows: Any) -> str:
    """A hierarchy table as text that `table_rows` reads back."""
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def _digits(value: Any) -> str:
    """A number with all its digits: 18 rather than 18.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
