"""Audits: valid for every correct mechanism, strong against broken ones. Noise from numpy: nothing is protected."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal.dp import Audit, Budget, audit
from shoal.dp.auditing import best_event, lower_bounds
from shoal.errors import ParameterError


def geometric(scale, seed=0):
    rng = np.random.default_rng(seed)
    p = 1 - math.exp(-1 / scale)
    return lambda count, n: count + rng.geometric(p, n) - rng.geometric(p, n)


def slow_bound(hits, misses, runs, alpha, delta):
    """Clopper-Pearson by the definition: the p at which the tail of the binomial has the probability alpha / 2."""
    from scipy.optimize import brentq

    p = brentq(lambda p: stats.binom.sf(hits - 1, runs, p) - alpha / 2, 0, 1) if hits else 0.0
    q = brentq(lambda q: stats.binom.cdf(misses, runs, q) - alpha / 2, 0, 1) if misses < runs else 1.0
    return max(0.0, math.log((p - delta) / q)) if p > delta else 0.0


@given(st.integers(1, 60), st.data(), st.sampled_from([0.0, 0.01, 0.3]))
def test_bound_is_by_the_definition(runs, data, delta):
    hits, misses = data.draw(st.integers(0, runs)), data.draw(st.integers(0, runs))
    ours = lower_bounds(np.array([hits]), np.array([misses]), runs, 0.05, delta)[0]
    assert ours == pytest.approx(slow_bound(hits, misses, runs, 0.05, delta), abs=1e-8)


@settings(max_examples=10)
@given(st.integers(20, 200), st.integers(0, 10**6))
def test_best_event_is_the_best_of_all_thresholds(n, seed):
    """Exhaustive search over both directions of every threshold on the number itself; the ratio can only add to it."""
    rng = np.random.default_rng(seed)
    learn = rng.integers(0, 5, n), rng.integers(0, 5, n)
    compare = rng.integers(0, 5, n), rng.integers(1, 6, n)
    event = best_event(learn, compare, 0.5, 0.0)
    found = lower_bounds(*(np.array([hits]) for hits in event.hits(compare)), n, 0.5 / 20, 0.0)[0]
    tried = [(one >= t, two >= t) for t in range(7) for one, two in (compare, compare[::-1])]
    tried += [(one <= t, two <= t) for t in range(7) for one, two in (compare, compare[::-1])]
    slow = max(slow_bound(int(a.sum()), int(b.sum()), n, 0.5 / 20, 0.0) for a, b in tried)
    assert found >= slow - 1e-9


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_false_alarms_are_as_rare_as_stated(confidence):
    """The two-sided use of the confidence makes it careful, so the share of alarms stays below the level."""
    mechanism = geometric(1.0, seed=5)
    audits = [
        audit(mechanism, 0, 1, trials=400, confidence=confidence, vectorised=True, seed=i).epsilon for i in range(300)
    ]
    alarms = sum(found > 1.0 for found in audits)
    assert stats.binomtest(alarms, len(audits), 1 - confidence, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("flavour", ["rows", "floats", "names"])
def test_no_false_alarm_whatever_the_outputs(flavour):
    """No difference at all: ε = 0, and every bound above 0 is a false alarm."""
    rng = np.random.default_rng(11)
    draws = {
        "rows": lambda _, n: rng.integers(0, 3, (n, 4)),
        "floats": lambda _, n: rng.normal(size=n),
        "names": lambda _, n: np.array([f"x{i}" for i in rng.integers(0, 40, n)], dtype=object),
    }
    found = [audit(draws[flavour], 0, 1, trials=400, vectorised=True, seed=i).epsilon for i in range(60)]
    assert stats.binomtest(sum(e > 0 for e in found), 60, 0.05, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_power_on_the_geometric_mechanism(epsilon):
    found = audit(geometric(1 / epsilon), 7, 8, trials=100_000, vectorised=True, seed=1)
    assert (0.9 if epsilon >= 1 else 0.75) * epsilon < found.epsilon <= epsilon
    assert not found.refutes(Budget(epsilon=epsilon))


def test_half_of_the_noise_is_caught():
    found = audit(geometric(0.5), 7, 8, trials=10_000, vectorised=True, seed=1)
    assert found.refutes(Budget(epsilon=1))
    assert found.epsilon > 1.6


def test_the_direction_does_not_matter():
    def one_sided(records, n):
        """Shows the output 1 only when the second record is there."""
        return (np.random.default_rng(3).random(n) < 0.2 * (records - 1)).astype(np.int64)

    for pair in ((1, 2), (2, 1)):
        found = audit(one_sided, *pair, trials=5000, vectorised=True, seed=0)
        assert found.epsilon > 4
        assert found.direction == ("data" if pair == (2, 1) else "neighbour")


def test_sets_of_outputs_are_found_where_no_threshold_serves():
    rng = np.random.default_rng(2)

    def parity(bit, n):
        odd = rng.random(n) < (0.8 if bit else 0.2)
        return 2 * rng.integers(0, 20, n) + odd

    found = audit(parity, 0, 1, trials=20_000, vectorised=True, seed=0)
    assert 1.2 < found.epsilon <= math.log(4)
    assert "ratio" in found.event


def test_rows_of_numbers():
    rng = np.random.default_rng(2)
    mechanism = lambda counts, n: counts + rng.laplace(0, 1, (n, len(counts)))  # noqa: E731
    found = audit(mechanism, np.array([3, 5, 9]), np.array([3, 6, 9]), trials=40_000, vectorised=True, seed=0)
    assert 0.85 < found.epsilon <= 1


def test_delta_is_granted():
    rng = np.random.default_rng(4)

    def leaky(bit, n):
        """Tells the truth with probability 0.1, and a coin otherwise: (0, 0.1)-DP, and no pure ε."""
        return np.where(rng.random(n) < 0.1, 5 + bit, rng.integers(0, 2, n))

    strict = audit(leaky, 0, 1, trials=20_000, vectorised=True, seed=0)
    assert strict.refutes(Budget(epsilon=4))
    assert audit(leaky, 0, 1, trials=20_000, delta=0.1, vectorised=True, seed=0).epsilon < 0.01


def test_single_runs_of_every_sort():
    rng = np.random.default_rng(6)

    def coin(bit):
        return rng.random() < (0.75 if bit else 0.25)

    sorts = [
        lambda bit: bool(coin(bit)),
        lambda bit: ("yes", 1) if coin(bit) else ("no", 2),
        lambda bit: [1, 2] if coin(bit) else [1],
        lambda bit: np.array([1, 0]) if coin(bit) else np.array([0, 1]),
        lambda bit: None if coin(bit) else 1,
        lambda bit: "yes" if coin(bit) else "no",
        lambda bit: math.nan if coin(bit) else 2.0**70,
    ]
    for mechanism in sorts:
        found = audit(mechanism, 0, 1, trials=4000, seed=0)
        assert 0.85 < found.epsilon <= math.log(3), found


def test_the_users_event():
    rng = np.random.default_rng(6)

    def mechanism(bit):
        return {"answer": rng.random() < (0.75 if bit else 0.25)}

    with pytest.raises(ParameterError, match="Give an event"):
        audit(mechanism, 0, 1, trials=100)
    found = audit(mechanism, 0, 1, event=lambda output: output["answer"], trials=4000, seed=0)
    assert 0.85 < found.epsilon <= math.log(3)
    rows = lambda bit, n: np.stack([rng.normal(size=n), rng.random(n) < 0.25 + 0.5 * bit], axis=1)  # noqa: E731
    found = audit(rows, 0, 1, event=lambda outputs: outputs[:, 1], trials=4000, vectorised=True, seed=0)
    assert 0.85 < found.epsilon <= math.log(3)


def test_a_seed_repeats_the_cut():
    outputs = {0: np.arange(1000) % 7, 1: np.arange(1000) % 9}
    one, two = (audit(lambda side, n: outputs[side], 0, 1, trials=1000, vectorised=True, seed=3) for _ in range(2))
    assert one == two


def test_record():
    found = audit(geometric(1.0), 0, 1, trials=1001, delta=1e-6, vectorised=True, seed=0)
    words = json.loads(json.dumps(found.to_dict()))
    assert Audit(**words) == found
    assert (found.trials, found.runs) == (1001, 501)
    assert "1001 runs" in str(found)
    assert not found.releasable
    assert not found.refutes(Budget.zcdp(0.5))
    assert found.refutes(Budget.zcdp(1e-12))
    with pytest.raises(ParameterError, match="claim's delta"):
        found.refutes(Budget(epsilon=1, delta=0.01))


@pytest.mark.parametrize(
    "words",
    [
        {"trials": 3},
        {"trials": 10.0},
        {"trials": True},
        {"delta": -0.1},
        {"delta": 1.0},
        {"delta": math.nan},
        {"confidence": 1.0},
        {"confidence": 0.0},
    ],
)
def test_bad_input(words):
    with pytest.raises(ParameterError, match=next(iter(words))):
        audit(geometric(1.0), 0, 1, vectorised=True, **words)


def test_wrong_number_of_outputs():
    for outputs in (np.zeros(5), np.float64(1.0), np.zeros((100, 0))):
        with pytest.raises(ParameterError, match="one output per run"):
            audit(lambda data, n: outputs, 0, 1, trials=100, vectorised=True)  # noqa: B023
