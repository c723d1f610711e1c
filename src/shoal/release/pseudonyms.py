"""A release under pseudonyms: identifiers are replaced before anything else, or the release is refused.

A pseudonym ties the released rows of a person together. Persons of a group whose rows are handed out one by one can be
told apart by how many they have: with 1, 1 and 3 rows, the token with three is the third person's, where without one a
row is theirs with probability 3/5. What still holds (proved, `shoal.release.reidentification_bound`): persons with
equally many rows in each group can be exchanged without a trace, so each is found with probability at most 1 / (number
of such persons).
"""

from __future__ import annotations

from typing import Any

from shoal.compliance import Preset
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.frame import enter, series
from shoal.pseudonym import Pseudonyms
from shoal.recipe import Recipe
from shoal.schema import Schema

__all__ = ["check_codes", "check_pseudonyms", "refuse_ties", "under_pseudonyms"]


def check_pseudonyms(schema: Schema, recipe: Recipe, pseudonyms: Pseudonyms | None, preset: Preset | None) -> None:
    """Refuse pseudonyms without a key, a key without pseudonyms, and both where nobody or nothing may have them."""
    if pseudonyms is None and not schema.pseudonym:
        return
    if not recipe.is_of_people:
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
    check_codes(recipe, pseudonyms, preset)


def check_codes(recipe: Recipe, pseudonyms: Pseudonyms | None, preset: Preset | None) -> None:
    """Refuse keyed pseudonyms where Safe Harbor is asked for."""
    own = () if preset is None else preset.first
    if pseudonyms is not None and any(method.name == "safe-harbor" for method in (*own, *recipe.methods)):
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
        refuse_ties(name, known.n_unique(), len(known))
    return pseudonyms.apply(table, schema)


def refuse_ties(column: str, n_different: int, n_known: int) -> None:
    """Without a unit, an identifier that is to be a pseudonym may occur once only."""
    if n_different < n_known:
        raise ColumnError(
            column,
            "is to be a pseudonym and ties rows together, and the schema doesn't say whose rows they are",
            hint="Name the column that tells persons apart as the unit; it may be this one.",
        )
