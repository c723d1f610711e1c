"""The metric of a column, in words: what a schema says about how far apart two values are.

- ``numeric``: |a − b|; ``ordinal``: difference of ranks; ``nominal``: 0 if equal, else 1;
- ``matrix``: a table of distances, one row and one column per level (in a schema file: ``file = "places.csv"``);
- ``tree``: the number of steps between two codes in a tree, up to the nearest common ancestor and down again. The tree
  is read from the codes themselves, as in ICD, where a prefix is an ancestor (``lengths`` says which prefixes count),
  or from rows that list each code and its ancestors, nearest first.

A Python function becomes a matrix by `Metric.tabulate`: a schema stays something that a file can hold, and whoever has
the file can repeat the release.

Held to: finite, not negative, symmetric, 0 from a value to itself. The triangle inequality is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shoal.arrays import FloatArray
from shoal.errors import ColumnError, ParameterError, SchemaError

__all__ = ["MOST_LEVELS", "Metric", "MetricKind"]

MetricKind = Literal["numeric", "ordinal", "nominal", "matrix", "tree"]

MOST_LEVELS = 2000
"""Levels that a table of distances may have: 32 MB."""

_SYMMETRIC = 1e-9  # of the largest distance: what rounding in a file may do


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """How far apart two values of a column are.

    Parameters
    ----------
    kind
        ``"numeric"``, ``"ordinal"``, ``"nominal"``, ``"matrix"`` or ``"tree"``.
    rows
        For a matrix: a first row with the levels (its first cell is ignored), then a row per level, the level first.
        For a tree: each code followed by its ancestors, nearest first. All cells as text.
    lengths
        For a tree of prefixes: the lengths at which codes branch, counted in letters and digits; None: after each one.

    Notes
    -----
    A missing value is a level of its own, as far from every other as the two farthest levels are from each other,
    unless the matrix or the tree lists the empty text.

    Examples
    --------
    >>> from shoal.distance import Metric
    >>> icd = Metric(kind="tree", lengths=(1, 3, 4))
    >>> icd.distances(["I21.0", "I21.4", "I50.1", "C50.1"]).astype(int).tolist()
    [[0, 2, 4, 6], [2, 0, 4, 6], [4, 4, 0, 6], [6, 6, 6, 0]]
    """

    kind: MetricKind
    rows: tuple[tuple[str, ...], ...] | None = None
    lengths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(MetricKind):
            raise SchemaError("metric", f"kind must be one of {', '.join(get_args(MetricKind))}", got=repr(self.kind))
        if self.kind == "matrix":
            _parse(self.rows)
        elif self.rows is not None and self.kind != "tree":
            raise SchemaError("metric", f"of kind {self.kind} takes no rows")
        if self.lengths is not None:
            self._check_lengths(self.lengths)

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> Metric:
        """Read a metric from the words of a schema."""
        unknown = set(words) - {"kind", "rows", "lengths"}
        if unknown:
            raise SchemaError("metric", f"has no entry {', '.join(sorted(unknown))}")
        rows, lengths = words.get("rows"), words.get("lengths")
        return cls(
            kind=words["kind"],
            rows=None if rows is None else tuple(tuple(str(cell) for cell in row) for row in rows),
            lengths=None if lengths is None else tuple(lengths),
        )

    @classmethod
    def matrix(cls, levels: Sequence[Any], distances: Any) -> Metric:
        """A metric from a square array of distances in the order of `levels`."""
        table = np.asarray(distances, dtype=np.float64)
        if table.shape != (len(levels), len(levels)):
            raise ParameterError(
                "Metric.matrix",
                f"distances must be {len(levels)} by {len(levels)}, the number of levels",
                got=" by ".join(map(str, table.shape)),
            )
        names = [_text(level) for level in levels]
        body = [(name, *(repr(float(d)) for d in row)) for name, row in zip(names, table, strict=True)]
        return cls(kind="matrix", rows=(("", *names), *body))

    @classmethod
    def tabulate(cls, function: Callable[[Any, Any], float], levels: Iterable[Any]) -> Metric:
        """A metric from a Python function of two values, evaluated on every pair of the distinct `levels`.

        Cost: one call per ordered pair, so at most 2,000 levels. A missing level is left out.

        Examples
        --------
        >>> from shoal.distance import Metric
        >>> ring = Metric.tabulate(lambda a, b: min((a - b) % 12, (b - a) % 12), [1, 2, 11, 12])
        >>> ring.distances(["1", "12"]).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        distinct = [level for level in dict.fromkeys(levels) if level is not None]
        if len(distinct) > MOST_LEVELS:
            raise ParameterError(
                "Metric.tabulate", f"needs at most {MOST_LEVELS} distinct levels", got=f"{len(distinct)}",
                hint="Coarsen the column, or use a metric that needs no table (numeric, ordinal, nominal).",
            )  # fmt: skip
        return cls.matrix(distinct, [[_number(function(a, b)) for b in distinct] for a in distinct])

    def to_dict(self) -> dict[str, Any]:
        """The metric as TOML- and JSON-safe words."""
        words: dict[str, Any] = {"kind": self.kind}
        if self.rows is not None:
            words["rows"] = [list(row) for row in self.rows]
        return words | ({} if self.lengths is None else {"lengths": list(self.lengths)})

    @property
    def tabled(self) -> bool:
        """Whether distances come from a table over levels."""
        return self.kind in ("matrix", "tree")

    def distances(self, levels: Sequence[str], column: str = "") -> FloatArray:
        """The table of distances between `levels`, for a matrix or a tree; an error names `column`."""
        if len(levels) > MOST_LEVELS:
            raise ColumnError(
                column, f"has a metric over levels and may have at most {MOST_LEVELS}", got=f"{len(levels)} levels",
                hint="Coarsen the column, or give it another metric.",
            )  # fmt: skip
        return self._looked_up(levels, column) if self.kind == "matrix" else self._steps(levels, column)

    def lists(self, level: str) -> bool:
        """Whether the rows name this level."""
        return any(row[0] == level for row in (self.rows or ())[self.kind == "matrix" :])

    def _looked_up(self, levels: Sequence[str], column: str) -> FloatArray:
        names, table = _parse(self.rows)
        place = {name: i for i, name in enumerate(names)}
        at = np.array([place.get(level, -1) for level in levels], dtype=np.int64)
        _require_all(at >= 0, column, "distance matrix")
        return table[np.ix_(at, at)]

    def _steps(self, levels: Sequence[str], column: str) -> FloatArray:
        paths = self._paths(levels, column)
        ids: dict[tuple[str, ...], int] = {}
        depth = max(map(len, paths), default=0)
        trail = np.full((len(paths), depth), -1, dtype=np.int64)
        for i, path in enumerate(paths):
            for end in range(1, len(path) + 1):
                trail[i, end - 1] = ids.setdefault(tuple(path[:end]), len(ids))
        shared = np.zeros((len(paths), len(paths)))
        for column_ids in trail.T:
            shared += (column_ids[:, None] == column_ids) & (column_ids[:, None] >= 0)
        own = np.array([len(path) for path in paths], dtype=np.float64)
        return own[:, None] + own - 2 * shared

    def _paths(self, levels: Sequence[str], column: str) -> list[tuple[str, ...]]:
        """The way from the root to each level, the level itself last."""
        if self.rows is None:
            return [_prefixes(level, self.lengths) for level in levels]
        known = {row[0]: tuple(reversed([cell for cell in row if cell])) for row in self.rows}
        _require_all(np.array([level in known for level in levels], dtype=bool), column, "tree")
        return [known[level] for level in levels]

    def _check_lengths(self, lengths: tuple[int, ...]) -> None:
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in lengths)
        rising = whole and list(lengths) == sorted(set(lengths))
        if self.kind != "tree" or not rising or self.rows is not None:
            raise SchemaError("metric", "lengths must be increasing whole numbers above 0, for a tree without rows")


