"""Households: k of them in every group, whole or apart; the numbers of the method sheet by enumeration."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ColumnError, GuaranteeError, ParameterError, SchemaError
from shoal.group.households import n_households, pools

FOUR = pl.DataFrame({"age": [40, 10, 40, 12, 42, 10, 42, 12], "home": [1, 1, 2, 2, 3, 3, 4, 4]})
SCHEMA = shoal.Schema.of(quasi=["age"], household="home")


def test_persons_hide_where_households_do_not():  # [B11]
    assert shoal.risk.classes(FOUR, SCHEMA).k == 2
    found = shoal.risk.households(FOUR, SCHEMA)
    assert (found.k, found.n_unique) == (1, 4)
    assert found.by_members == pytest.approx(4 * 0.75)


def hand_outs(groups):
    """All ways to permute rows within groups."""
    inside = [[list(order) for order in permutations(group)] for group in groups]
    for choice in product(*inside):
        yield {
            old: new for group, order in zip(groups, choice, strict=True) for old, new in zip(group, order, strict=True)
        }


def largest(heads, children):
    """The best guess at a token's owner, over all views: tokens carry a masked head and a masked child."""
    ways = [(h, c) for h in hand_outs(heads) for c in hand_outs(children)]
    best = Fraction(0)
    for view in {(tuple(sorted((h[i], c[i]) for i in range(4)))) for h, c in ways}:
        fits = [(h, c) for h, c in ways if tuple(sorted((h[i], c[i]) for i in range(4))) == view]
        for token in view:
            owners = [next(i for i in range(4) if (h[i], c[i]) == token) for h, c in fits]
            best = max(best, *(Fraction(owners.count(i), len(fits)) for i in range(4)))
    return best


def test_slots_with_the_same_groups_keep_the_bound_and_crossed_ones_lose_it():  # [B12]
    same, crossed = [(0, 1), (2, 3)], [(0, 2), (1, 3)]
    assert largest(same, same) == Fraction(1, 2)
    assert largest(same, crossed) == 1


def test_the_same_households_stand_behind_all_slots():
    labels = shoal.Households(of=shoal.MDAV(k=2)).assign(FOUR, SCHEMA, seed=1)
    home = FOUR["home"].to_numpy()
    behind = {frozenset(home[labels == g].tolist()) for g in set(labels.tolist())}
    assert sorted(map(len, behind)) == [2, 2]
    assert len(set(labels.tolist())) == 4, "two groups of households, two slots each"


people = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 80), st.sampled_from("fm")), min_size=1, max_size=40)


@given(people, st.integers(2, 4), st.sampled_from(["whole", "apart"]))
def test_every_group_has_k_households(rows, k, keep):
    table = pl.DataFrame(rows, schema=["home", "age", "sex"], orient="row")
    schema = shoal.Schema.of(quasi=["age", "sex"], household="home")
    grouper = shoal.Households(of=shoal.MDAV(k=k), keep=keep)
    if table["home"].n_unique() < k:
        with pytest.raises(GuaranteeError, match="households"):
            grouper.assign(table, schema, seed=1)
        return
    if keep == "apart" and len(table) < k:
        return
    labels = grouper.assign(table, schema, seed=1)
    home = table["home"].to_numpy()
    counted = [len(set(home[labels == g].tolist())) for g in range(labels.max() + 1)]
    assert min(counted) >= k
    assert counted == n_households(labels, home).tolist()
    if keep == "whole":
        _assert_slots(labels, home)


def _assert_slots(labels, home):
    """All slots of a group of households have the same households."""
    groups = [frozenset(home[labels == g].tolist()) for g in range(labels.max() + 1)]
    for one, other in product(groups, groups):
        assert one == other or not one & other, "no two slots cross"


@given(st.lists(st.integers(1, 6), min_size=1, max_size=30), st.integers(1, 5))
def test_pools_hold_k_households(sizes, k):
    if len(sizes) < k:
        return
    found, least = pools(np.array(sizes), k)
    assert np.bincount(found, minlength=len(least)).min() >= k
    assert (np.array(sizes) >= least[found]).all()


def test_places_by_a_column():
    table = FOUR.with_columns(role=pl.Series([2, 1] * 4))
    schema = shoal.Schema.of(quasi=["age"], household="home", other=["role"])
    labels = shoal.Households(of=shoal.MDAV(k=2), order="role").assign(table, schema, seed=1)
    for g in set(labels.tolist()):
        assert table["role"].to_numpy()[labels == g].std() == 0
    with pytest.raises(ParameterError, match="column of the table"):
        shoal.Households(of=shoal.MDAV(k=2), order="none").assign(FOUR, SCHEMA, seed=1)


def test_the_claim_counts_households():
    table = pl.concat([FOUR.with_columns(pl.col("home") + 4 * i, pl.col("age") + i) for i in range(10)])
    for keep in ("whole", "apart"):
        group = shoal.Households(of=shoal.MDAV(k=4), keep=keep)
        release = shoal.anonymize(table, SCHEMA, group=group, mask=shoal.Resample(), seed=1)
        (claim,) = [one for one in release.claims if one.kind == "households in a group"]
        assert (claim.value, claim.unit, claim.basis) == (4, "households", "verified")
        assert "home" not in release.table.columns


def test_without_households_everybody_is_one():
    schema = shoal.Schema.of(quasi=["age"], identifier=["home"])
    grouper = shoal.Households(of=shoal.MDAV(k=2))
    assert np.bincount(grouper.assign(FOUR, schema, seed=1)).min() >= 2
    release = shoal.anonymize(FOUR, schema, group=grouper, mask=shoal.Resample(), seed=1)
    assert "households in a group" not in {claim.kind for claim in release.claims}, "nothing is claimed of none"


def test_a_person_in_two_households_is_refused():
    table = FOUR.with_columns(who=pl.Series([1, 2, 1, 4, 5, 6, 7, 8]))
    schema = shoal.Schema.of(quasi=["age"], household="home", unit="who")
    for run in (
        lambda: shoal.anonymize(table, schema, group=shoal.MDAV(k=2)),
        lambda: shoal.risk.households(table, schema),
    ):
        with pytest.raises(ColumnError, match="1 persons in several"):
            run()


def test_what_whole_households_cannot_have():
    schema = shoal.Schema.of(quasi=["age"], household="home", unit="who")
    table = FOUR.with_columns(who=pl.Series(range(8)))
    with pytest.raises(SchemaError, match="one row a person"):
        shoal.Households(of=shoal.MDAV(k=2)).assign(table, schema)
    with pytest.raises(ParameterError, match="quasi-identifiers alone"):
        shoal.Households(of=shoal.Mixed(of="mdav", minimum=2, diversity=1)).assign(FOUR, SCHEMA)
    with pytest.raises(ParameterError, match="another grouper"):
        _ = shoal.Households(of="households").k
