"""Any grouper, for people who live together: k households in each group, kept whole or told apart.

A member of one's own household is nobody to hide among: who finds one member has found the others. So groups are
counted in households.

**whole**: households are grouped, not persons: k of them at least, of one size, near each other member by member.
Members have slots, by a fixed rule (`order`, then their values, the highest first), and a group of rows is one slot of
one group of households. So the same households stand behind all slots: slots are releases with the same groups
in the symmetry lemma, and a household and each of its members are found with probability at most 1/k, also by who knows
all members. Slots grouped apart would lose that: groups {1, 2} {3, 4} for heads and {1, 3} {2, 4} for children give 1
instead of 1/2. Sizes with fewer than k households are pooled with the next smaller ones, and the members beyond the
smallest size of the pool share one slot.

**apart**: the groups of the other grouper, merged with the nearest until each has persons of k different households.

Promised: every group holds persons of at least k different households. Not promised: that a household is not unique by
its composition in what is released unchanged; that is measured (`shoal.risk.households`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.claim import Claim
from shoal.claim_wording import statement
from shoal.conform import Prepared
from shoal.equivalence import Codes, combine, persons, ranks
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.frame import series
from shoal.group.grouper import NO_HANDING, Grouper, Grouping, Handing, canonical_order, quasi_points
from shoal.group.mixed import OfAnother, merge
from shoal.group.points import Points
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.rng import stream

__all__ = ["Households", "n_households", "pools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Households(OfAnother):
    """Group households, or persons of different households, by another grouper.

    Parameters
    ----------
    of
        The other grouper: a grouper, its name, or its words such as ``{"method": "mdav", "k": 5}``.
    minimum
        Smallest number of households in a group, given to the other grouper; None: its own k.
    keep
        ``whole``: groups of whole households, slot by slot. ``apart``: groups of persons, of k different households.
    order
        With ``whole``, the column that gives members their slots, its lowest value first (1 head, 2 partner, 3 child);
        None: by their values alone.

    Notes
    -----
    The household is the schema's; a row without one, or every row where the schema names none, is a household of its
    own. Survey weights are not used. Cost: that of the other grouper.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [40, 10, 40, 12, 42, 10, 42, 12], "home": [1, 1, 2, 2, 3, 3, 4, 4]})
    >>> schema = shoal.Schema.of(quasi=["age"], household="home")
    >>> labels = shoal.Households(of=shoal.MDAV(k=2)).assign(table, schema, seed=1)
    >>> len(set(labels)), bool(labels[0] == labels[2]), bool(labels[0] == labels[1])
    (4, True, False)
    """

    title = "any grouper, for households"
    summary = "Groups whole households slot by slot, or persons of different households, by another grouper."
    promise = "Every group holds persons of at least k different households."
    report_text = ReportText(
        done=(
            "Each person was put into a group with people of at least {k} different households; nobody hides among "
            "members of their own."
        ),
    )
    rank = 9

    minimum: Annotated[int | None, Range(low=2), Help("fewest households in a group; none: the other grouper's k")] = (
        None
    )
    keep: Annotated[Literal["whole", "apart"], Help("groups of whole households, or of persons apart")] = "whole"
    order: Annotated[str | None, Help("column that gives members their places in the household")] = None

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        home = homes(prepared)
        if home.n < self.k:
            rule = f"needs at least k = {self.k} households"
            raise GuaranteeError("Households", rule, got=f"{home.n}", hint="Lower k or add records.")
        return self._apart(prepared, home, seed, handing) if self.keep == "apart" else self._whole(prepared, home, seed)

    def claims(self, prepared: Prepared, labels: IntArray) -> tuple[Claim, ...]:
        """How many households each group holds, counted; nothing where the schema names no household."""
        if prepared.schema.household is None:
            return ()
        found = int(n_households(labels, homes(prepared).values).min())
        if found < self.k:
            raise GuaranteeError("Households", f"every group must hold persons of {self.k} households", got=str(found))
        return (_claim(self.k),)

    def _apart(self, prepared: Prepared, home: Codes, seed: int, handing: Handing) -> Grouping:
        first = self.other.group(prepared, seed, handing)

        def enough(labels: IntArray, n: int) -> BoolArray:
            found: BoolArray = n_households(labels, home.values) >= self.k
            return found

        labels = merge(first.labels, quasi_points(prepared).dense(), enough)
        merged = first.n_groups - int(labels.max()) - 1
        return Grouping(labels=labels, notes={**first.notes, "groups merged": merged})

    def _whole(self, prepared: Prepared, home: Codes, seed: int) -> Grouping:
        other = self.other
        if type(other).group is not Grouper.group:
            rule = "groups whole households by a grouper that looks at quasi-identifiers alone, such as mdav"
            raise ParameterError("Households", rule, got=other.name, parameter="of")
        if prepared.schema.unit is not None:
            raise SchemaError("Households", "whole households need one row a person", hint="Set keep=apart.")
        points = other._points(prepared).dense()
        slot = _slots(self._places(prepared), points, home)
        pool, least = pools(np.bincount(home.values, minlength=home.n), self.k)
        slot = np.minimum(slot, least[pool[home.values]] - 1)
        of_home = np.empty(home.n, dtype=np.int64)
        for number in range(len(least)):
            inside = np.flatnonzero(pool == number)
            of_home[inside] = self._grouped(other, _laid_out(points, home, slot, inside), stream(seed, "order", number))
        group = combine([Codes(values=pool, n=len(least)), Codes(values=of_home, n=int(of_home.max()) + 1)])
        rows = [Codes(values=group.values[home.values], n=group.n), Codes(values=slot, n=int(slot.max()) + 1)]
        return Grouping(labels=combine(rows).values, notes={"households": home.n, "sizes pooled": len(least)})

    def _grouped(self, other: Grouper, points: FloatArray, rng: Any) -> IntArray:
        order = canonical_order(points, rng)
        labels = np.empty(len(points), dtype=np.int64)
        labels[order] = other._partition(Points.of(points[order]))[0]
        return labels

    def _places(self, prepared: Prepared) -> IntArray:
        if self.order is None:
            return np.zeros(prepared.n, dtype=np.int64)
        if self.order not in prepared.frame.columns:
            raise ParameterError("Households", "order must be a column of the table", got=self.order, parameter="order")
        return ranks(series(prepared.frame, self.order)).values

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        raise NotImplementedError("Households looks at who lives together: see group")


def homes(prepared: Prepared) -> Codes:
    """The household of each row as a number; a row without one is a household of its own."""
    name = prepared.schema.household
    if name is None:
        return Codes(values=np.arange(prepared.n), n=prepared.n)
    return combine([persons(series(prepared.frame, name))])


def n_households(labels: IntArray, home: IntArray) -> IntArray:
    """How many different households each group has."""
    pairs = np.unique(np.column_stack((labels, home)), axis=0)
    return np.bincount(pairs[:, 0]).astype(np.int64)


def pools(sizes: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Households of neighbouring sizes put together, k at least: the pool of each, and the smallest size of each pool.

    Examples
    --------
    >>> import numpy as np
    >>> pools(np.array([1, 1, 1, 2, 2, 2, 3, 5]), 3)
    (array([1, 1, 1, 0, 0, 0, 0, 0]), array([2, 1]))
    """
    edges, waiting = list[int](), 0
    for size in range(int(sizes.max()), 0, -1):
        waiting += int((sizes == size).sum())
        if waiting >= k:
            edges.append(size)
            waiting = 0
    edges[-1] = edges[-1] if not waiting else 1
    least = np.array(edges)
    return np.searchsorted(-least, -sizes, side="left").astype(np.int64), least


