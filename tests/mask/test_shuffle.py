"""Shuffle (eq 10): the joint distance to the centre keeps its shape in every group, and values do change."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.conform import prepare
from shoal.distance import Spaces
from shoal.distance.medoid import medoids
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, ParameterError
from shoal.mask.aware import Crowd, Masking
from shoal.mask.shape_divergence import bins_of, divergence, group_divergences
from shoal.mask.shuffle import Shuffle, changeable
from shoal.params import build, to_dict
from shoal.schema import Schema


def state_of(n, seed=0, n_groups=5, minimum=2):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 9, n),
            "sex": rng.choice(["f", "m", "x"], n),
            "code": rng.choice(["I21", "I50", "C50", "C18", "J45"], n),
        }
    )
    prepared = prepare(table, Schema.of(quasi=table.columns, metrics={"code": {"kind": "tree", "lengths": [1, 3]}}))
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    labels = rng.permutation(np.arange(n) % n_groups)
    return Masking(
        prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=labels, minimum=minimum
    )


def slow_divergences(state, done, weights=None):
    """(10) group by group, from the sheet: joint mapped distance, 10 bins, half a count, nats."""
    weights = weights or {}
    spaces = Spaces.fit(state.prepared.schema, state.encoder, state.encoder.codes(state.prepared.frame))
    before, after = spaces.positions(state.codes), spaces.positions(done.codes)
    centers = medoids(before, state.labels, spaces)
    out = []
    for g in range(state.labels.max() + 1):
        own = state.labels == g
        d, e = (
            [
                sum(weights.get(s.name, 1) * float(s.mapped(x[i, j], centers[g, j])) for j, s in enumerate(spaces))
                for i in np.flatnonzero(own)
            ]
            for x in (before, after)
        )
        top, n = max(d), len(d)
        p, q = (
            [sum(min(9, int(v / top * 10) if top else 0) == b for v in values) for b in range(10)] for values in (d, e)
        )
        p, q = ([(c + 0.5) / (n + 5) for c in counts] for counts in (p, q))
        out.append(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)))
    return out


@settings(max_examples=25, deadline=None)
@given(st.integers(10, 120), st.integers(0, 10_000), st.sampled_from([0.0, 0.02, 0.05, 0.3]))
def test_bound_holds_and_columns_are_permuted(n, seed, bound):
    state = state_of(n, seed)
    done = Shuffle(divergence=bound, change=0.0).apply(state, np.random.default_rng(seed))
    assert max(slow_divergences(state, done)) <= bound + 1e-9
    assert done.records[0]["divergence"]["largest"] <= bound + 1e-9
    for g in range(5):
        own = state.labels == g
        assert (np.sort(done.codes[own], axis=0) == np.sort(state.codes[own], axis=0)).all()
    assert done.labels is state.labels


def test_most_values_change_and_rows_are_recombined():
    state = state_of(600, n_groups=10)
    done = Shuffle().apply(state, np.random.default_rng(1))
    record = done.records[0]
    changed = int((done.codes != state.codes).sum())
    assert record["values_changed"] == changed
    assert 0.6 < record["changed_share"] < 1.0
    assert record["recombined_share"] > 0.5
    again = Shuffle().apply(state, np.random.default_rng(1))
    assert (again.codes == done.codes).all()


def test_a_value_of_two_is_not_turned_over():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.normal(size=2000), "sex": ["f", "m"] * 1000})
    prepared = prepare(table, Schema.of(quasi=["a", "sex"]))
    encoder = Encoder.fit(prepared, ["a", "sex"])
    labels = np.arange(2000) // 20
    state = Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=labels, minimum=5)
    done = Shuffle().apply(state, rng)
    assert (done.codes[:, 1] != state.codes[:, 1]).mean() == pytest.approx(0.5, abs=0.06)


def test_some_columns_only():
    state = state_of(400, n_groups=4)
    done = build(Shuffle, {"columns": "a/sex", "divergence": "0.1"}).apply(state, np.random.default_rng(1))
    same = (done.codes == state.codes).mean(axis=0)
    assert (same[[1, 3]] == 1).all()
    assert same[0] < 0.5


def test_what_can_change():
    table = pl.DataFrame({"a": [1, 1, 1, 1, 2, 5, 5, 5], "b": [1, 2, 3, 4, 5, 6, 6, 6]})
    prepared = prepare(table, Schema.of(quasi=["a", "b"]))
    encoder = Encoder.fit(prepared, ["a", "b"])
    labels = np.array([0] * 5 + [1] * 3)
    state = Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=labels, minimum=3)
    assert changeable(Crowd.of(state), np.array([0, 1])).tolist() == [[2, 5], [0, 0]]
    done = Shuffle(change=1.0, divergence=9.0).apply(state, np.random.default_rng(0))
    assert done.records[0]["changed_share"] == 1.0
    assert (done.codes[5:] == state.codes[5:]).all()


def test_groups_of_equal_rows_are_left_and_accepted():
    table = pl.DataFrame({"a": [1, 1, 1]})
    prepared = prepare(table, Schema.of(quasi=["a"]))
    encoder = Encoder.fit(prepared, ["a"])
    state = Masking(
        prepared=prepared,
        encoder=encoder,
        codes=encoder.codes(prepared.frame),
        labels=np.zeros(3, dtype=np.int64),
        minimum=3,
    )
    assert Shuffle(change=1.0).apply(state, np.random.default_rng(0)).records[0]["changed_share"] == 1.0


def test_refuses_what_cannot_be_met():
    state = state_of(30, n_groups=5)
    with pytest.raises(GuaranteeError, match="raise divergence"):
        Shuffle(columns=["a"], divergence=0.0, change=0.9).apply(state, np.random.default_rng(0))


def test_bad_input():
    state = state_of(30)
    with pytest.raises(ParameterError, match="'zip'"):
        Shuffle(columns=["zip"]).apply(state, np.random.default_rng(0))
    for wrong in ({"divergence": -1.0}, {"divergence": float("nan")}, {"change": 1.1}, {"columns": 3}):
        with pytest.raises(ParameterError, match="must be"):
            Shuffle(**wrong).apply(state, np.random.default_rng(0))
    assert "measured" in Shuffle().caveats(state)[0]


@pytest.mark.parametrize("columns", [None, ("a", "sex")])
def test_words_give_the_method_back(columns):
    shuffle = Shuffle(columns=columns, divergence=0.1)
    words = build(Shuffle, to_dict(shuffle))
    assert words.divergence == 0.1
    assert (words.columns and tuple(words.columns)) == columns


def test_divergence_by_hand():
    before, after = np.array([5] + [0] * 9), np.array([4, 1] + [0] * 8)
    p, q = (before + 0.5) / 10, (after + 0.5) / 10
    assert float(divergence(before, after)) == pytest.approx(float((p * np.log(p / q)).sum()))
    assert bins_of(np.array([0.0, 0.1, 0.99, 1.0, 7.0]), np.ones(5)).tolist() == [0, 1, 9, 9, 9]
    assert bins_of(np.array([0.0]), np.zeros(1)).tolist() == [0]
    far = np.array([0.0, 1.0, 0.5, 2.0])
    assert group_divergences(far, far, np.array([0, 0, 1, 1])).tolist() == [0, 0]


def test_earth_movers_distance_by_hand():
    before, after = np.array([4, 0, 0, 0, 0, 0, 0, 0, 0, 0]), np.array([2, 0, 2, 0, 0, 0, 0, 0, 0, 0])
    assert float(divergence(before, after, "emd")) == pytest.approx(0.1)  # half of them two bins of a tenth each


@settings(max_examples=15, deadline=None)
@given(st.integers(10, 80), st.integers(0, 1000), st.sampled_from([0.0, 0.01, 0.05]))
def test_earth_movers_bound_holds(n, seed, bound):
    state = state_of(n, seed)
    done = Shuffle(divergence=bound, change=0.0, measure="emd").apply(state, np.random.default_rng(seed))
    spaces = Spaces.fit(state.prepared.schema, state.encoder, state.encoder.codes(state.prepared.frame))
    before, after = spaces.positions(state.codes), spaces.positions(done.codes)
    centers = medoids(before, state.labels, spaces)[state.labels]
    for g in range(5):
        own = state.labels == g
        d, e = (spaces.joint(x[own], centers[own]) for x in (before, after))
        bins = [np.bincount(bins_of(x, np.full(len(x), d.max())), minlength=10) / len(x) for x in (d, e)]
        assert np.abs(np.cumsum(bins[0] - bins[1])).sum() / 10 <= bound + 1e-9


def test_importance_weighs_a_column_in_the_joint_distance():
    state = state_of(400, n_groups=4)
    done = Shuffle(divergence=0.02, change=0.0, importance={"a": 50.0}).apply(state, np.random.default_rng(1))
    assert max(slow_divergences(state, done, {"a": 50.0})) <= 0.02 + 1e-9
    assert max(slow_divergences(state, done)) > 0.02  # all columns alike, it would not have been allowed
    with pytest.raises(ParameterError, match="importance must name columns that are shuffled together; got zip"):
        Shuffle(importance={"zip": 2.0}).apply(state, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="importance of 'a' must be a positive number"):
        Shuffle(importance={"a": 0.0}).apply(state, np.random.default_rng(0))
