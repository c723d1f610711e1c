"""l-diversity and t-closeness of the classes of a relation, counted over all rows by the engine."""

from __future__ import annotations

from shoal.condition.requirements import Diversity, Promise, mix_promises
from shoal.engine import Engine, Relation
from shoal.equivalence import Contents
from shoal.release.claims import require_kept
from shoal.risk.class_sizes import counted_contents
from shoal.schema import Schema

__all__ = ["kept_mixes"]


def kept_mixes(
    engine: Engine, relation: Relation, schema: Schema, diversity: int | str | None, closeness: float | str | None
) -> list[Promise]:
    """What was asked for of each sensitive column, once every class is seen to keep it; an error where one doesn't."""
    if diversity is None and closeness is None:
        return []
    return [
        promise for name in schema.sensitive for promise in _kept(engine, relation, schema, name, diversity, closeness)
    ]


def _kept(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    name: str,
    diversity: int | str | None,
    closeness: float | str | None,
) -> list[Promise]:
    kind, parts = counted_contents(engine, relation, schema.quasi, schema[name], schema.unit)
    promises = mix_promises(diversity, closeness, name, kind)
    required = None if diversity is None else Diversity.of(diversity)
    worst = [[_worst(promise, contents, required) for promise in promises] for contents, _ in parts]
    for promise, found in zip(promises, zip(*worst, strict=True), strict=True):
        require_kept(promise, max(found) if promise.kind == "t-closeness" else min(found))
    return promises


def _worst(promise: Promise, contents: Contents, required: Diversity | None) -> float:
    if promise.kind == "l-diversity" and required is not None:
        return float(required.found(contents).min())
    distance = contents.ordered_distance() if promise.measure == "ordered" else contents.variation()
    return float(distance.max())
