"""Level sliders: other choices of levels around the one that was made, with what each suppresses and loses, at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shoal.report.markup import Html, tag
from shoal.report.numbers import count, number, percent
from shoal.web.pages import charts

__all__ = ["draw_sliders", "recipe_at"]


def draw_sliders(view: Mapping[str, Any], chosen: Mapping[str, int]) -> Html | None:
    """A slider for each column, and what the choice does beside what was made; nothing without a lattice."""
    lattice = view.get("lattice")
    if not lattice:
        return None
    made = {one["column"]: one["level"] for one in view["levels"]}
    at = {**made, **{name: level for name, level in chosen.items() if name in made}}
    rows = [_slider(name, levels, at[name], made[name]) for name, levels in lattice["levels"].items()]
    words = "Move a slider: classes, suppressed rows and loss are counted on the whole table."
    return tag(
        "section",
        tag("h2", "Try other levels"),
        tag("p", words, class_="note"),
        tag("div", tag("div", *rows, class_="sliders"), _effect(lattice, made, at), class_="two wide-left"),
        class_="try",
    )


def _slider(name: str, levels: list[int], at: int, made: int) -> Html:
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


def _effect(lattice: Mapping[str, Any], made: Mapping[str, int], at: Mapping[str, int]) -> Html:
    before, now = (_node(lattice, levels) for levels in (made, at))
    if now is None:
        words = "This choice lies beyond those that were counted. Use it to count it."
        return tag("div", tag("p", words, class_="note"), _use(), class_="card")
    facts = [
        ("Smallest class, nothing suppressed", "smallest", count),
        (f"Rows in classes below k = {lattice['k']}", "suppressed_share", percent),
        ("Information loss", "loss", number),
    ]
    rows = [
        tag(
            "div", tag("dt", name), tag("dd", f"{say(before[key]) if before else '–'} → ", tag("strong", say(now[key])))
        )
        for name, key, say in facts
    ]
    label = f"suppressed: {percent(now['suppressed_share'])}"
    picture = charts.bullet(before["suppressed_share"] if before else None, now["suppressed_share"], None, label)
    same = dict(made) == dict(at)
    return tag(
        "div", tag("dl", *rows, class_="facts"), picture, None if same else _use(), class_="card", aria_live="polite"
    )


def _use() -> Html:
    press = tag("button", "Use at most these levels", type="button", class_="main", data_do="levels")
    back = tag("button", "Back to those made", type="button", class_="quiet", data_do="levels-back")
    return tag("div", press, back, class_="actions")


def _node(lattice: Mapping[str, Any], levels: Mapping[str, int]) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = lattice["nodes"].get(",".join(str(levels[name]) for name in lattice["levels"]))
    return found


def recipe_at(recipe: Mapping[str, Any], view: Mapping[str, Any], chosen: Mapping[str, int]) -> dict[str, Any]:
    """The recipe that stays at or below the chosen levels, and may suppress as much as that needs."""
    made = {one["column"]: one["level"] for one in view["levels"]}
    at = {**made, **chosen}
    node = _node(view["lattice"], at)
    [method] = recipe["coarsen"]
    share = float(method.get("suppression", 0.05))
    needed = share if node is None else max(share, math.ceil(1000 * node["suppressed_share"]) / 1000)
    return {"coarsen": [{**method, "limits": at, "suppression": min(0.999, needed)}]}
