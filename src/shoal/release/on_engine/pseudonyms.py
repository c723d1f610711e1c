"""Pseudonyms on an engine: identifiers are replaced batch by batch, where the rows lie.

A pseudonym follows from the identifier and the project key alone, so batches, files and retries make no difference. The
key goes to the workers that hold the identifiers themselves, and nowhere else.
"""

from __future__ import annotations

import polars as pl

from shoal.engine import Engine, Relation
from shoal.errors import GuaranteeError
from shoal.frame import enter
from shoal.pseudonym import Pseudonyms
from shoal.release.on_engine.conform import without_numbers
from shoal.release.pseudonyms import refuse_ties
from shoal.schema import Schema

__all__ = ["under_pseudonyms_on"]


def under_pseudonyms_on(engine: Engine, relation: Relation, schema: Schema, pseudonyms: Pseudonyms) -> Relation:
    """The rows with pseudonyms in the place of identifiers; without a unit, each may occur once only."""
    names = [name for name in schema.pseudonym if name in relation.columns]
    known, different = engine.known(relation, names), engine.distinct(relation, names)
    for name in names if schema.unit is None else ():
        refuse_ties(name, different[name], known[name])

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        with without_numbers():
            return pseudonyms.replaced(enter(rows), schema).to_polars()

    made = engine.map(relation, batch, {**relation.types, **dict.fromkeys(names, pl.String())})
    for name, n in engine.distinct(made, names).items():
        if n < different[name]:
            rule = f"of column '{name}' must all differ, and two are the same"
            raise GuaranteeError("pseudonyms", rule, hint='Choose a longer format, such as "hex".')
    return made
