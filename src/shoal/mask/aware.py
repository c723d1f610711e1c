"""Masks that start from a record's own row.

A **blind** mask sees each group's set of values only, and for it the re-identification bound is a theorem
(`shoal.mask.mask`). An **aware** mask moves single records: it may look at a row, at its group, and at the whole
table, and may put a record into another group. Nothing about it is proved; the risk that is left is measured
on the release.

Draws for single records that depend on what the records are, not on where they stand in the file.

The groups of a table between two masks, seen as crowds in metric spaces: positions, members, centres.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.conform import Prepared
from shoal.distance.medoid import medoids
from shoal.distance.space import Spaces
from shoal.encode import Encoder
from shoal.errors import ParameterError, SchemaError
from shoal.method import Method

__all__ = ["AwareMask", "Crowd", "Masking", "by_content", "chosen_columns", "draws_of", "ordered_columns", "quantiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """The state of a table between two masks, in prepared row order.

    Parameters
    ----------
    prepared, encoder
        The original, and the codes of its quasi-identifiers.
    codes
        The quasi-identifiers as written so far, one row per record.
    labels
        The group of each record, numbered from 0.
    minimum
        How many persons a group should hold (the grouper's k).
    records
        What each mask has to say about what it did: JSON-safe, counts and shares only, in order.
    literal
        Columns of levels that are written as their codes say, whether or not anybody has the level.
    """

    prepared: Prepared
    encoder: Encoder
    codes: FloatArray
    labels: IntArray
    minimum: int
    records: tuple[Mapping[str, Any], ...] = field(default=())
    literal: frozenset[str] = frozenset()

    @property
    def sizes(self) -> IntArray:
        """Number of records of each group."""
        return np.bincount(self.labels)

    def persons(self) -> IntArray:
        """Number of persons of each group: distinct units, or records where there is no unit column."""
        units = self.prepared.units()
        held = np.unique(np.column_stack((self.labels, units)), axis=0)[:, 0]
        return np.bincount(held, minlength=int(self.labels.max(initial=-1)) + 1)

    def holding(self, codes: FloatArray, labels: IntArray | None = None, **said: Any) -> Masking:
        """The same table with other codes (and groups), and one more record of what was done."""
        new = self.labels if labels is None else labels
        records = (*self.records, said) if said else self.records
        return replace(self, codes=codes, labels=new, records=records)


class AwareMask(Method):
    """Writes new values starting from each record's own row."""

    family = "mask"
    collapses: ClassVar[bool] = False
    is_aware: ClassVar[bool] = True
    perturbs: ClassVar[bool] = False
    """Whether it changes single records whatever their groups are: then neither k nor a group's size is claimed."""

    @property
    def is_local(self) -> bool:
        """Whether each record is protected by its own coins, so that no comparison with the original may leave."""
        return False

    def claims(self, state: Masking) -> tuple[Claim, ...]:
        """What the mask promises when it alone makes a release of `state`."""
        return ()

    @abstractmethod
    def apply(self, state: Masking, rng: Generator) -> Masking:
        """The next state; `state` itself is left as it is."""

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """What must be said beside a release made by this mask."""
        return ()


def by_content(state: Masking) -> IntArray:
    """The rows ordered by their codes: the same whatever order the file has (rows that agree in all are alike)."""
    return np.lexsort(state.codes.T[::-1]).astype(np.int64)


def draws_of(state: Masking, order: IntArray, code: IntArray | None = None) -> tuple[IntArray, int]:
    """Which draw each row of `order` takes, and how many there are: one a row, or one a person.

    Rows of one person share a draw (with `code`: where they have the same code), or they could be averaged. Draws are
    numbered in the order in which they come up.
    """
    if state.prepared.schema.unit is None:
        return np.arange(len(order)), len(order)
    person = state.prepared.units()[order]
    key = person if code is None else person * (int(code.max()) + 1) + code
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[place.reshape(-1)], len(first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The quasi-identifiers of the records of a table, by group.

    Parameters
    ----------
    spaces
        The columns as metric spaces, learnt from the original.
    places
        Where these columns stand among the codes.
    positions
        Where each record lies.
    labels
        Its group.
    order, offsets
        Group g has the records ``order[offsets[g]:offsets[g + 1]]``.
    """

    spaces: Spaces
    places: tuple[int, ...]
    positions: FloatArray
    labels: IntArray
    order: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, state: Masking, names: Sequence[str] | None = None) -> Crowd:
        """Take the columns `names` (default: all quasi-identifiers) of a table between two masks."""
        chosen = list(state.prepared.schema.quasi if names is None else names)
        if not chosen:
            raise SchemaError("schema", "must name at least one quasi-identifier to mask")
        places = tuple(state.encoder.names.index(name) for name in chosen)
        original = state.encoder.own_codes(state.prepared)
        spaces = Spaces.fit(state.prepared.schema, state.encoder, original).take(places)
        return cls(
            spaces=spaces,
            places=places,
            positions=spaces.positions(state.codes[:, places]),
            labels=state.labels,
            order=np.argsort(state.labels, kind="stable"),
            offsets=np.concatenate(([0], np.cumsum(np.bincount(state.labels)))).astype(np.int64),
        )

    def centers(self) -> FloatArray:
        """The medoid of each group (eq 3)."""
        return medoids(self.positions, self.labels, self.spaces)

    def distances(self, centers: FloatArray) -> FloatArray:
        """Mapped distance of each record to its group's centre, column by column."""
        own = centers[self.labels]
        return np.column_stack([s.mapped(self.positions[:, j], own[:, j]) for j, s in enumerate(self.spaces)])

    def written(self, state: Masking, positions: FloatArray) -> FloatArray:
        """The table's codes with other positions; a cell that didn't move keeps its code to the last bit."""
        codes = state.codes.copy()
        new = self.spaces.codes(positions)
        for j, place in enumerate(self.places):
            moved = positions[:, j] != self.positions[:, j]
            codes[moved, place] = new[moved, j]
        return codes


def chosen_columns(owner: str, columns: Sequence[str] | None, state: Masking) -> list[str]:
    """The columns a mask is asked to write; None means all quasi columns."""
    if columns is None:
        return list(state.prepared.schema.quasi)
    unknown = [name for name in columns if name not in state.encoder.names]
    if unknown or not columns:
        raise ParameterError(
            owner,
            "columns must be quasi-identifiers of the schema",
            got=f"'{unknown[0]}'" if unknown else "none",
            hint=_hint(unknown, state),
        )
    return list(dict.fromkeys(columns))


def ordered_columns(owner: str, columns: Sequence[str] | None, state: Masking) -> list[str]:
    """The chosen columns, by default all that have an order; an error where none has one."""
    if columns is not None:
        return chosen_columns(owner, columns, state)
    names = [coding.name for coding in state.encoder.codings if coding.kind != "nominal"]
    if not names:
        raise ParameterError(owner, "needs a quasi-identifier with an order", hint="Pram works on any column.")
    return names


def _hint(unknown: Sequence[str], state: Masking) -> str:
    if unknown and unknown[0] in state.prepared.schema.sensitive:
        return "No mask writes a sensitive column. If it must change, declare it a quasi-identifier."
    return f"Choose among: {', '.join(state.encoder.names)}."


def quantiles(values: FloatArray) -> dict[str, float]:
    """A distribution in five numbers, for the record."""
    if len(values) == 0:
        return {}
    points = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    return dict(zip(("least", "lower_quartile", "median", "upper_quartile", "largest"), points.tolist(), strict=True))
