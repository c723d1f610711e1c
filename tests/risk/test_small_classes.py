"""Rows in small classes, and counts on sets of columns, against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.equivalence import Classes, Codes, combine
from shoal.risk.small_classes import atoms_of, first_of_each, in_small_classes, larger_classes, n_in_small_classes

FAR = 2**40  # keys too far apart for a counter each
values = st.lists(st.integers(0, 6), max_size=30)
tables = st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=40)


@pytest.mark.parametrize("apart", [1, FAR])
@settings(max_examples=60, deadline=None)
@given(drawn=values, k=st.integers(2, 4))
def test_small_classes(apart, drawn, k):
    key = Codes(values=np.array(drawn, dtype=np.int64) * apart, n=6 * apart + 1)
    sizes = Counter(drawn)
    small = [sizes[value] < k for value in drawn]
    assert in_small_classes(key, k).tolist() == small
    assert n_in_small_classes(key, k) == sum(small)
    found = larger_classes(key, k)
    assert found.n_small == sum(small)
    if found.rows is not None:
        assert sorted(found.rows.tolist()) == [i for i, gone in enumerate(small) if not gone]
        pairs = {(drawn[row], code) for row, code in zip(found.rows.tolist(), found.key.values.tolist(), strict=True)}
        assert len(pairs) == len({value for value, _ in pairs}) == found.key.n


def test_counters_that_are_shared():
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 2**20, 3000) * FAR
    drawn[::3] = drawn[1::3]
    sizes = Counter(drawn.tolist())
    expected = [sizes[value] < 2 for value in drawn.tolist()]
    key = Codes(values=drawn, n=2**60)
    assert in_small_classes(key, 2).tolist() == expected
    assert n_in_small_classes(key, 2) == larger_classes(key, 2).n_small == sum(expected)


def test_first_of_each():
    assert first_of_each(np.array([5, 7, 5, 5, 7, 9]), 2).tolist() == [0, 1, 2, 4, 5]
    assert first_of_each(np.array([], dtype=np.int64), 2).tolist() == []


@settings(max_examples=60, deadline=None)
@given(rows=tables, copies=st.integers(1, 12), k=st.integers(2, 4), several=st.booleans())
def test_every_set_of_columns(rows, copies, k, several):
    rows = rows * copies
    persons = np.arange(len(rows)) // 2 if several else None
    owner = list(range(len(rows))) if persons is None else persons.tolist()
    columns = [Codes(values=np.array(column), n=3) for column in zip(*rows, strict=True)]
    label = combine(columns)
    atoms = atoms_of(columns, Classes(labels=label.values, sizes=np.bincount(label.values), persons=persons), k)

    def below(places):
        keys = [tuple(row[j] for j in places) for row in rows]
        people = {}
        for key, who in zip(keys, owner, strict=True):
            people.setdefault(key, set()).add(who)
        return sum(len(people[key]) < k for key in keys)

    expected = {sum(1 << j for j in some): below(some) for s in range(1, 5) for some in combinations(range(4), s)}
    assert dict(atoms.every_subset()) == expected
    assert atoms.below() == below((0, 1, 2, 3))
    order = [2, 0, 3, 1]
    assert atoms.leaving(order) == [below(order), below([0, 3, 1]), below([3, 1]), below([1]), 0]
    assert atoms.without(1).below() == below((0, 2, 3))
    change = atoms.changing(1)
    assert change(Codes(values=np.zeros(3, dtype=np.int64), n=1)) == below((0, 2, 3))
    coarse = Codes(values=np.array([0, 0, 1]), n=2)
    rows = [(a, coarse.values[b], c, d) for a, b, c, d in rows]
    assert change(coarse) == below((0, 1, 2, 3))
    assert [atoms.without(0).without(0).without(0).without(0).below()] == [below(())]
