"""Published medians: matched by every method, exact where logarithms are symmetric inside groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregate import Aggregate, CrossedRegression, Cudia, EcologicalRegression, King, Ludia, PseudoInverse
from shoal.aggregate.covariates import covariates
from shoal.aggregate.ecological import held_out_error
from shoal.aggregate.problem import pose
from shoal.errors import InputError, ParameterError

LABELS, OTHER = np.arange(300) % 12, np.arange(300) // 60
X = np.random.default_rng(0).standard_normal((300, 2)) + 0.1 * LABELS[:, None]
CHARGE = np.exp(7 + X @ [0.5, 0.2] + 0.3 * np.random.default_rng(1).standard_normal(300))


def medians(values, labels):
    return np.array([np.median(values[labels == g]) for g in range(labels.max() + 1)])


def published(labels, values=CHARGE, name="groups"):
    return Aggregate(by=labels, median=medians(values, labels), name=name)


@pytest.mark.parametrize("method", [PseudoInverse(), EcologicalRegression(), Ludia(), Cudia(iterations=3, restarts=1)])
def test_medians_match(method):
    found = method.reconstruct(X, [published(LABELS)])
    np.testing.assert_allclose(medians(found.values, LABELS), medians(CHARGE, LABELS), rtol=1e-9)
    assert found.residual < 1e-9
    assert (found.values > 0).all()


def test_symmetric_logarithms_are_found_again():
    x = (np.linspace(-1, 1, 25)[:, None] + np.random.default_rng(2).standard_normal(12)).ravel()
    y = np.exp(3 + 0.8 * x)
    found = EcologicalRegression().reconstruct(x[:, None], [published(np.arange(300) % 12, y)])
    np.testing.assert_allclose(found.values, y, rtol=1e-9)


@given(values=st.lists(st.integers(1, 30), min_size=6, max_size=40), seed=st.integers(0, 99))
def test_weighted_medians_are_those_of_repeated_rows(values, seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1, 2], rng.integers(0, 3, len(values) - 3)])
    times = rng.integers(1, 5, len(values))
    y = np.array(values, dtype=float)
    plain = Aggregate(by=labels, median=[1.0, 1.0, 1.0])
    one = pose(covariates(np.zeros((len(y), 1))), [plain])
    np.testing.assert_array_equal(one.centres(one.sets[0], y), medians(y, labels))
    repeated = medians(np.repeat(y, times), np.repeat(labels, times))
    for unit in (1.0, 0.3, 1234.567):
        weighted = pose(covariates(np.zeros((len(y), 1))), [plain], unit * times)
        np.testing.assert_allclose(weighted.centres(weighted.sets[0], y), repeated)


def test_two_crossing_sets():
    sets = [published(LABELS, name="a"), published(OTHER, name="b")]
    found = CrossedRegression().reconstruct(X, sets)
    assert not any("contradict" in text or "adds nothing" in text for text in found.warnings)
    gap = medians(EcologicalRegression().reconstruct(X, sets[:1]).values, OTHER) - medians(CHARGE, OTHER)
    assert held_out_error(EcologicalRegression(), X, sets) == pytest.approx(np.sqrt((gap**2).mean()))


def test_refused():
    mean = Aggregate(by=OTHER, mean=np.ones(5))
    with pytest.raises(ParameterError, match="medians in every set, or in none"):
        PseudoInverse().reconstruct(X, [published(LABELS), mean])
    with pytest.raises(ParameterError, match="one of mean, total and median"):
        PseudoInverse().reconstruct(X, [Aggregate(by=OTHER, mean=np.ones(5), median=np.ones(5))])
    with pytest.raises(InputError, match="greater than 0 .* 1 at 0 or below"):
        PseudoInverse().reconstruct(X, [Aggregate(by=OTHER, median=np.arange(5.0))])
    half = (X[:, :1] > 0).astype(float)
    for sets, log in (
        ([Aggregate(by=OTHER, median=np.full(5, 0.5))], False),
        ([Aggregate(by=OTHER, mean=np.full(5, 0.5))], True),
    ):
        with pytest.raises(ParameterError, match="needs means as they are"):
            King().reconstruct(half, sets, log=log)
