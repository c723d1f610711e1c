"""PeGS by row beyond the published blocks: where virtual records go, keys by min-hashing, and how a row comes about."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal import ParameterError, Schema
from shoal.synth import PeGS, load
from shoal.synth.exact_draws import GRAIN
from shoal.synth.hashing import MinHash
from shoal.synth.pegs_by_row import entropy

NAMES = ["a", "b", "c"]
SIZES = (4, 3, 2)
SCHEMA = Schema.of(quasi=NAMES, levels={name: range(size) for name, size in zip(NAMES, SIZES, strict=True)})
PARENTS = {"a": ["b"], "b": ["c"], "c": ["a"]}


def table(n=400, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.choice(4, n, p=[0.9, 0.06, 0.03, 0.01])
    return pl.DataFrame(
        {"a": a, "b": (a + (rng.random(n) < 0.2)) % 3, "c": (rng.random(n) < 0.1 + 0.2 * a).astype(int)}
    )


def fitted(**options):
    pegs = PeGS(scope="sample", **({"choose": "given", "parents": PARENTS} | options))
    return pegs.fit(table(), SCHEMA, seed=1)


def slow_key(hashing, row, i):
    first = np.cumsum([0, *hashing.sizes[:-1]])
    key = 0
    for ranks in hashing.ranks:
        items = [int(first[j]) + row[j] for j in range(len(row)) if j != i]
        key = key * len(ranks) + min(items, key=lambda item: ranks[item])
    return key


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_min_hash_keys_are_those_of_the_definition(seed, n_functions):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, 4).tolist()
    hashing = MinHash.draw(sizes, n_functions, rng)
    rows = np.column_stack([rng.integers(0, size, 20) for size in sizes])
    for i in range(4):
        found = hashing.keys(rows, i)
        assert found.tolist() == [slow_key(hashing, row.tolist(), i) for row in rows]
        assert found.max() < hashing.n_keys


def test_rows_share_a_min_hash_as_often_as_they_share_values():
    """Two of four other values in common, six items in all: Jaccard's index is 2 / 6."""
    rng = np.random.default_rng(4)
    rows = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 1, 1]])
    same = [len(set(MinHash.draw([2] * 5, 1, rng).keys(rows, 0).tolist())) == 1 for _ in range(3000)]
    assert np.mean(same) == pytest.approx(1 / 3, abs=4 * math.sqrt(2 / 9 / 3000))


def test_min_hash_needs_no_choice_and_no_payment(tmp_path):
    pegs = PeGS(epsilon=4.0, scope="sample", choose="min-hash", parents=2)
    assert pegs.price(10).per_data_set.epsilon == 40
    model = pegs.fit(table(), SCHEMA, seed=1)
    assert [claim.basis for claim in model.claims] == ["proved"]
    model.save(tmp_path / "model.json", internal=True)
    back = load(tmp_path / "model.json")
    assert back.sample(50, seed=3).equals(model.sample(50, seed=3))


