"""The two models of usefulness beside scikit-learn's, and a cut beside all cuts."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from shoal.rng import stream
from shoal.utility.learners import _best_of, forest, regression


def rows(n, n_classes, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1, 5, 1, 1, 1, 1]
    scores = X[:, :3] @ rng.normal(size=(3, n_classes)) + ((X[:, 3] > 0) * X[:, 4])[:, None] * np.arange(n_classes)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_regression_is_scikit_learns(n_classes):
    X, y = rows(800, n_classes)
    ours = regression(X[:500], np.eye(n_classes)[y[:500]], X[500:])
    scaler = StandardScaler().fit(X[:500])
    penalty = 0.5 if n_classes == 2 else 1.0  # two columns of coefficients share what one has there
    theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=2000).fit(scaler.transform(X[:500]), y[:500])
    assert ours.sum(axis=1) == pytest.approx(1)
    assert np.abs(ours - theirs.predict_proba(scaler.transform(X[500:]))).max() < 0.02


def test_ridge_is_scikit_learns():
    X, _ = rows(300, 2)
    y = X @ np.arange(6) + 3
    centre = y[:200].mean()
    scaler = StandardScaler().fit(X[:200])
    theirs = Ridge(alpha=1.0).fit(scaler.transform(X[:200]), y[:200]).predict(scaler.transform(X[200:]))
    assert regression(X[:200], (y[:200] - centre)[:, None], X[200:])[:, 0] + centre == pytest.approx(theirs)


def test_the_forest_is_as_good_as_scikit_learns():
    X, y = rows(3000, 2)
    train, test = slice(0, 2000), slice(2000, None)
    ours = forest(X[train], np.eye(2)[y[train]], X[test], stream(0, "t"))[:, 1]
    theirs = RandomForestClassifier(100, random_state=0).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert roc_auc_score(y[test], ours) > roc_auc_score(y[test], theirs) - 0.015
    z = X[:, 0] * 3 + np.sin(X[:, 2] * 3) * 2
    ours = forest(X[train], z[train][:, None], X[test], stream(0, "t"))[:, 0]
    theirs = RandomForestRegressor(100, random_state=0).fit(X[train], z[train]).predict(X[test])
    assert r2_score(z[test], ours) > r2_score(z[test], theirs) - 0.1


def test_the_best_cut_of_a_node_is_the_best_of_all():
    """Squared error before less squared error after, by the definition."""
    rng = np.random.default_rng(2)
    code, y = rng.integers(0, 6, 40), rng.integers(0, 3, 40)
    Y = np.eye(3)[y]

    def error(part):
        return ((part - part.mean(axis=0)) ** 2).sum() if len(part) else 0.0

    gains = [
        error(Y) - error(Y[code <= cut]) - error(Y[code > cut])
        if min((code <= cut).sum(), (code > cut).sum()) >= 2
        else 0.0
        for cut in range(6)
    ]
    sums = np.stack([Y[code == bin_].sum(axis=0) for bin_ in range(6)])[None]
    gain, cut = _best_of(sums, sums.sum(axis=2))
    assert gain[0] == pytest.approx(max(gains))
    assert cut[0] == int(np.argmax(gains))
