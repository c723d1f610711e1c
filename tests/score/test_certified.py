"""The price of a certified model is the stated ε by OpenDP's own maps, and its fitted attributes hold noise only."""

import numpy as np
import polars as pl
import pytest

from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import noise
from shoal.score import CertifiedForest, CertifiedTree, evaluate
from shoal.score.certified_forest import number_of_features
from shoal.score.features import Features
from shoal.score.histogram import Points, calibrated, points_of
from shoal.score.splits import GINI_SENSITIVITY

SCHEMA = pima_like_schema()
TABLE = pima_like(600, seed=5)
X, Y = TABLE.drop("diabetes"), TABLE["diabetes"]


@pytest.fixture
def prices(monkeypatch):
    """Every call to noise, priced by OpenDP's map: (kind, ε for a sensitivity of 1 in each of the given tables)."""
    bill = []
    laplace, choose = noise.discrete_laplace, noise.noisy_max

    def priced_laplace(counts, scale):
        bill.append(("laplace", scale, np.shape(counts)))
        return laplace(counts, scale)

    def priced_choice(scores, sensitivity, epsilon, **rest):
        bill.append(("choice", epsilon, sensitivity))
        return choose(scores, sensitivity, epsilon, **rest)

    monkeypatch.setattr(noise, "discrete_laplace", priced_laplace)
    monkeypatch.setattr(noise, "noisy_max", priced_choice)
    return bill


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_histograms_cost_epsilon(prices, epsilon):
    CertifiedForest(epsilon, SCHEMA).fit(X, Y)
    sizes = [scale for _, scale, shape in prices if shape == (1,)]
    calibration = [scale for _, scale, shape in prices if shape == (10, 2)] if len(sizes) == 1 else []
    tables = [scale for _, scale, _ in prices[len(sizes) : len(prices) - len(calibration[-1:])]]
    assert len(set(tables)) == 1
    assert 2 <= len(tables) <= 8
    assert len(sizes) + len(calibration[-1:]) == 2  # either a second look at the size, or a calibration
    ones = [*sizes, *calibration[-1:]]
    total = noise.laplace_epsilon(tables[0], len(tables)) + sum(noise.laplace_epsilon(scale) for scale in ones)
    assert 0.999999 * epsilon < total <= epsilon * (1 + 1e-12)


def test_few_features_are_asked_where_noise_is_loud(prices):
    quiet, loud = (CertifiedForest(epsilon, SCHEMA, random_state=4).fit(X, Y) for epsilon in (50.0, 0.001))
    assert (quiet.feature_importances_ > 0).all()
    assert "not asked about" not in quiet.to_text()
    few = CertifiedForest(1.0, SCHEMA, max_features=2, cuts=4, random_state=4)
    prices.clear()
    few.fit(X, Y)
    assert [shape for _, _, shape in prices] == [(5, 2), (5, 2), (10, 2)]  # no number of records is needed
    assert noise.laplace_epsilon(prices[0][1], 2) == pytest.approx(0.96)
    asked = few.feature_importances_ > 0
    assert asked.sum() == 2
    assert few.to_text().count("not asked about") == 6
    assert np.array_equal(few.fit(X, Y).feature_importances_ > 0, asked)  # the draw repeats with random_state
    out = {name: few.features.axes[j].bounds[1] for j, name in enumerate(few.features.names) if not asked[j]}
    person = X.row(0, named=True)
    assert few.risk(person | out) == few.risk(person)
    assert loud.feature_importances_.shape == (8,)


def test_the_rule_for_features_is_public():
    cells = [5] * 8
    found = [number_of_features(0.1, n, cells) for n in (-1e9, 0, 384, 800, 1600, 1e9)]
    assert found == [2, 2, 2, 4, 8, 8]
    assert number_of_features(1.0, 384, [40] * 8) == 2  # more cells, fewer features
    assert number_of_features(1.0, 384, [2]) == 1


def test_weighted_histograms_cost_epsilon(prices):
    CertifiedForest(1.0, SCHEMA, weights={"glucose": 4.0, "mass": 2.0}).fit(X, Y)
    assert len(prices) == 10
    total = sum(noise.laplace_epsilon(scale) for _, scale, _ in prices)
    assert 0.999999 < total <= 1 + 1e-12


def test_random_trees_cost_epsilon(prices):
    CertifiedForest(1.0, SCHEMA, design="random", n_trees=7).fit(X, Y)
    scales = [scale for _, scale, _ in prices]
    assert len(scales) == 7
    assert len(set(scales)) == 1
    assert 0.999999 < noise.laplace_epsilon(scales[0], 7) <= 1.0


