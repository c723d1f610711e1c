"""Hierarchies: how a column is coarsened level by level, from the exact value to ``*``.

A hierarchy is a stack of steps, each applied to the original value: intervals of growing width, shorter prefixes,
larger parts of dates, or the columns of a table. Level 0 is the value itself, the last level is ``*``; both are
implied. It is written in words, as the entry `hierarchy` of a column in the schema::

    [columns.age.hierarchy]
    kind = "intervals"
    widths = [5, 10, 20]

    [columns.diagnosis.hierarchy]
    kind = "table"
    file = "diagnosis.csv"      # as in ARX: no header, one row per value, one column per level

No hierarchy is ever required: `shoal.coarsening.default_hierarchy` proposes one for a column that has none.

A column with all its levels: which values each level puts together, and what it writes for them.

Level 0 is the column as it is, the last level is ``*`` (or one single label). Levels nest: values together at one level
stay together at all higher ones. Values are together where their written labels are equal, so what is counted here is
what a reader of the release can tell apart. A missing value is a class of its own at every level but the last.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.coarsening.code_systems import SYSTEMS, System
from shoal.coarsening.steps import (
    Bins,
    CodeLevel,
    DatePart,
    Part,
    Prefix,
    Star,
    Step,
    TreeLevel,
    as_text,
    check_rows,
    step_of,
)
from shoal.equivalence import ranks
from shoal.errors import ColumnError, FileError, ParameterError
from shoal.files import write_text

__all__ = ["Hierarchy", "Ladder", "check_nested", "distinct_values", "hierarchy_error"]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The levels between the exact value and ``*``; build it with one of its class methods.

    Parameters
    ----------
    steps
        What is written at the levels 1, 2 and so on, finest first.
    words
        The hierarchy as it was declared.

    Examples
    --------
    >>> import polars as pl
    >>> ladder = Hierarchy.intervals(widths=[5, 10]).climb(pl.Series("age", [20, 24, 28, 31]))
    >>> [ladder.written(level).to_list() for level in range(ladder.height + 1)][1:3]
    [['20-24', '20-24', '25-29', '30-34'], ['20-29', '20-29', '20-29', '30-39']]
    """

    steps: tuple[Step, ...]
    words: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, words: Hierarchy | Mapping[str, Any]) -> Hierarchy:
        """Read a hierarchy from its words; a hierarchy passes unchanged."""
        if isinstance(words, Hierarchy):
            return words
        kind = words.get("kind") if isinstance(words, Mapping) else None
        maker = _makers().get(kind) if isinstance(kind, str) else None
        if maker is None:
            raise ParameterError("hierarchy", f"kind must be one of {', '.join(_makers())}", got=repr(kind)[:60])
        rest = {name: value for name, value in words.items() if name != "kind"}
        try:
            return maker(**rest)
        except TypeError:
            names = ", ".join(rest) or "none"
            raise ParameterError(
                "hierarchy", f"of kind {kind} has unknown entries", got=f"the entries {names}"
            ) from None

    @classmethod
    def stacked(cls, steps: Sequence[Step | Mapping[str, Any]]) -> Hierarchy:
        """Any steps, finest first."""
        made = tuple(step_of(step) for step in _listed("steps", steps))
        return cls(made, {"kind": "steps", "steps": [step.to_dict() for step in made]})

    @classmethod
    def intervals(
        cls,
        widths: Sequence[float] = (),
        origin: float = 0.0,
        edges: Sequence[Sequence[float]] = (),
        within: Sequence[float] | None = None,
    ) -> Hierarchy:
        """Intervals of growing widths from one origin, or between coarser and coarser edges."""
        ends = None if within is None else tuple(_listed("within", within))
        steps = [Bins(width=width, origin=origin, within=ends) for width in _listed("widths", widths)]
        steps += [Bins(edges=tuple(_listed("edges", some))) for some in _listed("edges", edges)]
        words = {"widths": list(widths), "origin": origin} if widths else {"edges": [list(some) for some in edges]}
        return cls._checked(steps, {"kind": "intervals", **words, **({"within": list(ends)} if ends else {})})

    @classmethod
    def prefixes(cls, keep: Sequence[int], pad: bool = True, length: int | None = None) -> Hierarchy:
        """Shorter and shorter beginnings of a text."""
        steps = [Prefix(keep=n, pad=pad, length=length) for n in _listed("keep", keep)]
        words: dict[str, Any] = {"kind": "prefix", "keep": list(keep), "pad": pad}
        return cls._checked(steps, words | ({} if length is None else {"length": length}))

    @classmethod
    def dates(cls, parts: Sequence[Part] = ("year-month", "year-quarter", "year", "decade")) -> Hierarchy:
        """Larger and larger parts of dates."""
        steps = [DatePart(part=part) for part in _listed("parts", parts)]
        return cls._checked(steps, {"kind": "dates", "parts": list(parts)})

    @classmethod
    def codes(cls, system: System, levels: Sequence[str] | None = None) -> Hierarchy:
        """What the codes of a known system lie in (`shoal.coarsening.code_systems`), at all its levels or at some."""
        if system not in SYSTEMS:
            raise ParameterError("hierarchy", f"system must be one of {', '.join(SYSTEMS)}", got=repr(system)[:40])
        named = SYSTEMS[system].levels if levels is None else tuple(_listed("levels", levels))
        steps = [CodeLevel(system=system, level=level) for level in named]
        return cls._checked(
            steps, {"kind": "codes", "system": system} | ({} if levels is None else {"levels": list(named)})
        )

    @classmethod
    def ages(cls) -> Hierarchy:
        """Ages in 5, 10 and 20 years."""
        return replace(cls.intervals([5, 10, 20]), words={"kind": "ages"})

    @classmethod
    def table(cls, rows: Sequence[Sequence[object]]) -> Hierarchy:
        """A table with one row for each value and one column for each level, the value itself first."""
        texts = tuple(tuple(str(cell) for cell in _listed("rows", row)) for row in _listed("rows", rows))
        check_rows(texts)
        steps = [TreeLevel(rows=texts, level=level) for level in range(1, len(texts[0]))]
        return cls(tuple(steps), {"kind": "table", "rows": [list(row) for row in texts]})

    @classmethod
    def tree(cls, tree: Mapping[str, Any] | None = None, rows: Sequence[Sequence[object]] = ()) -> Hierarchy:
        """A nested mapping whose innermost lists hold the values: ``{"Europe": {"France": ["Paris", "Lyon"]}}``."""
        if tree is None:
            return cls.table(rows)
        paths = list(_paths(tree))
        deepest = max(map(len, paths), default=0)
        return cls.table([path[::-1] + path[:1] * (deepest - len(path)) for path in paths])

    @classmethod
    def flat(cls) -> Hierarchy:
        """The value, or ``*``."""
        return cls((), {"kind": "flat"})

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str]) -> Hierarchy:
        """Read a table as ARX writes it: no header, one row per value, one column per level; comma, semicolon or
        tab."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            got = getattr(error, "strerror", "") or ""
            raise FileError(str(path), "must be a readable UTF-8 text file", got=got) from None
        delimiter = max(";\t,", key=text.split("\n", 1)[0].count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
        try:
            return cls.table(rows)
        except ParameterError as error:
            raise FileError(str(path), error.rule, got=error.got) from None

    def write_csv(self, path: str | os.PathLike[str], values: pl.Series | None = None) -> None:
        """Write the hierarchy as a table that ARX reads; steps other than a table need the `values` it is for."""
        out = io.StringIO()
        csv.writer(out, delimiter=";", lineterminator="\n").writerows(self.rows(values))
        write_text(path, out.getvalue())

    def rows(self, values: pl.Series | None = None) -> list[list[str]]:
        """The hierarchy as a table of texts, the value first and ``*`` last; missing values have no row."""
        shown = self._own_values() if values is None else distinct_values(values.drop_nulls())[1]
        ladder = self.climb(shown)
        written = [as_text(ladder.written(level)).to_list() for level in range(ladder.height + 1)]
        return [list(row) for row in zip(*written, strict=True)]

    def climb(self, content: pl.Series) -> Ladder:
        """The column with all its levels.

        Raises
        ------
        ColumnError
            Levels don't nest, or values are missing in the hierarchy: the message names the column and counts them.
        """
        if self.steps and isinstance(self.steps[0], TreeLevel):
            _check_table(content.name, self.steps[0].rows)
        return _ladder_of(content, self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The hierarchy in words, from which `of` gives it back."""
        return dict(self.words) or {"kind": "steps", "steps": [step.to_dict() for step in self.steps]}

    @classmethod
    def _checked(cls, steps: Sequence[Step], words: Mapping[str, Any]) -> Hierarchy:
        if not steps:
            raise ParameterError("hierarchy", f"of kind {words['kind']} must have at least one level")
        for step in steps:
            step.check()
        return cls(tuple(steps), words)

    def _own_values(self) -> pl.Series:
        if self.steps and isinstance(self.steps[0], TreeLevel):
            return pl.Series("value", [row[0] for row in self.steps[0].rows], dtype=pl.String)
        raise ParameterError("hierarchy", "is not a table, so the values to write must be given")


