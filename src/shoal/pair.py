"""An original and a release of it, side by side: what every measure of risk and utility looks at.

`Pair.of` holds the original to the schema, learns the codes of the quasi-identifiers from it, and reads the release
with the same codes, so that both are points in one space. Coarsened cells are read as `shoal.decode` says; then
`cells` also number the classes of the release as it was written, because an intruder who knows the recoding
looks there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray, distinct_numbers
from shoal.conform import Prepared, prepare, with_codes
from shoal.decode import read_column, read_release
from shoal.encode import Coding, Encoder
from shoal.equivalence import Classes, Codes, classes_of
from shoal.errors import InputError, SchemaError
from shoal.frame import Frame, enter, pick, series
from shoal.schema import Schema

__all__ = ["NOBODY", "Pair"]

Value = TypeVar("Value")

_CLASSES = "classes"

NOBODY = -1
"""The source row of a released row that stands for nobody, as in a synthetic table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Original and released table with common codes.

    Parameters
    ----------
    original
        The prepared original.
    released
        The released table.
    source_rows
        For each released row, the position of its person's row in `original.frame`; -1 where that row was left out
        because of a missing number.
    encoder
        The codes of the quasi-identifiers, learnt from the original.
    original_codes, released_codes
        The quasi-identifiers of both as numbers: values, or positions of levels.
    exact
        Which cells of the release are single values; None where all are.
    cells
        For a coarsened release: the class of each original record (−1: not released) and of each released row, by
        what was written.
    """

    original: Prepared
    released: Frame = field(repr=False)
    source_rows: IntArray = field(repr=False)
    encoder: Encoder = field(repr=False)
    original_codes: FloatArray = field(repr=False)
    released_codes: FloatArray = field(repr=False)
    exact: BoolArray | None = field(default=None, repr=False)
    cells: tuple[IntArray, IntArray] | None = field(default=None, repr=False)
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, original: Any, released: Any, schema: Schema, source_rows: Any = None) -> Pair:
        """Bring both tables into one space.

        `source_rows=None` says that they have the same row order, all −1 that no released row is anybody's.
        """
        prepared = prepare(original, schema)
        frame = enter(released, owner="released table")
        return cls.between(prepared, frame, _positions(prepared, len(frame), source_rows))

    @classmethod
    def between(cls, prepared: Prepared, frame: Frame, positions: IntArray, classes: Classes | None = None) -> Pair:
        """Bring a release and its prepared original into one space; `positions` are the source rows in the latter.

        `classes` are the release's equivalence classes, where they are already known.
        """
        schema = prepared.schema
        _check_has(frame, schema)
        frame = with_codes(frame, schema.columns)
        encoder = Encoder.of(prepared, schema.quasi)
        codes = encoder.own_codes(prepared)
        reading = read_release(frame, encoder, codes, positions)
        if classes is None and reading.is_coarse:
            classes = _released_classes(prepared, frame, positions)
        pair = cls(
            original=prepared,
            released=frame,
            source_rows=positions,
            encoder=encoder,
            original_codes=codes,
            released_codes=reading.codes,
            exact=reading.exact if reading.is_coarse else None,
            cells=_cells(classes, positions, prepared.n) if classes is not None and reading.is_coarse else None,
        )
        if classes is not None:
            pair.once(_CLASSES, lambda: classes)
        return pair

    @property
    def is_of_people(self) -> bool:
        """Whether any released row is some person's; synthetic rows are nobody's."""
        return bool((self.source_rows != NOBODY).any())

    @property
    def schema(self) -> Schema:
        """The schema, with every kind settled."""
        return self.original.schema

    def released_column(self, name: str) -> pl.Series:
        """A column of the release as it can be compared with the original's: coarse cells by their typical value."""
        column = series(self.released, name)
        if name not in self.encoder.names:
            coarse = self.schema[name].kind == "numeric" and not column.dtype.is_numeric()
            return pl.Series(name, self.codes_of([name])[2][:, 0]).fill_nan(None) if coarse else column
        if self.exact is None:
            return column
        j = self.encoder.names.index(name)
        if self.exact[:, j].all():
            return column
        codes, coding = self.released_codes[:, j], self.encoder.codings[j]
        if coding.levels is None:
            return pl.Series(name, coding.present(codes)).fill_nan(None)
        place = pl.Series(codes.astype(np.int64))
        return coding.levels.gather(place.set(place == len(coding.levels), None)).alias(name)

    def codes_of(self, names: Sequence[str]) -> tuple[Encoder, FloatArray, FloatArray]:
        """Other columns of both tables as numbers, with the codes they are in; coarse cells by their typical value."""
        columns = [self.once(("column", name), partial(self._column, name)) for name in names]
        original = [own for _, own, _ in columns]
        released = [read for _, _, read in columns]
        return (
            Encoder(codings=tuple(coding for coding, _, _ in columns)),
            np.column_stack(original) if columns else np.empty((self.original.n, 0)),
            np.column_stack(released) if columns else np.empty((len(self.released), 0)),
        )

    def original_classes(self) -> Classes:
        """The original's equivalence classes over the quasi-identifiers, in persons where the schema names a unit."""
        original = self.original
        return original.once(_CLASSES, lambda: classes_of(original.frame, self.schema.quasi, self.schema.unit))

    def released_classes(self) -> Classes:
        """The release's equivalence classes, in persons where the schema names a unit."""
        return self.once(_CLASSES, partial(_released_classes, self.original, self.released, self.source_rows))

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """What `compute` gives, computed the first time that something asks this pair for it by `name`.

        It must follow from the pair alone; whoever uses it leaves it as it is.
        """
        if name not in self._memo:
            self._memo[name] = compute()
        found: Value = self._memo[name]
        return found

    def _column(self, name: str) -> tuple[Coding, FloatArray, FloatArray]:
        """A column's coding, and its codes in both tables."""
        if name in self.encoder.names:
            j = self.encoder.names.index(name)
            return self.encoder.codings[j], self.original_codes[:, j], self.released_codes[:, j]
        coding = Encoder.of(self.original, [name]).codings[0]
        own = coding.codes(series(self.original.frame, name))
        return coding, own, read_column(series(self.released, name), coding, own, self.source_rows)[0]

    def without_left_out(self) -> Pair:
        """The same pair without the records that were not released: nothing in it comes from their cells."""
        places = distinct_numbers(self.source_rows[self.source_rows >= 0])
        if len(places) == self.original.n == self.original.n_original:
            return self
        frame = self.original.frame if len(places) == self.original.n else pick(self.original.frame, places)
        alone = replace(self.original, frame=frame, rows=np.arange(len(places)), n_original=len(places), facts=())
        if len(places) == self.original.n:
            return replace(self, original=alone)
        positions = np.searchsorted(places, self.source_rows)
        return Pair.between(alone, self.released, positions, self.released_classes())

    def original_points(self) -> FloatArray:
        """The original's quasi-identifiers as points for Euclidean distance."""
        return self.encoder.points(self.original_codes)

    def released_points(self) -> FloatArray:
        """The release's quasi-identifiers as points of the same space."""
        return self.encoder.points(self.released_codes)


