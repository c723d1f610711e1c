"""Run a recipe on a table: group, mask, shuffle, measure.

The released table has the quasi-identifiers as the masks wrote them, the sensitive, weight and other columns as they
were, no identifier and no unit column, its rows in random order and no index. Measures and claims are computed when
first asked for, all from one pair of original and release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.claim import Claim
from shoal.encode import Encoder
from shoal.errors import ParameterError
from shoal.files import Source
from shoal.frame import Frame, leave, pick
from shoal.group import Grouper, Grouping, KMember
from shoal.mask import BlindMask, GaussianDither, ValueSets, draw_chain, pair_up
from shoal.pair import Pair
from shoal.prepare import Prepared, prepare
from shoal.recipe import Recipe
from shoal.release.promises import promises
from shoal.risk import RiskReport
from shoal.risk import assess as assess_risk
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.utility import UtilityReport
from shoal.utility import assess as assess_utility

__all__ = ["Progress", "Release", "anonymize", "anonymize_source"]

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A released table with its evidence.

    `labels` and `source_rows` are internal: they link released rows to people and are never written.
    """

    table: Any
    schema: Schema
    recipe: Recipe
    notes: tuple[str, ...]
    labels: IntArray
    source_rows: IntArray
    seed: int
    original: Any
    declared: Schema
    source: Source | None = None
    caveats: tuple[str, ...] = ()
    mask_claims: tuple[Claim, ...] = ()

    def __repr__(self) -> str:
        return f"Release({len(self.source_rows)} rows, {self.recipe})"

    @cached_property
    def pair(self) -> Pair:
        """Original and release side by side (internal)."""
        return Pair.of(self.original, self.table, self.schema, self.source_rows)

    @cached_property
    def risk(self) -> RiskReport:
        """What an intruder achieves against this release."""
        return assess_risk(self.pair, labels=self.labels, k=self.recipe.group.k, seed=self.seed)

    @cached_property
    def utility(self) -> UtilityReport:
        """What the release keeps of the original."""
        return assess_utility(self.pair, seed=self.seed)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What is promised, each with its basis and assumptions."""
        return (*promises(self.recipe, self.pair, self.labels, self.risk, self.caveats), *self.mask_claims)

    def write(
        self,
        directory: str | PathLike[str],
        *,
        format: str = "csv",
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write table, external report and manifest to `directory`, internal report and replay file to its
        ``internal/``.

        The written table is read back and measured again; if a claim fails, nothing is left behind and a
        GuaranteeError is raised.

        Parameters
        ----------
        directory
            Must not exist yet, or be empty, or hold an older release and `overwrite` be True.
        format
            Ending of the table file: csv, tsv, parquet, and with the extra `formats` dta, sav, xpt.
        """
        from shoal.release.writing import write

        return write(self, Path(directory), format=format, overwrite=overwrite, progress=progress or _quiet)


def anonymize(
    table: Any,
    schema: Schema,
    *,
    group: Grouper | None = None,
    mask: BlindMask | Sequence[BlindMask] | None = None,
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
        Leave it out when you publish: a fresh secret seed is then drawn and kept with the internal files.
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
    say = progress or _quiet
    seed = _checked_seed(seed)
    say("checking the table")
    prepared = prepare(table, schema)
    say("grouping")
    grouping = recipe.group.group(prepared, seed)
    say("masking")
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    sets = ValueSets.of(encoder.codes(prepared.frame), grouping.labels, encoder, prepared.weights())
    codes = _mask(recipe, sets, grouping, seed)
    order = stream(seed, "shuffle").permutation(prepared.n)
    labels = np.full(prepared.n_original, -1, dtype=np.int64)
    labels[prepared.rows] = grouping.labels
    return Release(
        table=leave(_released(prepared, encoder, codes, order), like=table),
        schema=prepared.schema,
        recipe=recipe,
        notes=(*prepared.notes, *_spoken(grouping.notes)),
        labels=labels,
        source_rows=prepared.rows[order],
        seed=seed,
        original=table,
        declared=schema,
        caveats=tuple(dict.fromkeys(text for mask in recipe.masks for text in mask.caveats(sets))),
        mask_claims=recipe.masks[0].claims(sets) if len(recipe.masks) == 1 else (),
    )


def anonymize_source(source: Source, schema: Schema, **method: Any) -> Release:
    """`anonymize` for a file read with `shoal.files.read_source`: its release can be replayed from the file."""
    return replace(anonymize(source.frame, schema, **method), source=source)


def _mask(recipe: Recipe, sets: ValueSets, grouping: Grouping, seed: int) -> FloatArray:
    streams = [stream(seed, "mask", i) for i in range(len(recipe.masks))]
    drawn = draw_chain(recipe.masks, sets, streams)
    return pair_up(drawn, grouping.labels, stream(seed, "pairing"))


def _released(prepared: Prepared, encoder: Encoder, codes: FloatArray, order: IntArray) -> Frame:
    keep = [name for name in prepared.frame.columns if name in prepared.schema.released]
    rows = pick(prepared.frame.select(keep), order)
    return encoder.decode(codes[order], prepared.frame, rows).select(keep)


def _spoken(notes: Mapping[str, Any]) -> tuple[str, ...]:
    said = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in notes.items())
    return (f"grouping {said}",) if said else ()


def _checked_seed(seed: int | None) -> int:
    if seed is None:
        return fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError("anonymize", "seed must be a whole number of at least 0", got=repr(seed)[:40])
    return int(seed)


def _quiet(step: str) -> None:
    """Say nothing."""
