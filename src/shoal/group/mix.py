"""Which classes the records have, and groupers that look at them.

The class columns are the nominal and ordinal sensitive columns. They count together, as one class for each
combination that occurs ("compound"), or each for itself ("each"). A missing class is a class of its own. Where the
schema names a unit, a person brings the classes of all their rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from shoal.arrays import FloatArray, IntArray, numbered
from shoal.conform import Prepared
from shoal.encode import Encoder
from shoal.errors import ColumnError, GuaranteeError, InputError, SchemaError
from shoal.group.grouper import NO_HANDING, Grouper, Grouping, Handing, canonical_order, require_sizes, unit_points
from shoal.group.points import Points
from shoal.group.whole_classes import WholeClasses
from shoal.params import check
from shoal.rng import stream
from shoal.schema import Schema

__all__ = [
    "ClassGrouper",
    "Classes",
    "Mix",
    "check_classes",
    "check_counts",
    "class_codes",
    "class_names",
    "compound",
    "jensen_shannon",
    "require_two_groups",
    "required_classes",
]

Classes = Literal["compound", "each"]

_MOST_COUNTS = 2**24  # persons times classes (or kinds of persons): some minutes of work


class Mix(NamedTuple):
    """The classes of persons, as counts; the kernels take it as it is.

    Parameters
    ----------
    kinds
        The kind of each person; persons of one kind bring the same classes.
    starts, codes, counts
        Kind t brings `counts[i]` rows of class `codes[i]` for i from `starts[t]` to `starts[t + 1]`.
    rows
        Number of rows that each kind brings.
    overall
        Number of rows of each class in the table (of which these persons may be a part); the classes of several columns
        lie end to end.
    columns
        The classes of column j are `columns[j]` to `columns[j + 1]`.
    total
        Number of rows of the table.
    """

    kinds: IntArray
    starts: IntArray
    codes: IntArray
    counts: IntArray
    rows: IntArray
    overall: IntArray
    columns: IntArray
    total: int

    def take(self, order: IntArray) -> Mix:
        """The same persons in another order."""
        return self._replace(kinds=self.kinds[order])

    @classmethod
    def none(cls, n: int) -> Mix:
        """Persons whose classes don't matter."""
        return cls.of(np.zeros((n, 0), dtype=np.int64), np.arange(n))

    @classmethod
    def of(cls, codes: IntArray, units: IntArray, whole: WholeClasses | None = None) -> Mix:
        """Count class codes by person: one column per class column, numbered from 0 without gaps or as in `whole`."""
        sizes = codes.max(axis=0) + 1 if whole is None else whole.sizes
        columns = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        held = np.zeros((int(units.max()) + 1, 1 + int(columns[-1])), dtype=np.int64)
        held[:, 0] = np.bincount(units)
        for j in range(codes.shape[1]):
            np.add.at(held, (units, 1 + columns[j] + codes[:, j]), 1)
        table, kinds = np.unique(held, axis=0, return_inverse=True)
        kind, code = np.nonzero(table[:, 1:])
        return cls(
            kinds=kinds.reshape(-1),
            starts=np.searchsorted(kind, np.arange(len(table) + 1)),
            codes=code,
            counts=table[:, 1:][kind, code],
            rows=table[:, 0].copy(),
            overall=held[:, 1:].sum(axis=0) if whole is None else whole.overall,
            columns=columns,
            total=len(codes) if whole is None else whole.total,
        )


class ClassGrouper(Grouper):
    """A grouper that looks at the classes of the records as well as at their distances."""

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        units = prepared.units()
        self._check_size(int(units.max()) + 1)
        mix = _read(prepared, units, self.how_counted(), type(self).__name__)
        points = unit_points(self._points(prepared).values, units)
        order = canonical_order(np.column_stack((points, mix.kinds)), stream(seed, "order"))
        partition, notes = self._divide(np.ascontiguousarray(points[order]), mix.take(order))
        labels = np.empty(len(points), dtype=np.int64)
        labels[order] = partition
        require_sizes(self, labels)
        return Grouping(labels=labels[units], notes={**_notes(prepared.schema, mix), **notes})

    @abstractmethod
    def _divide(self, points: FloatArray, mix: Mix) -> tuple[IntArray, Mapping[str, Any]]:
        """Labels 0..c-1 for persons in canonical order, and how they were found."""

    def how_counted(self) -> Classes:
        """Whether several class columns count together or each for itself."""
        return "each"

    def tell_part(self, part: Prepared, whole: Prepared) -> None:
        """A group is compared with the classes of the whole table, of which a part may hold a single one."""
        names = required_classes(whole.schema, type(self).__name__)
        columns = [names] if self.how_counted() == "compound" else [(name,) for name in names]
        for name, column in zip(names, class_codes(whole, names).T, strict=True):
            check_classes(name, int(column.max()) + 1)
        whole.once(("classes", self.how_counted()), lambda: WholeClasses.of(whole, columns)).tell(part)

    def required_closeness(self) -> float | None:
        """The largest total variation between a group's classes and the table's; None where nothing is required."""
        return None

    def check_whole(self, whole: Prepared, labels: IntArray) -> None:
        """Refuse groups whose classes differ from the table's by more than is required."""
        t = self.required_closeness()
        if t is None:
            return
        names = class_names(whole.schema)
        n_far = max(_n_far(column, labels, t) for column in class_codes(whole, names).T)
        if n_far:
            raise GuaranteeError(
                type(self).__name__,
                f"needs groups whose classes differ from the table's by at most t = {t:g}, and the rules keep apart "
                "records of other classes",
                got=f"{n_far} groups that differ more",
                hint="Raise t, leave the rule out, or give the columns that it ties to quasi-identifiers the role "
                "quasi.",
            )

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        raise NotImplementedError(f"{type(self).__name__} looks at classes: see _divide")

    def _check_size(self, n_persons: int) -> None:
        require_two_groups(self, n_persons)


