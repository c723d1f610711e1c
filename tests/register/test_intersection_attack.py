"""The intersection attack against slow counts over a handful of people, and the numbers that others enumerated."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.register.intersection_attack import ABSENT, Side, aligned, candidates, cells_of, sizes_of


def tokens_of(groupings):
    """P(person has their own token | view) for each, by all hand-outs: a token shows its group in every release."""
    n = len(groupings[0])
    shown = [tuple(grouping[i] for grouping in groupings) for i in range(n)]
    fits = [p for p in itertools.permutations(range(n)) if all(shown[p[i]] == shown[i] for i in range(n))]
    return [Fraction(sum(p[i] == i for p in fits), len(fits)) for i in range(n)]


@pytest.mark.parametrize(
    ("groupings", "found"),
    [
        ([[0, 0, 1, 1]] * 2, [Fraction(1, 2)] * 4),  # the same groups, twice [B1]
        ([[0, 0, 0, 1, 1, 1]] * 5, [Fraction(1, 3)] * 6),  # and any number of times [B2]
        ([[0, 0, 1, 1], [0, 1, 0, 1]], [Fraction(1)] * 4),  # crossed pairs [B3]
        ([[0, 0, 0, -1], [0, 0, -1, 0]], [Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(1)]),  # [B6]
    ],
)
def test_cells_are_what_tokens_give_away(groupings, found):
    assert tokens_of(groupings) == found
    sizes = sizes_of(cells_of([np.array(one) for one in groupings]))
    assert [Fraction(1, int(size)) for size in sizes] == found


def test_rows_that_hid_their_group_would_give_less_and_that_is_not_claimed():  # [B4]
    crossed = [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert tokens_of([[0] * 4, [0] * 4]) == [Fraction(1, 4)] * 4, "where no row tells its group"
    assert sizes_of(cells_of([np.array(one) for one in crossed])).tolist() == [1] * 4, "what is counted all the same"


@given(st.lists(st.lists(st.integers(-1, 2), min_size=6, max_size=6), min_size=1, max_size=3))
def test_the_refinement_is_the_bound_on_random_groupings_with_absences(groupings):  # [B7]
    sizes = sizes_of(cells_of([np.array(one) for one in groupings]))
    assert tokens_of(groupings) == [Fraction(1, int(size)) for size in sizes]


def test_without_a_token_each_release_stands_alone():  # [B13]
    """Who sees the rows of two releases that nothing joins has a group in each, and no pair of rows that excludes."""
    first, second = [0, 0, 1, 1], [0, 1, 0, 1]
    owners = list(itertools.permutations(range(4)))
    fits = [(a, b) for a in owners for b in owners if _kept(a, first) and _kept(b, second)]
    for i in range(4):
        for row in range(4):
            share = Fraction(sum(a[i] == row for a, _ in fits), len(fits))
            assert share == (Fraction(1, 2) if first[row] == first[i] else 0)


def _kept(owner, grouping):
    """Whether the row that each person gets shows the person's group."""
    return all(grouping[owner[i]] == grouping[i] for i in range(len(grouping)))


def test_two_random_groupings_overlap_in_one_person():  # [R3]
    rng = np.random.default_rng(1)
    overlap = []
    for _ in range(60):
        first, second = (rng.permutation(1000) // 5 for _ in range(2))
        overlap.append(sizes_of(cells_of([first, second])).mean())
    assert np.mean(overlap) == pytest.approx(1 + 4 * 4 / 999, abs=0.005)


def test_two_tables_that_are_each_2_anonymous_join_to_one_diagnosis():  # [R1, R2]
    ages, zips = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])  # decades; (25, 10) (28, 20) (33, 10) (38, 20)
    ill = np.array([1, 2, 3, 4], dtype=np.uint64)
    pairs = [(a, b) for a in range(4) for b in range(4) if ages[a] == ages[0] and zips[b] == zips[0]]
    assert len(pairs) == 4
    assert [(a, b) for a, b in pairs if ill[a] == ill[b]] == [(0, 0)]
    left = candidates(Side(groups=zips, signatures=ill), [Side(groups=ages, signatures=ill)], 2, on=[ill])
    assert left.tolist() == [1, 1, 1, 1]