def _check_has(frame: Frame, schema: Schema) -> None:
    for name in schema.quasi:
        if name not in frame.columns:
            raise SchemaError("released table", f"must have the quasi-identifier '{name}'")
    if len(frame) == 0:
        raise InputError("released table", "must have at least one row", got="0 rows")


def _released_classes(prepared: Prepared, frame: Frame, source_rows: IntArray) -> Classes:
    return classes_of(frame, prepared.schema.quasi, _released_persons(prepared, source_rows))


def _released_persons(prepared: Prepared, source: IntArray) -> Codes | None:
    """The person of each released row, for a schema with a unit; a row without a known source is its own person.

    A release has no unit column. Counted by rows, one person with k rows in a class would pass for k persons.
    """
    if prepared.schema.unit is None:
        return None
    person = prepared.units()
    n = int(person.max()) + 1
    return Codes(values=np.where(source >= 0, person[source], n + np.arange(len(source))), n=n + len(source))


def _cells(classes: Classes, source_rows: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The class of each original record and of each released row; a person of several rows is where the last one is."""
    written = classes.labels
    own = np.full(n, -1, dtype=np.int64)
    known = source_rows >= 0
    own[source_rows[known]] = written[known]
    return own, written


def _positions(prepared: Prepared, n_released: int, source_rows: Any) -> IntArray:
    if source_rows is None:
        _check_same_length(prepared, n_released)
        return np.arange(n_released)
    given = np.asarray(source_rows, dtype=np.int64)
    if given.shape == (n_released,) and (given == NOBODY).all():
        return given
    if given.shape != (n_released,) or (len(given) and not 0 <= given.min() <= given.max() < prepared.n_original):
        raise InputError("source_rows", "must give an original row number for each released row")
    position = np.full(prepared.n_original, -1, dtype=np.int64)
    position[prepared.rows] = np.arange(prepared.n)
    return position[given]


def _check_same_length(prepared: Prepared, n_released: int) -> None:
    if n_released != prepared.n:
        raise InputError(
            "released table",
            "must have the original's row order when no source_rows are given",
            got=f"{n_released} rows against {prepared.n}",
        )
