import math

import numpy as np
import pytest
from scipy.stats import t

from shoal import ParameterError
from shoal.synth import combine


def test_worked_example():
    """Five sets: q̄ = 10, b = 2.5, v̄ = 1.2; T_s = 1.2 · 2.5 − 1.2 = 1.8; ν = 4 (1 − 1.2/3)² = 1.44."""
    found = combine([8, 9, 10, 11, 12], [1.0, 1.1, 1.2, 1.3, 1.4])
    assert found.estimate == 10
    assert found.between == pytest.approx(2.5)
    assert found.within == pytest.approx(1.2)
    assert found.variance == pytest.approx(1.8)
    assert not found.adjusted
    assert found.degrees_of_freedom == pytest.approx(1.44)
    half = t.ppf(0.975, 1.44) * math.sqrt(1.8)
    assert found.interval == pytest.approx((10 - half, 10 + half))


def test_worked_example_of_partial_synthesis():
    """T_p = 2.5/5 + 1.2 = 1.7; ν = 4 (1 + 5 · 1.2 / 2.5)² = 46.24."""
    found = combine([8, 9, 10, 11, 12], [1.0, 1.1, 1.2, 1.3, 1.4], partial=True)
    assert found.variance == pytest.approx(1.7)
    assert found.degrees_of_freedom == pytest.approx(46.24)


def test_negative_variance_is_reported_and_replaced():
    found = combine([10.0, 10.1, 9.9], [4.0, 4.0, 4.0], ratio=0.5)
    assert found.raw_variance < 0
    assert found.adjusted
    assert found.variance == pytest.approx(2.0)
    assert found.interval[0] < 10 < found.interval[1]


def test_equal_partial_estimates_have_a_normal_interval():
    found = combine([1.0, 1.0], [1.0, 1.0], partial=True)
    assert found.interval == pytest.approx((1 - 1.959964, 1 + 1.959964), abs=1e-5)
    assert found.to_dict()["degrees_of_freedom"] is None


def test_share_of_negative_variances_is_the_sheets():
    """Synthetic sets of a normal mean: 44 % negative at K = 2."""
    rng = np.random.default_rng(1)
    negative = 0
    for _ in range(2000):
        truth = rng.normal(0, 1)
        q = truth + rng.normal(0, 1, 2) + rng.normal(0, 1, 2)
        negative += combine(q, [1.0, 1.0]).raw_variance < 0
    assert negative / 2000 == pytest.approx(0.44, abs=0.04)


@pytest.mark.parametrize(
    ("q", "v", "more"),
    [
        ([1.0], [1.0], {}),
        ([1.0, 2.0], [1.0], {}),
        ([1.0, np.nan], [1.0, 1.0], {}),
        ([1.0, 2.0], [1.0, -1.0], {}),
        ([1.0, 2.0], [1.0, 1.0], {"confidence": 1.0}),
        ([1.0, 2.0], [1.0, 1.0], {"ratio": 0.0}),
    ],
)
def test_bad_input(q, v, more):
    with pytest.raises(ParameterError):
        combine(q, v, **more)
