"""Protective noise: its law, its price, and the inputs it refuses. A false alarm is one in a million."""

import math
import os
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.dp import noise
from shoal.errors import ParameterError

ALPHA = 1e-6
SCALES = st.floats(1e-3, 1e6)


def laplace_law(z, scale):
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(z) / scale)


def gaussian_law(z, scale):
    every = np.arange(-200, 201)
    return np.exp(-(z**2) / (2 * scale**2)) / np.exp(-(every**2) / (2 * scale**2)).sum()


def p_value(draws, law, scale, reach):
    """Chi-square against the law on −reach … reach, with both tails as cells of their own."""
    z = np.arange(-reach, reach + 1)
    inner = law(z, scale)
    share = np.concatenate([[(1 - inner.sum()) / 2], inner, [(1 - inner.sum()) / 2]])
    seen = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=len(share))
    return stats.chisquare(seen, share * len(draws)).pvalue


@pytest.mark.parametrize(
    ("draw", "law", "scale", "reach"),
    [
        (noise.discrete_laplace, laplace_law, 2.0, 8),
        (noise.discrete_laplace, laplace_law, 0.5, 2),
        (noise.discrete_gaussian, gaussian_law, 2.0, 5),
    ],
)
def test_noise_follows_its_law_and_no_other(draw, law, scale, reach):
    draws = draw(np.full(20_000, 7), scale) - 7
    assert p_value(draws, law, scale, reach) > ALPHA
    assert p_value(draws, law, scale * 1.3, reach) < ALPHA
    assert p_value(draws, law, scale / 1.3, reach) < ALPHA


def test_batches_are_filled_and_independent():
    draws = noise.discrete_laplace(np.zeros(3 * noise._BATCH + 5, dtype=np.int64), 50.0)
    first, second = draws[: noise._BATCH], draws[noise._BATCH : 2 * noise._BATCH]
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.5 / math.sqrt(len(first))
    assert np.abs(draws[-5:]).sum() > 0  # all zero has a probability of 1e-10


def test_shape_and_order_are_kept():
    counts = np.arange(12).reshape(3, 4) * 1_000_000
    for draw in (noise.discrete_laplace, noise.discrete_gaussian):
        out = draw(counts, 1.0)
        assert out.dtype == np.int64
        assert (np.abs(out - counts) < 1000).all()
        assert draw(counts[:0], 1.0).shape == (0, 4)
        assert draw(counts[:, ::2].astype(np.int32), 1.0).shape == (3, 2)


def test_sums_beyond_64_bits_stay_at_the_end():
    top = np.full(64, np.iinfo(np.int64).max)
    assert (noise.discrete_laplace(top, 10.0) > 0).all()


def test_input_is_left_alone():
    counts = np.arange(5)
    noise.discrete_laplace(counts, 9.0)
    assert (counts == np.arange(5)).all()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_fork_does_not_repeat_the_noise():
    noise.discrete_laplace(np.zeros(4, dtype=np.int64), 1000.0)
    children = [_forked_draw() for _ in range(2)]
    assert children[0] != children[1]


def _forked_draw():
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writing, noise.discrete_laplace(np.zeros(16, dtype=np.int64), 1000.0).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    drawn = os.read(reading, 4096)
    os.close(reading)
    os.close(writing)
    return drawn


@given(scale=SCALES, sensitivity=st.integers(1, 1000))
def test_laplace_price_is_the_closed_form(scale, sensitivity):
    price = noise.laplace_epsilon(scale, sensitivity)
    assert sensitivity / scale <= price * (1 + 1e-15)
    assert price == pytest.approx(sensitivity / scale, rel=1e-12)


@given(scale=SCALES, sensitivity=st.floats(1e-3, 1e3))
def test_gaussian_price_is_the_closed_form(scale, sensitivity):
    assert noise.gaussian_rho(scale, sensitivity) == pytest.approx((sensitivity / scale) ** 2 / 2, rel=1e-12)


@given(scale=SCALES, sensitivity=st.floats(1e-3, 1e3), monotonic=st.booleans())
def test_selection_prices_are_the_closed_forms(scale, sensitivity, monotonic):
    epsilon = (1 if monotonic else 2) * sensitivity / scale
    assert noise.noisy_max_epsilon(scale, sensitivity, monotonic=monotonic) == pytest.approx(epsilon, rel=1e-12)
    assert noise.noisy_max_rho(scale, sensitivity, monotonic=monotonic) == pytest.approx(epsilon**2 / 8, rel=1e-12)