def _makers() -> dict[str, Callable[..., Hierarchy]]:
    return {
        "intervals": Hierarchy.intervals,
        "prefix": Hierarchy.prefixes,
        "dates": Hierarchy.dates,
        "ages": Hierarchy.ages,
        "codes": Hierarchy.codes,
        "table": Hierarchy.table,
        "tree": Hierarchy.tree,
        "steps": Hierarchy.stacked,
        "flat": Hierarchy.flat,
    }


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError("hierarchy", f"{name} must be a list", got=type(given).__name__)
    return list(given)


def _paths(tree: Any) -> list[list[str]]:
    """The path from the top to each value."""
    if isinstance(tree, Mapping):
        return [[str(name), *path] for name, below in tree.items() for path in _paths(below)]
    return [[str(value)] for value in _listed("tree", tree)]


def _check_table(name: str, rows: Sequence[Sequence[str]]) -> None:
    """A table must nest as a whole, not only where values occur."""
    columns = [pl.Series(column, dtype=pl.String) for column in zip(*rows, strict=True)]
    check_nested(name, [ranks(column).values for column in columns])


def hierarchy_error(name: str, error: ParameterError) -> ColumnError:
    """A wrong hierarchy as an error that names its column."""
    return ColumnError(name, f"has an invalid hierarchy: {error.owner} {error.rule}", got=error.got, hint=error.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The levels of one column.

    Parameters
    ----------
    name
        The column.
    codes, values
        The value of each row as a number, and the distinct values in order of these numbers (missing last).
    groups
        For each level, the class of each distinct value, as numbers from 0.
    labels
        For each level, what is written for each distinct value.
    steps
        What makes the labels of each level above 0.
    reasons
        Numbers among the values that stand for an absence.
    """

    name: str
    codes: IntArray
    values: pl.Series
    groups: tuple[IntArray, ...]
    labels: tuple[pl.Series, ...]
    steps: tuple[Step, ...]
    reasons: tuple[float, ...] = ()

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.groups) - 1

    def written(self, level: int) -> pl.Series:
        """The column as it is written at `level`."""
        return self.labels[level].gather(self.codes).alias(self.name)

    def written_of(self, level: int, kept: BoolArray) -> pl.Series:
        """The same with labels made from the `kept` rows alone; the others are missing.

        A label may follow from all values it is made from (``20-29`` where all are whole, else ``20 to <30``), so the
        value of a row that is left out must have no part in it.
        """
        if level == 0 or kept.all():
            return self.written(level)
        shown = self.shown(kept)
        labels = self.labels_of(level, shown)
        place = np.where(kept, np.searchsorted(shown, self.codes), len(shown))
        return labels.extend_constant(None, 1).gather(place).alias(self.name)

    def shown(self, kept: BoolArray) -> IntArray:
        """The numbers of the values that the `kept` rows have, in order."""
        seen: BoolArray = np.zeros(len(self.values), dtype=np.bool_)
        seen[self.codes[kept]] = True
        return np.flatnonzero(seen)

    def labels_of(self, level: int, shown: IntArray) -> pl.Series:
        """What is written at `level` for some of the values, made from these alone."""
        values = self.values.gather(shown)
        return values if level == 0 else self.steps[level - 1].apply(values)


def _ladder_of(content: pl.Series, steps: Sequence[Step]) -> Ladder:
    """The levels that `steps` give a column, with the column itself below and ``*`` on top.

    Raises
    ------
    ColumnError
        The levels don't nest, or a step can't be applied; the message names column, level and counts.
    """
    codes, values = distinct_values(content)
    labels = [values, *(step.apply(values) for step in steps)]
    if labels[-1].n_unique() > 1 or len(labels) == 1:
        steps = (*steps, Star())
        labels.append(Star().apply(values))
    groups = tuple(ranks(label).values for label in labels)
    check_nested(content.name, groups)
    return Ladder(
        name=content.name, codes=codes, values=values, groups=groups, labels=tuple(labels), steps=tuple(steps)
    )


def distinct_values(content: pl.Series) -> tuple[IntArray, pl.Series]:
    """The value of each row as a number, and the distinct values in order, missing last."""
    found = ranks(content)
    shown = np.empty(found.n, dtype=np.int64)
    shown[found.values[::-1]] = np.arange(len(content) - 1, -1, -1)
    return found.values, content.gather(shown)


def check_nested(name: str, groups: Sequence[IntArray]) -> None:
    """Refuse levels of which a finer class falls into several coarser ones."""
    for level in range(1, len(groups)):
        fine, coarse = groups[level - 1], groups[level]
        n_split = _n_split(fine, coarse)
        if n_split:
            raise ColumnError(
                name,
                f"has levels that are not nested: classes of level {level - 1} are split across level {level}",
                got=f"{n_split} such classes",
                hint="Every class of a level must be contained in one class of the next.",
            )


def _n_split(fine: IntArray, coarse: IntArray) -> int:
    """Number of finer classes that lie in more than one coarser class."""
    if len(fine) == 0:
        return 0
    pairs = np.unique(np.column_stack((fine, coarse)), axis=0)
    return int((np.bincount(pairs[:, 0]) > 1).sum())
