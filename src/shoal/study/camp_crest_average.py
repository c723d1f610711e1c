"""Several class columns: one run of CREST for each and the average of the versions, beside one run for all of them.

Li and Sarkar (2013), section 8, offer both ways. Averaging m perturbed versions leaves noise of variance 1/m, so the
covariance that the perturbation restores is lost again; and a row that blends m groupings belongs to no group of k: the
intersection of m groups can be one person. `averaged` makes such rows; `compare_ways` measures both on disjoint random
parts of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.conform import Prepared, prepare
from shoal.datasets import nmes1988
from shoal.encode import Encoder
from shoal.group import Crest
from shoal.group.mix import class_names
from shoal.mask import MicroPerturb, ValueSets, pair_up
from shoal.pair import Pair
from shoal.risk.record_linkage import measure as linkage_of
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.moment import moments_of

__all__ = ["MEASURES", "WAYS", "Way", "averaged", "compare_ways", "groupings", "three_classes"]

KS = (5, 10, 20)
WAYS = ("one grouping", "one run each, averaged")
MEASURES = {
    "linked": "Linked",
    "abisd": "ABISD",
    "correlation_difference": "Correlations off by",
    "alone": "Alone in all groups",
}
_CLASSES = ["chronic", "health", "adl"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way at one k: each measure in each part; `alone` is the share that no other record shares all groups with."""

    way: str
    k: int
    linked: tuple[float, ...]
    abisd: tuple[float, ...]
    correlation_difference: tuple[float, ...]
    alone: tuple[float, ...]


def three_classes() -> tuple[pl.DataFrame, Schema]:
    """NMES1988 with three class columns: chronic diseases (none, one, several), health, limited activity."""
    table = nmes1988().with_columns(pl.col("chronic").clip(0, 2).cast(pl.String))
    numbers = [name for name in table.columns if table[name].dtype.is_numeric()]
    return table.select(*numbers, *_CLASSES), Schema.of(quasi=numbers, sensitive=_CLASSES)


def groupings(prepared: Prepared, k: int, seed: int = 0) -> tuple[list[IntArray], list[IntArray]]:
    """The labels of one run for all class columns, and those of one run for each."""
    schema, names = prepared.schema, class_names(prepared.schema)
    one = Crest(k=k, classes="each").group(prepared, seed).labels
    each = [Crest(k=k).group(_with_class(prepared, schema, name), seed).labels for name in names]
    return [one], each


def averaged(codes: FloatArray, encoder: Encoder, ways: Sequence[IntArray], rng: Generator) -> FloatArray:
    """The mean, record by record, of what MicroPerturb (centred) writes for each grouping."""
    versions = []
    for labels in ways:
        drawn = MicroPerturb(noise="centred").draw(ValueSets.of(codes, labels, encoder), rng)
        versions.append(pair_up(drawn, labels, rng))
    out: FloatArray = np.mean(versions, axis=0)
    return out


def compare_ways(table: Any, schema: Schema, *, parts: int, ks: Sequence[int] = KS, seed: int = 0) -> tuple[Way, ...]:
    """Both ways at each k, over disjoint random parts of a file with several class columns.

    Numeric and ordinal quasi-identifiers are averaged; there must be no others.
    """
    prepared = prepare(table, schema)
    order = stream(seed, "camp-crest study", "averaging").permutation(prepared.n)
    split = np.array_split(order, parts)
    out = []
    for k in ks:
        found = [_part(prepared, np.sort(rows), k, seed) for rows in split]
        for way, values in zip(WAYS, zip(*found, strict=True), strict=True):
            out.append(Way(way=way, k=k, **{name: tuple(v[name] for v in values) for name in MEASURES}))
    return tuple(out)


def _part(prepared: Prepared, rows: IntArray, k: int, seed: int) -> list[dict[str, float]]:
    part = prepare(prepared.frame[rows], prepared.schema)
    encoder = Encoder.of(part, part.schema.quasi)
    codes = encoder.codes(part.frame)
    pair = Pair(
        original=part,
        released=part.frame,
        source_rows=np.arange(part.n),
        encoder=encoder,
        original_codes=codes,
        released_codes=codes,
    )
    rng = stream(seed, "camp-crest study", "averaging", k, int(rows[0]))
    return [_measures(pair, ways, rng) for ways in groupings(part, k, seed)]


def _measures(pair: Pair, ways: Sequence[IntArray], rng: Generator) -> dict[str, float]:
    after = replace(pair, released_codes=averaged(pair.original_codes, pair.encoder, ways, rng))
    loss = moments_of(after, columns=list(pair.encoder.names))
    _, place, counts = np.unique(np.column_stack(ways), axis=0, return_inverse=True, return_counts=True)
    return {
        "linked": linkage_of(after).share or 0.0,
        "abisd": loss.abisd or 0.0,
        "correlation_difference": loss.correlation_difference or 0.0,
        "alone": float((counts[place.reshape(-1)] == 1).mean()),
    }


def _with_class(prepared: Prepared, schema: Schema, name: str) -> Prepared:
    """The same records with one class column."""
    columns = tuple(c for c in schema.columns if c.name == name or c.name not in class_names(schema))
    return prepare(prepared.frame.select([c.name for c in columns]), Schema(columns))
