"""Numbers that would tell of few people are not told outside."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report import Evidence
from shoal.report.pieces import capped, guarded


@pytest.mark.parametrize(
    ("held", "outside", "inside"),
    [
        (0, "0%", "0%"),
        (3, "under 0.5%", "0.3%"),
        (5, "0.5%", "0.5%"),
        (995, "99.5%", "99.5%"),
        (997, "over 99.5%", "99.7%"),
        (1000, "100%", "100%"),
    ],
)
def test_a_share_of_few_people_is_under_or_over_a_limit(
    evidence: Evidence, held: int, outside: str, inside: str
) -> None:
    assert guarded(held / 1000, 1000, evidence, internal=False) == outside
    assert guarded(held / 1000, 1000, evidence, internal=True) == inside


@given(st.integers(6, 300), st.data())
def test_small_counts_look_alike(evidence: Evidence, n: int, data: st.DataObject) -> None:
    few = data.draw(st.integers(1, min(evidence.k, n // 2) - 1))
    assert guarded(few / n, n, evidence, internal=False) == guarded(1 / n, n, evidence, internal=False)


def test_a_share_of_rows_is_not_told_where_people_have_several(evidence: Evidence) -> None:
    several = replace(evidence, has_unit=True)
    assert guarded(0.5, 1000, several, internal=False) == "–"
    assert guarded(0.5, 1000, several, internal=True) == "50%"


def test_a_risk_above_one_in_k_is_told_as_such() -> None:
    assert capped(0.5, 5, internal=False) == capped(1.0, 5, internal=False) == "over 20%"
    assert capped(0.2, 5, internal=False) == "20%"
    assert capped(0.5, 5, internal=True) == "50%"
