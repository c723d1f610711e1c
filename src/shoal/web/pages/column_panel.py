"""More about one column: codes for absences, what it follows from, and its hierarchy with live counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.coarsening.default_hierarchies import ladder_for
from shoal.coarsening.hierarchy import Hierarchy, Ladder
from shoal.coarsening.steps import as_text
from shoal.errors import ParameterError, ShoalError
from shoal.params import number
from shoal.report.markup import Html, join, tag
from shoal.report.numbers import count
from shoal.schema import Column
from shoal.web.inspect import ColumnView, Opened
from shoal.web.linked_tables import linked_column
from shoal.web.pages.layout import field, select
from shoal.web.pages.level_picture import draw_levels, levels_of
from shoal.web.pages.tree_editor import draw_tree
from shoal.web.recoding import table_rows, table_text
from shoal.web.table_reading import column_of

__all__ = ["draw_panel", "hierarchy_rows", "panel_entries", "tree_of"]

ABSENCE = {"": "not said", "unknown": "unknown", "not applicable": "not applicable", "both": "both"}
HIERARCHIES = {
    "": "made automatically",
    "intervals": "intervals of growing width",
    "edges": "intervals between edges",
    "prefix": "shorter and shorter beginnings",
    "dates": "parts of dates",
    "table": "a tree, as a table",
    "flat": "the value or nothing",
}
MOST_SHOWN = 12


def draw_panel(
    session: str,
    opened: Opened,
    view: ColumnView,
    words: Mapping[str, Any],
    others: Sequence[str],
    typed: Mapping[str, Any] | None = None,
) -> Html:
    """The form of one column and the levels of its hierarchy; with `typed` fields those that they would make."""
    codes = "; ".join(f"{code} = {meaning}" for code, meaning in (words.get("missing_codes") or {}).items())
    derived = set(words.get("derived") or ())
    options = [tag("option", name, value=name, selected=name in derived) for name in others]
    kind, text = _shown(words.get("hierarchy"))
    form = tag(
        "form",
        field("Hierarchy", select("hierarchy", HIERARCHIES, kind, data_live=True)),
        field("Its levels", tag("textarea", text, name="levels", **_LEVELS), _HELP),
        _levels(opened, view, words, typed),
        field("Codes that mean an absence", tag("input", type="text", name="missing_codes", value=codes, **_CODES)),
        field("An empty cell means", select("absence", ABSENCE, words.get("absence") or "")),
        field(
            "Follows from",
            tag("select", *options, name="derived", multiple=True, size="4"),
            "Computed again from what is released of these.",
        ),
        tag(
            "div",
            tag("button", "Apply", type="submit", class_="main"),
            tag("a", "Export for ARX", href=f"/b/{session}/hierarchy.csv?{_named(view)}", class_="button"),
            class_="actions",
        ),
        data_do="panel",
        data_of=view.name,
        class_="stack",
    )
    return join([form, _tree(opened, view, words)])


def _tree(opened: Opened, view: ColumnView, words: Mapping[str, Any]) -> Html | None:
    """The tree of a column whose values are names; numbers have intervals."""
    if view.type in ("number", "date", "time"):
        return None
    try:
        rows, counts = tree_of(opened, view, words)
    except ShoalError:
        return None
    return join([tag("h3", "Its tree"), draw_tree(view.name, rows, counts)])


def tree_of(opened: Opened, view: ColumnView, words: Mapping[str, Any]) -> tuple[list[list[str]], list[int]]:
    """The hierarchy as a table without the level that tells nothing, and how many cells hold each value."""
    ladder = _ladder(opened, view, words)
    counts = np.bincount(ladder.codes[ladder.codes >= 0], minlength=len(ladder.labels[0]))
    rows = [(row, int(n)) for row, n in zip(_written(ladder), counts, strict=False) if row[0]]
    if rows and len({row[-1] for row, _ in rows}) == 1 and len(rows[0][0]) > 1:
        rows = [(row[:-1], n) for row, n in rows]
    return [row for row, _ in rows], [n for _, n in rows]


_LEVELS: dict[str, Any] = {"rows": "3", "class_": "wide code", "placeholder": "5; 10; 20", "data_live": True}
_CODES = {"placeholder": "-8 = not applicable; -9 = unknown"}
_HELP = (
    "Intervals: widths, 5; 10; 20. Edges: one line per level, 0; 18; 65. Beginnings: letters kept, 3; 2. "
    "Dates: year-month; year. Tree: one line per value, finest first: Lyon;France;Europe."
)


def _named(view: ColumnView) -> str:
    from urllib.parse import urlencode

    return urlencode({"column": view.name, **({"table": view.table} if view.table else {})})


def _shown(words: Mapping[str, Any] | None) -> tuple[str, str]:
    """The kind of a hierarchy in the form, and its levels as text."""
    given = dict(words or {})
    kind = str(given.get("kind", ""))
    if kind == "ages":
        return "intervals", "5; 10; 20"
    if kind == "intervals" and given.get("edges"):
        return "edges", "\n".join("; ".join(map(str, some)) for some in given["edges"])
    if kind in ("table", "tree") and "rows" in given:
        return "table", table_text(given["rows"])
    lists = {"intervals": "widths", "prefix": "keep", "dates": "parts"}
    return kind, "; ".join(map(str, given.get(lists.get(kind, ""), ())))


def panel_entries(fields: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """What the form says of a column, as entries of its words."""
    derived = fields.get("derived") or []
    return {
        "missing_codes": _codes(str(fields.get("missing_codes", ""))),
        "absence": fields.get("absence") or None,
        "derived": list(derived) if derived else None,
        "hierarchy": _hierarchy(str(fields.get("hierarchy", "")), str(fields.get("levels", "")), words),
    }


def _codes(text: str) -> dict[str, str] | None:
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if not all(equals and meaning.strip() for _, equals, meaning in pairs):
        raise ParameterError("codes", "must each have a meaning", hint="Write -8 = not applicable; -9 = unknown.")
    return {code.strip(): meaning.strip() for code, _, meaning in pairs} or None


def _hierarchy(kind: str, text: str, words: Mapping[str, Any]) -> dict[str, Any] | None:
    if not kind:
        return None
    parts = [number(part.strip()) for part in text.replace("\n", ";").split(";") if part.strip()]
    made = _made(kind, text, parts) or dict(words.get("hierarchy") or {})
    Hierarchy.of(made)
    return made


def _made(kind: str, text: str, parts: list[Any]) -> dict[str, Any]:
    """The words of a hierarchy of a kind that the form knows; none for another."""
    if kind == "edges":
        return {"kind": "intervals", "edges": [_numbers(line) for line in text.splitlines() if line.strip()]}
    if kind == "table":
        return {"kind": "table", "rows": [list(row) for row in table_rows(text)]}
    lists = {"intervals": "widths", "prefix": "keep", "dates": "parts"}
    return {"kind": kind, lists[kind]: parts} if kind in lists else {"kind": "flat"} if kind == "flat" else {}


def _numbers(line: str) -> list[Any]:
    return [number(part.strip()) for part in line.split(";") if part.strip()]


def _ladder(opened: Opened, view: ColumnView, words: Mapping[str, Any]) -> Ladder:
    cells = linked_column(opened, view.table, view.name) if view.table else column_of(opened, view.name)
    return ladder_for(cells, Column.from_dict(view.name, dict(words)))


def hierarchy_rows(opened: Opened, view: ColumnView, words: Mapping[str, Any]) -> list[list[str]]:
    """The hierarchy as ARX's table: one row per value, one column per level."""
    return _written(_ladder(opened, view, words))