def _prefixes(code: str, lengths: tuple[int, ...] | None) -> tuple[str, ...]:
    """The ancestors of a code and the code itself; dots and the like don't count."""
    bare = "".join(letter for letter in code if letter.isalnum())
    cuts = range(1, len(bare)) if lengths is None else [n for n in lengths if n < len(bare)]
    return (*(bare[:n] for n in cuts), bare) if bare else ()


def _parse(rows: tuple[tuple[str, ...], ...] | None) -> tuple[tuple[str, ...], FloatArray]:
    """Levels and distances of a matrix, held to the rules of a metric."""
    names = (rows or ((),))[0][1:]
    body = (rows or ())[1:]
    square = len(names) > 0 and len(body) == len(names) and all(len(row) == len(names) + 1 for row in body)
    if not square or len(set(names)) < len(names) or tuple(row[0] for row in body) != names:
        raise SchemaError(
            "metric", "rows must be a square matrix with the same levels, each once, as row and column headers"
        )
    try:
        table = np.array([[float(cell) for cell in row[1:]] for row in body])
    except ValueError:
        raise SchemaError("metric", "distances must be numbers") from None
    _check_table(table)
    return names, table


def _check_table(table: FloatArray) -> None:
    if not np.isfinite(table).all():
        raise SchemaError("metric", "distances must be finite", got=f"{int((~np.isfinite(table)).sum())} that aren't")
    if (table < 0).any():
        raise SchemaError("metric", "distances must not be negative", got=f"{int((table < 0).sum())} negative")
    if (np.diag(table) != 0).any():
        raise SchemaError("metric", "distances from a level to itself must be 0")
    uneven = np.abs(table - table.T) > _SYMMETRIC * table.max(initial=0.0)
    if uneven.any():
        raise SchemaError("metric", "distances must be symmetric", got=f"{int(uneven.sum()) // 2} pairs that aren't")


def _require_all(known: Any, column: str, what: str) -> None:
    if not known.all():
        raise ColumnError(
            column, f"has levels that are not listed in its {what}", got=f"{int((~known).sum())} levels",
            hint="Add them, or correct the column.",
        )  # fmt: skip


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError("Metric.tabulate", "function must return a number", got=type(value).__name__) from None


def _text(level: Any) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    return str(level)
