"""Risks of a large table by a stated sample: the estimate's interval holds, bounds stay those of every record."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import encode, risk
from shoal.pair import NOBODY, Pair
from shoal.risk import nearest
from shoal.risk.assessment import NAMES, assess, sampled, tried_on_all
from shoal.risk.nearest import match_pair
from shoal.risk.reidentification_attack import measure
from shoal.risk.uncertainty import chernoff, wilson
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age", "region"], sensitive=["ill", "cost"], kinds={"region": "nominal", "ill": "nominal"})


@pytest.fixture
def costly(monkeypatch):
    """Every search counts as too much to ask all rows: 60 are drawn."""
    monkeypatch.setattr(nearest, "_SMALL", 0)
    monkeypatch.setattr(nearest, "_AFFORDABLE", 0)
    monkeypatch.setattr(nearest, "_MANY_TIES", 0)
    monkeypatch.setattr(nearest, "_FEWEST", 60)
    monkeypatch.setattr(nearest, "_MOST", 60)


def people(seed, n=400):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "region": rng.choice(list("abcde"), n),
            "ill": rng.choice(["yes", "no"], n),
            "cost": rng.lognormal(3, 1, n),
        }
    )


def masked(table, seed):
    """Ages moved a little, so that a good part of the people is found."""
    return table.with_columns(pl.col("age") + np.random.default_rng(seed).integers(-1, 2, len(table)) * 0.3)


def pair_of(seed=1):
    table = people(seed)
    return Pair.of(table, masked(table, seed), SCHEMA)


@pytest.mark.usefixtures("costly")
def test_the_sampled_records_have_their_exact_risk_and_the_bound_counts_everybody():
    pair, labels = pair_of(), np.arange(400) // 4
    labels[:2] = 200  # one group of two, which a sample of 60 seldom sees
    found = measure(pair, seed=2, labels=labels)
    whole = measure(pair, seed=2, labels=labels, matches=match_pair(pair, everyone=True))
    assert (found.sampled, found.n_targets, found.n_records) == (True, 60, 400)
    assert (whole.sampled, whole.n_targets, whole.rows) == (False, 400, None)
    assert found.records.tolist() == whole.records[found.rows].tolist()
    assert found.record_ties.tolist() == whole.record_ties[found.rows].tolist()
    assert found.by_group.records.tolist() == whole.by_group.records[found.rows].tolist()
    assert found.by_group.bound == whole.by_group.bound == 0.5
    assert found.by_group.holds
    assert found.by_group.interval[0] <= found.by_group.mean <= found.by_group.interval[1]
    assert whole.by_group.interval == (whole.by_group.mean, whole.by_group.mean)


@pytest.mark.usefixtures("costly")
def test_sampled_intervals_cover_what_everybody_has():
    # At least 95 % each: of 150 samples, more than 17 misses have a chance below 0.0005.
    pair = pair_of()
    exact = measure(pair, matches=match_pair(pair, everyone=True), labels=np.arange(400) // 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_MOST", 10**6)
        patch.setattr(nearest, "_FEWEST", 10**6)
        linked = risk.linkage(pair.original.frame, pair.released, SCHEMA)
    assert not linked.sampled
    misses = np.zeros(3, dtype=int)
    for seed in range(150):
        found = measure(pair, trials=1, seed=seed, labels=np.arange(400) // 4)
        links = risk.record_linkage.measure(pair, seed=seed)
        assert links.sampled
        misses += [
            not found.interval[0] <= exact.expected <= found.interval[1],
            not found.by_group.interval[0] <= exact.by_group.mean <= found.by_group.interval[1],
            not links.interval[0] <= linked.share <= links.interval[1],
        ]
    assert (misses <= 17).all()


@pytest.mark.usefixtures("costly")
def test_a_samples_mean_is_unbiased():
    # Mean of 150 samples: 4 standard errors, a chance of 6e-5.
    pair = pair_of(4)
    exact = measure(pair, matches=match_pair(pair, everyone=True)).records
    means = [measure(pair, trials=1, seed=seed).expected for seed in range(150)]
    assert abs(np.mean(means) - exact.mean()) < 4 * exact.std() / math.sqrt(60 * 150)


@pytest.mark.usefixtures("costly")
def test_guesses_are_made_for_the_sample():
    pair = pair_of()
    found = risk.attribute_inference.measure(pair, seed=1)
    whole = risk.attribute_inference.measure(pair, matches=match_pair(pair, everyone=True))
    assert (found.sampled, found.n_targets, whole.sampled, whole.n_targets) == (True, 60, False, 400)
    for name in ("ill", "cost"):
        assert found.columns[name].value == pytest.approx(whole.columns[name].value, rel=0.4)


@pytest.mark.usefixtures("costly")
def test_a_whole_assessment_says_that_it_sampled():
    words = assess(pair_of(), labels=np.arange(400) // 4, k=4).to_dict()
    json.dumps(words, allow_nan=False)
    assert words["reidentification"]["sampled"]
    assert words["reidentification"]["by_group"]["n_targets"] == 60
    assert words["linkage"]["n_targets"] == words["inference"]["n_targets"] == 60
    assert words["closest"] is None


def test_no_indicator_of_any_level_is_ever_made(monkeypatch):
    monkeypatch.setattr(encode, "_WIDEST_MATRIX", 0)
    pair = pair_of()
    assert assess(pair).reidentification.n_targets == 400


def test_nobodys_rows_are_not_linked(monkeypatch):
    table = people(0)
    pair = Pair.of(table, people(1), SCHEMA, np.full(400, NOBODY))
    monkeypatch.setattr(risk.record_linkage, "match", None)
    found = assess(pair)
    assert (found.linkage.share, found.linkage.n_targets, found.linkage.n_rows) == (None, 0, 400)
    assert found.closest is not None


@given(st.floats(0, 1), st.integers(1, 10**5))
def test_chernoffs_ends_are_where_the_divergence_says(mean, n):
    low, high = chernoff(mean, n)
    assert 0 <= low <= mean <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            parts = [q * math.log(q / p) for q, p in ((mean, end), (1 - mean, 1 - end)) if q > 0]
            assert n * sum(parts) <= math.log(40) * (1 + 1e-6)


def test_chernoff_of_no_hit_is_the_known_bound():
    assert chernoff(0.0, 5000) == pytest.approx((0.0, 1 - (0.025) ** (1 / 5000)))
    assert chernoff(1.0, 10)[1] == 1.0
    assert chernoff(0.3, 0) == (0.0, 1.0)


def test_tried_on_everybody_is_what_a_search_of_all_rows_finds(request, monkeypatch):
    """Each measure that asked a sample, asked of all, gives the share that it has where all is affordable."""
    pair = pair_of()
    exact = assess(pair, seed=3)
    assert sampled(exact) == ()
    request.getfixturevalue("costly")
    monkeypatch.setattr("shoal.risk.unchanged.MOST_TARGETS", 100)
    asked = {one.measure: one for one in sampled(assess(pair_of(), seed=3))}
    assert {name: one.n_tried for name, one in asked.items()} == {
        "reidentification": 60,
        "unchanged": 100,
        "linkage": 60,
    }
    full = {name: tried_on_all(pair_of(), name, seed=3) for name in asked}
    assert {one.n_tried for one in full.values()} == {400}
    assert full["reidentification"].share == pytest.approx(exact.reidentification.expected)
    assert full["linkage"].share == pytest.approx(exact.linkage.share)
    low, high = wilson(exact.unchanged.expected, 400)  # four attacks of a hundred people each, not one of them all
    assert low <= full["unchanged"].share <= high
    assert {one.name for one in full.values()} == set(NAMES.values())
