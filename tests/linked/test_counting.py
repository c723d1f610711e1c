"""Counting on the joined view, against enumeration: the numbers of the method sheet, and random tables."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.linked import Bags, candidates, k_of


def bags_of(histories, classes=None, *, ordered=False):
    person = np.repeat(np.arange(len(histories)), [len(one) for one in histories])
    item = np.array([ord(event) - ord("a") for event in "".join(histories)], dtype=np.int64)
    when = np.concatenate([np.arange(len(one)) for one in histories]).astype(np.int64) if ordered else None
    found = np.zeros(len(histories), dtype=np.int64) if classes is None else np.array(classes)
    return Bags.of(found, person, item, when)


def k(histories, m, fits="some", **more):
    bags = bags_of(histories, **more)
    return k_of(candidates(bags, m, fits), bags)


def is_part(some, whole, ordered):
    if ordered:
        rest = iter(whole)
        return all(event in rest for event in some)
    return not Counter(some) - Counter(whole)


def by_hand(histories, classes, m, ordered):
    """The definition, word for word."""
    return [
        min(
            sum(classes[j] == classes[i] and is_part(some, other, ordered) for j, other in enumerate(histories))
            for some in combinations(own, min(m, len(own)))
        )
        for i, own in enumerate(histories)
    ]


def test_more_knowledge_leaves_fewer():  # [J1]
    assert [k(["ab", "ab", "ac", "ac", "bc", "abc"], m) for m in range(4)] == [6, 4, 2, 1]


def test_whole_knows_that_nothing_else_happened():  # [J2]
    assert k(["a", "ab", "ab"], 0, "any") == 2
    assert k(["a", "ab", "ab"], 0, "whole") == 1


def test_two_equal_events_count_twice():  # [J3]
    assert [k(["aa", "a", "a"], m) for m in (1, 2)] == [3, 1]


def test_a_sequence_tells_more_than_a_bag():  # [J4]
    histories = ["ab", "ba", "ab", "ba"]
    assert (k(histories, 2, ordered=True), k(histories, 2)) == (2, 4)


def test_k_of_each_table_says_nothing_about_the_join():  # [J5]
    sex, month = [0, 0, 1, 1], ["a", "b", "a", "b"]
    assert k(month, 1) == 2
    assert k(month, 0, classes=sex) == 2
    assert k(month, 1, classes=sex) == 1


histories = st.lists(st.text("abc", max_size=4), min_size=1, max_size=8)


@given(histories, st.integers(0, 3), st.booleans(), st.randoms(use_true_random=False))
def test_counts_are_those_of_the_definition(some, m, ordered, random):
    classes = [random.randrange(2) for _ in some]
    found = candidates(bags_of(some, classes, ordered=ordered), m)
    assert found.tolist() == by_hand(some, classes, m, ordered)


@given(histories, st.integers(0, 1))
def test_whole_histories_are_those_of_the_definition(some, n_classes):
    classes = [i % (n_classes + 1) for i in range(len(some))]
    bags = bags_of(some, classes)
    assert candidates(bags, 0, "any").tolist() == by_hand(some, classes, 9, False)
    whole = [
        sum(classes[j] == classes[i] and sorted(other) == sorted(own) for j, other in enumerate(some))
        for i, own in enumerate(some)
    ]
    assert candidates(bags, 0, "whole").tolist() == whole


def test_parts_are_the_whole(monkeypatch):
    some = ["abcd", "abd", "acd", "bcd", "ab", "cd", "abcd", "a"]
    whole = candidates(bags_of(some), 2)
    monkeypatch.setattr("shoal.linked.counting._AT_ONCE", 3)
    assert candidates(bags_of(some), 2).tolist() == whole.tolist()


def test_who_is_left_out_is_not_counted():
    bags = bags_of(["a", "a", "ab"], [0, 0, -1])
    assert candidates(bags, 1).tolist() == [2, 2, 0]
    assert k_of(candidates(bags, 1), bags) == 2


@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_events_leave_the_class(m):
    assert k(["", "", ""], m) == 3
