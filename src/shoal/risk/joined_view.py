"""Linked tables joined: how many persons fit what an intruder knows of a person and of that person's events.

The measure of `shoal.linked.joint`, on tables as they are: persons with equal quasi-identifiers are one class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.arrays import IntArray
from shoal.frame import enter
from shoal.linked import Collection, JointRisk
from shoal.linked.joint import assess_collection
from shoal.risk.class_sizes import table_classes
from shoal.rng import stream
from shoal.schema import LinkedSchema

__all__ = ["known_events", "measure"]


def known_events(tables: Mapping[str, Any], schema: LinkedSchema, k: int = 5, seed: int = 0) -> JointRisk:
    """What is left of k when persons are joined with their events.

    Parameters
    ----------
    tables, schema
        The tables by name, and what they are; a release as well as an original.
    k
        Persons with fewer candidates than this are counted.
    seed
        Draws the classes that are counted where there are too many combinations of events to look at.

    Examples
    --------
    >>> import shoal
    >>> found = shoal.risk.known_events(shoal.datasets.clinic(100, seed=1), shoal.datasets.clinic_schema())
    >>> found.n_persons, found.k(1), found.k(2, "gaps")
    (100, 1, 1)
    """
    return measure(Collection.of(tables, schema), k, seed)


def measure(collection: Collection, k: int, seed: int = 0) -> JointRisk:
    """The same of tables that were held to their schema."""
    root = collection.schema.persons
    classes: IntArray = table_classes(enter(collection.given[root.name]), root.whole).labels
    return assess_collection(collection, classes, k, stream(seed, "known events"))
