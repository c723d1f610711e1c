"""CUDIA: the E-step against exact integration, planted mixtures, both variants."""

import numpy as np
import polars as pl
import pytest

from shoal.aggregate import Aggregate, Cudia, PseudoInverse
from shoal.aggregate._cudia_kernels import assign, sample
from shoal.aggregate.cudia import Clusters, Rows, affordable, worth
from shoal.errors import ParameterError


def planted(seed=0, P=60, N=50, spread=1.0):
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.ones(3), P)
    z = np.concatenate([rng.choice(3, N, p=q) for q in pi])
    labels = np.repeat(np.arange(P), N)
    X = np.array([[0, 0], [4, 0], [0, 4]])[z] + spread * rng.standard_normal((P * N, 2))
    y = np.array([0.0, 5.0, 20.0])[z] + rng.standard_normal(P * N)
    return X, y, z, labels, np.bincount(labels, y) / N


@pytest.mark.parametrize("variant", ["sampled", "hard"])
def test_planted_mixtures_are_recovered(variant):
    X, y, z, labels, s = planted()
    result = Cudia(components=3, variant=variant).reconstruct(X, [Aggregate(by=labels, mean=s)], seed=1)
    np.testing.assert_allclose(sorted(result.details["cluster_values"]), [0, 5, 20], atol=1.5)
    np.testing.assert_allclose(sorted(result.details["cluster_shares"]), np.sort(np.bincount(z) / len(z)), atol=0.03)
    order = np.argsort(result.details["cluster_values"])
    assert np.mean(order[z] == np.argmax(result.memberships, axis=1)) > 0.93
    plain = PseudoInverse().reconstruct(X, [Aggregate(by=labels, mean=s)]).values
    assert np.abs(result.values - y).mean() < 0.35 * np.abs(plain - y).mean()


def test_nominal_covariates_carry_clusters_too():
    _, y, z, labels, s = planted(2)
    rng = np.random.default_rng(3)
    unit = np.where(rng.random(len(z)) < 0.95, z, rng.integers(0, 3, len(z)))
    table = pl.DataFrame({"unit": np.array(["a", "b", "c"])[unit]})
    result = Cudia(restarts=4).reconstruct(table, [Aggregate(by=labels, mean=s)], seed=1)
    assert np.corrcoef(result.values, y)[0, 1] > 0.9


def test_the_e_step_samples_the_posterior():
    """K = 2: p(π | x, s) by integration over a grid, z summed out."""
    rng = np.random.default_rng(0)
    likelihood = rng.uniform(0.2, 1.0, (6, 2))
    alpha, eta, variance, s, mass = np.array([1.2, 0.8]), np.array([-1.0, 2.0]), 0.5, np.array([0.9]), np.array([6.0])
    grid = (np.arange(20_000) + 0.5) / 20_000
    pi = np.column_stack((grid, 1 - grid))
    mu = pi @ eta
    spread = (pi @ eta**2 + variance - mu**2) / mass[0]
    log = (
        np.log(pi) @ (alpha - 1)
        + np.log(pi @ likelihood.T).sum(axis=1)
        - 0.5 * np.log(spread)
        - 0.5 * (s[0] - mu) ** 2 / spread
    )
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    chances = pi[:, None, :] * likelihood[None]
    exact_member = np.einsum("g,gik->ik", weight, chances / chances.sum(axis=2, keepdims=True))
    member, mean_pi, accepted = sample(
        likelihood, np.ones(6), np.arange(6), np.array([0, 6]), s, mass, eta, variance, alpha, np.array([[0.5, 0.5]]),
        400_000, 1000, np.random.default_rng(1),
    )  # fmt: skip
    np.testing.assert_allclose(mean_pi[0], weight @ pi, atol=0.003)
    np.testing.assert_allclose(member, exact_member, atol=0.003)
    assert 0.1 < accepted < 1