@pytest.mark.parametrize("depth", [1, 3])
def test_trees_cost_epsilon(prices, depth):
    tree = CertifiedTree(1.0, SCHEMA, max_depth=depth).fit(X, Y)
    choices = [entry for entry in prices if entry[0] == "choice"]
    (leaves,) = [entry for entry in prices if entry[0] == "laplace"]
    assert len(choices) == 2**depth - 1
    assert all(entry[2] == GINI_SENSITIVITY for entry in choices)
    per_level = {entry[1] for entry in choices}
    assert len(per_level) == 1  # nodes of a level share no record, so a level costs one choice
    total = depth * per_level.pop() + noise.laplace_epsilon(leaves[1])
    assert 0.999999 < total <= 1 + 1e-12
    assert tree.model_.depth == depth
    assert len(tree.model_.leaves) == 2**depth


def test_private_forest_costs_epsilon(prices):
    CertifiedForest(1.0, SCHEMA, design="private", n_trees=2, max_depth=2).fit(X, Y)
    choices = [entry[1] for entry in prices if entry[0] == "choice"]
    leaves = [entry[1] for entry in prices if entry[0] == "laplace"]
    assert len(choices) == 6
    assert len(leaves) == 2
    total = 2 * (2 * choices[0] + noise.laplace_epsilon(leaves[0]))
    assert 0.999999 < total <= 1 + 1e-12


@pytest.mark.parametrize("design", ["histogram", "random", "private"])
def test_only_released_values_are_kept(design):
    """No attribute is as long as the table, and fitting twice gives different numbers."""
    first, second = (CertifiedForest(1.0, SCHEMA, design=design, random_state=1).fit(X, Y) for _ in range(2))
    assert not np.array_equal(first.predict_proba(X), second.predict_proba(X))
    for name, value in vars(first).items():
        assert isinstance(value, list | tuple) or np.shape(value)[:1] != (600,), name
    assert not any(isinstance(value, pl.DataFrame) for value in vars(first).values())


def test_structure_never_tells_how_many_records():
    """A tree on no information at all has the same shape: stopping early would tell."""
    few = CertifiedTree(1.0, SCHEMA, max_depth=3).fit(X[:3], Y[:3])
    assert len(few.model_.leaves) == 8


def test_much_budget_gives_the_exact_counts():
    tree = CertifiedTree(1e6, SCHEMA, max_depth=2).fit(X, Y)
    leaves = tree.model_.apply(tree._codes(X))
    y = (Y == "pos").to_numpy()
    for leaf in tree.model_.leaves:
        assert tree.model_.counts[leaf].tolist() == [np.sum(~y[leaves == leaf]), np.sum(y[leaves == leaf])]


def test_it_predicts_and_is_calibrated():
    train, test = pima_like(20_000, seed=1), pima_like(5_000, seed=2)
    model = CertifiedForest(1.0, SCHEMA).fit(train.drop("diabetes"), train["diabetes"])
    found = evaluate(model.predict_proba(test.drop("diabetes"))[:, 1], (test["diabetes"] == "pos").to_numpy())
    assert found.auroc > 0.80
    assert found.calibration_error < 0.05
    assert model.features.axes[0].cuts  # cut anew by the noisy number of records
    tree = CertifiedTree(1.0, SCHEMA).fit(train.drop("diabetes"), train["diabetes"])
    found = evaluate(tree.predict_proba(test.drop("diabetes"))[:, 1], (test["diabetes"] == "pos").to_numpy())
    assert found.auroc > 0.72
    assert found.calibration_error < 0.06


def test_points_without_noise_are_log_likelihood_ratios():
    features = Features.from_words([{"name": "a", "kind": "nominal", "missing": "error", "levels": ["x", "y"]}])
    table = np.array([[9000.0, 1000.0], [1000.0, 9000.0], [0.0, 0.0]])
    points = points_of([table], [1e-6], features)
    assert points.points[0][1] - points.points[0][0] == pytest.approx(2 * np.log(9), abs=0.01)
    assert points.base == pytest.approx(0.0, abs=1e-6)


def test_calibration_moves_as_far_as_the_counts_carry_it():
    points = Points(base=0.0, points=(np.zeros(2),), shares=(np.full(2, 0.5),))
    middle = np.array([-4, -2.5, -1.6, -0.9, -0.3, 0.3, 0.9, 1.6, 2.5, 4])
    risk = 1 / (1 + np.exp(-(0.3 + 0.5 * middle)))
    loud = calibrated(points, np.column_stack([1 - risk, risk]) * 1e5, 1e-3, 1e6)
    assert loud.slope == pytest.approx(0.5, abs=0.02)
    assert loud.shift == pytest.approx(0.3, abs=0.02)
    silent = calibrated(points, np.column_stack([1 - risk, risk]) * 20, 1e6, 200.0)
    assert silent.slope == pytest.approx(0.8, abs=0.1)
    assert silent.shift == pytest.approx(0.0, abs=0.1)


def test_risks_far_out_do_not_overflow():
    points = Points(base=0.0, points=(np.array([-900.0, 900.0]),), shares=(np.full(2, 0.5),), slope=1.0)
    risks = points.risks(np.array([[0], [1]]))
    assert risks.tolist() == [points.risk([0]), points.risk([1])]
    assert 0 < risks[0] < 1e-12
    assert 1 - 1e-12 < risks[1] <= 1
