"""What is done to the events once persons have their groups: what every such method shares."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from shoal.arrays import Generator, IntArray
from shoal.claim import Claim
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.method import Method
from shoal.pseudonym import Pseudonyms
from shoal.schema.tables import Summary

__all__ = ["Done", "EventMethod"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a method made of the events, what it claims, and what it has to say."""

    collection: Collection
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()


class EventMethod(Method):
    """Changes the events of linked tables, within the groups or classes of persons."""

    family = "events"
    widens: ClassVar[bool] = False
    """Whether known columns of events may be written less exactly."""

    @property
    def tolerance(self) -> int:
        """By how many days it may change the time between two events of a person."""
        return 0

    @property
    def moves_dates(self) -> bool:
        """Whether it moves dates by days."""
        return self.tolerance > 0

    def summaries(self, collection: Collection) -> dict[str, tuple[Summary, ...]]:
        """What persons are to be grouped on besides what the schema says, for each table of events."""
        return {}

    def first(self, collection: Collection, pseudonyms: Pseudonyms | None, key: str) -> Done:
        """What it does while persons still have their own keys: before they are grouped."""
        return Done(collection=collection)

    @abstractmethod
    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Change the events of persons, whose groups are given; −1 is a person who is left out, and has none."""
