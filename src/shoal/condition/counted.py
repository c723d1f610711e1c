"""A table of distinct combinations in the place of the rows that have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntArray

__all__ = ["Counted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many rows and persons the items of a table of distinct combinations stand for.

    Parameters
    ----------
    rows
        Rows of each item.
    item, group, persons
        Which items the persons of each group have, as pairs sorted by group, and how many persons that group has (in
        each of its pairs); None where each row is a person. Persons don't add over items; over such groups they do.
    """

    rows: IntArray
    item: IntArray | None = None
    group: IntArray | None = None
    persons: IntArray | None = None

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        if self.group is None or self.persons is None:
            return int(self.rows.sum())
        return int(self.persons[np.flatnonzero(np.diff(self.group, prepend=-1))].sum())
