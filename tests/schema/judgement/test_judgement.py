"""One record says what a column holds."""

import polars as pl
import pytest

from shoal.schema.judgement.judgement import judge_column

PEOPLE = 40


def judged(name, cells):
    return judge_column(pl.Series(name, cells))


@pytest.mark.parametrize(
    ("name", "cells", "holds"),
    [
        ("x7", [f"p{i}@clinic.org" for i in range(PEOPLE)], "contact"),
        ("x7", [f"{i % 12 + 1}/{i % 28 + 1}/1987" for i in range(PEOPLE)], "date"),
        ("city", ["Ghent", "Lyon"] * 20, "place"),
        ("age", [31, 45, 92, 97] * 10, "age"),
        ("perwt", [1.5 + i for i in range(PEOPLE)], "weight"),
        ("glucose", [90.5 + i for i in range(PEOPLE)], "measurement"),
        ("sex", ["f", "m"] * 20, "level"),
        ("x7", [None] * PEOPLE, "nothing"),
        ("remarks", [f"Person number {i} came on foot, and went home again" for i in range(PEOPLE)], "free text"),
    ],
)
def test_columns_are_judged_by_what_they_hold(name, cells, holds):
    assert judged(name, cells).holds == holds


def test_reasons_hold_no_cell():
    made = judged("x7", [f"zq{i}@clinic.org" for i in range(PEOPLE)])
    assert made.reasons
    assert "zq" not in str(made.reasons)
    assert "clinic" not in str(made.to_dict())


@pytest.mark.parametrize(("zero", "holds"), [("\uff10", "identifier"), ("\u0660", None)], ids=["full width", "Arabic"])
def test_numbers_in_digits_of_other_scripts_are_judged_without_a_fault(zero, holds):
    cells = ["".join(chr(ord(zero) + int(digit)) for digit in str(1_000_000 + 7 * i)) for i in range(200)]
    made = judge_column(pl.Series("x7", cells))
    assert made.holds == holds or holds is None
