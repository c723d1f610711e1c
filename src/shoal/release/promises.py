"""Which claims a recipe earns, and on what basis.

- Rows of a group made equal, by coarsening or by a mask that does so at the end of a chain: **k-anonymity**, verified
  by counting.
- A chain that ends in a blind mask, and any coarsening: the **re-identification bound** of `shoal.mask.mask`, proved.
  (The rows of a class are equal and in random order, so no rule tells them apart.) With one row per person it is 1/k.
  Where persons have several rows, person u is hit with probability at most (rows of u)/(rows of u's group), and the
  claim is the largest of these.
- A chain that ends in an aware mask: the **group size**, verified, which limits nobody's risk by itself.
- Always: the **re-identification** that the nearest-match attack really achieves, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shoal.arrays import IntArray
from shoal.claim import Claim
from shoal.coarsening import Conditions
from shoal.coarsening.wanted import Promise
from shoal.errors import GuaranteeError
from shoal.group import KMember
from shoal.pair import Pair
from shoal.recipe import AnyRecipe, Coarsening, Recipe
from shoal.risk import RiskReport
from shoal.schema import Schema

__all__ = ["promises", "unit_bound"]


def promises(
    recipe: AnyRecipe, pair: Pair, labels: IntArray, risk: RiskReport, caveats: Sequence[str]
) -> tuple[Claim, ...]:
    """The claims of a release made by `recipe`."""
    return (*_hidden(recipe, pair, labels, risk, caveats), _measured(risk))


def _hidden(
    recipe: AnyRecipe, pair: Pair, labels: IntArray, risk: RiskReport, caveats: Sequence[str]
) -> Iterator[Claim]:
    if recipe.k < 2:
        return
    if recipe.collapses or (not recipe.is_blind and risk.classes.k >= recipe.k):
        yield _k_anonymity(recipe.k, pair)
    if isinstance(recipe, Coarsening):
        yield from _mixed(recipe, pair, labels)
    if recipe.is_blind:
        yield _bound(recipe, pair, labels, caveats)
    else:
        yield _group_size(recipe.k, pair, caveats)


def unit_bound(labels: IntArray, units: IntArray) -> float:
    """The largest share of a group's rows that one person holds; rows labelled −1 are in no group."""
    labels, units = labels[labels >= 0], units[labels >= 0]
    sizes = np.bincount(labels)
    held = np.unique(np.column_stack((labels, units)), axis=0, return_counts=True)
    return float(np.max(held[1] / sizes[held[0][:, 0]]))


def _k_anonymity(k: int, pair: Pair) -> Claim:
    whom = "records" if pair.schema.unit is None else "persons"
    return Claim(
        kind="k-anonymity",
        value=k,
        scope="per record" if pair.schema.unit is None else "per person",
        basis="verified",
        statement=f"Every combination of quasi-identifiers in the released table is shared by at least {k} {whom}.",
        assumptions=("The quasi-identifiers are all the columns that can be matched against outside knowledge.",),
    )


def _mixed(recipe: Coarsening, pair: Pair, labels: IntArray) -> Iterator[Claim]:
    """l-diversity and t-closeness that the coarseners were asked for, counted on the release."""
    own = labels[pair.original.rows]
    for method in recipe.methods:
        wanted = {name: getattr(method, name, None) for name in ("diversity", "closeness")}
        if all(words is None for words in wanted.values()):
            continue
        conditions = Conditions.of(pair.original, k=method.k, **wanted)
        worst = conditions.found(own, int(own.max()) + 1)
        for promise, found in zip(conditions.promises(), worst, strict=True):
            if not promise.holds(found):
                raise GuaranteeError("release", promise.statement.rstrip("."), got=f"{found:.4g} in the worst class")
            if promise.column:
                yield _mix_claim(promise, pair.schema.unit is not None)


def _mix_claim(promise: Promise, by_person: bool) -> Claim:
    once = " Each person counts once in a class, whatever their number of rows." if by_person else ""
    return Claim(
        kind=f"{promise.measure} {promise.kind}",
        value=promise.value,
        scope=f"per class, column {promise.column}",
        basis="verified",
        statement=promise.statement + once,
        assumptions=("The column holds what is sensitive; what else is known of the people of a class may tell more.",),
    )


def _group_size(k: int, pair: Pair, caveats: Sequence[str]) -> Claim:
    whom = "records" if pair.schema.unit is None else "persons"
    return Claim(
        kind="group size",
        value=k,
        scope="per record" if pair.schema.unit is None else "per person",
        basis="verified",
        statement=f"Every group that records were stirred in or moved to holds at least {k} {whom}.",
        assumptions=(
            "The size of a group limits nobody's risk by itself: a record's own row took part in what was written. Go "
            "by the measured risk.",
            *caveats,
        ),
    )


def _bound(recipe: AnyRecipe, pair: Pair, labels: IntArray, caveats: Sequence[str]) -> Claim:
    k, schema = recipe.k, pair.schema
    bound = max(1 / k, unit_bound(labels[pair.original.rows], pair.original.units()))
    return Claim(
        kind="re-identification bound",
        value=bound,
        scope="per person",
        basis="proved",
        statement=(
            f"An intruder who knows a person's true quasi-identifiers and matches on the released ones finds that "
            f"person's record with probability at most {bound:.4g}."
        ),
        assumptions=(*_bound_assumptions(recipe, schema, bound > 1 / k), *caveats),
    )


def _bound_assumptions(recipe: AnyRecipe, schema: Schema, has_heavy_unit: bool) -> list[str]:
    kept = [name for name in (*schema.sensitive, *schema.other, schema.weight) if name]
    said = [
        "The quasi-identifiers are all the columns that the intruder can match on, and ties are broken at random.",
        "The seed and everything else in the folder of inside files stay inside.",
    ]
    if kept:
        said.append(
            f"The intruder does not know the columns published unchanged ({', '.join(kept)}); "
            "whoever knows them can link through them."
        )
    if _groups_by_response(recipe) and schema.sensitive:
        said.append(
            "Numeric sensitive columns took part in the grouping, so members of a group resemble each other there."
        )
    if has_heavy_unit:
        said.append(
            "Some persons have several rows of their group; the bound is the largest share that one person holds."
        )
    return said


def _groups_by_response(recipe: AnyRecipe) -> bool:
    return isinstance(recipe, Recipe) and isinstance(recipe.group, KMember) and recipe.group.response_weight > 0


def _measured(risk: RiskReport) -> Claim:
    found = risk.reidentification
    return Claim(
        kind="re-identification frequency",
        value=found.expected,
        scope="mean over records",
        basis="measured",
        statement=(
            "Matching every original record to the nearest released one, ties at random, finds the right person in "
            f"{found.expected:.2%} of cases."
        ),
        assumptions=("This is one attack on this release; another attack may do better.",),
        interval=found.interval,
    )
