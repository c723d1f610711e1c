"""Features that groups are balanced on: none rests on a few people."""

import numpy as np
import pytest

from shoal.group.features import Content, features_of, guarded
from shoal.rng import stream


def slow_people(values):
    z = (values - values.mean()) / values.std()
    z = np.clip(z, -4, 4)
    z = (z - z.mean()) / z.std()
    return len(z) / np.mean(z**4)


@pytest.mark.parametrize(("n_cases", "used"), [(1, False), (3, False), (6, False), (19, False), (20, True), (21, True)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_level_of_fewer_than_twenty_people_is_no_feature(n_cases, used, turned):
    values = np.zeros(2000)
    values[:n_cases] = 1.0
    assert (guarded(1 - values if turned else values) is not None) == used


def test_a_number_present_for_five_people_is_no_feature():
    numbers = np.full(1000, np.nan)
    numbers[:5] = [1.0, 5.0, 3.0, 2.0, 9.0]
    assert features_of([[Content(numbers=numbers, levels=np.isnan(numbers).astype(int))]], 1000).values.shape[1] == 0


@pytest.mark.parametrize("n", [300, 3000])
def test_heavy_tails_are_clipped_and_rest_on_many(n):
    values = np.exp(3 * stream(1, "lognormal").normal(size=n))
    found = guarded(values)
    assert (found is not None) == (slow_people(values) >= 20)
    if found is not None:
        assert found[1] == pytest.approx(slow_people(values))
        assert np.abs(found[0]).max() < 30


def test_features_are_standardised_and_side_by_side():
    rng = stream(2, "features")
    age, sex, place = rng.normal(size=500), rng.integers(0, 2, 500), rng.integers(0, 5, 500)
    found = features_of([[Content(numbers=age)], [Content(levels=sex)], [Content(levels=place)]], 500)
    assert found.block.tolist() == [0, 0, 1, 2, 2, 2, 2]
    assert np.allclose(found.values.mean(axis=0), 0)
    assert np.allclose(found.values.std(axis=0), 1)
    assert np.array_equal(np.sign(found.values[:, 0]), np.sign(age - age.mean()))


def test_what_a_block_holds_together_is_a_feature_unless_few_people_have_it():
    time = stream(3, "time").exponential(size=400)
    event = np.arange(400) % 2
    both = features_of([[Content(numbers=time), Content(levels=event)]], 400)
    assert both.values.shape[1] == 5  # time, its square rank, event, and two products
    first, second = np.arange(400) < 30, (np.arange(400) >= 29) & (np.arange(400) < 59)  # one person has both
    pair = features_of([[Content(levels=first.astype(int)), Content(levels=second.astype(int))]], 400)
    assert pair.values.shape[1] == 2
    assert np.abs(pair.values).max() < 5


def test_levels_by_the_thousand_and_after_the_thirtieth_are_one():
    codes = np.arange(5000) % 2500
    assert features_of([[Content(levels=codes)]], 5000).values.shape[1] == 0
    fifty = features_of([[Content(levels=np.arange(5000) % 50)]], 5000)
    assert fifty.values.shape[1] == 30


def test_constant_columns_and_few_people_give_none():
    constant = Content(numbers=np.ones(100), levels=np.zeros(100, dtype=int))
    assert features_of([[constant]], 100).values.shape == (100, 0)
    assert features_of([[Content(levels=np.array([0, 1] * 9))]], 18).values.shape == (18, 0)


def test_a_number_with_two_values_has_no_square_of_its_own():
    assert features_of([[Content(numbers=np.array([0.0, 1.0, 1.0, 1.0] * 50))]], 200).values.shape[1] == 1


def test_a_combination_of_enough_people_is_a_feature():
    first, second = np.arange(400) < 60, (np.arange(400) >= 40) & (np.arange(400) < 120)  # twenty have both
    pair = features_of([[Content(levels=first.astype(int)), Content(levels=second.astype(int))]], 400)
    assert pair.values.shape[1] == 3
