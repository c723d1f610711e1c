"""Masks that start from a record's own row.

A **blind** mask sees each group's set of values only, and for it the re-identification bound is a theorem
(`shoal.mask.mask`). An **aware** mask moves single records: it may look at a row, at its group, and at the whole
table, and may put a record into another group. Nothing about it is proved; the risk that is left is measured
on the release.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.conform import Prepared
from shoal.encode import Encoder
from shoal.method import Method

__all__ = ["AwareMask", "Masking"]


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
    """

    prepared: Prepared
    encoder: Encoder
    codes: FloatArray
    labels: IntArray
    minimum: int
    records: tuple[Mapping[str, Any], ...] = field(default=())

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

    @abstractmethod
    def apply(self, state: Masking, rng: Generator) -> Masking:
        """The next state; `state` itself is left as it is."""

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """What must be said beside a release made by this mask."""
        return ()
