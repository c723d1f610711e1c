"""Mondrian: boxes of at least k records, each written as the intervals and sets that it covers.

The table is one box; boxes are cut in two, across one column at a time, as long as both sides keep k persons (and, if
asked for, sensitive values that are mixed enough). What is written for a record is its box: ``20-29``, ``school to
college``, ``{a, b}``. LeFevre, DeWitt and Ramakrishnan (2006) cut the widest column at its median; here each cut is the
one, over all columns and values, that lowers the loss

    loss = 1/(n d) Σ_records Σ_columns  covered share of the domain                     (0 exact, 1 nothing said)

most, after both sides have shrunk to their own records (`shoal.coarsening.partition`). Finding the partition of lowest
loss is NP-hard; this is greedy.

Promised: every combination of written quasi-identifiers is shared by at least k persons, all rows are kept, and every
written interval or set holds the true value. In strict form (the default) equal records are written alike and no two
boxes overlap (the names that a hierarchy gives them can). Not promised: the lowest possible loss; anything about
sensitive values unless `diversity` or `closeness` is set; protection against somebody who knows sensitive values.

A nominal column with a hierarchy: boxes follow its tree, and are written by the names that it has for them.

The values are put in the order of the tree, so that those of one class stand side by side, and are cut like an ordered
column. A box is written as the lowest class of the hierarchy that holds all its values (``Europe``, not ``{France,
Italy}``), and loses the share of the domain that this class covers. Two boxes can get the same name; their classes then
merge, which only makes them larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl

from shoal import coarsening
from shoal.arrays import BoolArray, FloatArray, IntArray, numbered
from shoal.coarsening.coarsener import Coarsened, Coarsener, within_limits
from shoal.coarsening.default_hierarchies import ladder_for
from shoal.coarsening.hierarchy import Ladder
from shoal.coarsening.steps import as_text
from shoal.coarsening.written_cells import Axis, Boxes, axes_of, one_zero
from shoal.condition.conditions import Conditions
from shoal.conform import Prepared
from shoal.equivalence import Codes, codes, combine
from shoal.errors import SchemaError
from shoal.fact import Fact
from shoal.frame import series
from shoal.importance import importance_of
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.rng import stream
from shoal.schema import Column

__all__ = ["TIGHTER", "Mondrian", "TreeAxis"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian(Coarsener):
    """Write each record as the box that it shares with at least k − 1 others.

    Parameters
    ----------
    k
        Fewest persons in a box. Raising it lowers risk and widens what is written.
    diversity
        What each box must meet in every sensitive column: ``3`` (different values), ``"entropy:2.5"``,
        ``"recursive:3,2"``; None asks for nothing.
    closeness
        How far a box's sensitive values may be from the table's: ``0.2``, ``"equal:0.2"``, ``"ordered:0.2"``.
    risk, population
        The largest risk of an attacker, such as ``"journalist:0.05/marketer:0.01"`` (`shoal.condition.attackers`), met
        by raising k; and how many persons the table was drawn from, where survey weights don't tell.
    relaxed
        Whether records of equal value may be divided between two boxes. Boxes get smaller, but can overlap, and equal
        records can be written differently.
    write
        ``"sets"`` writes intervals, ranges and sets. ``"means"`` writes the mean of the box for numeric columns, as a
        float, so that they stay numeric and keep their totals; the other columns are written as with ``"sets"``.
    importance
        How much each column's loss counts when cuts are chosen, as a mapping from column to a positive number; a column
        that isn't named counts 1. Raising one makes that column more exact at the cost of the others.

    Notes
    -----
    A nominal column with a hierarchy in the schema is cut along its tree and written by the names of its classes. A
    missing category is a level of its own. Where the schema names a unit, k counts distinct persons in a box.
    Survey weights are not used. The result depends on the values, not on the order of rows; the seed matters for
    ``relaxed`` only. Cost: about O(m d² log(n/k)) for m distinct combinations of d columns: 30,162 rows of 9 columns
    take a quarter of a second, a million rows of 6 some seconds.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.coarsening.mondrian import Mondrian
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"age": [23, 27, 31, 62, 65, 69], "town": ["A", "B", "B", "A", "C", "C"]})
    >>> prepared = prepare(table, shoal.Schema.of(quasi=["age", "town"]))
    >>> boxes = Mondrian(k=3).apply(prepared, seed=1)
    >>> boxes.columns["age"].to_list()
    ['23-31', '23-31', '23-31', '62-69', '62-69', '62-69']
    >>> boxes.columns["town"].unique().sort().to_list()
    ['{A, B}', '{A, C}']
    """

    title = "Mondrian: boxes of k people"
    summary = "Intervals and sets, cut finer where there are more people; loses least of the coarseners."
    promise = "Every combination is shared by at least k persons, and no record is dropped."
    report_text = ReportText(
        done=(
            "The people were divided into classes of at least {k}, and each got the intervals and sets that "
            "cover the class."
        ),
        writes="coarsened: the interval or set of values of the person's class",
        keeps="An interval or set that holds the value.",
    )
    rank = 1

    k: Annotated[int, Range(low=2), Help("fewest persons in a box")] = 5
    diversity: Annotated[int | str | None, Help("l-diversity of every sensitive column in each box")] = None
    closeness: Annotated[float | str | None, Help("t-closeness of every sensitive column in each box")] = None
    risk: Annotated[str | None, Help("largest risk: prosecutor:0.1, journalist:0.05, marketer:0.01, q95:0.05")] = None
    population: Annotated[float | None, Range(low=1), Help("persons the table was drawn from, for risk")] = None
    relaxed: Annotated[bool, Help("divide records of equal value between boxes")] = False
    write: Annotated[Literal["sets", "means"], Help("intervals and sets, or means of numeric columns")] = "sets"
    importance: Annotated[Mapping[str, float] | None, Help("weight of a column's information loss")] = None

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Cut the table into boxes and write them; the seed decides who of equal records goes where, if relaxed."""
        check(self)
        names = prepared.schema.quasi
        if not names:
            raise SchemaError("schema", "must name at least one quasi-identifier to coarsen")
        importance = importance_of("Mondrian", self.importance, names)
        run = partial(self._at, prepared, _axes(prepared), importance, seed)
        return within_limits("Mondrian", prepared, self.k, run, self.risk, self.population)

    def _at(self, prepared: Prepared, axes: tuple[Axis, ...], importance: FloatArray, seed: int, k: int) -> Coarsened:
        conditions = Conditions.of(prepared, k=k, diversity=self.diversity, closeness=self.closeness)
        conditions.check_whole("Mondrian", prepared.n)
        labels = self._labels(axes, importance, conditions, seed)
        done = self._written(axes, Boxes.of(labels))
        return replace(done, columns=one_zero(prepared, done.columns))

    def _labels(self, axes: tuple[Axis, ...], importance: FloatArray, conditions: Conditions, seed: int) -> IntArray:
        """The box of each row.

        Boxes that are written alike are one class, and with several rows a person the mix that closeness compares with
        depends on the classes themselves. So the written classes are checked at the end; if they fail, boxes are made
        again with a stricter closeness, and in the last resort the table stays one box.
        """
        items = _items(axes, conditions, seed, each_row=self.relaxed)
        points = items.points(axes, importance)
        for share in (1.0,) if _is_plain(conditions) else TIGHTER:
            labels = self._partition(points, items, _stricter(conditions, share))
            if _is_plain(conditions) or self._holds(axes, labels, conditions):
                return labels
        return np.zeros(len(items.owner), dtype=np.int64)

    def _partition(self, points: Any, items: _Items, conditions: Conditions) -> IntArray:
        def meets(labels: IntArray, n: int) -> BoolArray:
            return conditions.meets(labels[items.owner], n)

        asked = None if _is_plain(conditions) else meets
        return coarsening.partition.partition(points, conditions.k, anywhere=self.relaxed, meets=asked)[items.owner]

    def _holds(self, axes: tuple[Axis, ...], labels: IntArray, conditions: Conditions) -> bool:
        boxes = Boxes.of(labels)
        written = combine([codes(self._column(axis, boxes)) for axis in axes])
        return bool(conditions.meets(written.values, written.n).all())

    def _written(self, axes: tuple[Axis, ...], boxes: Boxes) -> Coarsened:
        """Columns in which every box has one value stay as they are."""
        covers = {axis.name: axis.cover(boxes) for axis in axes}
        shares = {name: float(cover @ boxes.sizes / len(boxes.labels)) for name, cover in covers.items()}
        return Coarsened(
            columns={axis.name: self._column(axis, boxes) for axis in axes if covers[axis.name].any()},
            kept=np.ones(len(boxes.labels), dtype=np.bool_),
            facts=(
                Fact(
                    says="{n:,} boxes of {mean:.1f} records on average; no record is dropped",
                    values={"n": boxes.n, "mean": len(boxes.labels) / boxes.n},
                    counts="groups",
                ),
                Fact(says=self._rule(), outside=True),
            ),
            details={"n_classes": boxes.n, "loss": float(np.mean(list(shares.values()))), "loss_by_column": shares},
        )

    def _column(self, axis: Axis, boxes: Boxes) -> pl.Series:
        means = self.write == "means" and axis.kind == "numeric"
        return axis.means(boxes) if means else axis.write(boxes)

    def _rule(self) -> str:
        numbers = "the mean of the box" if self.write == "means" else "the interval of the box"
        return f"numbers are written as {numbers}, levels as its range or set; missing is a level of its own"


