"""Who hides with whom: what every grouper shares.

A grouper gives each record a label; records with one label form a group of at least k persons. It looks at the
records as points (`Encoder.points`), puts them in an order that depends on their values and on the seed but not on
the order of the file, and leaves the partition to a kernel that breaks ties by that order. Where the schema names a
`unit`, persons are grouped (each at the mean of their rows), so that all rows of a person share a group and a group
of k is k persons.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.conform import Prepared, prepare
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, SchemaError
from shoal.group.points import Points
from shoal.method import Method
from shoal.params import check, to_dict
from shoal.rng import branch_key, fresh_seed, stream
from shoal.schema import Schema

__all__ = [
    "NO_HANDING",
    "Grouper",
    "Grouping",
    "Handing",
    "canonical_order",
    "quasi_points",
    "require_sizes",
    "response_points",
    "unit_points",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The result of grouping: a label per prepared row, and how it was found (for the record)."""

    labels: IntArray
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """What a grouper may need to know of the run beside the table.

    Parameters
    ----------
    key
        The secret key, for groups that nobody may be able to repeat; empty: a fresh one.
    blocks
        The columns that will change hands together, where a mask hands columns round; empty: each by itself.
    """

    key: str = field(default="", repr=False)
    blocks: tuple[tuple[str, ...], ...] = ()

    def of_part(self, number: int) -> Handing:
        """Return what the grouper of one part of the table is told."""
        return replace(self, key=branch_key(self.key, "part", number) if self.key else "")


NO_HANDING = Handing()


class Grouper(Method):
    """Gives every record a group of at least `k` persons."""

    family = "group"

    k: int
    size_parameter: ClassVar[str] = "k"
    """The parameter that sets `k`."""
    leaves_small: ClassVar[bool] = False
    """Whether it may leave groups of fewer than `k` persons, for a mask to push back into larger ones."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """The columns that groups don't cross: all of a group have the same values of them."""
        return ()

    @property
    def leaves_out(self) -> bool:
        """Whether it may reject groups, whose records are then left out: label −1."""
        return False

    @property
    def uses_response(self) -> bool:
        """Whether sensitive numbers take part in the grouping."""
        return False

    def claims(self, prepared: Prepared, labels: IntArray) -> tuple[Claim, ...]:
        """What it claims of the groups as the masks left them, besides their size; counted."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The grouper as JSON-safe words, where it is a parameter of another one."""
        return {"method": self.name, **to_dict(self)}

    def tell_part(self, part: Prepared, whole: Prepared) -> None:
        """Let whoever groups `part`, some rows of `whole`, know what it must of the others; by itself, nothing."""

    def check_whole(self, whole: Prepared, labels: IntArray) -> None:
        """Refuse groups that were formed part by part and don't keep what is promised beside k."""

    def assign(self, table: Any, schema: Schema, seed: int | None = None) -> IntArray:
        """Return one label per row of `table`; every group holds at least `k` persons.

        Rows that the schema's missing rule leaves out get the label -1. Without a seed a fresh one is drawn; it
        decides ties only.
        """
        prepared = prepare(table, schema)
        labels = np.full(prepared.n_original, -1, dtype=np.int64)
        labels[prepared.rows] = self.group(prepared, fresh_seed() if seed is None else seed).labels
        return labels

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        units = prepared.units()
        self._check_size(int(units.max()) + 1)
        points = _of_units(self._points(prepared), units)
        order = canonical_order(points.keys(), stream(seed, "order"))
        partition, notes = self._partition(points.take(order))
        labels = np.empty(len(points), dtype=np.int64)
        labels[order] = partition
        if not self.leaves_small:
            require_sizes(self, labels)
        return Grouping(labels=labels[units], notes=notes)

    @abstractmethod
    def _points(self, prepared: Prepared) -> Points:
        """The space in which records are near or far."""

    @abstractmethod
    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        """Labels 0..c-1 for points in canonical order, and how they were found."""

    def _check_size(self, n_persons: int) -> None:
        if n_persons < self.k:
            raise GuaranteeError(
                type(self).__name__,
                f"needs at least k = {self.k} persons",
                got=f"{n_persons}",
                hint="Lower k or add records.",
            )


def require_sizes(grouper: Grouper, labels: IntArray) -> None:
    """Hold the groups of persons to k, whatever the kernel did."""
    smallest = int(np.bincount(labels).min())
    if smallest < grouper.k:
        name = type(grouper).__name__
        raise GuaranteeError(name, f"every group must hold at least {grouper.k} persons", got=f"a group of {smallest}")


def quasi_points(prepared: Prepared) -> Points:
    """The quasi-identifiers as points."""
    names = prepared.schema.quasi
    if not names:
        raise SchemaError("schema", "must name at least one quasi-identifier to group by")
    return _encoded(prepared, names)


def response_points(prepared: Prepared, weight: float) -> Points:
    """The numeric sensitive columns as points, each squared distance counted `weight` times (eq 4)."""
    schema = prepared.schema
    names = [name for name in schema.sensitive if schema[name].kind == "numeric"] if weight > 0 else []
    return Points.of(_encoded(prepared, names).values * np.sqrt(weight))


def _encoded(prepared: Prepared, names: Any) -> Points:
    encoder = Encoder.of(prepared, names)
    if prepared.schema.unit is not None:
        encoder.check_width(len(prepared.frame))
    return Points.encoded(encoder, encoder.own_codes(prepared))


def _of_units(points: Points, units: IntArray) -> Points:
    """One point per person; where persons have several rows, their means are plain coordinates."""
    if len(np.bincount(units)) == len(units):
        return Points(values=unit_points(points.values, units), heights=points.heights)
    return Points.of(unit_points(points.dense(), units))


def unit_points(points: FloatArray, units: IntArray) -> FloatArray:
    """One point per person: the mean of their rows."""
    counts = np.bincount(units)
    if len(counts) == len(units):
        out = np.empty_like(points)
        out[units] = points
        return out
    order = np.lexsort((*points.T[::-1], units))
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    means: FloatArray = np.add.reduceat(points[order], starts, axis=0) / counts[:, None]
    return means


def canonical_order(points: FloatArray, rng: Generator) -> IntArray:
    """Sort by value, then shuffle: the same whatever the order of the file."""
    by_value = _sorted_rows(points) if points.size else np.arange(len(points))
    return by_value[rng.permutation(len(points))]


def _sorted_rows(points: FloatArray) -> IntArray:
    """The order of `numpy.lexsort`, with a look at further columns only for rows that are equal in the first."""
    rows = np.argsort(points[:, 0], kind="stable")
    differs = np.diff(points[rows, 0]) != 0
    tied = ~(np.append(True, differs) & np.append(differs, True))
    run = np.append(0, np.cumsum(differs))[tied]
    again = rows[tied]
    rows[tied] = again[np.lexsort((*points[again, 1:].T[::-1], run))]
    return rows
