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
from shoal.encode import Coding, Encoder
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.method import Method
from shoal.schema import Schema

__all__ = [
    "AwareMask",
    "Crowd",
    "Masking",
    "by_content",
    "chosen_columns",
    "draws_of",
    "ordered_columns",
    "quantiles",
    "rewritten",
]


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
    responses, response_codes
        The sensitive columns that masks are asked to write, and what they hold so far. Blind masks never see them.
    sources
        Of each column that was handed round by itself, the record whose cell each record has now.
    """

    prepared: Prepared
    encoder: Encoder
    codes: FloatArray
    labels: IntArray
    minimum: int
    records: tuple[Mapping[str, Any], ...] = field(default=())
    literal: frozenset[str] = frozenset()
    responses: Encoder = field(default_factory=lambda: Encoder(codings=()))
    response_codes: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    sources: Mapping[str, IntArray] = field(default_factory=dict)

    @property
    def coded(self) -> tuple[str, ...]:
        """The columns that are held as codes."""
        return (*self.encoder.names, *self.responses.names)

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

    def coding(self, name: str) -> Coding:
        """How a column that may be written becomes numbers."""
        return next(c for c in (*self.encoder.codings, *self.responses.codings) if c.name == name)

    def column(self, name: str) -> FloatArray:
        """The codes of a column as written so far."""
        if name in self.encoder.names:
            return self.codes[:, self.encoder.names.index(name)]
        return self.response_codes[:, self.responses.names.index(name)]

    def writing(self, columns: Mapping[str, FloatArray]) -> Masking:
        """The same table with other codes in some columns."""
        codes, beside = self.codes.copy(), self.response_codes.copy()
        for name, new in columns.items():
            if name in self.encoder.names:
                codes[:, self.encoder.names.index(name)] = new
            else:
                beside[:, self.responses.names.index(name)] = new
        return replace(self, codes=codes, response_codes=beside)


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

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive columns that it is asked to write."""
        return ()

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
    """Columns of the records of a table, by group.

    Parameters
    ----------
    spaces
        The columns as metric spaces, learnt from the original.
    whole
        Whether a centre may be any declared level, not only one that occurs.
    positions
        Where each record lies.
    labels
        Its group.
    order, offsets
        Group g has the records ``order[offsets[g]:offsets[g + 1]]``.
    """

    spaces: Spaces
    positions: FloatArray
    labels: IntArray
    order: IntArray
    offsets: IntArray
    whole: bool = False

    @classmethod
    def of(
        cls,
        state: Masking,
        names: Sequence[str] | None = None,
        *,
        importance: Mapping[str, float] | None = None,
        whole: bool = False,
    ) -> Crowd:
        """Take the columns `names` (default: all quasi-identifiers) of a table between two masks.

        `importance` weighs a column's mapped distances where they are added.
        """
        chosen = list(state.prepared.schema.quasi if names is None else names)
        if not chosen:
            raise SchemaError("schema", "must name at least one quasi-identifier to mask")
        encoder = Encoder(codings=tuple(state.coding(name) for name in chosen))
        original = encoder.own_codes(state.prepared)
        _require_numbers(encoder, original)
        spaces = Spaces.fit(state.prepared.schema, encoder, original, whole=whole).weighted(importance or {})
        return cls(
            spaces=spaces,
            whole=whole,
            positions=spaces.positions(np.column_stack([state.column(name) for name in chosen])),
            labels=state.labels,
            order=np.argsort(state.labels, kind="stable"),
            offsets=np.concatenate(([0], np.cumsum(np.bincount(state.labels)))).astype(np.int64),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(space.name for space in self.spaces)

    def centers(self) -> FloatArray:
        """The medoid of each group (eq 3)."""
        return medoids(self.positions, self.labels, self.spaces, whole=self.whole)

    def distances(self, centers: FloatArray) -> FloatArray:
        """Mapped distance of each record to its group's centre, column by column."""
        own = centers[self.labels]
        return np.column_stack([s.mapped(self.positions[:, j], own[:, j]) for j, s in enumerate(self.spaces)])

    def written(self, state: Masking, positions: FloatArray) -> Masking:
        """The table with other positions; a cell that didn't move keeps its code to the last bit."""
        new = self.spaces.codes(positions)
        moved = positions != self.positions
        columns = {
            name: np.where(moved[:, j], new[:, j], state.column(name)) for j, name in enumerate(self.names)
        }  # fmt: skip
        tabled = [space.name for space in self.spaces if space.table is not None] if self.whole else []
        return replace(state.writing(columns), literal=state.literal.union(tabled))


def _require_numbers(encoder: Encoder, codes: FloatArray) -> None:
    """A sensitive number may be missing; it then lies nowhere."""
    for j, coding in enumerate(encoder.codings):
        if np.isnan(codes[:, j]).any():
            raise ColumnError(
                coding.name,
                "has missing numbers, which lie at no distance from others",
                hint='Declare missing = "level" for the column, or leave it out of columns.',
            )


def chosen_columns(owner: str, columns: Sequence[str] | None, state: Masking, *, responses: bool = False) -> list[str]:
    """The columns a mask is asked to write; None means all quasi columns. Some masks also write `responses`."""
    if columns is None:
        return list(state.prepared.schema.quasi)
    known = (*state.encoder.names, *state.responses.names) if responses else state.encoder.names
    unknown = [name for name in columns if name not in known]
    if unknown or not columns:
        raise ParameterError(
            owner,
            f"columns must be quasi-identifiers {'or sensitive columns ' if responses else ''}of the schema",
            got=f"'{unknown[0]}'" if unknown else "none",
            hint=_hint(unknown, state),
        )
    return list(dict.fromkeys(columns))


def rewritten(columns: Sequence[str] | None, schema: Schema) -> tuple[str, ...]:
    """The sensitive columns among those that a mask is asked to write."""
    return tuple(name for name in schema.sensitive if name in (columns or ()))


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
        return "Flatten and Shuffle can write a sensitive column; for other masks, declare it a quasi-identifier."
    return f"Choose among: {', '.join(state.encoder.names)}."


def quantiles(values: FloatArray) -> dict[str, float]:
    """A distribution in five numbers, for the record."""
    if len(values) == 0:
        return {}
    points = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    return dict(zip(("least", "lower_quartile", "median", "upper_quartile", "largest"), points.tolist(), strict=True))
