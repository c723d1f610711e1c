"""The lattice of levels as two pictures: all choices that were counted, and the steps from the one at hand.

Both are pressed to go there. A choice is named by its levels, joined by commas, as
`shoal.coarsening.neighbourhood` names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from shoal.report.markup import Html, tag
from shoal.report.numbers import count, number, percent, plural
from shoal.report.svg import Scale
from shoal.web.pages.marks import framed, line, picture, rect, short, text

__all__ = ["Choice", "Lattice", "draw_lattice"]

MOST_STEPS = 6  # drawn in a row
MOST_PRESSED = 16  # of the choices that no other beats: each is a stop on the keyboard's way
_WIDE, _HIGH = 420, 260
_CELL, _TALL, _GAP = 116, 42, 12
_TICKS = (0, 0.01, 0.05, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One level for each column: its name, what it does, and whether that is within what may be suppressed."""

    key: str
    levels: tuple[int, ...]
    smallest: int
    suppressed: float
    loss: float
    allowed: bool

    @property
    def words(self) -> str:
        """What it does, in a line."""
        mark = "" if self.allowed else ", more than may be suppressed"
        return f"{percent(self.suppressed)} of the rows below k{mark}; loss {number(self.loss)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The choices that were counted, and the one at hand.

    Parameters
    ----------
    view
        The words of `shoal.coarsening.neighbourhood.Neighbourhood`.
    made, at
        The level of each column as it was released, and as it is tried.
    share
        The share of the rows that may be suppressed.
    """

    view: Mapping[str, Any]
    made: Mapping[str, int]
    at: Mapping[str, int]
    share: float

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of a choice's levels."""
        return tuple(self.view["levels"])

    @property
    def now(self) -> Choice | None:
        """The choice at hand, where it was counted."""
        return self.choice(self.at)

    @property
    def choices(self) -> list[Choice]:
        """Every choice that was counted."""
        return [self._read(key, words) for key, words in self.view["nodes"].items()]

    def choice(self, levels: Mapping[str, int]) -> Choice | None:
        """The choice of these levels, where it was counted."""
        key = ",".join(str(levels[name]) for name in self.names)
        words = self.view["nodes"].get(key)
        return None if words is None else self._read(key, words)

    def levels_of(self, key: str) -> dict[str, int]:
        """The level of each column in the choice of that name; nothing where there is none."""
        known = key in self.view["nodes"]
        return dict(zip(self.names, map(int, key.split(",")), strict=True)) if known else {}

    def steps(self, up: bool) -> list[tuple[str, int, Choice]]:
        """The choices one step coarser (`up`) or finer in one column, the best first: column, level there, choice."""
        found = []
        for name, levels in self.view["levels"].items():
            beyond = [one for one in levels if (one > self.at[name] if up else one < self.at[name])]
            level = None if not beyond else min(beyond) if up else max(beyond)
            choice = None if level is None else self.choice({**self.at, name: level})
            if level is not None and choice is not None:
                found.append((name, level, choice))
        return sorted(found, key=lambda step: (not step[2].allowed, step[2].loss, step[2].suppressed))

    def front(self) -> list[Choice]:
        """The choices that no other beats in both, suppression and loss."""
        best: list[Choice] = []
        for one in sorted(self.choices, key=lambda choice: (choice.suppressed, choice.loss)):
            if not best or one.loss < best[-1].loss - 1e-12:
                best.append(one)
        return best

    def said(self, choice: Choice) -> str:
        """Which levels a choice has, and what it does."""
        levels = ", ".join(
            f"{name} {level}" if level else f"{name} unchanged"
            for name, level in zip(self.names, choice.levels, strict=True)
        )
        return f"{levels}: {choice.words}; smallest class {count(choice.smallest)}"

    def _read(self, key: str, words: Mapping[str, Any]) -> Choice:
        return Choice(
            key=key,
            levels=tuple(map(int, key.split(","))),
            smallest=words["smallest"],
            suppressed=words["suppressed_share"],
            loss=words["loss"],
            allowed=words["suppressed_share"] <= self.share + 1e-12,
        )


def draw_lattice(lattice: Lattice) -> Html | None:
    """Both pictures side by side; nothing where there is no other choice, or the one at hand was not counted."""
    now, choices = lattice.now, lattice.choices
    if now is None or len(choices) < 2:
        return None
    said = "Lower left is best. Small dots: every choice that was counted. Rings: no other beats them; press one."
    steps = "Above: one level coarser. Below: one level finer. The best come first; press one to go there."
    return tag(
        "div",
        _figure(f"All {plural(len(choices), 'choice')} counted", _cloud(lattice, now, choices), said),
        _figure("One step away", _steps(lattice, now), steps),
        class_="pictures lattice",
    )


def _figure(heading: str, drawn: Html, words: str) -> Html:
    return tag("figure", tag("h3", heading), drawn, tag("figcaption", words))


# All choices