TIGHTER = (1.0, 0.95, 0.9, 0.75, 0.5, 0.25)
"""Shares of a closeness that are tried in turn where classes change the mix that they are compared with."""


def _is_plain(conditions: Conditions) -> bool:
    """Whether k is all that is asked for."""
    return conditions.diversity is None and conditions.closeness is None


def _stricter(conditions: Conditions, share: float) -> Conditions:
    closeness = conditions.closeness
    return conditions if closeness is None else replace(conditions, closeness=replace(closeness, t=share * closeness.t))


def _axes(prepared: Prepared) -> tuple[Axis, ...]:
    """The quasi-identifiers in the order of the schema; nominal ones with a hierarchy follow it."""
    schema = prepared.schema
    free = [name for name in schema.quasi if not _follows_tree(schema[name])]
    made = {axis.name: axis for axis in axes_of(prepared, free)}
    trees = {n: _tree_axis(series(prepared.frame, n), schema[n]) for n in schema.quasi if n not in made}
    return tuple((made | trees)[name] for name in schema.quasi)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """What is never divided: records of equal quasi-identifiers (of one person, where there are persons), or rows."""

    owner: IntArray  # the item of each row
    first: IntArray  # a row of each item
    rows: IntArray
    persons: IntArray

    def points(self, axes: tuple[Axis, ...], importance: FloatArray) -> Any:
        ordered = [axis.place is not None for axis in axes]
        place = [weight * _place(axis)[axis.codes[self.first]] for axis, weight in zip(axes, importance, strict=True)]
        steps = [weight * axis.step for axis, weight in zip(axes, importance, strict=True)]
        return coarsening.partition.Points(
            codes=np.stack([axis.codes[self.first].astype(np.int32) for axis in axes]),
            place=np.stack(place),
            step=np.where(ordered, -1.0, steps),
            n_levels=np.array([axis.n_levels for axis in axes]),
            rows=self.rows,
            persons=self.persons.astype(np.int32),
        )


