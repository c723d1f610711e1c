"""New keys for linked tables: one domain a table, no order in them, and links that follow.

With a project key, a row's key is its keyed pseudonym (`shoal.pseudonym`), the same in every release of the scope.
Without one, keys are numbers in a secret random order, good for this release alone. Sequential visit numbers are a
clock; neither kind is.
"""

from __future__ import annotations

import polars as pl

from shoal.linked.collection import Collection
from shoal.pseudonym import Pseudonyms
from shoal.rng import secret
from shoal.schema import LinkedTable

__all__ = ["released_tables", "with_new_keys"]


def with_new_keys(collection: Collection, pseudonyms: Pseudonyms | None, key: str) -> Collection:
    """The tables with new keys, and with pseudonyms in the columns that want some."""
    domains: dict[str, dict[str, pl.Series]] = {}
    for table in collection.schema.tables:
        frame = collection.tables[table.name]
        new = {name: _named(frame[name], domain, pseudonyms, key) for name, domain in _domains(table).items()}
        domains[table.name] = new
    for name, columns in domains.items():
        collection = collection.with_columns(name, columns)
    return collection


def _domains(table: LinkedTable) -> dict[str, str]:
    own = {} if table.key is None else {table.key: table.name}
    return own | table.columns.pseudonym


def _named(column: pl.Series, domain: str, pseudonyms: Pseudonyms | None, key: str) -> pl.Series:
    if pseudonyms is not None:
        return pseudonyms.of(column, domain)
    known = column.drop_nulls().unique().sort()
    numbers = secret(key, "keys", domain).permutation(len(known)) + 1
    both = pl.DataFrame({"old": known, "new": numbers})
    return (
        pl.DataFrame({"old": column}).join(both, on="old", how="left", maintain_order="left")["new"].alias(column.name)
    )


def released_tables(collection: Collection, key: str) -> dict[str, pl.DataFrame]:
    """The tables of events as they are released: links to the new keys, nobody's name, rows in a secret order."""
    made = {}
    for table in collection.schema.events:
        parent = collection.schema[str(table.parent)]
        keys = collection.tables[parent.name][str(parent.key)].gather(collection.parents[table.name])
        frame = collection.tables[table.name].with_columns(keys.alias(str(table.link)))
        released = table.whole.released
        order = secret(key, "shuffle", table.name).permutation(len(frame))
        made[table.name] = frame.select([name for name in frame.columns if name in released])[order]
    return made
