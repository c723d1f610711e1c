"""Who is held back: whoever is left, and whoever is absent, is nobody or at least k of a cell."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.register.intersection_attack import ABSENT
from shoal.register.same_groups import held_back


@st.composite
def plans(draw):
    n = draw(st.integers(1, 30))
    cells = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    groups = np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    groups[(cells == 0) & (groups == ABSENT)] = 0  # newcomers who aren't here are nobody
    return cells, groups, cells == 0, draw(st.integers(2, 5))


@given(plans())
def test_cells_keep_nobody_or_k(plan):
    cells, groups, newcomer, k = plan
    back = held_back(cells, groups, newcomer, k, np.random.default_rng(1))
    now = np.where(back, ABSENT, groups)
    assert not back[groups == ABSENT].any()
    for cell in np.unique(cells):
        members = cells == cell
        least = k if cell == 0 else min(k, members.sum())
        for group in np.unique(now[members & (now != ABSENT)]):
            assert (members & (now == group)).sum() >= least
        absent = (members & (now == ABSENT)).sum()
        if cell != 0:
            assert absent == 0 or absent >= least


@given(plans())
def test_nobody_is_held_back_where_nothing_is_wrong(plan):
    cells, _, newcomer, k = plan
    whole = cells.copy()  # everybody of a cell is in one group
    large = (np.bincount(cells)[cells] >= k) | ~newcomer
    back = held_back(cells, np.where(large, whole, ABSENT), newcomer, k, np.random.default_rng(1))
    assert not back.any()


def test_one_leaver_of_six_takes_the_group_along_and_one_of_twelve_takes_four():
    def left(n):
        groups = np.zeros(n, dtype=np.int64)
        groups[0] = ABSENT
        return int(held_back(np.zeros(n, dtype=np.int64), groups, np.zeros(n, bool), 5, np.random.default_rng(1)).sum())

    assert left(6) == 5
    assert left(12) == 4
