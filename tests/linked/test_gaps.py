"""What is left where no date is known but the days between events: the numbers of the method sheet, and enumeration."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.linked import Bags, candidates
from shoal.linked.counting import gap_candidates, rare_rows, tuples


def bags_of(histories, classes=None):
    """Histories as lists of (day, item)."""
    person = np.repeat(np.arange(len(histories)), [len(one) for one in histories])
    days = np.array([day for one in histories for day, _ in one], dtype=np.int64)
    item = np.array([item for one in histories for _, item in one], dtype=np.int64)
    return Bags.of(np.array(classes or [0] * len(histories)), person, item, days)


def shape(some):
    """Items, and the days from each event to the next."""
    ordered = sorted(some)
    return [item for _, item in ordered], np.diff([day for day, _ in ordered])


def is_near(one, other, tolerance):
    return one[0] == other[0] and bool((np.abs(one[1] - other[1]) <= tolerance).all())


def by_hand(histories, classes, m, tolerance):
    """The definition, word for word."""
    return [
        min(
            sum(
                classes[j] == classes[i]
                and any(
                    is_near(shape(some), shape(found), tolerance) for found in combinations(sorted(other), len(some))
                )
                for j, other in enumerate(histories)
            )
            for some in combinations(sorted(own), min(m, len(own)))
        )
        for i, own in enumerate(histories)
    ]


THREE = [[(day, 0) for day in days] for days in ((1, 5, 20), (102, 106, 130), (203, 209, 218))]


def test_a_gap_has_two_candidates_and_two_gaps_have_one():  # [J7]
    shapes = [[shape(some)[1].tolist() for some in combinations(one, 3)] for one in THREE]
    assert shapes == [[[4, 15]], [[4, 24]], [[6, 9]]]
    assert sum(any(4 in np.diff([day for day, _ in pair]) for pair in combinations(one, 2)) for one in THREE) == 2
    assert gap_candidates(bags_of(THREE), 3).tolist() == [1, 1, 1]


def test_no_shift_helps():
    moved = [[(day + 7 * shift, item) for day, item in one] for one, shift in zip(THREE, (3, -2, 26), strict=True)]
    assert gap_candidates(bags_of(moved), 3).tolist() == gap_candidates(bags_of(THREE), 3).tolist()


def test_whoever_knows_gaps_only_roughly_has_more_candidates():
    assert gap_candidates(bags_of(THREE), 3, 9).tolist() == [3, 2, 2]
    assert gap_candidates(bags_of(THREE), 3, 15).tolist() == [3, 3, 3]


events = st.tuples(st.integers(0, 6), st.integers(0, 1))
many = st.lists(st.lists(events, max_size=4), min_size=1, max_size=6)


@given(many, st.integers(0, 3), st.integers(0, 2), st.booleans())
def test_counts_are_those_of_the_definition(some, m, tolerance, split):
    classes = [i % 2 if split else 0 for i in range(len(some))]
    assert gap_candidates(bags_of(some, classes), m, tolerance).tolist() == by_hand(some, classes, m, tolerance)


@given(many, st.integers(2, 3))
def test_dates_tell_more_than_gaps_and_gaps_more_than_order(some, m):
    ordered = bags_of(some)
    dated = Bags.of(ordered.classes, ordered.person, ordered.item + 2 * ordered.time)
    with_dates, by_gaps, by_order = candidates(dated, m), gap_candidates(ordered, m), candidates(ordered, m)
    assert (with_dates <= by_gaps).all()
    assert (by_gaps <= by_order).all()


def test_the_one_minimal_violation():  # [J6]
    histories = ["ab", "ab", "ac", "ac", "bc", "abc"]
    person = np.repeat(np.arange(6), [len(one) for one in histories])
    item = np.array(["abc".index(event) for event in "".join(histories)])
    bags = Bags.of(np.zeros(6, dtype=int), person, item)
    rare = {size: {int(n) for part in tuples(bags, size) for n in part.support if n < 3} for size in (1, 2)}
    assert rare == {1: set(), 2: {2}}
    pairs = list(tuples(bags, 2))
    held = {int(p) for part in pairs for p, n in zip(part.person, part.support, strict=True) if n < 3}
    assert held == {4, 5}, "{b, c}, of the persons bc and abc"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=20), st.integers(1, 4))
def test_rare_rows_are_those_of_few_persons(rows, k):
    holders = {key: {who for other, who in rows if other == key} for key, _ in rows}
    expected = sum(len(holders[key]) < k for key, _ in rows)
    key, person = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    assert rare_rows(key, person, k) == expected
