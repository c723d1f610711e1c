"""An original and a release of it, side by side: what every measure of risk and utility looks at.

`Pair.of` holds the original to the schema, learns the codes of the quasi-identifiers from it, and reads the release
with the same codes, so that both are points in one space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.encode import Encoder
from shoal.errors import InputError, SchemaError
from shoal.frame import Frame, enter
from shoal.prepare import Prepared, prepare
from shoal.schema import Schema

__all__ = ["Pair"]


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
    """

    original: Prepared
    released: Frame
    source_rows: IntArray
    encoder: Encoder
    original_codes: FloatArray
    released_codes: FloatArray

    @classmethod
    def of(cls, original: Any, released: Any, schema: Schema, source_rows: Any = None) -> Pair:
        """Bring both tables into one space; `source_rows=None` says that they have the same row order."""
        prepared = prepare(original, schema)
        frame = enter(released, owner="released table")
        _check_has(frame, schema)
        encoder = Encoder.fit(prepared, schema.quasi)
        return cls(
            original=prepared,
            released=frame,
            source_rows=_positions(prepared, len(frame), source_rows),
            encoder=encoder,
            original_codes=encoder.codes(prepared.frame),
            released_codes=encoder.codes(frame),
        )

    @property
    def schema(self) -> Schema:
        """The schema, with every kind settled."""
        return self.original.schema

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


def _positions(prepared: Prepared, n_released: int, source_rows: Any) -> IntArray:
    if source_rows is None:
        _check_same_length(prepared, n_released)
        return np.arange(n_released)
    given = np.asarray(source_rows, dtype=np.int64)
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
