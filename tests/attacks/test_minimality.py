"""Minimality: a class has five values among six people, and whoever knows the method knows the value of two of them.

Two people are 30 and four are 60. A method that asks for classes of 2 people and 2 values would keep the ages apart,
unless the two of 30 share their value. It did not keep them apart, and only one value occurs twice.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

import shoal
from shoal.coarsening.coarsener import Coarsener
from shoal.condition.requirements import MINIMALITY
from shoal.conform import prepare

AGES = [30, 30, 60, 60, 60, 60]
SCHEMA = shoal.Schema.of(
    quasi=["age"],
    sensitive=["ill"],
    hierarchies={"age": {"kind": "intervals", "widths": [100]}},
    kinds={"ill": "nominal"},
)
METHODS = [shoal.Mondrian(k=2, diversity=2), shoal.Generalize(k=2, diversity=2, suppression=0.0)]


def ages_written(method: Coarsener, values: tuple[str, ...]) -> list[str]:
    table = pl.DataFrame({"age": AGES, "ill": values})
    written = method.apply(prepare(table, SCHEMA), seed=1).columns
    return written.get("age", table["age"]).cast(pl.String).to_list()


def posterior(method: Coarsener, seen: list[str], values: tuple[str, ...], secret: str) -> Fraction:
    """P(the first person has `secret` | what was written), over all deals of the released values to the six people."""
    possible: set[tuple[str, ...]] = set()
    for deal in permutations(values):  # only who is 30 matters to the method, in any order
        possible.add((*sorted(deal[:2]), *sorted(deal[2:])))
    fitting = [deal for deal in possible if ages_written(method, deal) == seen]
    ways = {deal: _orders(deal[:2]) * _orders(deal[2:]) for deal in fitting}
    first = sum(ways[deal] * Fraction(deal[:2].count(secret), 2) for deal in fitting)
    return first / sum(ways.values())


def _orders(values: tuple[str, ...]) -> int:
    return len(set(permutations(values)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_who_knows_the_method_knows_the_value(method: Coarsener) -> None:
    values = ("hiv", "hiv", "flu", "gout", "acne", "cold")
    seen = ages_written(method, values)
    assert len(set(seen)) == 1  # all six are one class
    assert len(set(values)) == 5  # of five values: 2-diversity holds with ease
    assert posterior(method, seen, values, "hiv") == 1  # where the class alone says 1/3


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_where_the_ages_stay_apart_nothing_follows(method: Coarsener) -> None:
    values = ("hiv", "flu", "hiv", "gout", "acne", "cold")
    seen = ages_written(method, values)
    assert len(set(seen)) == 2


def test_the_claim_has_words_for_it() -> None:
    assert "minimality" in MINIMALITY
