"""A recipe as slots that a form can show and change: one slot for each method of its chain.

Pure functions from values to values; the page that shows them is `shoal.workbench.pages.method`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.coarsening.steps import step_of
from shoal.errors import ParameterError
from shoal.recipe import COARSENERS, GROUPERS, MASKS, method_name, synthesizers
from shoal.report.markup import Html, join, tag
from shoal.workbench.catalogue import Method, methods
from shoal.workbench.forms import Field, FieldError, read
from shoal.workbench.pages.screen import field as labelled

__all__ = ["Fault", "Slot", "add_slot", "change_slot", "draw_slots", "fault", "remove_slot", "slots_of", "words_of"]

LEGENDS = {
    "group": "Who hides with whom",
    "mask": "What is written instead",
    "coarsen": "How the table is coarsened",
    "synthesize": "How the rows are drawn",
}
CHAINED = ("mask", "coarsen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One method of a recipe and what was answered for its parameters."""

    family: str
    method: str
    answers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Which field of which slot can't be taken, and why."""

    place: int
    field: str
    words: str


def fault(slots: Sequence[Slot]) -> Fault | None:
    """The first answer that can't be taken, if any."""
    for place, slot in enumerate(slots):
        answers = {name: value for name, value in slot.answers.items() if name != "rows"}
        try:
            method = read(_class(slot), answers)
            for step in getattr(method, "steps", {}).values():
                step_of(step)
        except ParameterError as error:
            field = error.field if isinstance(error, FieldError) else "steps"
            return Fault(place=place, field=field, words=str(error))
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
    """The slots after the field `name`, as ``0.k``, was set; another method keeps the answers it has a place for."""
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
    return (*slots, Slot(family=family, method=methods(family)[0].name))


def remove_slot(slots: Sequence[Slot], place: int) -> tuple[Slot, ...]:
    """The slots without one of them."""
    return tuple(slot for i, slot in enumerate(slots) if i != place)


def draw_slots(slots: Sequence[Slot], columns: Sequence[str], wrong: Fault | None = None) -> Html:
    """The forms of all slots, the field at fault marked, and a button for one more where the family can be chained."""
    drawn, seen = [], set()
    for place, slot in enumerate(slots):
        bad = wrong.field if wrong and wrong.place == place else ""
        drawn.append(_draw(place, slot, columns, first=slot.family not in seen, wrong=bad))
        seen.add(slot.family)
    last = slots[-1].family
    more = {"mask": "Add another mask", "coarsen": "Add another step"}.get(last)
    drawn.append(tag("button", more, data_do="add", data_of=last) if more else Html(""))
    return join(drawn)


def _draw(place: int, slot: Slot, columns: Sequence[str], *, first: bool, wrong: str = "") -> Html:
    """The form of one slot; the parameter named `wrong` is marked."""
    method = _method(slot.family, slot.method)
    options = [_option(entry.name, entry.title, entry.name == slot.method) for entry in methods(slot.family)]
    choose = tag("select", *options, name=f"{place}.method", aria_label=LEGENDS[slot.family])
    remove = None if first else tag("button", "Remove", class_="quiet", data_do="remove", data_of=str(place))
    asked = [entry for entry in method.fields if entry.minimum is None or entry.minimum != entry.maximum]
    inputs = [_field(place, slot, entry, columns, entry.name == wrong) for entry in asked]
    return tag(
        "fieldset",
        tag("legend", LEGENDS[slot.family] if first else "Then"),
        tag("div", choose, remove, class_="actions"),
        tag("p", method.words),
        tag("p", method.promise, class_="promise") if method.promise else None,
        tag("div", *inputs, class_="fields") if inputs else None,
        class_="method",
    )


def _slot(family: str, entry: Mapping[str, Any]) -> Slot:
    answers = {name: value for name, value in entry.items() if name != "method"}
    return Slot(family=family, method=str(entry["method"]), answers=answers)


def _method(family: str, name: str) -> Method:
    return next(method for method in methods(family) if method.name == name)


def _class(slot: Slot) -> type[Any]:
    families = {"group": GROUPERS, "mask": MASKS, "coarsen": COARSENERS}
    classes = synthesizers() if slot.family == "synthesize" else families[slot.family]
    return next(cls for cls in classes if method_name(cls) == slot.method)


def _answered(slot: Slot, key: str, value: Any) -> dict[str, Any]:
    """The answers with one more; an emptied field means none where that is an answer, else the default."""
    others = {name: answer for name, answer in slot.answers.items() if name != key}
    if value is not None and value not in ("", []):
        return {**others, key: value}
    optional = any(entry.name == key and entry.optional for entry in _method(slot.family, slot.method).fields)
    return {**others, key: "none"} if optional else others


def _field(place: int, slot: Slot, entry: Field, columns: Sequence[str], wrong: bool) -> Html:
    value = slot.answers.get(entry.name, entry.default)
    value = None if value == "none" else value
    name, invalid = f"{place}.{entry.name}", "true" if wrong else None
    if entry.kind == "flag":
        box = tag("input", type="checkbox", name=name, checked=bool(value), aria_invalid=invalid)
        return labelled(entry.label, box, entry.help)
    return labelled(entry.label, _control(entry, name, value, columns, invalid), entry.help)


def _control(entry: Field, name: str, value: Any, columns: Sequence[str], invalid: str | None) -> Html:
    if entry.kind == "choice":
        none = [_option("none", "none", value is None)] if entry.optional else []
        options = [_option(str(choice), str(choice), choice == value) for choice in entry.choices]
        return tag("select", *none, *options, name=name, aria_invalid=invalid)
    if entry.kind == "columns":
        chosen = set(value or ())
        options = [_option(column, column, column in chosen) for column in columns]
        size = str(min(6, max(2, len(options))))
        return tag("select", *options, name=name, multiple=True, size=size, aria_invalid=invalid)
    return tag("input", name=name, value=_shown(value), aria_invalid=invalid, **_limits(entry))


def _limits(entry: Field) -> dict[str, str | None]:
    if entry.kind not in ("whole", "number"):
        return {"type": "text", "placeholder": _EXAMPLES.get(entry.name if entry.name == "steps" else entry.kind)}
    ends = {"min": entry.minimum, "max": entry.maximum}
    limits = {end: None if value is None else f"{value:g}" for end, value in ends.items()}
    return {"type": "number", "step": "1" if entry.kind == "whole" else "any", **limits}


_EXAMPLES = {"map": "age=2/zip=1", "steps": "age=cap:high=90/zip=prefix:keep=3"}


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "/".join(f"{name}={_shown_step(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "/".join(map(_shown, value))
    return f"{value:.6g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


def _shown_step(value: Any) -> str:
    """A number, or a step of recoding as ``cap:high=90``."""
    if not isinstance(value, Mapping):
        return _shown(value)
    parts = [f"{name}={_shown(item)}" for name, item in value.items() if name != "kind" and item not in (None, "none")]
    return f"{value.get('kind')}{':' if parts else ''}{','.join(parts)}"


def _option(value: str, words: str, chosen: bool) -> Html:
    return tag("option", words, value=value, selected=chosen)