def _place(axis: Axis) -> FloatArray:
    return np.zeros(axis.n_levels) if axis.place is None else axis.place


def _items(axes: tuple[Axis, ...], conditions: Conditions, seed: int, *, each_row: bool) -> _Items:
    """Items in order of their values; rows that can't be told apart in an order that the seed decides."""
    columns = [Codes(values=axis.codes, n=axis.n_levels) for axis in axes]
    persons = conditions.persons
    if persons is not None:
        columns.append(Codes(values=persons, n=int(persons.max()) + 1))
    key = _sorted_key(columns)
    if each_row:
        order = _order(key, conditions, seed)
        owner = np.empty(len(order), dtype=np.int64)
        owner[order] = np.arange(len(order))
        first, rows = order, np.ones(len(order), dtype=np.int64)
    else:
        owner, rows = key.values, np.bincount(key.values, minlength=key.n)
        first = np.empty(key.n, dtype=np.int64)
        first[owner] = np.arange(len(owner))
    people = np.empty(0, dtype=np.int64) if persons is None else persons[first]
    return _Items(owner=owner, first=first, rows=rows, persons=people)


def _sorted_key(columns: list[Codes]) -> Codes:
    """Columns as one number that grows with the first column, then the second, ...: `combine` keeps the order
    unless the numbers get too large, and then it is made again by ranks."""
    key = columns[0]
    for column in columns[1:]:
        if key.n * column.n > 2**62:
            key = _ranked(key)
        key = Codes(values=key.values * column.n + column.values, n=key.n * column.n)
    return _ranked(key)


