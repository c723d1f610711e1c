"""An earlier release of the same people as the register kept it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import AnyArray, IntArray
from shoal.register.column_links import Sample
from shoal.register.column_sketches import ColumnSketches, RowSketch
from shoal.register.intersection_attack import ABSENT, Side, aligned
from shoal.register.person_marks import People

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger

__all__ = ["Past", "aligned_with", "side_of", "spread"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Past:
    """An earlier release, with its people.

    Parameters
    ----------
    release, number
        Its name, and its place among the releases of the data set.
    day, folder
        When it was entered, and where it was written; empty where nobody noted it.
    k
        How many people a group had at least.
    columns, tied
        The columns that it carries unchanged, and whether more than these ties rows of a person together.
    people, values
        The marks of its people, and of the sensitive values of its classes.
    sample
        What was kept of its columns; None: nothing.
    contents, distinctive
        Sketches of the rows and columns of its table without identifiers.
    """

    release: str
    number: int
    day: str
    folder: str
    k: int
    columns: tuple[str, ...]
    tied: bool
    people: People
    values: AnyArray
    sample: Sample | None
    contents: RowSketch
    distinctive: ColumnSketches

    @classmethod
    def of(cls, book: Ledger, words: Mapping[str, Any]) -> Past:
        """Read it from its entry in the ledger."""
        values = np.frombuffer(book.released_marks(words, "values"), dtype="<u8").reshape(-1, 3)
        return cls(
            release=words["release"],
            number=words["number"],
            day=words["at"][:10],
            folder=words.get("folder", ""),
            k=words["k"],
            columns=tuple(words["unchanged"]),
            tied=words["tied"],
            people=People.from_bytes(book.released_marks(words, "people")),
            values=values,
            sample=Sample.from_bytes(book.released_marks(words, "sample")),
            contents=RowSketch.from_dict(words.get("sketch", {}).get("contents", {})),
            distinctive=ColumnSketches.from_dict(words.get("sketch", {}).get("columns", {})),
        )


def side_of(people: People, place: IntArray, n: int) -> Side:
    """A release over all n people; `place` are the numbers of its own."""
    groups = np.full(n, ABSENT)
    groups[place] = np.unique(people.labels, return_inverse=True)[1].reshape(-1)
    return Side(groups=groups, signatures=spread(people.signatures, place, n))


def spread(values: AnyArray | None, place: IntArray, n: int) -> AnyArray | None:
    """Values of some people over all n of them."""
    if values is None:
        return None
    whole = np.zeros(n, dtype=np.uint64)
    whole[place] = values
    return whole


def aligned_with(past: Sequence[Past], marks: AnyArray) -> tuple[list[Side], IntArray, int]:
    """The earlier releases over everybody, the number of each row's person, and how many people there are."""
    n, (now, *places) = aligned([marks, *(one.people.marks for one in past)])
    return [side_of(one.people, place, n) for one, place in zip(past, places, strict=True)], now, n
