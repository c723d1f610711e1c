"""Every mechanism of `shoal.dp` is audited on neighbours, at confidence 1 − 10⁻⁶: a red test is a broken promise."""

import math

import numpy as np
import pytest

from shoal.dp import Budget, LazyCounts, audit, noise

SURE = 1 - 1e-6


def laplace(scale):
    return lambda counts, n: noise.discrete_laplace(np.tile(counts, (n, 1)), scale)


def test_noisy_count():
    found = audit(
        lambda c, n: noise.discrete_laplace(np.full(n, c), 1.0),
        5, 6, trials=30_000, confidence=SURE, vectorised=True,
    )  # fmt: skip
    assert 0.8 < found.epsilon <= 1


def test_table_where_one_person_sits_in_two_cells():
    """L1 sensitivity 2, as in noisy building blocks of two columns: the price must be 2 / scale."""
    ours, theirs = np.array([3, 0, 7]), np.array([4, 0, 8])
    below = lambda rows: (rows[:, 0] <= 3) & (rows[:, 2] <= 7)  # noqa: E731
    found = audit(laplace(2.0), ours, theirs, event=below, trials=12_000, confidence=SURE, vectorised=True)
    assert not found.refutes(Budget(epsilon=noise.laplace_epsilon(2.0, sensitivity_l1=2)))
    assert found.refutes(Budget(epsilon=noise.laplace_epsilon(2.0, sensitivity_l1=1)))  # a forgotten cell is caught


def test_half_of_the_noise_is_caught():
    scale = noise.laplace_scale(1.0) / 2
    found = audit(laplace(scale), np.array([5]), np.array([6]), trials=4000, confidence=SURE, vectorised=True)
    assert found.refutes(Budget(epsilon=1))


def test_gaussian_noise():
    rho = noise.gaussian_rho(1.0)
    found = audit(
        lambda c, n: noise.discrete_gaussian(np.full(n, c), 1.0),
        5, 6, trials=20_000, delta=1e-3, confidence=SURE, vectorised=True,
    )  # fmt: skip
    assert not found.refutes(Budget.zcdp(rho))
    assert found.refutes(Budget.zcdp(rho / 25))


def test_lazy_noise():
    def looked_at(counts, n):
        cells = LazyCounts(np.tile(counts, n), 1.0)
        return cells.at(np.arange(0, 2 * n, 2)) + 0 * cells.at(np.arange(0, 2 * n, 2))

    found = audit(looked_at, [5, 1], [6, 1], trials=20_000, confidence=SURE, vectorised=True)
    assert 0.75 < found.epsilon <= 1


@pytest.mark.parametrize("select", ["epsilon", "rho"])
def test_private_selection(select):
    """One person raises one score and lowers the other: the worst case for a choice between two."""
    ours, theirs = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    choose = {
        "epsilon": lambda scores: noise.noisy_max(scores, 1.0, 2.0),
        "rho": lambda scores: noise.noisy_max_zcdp(scores, 1.0, 0.5),
    }
    found = audit(choose[select], ours, theirs, trials=1500, confidence=SURE)
    assert not found.refutes(Budget(epsilon=2))
    assert found.epsilon > 0.2
    assert found.epsilon <= math.log(4000)