def _ranked(key: Codes) -> Codes:
    distinct, values = numbered(key.values)
    return Codes(values=values.reshape(-1), n=len(distinct))


def _order(key: Codes, conditions: Conditions, seed: int) -> IntArray:
    """Rows by value; equal rows shuffled, after a sort by their sensitive values, so that file order never matters."""
    sensitive = [column.values for column in conditions.sensitive]
    by_value = np.lexsort((*sensitive, key.values))
    shuffled = by_value[stream(seed, "mondrian").permutation(len(by_value))]
    return shuffled[np.argsort(key.values[shuffled], kind="stable")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAxis(Axis):
    """A nominal column in the order of its hierarchy.

    Parameters
    ----------
    groups
        For each level, the class of each number.
    labels
        For each level, what is written for each number.
    """

    groups: tuple[IntArray, ...] = ()
    labels: tuple[pl.Series, ...] = ()

    def cover(self, boxes: Boxes) -> FloatArray:
        """The share of the domain in the lowest class that holds each box."""
        low, level = self._lowest(boxes)
        sizes = np.stack([np.bincount(group)[group] for group in self.groups])
        share: FloatArray = (sizes[level, low] - 1).astype(np.float64) * self.step
        return share

    def write(self, boxes: Boxes) -> pl.Series:
        """The name of the lowest class that holds the row's box."""
        low, level = self._lowest(boxes)
        every = pl.concat(self.labels)
        return every.gather(level * self.n_levels + low).gather(boxes.labels).alias(self.name)

    def _lowest(self, boxes: Boxes) -> tuple[IntArray, IntArray]:
        """A number of each box, and the lowest level at which all of the box are together.

        Classes are stretches of the order, so the first and the last number of a box tell.
        """
        low, high = self._ends(boxes)
        together = np.stack([group[low] == group[high] for group in self.groups])
        return low, np.argmax(together, axis=0)


def _follows_tree(column: Column) -> bool:
    """Whether the schema gives a nominal column a hierarchy."""
    declared = column.hierarchy is not None and column.hierarchy.get("kind") != "default"
    return column.kind == "nominal" and declared


def _tree_axis(content: pl.Series, column: Column) -> TreeAxis:
    """A column with a declared hierarchy as an axis; errors name the column and count the values without a class."""
    ladder = ladder_for(content, column)
    order = np.lexsort(ladder.groups)
    rank = np.argsort(order)
    n = len(order)
    return TreeAxis(
        name=column.name,
        kind="nominal",
        codes=rank[ladder.codes],
        texts=as_text(ladder.values).gather(order),
        place=np.arange(n) / max(1, n - 1),
        groups=tuple(group[order] for group in ladder.groups),
        labels=_labels(ladder, order),
    )


def _labels(ladder: Ladder, order: IntArray) -> tuple[pl.Series, ...]:
    return tuple(as_text(label).cast(pl.String).gather(order).alias(ladder.name) for label in ladder.labels)