@given(target=st.floats(1e-6, 100), sensitivity=st.integers(1, 50))
def test_scales_are_sufficient_and_tight(target, sensitivity):
    laplace = noise.laplace_scale(target, sensitivity)
    assert noise.laplace_epsilon(laplace, sensitivity) <= target
    assert laplace == pytest.approx(sensitivity / target, rel=1e-12)
    gaussian = noise.gaussian_scale(target, math.sqrt(sensitivity))
    assert noise.gaussian_rho(gaussian, math.sqrt(sensitivity)) <= target
    assert gaussian == pytest.approx(math.sqrt(sensitivity / (2 * target)), rel=1e-12)


def permute_and_flip(scores, scale):
    """Exact law for few candidates: in a random order, take each with probability exp((score − best) / scale)."""
    from itertools import permutations

    keep = np.exp((scores - scores.max()) / scale)
    out = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        alive = 1 / len(orders)
        for i in order:
            out[i] += alive * keep[i]
            alive *= 1 - keep[i]
    return out


def softmax(scores, scale):
    weights = np.exp((scores - scores.max()) / scale)
    return weights / weights.sum()


@pytest.mark.parametrize("kind", [np.float64, np.int64])
@pytest.mark.parametrize(
    ("select", "law"),
    [
        (lambda scores: noise.noisy_max(scores, 1.0, 1.0), lambda scores: permute_and_flip(scores, 2.0)),
        (lambda scores: noise.noisy_max(scores, 1.0, 1.0, monotonic=True), lambda s: permute_and_flip(s, 1.0)),
        (lambda scores: noise.noisy_max_zcdp(scores, 1.0, 0.125), lambda scores: softmax(scores, 2.0)),
        (lambda scores: noise.noisy_max_zcdp(scores, 1.0, 0.125, monotonic=True), lambda s: softmax(s, 1.0)),
    ],
)
def test_selection_follows_its_law(select, law, kind):
    scores = np.array([1, 2, 3, 2, 1], dtype=kind)
    seen = np.bincount([select(scores) for _ in range(800)], minlength=5)
    assert stats.chisquare(seen, law(scores) * 800).pvalue > ALPHA
    assert stats.chisquare(seen, np.full(5, 160)).pvalue < ALPHA


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_bad_scales(scale):
    for draw in (noise.discrete_laplace, noise.discrete_gaussian):
        with pytest.raises(ParameterError, match="scale must be a finite number greater than 0"):
            draw(np.arange(3), scale)


@pytest.mark.parametrize("counts", [np.array([1.0]), np.array([True]), np.array(["1"]), np.array([2**63], np.uint64)])
def test_bad_counts(counts):
    with pytest.raises(ParameterError, match="whole numbers"):
        noise.discrete_laplace(counts, 1.0)


@pytest.mark.parametrize("scores", [[], [[1.0]], [math.nan, 1.0], [math.inf, 0.0], ["a"]])
def test_bad_scores(scores):
    for select in (noise.noisy_max, noise.noisy_max_zcdp):
        with pytest.raises(ParameterError, match="scores must be"):
            select(np.array(scores), 1.0, 1.0)


def test_bad_prices():
    with pytest.raises(ParameterError, match="sensitivity_l1"):
        noise.laplace_epsilon(1.0, 0.5)
    with pytest.raises(ParameterError, match="sensitivity_l2"):
        noise.gaussian_rho(1.0, -1.0)
    with pytest.raises(ParameterError, match="epsilon must be"):
        noise.noisy_max(np.array([1.0]), 1.0, 0.0)
    with pytest.raises(ParameterError, match="price must be finite"):
        noise.laplace_epsilon(1e-320, 1)


def test_nothing_of_opendp_is_loaded_by_an_import():
    import subprocess

    code = "import sys, shoal.dp; sys.exit(any(name.split('.')[0] == 'opendp' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_randomised_response_has_its_matrix_and_its_price():
    m, epsilon, n = 4, 0.9, 3000
    keep = math.exp(epsilon) / (math.exp(epsilon) + m - 1)
    for true in (0, 3):
        seen = np.bincount(noise.randomised_response(np.full(n, true), m, epsilon), minlength=m) / n
        exact = np.full(m, (1 - keep) / (m - 1))
        exact[true] = keep
        assert seen == pytest.approx(exact, abs=4.5 * math.sqrt(0.25 / n))
    assert epsilon <= noise.response_epsilon(m, epsilon) < epsilon + 1e-9
    assert noise.response_epsilon(1, epsilon) == 0
    assert noise.randomised_response(np.zeros(3, dtype=int), 1, epsilon).tolist() == [0, 0, 0]
