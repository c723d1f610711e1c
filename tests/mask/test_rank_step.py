"""The rank step: runs of whole tie classes, uniform inside them, absent values in place."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.mask.rank_step import rank_step, runs, within
from shoal.rng import stream


def slow_runs(values, k, strata):
    """Whole tie classes one after the other; a run is full at k; what is left of a stratum joins its last full run."""
    made = []
    for stratum in sorted(set(strata)):
        own = [(v, i) for i, v in enumerate(values) if strata[i] == stratum and v is not None]
        full, filling = [], []
        for _, ties in itertools.groupby(sorted(own), key=lambda pair: pair[0]):
            filling += [i for _, i in ties]
            if len(filling) >= k:
                full, filling = [*full, filling], []
        if filling and full:
            full[-1] += filling
        elif filling:
            full.append(filling)
        made += full
    return {frozenset(run) for run in made}


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 12)), st.integers(0, 2)), min_size=1, max_size=60),
    st.integers(2, 7),
)
def test_runs_are_the_slow_ones(rows, k):
    values, strata = [v for v, _ in rows], [s for _, s in rows]
    numbers = np.array([np.nan if v is None else float(v) for v in values])
    found = runs(numbers, k, np.array(strata))
    assert {frozenset(np.flatnonzero(found == run)) for run in set(found[found >= 0])} == slow_runs(values, k, strata)
    assert (found < 0).tolist() == [v is None for v in values]


def test_ties_are_never_split():
    assert len(set(runs(np.array([1.0, 2.0, 2.0, 3.0]), 2))) == 1
    assert len(set(runs(np.array([0.0] * 1000 + [1.0]), 10))) == 1  # the case is among the zeros


@pytest.mark.parametrize(("n", "n_runs"), [(9, 1), (10, 2), (11, 2), (15, 3)])
def test_what_is_left_joins_the_last_run(n, n_runs):
    assert len(set(runs(np.arange(n, dtype=float), 5))) == n_runs


def test_numbers_of_one_run_can_be_exchanged_without_a_trace():
    """Theorem B on tables of four: whoever has which value of a run, the law of what leaves the step is the same."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    own = runs(values, 2)
    swapped = values[[1, 0, 2, 3]]
    assert law(values, own) == law(swapped, runs(swapped, 2))
    assert law(values, own) != law(values[[2, 1, 0, 3]], runs(values[[2, 1, 0, 3]], 2))  # of two runs: seen


def law(values, groups):
    """How often each table comes out, over all permutations inside groups."""
    tables = Counter()
    for order in itertools.permutations(range(len(values))):
        if (groups[list(order)] == groups).all():
            tables[tuple(values[list(order)])] += 1
    return tables


def test_permutations_inside_groups_are_uniform():
    groups, rng = np.array([0, 1, 0, 1, 0, -1]), stream(1, "uniform")
    seen = Counter(tuple(within(groups, rng)) for _ in range(12_000))
    assert len(seen) == 12
    assert all(order[5] == 5 for order in seen)
    chi_squared = sum((n - 1000) ** 2 / 1000 for n in seen.values())
    assert chi_squared < 37.4  # 11 degrees of freedom, one false alarm in 10,000


@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=1, max_size=80), st.integers(2, 9))
def test_values_stay_and_absences_keep_their_place(values, k):
    numbers = np.array([np.nan if v is None else v for v in values])
    sources = rank_step(numbers, k, stream(3, "step"))
    assert sorted(sources) == list(range(len(values)))
    assert np.array_equal(np.isnan(numbers[sources]), np.isnan(numbers))
