"""Why the published guarantee can't hold: counter-examples E1 (structure) and E2 (noise), kept."""

import math

import numpy as np
import polars as pl
import pytest

from shoal.score import StableTree
from shoal.score.stable import leaf_range


def frame(records):
    return pl.DataFrame({"a": [r[0] for r in records], "b": [r[1] for r in records]}), np.array([r[2] for r in records])


def structure(records):
    X, y = frame(records)
    return StableTree(cuts=1, max_depth=3).fit(X, y).model_[0].structure()


def test_e1_one_record_changes_the_structure():
    """The data pass the test by a margin of one record; without that record the same test fails and the tree stops."""
    base = [(0, 0, 0)] * 12 + [(1, 1, 1)] * 12  # a and b tie; every (0, 1, 0) makes b the weaker one
    found = None
    for extra in range(1, 40):
        grown = base + [(0, 1, 0)] * extra
        if structure(grown) != structure(grown[:-1]):
            found = (structure(grown[:-1]), structure(grown))
            break
    assert found is not None
    before, after = found
    assert len(before) == 1
    assert len(after) > 1


def test_e1_a_zero_private_structure_would_be_constant():
    """0-DP and deterministic: equal for neighbours, hence (walking record by record) for all data sets."""
    one = [(0, 0, 0)] * 10 + [(1, 1, 1)] * 10
    other = [(0, 0, 0)] * 10 + [(1, 1, 0)] * 10 + [(0, 1, 1)] * 10
    walk = [one[:k] for k in range(len(one), 4, -1)] + [other[:k] for k in range(5, len(other) + 1)]
    structures = set()
    for step in walk:
        labels = {r[2] for r in step}
        structures.add(structure(step) if len(labels) == 2 else ("constant",))
    assert len(structures) > 1


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_e2_noise_scaled_to_the_leaf_has_unbounded_loss(epsilon):
    """A leaf with 5 of 10 and its neighbour with 5 of 9: the log ratio of the densities grows with the answer."""

    def log_density(answer, n1, n):
        low, high = leaf_range(n1, n)
        scale = (high - low) / epsilon
        return -abs(answer - n1 / n) / scale - math.log(2 * scale)

    losses = [abs(log_density(answer, 5, 10) - log_density(answer, 5, 9)) for answer in (0.5, 5.0, 50.0, 500.0)]
    assert losses[1] < losses[2] < losses[3]
    assert losses[3] > 4 * epsilon


def test_e2_even_near_the_leaf_the_loss_exceeds_epsilon():
    """An empty leaf against one with a single record: scale 1/ε on both sides, but far apart in the next step."""
    epsilon = 1.0

    def scale(n1, n):
        low, high = leaf_range(n1, n)
        return (high - low) / epsilon

    ratio = scale(1, 1) / scale(2, 2)
    assert math.log(ratio) > 0  # the density at the centre alone moves
    answer = -20.0
    loss = abs(answer - 1.0) / scale(2, 2) - abs(answer - 1.0) / scale(1, 1) - math.log(ratio)
    assert abs(loss) > epsilon