def _written(ladder: Ladder) -> list[list[str]]:
    written = [as_text(label).to_list() for label in ladder.labels]
    return [["" if cell is None else str(cell) for cell in row] for row in zip(*written, strict=True)]


def _levels(opened: Opened, view: ColumnView, words: Mapping[str, Any], typed: Mapping[str, Any] | None) -> Html:
    """Each level as it is, or as what is being typed would make it."""
    try:
        drawn = _drawn_levels(_ladder(opened, view, words if typed is None else _as_typed(words, typed)), view.name)
    except ShoalError as error:
        drawn = tag("p", str(error), class_="problem", role=None if typed else "alert")
    heading = "Its levels, counted" if typed is None else "Its levels as typed, not applied yet"
    return tag("div", tag("h3", heading), drawn, class_="preview-of-levels", aria_live="polite")


def _as_typed(words: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    made = _hierarchy(str(typed.get("hierarchy", "")), str(typed.get("levels", "")), words)
    return (
        {**words, "hierarchy": made} if made else {name: value for name, value in words.items() if name != "hierarchy"}
    )


def _drawn_levels(ladder: Ladder, name: str) -> Html:
    """How many values each level tells apart, the rarest of them, and how it writes some."""
    rows = [_level(ladder, level) for level in range(ladder.height + 1)]
    said = "Each row is a level, each band as wide as the people it holds. Rust: fewer than 5."
    return join(
        [
            draw_levels(levels_of(ladder), name),
            tag("p", said, class_="note"),
            tag("ol", *rows, class_="level-list", start="0"),
        ]
    )


def _level(ladder: Ladder, level: int) -> Html:
    groups = ladder.groups[level]
    counts = np.bincount(groups[ladder.codes])
    labels = as_text(ladder.labels[level]).to_list()
    firsts = np.unique(groups, return_index=True)[1]
    order = sorted(range(len(firsts)), key=lambda i: -int(counts[i]))[:MOST_SHOWN]
    shown = ", ".join(
        f"{labels[firsts[i]] if labels[firsts[i]] is not None else 'missing'} ({count(int(counts[i]))})" for i in order
    )
    more = "…" if len(firsts) > MOST_SHOWN else ""
    rarest = count(int(counts[counts > 0].min()))
    n = tag("strong", f"{count(len(firsts))} value{'' if len(firsts) == 1 else 's'}, the rarest {rarest} times")
    return tag("li", n, tag("span", f"{shown}{more}", class_="note"))