def test_the_greedy_pass_lowers_its_objective():
    rng = np.random.default_rng(0)
    fit, w, labels = rng.standard_normal((60, 3)), rng.uniform(0.5, 2, 60), np.repeat(np.arange(4), 15)
    mass, s, eta = np.bincount(labels, w), rng.standard_normal(4), np.array([-1.0, 0.0, 2.0])
    z = rng.integers(0, 3, 60)

    def objective(z):
        means = np.bincount(labels, w * eta[z]) / mass
        return -np.sum(w * fit[np.arange(60), z]) + np.sum(mass * (s - means) ** 2) / (2 * 0.7)

    values = [objective(z)]
    for _ in range(6):
        assign(fit, w, np.arange(60), np.arange(0, 61, 15), s, mass, eta, 0.7, z)
        values.append(objective(z))
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < values[0]
    for i in range(60):  # no single move helps
        for k in range(3):
            other = z.copy()
            other[i] = k
            assert objective(other) >= values[-1] - 1e-12


def test_densities_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.standard_normal((30, 2)), np.eye(3)[rng.integers(0, 3, 30)][:, 1:]))
    rows = Rows.of(X, np.zeros(4), np.ones(4), (slice(2, 4),), None)
    member = rng.dirichlet(np.ones(2), 30)
    clusters = Clusters.estimate(rows, member)
    slow = np.empty((30, 2))
    for k in range(2):
        r = member[:, k]
        mean = np.average(X[:, :2], axis=0, weights=r)
        sd = np.sqrt(np.average((X[:, :2] - mean) ** 2, axis=0, weights=r))
        level = np.where(X[:, 2] == 1, 1, np.where(X[:, 3] == 1, 2, 0))
        counts = np.array([r[level == v].sum() + 0.5 for v in range(3)])
        slow[:, k] = (-0.5 * ((X[:, :2] - mean) / sd) ** 2 - np.log(sd)).sum(axis=1) + np.log(counts / counts.sum())[
            level
        ]
    np.testing.assert_allclose(clusters.log_density(rows), slow, atol=1e-9)


def test_worth_is_a_weighted_ridge_regression():
    rng = np.random.default_rng(0)
    pi, s, mass = rng.dirichlet(np.ones(3), 12), rng.standard_normal(12), rng.uniform(1, 9, 12)
    root = np.sqrt(mass)
    stacked = np.vstack((root[:, None] * pi, np.sqrt(2.0) * np.eye(3)))
    slow = np.linalg.lstsq(stacked, np.concatenate((root * s, np.zeros(3))), rcond=None)[0]
    np.testing.assert_allclose(worth(pi, s, mass, 2.0), slow)


def test_seed_repeats_and_warnings_are_said():
    X, y, _, labels, s = planted(1, P=12, N=20)
    aggregates = [Aggregate(by=labels, mean=s, name="county")]
    quick = Cudia(iterations=4, restarts=2)
    np.testing.assert_array_equal(
        quick.reconstruct(X, aggregates, seed=5).values, quick.reconstruct(X, aggregates, seed=5).values
    )
    assert quick.reconstruct(X, aggregates).warnings == ()
    few = Cudia(components=9, iterations=2, restarts=1).reconstruct(X, aggregates).warnings
    assert any("hardly more groups" in text for text in few)
    fewer = Cudia(components=20, iterations=2, restarts=1).reconstruct(X, aggregates).warnings
    assert any("groups fewer than components" in text for text in fewer)
    other = np.arange(240) % 7
    stacked = [*aggregates, Aggregate(by=other, mean=np.bincount(other, y) / np.bincount(other))]
    assert any("'county' only" in text for text in quick.reconstruct(X, stacked).warnings)


def test_one_component_is_the_group_mean():
    X, _, _, labels, s = planted(1, P=12, N=20)
    one = Cudia(components=1, iterations=2).reconstruct(X, [Aggregate(by=labels, mean=s)]).values
    np.testing.assert_allclose(one, s[labels], atol=1e-9)


@pytest.mark.parametrize(
    "words", [{"components": 0}, {"ridge": 0}, {"variant": "soft"}, {"sweeps": 1}, {"restarts": 0}]
)
def test_wrong_parameters(words):
    with pytest.raises(ParameterError, match=next(iter(words))):
        Cudia(**words).reconstruct([1.0, 2.0], [Aggregate(by=[0, 1], mean=[1, 2])])


def test_comparisons_on_many_rows_take_fewer_draws():
    cost = [affordable(n).restarts * affordable(n).iterations * affordable(n).sweeps for n in (1000, 50_000)]
    assert cost[0] > 10 * cost[1]
    assert affordable(10**6, 2) == Cudia(components=2, restarts=1, iterations=10, variant="hard")