def _slots(place: IntArray, points: FloatArray, home: Codes) -> IntArray:
    """The place of each row among the members of its household: by `place`, then by their values, the highest first."""
    order = np.lexsort((*(-points.T[::-1]), place, home.values))
    starts = np.cumsum(np.bincount(home.values, minlength=home.n))
    first = np.r_[0, starts[:-1]][home.values[order]]
    slot = np.empty(len(order), dtype=np.int64)
    slot[order] = np.arange(len(order)) - first
    return slot


def _laid_out(points: FloatArray, home: Codes, slot: IntArray, inside: IntArray) -> FloatArray:
    """One row for each household: the points of its slots side by side, each the mean of who shares the slot."""
    number = np.full(home.n, -1, dtype=np.int64)
    number[inside] = np.arange(len(inside))
    rows = np.flatnonzero(number[home.values] >= 0)
    width, n_slots = points.shape[1], int(slot[rows].max()) + 1
    at = number[home.values[rows]] * n_slots + slot[rows]
    count = np.maximum(np.bincount(at, minlength=len(inside) * n_slots), 1)
    means = [np.bincount(at, weights=column, minlength=len(count)) / count for column in points[rows].T]
    return np.column_stack(means).reshape(len(inside), n_slots * width)


def _claim(k: int) -> Claim:
    return Claim(
        kind="households in a group",
        value=k,
        scope="per group",
        basis="verified",
        unit="households",
        statement=statement("households in a group", claim={"value": k}),
        assumptions=(
            "The household is the column that the schema calls so.",
            "Columns published unchanged that are the same for all members of a household show who lives together; "
            "whoever knows all members may find a household by them.",
        ),
    )
