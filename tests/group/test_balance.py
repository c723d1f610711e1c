"""Halving and balance: sizes, sums inside groups, what is lowered, against slow ways straight from the formulas."""

import itertools

import numpy as np
import pytest

from shoal.group import balance as room
from shoal.group._balance_kernels import _cost, within_groups
from shoal.group.balance import aim_of, balanced
from shoal.group.features import Content, features_of
from shoal.group.halving import coordinates, halved
from shoal.rng import stream


def people(n, seed=1):
    rng = stream(seed, "people")
    hidden = rng.normal(size=n)
    numbers = [hidden + rng.normal(size=n), np.exp(hidden + rng.normal(size=n))]
    levels = [np.digitize(hidden + rng.normal(size=n), [-1.0, 0.0, 1.0]) for _ in range(2)]
    return features_of([[Content(numbers=x)] for x in numbers] + [[Content(levels=x)] for x in levels], n)


def slow_within(values, labels, block):
    """W straight from its definition."""
    total = np.zeros((values.shape[1],) * 2)
    for g in set(labels.tolist()):
        own = values[labels == g] - values[labels == g].mean(axis=0)
        total += own.T @ own
    return np.where(block[:, None] == block[None, :], 0.0, total)


def run(n=600, k=5, aim=0.3, strata=None, seed=1):
    features = people(n, seed)
    points = coordinates(features)
    cells = halved(points, k, stream(seed, "halving"), strata)
    return features, points, cells, balanced(features, points, cells, aim=aim, rng=stream(seed, "rest"), strata=strata)


@pytest.mark.parametrize("n", [22, 110, 111, 120, 1000])
def test_groups_have_k_members_and_one_at_most_fewer_than_two_k(n):
    points = stream(n, "points").normal(size=(n, 3))
    sizes = np.bincount(halved(points, 11, stream(1, "halving")).labels())
    assert sorted(sizes)[:-1] == [11] * (len(sizes) - 1)
    assert 11 <= sizes.max() < 22
    assert sizes.sum() == n


def test_groups_stay_in_their_stratum():
    strata = stream(1, "strata").integers(0, 3, 300)
    _, _, cells, found = run(300, 5, strata=strata)
    for labels in (cells.labels(), found.cells.labels()):
        assert all(len(set(strata[labels == g])) == 1 for g in set(labels))


def test_halving_is_nearly_as_tight_as_mdav():
    from shoal.group.kmember import MDAV
    from shoal.group.points import Points

    points = stream(5, "points").normal(size=(400, 4))
    mine = halved(points, 5, stream(1, "halving")).labels()
    theirs = MDAV(k=5)._partition(Points.of(points))[0]
    assert error(points, mine) < 1.25 * error(points, theirs)


def error(points, labels):
    return sum(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels))


def test_coordinates_are_ridge_predictions_from_other_blocks():
    features = people(400)
    n, p = features.values.shape
    slow = np.empty((n, p))
    for f in range(p):
        others = features.values[:, features.block != features.block[f]]
        penalty = 5 * p / n * np.eye(others.shape[1])
        slow[:, f] = others @ np.linalg.solve(others.T @ others / n + penalty, others.T @ features.values[:, f] / n)
    found = coordinates(features)
    assert np.allclose(found @ found.T, slow @ slow.T)  # the same points, turned


def test_kept_sums_are_the_sums_recomputed():
    features, _, _, found = run()
    slow = slow_within(features.values, found.cells.labels(), features.block)
    assert np.abs(found.within - slow).max() < 1e-6 * np.abs(slow).max()


@pytest.mark.parametrize("n", [200, 600, 2000])
def test_what_is_lowered_falls_each_sweep(n):
    _, _, _, found = run(n)
    for course in found.course:
        assert len(course) > 1
        assert (np.diff(course) < 0).sum() >= len(course) - 2
        assert np.diff(course).max() <= 1e-9 * course[0]


def test_balance_reaches_a_tenth_of_chance():
    features, _, cells, found = run(3000, 5)
    n = 3000
    start = slow_within(features.values, cells.labels(), features.block)
    assert found.distance(n) < 0.2
    assert np.sqrt((start**2).sum() / np.count_nonzero(start) / n) > 0.6
    assert sorted(np.bincount(found.cells.labels())) == sorted(np.bincount(cells.labels()))


def test_an_exchange_costs_what_the_definition_says():
    features = people(60)
    values, block = features.values, features.block
    points = coordinates(features)
    labels = np.arange(60) // 5
    n, weight = 60, 0.02
    aim = aim_of(features, n, 0.3, stream(1, "aim"))
    order, offsets = np.arange(60), np.arange(0, 61, 5)
    means, centers = (within_groups(x, order, offsets) for x in (values, points))
    starts = np.append(0, np.cumsum(np.bincount(block)))
    excess = slow_within(values, labels, block) - aim

    def lowered(of):
        square = ((slow_within(values, of, block) - aim) ** 2).sum() / (2 * n)
        return square + weight * error(points, of)

    for i, j in itertools.product(range(5), range(20, 25)):
        swapped = labels.copy()
        swapped[[i, j]] = swapped[[j, i]]
        pulled = excess @ (values[j] - values[i])
        cost = _cost(
            values, points, means[0] - means[4], centers[0] - centers[4], pulled, i, j, 0.2, starts, weight * n
        )
        assert cost / n == pytest.approx(lowered(swapped) - lowered(labels), rel=1e-8, abs=1e-9)


def test_the_aim_grows_with_rarity_and_is_no_matter_inside_blocks():
    n = 4000
    rare, common, other = np.arange(n) < 50, np.arange(n) % 2, np.arange(n) // 2 % 2
    features = features_of([[Content(levels=x.astype(int))] for x in (rare, common, other)], n)
    drawn = np.stack([aim_of(features, n, 0.3, stream(i, "aim")) for i in range(400)])
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    assert not drawn[:, np.arange(3), np.arange(3)].any()
    assert drawn[:, 1, 2].std() == pytest.approx(0.3 * np.sqrt(n), rel=0.15)
    assert drawn[:, 0, 1].std() == pytest.approx(0.6 * np.sqrt(n), rel=0.15)


def test_parts_add_up(monkeypatch):
    monkeypatch.setattr(room, "_PART", 500)
    features, _, _, found = run(1700, 5)
    assert len(found.course) == 4
    slow = slow_within(features.values, found.cells.labels(), features.block)
    assert np.abs(found.within - slow).max() < 1e-6 * np.abs(slow).max()


def test_shuffled_sums_are_off_by_what_is_inside_groups():
    """Theorem C by enumeration: over all permutations of b inside groups, the mean of Σ ab is Σ ab − W."""
    rng = stream(1, "c")
    a, b, labels = rng.normal(size=5), rng.normal(size=5), np.array([0, 0, 1, 1, 1])
    orders = [o for o in itertools.permutations(range(5)) if (labels[list(o)] == labels).all()]
    mean = np.mean([a @ b[list(o)] for o in orders])
    within = sum(((a - a[labels == g].mean()) * b)[labels == g].sum() for g in (0, 1))
    assert mean == pytest.approx(a @ b - within)
