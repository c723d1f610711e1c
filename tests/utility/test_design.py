import numpy as np
import polars as pl
import pytest

from shoal.schema import Schema
from shoal.utility.design import WIDEST, design_width, designs, stack
from shoal.utility.tables import quasi_columns, side_by_side


@pytest.fixture(params=["dummy", "numeric"])
def built(request, survey, noise, schema):
    return designs(quasi_columns(side_by_side(survey, noise, schema)), request.param, bins=6)


def test_both_grams_equal_the_spread_out_product(built):
    for design in built[:2]:
        weights = np.random.default_rng(0).random(design.n)
        spread = design.rows(0, design.n)
        expected = spread.T @ np.diag(weights) @ spread
        assert design._gram_by_counts(weights) == pytest.approx(expected)
        assert design._gram_by_rows(weights) == pytest.approx(expected)
        assert design.gram(weights) == pytest.approx(expected)
        assert design.cross(weights) == pytest.approx(spread.T @ weights)
        coefficients = np.random.default_rng(1).normal(size=design.width)
        assert design.dot(coefficients) == pytest.approx(spread @ coefficients)


def test_terms_name_every_variable(built):
    original, released, layout = built
    assert original.width == released.width == len(layout.terms) == len(set(layout.terms))
    assert layout.terms[0] == "(intercept)"


def test_take_and_stack(built):
    original, released, _ = built
    rows = np.array([3, 1])
    assert (original.take(rows).rows(0, 2) == original.rows(0, original.n)[rows]).all()
    both = stack(original, released)
    assert both.n == original.n + released.n
    assert (both.rows(original.n, both.n) == released.rows(0, released.n)).all()


def columns_of(original, released, **schema):
    return quasi_columns(side_by_side(pl.DataFrame(original), pl.DataFrame(released), Schema.of(quasi=["x"], **schema)))


def test_the_reference_is_the_most_frequent_level():
    columns = columns_of({"x": ["a", "b", "b", "c"]}, {"x": ["b", "b", "b", None]})
    original, released, layout = designs(columns, "dummy")
    assert layout.terms == ("(intercept)", "x[1]", "x[2]", "x[3]")
    assert original.rows(0, 4).tolist() == [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]]
    assert released.rows(3, 4).tolist() == [[1, 0, 0, 1]]  # missing, which only the release has


def test_missing_numbers_are_marked():
    columns = columns_of({"x": [1.0, 3.0]}, {"x": [None, 3.0]})
    _, released, layout = designs(columns, "numeric")
    assert layout.terms == ("(intercept)", "x", "x[missing]")
    assert released.rows(0, 2).tolist() == [[1, 0, 1], [1, 1, 0]]


def test_rare_levels_are_merged():
    levels = [f"v{i}" for i in range(80)]
    columns = columns_of({"x": levels + levels[:30]}, {"x": levels + levels[:30]})
    original, _, layout = designs(columns, "dummy")
    assert layout.terms[-1] == "x[other]"
    assert original.width == 51


def test_wide_tables_stay_bounded(wide):
    table, schema = wide
    columns = quasi_columns(side_by_side(table, table, schema))
    original, _, _ = designs(columns, "dummy")
    assert original.width <= WIDEST + 1
    assert design_width(columns) > WIDEST
