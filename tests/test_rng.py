import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.rng import fresh_seed, stream


@given(st.integers(0, 2**63 - 1), st.text(max_size=10))
def test_streams_repeat(seed, name):
    assert stream(seed, name).integers(2**62) == stream(seed, name).integers(2**62)


def test_streams_of_other_names_or_seeds_differ():
    draws = [stream(s, *n).integers(2**62) for s in (1, 2) for n in (("a",), ("b",), ("a", 0), ("a", "0"), ("a0",))]
    assert len(set(draws)) == len(draws)


def test_streams_are_uncorrelated():
    a, b = stream(1, "a").standard_normal(20_000), stream(1, "b").standard_normal(20_000)
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(20_000)


def test_fresh_seeds_differ_and_fit_a_toml_integer():
    seeds = {fresh_seed() for _ in range(50)}
    assert len(seeds) == 50
    assert all(0 <= seed < 2**63 for seed in seeds)
