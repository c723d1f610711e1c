"""A recipe as slots that a form can show and change: one slot for each method of its chain.

Pure functions from values to values; the page that shows them is `shoal.web.pages.method`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import ParameterError
from shoal.method import Family
from shoal.recipe import known_method
from shoal.report.markup import Html, join, tag
from shoal.web.catalogue import Method, methods
from shoal.web.effects import effect_of
from shoal.web.forms import Field, FieldError, read
from shoal.web.pages.form_controls import Columns, change_line, control, draw_lines, option
from shoal.web.pages.layout import field as labelled

__all__ = ["Fault", "Slot", "add_slot", "change_slot", "draw_slots", "fault", "remove_slot", "slots_of", "words_of"]

LEGENDS: dict[Family, str] = {
    "group": "Grouping",
    "mask": "Masking",
    "coarsen": "Coarsening",
    "synthesize": "Synthesis",
    "events": "Events",
}
CHAINED: tuple[Family, ...] = ("mask", "coarsen", "events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One method of a recipe and what was answered for its parameters."""

    family: Family
    method: str
    answers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Which field of which slot can't be taken, and why; `column` names the line of a field with several."""

    place: int
    field: str
    words: str
    column: str = ""


def fault(slots: Sequence[Slot]) -> Fault | None:
    """The first answer that can't be taken, if any."""
    for place, slot in enumerate(slots):
        answers = {name: value for name, value in slot.answers.items() if name != "rows"}
        try:
            read(known_method(slot.family, slot.method), answers)
        except FieldError as error:
            return Fault(place=place, field=error.field, words=str(error), column=error.column)
        except ParameterError as error:
            return Fault(place=place, field="", words=str(error))
    return None


def slots_of(words: Mapping[str, Any]) -> tuple[Slot, ...]:
    """The slots of a recipe's words."""
    slots = []
    for family in LEGENDS:
        given = words.get(family, [])
        slots += [_slot(family, entry) for entry in ([given] if isinstance(given, Mapping) else given)]
    return tuple(slots)


def words_of(slots: Sequence[Slot]) -> dict[str, Any]:
    """The words of the recipe that the slots spell."""
    words: dict[str, Any] = {}
    for slot in slots:
        entry = {"method": slot.method, **slot.answers}
        if slot.family in CHAINED:
            words.setdefault(slot.family, []).append(entry)
        else:
            words[slot.family] = entry
    return words


def change_slot(slots: Sequence[Slot], name: str, value: Any) -> tuple[Slot, ...]:
    """The slots after the field `name`, as ``0.k`` or ``0.importance.age``, was set.

    Another method keeps the answers it has a place for.
    """
    place, _, key = name.partition(".")
    slot = slots[int(place)]
    if key == "method":
        places = {entry.name for entry in _method(slot.family, value).fields}
        kept = {name: answer for name, answer in slot.answers.items() if name in places}
        changed = replace(slot, method=value, answers=kept)
    else:
        changed = replace(slot, answers=_answered(slot, key, value))
    return tuple(changed if i == int(place) else other for i, other in enumerate(slots))


def add_slot(slots: Sequence[Slot], family: str) -> tuple[Slot, ...]:
    """The slots with one more method of a family that can be chained, at the end."""
    chained = next(known for known in CHAINED if known == family)
    last = max(i for i, slot in enumerate(slots) if slot.family == chained)
    return (*slots[: last + 1], Slot(family=chained, method=methods(chained)[0].name), *slots[last + 1 :])


def remove_slot(slots: Sequence[Slot], place: int) -> tuple[Slot, ...]:
    """The slots without one of them."""
    return tuple(slot for i, slot in enumerate(slots) if i != place)


def draw_slots(slots: Sequence[Slot], columns: Columns, wrong: Fault | None = None) -> Html:
    """The forms of all slots, the field at fault marked, and a button for one more where the family can be chained."""
    drawn, seen = [], set()
    for place, slot in enumerate(slots):
        bad = wrong if wrong and wrong.place == place else None
        drawn.append(_draw(place, slot, columns, first=slot.family not in seen, wrong=bad))
        seen.add(slot.family)
        if place + 1 == len(slots) or slots[place + 1].family != slot.family:
            drawn.append(_one_more(slot.family))
    return join(drawn)


