"""Models as pictures: a tree from left to right, or bars of points. Plain SVG, no script, text escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import escape

from shoal.arrays import FloatArray
from shoal.score.features import Features
from shoal.score.histogram import ClassPoints, Points
from shoal.score.tree import Tree

if TYPE_CHECKING:
    from shoal.score.model import RiskModel

__all__ = ["draw", "draw_points", "draw_tree"]

_INK, _RISK, _CALM, _LINE = "#2b2a27", "#9a4a1f", "#0b6470", "#857e70"
_ROW, _COLUMN = 26, 210


def draw(model: RiskModel) -> str:
    """A fitted model as SVG; of a forest, the first tree."""
    fitted: Any = model.model_
    if isinstance(fitted, Points | ClassPoints):
        return draw_points(fitted if isinstance(fitted, Points) else fitted.tables[-1], model.features_)
    tree: Tree = fitted if isinstance(fitted, Tree) else fitted[0]
    return draw_tree(tree, model.features_, node_risks(tree), model.outcome)


def node_risks(tree: Tree) -> FloatArray:
    """The share of the last class at each node, from the counts that the tree holds."""
    counts = np.maximum(tree.counts, 0.0)
    n = counts.sum(axis=1)
    return np.where(n > 0, counts[:, -1] / np.where(n > 0, n, 1.0), 0.5)


def draw_tree(tree: Tree, features: Features, risks: FloatArray, label: str) -> str:
    """A tree from left to right; branches go up for yes, leaves show the risk."""
    heights: dict[int, float] = {}
    order = _leaves_in_order(tree, 0)
    for place, leaf in enumerate(order):
        heights[leaf] = _ROW * (place + 0.7)
    parts = _branches(tree, features, 0, 0, heights)
    for leaf in order:
        parts.append(_leaf(_x(tree, leaf, 0, 0) or 0, heights[leaf], float(risks[leaf])))
    width, height = _COLUMN * (tree.depth + 1), _ROW * (len(order) + 1)
    return _svg(width, height, f"Decision tree for {label}", parts)


def draw_points(points: Points, features: Features) -> str:
    """Bars of the points of every cell: to the right the risk rises, to the left it falls."""
    largest = max(1e-9, max(float(np.abs(points.slope * table).max()) for table in points.points))
    parts, y = [], 20.0
    for feature, table in zip(features.axes, points.points, strict=True):
        parts.append(_text(8, y, feature.name, weight="bold"))
        y += 18
        for cell, value in enumerate(points.slope * table):
            parts += [_text(20, y, feature.label(cell)), *_bar(320, y, 110 * float(value) / largest, float(value))]
            y += 16
        y += 8
    return _svg(520, y, "Points of each feature in log-odds", parts)


def _bar(middle: float, y: float, length: float, value: float) -> list[str]:
    left = middle + min(0.0, length)
    colour = _RISK if value > 0 else _CALM
    bar = f'<rect x="{left:.1f}" y="{y - 10:.1f}" width="{abs(length):.1f}" height="11" fill="{colour}"/>'
    return [bar, _text(450, y, f"{value:+.2f}")]


def _leaves_in_order(tree: Tree, node: int) -> list[int]:
    if tree.variable[node] < 0:
        return [node]
    return _leaves_in_order(tree, int(tree.yes[node])) + _leaves_in_order(tree, int(tree.no[node]))


def _x(tree: Tree, target: int, node: int, depth: int) -> float | None:
    if node == target:
        return 10.0 + _COLUMN * depth
    if tree.variable[node] < 0:
        return None
    found = (_x(tree, target, int(child), depth + 1) for child in (tree.yes[node], tree.no[node]))
    return next((place for place in found if place is not None), None)


def _branches(tree: Tree, features: Features, node: int, depth: int, heights: dict[int, float]) -> list[str]:
    """Lines and questions; a node stands at the middle of its children."""
    if tree.variable[node] < 0:
        return []
    parts: list[str] = []
    children = [int(tree.yes[node]), int(tree.no[node])]
    for child in children:
        parts += _branches(tree, features, child, depth + 1, heights)
    heights[node] = sum(heights[child] for child in children) / 2
    x, y = 10 + _COLUMN * depth, heights[node]
    for word, child in zip(("yes", "no"), children, strict=True):
        parts.append(_line(x + 150, y, x + _COLUMN - 6, heights[child]))
        parts.append(_text(x + 166, (y + heights[child]) / 2 - 2, word, size=9))
    parts.append(_text(x, y + 4, f"{tree.question(features, node)}?"))
    return parts


def _leaf(x: float, y: float, risk: float) -> str:
    box = f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="{60 * risk:.1f}" height="16" fill="{_RISK}" opacity="0.35"/>'
    frame = f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="60" height="16" fill="none" stroke="{_LINE}"/>'
    return box + frame + _text(x + 66, y + 4, f"{risk:.2f}")


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_LINE}"/>'


def _text(x: float, y: float, words: str, size: int = 12, weight: str = "normal") -> str:
    shown = words if len(words) <= 40 else words[:39] + "…"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{_INK}" '
        f'font-family="sans-serif">{escape(shown)}</text>'
    )


def _svg(width: float, height: float, label: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f"{head}{size}>{''.join(parts)}</svg>"
