from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shoal.schema import Schema
from shoal.utility.design import WIDEST, _student, design_width, designs, least_squares, stack
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


def build(columns, code="numeric"):
    frame = pl.DataFrame(columns)
    pair = side_by_side(frame, frame, Schema.of(quasi=list(columns)))
    design, _, layout = designs(quasi_columns(pair), code)
    return design, layout


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(1e4, 3, n), rng.normal(-2, 100, n)
    return {"a": a, "b": b}, 7 + 2 * a - 0.5 * b + rng.normal(size=n), rng.integers(1, 5, n).astype(float)


def test_equals_the_textbook():
    columns, y, _ = data()
    fit = least_squares(*build(columns), y, np.ones(60), robust=False)
    X = np.column_stack([np.ones(60), columns["a"], columns["b"]])
    expected, residual, _, _ = np.linalg.lstsq(X, y, rcond=None)
    assert fit.coefficients == pytest.approx(expected, rel=1e-6)
    errors = np.sqrt(residual[0] / 57 * np.diag(np.linalg.inv(X.T @ X)))
    assert fit.errors == pytest.approx(errors, rel=1e-4)
    assert fit.half_widths == pytest.approx(errors * stats.t.ppf(0.975, 57), rel=1e-4)
    assert fit.estimable.all()


def test_the_sandwich_equals_its_formula():
    columns, y, w = data(seed=1)
    fit = least_squares(*build(columns), y, w, robust=True)
    X = np.column_stack([np.ones(60), columns["a"] - 1e4, columns["b"]])
    bread = np.linalg.inv(X.T @ (w[:, None] * X))
    beta = bread @ X.T @ (w * y)
    residuals = y - X @ beta
    meat = X.T @ ((w * residuals)[:, None] ** 2 * X)
    errors = np.sqrt(np.diag(bread @ meat @ bread) * 60 / 57)
    assert fit.coefficients[1:] == pytest.approx(beta[1:], rel=1e-6)
    assert fit.errors[1:] == pytest.approx(errors[1:], rel=1e-4)


@pytest.mark.parametrize("robust", [False, True])
def test_the_scale_of_weights_does_not_matter(robust):
    columns, y, w = data(seed=2)
    one, other = (least_squares(*build(columns), y, scale * w, robust=robust) for scale in (1.0, 40.0))
    assert one.coefficients == pytest.approx(other.coefficients)
    assert one.errors == pytest.approx(other.errors)


def test_a_weight_of_two_equals_a_row_twice():
    columns, y, w = data(seed=3)
    design, layout = build(columns)
    rows = np.repeat(np.arange(60), w.astype(int))
    repeated = least_squares(design.take(rows), layout, y[rows], np.ones(len(rows)), robust=False)
    weighted = least_squares(design, layout, y, w, robust=False)
    assert weighted.coefficients == pytest.approx(repeated.coefficients)


def test_collinear_columns_are_not_estimable_but_predict():
    columns, y, _ = data(seed=4)
    columns = columns | {"twice": 2 * columns["a"], "flat": np.full(60, 5.0)}
    design, layout = build(columns)
    fit = least_squares(design, layout, y, np.ones(60), robust=False)
    assert fit.estimable.tolist() == [True, False, True, False, False]
    plain = least_squares(*build(data(seed=4)[0]), y, np.ones(60), robust=False)
    assert fit.predict(design) == pytest.approx(plain.predict(build(data(seed=4)[0])[0]))
    assert fit.coefficients[2] == pytest.approx(plain.coefficients[2])


def test_more_variables_than_rows():
    design, layout = build({"a": [1.0, 2.0], "b": [1.0, 5.0]})
    fit = least_squares(design, layout, np.array([1.0, 2.0]), np.ones(2), robust=False)
    assert np.isnan(fit.half_widths).all()
    assert fit.predict(design) == pytest.approx([1.0, 2.0])


def test_rows_of_weight_zero_count_for_nothing():
    columns, y, _ = data(seed=5)
    design, layout = build(columns)
    kept = np.arange(60) < 40
    one = least_squares(design, layout, y, kept.astype(float), robust=False)
    other = least_squares(design.take(kept), layout, y[kept], np.ones(40), robust=False)
    assert one.coefficients == pytest.approx(other.coefficients)
    assert one.errors == pytest.approx(other.errors)


@pytest.mark.parametrize("freedom", [1, 7, 99, 100, 101, 5000, 10**7])
def test_the_point_of_students_t(freedom):
    assert _student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-8)
