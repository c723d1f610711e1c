"""A hierarchy as a tree that is changed by hand: tick values, name the group, and see at once how many people it holds.

The tree is the table that ARX reads and writes: one row for each value, one column for each level, finest first. Values
that share a group at one level share it at every higher one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import ParameterError
from shoal.report.markup import Html, tag
from shoal.report.numbers import count
from shoal.web.pages.layout import field, select

__all__ = ["draw_tree", "put_together", "take_apart"]

MOST_VALUES = 150
NEW = "new"
Rows = Sequence[Sequence[str]]


def draw_tree(column: str, rows: Rows, counts: Sequence[int]) -> Html:
    """The tree with a box at every value, and a form that puts the ticked ones together.

    Parameters
    ----------
    rows, counts
        The table without the level that tells nothing, and how many cells hold each value.
    """
    if len(rows) > MOST_VALUES:
        words = f"{count(len(rows))} values are too many to draw: paste a table above."
        return tag("p", words, class_="note")
    height = len(rows[0]) - 1 if rows else 0
    levels = {str(level): f"level {level}" for level in range(1, height + 1)} | {NEW: "a new level"}
    nodes = _nodes(rows, counts, range(len(rows)), height, column)
    chosen = "1" if height else NEW
    return tag(
        "form",
        tag("ul", *nodes, class_="tree"),
        tag(
            "div",
            field("Name of the group", tag("input", type="text", name="group")),
            field("On", select("level", levels, chosen)),
            tag("button", "Put the ticked together", type="submit"),
            class_="line",
        ),
        data_do="tree",
        data_of=column,
        class_="stack",
    )


def _nodes(rows: Rows, counts: Sequence[int], members: Sequence[int], level: int, column: str) -> list[Html]:
    """What hangs below a node: groups of the level, the largest first, or values."""
    if level == 0:
        return [_leaf(i, rows[i][0], counts[i]) for i in sorted(members, key=lambda i: -counts[i])]
    groups: dict[str, list[int]] = {}
    for i in members:
        groups.setdefault(rows[i][level], []).append(i)
    drawn = []
    for label, inner in sorted(groups.items(), key=lambda pair: -sum(counts[i] for i in pair[1])):
        if len(inner) == 1 and rows[inner[0]][0] == label:
            drawn += _nodes(rows, counts, inner, 0, column)
            continue
        n = sum(counts[i] for i in inner)
        apart = tag(
            "button",
            "Take apart",
            type="button",
            class_="quiet",
            data_do="tree-apart",
            data_of=json.dumps([column, level, label]),
            aria_label=f"Take {label} apart",
        )
        head = tag(
            "summary", tag("strong", label), " ", tag("span", f"{count(n)} in {len(inner)} values", class_="note")
        )
        below = tag("ul", *_nodes(rows, counts, inner, level - 1, column))
        drawn.append(tag("li", tag("details", head, below, apart, open=True), data_key=f"node {level} {label}"))
    return drawn


def _leaf(i: int, value: str, n: int) -> Html:
    box = tag("input", type="checkbox", name=f"leaf.{i}")
    words = tag("span", count(n), class_="note")
    return tag("li", tag("label", box, f" {value} ", words), data_key=f"leaf {value}")


def put_together(rows: Rows, fields: Mapping[str, Any]) -> list[list[str]]:
    """The table after the ticked values were put into a group; what shares a finer group with them comes along."""
    ticked = {int(name[5:]) for name, on in fields.items() if name.startswith("leaf.") and on and name[5:].isdigit()}
    name = str(fields.get("group", "")).strip()
    if not name or not ticked:
        hint = "Tick some values and name their group."
        raise ParameterError("group", "must have a name and at least one value", hint=hint)
    made = [list(row) for row in rows]
    asked = str(fields.get("level", NEW))
    if not asked.isdigit() or not 1 <= int(asked) < len(made[0]):
        made = [[*row, row[-1]] for row in made]
    level = int(asked) if asked.isdigit() and int(asked) < len(made[0]) else len(made[0]) - 1
    along = {made[i][level - 1] for i in ticked if i < len(made)}
    for row in made:
        if row[level - 1] in along:
            row[level] = name
    return _consistent(made, level)


def take_apart(rows: Rows, level: int, label: str) -> list[list[str]]:
    """The table without a group: its members stand for themselves on that level."""
    made = [list(row) for row in rows]
    for row in made:
        if row[level] == label:
            row[level] = row[level - 1]
    made = _consistent(made, level)
    while len(made[0]) > 1 and all(row[-1] == row[-2] for row in made):
        made = [row[:-1] for row in made]
    return made


def _consistent(rows: list[list[str]], level: int) -> list[list[str]]:
    """Above a level that was changed, a group is where its first member was."""
    for higher in range(level + 1, len(rows[0])):
        first: dict[str, str] = {}
        for row in rows:
            row[higher] = first.setdefault(row[higher - 1], row[higher])
    return rows