def class_names(schema: Schema) -> tuple[str, ...]:
    """The class columns: sensitive ones that are nominal or ordinal (kinds must be settled)."""
    return tuple(name for name in schema.sensitive if schema[name].kind in ("nominal", "ordinal"))


def class_codes(prepared: Prepared, names: tuple[str, ...]) -> IntArray:
    """The classes of each row, one column per class column, numbered from 0 without gaps."""
    codes = Encoder.of(prepared, names).own_codes(prepared).astype(np.int64)
    columns = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in codes.T]
    return np.column_stack(columns).astype(np.int64)


def compound(codes: IntArray) -> IntArray:
    """One class for each combination of classes that occurs."""
    one = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        pairs = one * (int(column.max(initial=0)) + 1) + column
        one = numbered(pairs)[1]
    return one.reshape(-1, 1)


def jensen_shannon(counts: IntArray, overall: IntArray) -> FloatArray:
    """JSD (5) in base 2 between each row of `counts` (classes of a group) and the overall counts."""
    f = counts / counts.sum(axis=-1, keepdims=True)
    F = overall / overall.sum()
    M = (f + F) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(f > 0, f * np.log2(f / M), 0.0)
    outer = F * np.log2(F / M)
    divergence: FloatArray = np.maximum(0.0, (inner.sum(axis=-1) + outer.sum(axis=-1)) / 2)
    return divergence


def require_two_groups(grouper: Grouper, n_persons: int) -> None:
    """A spanning tree of fewer than 2k persons can't be cut: all would share one group."""
    if n_persons < 2 * grouper.k:
        raise GuaranteeError(
            type(grouper).__name__,
            f"needs at least 2k = {2 * grouper.k} persons to form more than one group",
            got=f"{n_persons}",
            hint="Lower k or add records.",
        )


def _read(prepared: Prepared, units: IntArray, classes: Classes, owner: str) -> Mix:
    names = required_classes(prepared.schema, owner)
    whole = WholeClasses.told(prepared)
    if whole is not None:
        codes, n_classes = whole.codes(prepared), len(whole.overall)
    else:
        codes = class_codes(prepared, names)
        for name, column in zip(names, codes.T, strict=True):
            check_classes(name, int(column.max()) + 1)
        codes = compound(codes) if classes == "compound" else codes
        n_classes = int((codes.max(axis=0) + 1).sum())
    check_counts(owner, len(units), n_classes)
    mix = Mix.of(codes, units, whole)
    check_counts(owner, len(units), len(mix.rows))
    return mix


def _n_far(codes: IntArray, labels: IntArray, t: float) -> int:
    """How many groups have shares of the classes whose total variation from the table's is above t."""
    grouped = labels >= 0
    counts = np.zeros((int(labels.max()) + 1, int(codes.max()) + 1))
    np.add.at(counts, (labels[grouped], codes[grouped]), 1.0)
    overall = np.bincount(codes) / len(codes)
    apart = np.abs(counts / counts.sum(axis=1, keepdims=True) - overall).sum(axis=1) / 2
    return int((apart > t + 1e-9).sum())


def required_classes(schema: Schema, owner: str) -> tuple[str, ...]:
    """The class columns; an error where there is none."""
    names = class_names(schema)
    if not names:
        raise SchemaError(
            owner,
            "needs a class column: a sensitive column that is nominal or ordinal",
            got="none",
            hint="Give a column the role sensitive, and declare it nominal or ordinal if it holds numbers.",
        )
    return names


def check_classes(name: str, n_classes: int) -> None:
    """A column of one class has nothing to mix."""
    if n_classes < 2:
        raise ColumnError(
            name,
            "is a class column and must have at least two classes",
            got="one class",
            hint="Give it another role, or group by distance alone (MST, MDAV, KMember).",
        )


def check_counts(owner: str, n: int, n_classes: int) -> None:
    """Refuse more counts than can be held."""
    if n * n_classes > _MOST_COUNTS:
        raise InputError(
            owner,
            "class columns have too many classes for this many records",
            got=f"{n_classes} classes or combinations",
            hint="Coarsen them, or make only one of them sensitive.",
        )


def _notes(schema: Schema, mix: Mix) -> dict[str, Any]:
    notes: dict[str, Any] = {"class columns": ", ".join(class_names(schema)), "classes": len(mix.overall)}
    lone = int((mix.overall == 1).sum())
    return {**notes, "classes with a single record": lone} if lone else notes
