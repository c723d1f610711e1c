"""On tiny domains every probability can be written down: the bounds hold for all neighbours, and where the paper's do
not, the counter-examples break them."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal import Schema
from shoal.synth import PeGS
from shoal.synth.exact_draws import GRAIN, virtual_records
from shoal.synth.parents import DEPENDENCE_SENSITIVITY
from shoal.synth.perturbed_imputation import whole_weights
from shoal.synth.tables import block_counts, dependence, distance, pair_counts

NAMES = ("a", "b", "c")
SCHEMA = Schema.of(quasi=NAMES, levels={name: [0, 1] for name in NAMES}, kinds=dict.fromkeys(NAMES, "nominal"))
ORDERED = Schema.of(quasi=NAMES, levels={name: [0, 1] for name in NAMES}, kinds=dict.fromkeys(NAMES, "ordinal"))
CYCLE = {"a": ["b"], "b": ["c"], "c": ["a"]}
WORLD = list(product((0, 1), repeat=3))


def fitted(rows, **options):
    table = pl.DataFrame(rows, schema=list(NAMES), orient="row")
    schema = ORDERED if options.get("smoothing") == "neighbours" else SCHEMA
    return PeGS(scope="sample", missing="refuse", **options).fit(table, schema, seed=1)


def draw_probability(model, i, state, cell, visited=None):
    """Exact probability that column i becomes `cell` given the other columns, from the model's own integer weights."""
    key = int(model._key(np.array([state]), i)[0])
    if visited is not None:
        seen = (i, key) in visited
        visited = visited | {(i, key)}
        if seen:
            prior = model._prior(i)
            return Fraction(int(prior[cell]), int(prior.sum())), visited
    cumulative = model._weights[i][key]
    weight = int(cumulative[cell] - (cumulative[cell - 1] if cell else 0))
    return Fraction(weight, int(cumulative[-1])), visited


def row_probability(model, start, row, visited=None):
    state, p = list(start), Fraction(1)
    for i in range(3):
        q, visited = draw_probability(model, i, state, row[i], visited)
        p *= q
        state[i] = row[i]
    return p, visited


def block_probability(model, start, block):
    p, visited = Fraction(1), frozenset()
    for row in block:
        q, visited = row_probability(model, start, row, visited)
        p, start = p * q, row
    return p


def log_ratio(p, q):
    return abs(log(p / q))


def neighbours(largest):
    for n in range(1, largest + 1):
        for rows in combinations_with_replacement(WORLD, n):
            for extra in WORLD:
                yield list(rows), [*rows, extra]


@pytest.mark.parametrize(
    ("epsilon", "least", "options"),
    [
        (0.5, 0.5, {"choose": "given", "parents": CYCLE}),
        (3.0, 0.5, {"choose": "given", "parents": CYCLE}),
        (3.0, 0.3, {"choose": "given", "parents": CYCLE, "smoothing": "maximum-entropy"}),
        (3.0, 0.2, {"choose": "given", "parents": CYCLE, "smoothing": "neighbours"}),
        (2.0, 0.3, {"choose": "min-hash", "parents": 2}),
    ],
)
def test_a_row_costs_epsilon_when_keys_are_public(epsilon, least, options):
    known = {}

    def log_chances(rows):
        key = tuple(sorted(rows))
        if key not in known:
            model = fitted(rows, epsilon=epsilon, **options)
            known[key] = np.array([log(row_probability(model, start, row)[0]) for start in WORLD for row in WORLD])
        return known[key]

    worst = max(np.abs(log_chances(small) - log_chances(large)).max() for small, large in neighbours(2))
    assert least * epsilon < worst <= epsilon


def test_probabilities_of_a_row_sum_to_one():
    model = fitted([(0, 0, 0), (1, 0, 1)], epsilon=1.0, choose="given", parents=CYCLE)
    assert sum(row_probability(model, (0, 1, 0), row)[0] for row in WORLD) == 1


def test_a_reset_block_costs_epsilon():
    epsilon, worst = 2.0, 0.0
    for small, large in list(neighbours(1))[::3]:
        one, two = (fitted(rows, epsilon=epsilon, block=2, choose="given", parents=CYCLE) for rows in (small, large))
        for start, block in product(WORLD[::3], product(WORLD, repeat=2)):
            p, q = block_probability(one, start, block), block_probability(two, start, block)
            worst = max(worst, log_ratio(p, q))
    assert 0.5 * epsilon < worst <= epsilon


