"""Outcomes of more than two classes and numeric ones, and what each value contributed to a score."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score

import shoal.score
from shoal import Schema
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import noise
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.score import CertifiedForest, CertifiedRegressor, CertifiedTree, StableTree
from shoal.score.histogram import ClassPoints
from shoal.score.splits import GINI_SENSITIVITY, gini_gain

SCHEMA = pima_like_schema()
TABLE = pima_like(600, seed=5)
KINDS = ("low", "middle", "high")
MASS = np.array(KINDS)[np.searchsorted([28.0, 34.0], TABLE["mass"].to_numpy())]
X, GLUCOSE = TABLE.drop("mass", "diabetes", "glucose"), TABLE["glucose"]
PERSON = X.row(3, named=True)

CLASSES = {
    "histogram": CertifiedForest(2.0, SCHEMA, classes=KINDS),
    "random": CertifiedForest(2.0, SCHEMA, classes=KINDS, design="random", n_trees=3, max_depth=3),
    "private": CertifiedForest(2.0, SCHEMA, classes=KINDS, design="private", n_trees=2, max_depth=2),
    "tree": CertifiedTree(2.0, SCHEMA, classes=KINDS, max_depth=3),
}
NUMBERS = {
    "histogram": CertifiedRegressor(2.0, SCHEMA),
    "random": CertifiedRegressor(2.0, SCHEMA, design="random", n_trees=3, max_depth=3),
    "private": CertifiedRegressor(2.0, SCHEMA, design="private", n_trees=2, max_depth=2),
}


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


@pytest.fixture(params=list(CLASSES))
def classes(request):
    return clone(CLASSES[request.param]).fit(X, MASS)


@pytest.fixture(params=list(NUMBERS))
def number(request):
    return clone(NUMBERS[request.param]).fit(X, GLUCOSE)


def test_more_than_two_classes(classes, tmp_path):
    P = classes.predict_proba(X)
    assert classes.classes_.tolist() == list(KINDS)
    assert P.shape == (600, 3)
    assert P.sum(axis=1) == pytest.approx(np.ones(600))
    assert (P > 0).all()
    assert (classes.predict(X) == np.array(KINDS)[P.argmax(axis=1)]).all()
    assert classes.probabilities(PERSON) == pytest.approx(dict(zip(KINDS, P[3], strict=True)))
    assert classes.risk(PERSON) == classes.answer(PERSON) == pytest.approx(P[3, 2])  # of the last class
    assert is_classifier(classes)
    classes.save(tmp_path / "model.json")
    again = shoal.score.load(tmp_path / "model.json")
    assert np.array_equal(again.predict_proba(X), P)
    assert (again.to_text(), again.claims) == (classes.to_text(), classes.claims)
    assert classes.to_svg().startswith("<svg")
    assert classes.feature_importances_.sum() == pytest.approx(1.0)


def test_numbers(number, tmp_path):
    low, high = number.bounds_
    found = number.predict(X)
    assert ((found >= low) & (found <= high)).all()
    assert number.answer(PERSON) == number.score(PERSON) == pytest.approx(found[3])
    assert is_regressor(number)
    assert (number.claims[0].value, number.claims[0].basis, number.cost.empty) == (2.0, "proved", True)
    number.save(tmp_path / "model.json")
    again = shoal.score.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), found)
    assert (again.outcome, again.bounds_) == ("glucose", number.bounds_)
    assert again.to_text() == number.to_text()
    assert not hasattr(number, "classes_")
    with pytest.raises(AttributeError):
        number.predict_proba(X)


def test_the_levels_of_the_schema_are_the_classes():
    schema = Schema.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "bounds": [0, 100]},
                "stage": {"role": "sensitive", "levels": [1, 2, 3], "kind": "ordinal"},
                "cost": {"role": "sensitive", "bounds": [0, 500]},
            }
        }
    )
    table = pl.DataFrame({"age": [10, 50, 90] * 20, "stage": ["1", "2.0", "3"] * 20, "cost": [5.0, 900.0, 7.0] * 20})
    model = CertifiedForest(50.0, schema).fit(table.select("age"), table["stage"])
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.predict(pl.DataFrame({"age": [12, 52, 88]})).tolist() == [1, 2, 3]
    costs = CertifiedRegressor(50.0, schema, design="private", n_trees=1, max_depth=3)
    assert costs.fit(table.select("age"), table["cost"]).bounds_ == (0.0, 500.0)
    assert costs.answer({"age": 50}) == pytest.approx(500.0, abs=60.0)  # 900 counts as the bound
    with pytest.raises(ParameterError, match="public bounds"):
        CertifiedRegressor(1.0, schema).fit(table.select("age"), table["cost"].to_numpy())
    for bad in (["a"] * 60, [None] * 60, [np.inf] * 60):
        with pytest.raises(InputError):
            CertifiedRegressor(1.0, schema, bounds=(0, 1)).fit(table.select("age"), np.array(bad, dtype=object))
    for bounds in ((1, 1), (0, np.inf), (2, 1)):
        with pytest.raises(ParameterError, match="bounds"):
            CertifiedRegressor(1.0, schema, bounds=bounds).fit(table.select("age"), table["cost"])


def test_much_budget_gives_the_means_of_the_leaves():
    model = CertifiedRegressor(1e7, SCHEMA, design="private", n_trees=1, max_depth=2).fit(X, GLUCOSE)
    (tree,) = model.model_
    leaves, low_high = tree.apply(model._codes(X)), model.bounds_
    for leaf in tree.leaves:
        own = GLUCOSE.to_numpy()[leaves == leaf]
        if len(own) > 30:
            row = int(np.flatnonzero(leaves == leaf)[0])
            expected = np.clip(own, *low_high).mean()
            assert model.predict(X)[row] == pytest.approx(expected, rel=0.05)
            assert tree.counts[leaf].sum() == pytest.approx(len(own), abs=1e-3)


def test_it_predicts():
    train, test = pima_like(10_000, seed=1), pima_like(3_000, seed=2)
    drop = ("glucose", "diabetes")
    model = CertifiedRegressor(1.0, SCHEMA).fit(train.drop(drop), train["glucose"])
    assert model.score(test.drop(drop), test["glucose"].to_numpy()) > 0.2  # least squares without privacy: 0.32
    cut = lambda table: np.array(KINDS)[np.searchsorted([28.0, 34.0], table["mass"].to_numpy())]  # noqa: E731
    many = CertifiedForest(1.0, SCHEMA, classes=KINDS).fit(train.drop("mass"), cut(train))
    assert (many.predict(test.drop("mass")) == cut(test)).mean() > 0.57  # regression without privacy: 0.66
    y = train["glucose"].to_numpy()[:600]
    found = cross_val_score(CertifiedRegressor(1.0, SCHEMA, bounds=(0, 250)), train.drop(drop)[:600], y, cv=2)
    assert np.isfinite(found).all()


def test_point_tables_of_classes_without_noise_are_log_likelihood_ratios():
    from shoal.score.features import Features

    features = Features.from_words([{"name": "a", "kind": "nominal", "missing": "error", "levels": ["x", "y"]}])
    table = np.array([[8000.0, 1000.0, 1000.0], [1000.0, 5000.0, 4000.0], [0.0, 0.0, 0.0]])
    points = ClassPoints.of([table], [1e-6], features)
    first = points.tables[0]
    ratio = np.log((8000 / 9000) / (2000 / 11_000)) - np.log((1000 / 9000) / (9000 / 11_000))
    assert first.points[0][0] - first.points[0][1] == pytest.approx(ratio, abs=0.01)


@settings(max_examples=200)
@given(
    counts=st.lists(st.lists(st.floats(0, 50), min_size=3, max_size=3), min_size=2, max_size=2),
    shares=st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda s: sum(s) > 0.01),
    branch=st.integers(0, 1),
)
def test_one_record_changes_the_gain_by_at_most_one_whatever_its_shares(counts, shares, branch):
    before = np.array(counts)
    after = before.copy()
    after[branch] += np.array(shares) / sum(shares)
    assert abs(gini_gain(after) - gini_gain(before)) <= GINI_SENSITIVITY


def test_the_gain_of_a_number_is_the_drop_in_squared_error():
    u = np.array([0.1, 0.4, 0.35, 0.9, 0.7])
    yes = np.array([False, False, True, True, True])
    table = np.array([[(1 - u[side]).sum(), u[side].sum()] for side in (~yes, yes)])
    error = lambda values: ((values - values.mean()) ** 2).sum()  # noqa: E731
    assert gini_gain(table) == pytest.approx(error(u) - error(u[yes]) - error(u[~yes]))


# ---- explanations


def test_contributions_add_up_to_the_score(classes):
    found = classes.explain(PERSON)
    assert found.outcome == str(classes.predict(X[3])[0])  # the likeliest
    assert found.score == pytest.approx(classes.probabilities(PERSON)[found.outcome])
    raw = {}
    for kind in KINDS:
        part = classes.explain(PERSON, kind)
        raw[kind] = logistic(part.base + sum(c.log_odds for c in part.contributions))
        assert {c.feature for c in part.contributions} <= set(X.columns)
    total = sum(raw.values())
    assert {kind: raw[kind] / total for kind in KINDS} == pytest.approx(classes.probabilities(PERSON))
    with pytest.raises(ParameterError, match="one of its 3 classes"):
        classes.explain(PERSON, "SENTINEL")


def test_contributions_to_a_number(number):
    found = number.explain(PERSON)
    low, high = number.bounds_
    share = logistic(found.base + sum(c.log_odds for c in found.contributions))
    assert (found.outcome, found.score) == ("glucose", number.answer(PERSON))
    assert low + (high - low) * share == pytest.approx(found.score)
    sizes = [abs(c.log_odds) for c in found.contributions]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("model", [CertifiedForest(1.0, SCHEMA), CertifiedTree(1.0, SCHEMA, max_depth=3)])
def test_contributions_to_a_risk_cost_nothing(model, monkeypatch):
    model.fit(X, TABLE["diabetes"])
    monkeypatch.setattr(noise, "discrete_laplace", None)  # nothing is asked of the data any more
    found = model.explain(PERSON)
    assert found.outcome == "pos"
    assert found.score == pytest.approx(model.risk(PERSON))
    assert logistic(found.base + sum(c.log_odds for c in found.contributions)) == pytest.approx(found.score)
    against = model.explain(PERSON, "neg")
    assert against.score == pytest.approx(1 - found.score)
    assert against.base == pytest.approx(-found.base)
    assert "start" in str(found)
    assert found.to_dict()["contributions"][0].keys() == {"feature", "cell", "log_odds"}


def test_published_models_explain_nothing():
    model = StableTree(schema=SCHEMA).fit(X, TABLE["diabetes"])
    with pytest.raises(GuaranteeError, match="exact counts"):
        model.explain(PERSON)


def test_measures_of_classes_and_numbers_agree_with_scikit_learn():
    from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

    from shoal.score import evaluate_classes, evaluate_numbers

    rng = np.random.default_rng(1)
    shares = rng.dirichlet([1, 1, 1], size=50)
    labels = np.array(KINDS)[rng.integers(3, size=50)]
    found = evaluate_classes(shares, KINDS, labels)
    y = np.array([KINDS.index(label) for label in labels])
    assert found.log_loss == pytest.approx(log_loss(y, shares, labels=[0, 1, 2]))
    assert found.accuracy == pytest.approx((shares.argmax(axis=1) == y).mean())
    for place, kind in enumerate(KINDS):
        assert found.auroc[kind] == pytest.approx(roc_auc_score(y == place, shares[:, place]))
    assert evaluate_classes(shares[:2], KINDS, np.array(["low", "low"])).auroc["low"] is None
    expected, came = rng.normal(size=40), rng.normal(size=40)
    numbers = evaluate_numbers(expected, came)
    assert numbers.r2 == pytest.approx(r2_score(came, expected))
    assert numbers.mae == pytest.approx(mean_absolute_error(came, expected))
    for bad in (np.array([]), np.array([np.nan] * 40)):
        with pytest.raises(InputError):
            evaluate_numbers(expected, bad)
    with pytest.raises(InputError):
        evaluate_classes(shares, KINDS, np.array(["SENTINEL"] * 50))
