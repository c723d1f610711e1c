"""Beyond single rows, before and after, for inside: households, known events, and columns against numbers of events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.frame import adopt, pick, series, with_columns
from shoal.linked import Collection, JointRisk
from shoal.risk import HouseholdRisk, households
from shoal.risk.joined_view import measure
from shoal.schema import Column, LinkedSchema, Schema
from shoal.utility.event_counts import EventCount, event_counts

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["hierarchy_of"]

_GROUP = "shoal group"
_MOST_EVENTS = 300_000  # above that, what events give away of the original is not measured


def hierarchy_of(release: Release) -> dict[str, Any]:
    """``households``, ``events`` and ``event_counts``, each before and after, where the schema has them."""
    made: dict[str, Any] = {}
    if release.pair.schema.household is not None:
        made["households"] = _households(release)
    if release.linked is not None:
        made["events"] = (_original_events(release), release.linked.joint)
        made["event_counts"] = _event_counts(release)
    return made


def _households(release: Release) -> tuple[HouseholdRisk, HouseholdRisk]:
    """On the original, and on what persons hide in: the classes of released rows, or the groups of masked ones."""
    pair, schema = release.pair, release.pair.schema
    before = households(pair.original.frame, schema)
    shown = schema.quasi if release.recipe.collapses or not release.recipe.is_blind else ()
    kept = [name for name in (schema.household, schema.unit, schema.weight) if name is not None]
    own = pick(pair.original.frame.select(kept), pair.source_rows)
    columns = {name: adopt(series(pair.released, name), own) for name in shown}
    if not shown:
        columns = {_GROUP: adopt(pl.Series(release.labels[release.source_rows]), own)}
    undeclared = [replace(schema[name], levels=None, bounds=None) for name in (*shown, *kept)]
    group = [] if shown else [Column(name=_GROUP, role="quasi", kind="nominal")]
    return before, households(with_columns(own, columns), Schema((*group, *undeclared)))


def _original_events(release: Release) -> JointRisk | None:
    assert release.linked is not None
    schema, given = release.described, release.original
    assert isinstance(schema, LinkedSchema)
    if not isinstance(given, dict) or release.linked.joint.n_events > _MOST_EVENTS:
        return None
    return measure(Collection.of(given, schema), release.linked.joint.k_required)


def _event_counts(release: Release) -> tuple[EventCount, ...]:
    """How the columns of persons go with their numbers of events."""
    assert release.linked is not None
    declared, given = release.described, release.original
    assert isinstance(declared, LinkedSchema)
    if not isinstance(given, dict):
        return ()
    before = _numbers(Collection.of(given, declared))
    after = _numbers(Collection.of(dict(release.table), release.linked.schema.released))
    return event_counts(release.pair, {name: n[release.pair.original.rows] for name, n in before.items()}, after)


def _numbers(collection: Collection) -> dict[str, IntArray]:
    """How many events each person has in each table."""
    names = [table.name for table in collection.schema.events]
    return {name: np.bincount(collection.persons[name], minlength=collection.n_persons) for name in names}
