"""The coding that all tables share, checked by hand."""

import numpy as np
import polars as pl

from shoal import Schema
from shoal.design import distinct_rows, joint_cells
from shoal.domain.bins import quantiles
from shoal.frame import series
from shoal.shift.people import read_market, with_kinds
from shoal.shift.populations import learn_design

SCHEMA = Schema.of(
    quasi=["level", "town", "x"],
    kinds={"level": "ordinal", "town": "nominal", "x": "numeric"},
    levels={"level": ["low", "mid", "high"]},
)
TABLE = pl.DataFrame({"level": ["low", "high", None, "mid"], "town": ["b", "a", "c", "a"], "x": [1.0, 5.0, 1.0, 9.0]})


def design(bins=20):
    people = read_market(TABLE, with_kinds(TABLE, SCHEMA, "t"), "t")
    return learn_design([people], with_kinds(TABLE, SCHEMA, "t"), bins), people


def test_codes_and_cells():
    coding, people = design()
    codes = coding.codes(people.frame)
    assert codes.tolist() == [[0, 1, 1], [2, 0, 5], [3, 2, 1], [1, 0, 9]]
    assert coding.cells(codes).tolist() == [[0, 1, 0], [2, 0, 1], [3, 2, 0], [1, 0, 2]]


def test_dummy_matrix():
    coding, people = design()
    X = coding.matrix(coding.codes(people.frame), "dummy")
    names = coding.column_names("dummy")
    assert names[:5] == ["level = mid", "level = high", "level = missing", "town = b", "town = c"]
    assert X.shape == (4, len(names)) == (4, 7)
    assert X[1].tolist() == [0, 1, 0, 0, 0, 1, 0]
    assert X[0].tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_numeric_matrix_is_linear_and_standardised():
    coding, people = design()
    X = coding.matrix(coding.codes(people.frame), "numeric")
    assert coding.column_names("numeric") == ["level", "level = missing", "town = b", "town = c", "x"]
    assert X[2, 0] == 0
    assert X[2, 1] == 1
    assert np.isclose(X[1, 0] - X[3, 0], X[3, 0] - X[0, 0])
    assert np.isclose(X[:, 4].mean(), 0)
    assert np.isclose(X[:, 4].std(), 1)


def test_unknown_levels_come_after_the_last():
    coding, _ = design()
    other = TABLE.with_columns(town=pl.lit("z"))
    people = read_market(other, with_kinds(TABLE, SCHEMA, "t"), "t")
    assert set(coding.codes(people.frame)[:, 1]) == {3.0}
    assert coding.factors[1].strange_levels(series(people.frame, "town")) == ["z"]


def test_labels_of_bins():
    coding, people = design(bins=2)
    factor = coding.factors[2]
    assert [factor.axis.label(cell) for cell in range(3)] == ["up to 1", "above 1", "missing"]
    assert factor.cells(coding.codes(people.frame)[:, 2]).tolist() == [0, 1, 0, 1]


def test_joint_cells_agree_between_tables():
    a, b = np.array([[0, 1], [2, 3]]), np.array([[2, 3], [2, 1]])
    (first, second), n = joint_cells([a, b])
    assert n == 3
    assert first[1] == second[0]
    assert len({*first, *second}) == 3


def test_joint_cells_of_many_columns():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 1000, (50, 12))
    (numbers,), n = joint_cells([np.vstack([cells, cells])])
    assert n == 50
    assert (numbers[:50] == numbers[50:]).all()


def test_distinct_rows():
    codes = np.array([[1.5, 2.0], [0.0, 1.0], [1.5, 2.0]])
    points, row = distinct_rows(codes)
    assert len(points) == 2
    assert (points[row] == codes).all()


def test_weighted_quantiles_are_those_of_repeated_rows():
    values, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 5.0, 2.0, 2.0])
    repeated = np.repeat(values, weights.astype(int))
    for bins in (2, 4, 5):
        assert quantiles(values, weights, bins).tolist() == quantiles(repeated, np.ones(10), bins).tolist()
