"""m-invariance against all worlds that fit, on the four people whose diagnoses cross."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.register.intersection_attack import ABSENT
from shoal.register.joint_attack import common_values, is_m_unique, same_signature

FLU, HIV, CANCER = 0, 1, 2
FIRST = [("ab", (FLU, HIV)), ("cd", (FLU, CANCER))]  # members, and the values that the group shows


def chance(releases, person, value):
    """P(person has value), every world that fits taken for equally likely; members may be fewer than values."""
    people = sorted({one for release in releases for members, _ in release for one in members})
    fits = []
    for world in itertools.product((FLU, HIV, CANCER), repeat=len(people)):
        has = dict(zip(people, world, strict=True))
        if all(_shows(members, values, has) for release in releases for members, values in release):
            fits.append(has)
    return Fraction(sum(has[person] == value for has in fits), len(fits))


def _shows(members, values, has):
    left = list(values)
    for one in members:
        if has[one] not in left:
            return False
        left.remove(has[one])
    return True


def arrays(releases):
    people = "abcdef"
    groups, values = [], []
    for release in releases:
        found = np.full(len(people), ABSENT)
        for number, (members, _) in enumerate(release):
            found[[people.index(one) for one in members]] = number
        groups.append(found)
        pairs = [(number, value) for number, (_, shown) in enumerate(release) for value in shown]
        values.append(tuple(np.array(part) for part in zip(*pairs, strict=True)))
    return groups, values


@pytest.mark.parametrize(
    ("second", "found", "invariant"),
    [
        ([("ae", (FLU, HIV)), ("cf", (FLU, CANCER))], Fraction(1, 2), True),  # regrouped by signature [R4]
        ([("af", (FLU, CANCER)), ("ce", (FLU, HIV))], Fraction(1), False),  # crossed [R4]
        ([("a", (FLU, HIV)), ("c", (FLU, CANCER))], Fraction(1, 2), True),  # nobody comes: one counterfeit each [R5]
    ],
)
def test_what_the_second_release_gives_away(second, found, invariant):
    releases = [FIRST, second]
    assert chance(releases, "a", FLU) == found
    groups, values = arrays(releases)
    common, same = common_values(groups, values), same_signature(groups, values)
    assert Fraction(1, int(common[0])) == found
    assert bool(same[0]) is invariant
    assert bool(same.all()) is invariant


def test_m_unique_groups_have_m_different_values():
    groups = np.array([0, 0, 1, 1])
    assert is_m_unique(groups, np.array([1, 2, 1, 3]), 2)
    assert not is_m_unique(groups, np.array([1, 1, 1, 3]), 2)
    assert not is_m_unique(groups, np.array([1, 2, 1, 3]), 3)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 2)), min_size=1, max_size=7))
def test_common_values_as_one_would_count_them(rows):
    one, two, value = (np.array(part) for part in zip(*rows, strict=True))
    groups, values = (
        [one, two],
        [(one[one != ABSENT], value[one != ABSENT]), (two[two != ABSENT], value[two != ABSENT])],
    )
    for i, found in enumerate(common_values(groups, values)):
        own = [{v for g, v in zip(g0, value, strict=True) if g == g0[i]} for g0 in groups if g0[i] != ABSENT]
        assert found == (len(set.intersection(*own)) if own else 0)
