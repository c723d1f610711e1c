"""How many rounds of polishing: many for few rows, at least three for any number."""

import pytest

from shoal.synth.pegs_by_graph import _rounds


@pytest.mark.parametrize(("n", "rounds"), [(1, 30), (16_000, 30), (100_000, 5), (200_000, 3), (10**7, 3)])
def test_rounds_fall_with_the_rows_and_never_below_three(n, rounds):
    assert _rounds(n) == rounds
