"""Metrics in words: matrices, trees, functions, and what they are held to."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.conform import prepare
from shoal.distance import Metric, Spaces
from shoal.encode import Encoder
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.schema import Schema

ROWS = [["", "a", "b", "c"], ["a", "0", "1", "4"], ["b", "1", "0", "2"], ["c", "4", "2", "0"]]


def spaces_of(table, **schema):
    prepared = prepare(table, Schema.of(quasi=table.columns, **schema))
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    codes = encoder.codes(prepared.frame)
    return Spaces.fit(prepared.schema, encoder, codes), codes


def test_matrix_is_looked_up_by_level_whatever_the_order():
    table = pl.DataFrame({"place": ["c", "a", "b", "c", "c", "b"]})
    spaces, codes = spaces_of(table, metrics={"place": {"kind": "matrix", "rows": ROWS}})
    space, at = spaces.columns[0], spaces.positions(codes)[:, 0]
    expected = {("a", "b"): 1, ("a", "c"): 4, ("b", "c"): 2}
    for i, a in enumerate(table["place"]):
        for k, b in enumerate(table["place"]):
            assert space.distance(at[i], at[k]) == expected.get((a, b), expected.get((b, a), 0))


def test_words_survive_a_schema_file(tmp_path):
    (tmp_path / "places.csv").write_text("\n".join(";".join(row) for row in ROWS))
    (tmp_path / "schema.toml").write_text(
        '[columns.place]\nrole = "quasi"\nmetric = { kind = "matrix", file = "places.csv" }\n'
        '[columns.code]\nrole = "quasi"\nmetric = { kind = "tree", lengths = [1, 3] }\n'
    )
    schema = Schema.read(tmp_path / "schema.toml")
    metric = Metric.of(schema["place"].metric)
    assert metric.distances(["a", "c"])[0, 1] == 4
    assert Metric.of(metric.to_dict()) == metric
    schema.write(tmp_path / "again.toml")
    assert Metric.of(Schema.read(tmp_path / "again.toml")["code"].metric) == Metric(kind="tree", lengths=(1, 3))


def test_tree_of_prefixes_counts_steps():
    every = Metric(kind="tree")
    assert every.distances(["I21", "I210", "I50", "C50"]).tolist() == [
        [0, 1, 4, 6],
        [1, 0, 5, 7],
        [4, 5, 0, 6],
        [6, 7, 6, 0],
    ]


def test_tree_of_rows_counts_steps_to_the_common_ancestor():
    rows = (("Lyon", "France", "Europe"), ("Paris", "France", "Europe"), ("Rome", "Italy", "Europe"), ("Lima", "Peru"))
    found = Metric(kind="tree", rows=rows).distances(["Lyon", "Paris", "Rome", "Lima"])
    assert found.tolist() == [[0, 2, 4, 5], [2, 0, 4, 5], [4, 4, 0, 5], [5, 5, 5, 0]]


@given(st.lists(st.text("AB01.", min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
def test_tree_is_a_metric(codes):
    table = Metric(kind="tree").distances(codes)
    assert (table == table.T).all()
    assert (np.diag(table) == 0).all()
    assert (table >= 0).all()
    n = range(len(codes))
    assert all(table[i, k] <= table[i, j] + table[j, k] for i in n for j in n for k in n)


def test_function_becomes_a_matrix():
    ring = Metric.tabulate(lambda a, b: min((a - b) % 12, (b - a) % 12), [1, 2, 11, 12, 12, None])
    assert ring.kind == "matrix"
    spaces, codes = spaces_of(pl.DataFrame({"month": [12, 1, 2, 11, 12]}), metrics={"month": ring})
    space, at = spaces.columns[0], spaces.positions(codes)[:, 0]
    assert space.shape == "table"
    assert space.distance(at[:1], at).tolist() == [0, 1, 2, 1, 0]
    assert (spaces.codes(spaces.positions(codes)) == codes).all()


def test_missing_level_is_as_far_as_the_farthest():
    table = pl.DataFrame({"place": ["a", None, "b", "c"]})
    spaces, codes = spaces_of(table, metrics={"place": {"kind": "matrix", "rows": ROWS}})
    space, at = spaces.columns[0], spaces.positions(codes)[:, 0]
    assert space.distance(np.full(4, at[1]), at).tolist() == [4, 0, 4, 4]


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda a, b: float("nan") if a != b else 0.0, "finite"),
        (lambda a, b: float(b - a), "negative"),
        (lambda a, b: 2.0 if a < b else float(a > b), "symmetric"),
        (lambda a, b: 1.0, "itself"),
    ],
)
def test_function_that_is_no_metric(function, word):
    with pytest.raises(SchemaError, match=word):
        Metric.tabulate(function, [1, 2, 3])


def test_bad_words():
    with pytest.raises(SchemaError, match="kind must be one of"):
        Metric.of({"kind": "haversine"})
    with pytest.raises(SchemaError, match="no entry weight"):
        Metric.of({"kind": "numeric", "weight": 2})
    with pytest.raises(SchemaError, match="square"):
        Metric.of({"kind": "matrix", "rows": ROWS[:-1]})
    with pytest.raises(SchemaError, match="square"):
        Metric.of({"kind": "matrix"})
    with pytest.raises(SchemaError, match="numbers"):
        Metric.of({"kind": "matrix", "rows": [["", "a"], ["a", "zero"]]})
    with pytest.raises(SchemaError, match="takes no rows"):
        Metric.of({"kind": "nominal", "rows": ROWS})
    with pytest.raises(SchemaError, match="lengths"):
        Metric.of({"kind": "tree", "lengths": [3, 1]})
    with pytest.raises(ParameterError, match="must return a number"):
        Metric.tabulate(lambda a, b: "near", [1, 2])
    with pytest.raises(ParameterError, match="3 by 3"):
        Metric.matrix(["a", "b", "c"], np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="at most 2000"):
        Metric.tabulate(lambda a, b: 0.0, range(2001))


def test_level_that_the_matrix_lacks_is_counted_not_named():
    table = pl.DataFrame({"place": ["a", "b", "Sentinel"]})
    with pytest.raises(ColumnError, match="1 levels") as caught:
        spaces_of(table, metrics={"place": {"kind": "matrix", "rows": ROWS}})
    assert "Sentinel" not in str(caught.value)
    assert "place" in str(caught.value)
    rows = [["a", "x"], ["b", "x"]]
    with pytest.raises(ColumnError, match="not listed in its tree"):
        spaces_of(table, metrics={"place": {"kind": "tree", "rows": rows}})


def test_metric_must_fit_the_kind():
    with pytest.raises(ColumnError, match="metric ordinal"):
        spaces_of(pl.DataFrame({"x": ["a", "b"]}), metrics={"x": "ordinal"})
    with pytest.raises(ColumnError, match="metric numeric"):
        spaces_of(pl.DataFrame({"x": ["a", "b"]}), metrics={"x": "numeric"})
    spaces, _ = spaces_of(pl.DataFrame({"x": [1, 2, 3]}), metrics={"x": "nominal"})
    assert spaces.columns[0].shape == "equal"


def test_too_many_levels_for_a_table():
    table = pl.DataFrame({"code": [f"{i:04d}" for i in range(2001)]})
    with pytest.raises(ColumnError, match="at most 2000"):
        spaces_of(table, kinds={"code": "nominal"}, metrics={"code": "tree"})
