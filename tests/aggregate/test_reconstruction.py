"""What holds for every method: aggregates match, warnings are said, bad input is refused, frames are alike."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregate import (
    Aggregate,
    Cudia,
    EcologicalRegression,
    Ludia,
    PseudoInverse,
    RidgeEcological,
    learn,
    noise_for_means,
)
from shoal.errors import ColumnError, InputError, ParameterError

METHODS = [
    PseudoInverse(),
    EcologicalRegression(),
    RidgeEcological(),
    Ludia(iterations=20),
    Cudia(iterations=3, restarts=1),
    Cudia(variant="hard", restarts=1),
]
LINEAR = METHODS[:4]
each = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{type(m).__name__}{getattr(m, 'variant', '')}")


def matches(values, labels, means, w=None):
    w = np.ones(len(values)) if w is None else w
    found = np.bincount(labels, w * values) / np.bincount(labels, w)
    np.testing.assert_allclose(found, means, rtol=1e-8, atol=1e-8)


@each
def test_aggregates_match(draw, method):
    X, y, labels, s = draw(150, 3, 9)
    result = method.reconstruct(X, [Aggregate(by=labels, mean=s)])
    matches(result.values, labels, s)
    assert result.residual < 1e-9
    assert result.method == type(method).__name__
    assert json.dumps(result.to_dict())
    assert "fallacy" in result.to_dict()["caution"]
    other = np.arange(150) % 4
    stacked = [
        Aggregate(by=labels, mean=s, name="a"),
        Aggregate(by=other, mean=np.bincount(other, y) / np.bincount(other)),
    ]
    result = method.reconstruct(X, stacked)
    matches(result.values, labels, s)
    matches(result.values, other, np.bincount(other, y) / np.bincount(other))


@each
def test_columns_are_rebuilt_as_each_alone(draw, method):
    X, y, labels, s = draw(90, 2, 6)
    other = np.bincount(labels, y**2) / np.bincount(labels)
    columns = {"y": [Aggregate(by=labels, mean=s)], "z": [Aggregate(by=labels, mean=other)]}
    found = method.reconstruct_columns(X, columns, seed=3)
    assert list(found) == ["y", "z"]
    for name, aggregates in columns.items():
        np.testing.assert_array_equal(found[name].values, method.reconstruct(X, aggregates, seed=3).values)
    with pytest.raises(ParameterError, match="name a column"):
        method.reconstruct_columns(X, {})


@given(seed=st.integers(0, 1000), p=st.integers(1, 8), m=st.integers(0, 4), weighted=st.booleans(), i=st.integers(0, 3))
def test_linear_methods_match_whatever_comes(seed, p, m, weighted, i):
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(p), rng.integers(0, p, 20)))
    X = np.column_stack((np.ones(p + 20), rng.integers(0, 3, (p + 20, m))))  # constant and repeated columns occur
    w = rng.uniform(0, 2, p + 20) + (np.arange(p + 20) < p) if weighted else None
    s = rng.standard_normal(p) * 10.0 ** rng.integers(-3, 4)
    result = LINEAR[i].reconstruct(X, [Aggregate(by=labels, mean=s)], weights=w)
    found = np.bincount(labels, w * result.values) / np.bincount(labels, w) if weighted else None
    if weighted:
        np.testing.assert_allclose(found, s, rtol=1e-6, atol=1e-6 * np.abs(s).max())
    else:
        assert result.residual < 1e-7


@each
def test_logarithm_gives_positive_values_with_the_given_means(method):
    rng = np.random.default_rng(0)
    labels, other = np.arange(300) % 12, np.arange(300) // 60
    x = rng.standard_normal((300, 2)) + 0.1 * labels[:, None]
    charge = np.exp(7 + x @ [0.5, 0.2] + 0.3 * rng.standard_normal(300))
    sets = [
        Aggregate(by=g, mean=np.bincount(g, charge) / np.bincount(g), name=str(i))
        for i, g in enumerate((labels, other))
    ]
    for k in (1, 2):
        result = method.reconstruct(x, sets[:k], log=True)
        assert (result.values > 0).all()
        matches(result.values, labels, sets[0].mean)
        assert result.residual < 1e-6
    with pytest.raises(InputError, match="greater than 0"):
        method.reconstruct(x, [Aggregate(by=labels, mean=np.arange(12) - 1.0)], log=True)


@pytest.mark.parametrize("method", [EcologicalRegression(), RidgeEcological(), Ludia(iterations=1500)])
def test_exact_recovery(method):
    """y linear in X and enough groups of different mix: nothing is left to guess."""
    rng = np.random.default_rng(1)
    labels = np.arange(200) % 10
    X = rng.standard_normal((200, 2)) + 2 * rng.standard_normal((10, 2))[labels]
    y = 4 + X @ [1.5, -0.5]
    found = method.reconstruct(X, [Aggregate(by=labels, mean=np.bincount(labels, y) / 20)])
    np.testing.assert_allclose(found.values, y, atol=1e-9 if isinstance(method, EcologicalRegression) else 0.02)
    if isinstance(method, EcologicalRegression):
        assert found.coefficients == pytest.approx({"x1": 1.5, "x2": -0.5})


@pytest.mark.parametrize("method", [*METHODS[:3], Ludia(standardise=True), *METHODS[4:]])
@pytest.mark.parametrize("p", [3, 9])
def test_units_of_covariates_do_not_matter(draw, method, p):
    X, _, labels, s = draw(100, 4, p)
    aggregate = [Aggregate(by=labels, mean=s)]
    one = method.reconstruct(X, aggregate).values
    other = method.reconstruct(X * [1e4, 1e-3, 1, 7] + [0, 1, -9, 4], aggregate).values
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("method", LINEAR[:3])
def test_whole_weights_are_repeated_rows(draw, method):
    X, y, labels, _ = draw(60, 2, 6)
    w = np.random.default_rng(3).integers(1, 4, 60)
    s = np.bincount(labels, w * y) / np.bincount(labels, w)
    again = np.repeat(np.arange(60), w)
    one = method.reconstruct(X, [Aggregate(by=labels, mean=s)], weights=w).values
    other = method.reconstruct(X[again], [Aggregate(by=labels[again], mean=s)]).values
    np.testing.assert_allclose(one[again], other, atol=1e-9)


@pytest.mark.parametrize("method", METHODS[:4])
def test_scale_of_weights_does_not_matter(draw, method):
    X, _, labels, s = draw(60, 2, 6)
    w = np.random.default_rng(3).uniform(0.1, 4, 60)
    results = [method.reconstruct(X, [Aggregate(by=labels, mean=s)], weights=c * w).values for c in (1, 20_000)]
    np.testing.assert_allclose(*results, atol=1e-9)


def test_dense_ecological_regression(draw):
    X, _, labels, s = draw(90, 3, 9)
    Z = np.array([X[labels == g].mean(axis=0) for g in range(9)])
    design = np.column_stack((np.ones(9), Z))
    for groups, c in (("equal", np.ones(9)), ("size", np.bincount(labels))):
        b = np.linalg.lstsq(np.sqrt(c)[:, None] * design, np.sqrt(c) * s, rcond=None)[0]
        found = EcologicalRegression(correct=False, groups=groups).reconstruct(X, [Aggregate(by=labels, mean=s)])
        np.testing.assert_allclose(found.values, b[0] + X @ b[1:], atol=1e-9)


@pytest.mark.parametrize("groups", ["equal", "size"])
def test_leaving_one_group_out_in_closed_form_is_leaving_it_out(draw, groups):
    X, _, labels, s = draw(90, 3, 9)
    labels = np.where(np.arange(90) < 30, 0, labels)
    Z = np.array([X[labels == g].mean(axis=0) for g in range(9)])
    Z = (Z - X.mean(axis=0)) / X.std(axis=0)
    c = np.bincount(labels) / 90 if groups == "size" else np.full(9, 1 / 9)
    share = 0.07
    centred = np.sqrt(c)[:, None] * (Z - c @ Z)
    lam = share * np.linalg.svd(centred, compute_uv=False)[0] ** 2

    def fit(keep):
        D = np.column_stack((np.ones(keep.sum()), Z[keep]))
        penalty = lam * np.diag([0.0, 1, 1, 1])
        return np.linalg.solve(D.T @ (c[keep, None] * D) + penalty, D.T @ (c[keep] * s[keep]))

    from shoal.aggregate.covariates import covariates
    from shoal.aggregate.ecological import _GroupParts
    from shoal.aggregate.problem import pose

    problem = pose(covariates(X), [Aggregate(by=labels, mean=s)])
    slow = 0.0
    for g in range(9):
        b = fit(np.arange(9) != g)
        slow += c[g] * (s[g] - b[0] - Z[g] @ b[1:]) ** 2
    assert _GroupParts.of(problem, groups).left_out(share) * problem.scale**2 == pytest.approx(slow)
    full = fit(np.ones(9, dtype=bool))
    found = RidgeEcological(penalty=share, correct=False, groups=groups).reconstruct(X, [Aggregate(by=labels, mean=s)])
    np.testing.assert_allclose(found.values, full[0] + (X - X.mean(axis=0)) / X.std(axis=0) @ full[1:], atol=1e-9)


def test_ridge_goes_from_regression_to_group_means(draw):
    X, _, labels, s = draw(90, 3, 9)
    aggregate = [Aggregate(by=labels, mean=s)]
    free = RidgeEcological(penalty=0).reconstruct(X, aggregate).values
    np.testing.assert_allclose(free, EcologicalRegression().reconstruct(X, aggregate).values, atol=1e-9)
    bound = RidgeEcological(penalty=1e12).reconstruct(X, aggregate).values
    np.testing.assert_allclose(bound, PseudoInverse().reconstruct(X, aggregate).values, atol=1e-6)
    chosen = RidgeEcological().reconstruct(X, aggregate)
    assert chosen.details["leave_one_out_error"] >= 0
    noise = np.random.default_rng(0).standard_normal((90, 8))
    lost = RidgeEcological().reconstruct(
        noise, [Aggregate(by=labels, mean=np.random.default_rng(5).standard_normal(9))]
    )
    assert np.isfinite(lost.values).all()


@each
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("few groups", "fewer groups than covariates"),
        ("one group", "one group only"),
        ("constant", "without variation"),
        ("all constant", "no covariate varies"),
        ("few rows", "fewer rows than covariates"),
        ("small groups", "fewer than 5 rows"),
    ],
)
def test_warnings(draw, method, case, said):
    X, y, labels, _ = draw(60, 3, 6)
    X, labels, rows = {
        "few groups": (X, labels % 2, 60),
        "one group": (X, labels * 0, 60),
        "constant": (np.column_stack((X, np.ones(60))), labels, 60),
        "all constant": (np.ones((60, 2)), labels, 60),
        "few rows": (X[:3], np.array([0, 1, 1]), 3),
        "small groups": (X, np.where(np.arange(60) < 2, 6, labels), 60),
    }[case]
    s = np.bincount(labels, y[:rows]) / np.bincount(labels)
    result = method.reconstruct(X, [Aggregate(by=labels, mean=s)])
    assert any(said in text for text in result.warnings), result.warnings
    assert np.isfinite(result.values).all()
    matches(result.values, labels, s)


def test_no_warning_where_all_is_well(draw):
    X, _, labels, s = draw(200, 2, 10)
    for method in METHODS[:4]:
        assert method.reconstruct(X, [Aggregate(by=labels, mean=s)]).warnings == ()


def test_stacked_sets_that_contradict_add_nothing_or_differ_in_unit(draw):
    X, y, labels, s = draw(120, 2, 8)
    halves = labels // 4
    t = np.bincount(halves, y) / np.bincount(halves)

    def said(mean, by=halves):
        sets = [Aggregate(by=labels, mean=s, name="county"), Aggregate(by=by, mean=mean, name="state")]
        return " ".join(RidgeEcological().reconstruct(X, sets).warnings)

    assert "'state' adds nothing" in said(t)
    assert "contradict" not in said(t)
    assert "contradict" in said(t + np.arange(2))
    assert "units" in said(1000 * t)
    crossed = np.arange(120) % 5
    assert said(np.bincount(crossed, y) / 24, crossed) == ""
    one = [Aggregate(by=labels, mean=np.where(np.arange(8) == 3, 1000, 1) * (3 + s**2))]
    assert any("units" in text for text in PseudoInverse().reconstruct(X, one).warnings)


def test_nested_sets_change_nothing_and_crossed_ones_help(draw):
    X, y, labels, s = draw(400, 2, 8, noise=1.0, effect=1.0)
    fine = [Aggregate(by=labels, mean=s, name="fine")]

    def error(*more):
        sets = [*fine, *(Aggregate(by=g, mean=np.bincount(g, y) / np.bincount(g), name="x") for g in more)]
        return np.mean((PseudoInverse().reconstruct(X, sets).values - y) ** 2)

    assert error(labels // 2) == pytest.approx(error())
    assert error(np.digitize(X[:, 0], [0, 1, 2])) < error()


def test_any_dataframe_with_texts_and_gaps(make_frame):
    table = pl.DataFrame(
        {
            "age": [30, 40, 50, 60, 35, 45] * 4,
            "sex": ["f", "m", "f", None, "m", "f"] * 4,
            "smokes": [True, False, False, True, True, False] * 4,
        }
    )
    dummies = np.column_stack(
        [table["age"], table["sex"].fill_null("z") == "m", table["sex"].is_null(), table["smokes"]]
    )
    labels = np.arange(24) % 7
    s = np.arange(7) ** 1.5
    one = RidgeEcological(penalty=0.1).reconstruct(make_frame(table), [Aggregate(by=labels, mean=s)])
    other = RidgeEcological(penalty=0.1).reconstruct(dummies.astype(float), [Aggregate(by=labels, mean=s)])
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    assert list(one.coefficients) == ["age", "sex = m", "sex = missing", "smokes = true"]


@each
def test_missing_numbers_are_refused(draw, method):
    X, _, labels, s = draw()
    for bad in (np.nan, np.inf):
        X[3, 1] = bad
        with pytest.raises(ColumnError, match="'x2'.*1 missing"):
            method.reconstruct(X, [Aggregate(by=labels, mean=s)])


@pytest.mark.parametrize("X", [np.empty((0, 2)), np.zeros((2, 2, 2)), [["a"], ["b"]], "file.csv", np.empty((3, 0))])
def test_bad_covariates(X):
    with pytest.raises(InputError):
        PseudoInverse().reconstruct(X, [Aggregate(by=[0], mean=[1.0])])


@pytest.mark.parametrize("weights", [[1, 2], [1, -1, 1], [0, 0, 0], [1, np.nan, 1], [1, 0, 0]])
def test_bad_weights(weights):
    with pytest.raises(InputError, match="weights"):
        PseudoInverse().reconstruct([1.0, 2.0, 3.0], [Aggregate(by=[0, 1, 1], mean=[1, 2])], weights=weights)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_bad_seed(seed):
    with pytest.raises(ParameterError, match="seed"):
        PseudoInverse().reconstruct([1.0, 2.0], [Aggregate(by=[0, 1], mean=[1, 2])], seed=seed)


def test_input_is_untouched(draw):
    X, _, labels, s = draw()
    before = X.copy(), labels.copy(), s.copy()
    for method in METHODS:
        method.reconstruct(X, [Aggregate(by=labels, mean=s)])
    for now, then in zip((X, labels, s), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_learning_on_reconstructed_targets():
    from sklearn.linear_model import Lasso, LinearRegression

    rng = np.random.default_rng(0)
    labels = np.arange(300) % 15
    table = pl.DataFrame(
        {"x": rng.standard_normal(300) + labels / 5, "unit": np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]}
    )
    y = 2 + 3 * table["x"].to_numpy() + 4 * (table["unit"] == "b").to_numpy()
    aggregates = [Aggregate(by=labels, mean=np.bincount(labels, y) / 20)]
    learnt = learn(LinearRegression(), table, aggregates, method=EcologicalRegression())
    new = pl.DataFrame({"unit": ["b", "a", "unheard of"], "x": [1.0, 0.0, 0.0]})
    np.testing.assert_allclose(learnt.predict(new), [9, 2, 2], atol=1e-8)
    model = Lasso(alpha=0.01)
    assert learn(model, table, aggregates, method=RidgeEcological(), weights=np.ones(300)).model is not model
    with pytest.raises(InputError, match="missing"):
        learnt.predict(new.drop("x"))
    with pytest.raises(ColumnError, match="numbers"):
        learnt.predict(pl.DataFrame({"x": ["1"], "unit": ["a"]}))
    with pytest.raises(ParameterError, match="fit and predict"):
        learn("lasso", table, aggregates, method=RidgeEcological())


def test_noise_is_the_sensitivity_over_epsilon():
    for epsilon, size, width in ((1.0, 50, 100.0), (0.1, 7, 3.0)):
        advice = noise_for_means(epsilon=epsilon, size=size, bounds=(-1, width - 1))
        assert advice.scale == pytest.approx(width / (size * epsilon), rel=1e-6)
        assert advice.scale >= width / (size * epsilon) * (1 - 1e-12)  # never less than the theorem asks for
        assert advice.to_dict()["share"] == pytest.approx(1 / (size * epsilon), rel=1e-6)
    assert noise_for_means(epsilon=1, size=10, bounds=(0, 1), n_sets=3).scale == pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize(
    "words",
    [{"epsilon": 0}, {"epsilon": np.nan}, {"size": 0}, {"bounds": (1, 1)}, {"bounds": (0, np.inf)}, {"n_sets": 0}],
)
def test_noise_with_wrong_words(words):
    with pytest.raises(ParameterError):
        noise_for_means(**({"epsilon": 1.0, "size": 10, "bounds": (0, 1)} | words))
