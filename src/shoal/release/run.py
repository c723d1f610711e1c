"""Run a grouper and masks on a table: group, mask, shuffle.

The released table has the quasi-identifiers as the masks wrote them, the sensitive, weight and other columns as they
were, no identifier and no unit column, its rows in random order and no index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.canonical import canonical, retyped
from shoal.conform import Prepared, prepare
from shoal.encode import Encoder
from shoal.fact import Fact
from shoal.files import Source
from shoal.frame import Frame, enter, leave, pick
from shoal.group import Grouper, KMember
from shoal.mask import GaussianDither
from shoal.recipe import Mask, Recipe
from shoal.release.chain import run_chain
from shoal.release.release import Progress, Release, checked_seed, quiet
from shoal.rng import fresh_key, secret
from shoal.schema import Schema

__all__ = ["anonymize", "anonymize_source"]


def anonymize(
    table: Any,
    schema: Schema,
    *,
    group: Grouper | None = None,
    mask: Mask | Sequence[Mask] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Hide each person of `table` among at least k others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB; the release has the same type.
    schema
        The role of every column.
    group
        Who hides with whom; default ``KMember(k=5)``.
    mask
        What is written instead, one mask or a chain; default ``GaussianDither()``.
    seed
        Repeats the grouping and what the masks draw. Which person gets which row, and the order of the rows, come
        from a fresh secret key, whatever the seed.
    progress
        Called with the name of each step as it begins.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.KMember(k=5), mask=shoal.Resample(), seed=7)
    >>> release.table.shape[0], release.claims[0].kind, release.claims[0].basis
    (1000, 're-identification bound', 'proved')
    """
    recipe = Recipe.of(group or KMember(), mask if mask is not None else GaussianDither())
    return run_masks(table, schema, recipe, seed=checked_seed(seed), key=fresh_key(), progress=progress or quiet)


def run_masks(table: Any, schema: Schema, recipe: Recipe, *, seed: int, key: str, progress: Progress) -> Release:
    """Make the release of a recipe with this seed and this secret key: the same table again, byte for byte."""
    progress("checking the table")
    prepared = canonical(prepare(table, schema))
    progress("grouping")
    grouping = recipe.group.group(prepared, seed)
    progress("masking")
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    chained = run_chain(recipe, prepared, encoder, grouping, seed=seed, key=key)
    order = secret(key, "shuffle").permutation(prepared.n)
    labels = np.full(prepared.n_original, -1, dtype=np.int64)
    labels[prepared.rows] = chained.labels
    made = _released(prepared, encoder, chained.codes, order)
    return Release(
        table=leave(retyped(made, enter(table)), like=table),
        schema=prepared.schema,
        recipe=recipe,
        facts=(*prepared.facts, *_grouping_fact(grouping.notes)),
        labels=labels,
        source_rows=prepared.rows[order],
        seed=seed,
        key=key,
        original=table,
        prepared=prepared,
        declared=schema,
        caveats=chained.caveats,
        earned=chained.claims,
        steps=chained.steps,
    )


def anonymize_source(source: Source, schema: Schema, **method: Any) -> Release:
    """`anonymize` for a file read with `shoal.files.read_source`: its release can be replayed from the file."""
    return replace(anonymize(source.frame, schema, **method), source=source)


def _released(prepared: Prepared, encoder: Encoder, codes: FloatArray, order: IntArray) -> Frame:
    keep = [name for name in prepared.frame.columns if name in prepared.schema.released]
    rows = pick(prepared.frame.select(keep), order)
    return encoder.decode(codes[order], prepared.frame, rows).select(keep)


def _grouping_fact(notes: Mapping[str, Any]) -> tuple[Fact, ...]:
    """How the groups were found: it follows from all records, so it is for inside."""
    said = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in notes.items())
    return (Fact(says="grouping {said}", values={**notes, "said": said}, counts="groups"),) if said else ()
