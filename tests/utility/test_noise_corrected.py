"""Slopes with known noise taken out: by formula, over many draws, and after AddNoise itself."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, InputError, ParameterError
from shoal.mask.add_noise import noisy
from shoal.utility import noise_corrected
from shoal.utility.noise_corrected import slopes

BETA = np.array([2.0, -1.0, 0.5])


def people(n, rng):
    """Three tied covariates, of which the first two will get noise."""
    z = rng.normal(size=(n, 3))
    X = np.column_stack([z[:, 0], 0.6 * z[:, 0] + z[:, 1], 0.5 * z[:, 1] + z[:, 2]])
    return X, X @ BETA + rng.normal(size=n)


@pytest.mark.parametrize("kind", ["additive", "correlated", "kept"])
def test_slopes_come_back_and_intervals_cover(kind):
    """200 draws: the mean is within four standard errors of the truth, 95 % intervals cover in 90 to 99 %."""
    rng = np.random.default_rng(1)
    at = np.array([True, True, False])
    found, inside, plain = [], [], []
    for _ in range(200):
        X, y = people(600, rng)
        X[:, :2] = noisy(X[:, :2], 0.5, kind, rng.normal(size=(600, 2)))
        raw, beta, error = slopes(X, y, at, 0.5, kind)
        found.append(beta)
        plain.append(raw)
        inside.append(np.abs(beta - BETA) < 1.96 * error)
    spread = np.std(found, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(found, axis=0) - BETA) < 4 * spread).all()
    assert np.abs(np.mean(plain, axis=0) - BETA).max() > 0.2
    assert ((np.mean(inside, axis=0) > 0.9) & (np.mean(inside, axis=0) < 0.99)).all()


def test_one_covariate_by_hand():
    """Additive noise of ratio c on one covariate: the slope is 1 + c² times the plain one, whatever the data."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    found = noise_corrected(table, "y", ["x"], noisy=["x"], ratio=0.4)["x"]
    assert found.corrected == pytest.approx(1.16 * found.plain)
    assert found.plain == pytest.approx(np.polyfit(table["x"], table["y"], 1)[0])


def test_after_the_mask_itself():
    rng = np.random.default_rng(3)
    n = 3000
    days, unit = rng.normal(10, 3, n), rng.integers(0, 2, n)
    table = pl.DataFrame(
        {"days": days, "unit": np.array(["ward", "icu"])[unit], "cost": 5 * days - 8 * unit + rng.normal(size=n)}
    )
    schema = shoal.Schema.of(quasi=["days", "unit"], sensitive=["cost"])
    mask = shoal.AddNoise(columns=["days"], ratio=0.6, kind="additive")
    release = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=mask, seed=1)
    found = noise_corrected(release.table, "cost", ["days", "unit"], noisy=["days"], ratio=0.6)
    low, high = found["days"].interval
    assert low < 5 < high
    assert found["days"].plain < low
    assert found["unit[1]"].corrected == pytest.approx(8, abs=1.5)
    assert found.to_dict()["n_left_out"] == 0


def test_missing_numbers_are_left_out_and_counted():
    rng = np.random.default_rng(4)
    x = rng.normal(size=100)
    table = pl.DataFrame({"x": [None, *x[1:]], "y": x})
    found = noise_corrected(table, "y", ["x"], noisy=["x"], ratio=0.1)
    assert (found.n_rows, found.n_left_out) == (99, 1)


def test_what_can_not_be_corrected_is_refused():
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    table = pl.DataFrame({"x": x, "copy": x, "flat": 1.0, "said": "a", "y": x})
    with pytest.raises(InputError, match="more than their noise"):
        noise_corrected(table, "y", ["x", "copy"], noisy=["x"], ratio=0.5)
    with pytest.raises(InputError, match="more than their noise"):
        noise_corrected(table, "y", ["x", "flat"], noisy=["x"], ratio=0.5)
    with pytest.raises(ParameterError, match="below 1 for kind"):
        noise_corrected(table, "y", ["x"], noisy=["x"], ratio=1.5, kind="kept")
    with pytest.raises(ParameterError, match="noisy must name"):
        noise_corrected(table, "y", ["x"], noisy=["y"], ratio=0.5)
    with pytest.raises(ParameterError, match="other than the target"):
        noise_corrected(table, "y", ["y"], noisy=["y"], ratio=0.5)
    with pytest.raises(ColumnError, match="numeric"):
        noise_corrected(table, "said", ["x"], noisy=["x"], ratio=0.5)
    with pytest.raises(InputError, match="more rows"):
        noise_corrected(table.head(2), "y", ["x"], noisy=["x"], ratio=0.5)
