"""Make a release: run a recipe, and keep what it made with its evidence.

There is one runner, `make`, for recipes of every kind; `anonymize`, `coarsen` and `synthesize` are its everyday names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.coarsening import Coarsener
from shoal.files import Source
from shoal.frame import leave
from shoal.group import Grouper, KMember
from shoal.mask import GaussianDither
from shoal.pseudonym import Pseudonyms
from shoal.recipe import Anonymization, Coarsening, Mask, Progress, Recipe, Run, Synthesis, quiet
from shoal.release.preset import held_to
from shoal.release.pseudonymous import check_pseudonyms, under_pseudonyms
from shoal.release.release import Release, SyntheticRelease, checked_seed
from shoal.rng import fresh_key
from shoal.schema import Schema
from shoal.synth.synthesizer import Synthesizer

__all__ = ["anonymize", "coarsen", "make", "synthesize"]


def make(
    table: Any,
    schema: Schema,
    recipe: Recipe,
    *,
    seed: int | None = None,
    key: str | None = None,
    account: Any = None,
    preset: str | None = None,
    accept: bool = False,
    pseudonyms: Pseudonyms | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make the release of a recipe of any kind.

    Parameters
    ----------
    table, schema, recipe
        What is released (a dataframe, or a file read with `shoal.files.read_source`), the roles of its columns, and
        how.
    seed, key
        The same seed and the same key make the same table again, byte for byte, where the recipe `repeats`. Left out,
        both are drawn in secret; leave the key out whenever you publish.
    account
        A `shoal.dp.Account` that a synthesis is charged to, before anything is computed.
    preset, accept
        Rules that the finished table is held to, and whether to release although a check fails.
    pseudonyms
        Key, scope and format of the pseudonyms that the schema wants.
    progress
        Called with the name of each step as it begins.
    """
    source = table if isinstance(table, Source) else None
    given = table if source is None else source.frame
    number, secret = checked_seed(seed), fresh_key() if key is None else key
    run = Run(seed=number, key=secret, seeded=seed is not None, account=account, progress=progress or quiet)
    check_pseudonyms(schema, recipe, pseudonyms, preset)
    named = given if pseudonyms is None else under_pseudonyms(given, schema, pseudonyms)
    made = recipe.run(named, schema, run)
    kind = Release if made.model is None else SyntheticRelease
    release = kind(
        table=leave(made.frame, like=given),
        schema=made.prepared.schema,
        recipe=recipe,
        facts=made.facts,
        labels=made.labels,
        source_rows=made.source_rows,
        seed=number,
        key=secret,
        original=given if made.original is None else made.original,
        prepared=made.prepared,
        declared=schema,
        source=source,
        caveats=made.caveats,
        earned=made.claims,
        steps=made.steps,
        model=made.model,
        spending=made.spending,
        pseudonyms=pseudonyms,
    )
    return release if preset is None else held_to(release, preset, accept=accept)


def anonymize(
    table: Any,
    schema: Schema,
    *,
    group: Grouper | None = None,
    mask: Mask | Sequence[Mask] | None = None,
    pseudonyms: Pseudonyms | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Hide each person of `table` among at least k others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB, and the release has the same type; or a file read with
        `shoal.files.read_source`, and the release can be replayed from it.
    schema
        The role of every column.
    group
        Who hides with whom; default ``KMember(k=5)``.
    mask
        What is written instead, one mask or a chain; default ``GaussianDither()``.
    pseudonyms
        Key, scope and format of the pseudonyms, where the schema wants some (`shoal.pseudonym`).
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
    recipe = Anonymization.of(group or KMember(), mask if mask is not None else GaussianDither())
    return make(table, schema, recipe, pseudonyms=pseudonyms, seed=seed, progress=progress)


def coarsen(
    table: Any,
    schema: Schema,
    method: Coarsener | Sequence[Coarsener],
    *,
    preset: str | None = None,
    accept: bool = False,
    pseudonyms: Pseudonyms | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Write less exact quasi-identifiers until each person of `table` shares them with at least k − 1 others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB, and the release has the same type; or a file read with
        `shoal.files.read_source`, and the release can be replayed from it.
    schema
        The role of every column, and its hierarchy where it has one.
    method
        What is written instead: a coarsener, or a list of them, each working on what the one before it wrote.
    preset
        Rules that the finished table is held to, by name (`shoal.compliance.presets`); its own steps are not added.
    accept
        Whether to release although a check of the preset fails; what it found is then among the notes.
    pseudonyms
        Key, scope and format of the pseudonyms, where the schema wants some (`shoal.pseudonym`).
    seed
        Decides ties and the order of rows. Leave it out when you publish.
    progress
        Called with the name of each step as it begins.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=7)
    >>> shoal.risk.classes(release.table, schema).k >= 5, release.claims[0].kind
    (True, 'k-anonymity')
    """
    recipe = Coarsening.of(method)
    return make(
        table, schema, recipe, preset=preset, accept=accept, pseudonyms=pseudonyms, seed=seed, progress=progress
    )


def synthesize(
    table: Any,
    schema: Schema,
    method: Synthesizer | None = None,
    *,
    rows: int | None = None,
    account: Any = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Draw a synthetic table, with its evidence.

    Parameters
    ----------
    table, schema
        The records, and the public domain of every column: levels, or bounds.
    method
        The synthesizer; default ``PeGS(epsilon=1)``.
    rows
        How many rows to draw, chosen without a look at the private table; None: the model's noisy total.
    account
        A `shoal.dp.Account` that is charged before anything is computed.
    seed
        Repeats what is no protective noise, for studies. Leave it out when you publish.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(2000, seed=1).select("gender", "age_group", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "age_group"], sensitive=["income"], levels={
    ...     "gender": ["female", "male"], "age_group": range(8), "income": range(5)})
    >>> release = shoal.synthesize(table, schema, shoal.PeGS(epsilon=2.0), rows=500)
    >>> release.table.shape, release.claims[0].kind, release.claims[0].basis
    ((500, 3), 'epsilon-DP', 'proved')
    """
    from shoal.synth import PeGS

    recipe = Synthesis.of(method or PeGS(), rows)
    return make(table, schema, recipe, account=account, seed=seed, progress=progress)
