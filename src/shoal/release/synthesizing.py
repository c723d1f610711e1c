"""Fit a synthesizer and draw a table: a release whose rows are nobody's.

What is measured against the original is for inside. A differential-privacy claim covers the synthetic rows, not numbers
computed from the private table beside them, so the external report and the manifest of a synthetic release hold
claims, method and domain, and no comparison with the original.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shoal.canonical import canonical
from shoal.conform import Prepared, prepare
from shoal.declared import conformed
from shoal.errors import ParameterError
from shoal.fact import Fact
from shoal.files import Source
from shoal.frame import enter, leave
from shoal.pair import NOBODY
from shoal.recipe import Synthesis
from shoal.release.release import Progress, Release, checked_seed, quiet
from shoal.rng import fresh_key
from shoal.schema import Schema
from shoal.synth import Model, PeGS, Synthesizer

__all__ = ["synthesize", "synthesize_source"]


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
    recipe = Synthesis.of(method or PeGS(), rows)
    say = progress or quiet
    _check_price(recipe, account)
    say("checking the table")
    # What is released has the schema's types, and so has what it is set beside.
    original = conformed(enter(table), schema)
    settled = canonical(prepare(original, _lenient(schema)))
    say("fitting")
    model = recipe.method.fit(table, schema, account=account, seed=seed)
    say("drawing")
    drawn = model.sample(rows, seed=seed)
    made = _release(table, settled, recipe, model, drawn, checked_seed(seed), schema)
    return replace(made, original=original, spending=None if account is None else account.spending)


def synthesize_source(source: Source, schema: Schema, method: Synthesizer | None = None, **options: Any) -> Release:
    """`synthesize` for a file read with `shoal.files.read_source`."""
    return replace(synthesize(source.frame, schema, method, **options), source=source)


def _check_price(recipe: Synthesis, account: Any) -> None:
    """Refuse before anything is computed or charged what the account can't pay in full."""
    price = recipe.method.price(recipe.rows)
    if price.per_row is not None and recipe.rows is None:
        raise ParameterError("synthesize", "rows must be given where each row costs", hint="Choose their number.")
    if account is not None and price.per_data_set is not None and not account.affords(price.per_data_set):
        account.charge(price.per_data_set, purpose="synthesis")  # raises: it says what is left


def _lenient(schema: Schema) -> Schema:
    """The schema by which the private table is measured: a missing number, which a synthesizer keeps, is left out."""
    lenient = [replace(c, missing="drop") for c in schema.columns if c.missing == "error" and c.role == "quasi"]
    return schema.with_columns(lenient)


def _release(
    table: Any, settled: Prepared, recipe: Synthesis, model: Model, drawn: Any, seed: int, declared: Schema
) -> Release:
    frame = enter(drawn)
    return Release(
        table=leave(frame, like=table),
        schema=settled.schema,
        recipe=recipe,
        facts=tuple(Fact(says="{note}", values={"note": note}, outside=True) for note in model.notes),
        labels=np.full(settled.n_original, NOBODY, dtype=np.int64),
        source_rows=np.full(len(frame), NOBODY, dtype=np.int64),
        seed=seed,
        key=fresh_key(),
        original=table,
        prepared=settled,
        declared=declared,
        earned=model.claims,
        model=model,
    )