def _cloud(lattice: Lattice, now: Choice, choices: Sequence[Choice]) -> Html:
    """Rows below k across, loss upwards, both stretched towards the best corner."""
    right = max(0.05, *(one.suppressed for one in choices))
    losses = [one.loss for one in choices]
    up = Scale.over(min(losses), max(losses), _HIGH - 8, 8, about=4)

    def place(one: Choice) -> tuple[float, float]:
        return _across(one.suppressed / right), _up(one.loss, up)

    x = _across(min(1.0, lattice.share / right))
    drawn = [rect(0, 0, x, _HIGH, "accepted"), *_axes(right, up)]
    drawn += [line(x, 0, x, _HIGH, "limit"), _share_said(lattice.share, x)]
    spots = sorted({(round(x), round(y)) for x, y in map(place, choices)})
    drawn.append(tag("path", d="".join(f"M{x} {y}h0" for x, y in spots), class_="spots"))
    front = sorted((one for one in lattice.front() if one != now), key=lambda one: abs(one.suppressed - lattice.share))
    drawn += [_ring(lattice, one, *place(one)) for one in front[:MOST_PRESSED]]
    made = lattice.choice(lattice.made)
    drawn += [_mark(*place(made), "made", "as released")] if made and made != now else []
    drawn.append(_mark(*place(now), "now", f"here: {lattice.said(now)}"))
    return framed(_WIDE, _HIGH, "Suppression and loss of the choices that were counted", drawn, role="group")


def _axes(right: float, up: Scale) -> list[Html]:
    drawn = [line(0, _HIGH, _WIDE, _HIGH, "axis")]
    for tick in up.ticks:
        y = _up(tick, up)
        drawn += [line(0, y, _WIDE, y, "grid"), text(number(tick), -8, y + 4, "end")]
    for tick in (one for one in _TICKS if one <= right):
        drawn.append(text(percent(tick), _across(tick / right), _HIGH + 17, "middle"))
    drawn.append(text("rows in classes below k", _WIDE / 2, _HIGH + 34, "middle soft"))
    drawn.append(tag("text", "loss", transform=f"translate(-48,{_HIGH / 2}) rotate(-90)", class_="middle soft"))
    return drawn


def _across(share: float) -> float:
    """Where a share of the widest stands; small ones have more room."""
    return 6 + (_WIDE - 12) * sqrt(share)


def _up(loss: float, scale: Scale) -> float:
    """Where a loss stands; those near the least have more room."""
    part = (loss - scale.low) / ((scale.high - scale.low) or 1.0)
    return scale.start + sqrt(max(0.0, part)) * (scale.end - scale.start)


def _share_said(share: float, x: float) -> Html:
    """What may be suppressed, on the side of its line where there is room."""
    left = x > _WIDE / 2
    return text(
        f"may be suppressed: {percent(share)}", x - 6 if left else x + 6, 14, f"limit {'end' if left else 'start'}"
    )


def _ring(lattice: Lattice, one: Choice, x: float, y: float) -> Html:
    return _pressed(one, lattice.said(one), tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="6", class_="ring"))


def _mark(x: float, y: float, kind: str, words: str) -> Html:
    return tag("circle", tag("title", words), cx=f"{x:.1f}", cy=f"{y:.1f}", r="8", class_=kind)


def _pressed(one: Choice, words: str, *marks: Html) -> Html:
    return tag(
        "g",
        tag("title", words),
        *marks,
        class_="node" if one.allowed else "node beyond",
        tabindex="0",
        role="button",
        aria_label=words,
        data_do="lattice",
        data_of=one.key,
        data_key=f"node {one.key}",
    )


# One step away


def _steps(lattice: Lattice, now: Choice) -> Html:
    """Three rows of boxes: coarser, here, finer; lines lead to the one in the middle."""
    rows = [(lattice.steps(True), 0), (lattice.steps(False), 2)]
    wide = MOST_STEPS * (_CELL + _GAP) - _GAP
    middle = (wide - _CELL) / 2
    lines, boxes = [], [_box(middle, _top(1), "here", now)]
    for row, place in rows:
        start = (wide - len(row[:MOST_STEPS]) * (_CELL + _GAP) + _GAP) / 2
        for i, (name, level, choice) in enumerate(row[:MOST_STEPS]):
            x, y = start + i * (_CELL + _GAP), _top(place)
            ends = (y + _TALL, _top(1)) if place == 0 else (y, _top(1) + _TALL)
            lines.append(line(x + _CELL / 2, ends[0], middle + _CELL / 2, ends[1], "axis"))
            said = f"{name} from level {lattice.at[name]} to {level}: {choice.words}"
            boxes.append(_pressed(choice, said, _box(x, y, f"{short(name)} {lattice.at[name]} → {level}", choice)))
    label = f"{plural(sum(len(row) for row, _ in rows), 'choice')} one step away"
    return picture(wide + 2, _top(2) + _TALL + 2, label, [*lines, *boxes], role="group")


def _top(row: int) -> float:
    return 1 + row * (_TALL + 44)


def _box(x: float, y: float, heading: str, one: Choice) -> Html:
    """What is changed, the share of rows below k with a bar for it, and the loss."""
    kind = "box now" if heading == "here" else "box"
    figures = f"{percent(one.suppressed)} · loss {number(one.loss)}"
    return tag(
        "g",
        rect(x, y, _CELL, _TALL, kind),
        rect(x, y + _TALL - 4, _CELL * one.suppressed, 4, "minus" if not one.allowed else "after"),
        text(heading, x + _CELL / 2, y + 16, "middle name"),
        text(figures, x + _CELL / 2, y + 31, "middle soft"),
    )
