"""LUDIA: the Gram form against the dense Kronecker form, the descent, the erratum, and what is told about it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregate import Aggregate, EcologicalRegression, Ludia, PseudoInverse
from shoal.aggregate.covariates import covariates
from shoal.aggregate.ludia import _start, _sums, iterate, objective
from shoal.aggregate.problem import pose
from shoal.errors import ParameterError
from shoal.rng import stream


def posed(X, *sets, weights=None):
    return pose(
        covariates(X), [Aggregate(by=by, mean=mean, name=f"set {i}") for i, (by, mean) in enumerate(sets)], weights
    )


def gram_states(problem, rounds, r, kind="mean"):
    sums, unit = _sums([problem], False)
    state = _start(kind, [problem], sums, unit, r, stream(0, "test"))
    states = [state]
    for _ in range(rounds):
        states.append(iterate(sums, states[-1]))
    return sums, states


def rows_of(problem, state, A, X1):
    return X1 @ state.M + A.T @ problem.spectrum.back(state.N)


@pytest.mark.parametrize(("n", "m", "p", "r", "rounds"), [(300, 2, 6, 3, 3), (60, 3, 5, 4, 12), (40, 2, 4, 2, 25)])
def test_dense_kronecker_rows_and_sums_agree(oracle, draw, n, m, p, r, rounds):
    X, _, labels, s = draw(n, m, p, seed=n)
    problem = posed(X, (labels, s))
    X1, A = np.column_stack((np.ones(n), X)), oracle.averaging(labels)
    sums, states = gram_states(problem, rounds, r)
    dense = rows = oracle.start(X1, A, problem.s, r)
    for state in states[1:]:
        dense = oracle.kronecker_round(X1, A, problem.s, *dense)
        rows = oracle.row_round(X1, A, problem.s, *rows)
        ours = rows_of(problem, state, A, X1) @ state.Vy[:, 0]
        np.testing.assert_allclose(ours, dense[0] @ dense[2], atol=1e-9, rtol=1e-9)
        np.testing.assert_allclose(ours, rows[0] @ rows[2], atol=1e-9, rtol=1e-9)
        assert objective(sums, state) == pytest.approx(oracle.objective(X1, A, problem.s, *dense), rel=1e-8, abs=1e-9)


def test_the_class_is_the_dense_form_with_its_correction(oracle, draw):
    X, _, labels, s = draw(90, 2, 7, seed=3)
    problem = posed(X, (labels, s))
    X1, A = np.column_stack((np.ones(90), X)), oracle.averaging(labels)
    dense = oracle.start(X1, A, problem.s, 3)
    for _ in range(10):
        dense = oracle.kronecker_round(X1, A, problem.s, *dense)
    plain = dense[0] @ dense[2]
    corrected = plain + np.linalg.pinv(A) @ (problem.s - A @ plain)
    got = Ludia(iterations=10, standardise=False).reconstruct(X, [Aggregate(by=labels, mean=s)])
    raw = Ludia(iterations=10, standardise=False, correct=False).reconstruct(X, [Aggregate(by=labels, mean=s)])
    np.testing.assert_allclose(got.values, problem.centre + problem.scale * corrected, atol=1e-9)
    np.testing.assert_allclose(raw.values, problem.centre + problem.scale * plain, atol=1e-9)
    assert len(got.trace) == 11


def test_stacked_sets_agree_with_the_dense_form(oracle, draw):
    X, y, labels, s = draw(80, 2, 5, seed=4)
    other = np.arange(80) % 3
    t = np.bincount(other, y) / np.bincount(other)
    problem = posed(X, (labels, s), (other, t))
    A = np.vstack((oracle.averaging(labels), oracle.averaging(other)))
    assert len(problem.spectrum.sigma) == 7  # 5 + 3 groups, which depend on each other once
    X1 = np.column_stack((np.ones(80), X))
    _, states = gram_states(problem, 6, 3)
    dense = oracle.start(X1, A, problem.s, 3)
    for state in states[1:]:
        dense = oracle.kronecker_round(X1, A, problem.s, *dense)
        np.testing.assert_allclose(rows_of(problem, state, A, X1) @ state.Vy[:, 0], dense[0] @ dense[2], atol=1e-8)
    result = Ludia().reconstruct(X, [Aggregate(by=labels, mean=s), Aggregate(by=other, mean=t)])
    np.testing.assert_allclose(A @ result.values, np.concatenate((s, t)), atol=1e-9)


def test_weights_are_the_dense_form_on_weighted_rows(oracle, draw):
    X, y, labels, _ = draw(70, 2, 5, seed=5)
    w = np.random.default_rng(1).uniform(0.2, 3, 70)
    s = np.bincount(labels, w * y) / np.bincount(labels, w)
    problem = posed(X, (labels, s), weights=w)
    w = w / w.mean()
    A = oracle.averaging(labels, w)
    root = np.sqrt(w)
    X1, At = root[:, None] * np.column_stack((np.ones(70), X)), A / root
    dense = oracle.start(X1, At, problem.s, 3)
    for _ in range(8):
        dense = oracle.kronecker_round(X1, At, problem.s, *dense)
    plain = dense[0] @ dense[2] / root
    got = Ludia(iterations=8, standardise=False, correct=False).reconstruct(
        X, [Aggregate(by=labels, mean=s)], weights=17 * w
    )
    np.testing.assert_allclose(got.values, problem.centre + problem.scale * plain, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 4),
    p=st.integers(2, 9),
    start=st.sampled_from(["mean", "ecological", "random"]),
    standardise=st.booleans(),
)
def test_the_objective_never_increases(seed, m, p, start, standardise):
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(p), rng.integers(0, p, 40)))
    X = rng.standard_normal((p + 40, m)) * rng.uniform(0.1, 10, m)
    s = rng.standard_normal(p)
    ludia = Ludia(iterations=60, start=start, standardise=standardise)
    trace = np.array(ludia.reconstruct(X, [Aggregate(by=labels, mean=s)], seed=seed).trace)
    if start == "random":
        trace = trace[1:]  # the start has no U yet
    assert (np.diff(trace) <= 1e-9 * np.sum(X**2) / X.var() + 1e-9 * trace[0]).all()


def test_the_misprint_of_v_y_raises_the_objective(oracle, draw):
    """Algorithm 2 prints AAᵀ where W = (AAᵀ)⁻¹ belongs."""
    raised = 0
    for seed in range(10):
        X, _, labels, s = draw(50, 2, 5, seed=seed)
        labels = np.where(np.arange(50) < 20, 0, labels)  # groups of different sizes, or the two are the same
        y = np.random.default_rng(seed).standard_normal(50)
        s = np.bincount(labels, y) / np.bincount(labels)
        X1, A = np.column_stack((np.ones(50), X)), oracle.averaging(labels)
        state = oracle.start(X1, A, s, 3)
        right = oracle.kronecker_round(X1, A, s, *state)
        wrong = oracle.kronecker_round(X1, A, s, *state, misprint=True)
        raised += oracle.objective(X1, A, s, *wrong) > oracle.objective(X1, A, s, *right)
    assert raised == 10


def test_the_misprint_makes_the_objective_climb_on_a_kept_example(oracle):
    rng = np.random.default_rng(7)
    labels = np.repeat(np.arange(5), [30, 2, 2, 6, 2])
    X1 = np.column_stack((np.ones(42), rng.standard_normal((42, 2))))
    s = 0.3 * rng.standard_normal(5)
    A = oracle.averaging(labels)
    state = oracle.start(X1, A, s, 3)
    before = oracle.objective(X1, A, s, *state)
    assert oracle.objective(X1, A, s, *oracle.kronecker_round(X1, A, s, *state)) < before
    assert oracle.objective(X1, A, s, *oracle.kronecker_round(X1, A, s, *state, misprint=True)) > 10 * before


def test_the_minimum_knows_nothing(oracle, draw):
    """E3: for every b the objective goes to 0 as c does."""
    X, _, labels, s = draw(60, 2, 5)
    A = oracle.averaging(labels)
    for b in (np.array([5.0, -3.0]), np.array([0.1, 40.0])):
        values = []
        for c in (1.0, 1e-2, 1e-4):
            vy = b / c
            Pi = c * A @ X + np.outer(s - A @ X @ b, vy) / (vy @ vy)
            values.append(oracle.objective(X, A, s, c * X, np.eye(2) / c, vy, Pi))
        assert values[0] > values[1] > values[2]
        assert values[2] < 1e-6


def test_iterations_lead_from_group_means_towards_regression():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(40), 25)
    X = rng.standard_normal((1000, 2)) + rng.standard_normal((40, 2))[labels]
    y = 1 + X @ [1.0, -2.0] + 0.1 * rng.standard_normal(1000)
    aggregate = [Aggregate(by=labels, mean=np.bincount(labels, y) / 25)]
    regression = EcologicalRegression().reconstruct(X, aggregate).values
    apart = [
        np.abs(Ludia(iterations=i).reconstruct(X, aggregate).values - regression).mean() for i in (1, 20, 200, 800)
    ]
    means = np.abs(PseudoInverse().reconstruct(X, aggregate).values - regression).mean()
    assert means > apart[0] > apart[1] > apart[2] > apart[3]
    assert apart[3] < 0.1 * apart[0]


def test_random_intercepts_are_the_correction(draw):
    X, _, labels, s = draw(100, 3, 6)
    aggregate = [Aggregate(by=labels, mean=s)]
    plain = Ludia().reconstruct(X, aggregate)
    effects = Ludia(intercepts=True, correct=False).reconstruct(X, aggregate)
    np.testing.assert_allclose(effects.values, plain.values, atol=1e-12)
    assert len(effects.details["effects"]["intercept"]) == 6
    both = Ludia(intercepts=True).reconstruct(X, aggregate)
    np.testing.assert_allclose(both.values, plain.values, atol=1e-12)


@pytest.mark.parametrize("stacked", [False, True])
def test_random_slopes_are_the_shortest_that_fit(oracle, draw, stacked):
    X, y, labels, s = draw(90, 2, 5, seed=8)
    sets = [Aggregate(by=labels, mean=s)]
    A = oracle.averaging(labels)
    if stacked:
        other = np.arange(90) % 2
        sets.append(Aggregate(by=other, mean=np.bincount(other, y) / 45, name="other"))
        A = np.vstack((A, oracle.averaging(other)))
    goal = np.concatenate([aggregate.mean for aggregate in sets])
    plain = Ludia(correct=False).reconstruct(X, sets).values
    got = Ludia(correct=False, intercepts=True, slopes=["x1"]).reconstruct(X, sets)
    z = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    member = (labels[:, None] == np.arange(5)).astype(float)
    G = np.stack((member, member * z[:, None]), axis=2).reshape(90, 10)
    v = np.linalg.pinv(A @ G, rcond=1e-10) @ (goal - A @ plain)
    np.testing.assert_allclose(got.values, plain + G @ v, atol=1e-8)
    assert any("not identified" in text for text in got.warnings)
    with pytest.raises(ParameterError, match="covariates of X"):
        Ludia(slopes=["age"]).reconstruct(X, sets)


def test_standardised_covariates_make_units_irrelevant(draw):
    X, _, labels, s = draw()
    aggregate = [Aggregate(by=labels, mean=s)]
    scaled = X * [1000, 0.01, 1] + [5, 0, -3]
    same = Ludia()
    np.testing.assert_allclose(
        same.reconstruct(X, aggregate).values, same.reconstruct(scaled, aggregate).values, atol=1e-7
    )
    given_as_is = Ludia(standardise=False)
    assert not np.allclose(
        given_as_is.reconstruct(X, aggregate).values, given_as_is.reconstruct(scaled, aggregate).values
    )


def test_units_of_y_are_irrelevant(draw):
    X, _, labels, s = draw()
    one = Ludia().reconstruct(X, [Aggregate(by=labels, mean=s)]).values
    other = Ludia().reconstruct(X, [Aggregate(by=labels, mean=1000 * s - 40)]).values
    np.testing.assert_allclose(other, 1000 * one - 40, rtol=1e-9, atol=1e-6)


def test_rank_is_said_and_bounded(draw):
    X, _, labels, s = draw(100, 3, 8)
    aggregate = [Aggregate(by=labels, mean=s)]
    assert Ludia().reconstruct(X, aggregate).details["rank"] == 4
    assert Ludia().reconstruct(np.column_stack((X, X @ [1, 2, 3])), aggregate).details["rank"] == 4
    assert Ludia(rank=2).reconstruct(X, aggregate).details["rank"] == 2
    assert any("rank 9" in text for text in Ludia(rank=9).reconstruct(X, aggregate).warnings)
    few = Ludia().reconstruct(X, [Aggregate(by=labels % 2, mean=[1.0, 2.0])])
    assert any("minimum norm" in text for text in few.warnings)
    assert np.isfinite(few.values).all()


def test_starts(draw):
    X, _, labels, s = draw(200, 2, 10)
    aggregate = [Aggregate(by=labels, mean=s)]
    zero = Ludia(iterations=0, start="ecological", correct=False, rank=3).reconstruct(X, aggregate).values
    np.testing.assert_allclose(zero, EcologicalRegression(correct=False).reconstruct(X, aggregate).values, atol=1e-8)
    draws = [Ludia(start="random").reconstruct(X, aggregate, seed=seed).values for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.allclose(draws[0], draws[2])


@pytest.mark.parametrize("words", [{"iterations": -1}, {"rank": 0}, {"start": "svd"}, {"correct": 1}, {"slopes": "x1"}])
def test_wrong_parameters(draw, words):
    X, _, labels, s = draw()
    with pytest.raises(ParameterError, match=next(iter(words))):
        Ludia(**words).reconstruct(X, [Aggregate(by=labels, mean=s)])


def test_many_iterations_stay_finite(draw):
    X, _, labels, s = draw(60, 3, 4)
    result = Ludia(iterations=1000).reconstruct(X, [Aggregate(by=labels, mean=s)])
    assert np.isfinite(result.values).all()
    assert result.residual < 1e-9


def test_as_printed_beside_the_dense_algorithm(oracle, draw):
    """Algorithm 2 row by row: no intercept, X and y as given, AAᵀ in the line of v_y."""
    X, _, labels, s = draw(60, 2, 6, seed=8)
    A = oracle.averaging(labels)
    U, Pi, Vx, vy = _printed_start(X, A, s, 2)
    for _ in range(4):
        left = np.kron(Vx.T @ Vx, np.eye(60)) + np.kron(np.eye(2), A.T @ A)
        U = np.linalg.solve(left, (X @ Vx + A.T @ Pi).T.ravel()).reshape(2, 60).T
        W = np.linalg.inv(A @ A.T)
        left = np.eye(12) + np.kron(np.outer(vy, vy), W)
        Pi = np.linalg.solve(left, (np.outer(W @ s, vy) + A @ U).T.ravel()).reshape(2, 6).T
        Vx = X.T @ U @ np.linalg.inv(U.T @ U)
        vy = np.linalg.solve(Pi.T @ A @ A.T @ Pi, Pi.T @ A @ A.T @ s)
    got = Ludia(iterations=4, printed=True, correct=False).reconstruct(X, [Aggregate(by=labels, mean=s)])
    np.testing.assert_allclose(got.values, U @ vy, rtol=1e-6, atol=1e-8)


def _printed_start(X, A, s, r):
    left, d, right = np.linalg.svd(np.column_stack((X, np.linalg.pinv(A) @ s)), full_matrices=False)
    U, V = left[:, :r] * np.sqrt(d[:r]), right[:r].T * np.sqrt(d[:r])
    return U, A @ U, V[:-1], V[-1]


def test_several_columns_share_their_factors(oracle, draw):
    """Algorithm 2 with V_y of d columns in place of v_y, densely; each column centred and scaled on its own."""
    X, y, labels, s = draw(60, 2, 6, seed=9)
    other = np.bincount(labels, y**2 + X[:, 0]) / np.bincount(labels)
    problems = [posed(X, (labels, means)) for means in (s, other)]
    S = np.column_stack([problem.s for problem in problems])
    X1, A = np.column_stack((np.ones(60), X)), oracle.averaging(labels)
    left, d, right = np.linalg.svd(np.column_stack((X1, np.linalg.pinv(A) @ S)), full_matrices=False)
    U, Vx, Vy = left[:, :3] * np.sqrt(d[:3]), right[:3, :3].T * np.sqrt(d[:3]), right[:3, 3:] * np.sqrt(d[:3])[:, None]
    Pi, W = A @ U, np.linalg.inv(A @ A.T)
    for _ in range(7):
        U = np.linalg.solve(
            np.kron(Vx.T @ Vx, np.eye(60)) + np.kron(np.eye(3), A.T @ A), (X1 @ Vx + A.T @ Pi).T.ravel()
        ).reshape(3, 60).T  # fmt: skip
        Pi = np.linalg.solve(np.eye(18) + np.kron(Vy @ Vy.T, W), (W @ S @ Vy.T + A @ U).T.ravel()).reshape(3, 6).T
        Vx = X1.T @ U @ np.linalg.inv(U.T @ U)
        Vy = np.linalg.solve(Pi.T @ W @ Pi, Pi.T @ W @ S)
    columns = {"y": [Aggregate(by=labels, mean=s)], "z": [Aggregate(by=labels, mean=other)]}
    found = Ludia(iterations=7, standardise=False, correct=False, shared=True).reconstruct_columns(X, columns)
    for j, (name, problem) in enumerate(zip(columns, problems, strict=True)):
        np.testing.assert_allclose(found[name].values, problem.original((U @ Vy)[:, j]), rtol=1e-7, atol=1e-8)
    alone = Ludia(iterations=7, standardise=False, correct=False).reconstruct(X, columns["y"])
    assert not np.allclose(alone.values, found["y"].values)


def test_columns_of_different_groups_are_not_factorised_together(draw):
    X, _, labels, s = draw()
    columns = {"y": [Aggregate(by=labels, mean=s)], "z": [Aggregate(by=np.arange(len(X)) % 2, mean=[1.0, 2.0])]}
    with pytest.raises(ParameterError, match="same groups"):
        Ludia(shared=True).reconstruct_columns(X, columns)
    with pytest.raises(ParameterError, match="exclude"):
        Ludia(shared=True, printed=True).reconstruct_columns(X, columns)
    assert EcologicalRegression().reconstruct_columns(X, columns)["z"].residual < 1e-9
