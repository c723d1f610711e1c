"""Numbers within their bins: places and values are each other's inverse, spikes stay, noise does not become one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema
from shoal.domain.bins import places_in, values_in, warped, whole_numbers
from shoal.synth import PeGS, load
from shoal.synth.domain import encode_table
from shoal.synth.spend import Purse, total_budget
from shoal.synth.within_bins import SHARE, divided, with_fine_tables

SCHEMA = Schema.of(
    quasi=["sex"],
    sensitive=["cost", "weight"],
    levels={"sex": ["f", "m"]},
    bounds={"cost": (0, 999), "weight": (0.0, 200.0)},
    kinds={"cost": "numeric", "weight": "numeric"},
)


def table(n=4000, seed=1):
    """Half of the costs are 0, a quarter is 500; weights lie between 51 and 55."""
    rng = np.random.default_rng(seed)
    cost = rng.choice([0, 500, -1], n, p=[0.5, 0.25, 0.25])
    cost = np.where(cost < 0, rng.integers(1, 1000, n), cost)
    return pl.DataFrame({"sex": rng.choice(["f", "m"], n), "cost": cost, "weight": rng.integers(51, 56, n)})


@given(st.integers(-40, 40), st.integers(1, 60), st.integers(1, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_places_lead_back_to_their_values(low, width, bins, whole):
    edges = np.linspace(low - 0.5, low + width + 0.5, min(bins, width + 1) + 1)
    values = np.arange(low, low + width + 1).astype(float)
    codes = np.clip(np.searchsorted(edges[1:-1], values, side="right"), 0, len(edges) - 2)
    u = places_in(edges, codes, values, whole)
    assert ((u >= 0) & (u < 1)).all()
    assert values_in(edges, codes, u + (1e-9 if whole else 0), whole) == pytest.approx(values)
    assert whole_numbers(edges)[1].sum() == width + 1


@given(st.lists(st.floats(0, 9), min_size=1, max_size=12).filter(lambda y: sum(y) > 0.1))
@settings(max_examples=60, deadline=None)
def test_warped_places_have_the_shares_asked_for(weights):
    shares = np.array(weights) / np.sum(weights)
    u = (np.arange(4000) + 0.5) / 4000
    out = warped([shares], np.zeros(4000, dtype=np.int64), u)
    found = np.bincount((out * len(shares)).astype(int), minlength=len(shares)) / 4000
    assert found == pytest.approx(shares, abs=2 / 4000)


def test_noise_alone_is_taken_for_an_even_bin():
    rng = np.random.default_rng(1)
    divisions = [divided(rng.normal(3, 10, 64), 10.0) for _ in range(200)]
    assert np.mean([np.allclose(shares, 1 / 64) for shares in divisions]) > 0.85
    assert all(shares.sum() == pytest.approx(1) and (shares >= 0).all() for shares in divisions)


def test_a_spike_and_a_slope_are_seen():
    spike = divided(np.array([1.0, -3.0, 400.0, 2.0, 0.0, 5.0, -2.0, 1.0]), 3.0)
    assert spike[2] > 0.99
    slope = divided(np.repeat([100.0, 10.0], 16), 3.0)
    assert slope[:16].sum() == pytest.approx(1600 / 1760, abs=0.01)


def test_the_price_is_a_twelfth_and_one_record_is_in_one_cell():
    pegs, rows = PeGS(epsilon=1.0, missing="refuse"), table(50)
    budget = total_budget(1.0, None)
    seen = []

    class Watch(Purse):
        def apart(self, what, counts, prices):
            seen.append(counts)
            return super().apart(what, counts, prices)

    for frame in (rows, rows[:-1]):
        purse = Watch(left=budget)
        encoded = encode_table(frame, SCHEMA, bins=16, missing="refuse", public=True, owner="test")
        with_fine_tables(encoded, purse)
        assert purse.spent == budget * SHARE
    for one, other in zip(*seen, strict=True):
        assert np.abs(one - other).sum() == 1
    model = pegs.fit(rows, SCHEMA)
    assert str(model.spent) == "ε = 1"
    assert "a twelfth" in str(pegs.price())
    assert "a twelfth" not in str(PeGS(numbers="even").price())


def test_spikes_heaps_and_the_range_stay(tmp_path):
    rows = table()
    fine, even = (PeGS(epsilon=2.0, delta=1e-9, numbers=n).fit(rows, SCHEMA, seed=1) for n in ("fine", "even"))
    out, spread = fine.sample(4000, seed=1), even.sample(4000, seed=1)
    for heap in (0, 500):
        assert (out["cost"] == heap).mean() == pytest.approx((rows["cost"] == heap).mean(), abs=0.07)
    assert (spread["cost"] == 0).mean() < 0.05
    assert out["weight"].is_between(50, 56).mean() > 0.85 > 0.7 > spread["weight"].is_between(50, 56).mean()
    fine.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").sample(200, seed=2).equals(fine.sample(200, seed=2))


def test_levels_alone_cost_nothing():
    schema = Schema.of(quasi=["sex"], levels={"sex": ["f", "m"]})
    encoded = encode_table(table().select("sex"), schema, bins=16, missing="refuse", public=True, owner="test")
    purse = Purse(left=total_budget(1.0, None))
    assert with_fine_tables(encoded, purse) is encoded.domain
    assert purse.bought == []
