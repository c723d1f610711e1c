"""The groups of a table between two masks, seen as crowds in metric spaces: positions, members, centres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.distance.medoid import medoids
from shoal.distance.space import Spaces
from shoal.errors import ParameterError, SchemaError
from shoal.mask.aware import Masking

__all__ = ["Crowd", "chosen_columns", "quantiles"]


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


def _hint(unknown: Sequence[str], state: Masking) -> str:
    if unknown and unknown[0] in state.prepared.schema.sensitive:
        return "A sensitive column is released as it is; one value per group would only give it away."
    return f"Choose among: {', '.join(state.encoder.names)}."


def quantiles(values: FloatArray) -> dict[str, float]:
    """A distribution in five numbers, for the record."""
    if len(values) == 0:
        return {}
    points = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    return dict(zip(("least", "lower_quartile", "median", "upper_quartile", "largest"), points.tolist(), strict=True))