@given(arrays(np.int64, 6, elements=st.integers(0, 30)), st.integers(1, 25), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_filling_the_lowest_cells_has_the_largest_entropy(counts, level, seed):
    """No other way to spend as many virtual records has more."""
    filled = np.maximum(counts, level)
    spent = float(filled.sum() - counts.sum())
    rng = np.random.default_rng(seed)
    others = counts + spent * rng.dirichlet(np.full(6, 0.5), 50)
    most = entropy((filled / filled.sum())[None])[0]
    assert (entropy(others / others.sum(axis=1, keepdims=True)) <= most + 1e-9).all()


def test_weights_by_smoothing():
    plain, flat, by_margin = (fitted(epsilon=3.0, smoothing=s) for s in ("uniform", "maximum-entropy", "margin"))
    alpha = plain._grains
    n = plain.counts[0] * GRAIN
    assert (np.diff(plain._weights[0], prepend=0) == n + alpha).all()
    assert (np.diff(flat._weights[0], prepend=0) == np.maximum(n, alpha)).all()
    virtual = np.diff(by_margin._weights[0], prepend=0) - n
    assert (virtual == virtual[0]).all()
    assert virtual.min() >= alpha, "the least on any cell is what ε asks for"
    assert virtual[0, 0] == pytest.approx(4 * 0.9 * alpha, rel=0.1)
    assert virtual[0].sum() <= 2 * 4 * alpha + 4


def test_records_of_ordered_columns_count_on_their_neighbours_too():
    kinds = {"a": "ordinal", "b": "nominal", "c": "nominal"}
    levels = {name: range(size) for name, size in zip(NAMES, SIZES, strict=True)}
    pegs = PeGS(scope="sample", epsilon=3.0, choose="given", parents=PARENTS, smoothing="neighbours")
    model = pegs.fit(table(), Schema.of(quasi=NAMES, levels=levels, kinds=kinds), seed=1)
    n = model.counts[0].astype(float)
    expected = n / 2 + np.roll(n, 1, axis=1) / 4 + np.roll(n, -1, axis=1) / 4
    expected[:, 0] = 0.75 * n[:, 0] + 0.25 * n[:, 1]
    expected[:, -1] = 0.75 * n[:, -1] + 0.25 * n[:, -2]
    found = (np.diff(model._weights[0], prepend=0) - model._grains) / GRAIN
    assert (found == expected).all()
    assert (found.sum(axis=1) == n.sum(axis=1)).all(), "a record is still one record"
    nominal = (np.diff(model._weights[1], prepend=0) - model._grains) / GRAIN
    assert (nominal == model.counts[1]).all()


def test_virtual_records_in_proportion_to_the_margin_alone_would_break_epsilon():
    """The thesis suggests α_j ∝ Pr(x = j): a level of 1 % would have 4 % of α, and the ratio of a draw grows to
    1 + 25/α."""
    epsilon, C, share = 3.0, 4, 0.01
    alpha = 1 / math.expm1(epsilon / 3)
    rare = C * alpha * share
    one, none = ((n + rare) / (n + C * alpha) for n in (1, 0))
    assert math.log(one / none) > epsilon / 3


def test_margins_cost_epsilon_once():
    pegs = PeGS(epsilon=0.5, scope="sample", smoothing="margin")
    assert pegs.price(100).per_data_set.epsilon == pytest.approx(51)
    assert set(pegs.price().shares) == {"choice of parents", "margins"}
    model = pegs.fit(table(), SCHEMA)
    assert model.spent.epsilon == pytest.approx(1)
    model.sample(10)
    assert model.spent.epsilon == pytest.approx(6)


def nearly_noise(smoothing):
    """A model whose margins are well known and whose rows cost so little that virtual records are nearly all."""
    model = fitted(epsilon=20.0, block=4, smoothing=smoothing)
    model.pegs = replace(model.pegs, epsilon=0.002)
    model._weights = model._cumulated()
    return model


def test_margins_bring_rows_near_to_the_margin_and_resets_leave_them_there(tmp_path):
    shares = [(nearly_noise(s).sample(3000, seed=2)["a"] == 0).mean() for s in ("uniform", "margin")]
    assert shares[0] == pytest.approx(1 / 4, abs=0.05)
    assert shares[1] == pytest.approx(3.6 / 6.6, abs=0.05)
    model = nearly_noise("margin")
    model.save(tmp_path / "model.json", internal=True)
    assert load(tmp_path / "model.json").sample(30, seed=4).equals(model.sample(30, seed=4))


def test_a_trace_changes_one_column_at_a_time_and_costs_one_row():
    model = fitted(epsilon=2.0, passes=2)
    steps = model.trace(start=pl.DataFrame({"a": [3], "b": [2], "c": [1]}))
    assert steps["drawn"].to_list() == ["start", *NAMES, *NAMES]
    assert steps.row(0)[1:] == (3, 2, 1)
    for before, after in zip(steps.iter_rows(named=True), steps[1:].iter_rows(named=True), strict=False):
        assert all(before[name] == after[name] for name in NAMES if name != after["drawn"])
    assert model.spent.epsilon == 2
    assert len(model.claims) == 2
    model.trace(seed=1)
    assert model.claims == (), "a seed costs the claim"


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"smoothing": "margin"}, "smoothing belongs to scope='sample'"),
        ({"choose": "min-hash"}, "choose='min-hash' belongs to scope='sample'"),
        ({"scope": "sample", "choose": "min-hash", "parents": PARENTS}, "number of hash functions"),
        ({"scope": "sample", "diversity": 2.0, "smoothing": "margin"}, "can't be combined"),
    ],
)
def test_what_does_not_go_together(options, rule):
    with pytest.raises(ParameterError, match=rule):
        PeGS(**options).price()


def test_too_many_hash_functions():
    with pytest.raises(ParameterError, match="fewer combinations"):
        fitted(choose="min-hash", parents=7)


def test_rows_by_default_have_no_gap_that_no_record_has():
    rows = PeGS(scope="sample", epsilon=1.0).fit(table(), SCHEMA).sample(500)
    assert sum(rows.null_count().row(0)) == 0
