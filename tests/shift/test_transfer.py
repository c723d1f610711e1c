"""Transfer weights against exact densities."""

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.errors import InputError, ParameterError
from shoal.shift import Transfer, ratio_weights, transfer_density_ratio, transfer_weights

SCHEMA = Schema.of(quasi=["x"], sensitive=["y"], kinds={"x": "ordinal", "y": "numeric"})
# p(x, y | t) on x in 0..2, y in 0..1 for two tasks, and q(x | t = 0)
P = np.array([[0.3, 0.1, 0.2, 0.1, 0.1, 0.2], [0.1, 0.2, 0.1, 0.3, 0.2, 0.1]])
P_T = np.array([0.4, 0.6])
Q = np.array([0.2, 0.3, 0.5])
X_OF = np.repeat(np.arange(3), 2)


def exact():
    p_x = np.array([P[0, i == X_OF].sum() for i in range(3)])
    out = []
    for c in range(6):
        pooled = sum(P_T[t] * P[t, c] for t in range(2))
        out.append(P[0, c] / pooled * Q[X_OF[c]] / p_x[X_OF[c]])
    return np.array(out), p_x


def test_formula():
    expected, p_x = exact()
    assert np.allclose(transfer_density_ratio(P, P_T, Q[X_OF], p_x[X_OF], 0), expected)
    # the weight carries the pool to task 0 on q: it integrates to 1 under the pool
    assert P_T @ P @ expected == pytest.approx(1)


def tables(n, seed=0):
    rng = np.random.default_rng(seed)
    cells = [rng.choice(6, int(n * share), p=p) for share, p in zip(P_T, P, strict=True)]
    frames = {
        name: pl.DataFrame({"x": X_OF[c], "y": (c % 2).astype(float)}) for name, c in zip("ab", cells, strict=True)
    }
    return frames, pl.DataFrame({"x": rng.choice(3, n, p=Q)}), cells


def test_ratio_converges_to_the_exact_weights():
    expected, _ = exact()
    tasks, new, cells = tables(200_000)
    w = transfer_weights(tasks, "a", new, SCHEMA, response_bins=2)
    assert np.allclose(w.values["a"], expected[cells[0]], rtol=0.05)
    assert np.allclose(w.values["b"], expected[cells[1]], rtol=0.05)
    # share of the weighted pool on task b: Σ p(b) p(x,y|b) w
    assert w.borrowed_share == pytest.approx(P_T[1] * P[1] @ expected, abs=0.01)


def test_weighted_risk_converges_to_the_target_risk():
    tasks, new, _ = tables(100_000, seed=1)
    w = transfer_weights(tasks, "a", new, SCHEMA, response_bins=2)
    p_y = P[0, 1::2] / np.array([P[0, i == X_OF].sum() for i in range(3)])
    target = Q @ p_y
    values = np.concatenate([w.values["a"], w.values["b"]])
    y = np.concatenate([tasks["a"]["y"].to_numpy(), tasks["b"]["y"].to_numpy()])
    assert np.average(y, weights=values) == pytest.approx(target, abs=0.01)
    assert w.effective_sample_size > w.effective_sample_size_alone


def test_one_task_is_the_plain_ratio():
    tasks, new, _ = tables(2000, seed=2)
    w = transfer_weights({"a": tasks["a"]}, "a", new, SCHEMA)
    plain = ratio_weights(tasks["a"].drop("y"), new, SCHEMA)
    assert np.allclose(w.values["a"], plain.values)
    assert w.borrowed_share == pytest.approx(0)


def test_logistic_finds_the_target_where_the_tasks_differ_without_interaction():
    rng = np.random.default_rng(3)
    n, slope = 40_000, 0.5
    x = {name: rng.choice(3, n, p=p) for name, p in (("a", [0.5, 0.3, 0.2]), ("b", [0.2, 0.3, 0.5]))}
    y = {"a": rng.normal(slope * x["a"], 1), "b": rng.normal(slope * x["b"] + 0.7, 1)}
    tasks = {name: pl.DataFrame({"x": x[name], "y": y[name]}) for name in x}
    new = pl.DataFrame({"x": rng.choice(3, n, p=[0.1, 0.2, 0.7])})
    w = transfer_weights(tasks, "a", new, SCHEMA, method="logistic")
    weights = np.concatenate([w.values["a"], w.values["b"]])
    target = slope * (0.2 + 2 * 0.7)
    assert np.average(np.concatenate([y["a"], y["b"]]), weights=weights) == pytest.approx(target, abs=0.03)
    assert w.effective_sample_size > 1.2 * w.effective_sample_size_alone


def test_bad_input():
    tasks, new, _ = tables(500)
    with pytest.raises(ParameterError, match="target must be one of the tasks"):
        transfer_weights(tasks, "c", new, SCHEMA)
    with pytest.raises(ParameterError, match="method"):
        transfer_weights(tasks, "a", new, SCHEMA, method="other")
    with pytest.raises(InputError, match="at least 30"):
        transfer_weights({"a": tasks["a"].head(5)}, "a", new, SCHEMA)
    gaps = {"a": tasks["a"].filter(pl.col("x") < 2), "b": tasks["b"]}
    with pytest.raises(InputError, match="rows of the target task"):
        transfer_weights(gaps, "a", new, SCHEMA)
    assert transfer_weights(tasks, "a", new, SCHEMA).to_dict()["target"] == "a"


def test_a_fitted_task_is_the_weighted_mean_of_its_cells():
    """Dummy coding is saturated in one column: each prediction is a weighted mean, by hand."""
    tasks, new, _ = tables(2_000, seed=3)
    for method in ("ratio", "logistic"):
        model = Transfer(method=method, response_bins=2).fit(tasks, "a", new, SCHEMA)
        w = transfer_weights(tasks, "a", new, SCHEMA, method=method, response_bins=2).values
        x, y, v = (
            np.concatenate(part) for part in zip(*((t["x"], t["y"], w[n]) for n, t in tasks.items()), strict=True)
        )
        expected = [np.average(y[x == i], weights=v[x == i]) for i in range(3)]
        assert np.allclose(model.predict(pl.DataFrame({"x": [0, 1, 2]})), expected)
        assert 0 < model.weights_.borrowed_share < 1
    pooled = Transfer(method="none").fit(tasks, "a", new, SCHEMA)
    assert pooled.weights_ is None
    assert np.allclose(pooled.predict(pl.DataFrame({"x": [1]})), y[x == 1].mean())


def test_predictions_converge_to_the_target_task():
    tasks, new, _ = tables(100_000, seed=4)
    truth = P[0, 1::2] / np.array([P[0, i == X_OF].sum() for i in range(3)])
    grid = pl.DataFrame({"x": [0, 1, 2]})
    ours = Transfer(response_bins=2).fit(tasks, "a", new, SCHEMA).predict(grid)
    pooled = Transfer(method="none").fit(tasks, "a", new, SCHEMA).predict(grid)
    assert np.abs(ours - truth).max() < 0.02
    assert np.abs(pooled - truth).max() > 0.1


def test_bad_calls():
    tasks, new, _ = tables(500)
    with pytest.raises(ParameterError, match="must come before predict"):
        Transfer().predict(new)
    with pytest.raises(ParameterError, match="target must be one"):
        Transfer().fit(tasks, "c", new, SCHEMA)
    with pytest.raises(ParameterError, match="method"):
        Transfer(method="loud").fit(tasks, "a", new, SCHEMA)
    with pytest.raises(ParameterError, match="model must be one of"):
        Transfer(model="loud").fit(tasks, "a", new, SCHEMA)
