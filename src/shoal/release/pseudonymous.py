"""When a release may carry pseudonyms, and what a person still hides among then.

A pseudonym ties the released rows of a person together. Persons of a group whose rows are handed out one by one can be
told apart by how many they have: with 1, 1 and 3 rows, the token with three is the third person's, where without one a
row is theirs with probability 3/5. What still holds (proved, `token_bound`): persons with equally many rows in each
group can be exchanged without a trace, so each is found with probability at most 1 / (number of such persons).
"""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.arrays import IntArray
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.frame import enter, series
from shoal.pseudonym import Pseudonyms
from shoal.recipe import Recipe, Synthesis
from shoal.schema import Schema

__all__ = ["check_pseudonyms", "token_bound", "under_pseudonyms"]


def check_pseudonyms(schema: Schema, recipe: Recipe, pseudonyms: Pseudonyms | None, preset: str | None) -> None:
    """Refuse pseudonyms without a key, a key without pseudonyms, and both where nobody or nothing may have them."""
    if pseudonyms is None and not schema.pseudonym:
        return
    if isinstance(recipe, Synthesis):
        raise ParameterError(
            "synthesize", "rows are nobody's and have no pseudonym", hint="Give the column the role identifier alone."
        )
    if pseudonyms is None:
        named = next(iter(schema.pseudonym))
        raise ParameterError(
            "release",
            f"column '{named}' is to be released under a pseudonym, which needs a project key and a scope",
            hint="Give pseudonyms=Pseudonyms(...), or --pseudonym-key and --scope.",
        )
    if not schema.pseudonym:
        raise ParameterError("release", "pseudonyms are given, and the schema wants none of any column")
    if preset == "safe-harbor" or any(method.name == "safe-harbor" for method in recipe.methods):
        raise GuaranteeError(
            "Safe Harbor",
            "lets no code stand that is derived from an identifier, as a keyed pseudonym is (45 CFR 164.514(c))",
            hint="Remove the column, or choose expert determination.",
        )


def under_pseudonyms(table: Any, schema: Schema, pseudonyms: Pseudonyms) -> Any:
    """The table with pseudonyms in the place of identifiers; without a unit, each may occur once only."""
    frame = enter(table)
    for name in schema.pseudonym if schema.unit is None else ():
        known = series(frame, name).drop_nulls()
        if known.n_unique() < len(known):
            raise ColumnError(
                name,
                "is to be a pseudonym and ties rows together, and the schema doesn't say whose rows they are",
                hint="Name the column that tells persons apart as the unit; it may be this one.",
            )
    return pseudonyms.apply(table, schema)


def token_bound(labels: IntArray, units: IntArray) -> float:
    """The largest of 1 / (persons with equally many rows in each group); rows labelled −1 are in no group.

    Examples
    --------
    >>> import numpy as np
    >>> token_bound(np.zeros(5, dtype=int), np.array([0, 1, 2, 2, 2]))
    1.0
    >>> token_bound(np.zeros(4, dtype=int), np.arange(4))
    0.25
    """
    rows = pl.DataFrame({"unit": units[labels >= 0], "label": labels[labels >= 0]}).sort("unit", "label")
    pattern = rows.group_by("unit").agg(pl.col("label").cast(pl.String).str.join(","))
    smallest = pattern.group_by("label").len()["len"].min()
    return 1 / int(smallest)  # type: ignore[arg-type]