_MORE = {"mask": "Add another mask", "coarsen": "Add another step", "events": "Add another method for events"}


def _one_more(family: Family) -> Html:
    more = _MORE.get(family)
    return tag("button", more, type="button", data_do="add", data_of=family) if more else Html("")


def _draw(place: int, slot: Slot, columns: Columns, *, first: bool, wrong: Fault | None) -> Html:
    """The form of one slot; what is at fault is marked."""
    method = _method(slot.family, slot.method)
    options = [option(entry.name, entry.title, entry.name == slot.method) for entry in methods(slot.family)]
    choose = tag("select", *options, name=f"{place}.method", aria_label=LEGENDS[slot.family])
    remove = (
        None if first else tag("button", "Remove", type="button", class_="quiet", data_do="remove", data_of=str(place))
    )
    asked = [entry for entry in method.fields if entry.minimum is None or entry.minimum != entry.maximum]
    faults = {wrong.field: wrong.column} if wrong else {}
    inputs = [_field(place, slot, entry, columns, faults.get(entry.name)) for entry in asked]
    inputs += [_lines(place, slot, entry, columns, faults.get(entry.name)) for entry in asked if entry.each]
    return tag(
        "fieldset",
        tag("legend", LEGENDS[slot.family] if first else "Then"),
        tag("div", choose, remove, class_="actions"),
        tag("p", method.words),
        tag("p", method.promise, class_="promise") if method.promise else None,
        tag("div", *inputs, class_="fields") if inputs else None,
        class_="method",
    )


def _slot(family: Family, entry: Mapping[str, Any]) -> Slot:
    answers = {name: value for name, value in entry.items() if name != "method"}
    return Slot(family=family, method=str(entry["method"]), answers=answers)


def _method(family: Family, name: str) -> Method:
    return next(method for method in methods(family) if method.name == name)


def _answered(slot: Slot, name: str, value: Any) -> dict[str, Any]:
    """The answers with one more; an emptied field means none where that is an answer, else the default."""
    key, is_line, line = name.partition(".")
    if is_line or key.endswith("+"):
        return _with_line(slot, key.removesuffix("+"), line if is_line else None, value)
    others = {name: answer for name, answer in slot.answers.items() if name != key}
    if value is not None and value not in ("", []):
        return {**others, key: value}
    optional = any(entry.name == key and entry.optional for entry in _method(slot.family, slot.method).fields)
    return {**others, key: "none"} if optional else others


def _with_line(slot: Slot, key: str, line: str | None, value: Any) -> dict[str, Any]:
    """The answers with one line changed, or (no line) with an empty one for the column `value`."""
    entry = next(entry for entry in _method(slot.family, slot.method).fields if entry.name == key)
    answer = slot.answers.get(key)
    if line is not None:
        return {**slot.answers, key: change_line(entry, answer, line, value)}
    before = answer if isinstance(answer, Mapping) else {}
    return {**slot.answers, key: {**before, value: ""}} if value else dict(slot.answers)


def _value(slot: Slot, entry: Field) -> Any:
    value = slot.answers.get(entry.name, entry.default)
    return None if value == "none" else value


def _field(place: int, slot: Slot, entry: Field, columns: Columns, wrong: str | None) -> Html | None:
    """One question, or of one with a line for each column the answer that stands for all, where there is one.

    `wrong` is None if nothing is wrong with it, else the column at fault or an empty text.
    """
    value, asked = _value(slot, entry), entry
    if entry.each:
        if entry.single is None:
            return None
        value, asked = None if isinstance(value, Mapping) else value, replace(entry, kind=entry.single)
    entered = control(asked, f"{place}.{entry.name}", value, columns.names, wrong=wrong == "")
    return labelled(entry.label, entered, _help_text(slot.method, entry))


def _lines(place: int, slot: Slot, entry: Field, columns: Columns, wrong: str | None) -> Html:
    return draw_lines(f"{place}.{entry.name}", entry, _value(slot, entry), columns, wrong)


def _help_text(method: str, entry: Field) -> str:
    """What a parameter is, without the words that only a command line needs, and what turning it does."""
    text = entry.help.replace(", name/name", "").replace("or column=radius/...", "or one per column below")
    effect = effect_of(method, entry.name)
    return f"{text[:1].upper()}{text[1:]}{'.' if text else ''} {effect}".strip()
