"""Risk on the joined view: exact where it can be, and from classes drawn at random where it can't."""

import numpy as np
import pytest

import shoal
from shoal.linked import Collection
from shoal.linked.joint import assess_collection
from shoal.rng import stream

SCHEMA = shoal.datasets.clinic_schema()


@pytest.fixture(scope="module")
def collection():
    return Collection.of(shoal.datasets.clinic(400, visits=3.0, seed=5), SCHEMA)


def risk(collection, seed=1, size=20, **more):
    return assess_collection(collection, np.arange(400) // size, 3, stream(seed), **more)


def test_who_knows_more_finds_fewer(collection):
    found = risk(collection)
    ks = [found.k(m) for m in (0, 1, 2, 3, "any", "whole")]
    assert ks == sorted(ks, reverse=True)
    for m in (2, 3):
        assert found.k(m) <= found.k(m, "gaps") <= found.k(m, "order")
    assert all(known.interval is None and known.n_persons == 400 for known in found.by_events)


def test_a_tolerance_leaves_more_candidates(collection):
    def below(found):
        return next(k.below_share for k in found.by_events if (k.events, k.knows) == ("2", "gaps"))

    assert below(risk(collection, size=400, tolerance=30)) < below(risk(collection, size=400))


def test_drawn_classes_stand_for_all(collection, monkeypatch):
    exact = {(k.events, k.knows): k.below_share for k in risk(collection, size=8).by_events}
    monkeypatch.setattr("shoal.linked.joint._MOST_TUPLES", 1500)
    runs = [risk(collection, seed, size=8).by_events for seed in range(40)]
    drawn = [known for run in runs for known in run if known.interval is not None]
    assert drawn
    assert all(known.n_persons < 400 for known in drawn)
    kept = [k.interval[0] - 1e-9 <= exact[k.events, k.knows] <= k.interval[1] + 1e-9 for k in drawn]
    assert np.mean(kept) > 0.85  # 95 % in the limit, of shares that are not far from 0 or 1


def test_what_is_far_too_much_is_not_counted(collection, monkeypatch):
    monkeypatch.setattr("shoal.linked.joint._MOST_TUPLES", 1)
    monkeypatch.setattr("shoal.linked.joint._FAR_TOO_MANY", 1)
    assert risk(collection).k(2) is None
