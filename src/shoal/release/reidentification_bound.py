"""The re-identification bound: how likely it is at most that a person's row is found, and what that assumes.

With one row per person and groups of k it is 1/k (`shoal.mask.mask` proves it). Where persons have several rows, person
u is hit with probability at most (rows of u)/(rows of u's group), and the bound is the largest of these; where a
pseudonym ties a person's rows together, it is that of `shoal.release.pseudonyms`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.claim import Claim
from shoal.claim_wording import ALONE, BY_QUASI, INSIDE, LAST_VALUE, OWN_CELL, statement
from shoal.condition.requirements import MINIMALITY
from shoal.conform import Prepared
from shoal.pair import Pair
from shoal.recipe import Recipe
from shoal.schema import Schema
from shoal.schema.whose_rows import assumed_of_rows

__all__ = [
    "bound_claim",
    "bound_of",
    "has_token",
    "minimality",
    "proved_bound",
    "tied",
    "token_bound",
    "unit_bound",
]


def bound_of(recipe: Recipe, pair: Pair, labels: IntArray, caveats: Sequence[str]) -> Claim:
    """The claim of the bound that is proved of a release in memory."""
    bound = _largest(recipe, pair.original, pair.schema, labels[pair.original.rows])
    return bound_claim(recipe, pair.schema, bound, caveats)


def proved_bound(recipe: Recipe, prepared: Prepared, labels: IntArray) -> float | None:
    """The bound on finding a person's row that is proved of groups `labels` (one for each prepared row), if any."""
    return _largest(recipe, prepared, prepared.schema, labels) if recipe.is_blind and recipe.k > 1 else None


def bound_claim(
    recipe: Recipe, schema: Schema, bound: float, caveats: Sequence[str], *, measured: bool = True
) -> Claim:
    """The claim of a bound, with what it assumes; `measured` says whether what it leaves out was measured."""
    if recipe.is_apart(schema):
        return _own_cell_claim(recipe, schema, bound, caveats)
    return Claim(
        kind="re-identification bound",
        value=bound,
        scope="per person",
        basis="proved",
        unit="persons",
        statement=statement(
            "re-identification bound",
            claim={"value": bound},
            what="pseudonym" if has_token(schema) else "record",
        ),
        assumptions=(*_bound_assumptions(recipe, schema, bound > 1 / recipe.k, measured), *caveats),
    )


def _own_cell_claim(recipe: Recipe, schema: Schema, bound: float, caveats: Sequence[str]) -> Claim:
    """The claim of the bound where every column is shuffled by itself (`shoal.mask.permute` proves it)."""
    return Claim(
        kind="re-identification bound",
        value=bound,
        scope="per person",
        basis="proved",
        unit="persons",
        statement=statement("re-identification bound", 1, claim={"value": bound}),
        assumptions=(
            OWN_CELL,
            LAST_VALUE,
            "Each row is a person.",
            INSIDE,
            ALONE,
            *_read_together(recipe, schema),
            *tied(schema),
            *caveats,
        ),
    )


def _read_together(recipe: Recipe, schema: Schema) -> list[str]:
    """What stays together, and so is read together."""
    blocks = [" and ".join(block) for block in recipe.handed(schema) if len(block) > 1]
    fixed = ", ".join(name for method in recipe.methods for name in getattr(method, "fixed", ()))
    return [
        *([f"Columns that were shuffled as one are read together: {'; '.join(blocks)}."] if blocks else []),
        *([f"Groups don't cross {fixed}: whoever knows a person's group knows these."] if fixed else []),
    ]


def _bound_assumptions(recipe: Recipe, schema: Schema, has_heavy_unit: bool, measured: bool) -> list[str]:
    tokens = [name for name in schema.pseudonym if name != schema.unit]
    written = recipe.rewrites(schema)
    beside = (*schema.sensitive, *schema.time, *schema.other, schema.weight, *tokens)
    kept = [name for name in beside if name and name not in written]
    said = [
        BY_QUASI,
        INSIDE,
        *assumed_of_rows(schema),
        ALONE,
        *minimality(recipe),
    ]
    if kept:
        said.append(
            f"The columns published unchanged ({', '.join(kept)}) are not used. Everybody sees them, and where they "
            f"depend on the quasi-identifiers, or are known, they tell more: "
            + ("that is measured, not bounded." if measured else "that is not bounded, and was not measured.")
        )
    if recipe.groups_by_response and schema.sensitive:
        said.append(
            "Numeric sensitive columns took part in the grouping, so members of a group resemble each other there."
        )
    said += tied(schema)
    if kept and schema.unit is not None and not has_token(schema):
        said.append(
            "Rows of one person are not put together. A column published unchanged that is the same in all rows of a "
            "person puts them together, and each row may hide among k while the person hides among nobody: "
            + ("that is measured too." if measured else "that was not measured.")
        )
    if has_heavy_unit and has_token(schema):
        said.append(
            "Some persons can be told by how many rows they have in each group; the bound is that of the person who "
            "shares this with the fewest others (1: with nobody)."
        )
    elif has_heavy_unit:
        said.append(
            "Some persons have several rows of their group; the bound is the largest share that one person holds."
        )
    return said


def _largest(recipe: Recipe, prepared: Prepared, schema: Schema, labels: IntArray) -> float:
    units = prepared.units()
    token = token_bound(labels, units) if has_token(schema) else 0
    return max(1 / recipe.k, unit_bound(labels, units), token)


def unit_bound(labels: IntArray, units: IntArray) -> float:
    """The largest share of a group's rows that one person holds; rows labelled −1 are in no group."""
    labels, units = labels[labels >= 0], units[labels >= 0]
    sizes = np.bincount(labels)
    n_units = int(units.max(initial=0)) + 1
    pairs, held = np.unique(labels * n_units + units, return_counts=True)
    return float(np.max(held / sizes[pairs // n_units]))


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


def has_token(schema: Schema) -> bool:
    """Whether the release ties the rows of a person together by a pseudonym."""
    return schema.unit is not None and schema.unit in schema.pseudonym


def tied(schema: Schema) -> list[str]:
    """What a pseudonym assumes of an intruder."""
    over = "No other table of the same project key and scope is used: pseudonyms join them."
    return [over] if schema.pseudonym else []


def minimality(recipe: Recipe) -> tuple[str, ...]:
    """What a coarsener that looks at the data assumes of an intruder who knows how it works."""
    return (MINIMALITY,) if recipe.is_minimal else ()
