"""The ends of the range: what can't be done is refused before anything is charged, and nothing wraps around."""

import math

import numpy as np
import polars as pl
import pytest

from shoal import ParameterError, Schema
from shoal.dp import Account, Budget
from shoal.synth import MarginalBootstrap, PeGS, PerturbedImputation
from shoal.synth.exact_draws import GRAIN, check_weights, virtual_records
from shoal.synth.spend import Purse, _laplace_variance, total_budget

NAMES = ["a", "b", "c", "d"]
SCHEMA = Schema.of(quasi=NAMES, levels={name: range(60) for name in NAMES})


def table(n=200):
    rng = np.random.default_rng(1)
    return pl.DataFrame({name: rng.integers(0, 60, n) for name in NAMES})


def account(folder):
    data = folder / "data.csv"
    table().write_csv(data)
    return Account.open(data, limit=Budget(epsilon=10, delta=1e-6))


@pytest.mark.parametrize(
    "method",
    [
        PeGS(design="conditionals", choose="given", parents={"a": ["b", "c", "d"]}),
        PeGS(scope="sample", choose="given", parents={"a": ["b", "c", "d"]}),
        PeGS(epsilon=1e-15),
        PeGS(epsilon=1e-15, scope="sample"),
        PeGS(epsilon=1e-300, delta=1e-300),
        MarginalBootstrap(epsilon=1e-15),
        PerturbedImputation(epsilon=1e-15),
    ],
    ids=lambda method: f"{type(method).__name__}-{method.epsilon:g}",
)
def test_what_is_refused_is_not_charged(method, tmp_path):
    book = account(tmp_path)
    with pytest.raises(ParameterError):
        method.fit(table(), SCHEMA, account=book)
    assert book.spent.empty
    assert not book.entries


@pytest.mark.parametrize("epsilon", [1e-9, 1e5, 1e300])
def test_the_ends_of_pure_epsilon(epsilon):
    rows = PeGS(epsilon=epsilon).fit(table().select("a", "b"), _two()).sample(30)
    assert rows.shape == (30, 2)


def _two():
    return Schema.of(quasi=["a", "b"], levels={"a": range(60), "b": range(60)})


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0, 1e3])
def test_variance_of_discrete_laplace_noise(scale):
    z = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    p = np.exp(-np.abs(z) / scale)
    assert _laplace_variance(scale) == pytest.approx((p * z**2).sum() / p.sum(), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e9, 1e30])
def test_variance_at_any_scale(scale):
    assert 0 < _laplace_variance(scale) < math.inf


@pytest.mark.parametrize("size", [2, 25, 5000])
def test_weights_that_pass_fit_into_64_bits_beside_the_counts(size):
    least = next(10.0**power for power in range(-16, 1) if _passes(10.0**power, size))
    assert (virtual_records(least, 13) + GRAIN * 10**9) * size < 2**63
    with pytest.raises(ParameterError, match="epsilon must be larger"):
        check_weights("PeGS", least / 100, 13, [size])


def _passes(epsilon, size):
    try:
        check_weights("PeGS", epsilon, 13, [2, size])
    except ParameterError:
        return False
    return True


def test_smallest_rows_have_rising_weights():
    model = PeGS(epsilon=1e-9, scope="sample", choose="given", parents={"a": ["b"]}).fit(table(), SCHEMA)
    assert all((np.diff(weights, axis=1) > 0).all() and (weights > 0).all() for weights in model._weights)


def test_start_rows_are_an_assumption_where_they_are_taken():
    given = PeGS(design="conditionals").fit(table(), SCHEMA).claims[0].assumptions
    assert any("Start rows" in line for line in given)
    assert not any("Start rows" in line for line in PeGS().fit(table(), SCHEMA).claims[0].assumptions)


def test_a_purse_of_the_total_covers_its_parts():
    purse = Purse(left=total_budget(1e-9, None))
    assert not purse.left.empty
