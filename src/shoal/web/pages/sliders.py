"""Level sliders: other choices of levels around the one that was made, with what each suppresses and loses, at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from shoal.report.markup import Html, tag
from shoal.report.numbers import count, number, percent
from shoal.web.pages import charts
from shoal.web.pages.lattice_view import Choice, Lattice, draw_lattice

__all__ = ["draw_sliders", "lattice_of", "recipe_at"]

_SHARE = 0.05  # that may be suppressed where a recipe doesn't say


def lattice_of(result: Mapping[str, Any], chosen: Mapping[str, int]) -> Lattice | None:
    """The choices of levels around the one that made a result, and the `chosen` one; None where there are none."""
    view, [*methods] = result["view"], result["recipe"].get("coarsen", ())
    if not view.get("lattice"):
        return None
    made = {one["column"]: one["level"] for one in view["levels"]}
    at = {**made, **{name: level for name, level in chosen.items() if name in made}}
    return Lattice(view=view["lattice"], made=made, at=at, share=float(methods[0].get("suppression", _SHARE)))


def draw_sliders(lattice: Lattice | None) -> Html | None:
    """A slider for each column, what the choice does beside what was made, and the choices around it as pictures."""
    if lattice is None:
        return None
    rows = [_slider(name, levels, lattice) for name, levels in lattice.view["levels"].items()]
    words = "Move a slider, or press a choice below: classes, suppressed rows and loss are counted on the whole table."
    return tag(
        "section",
        tag("h2", "Try other levels"),
        tag("p", words, class_="note"),
        tag("div", tag("div", *rows, class_="sliders"), _effect(lattice), class_="two wide-left"),
        draw_lattice(lattice),
        class_="try",
    )


def _slider(name: str, levels: list[int], lattice: Lattice) -> Html:
    at, made = lattice.at[name], lattice.made[name]
    place = max((i for i, level in enumerate(levels) if level <= at), default=0)
    top = len(levels) - 1
    words = "unchanged" if place == 0 else "suppressed" if place == top else f"level {levels[place]}"
    moved = "" if at == made else " (moved)"
    bar = tag(
        "input",
        type="range",
        name=f"level.{name}",
        min="0",
        max=str(top),
        step="1",
        value=str(place),
        data_live=True,
        aria_label=f"level of {name}",
        aria_valuetext=words,
    )
    return tag("label", tag("span", name, class_="name"), bar, tag("span", f"{words}{moved}", class_="soft"))


def _effect(lattice: Lattice) -> Html:
    before, now = lattice.choice(lattice.made), lattice.now
    if now is None:
        words = "This choice lies beyond those that were counted. Use it to count it."
        return tag("div", tag("p", words, class_="note"), _use(), class_="card")
    facts = [
        ("Smallest class, nothing suppressed", "smallest", count),
        (f"Rows in classes below k = {lattice.view['k']}", "suppressed", percent),
        ("Information loss", "loss", number),
    ]
    rows = [
        tag("div", tag("dt", name), tag("dd", f"{_said(before, key, say)} → ", tag("strong", _said(now, key, say))))
        for name, key, say in facts
    ]
    label = f"suppressed: {percent(now.suppressed)}"
    picture = charts.bullet(before.suppressed if before else None, now.suppressed, lattice.share, label)
    same = dict(lattice.made) == dict(lattice.at)
    return tag(
        "div", tag("dl", *rows, class_="facts"), picture, None if same else _use(), class_="card", aria_live="polite"
    )


def _said(choice: Choice | None, key: str, say: Callable[[Any], str]) -> str:
    return "–" if choice is None else say(getattr(choice, key))


def _use() -> Html:
    press = tag("button", "Use at most these levels", type="button", class_="main", data_do="levels")
    back = tag("button", "Back to those made", type="button", class_="quiet", data_do="levels-back")
    return tag("div", press, back, class_="actions")


def recipe_at(recipe: Mapping[str, Any], lattice: Lattice) -> dict[str, Any]:
    """The recipe that stays at or below the chosen levels, and may suppress as much as that needs."""
    [method] = recipe["coarsen"]
    node = lattice.now
    needed = lattice.share if node is None else max(lattice.share, math.ceil(1000 * node.suppressed) / 1000)
    return {"coarsen": [{**method, "limits": dict(lattice.at), "suppression": min(0.999, needed)}]}