def test_without_reset_a_block_would_cost_more():
    """The same row drawn three times without reset exceeds the price of one block."""
    epsilon = 2.0
    one, two = (
        fitted(rows, epsilon=epsilon, choose="given", parents=CYCLE) for rows in ([(0, 0, 0)], [(0, 0, 0), (1, 1, 1)])
    )
    row = (1, 1, 1)
    p, q = (row_probability(model, row, row)[0] ** 3 for model in (one, two))
    assert log_ratio(p, q) > epsilon


def test_parents_chosen_from_the_data_break_the_bound():
    """Erratum E1: one record changes who is whose parent."""
    small, large = [(0, 0, 0)] * 2, [(0, 0, 0)] * 2 + [(0, 1, 1)]
    one, two = (fitted(rows, epsilon=1.0, choose="mutual-information", parents=1) for rows in (small, large))
    assert one.parents != two.parents
    worst = max(
        log_ratio(row_probability(one, start, row)[0], row_probability(two, start, row)[0])
        for start, row in product(WORLD, WORLD)
    )
    assert worst == pytest.approx(1.125, abs=5e-3)
    assert {claim.basis for claim in one.claims} == {"published"}
    assert "does not vouch" in one.claims[0].statement


def test_start_rows_from_the_data_break_the_bound():
    """Erratum E2: a start row that is a record gives the record away."""
    small = [(0, 0, 0)] * 1000
    large = [*small, (1, 1, 1)]
    chances = []
    for rows in (small, large):
        model = fitted(rows, epsilon=1.0, choose="given", parents=CYCLE)
        starts = {row: Fraction(rows.count(row), len(rows)) for row in set(rows)}
        chances.append(sum(share * row_probability(model, start, (1, 1, 1))[0] for start, share in starts.items()))
    assert log_ratio(*chances) > 3.5


@given(
    arrays(np.float64, (2, 4), elements=st.floats(0, 1)).filter(lambda g: (g.sum(axis=1) > 0).all()),
    st.floats(0.05, 20),
)
def test_imputation_costs_epsilon_whatever_the_regression_says(g, epsilon):
    grains = virtual_records(epsilon, 1)
    whole = whole_weights(g / g.sum(axis=1, keepdims=True))
    assert (whole.sum(axis=1) == GRAIN).all()
    assert (whole >= 0).all()
    ratio = (whole[0] + grains) / (whole[1] + grains)
    assert np.abs(np.log(ratio)).max() <= epsilon


def test_whole_weights_survive_rows_that_are_no_distributions():
    whole = whole_weights(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    assert (whole >= 0).all()
    assert (whole <= GRAIN).all()
    assert (whole.sum(axis=1) == GRAIN).all()


def test_sensitivity_of_the_scores():
    sizes = (2, 3)
    world = list(product(range(2), range(3)))
    expected = np.array([[1.2, 0.4, 2.0], [0.0, 3.3, 0.7]])
    for n in range(5):
        for rows in combinations_with_replacement(world, n):
            small = pair_counts(np.array([*rows], dtype=np.int64).reshape(-1, 2), sizes, 0, 1)
            for a, b in world:
                large = small.copy()
                large[a, b] += 1
                assert abs(dependence(large) - dependence(small)) <= DEPENDENCE_SENSITIVITY
                assert abs(distance(large, expected) - distance(small, expected)) <= 1


@given(arrays(np.int64, (3, 4), elements=st.integers(0, 60)), st.integers(0, 2), st.integers(0, 3))
def test_sensitivity_of_dependence_before_rounding(pair, a, b):
    def score(table):
        product_ = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / max(1, table.sum())
        return np.abs(table - product_).sum()

    larger = pair.copy()
    larger[a, b] += 1
    assert abs(score(larger) - score(pair)) <= 4 + 1e-9


def test_one_record_changes_one_cell_of_each_table():
    rng = np.random.default_rng(1)
    codes, sizes = rng.integers(0, 3, (40, 3)), (3, 3, 3)
    for extra in product(range(3), repeat=3):
        more = np.vstack([codes, extra])
        changes = [
            np.abs(block_counts(more, sizes, i, [(i + 1) % 3]) - block_counts(codes, sizes, i, [(i + 1) % 3])).sum()
            for i in range(3)
        ]
        assert changes == [1, 1, 1]
