"""Texts that are numbers with marks between their thousands are noticed, and how to read them is said."""

import polars as pl
import pytest

from shoal.schema.evidence import look, number_marks
from shoal.schema.infer import propose


@pytest.mark.parametrize(
    ("texts", "marks"),
    [
        (["1.250,50", "80", "12.000"], (".", ",")),
        (["1,250.50", "80.5", "12,000"], (",", ".")),
        (["1 250,5", "999"], (" ", ",")),
        (["1'250.5", "999"], ("'", ".")),
        (["12", "999"], None),
        (["1.25", "3.5"], None),
        (["1.250", "12345"], None),
        (["1.250", "n/a"], None),
        (["10.1.2020", "11.2.2021"], None),
    ],
)
def test_marks_of_numbers(texts, marks):
    assert number_marks(look(pl.Series("x", texts))) == marks


def test_the_proposal_says_how_to_read_them():
    table = pl.DataFrame({"cost": [f"1.{i:03d},5" for i in range(20)], "sex": ["f", "m"] * 10})
    reasons = propose(table).reasons
    assert '--thousands "." --decimal ","' in reasons["cost"]
    assert "thousands" not in reasons["sex"]
