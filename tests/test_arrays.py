import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.arrays import distinct_numbers, numbered

near = st.integers(-50, 50)
far = st.integers(-(2**61), 2**61)


@given(arrays(np.int64, st.integers(0, 40), elements=near | far))
def test_numbers_and_places_are_those_of_a_sort(values):
    present, place = np.unique(values, return_inverse=True)
    found, at = numbered(values)
    np.testing.assert_array_equal(found, present)
    np.testing.assert_array_equal(at, place.reshape(-1))
    np.testing.assert_array_equal(distinct_numbers(values), present)
