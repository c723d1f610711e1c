"""l-diversity and t-closeness on an engine: the mix of a cell before anything is cut, and of every class at the end.

A class lies in one cell, and a cell is the mixture of its classes. Both distances are convex, entropy is concave, and
the counts of recursive diversity are subadditive: a cell that fails as a whole can't be cut into classes that hold, so
it joins its neighbour, and classes of two cells that are written alike hold together if each of them does. Within a
cell closeness is to the mix of the whole table, which every worker is told. Persons are never in two cells, so their
counts add over cells. What is claimed is counted once more over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.condition.overall import OverallMix
from shoal.condition.requirements import Closeness, Diversity, Promise, mix_promises
from shoal.conform import Prepared
from shoal.engine import PERSONS, Engine, Relation
from shoal.equivalence import Contents
from shoal.errors import SchemaError
from shoal.release.claims import require_kept
from shoal.risk.class_sizes import counted_contents, sensitive_codes
from shoal.schema import Kind, Schema

__all__ = ["Mixes", "kept_mixes"]

_PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixes:
    """What is asked of the sensitive columns of a class, and the mix of each in the whole table."""

    diversity: Diversity | None
    closeness: Closeness | None
    overall: Mapping[str, OverallMix]
    kinds: Mapping[str, Kind | None]

    @classmethod
    def of(
        cls,
        engine: Engine,
        relation: Relation,
        schema: Schema,
        diversity: int | str | None,
        closeness: float | str | None,
    ) -> Mixes | None:
        """Count the sensitive columns; None where nothing is asked of them."""
        if diversity is None and closeness is None:
            return None
        if not schema.sensitive:
            raise SchemaError("schema", "must name a sensitive column if diversity or closeness is required")
        return cls(
            diversity=None if diversity is None else Diversity.of(diversity),
            closeness=None if closeness is None else Closeness.of(closeness),
            overall={name: _overall(engine, relation, schema, name) for name in schema.sensitive},
            kinds={name: schema[name].kind for name in schema.sensitive},
        )

    def tell(self, prepared: Prepared) -> None:
        """Let the conditions of a part of the table know the mix of all of it."""
        for name, mix in self.overall.items():
            mix.tell(prepared, name)

    def holding(self, engine: Engine, cell: str, unit: str | None) -> Callable[[Relation], Callable[..., bool]]:
        """Whether the rows at some paths, `cell` of a relation, meet what is asked for as one class."""

        def of(placed: Relation) -> Callable[[Sequence[str]], bool]:
            pairs = {name: engine.keep(engine.count(placed, [cell, name], unit)) for name in self.overall}
            good = {name: self._good(engine, pairs[name], cell, name) for name in pairs}

            def one(name: str, paths: Sequence[str]) -> bool:
                if len(paths) == 1:
                    return paths[0] in good[name]
                found = engine.collect(engine.matching(pairs[name], pl.DataFrame({cell: paths})))
                return bool(self._meets(name, found, np.zeros(len(found), dtype=np.int64)).all())

            return lambda paths: all(one(name, paths) for name in pairs)

        return of

    def _good(self, engine: Engine, pairs: Relation, cell: str, name: str) -> set[str]:
        """The paths whose rows meet what is asked for by themselves."""
        found: set[str] = set()
        for part in engine.parts(pairs, [cell], _PAIRS_AT_ONCE):
            paths = part[cell].unique().sort()
            of = part[cell].cast(pl.Enum(paths)).to_physical().to_numpy().astype(np.int64)
            found |= set(paths.filter(pl.Series(self._meets(name, part, of))))
        return found

    def _meets(self, name: str, pairs: pl.DataFrame, of: IntArray) -> BoolArray:
        """Which classes meet what is asked of a column, whose values with their persons are `pairs`."""
        mix = self.overall[name]
        value = mix.codes(pairs[name])
        keys, place = np.unique(of * len(mix.counts) + value, return_inverse=True)
        count = np.bincount(place, weights=pairs[PERSONS].to_numpy()).astype(np.int64)
        own = keys // len(mix.counts)
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        n = len(mix.counts)
        found = Contents(of=own, value=keys % n, count=count, starts=starts, n_values=n, overall=mix.counts)
        good = np.ones(len(starts), dtype=np.bool_)
        if self.diversity is not None:
            good &= self.diversity.holds(self.diversity.found(found))
        if self.closeness is not None:
            ordered = self.closeness.distance_for(self.kinds[name]) == "ordered"
            good &= self.closeness.holds(found.ordered_distance() if ordered else found.variation())
        return good


def _overall(engine: Engine, relation: Relation, schema: Schema, name: str) -> OverallMix:
    column = schema[name]
    counted = engine.collect(engine.count(engine.select(relation, _named(name, schema.unit)), [name], schema.unit))
    counted = counted.sort(name)
    if column.kind != "nominal":
        counted = counted[np.argsort(sensitive_codes(counted[name], column, column.kind or "ordinal").values)]
    return OverallMix(values=counted[name], counts=counted[PERSONS].to_numpy())


def _named(name: str, unit: str | None) -> list[str]:
    return [name] if unit is None else [name, unit]


def kept_mixes(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    diversity: int | str | None,
    closeness: float | str | None,
    by: Sequence[str] | None = None,
) -> list[Promise]:
    """What was asked for of each sensitive column, once every class is seen to keep it; an error where one doesn't.

    Rows that are equal in `by` are a class; None: in their quasi-identifiers.
    """
    if diversity is None and closeness is None:
        return []
    of = schema.quasi if by is None else by
    return [
        promise
        for name in schema.sensitive
        for promise in _kept(engine, relation, schema, of, name, diversity, closeness)
    ]


def _kept(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    by: Sequence[str],
    name: str,
    diversity: int | str | None,
    closeness: float | str | None,
) -> list[Promise]:
    column = schema[name]
    if relation.types[name] == pl.String and column.kind == "numeric":  # numbers beside texts have lost their order
        column = replace(column, kind="nominal", bounds=None, missing_codes=None)
    kind, parts = counted_contents(engine, relation, by, column, schema.unit)
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
