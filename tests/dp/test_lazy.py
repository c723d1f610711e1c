"""Noise on first use: the same law, kept for ever, and the true counts never seen."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from shoal.dp import LazyCounts, noise
from shoal.errors import ParameterError


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_cell_keeps_its_noise(law):
    cells = LazyCounts(np.arange(1000), 5.0, law=law)
    some = np.array([[3, 999], [3, 0]])
    first = cells.at(some)
    assert first[0, 0] == first[1, 0]
    assert cells.n_drawn == 3
    whole = cells.all()
    assert (whole[some] == first).all()
    assert (cells.all() == whole).all()
    assert cells.n_drawn == len(cells) == 1000


def test_only_cells_that_are_looked_at_get_noise(monkeypatch):
    drawn = []
    real = noise.discrete_laplace
    monkeypatch.setattr(
        noise, "discrete_laplace", lambda counts, scale: drawn.append(len(counts)) or real(counts, scale)
    )
    cells = LazyCounts(np.arange(10), 5.0)
    assert sum(drawn) == 0
    cells.at(np.array([1, 4, 1]))
    assert sum(drawn) == cells.n_drawn == 2


def test_same_law_as_noise_at_once():
    late = LazyCounts(np.zeros(12_000, dtype=np.int64), 3.0)
    pieces = [late.at(np.arange(start, 12_000, 7)) for start in range(7)]
    at_once = noise.discrete_laplace(np.zeros(12_000, dtype=np.int64), 3.0)
    tables = [np.bincount(np.clip(x, -9, 9) + 9, minlength=19) for x in (np.concatenate(pieces), at_once)]
    assert stats.chi2_contingency(tables).pvalue > 1e-6


def test_threads_agree():
    cells = LazyCounts(np.zeros(500, dtype=np.int64), 100.0)
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda _: cells.all(), range(8)))
    assert all((one == seen[0]).all() for one in seen)


def test_counts_are_copied_and_hidden():
    counts = np.full(3, 987654321)
    cells = LazyCounts(counts, 1.0)
    counts[:] = 0
    assert (np.abs(cells.all() - 987654321) < 1000).all()
    assert "987654321" not in repr(LazyCounts(np.full(3, 987654321), 1.0))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ParameterError, match="pickled"):
            attempt(cells)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: LazyCounts(np.array([1.5]), 1.0), "whole numbers"),
        (lambda: LazyCounts(np.array([[1]]), 1.0), "one axis"),
        (lambda: LazyCounts(np.array([1]), 0.0), "scale must"),
        (lambda: LazyCounts(np.array([1]), 1.0, law="uniform"), "law must"),
        (lambda: LazyCounts(np.array([1]), 1.0).at(np.array([1])), "from 0 to 0"),
        (lambda: LazyCounts(np.array([1]), 1.0).at(np.array([-1])), "from 0 to 0"),
        (lambda: LazyCounts(np.array([1]), 1.0).at(np.array([0.0])), "whole numbers"),
    ],
)
def test_bad_input(build, words):
    with pytest.raises(ParameterError, match=words):
        build()


def test_nothing_to_look_at():
    assert LazyCounts(np.zeros(0, dtype=np.int64), 1.0).all().shape == (0,)
    assert LazyCounts(np.arange(3), 1.0).at(np.zeros(0, dtype=np.int64)).shape == (0,)
