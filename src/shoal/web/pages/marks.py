"""The marks that the workbench's pictures are made of; their colours come from the style sheet and follow the theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.markup import Html, tag

__all__ = ["framed", "line", "longest", "picture", "px", "rect", "short", "text"]

_ROOM = {"left": 46, "right": 14, "top": 12, "bottom": 40}


def short(name: str) -> str:
    """A name, cut where it is long."""
    return name if len(name) <= 14 else f"{name[:13]}…"


def longest(names: Sequence[str]) -> float:
    """Room for the longest of some labels; capitals and wide signs take more of it."""
    return max((sum(8.0 if sign.isupper() else 6.4 for sign in short(name)) for name in names), default=0.0)


def rect(x: float, y: float, wide: float, high: float, kind: str, words: str | None = None, **more: Any) -> Html:
    """A rectangle; `words` are said where the pointer rests."""
    box = {"x": px(x), "y": px(y), "width": px(max(0.0, wide)), "height": px(max(0.0, high))}
    return tag("rect", tag("title", words) if words else None, **box, class_=kind, **more)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    """A straight line."""
    return tag("line", x1=px(x1), y1=px(y1), x2=px(x2), y2=px(y2), class_=kind)


def text(words: str, x: float, y: float, kind: str) -> Html:
    """Some words, from their base line."""
    return tag("text", words, x=px(x), y=px(y), class_=kind)


def px(value: float) -> str:
    """A length to a tenth of a pixel."""
    return f"{round(float(value), 1) + 0.0:g}"


def framed(
    wide: float, high: float, label: str, drawn: Sequence[Html], *, role: str = "img", bottom: float = 40
) -> Html:
    """A picture with room for its axes."""
    left = 62 if role == "group" else _ROOM["left"]
    inner = tag("g", *drawn, transform=f"translate({left},{_ROOM['top']})")
    return picture(left + wide + _ROOM["right"], _ROOM["top"] + high + bottom, label, [inner], role=role)


def picture(wide: float, high: float, label: str, drawn: Sequence[Html], *, kind: str = "", role: str = "img") -> Html:
    """The whole picture, with what it shows in words."""
    box = {"viewBox": f"0 0 {px(wide)} {px(high)}", "width": px(wide), "height": px(high)}
    box |= {"preserveAspectRatio": "none"} if kind == "bullet" else {}
    return tag("svg", *drawn, **box, class_=f"chart {kind}".strip(), role=role, aria_label=label)
