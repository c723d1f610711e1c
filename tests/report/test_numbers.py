"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.numbers import between, count, listed, number, percent, plural, seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (5, "5"),
        (1234, "1,234"),
        (12_345, "12,300"),
        (1234.5, "1,230"),
        (0.012345, "0.0123"),
        (-2.5, "−2.5"),
        (0.00001234, "1.23 × 10⁻⁵"),
        (1e-17, "0"),
        (999.6, "1,000"),
        (math.inf, "∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_have_three_digits_and_thousands(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.12345, "12.3%"),
        (0.00441, "0.441%"),
        (0.99999, ">99.9%"),
        (1e-6, "<0.01%"),
        (-0.0537, "−5.37%"),
        (1e-17, "0%"),
        (1.92, "192%"),
        (None, "–"),
    ],
)
def test_shares_are_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


@given(st.floats(1e-11, 1 - 1e-11))
def test_something_is_never_nothing_and_less_than_all_is_never_all(share: float) -> None:
    assert percent(share) not in ("0%", "100%")


@given(st.floats(1e-3, 1e9))
def test_three_digits_are_within_half_a_percent(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.00501)


def test_lists_intervals_and_counts() -> None:
    assert [listed(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert between((0.1, 0.25)) == "10% to 25%"
    assert between((1.5, 12_345), "number") == "1.5 to 12,300"
    assert between(None) == ""
    assert [plural(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert (count(15_000), seconds(0.31), seconds(125)) == ("15,000", "0.31 s", "125 s")
