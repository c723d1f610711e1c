"""Where not all people are tried, those who are were drawn at random."""

import numpy as np

from shoal.risk.linked_rows import _in_random_order


def test_places_lead_back_to_people():
    person = np.array([7, 3, 3, 9, 7])
    people, place = _in_random_order(person, seed=1)
    assert people[place].tolist() == person.tolist()


def test_the_first_are_a_sample():
    first = [int(_in_random_order(np.arange(50), seed)[0][0]) for seed in range(40)]
    assert len(set(first)) > 10