def test_a_class_that_grows_by_one_shows_the_newcomer():  # [R6]
    before, after = np.array([0] * 5 + [ABSENT]), np.zeros(6, dtype=np.int64)
    paid = np.arange(6, dtype=np.uint64)
    left = candidates(Side(groups=after, signatures=paid), [Side(groups=before, signatures=paid)], 5, on=[paid])
    assert left.tolist() == [5] * 5 + [1]
    left = candidates(Side(groups=before, signatures=paid), [Side(groups=after, signatures=paid)], 5, on=[paid])
    assert left.tolist() == [5] * 5 + [1]  # and a leaver


def by_hand(new, earlier, k, on):
    """The same count, one person and one row at a time."""
    n = len(new.groups)
    tuples = [tuple(side.groups[i] for side in (new, *earlier)) for i in range(n)]
    found = []
    for i in range(n):
        cell = sum(one == tuples[i] for one in tuples)
        if cell >= k:
            found.append(cell)
            continue
        counts = []
        if new.groups[i] != ABSENT:
            rows = [q for q in range(n) if new.groups[q] == new.groups[i]]
            pairs = list(zip(earlier, on, strict=True))
            counts.append(sum(all(_fits(i, q, new.groups, mine, one) for one, mine in pairs) for q in rows))
        for one, mine in zip(earlier, on, strict=True):
            if one.groups[i] != ABSENT:
                rows = [p for p in range(n) if one.groups[p] == one.groups[i]]
                back = Side(groups=new.groups, signatures=mine)
                own = None if mine is None else one.signatures
                counts.append(sum(_fits(i, p, one.groups, own, back) for p in rows))
        found.append(max(cell, min(counts, default=cell)))
    return found


def _fits(i, row, groups, own, other):
    if own is None:
        return other.groups[row] == other.groups[i]
    there = [p for p in range(len(groups)) if other.groups[p] != ABSENT]
    here = [p for p in range(len(groups)) if groups[p] != ABSENT]
    if other.groups[i] != ABSENT:
        steady = own[i] == other.signatures[i]
        return steady and any(other.groups[p] == other.groups[i] and other.signatures[p] == own[row] for p in there)
    if other.groups[row] == ABSENT:
        return True
    more = sum(own[p] == own[row] for p in here) > sum(other.signatures[p] == own[row] for p in there)
    return bool(more and own[row] == other.signatures[row])


@st.composite
def sides(draw):
    n, n_earlier = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    groups = st.lists(st.integers(-1, 2), min_size=n, max_size=n).map(np.array)
    what = st.lists(st.integers(0, 3), min_size=n, max_size=n).map(lambda one: np.array(one, dtype=np.uint64))
    own = draw(what)
    on = [draw(st.sampled_from(["same", "changed", "token"])) for _ in range(n_earlier)]
    earlier = [Side(groups=draw(groups), signatures=own if how == "same" else draw(what)) for how in on]
    mine = [None if how == "token" else own for how in on]
    return Side(groups=draw(groups), signatures=own), earlier, mine


@given(sides(), st.integers(1, 5))
@settings(max_examples=60)
def test_the_attack_counts_as_one_would_by_hand(found, k):
    new, earlier, on = found
    somewhere = np.any([side.groups != ABSENT for side in (new, *earlier)], axis=0)
    left = candidates(new, earlier, k, on=on)
    assert left[somewhere].tolist() == np.array(by_hand(new, earlier, k, on))[somewhere].tolist()


def test_a_join_in_many_parts_is_the_same(monkeypatch):
    from shoal.register import intersection_attack

    rng = np.random.default_rng(3)
    new, old = (Side(groups=rng.permutation(300) // 5, signatures=np.arange(300, dtype=np.uint64)) for _ in range(2))
    whole = candidates(new, [old], 5, on=[new.signatures])
    monkeypatch.setattr(intersection_attack, "_MOST", 7)
    assert candidates(new, [old], 5, on=[new.signatures]).tolist() == whole.tolist()


def test_people_are_the_same_person_by_their_marks():
    first, second = np.array([[1, 2], [3, 4]], dtype=np.uint64), np.array([[3, 4], [3, 5], [1, 2]], dtype=np.uint64)
    n, (one, other) = aligned([first, second])
    assert n == 3
    assert [one[0], one[1]] == [other[2], other[0]]
