"""What goes out depends on values, schema and noise alone, never on how the values happen to be stored.

Noise has no seed, so here, and only here, the one door to it is replaced: by a fixed number for every cell (then the
same table in any encoding must give the same bytes), or by an answer that ignores the counts (then *any* two tables
must give the same bytes: whatever differs has gone around the noise).
"""

import datetime
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import ColumnError, Schema
from shoal.dp import noise
from shoal.errors import ProblemsError
from shoal.frame import enter
from shoal.score import CertifiedForest, CertifiedTree
from shoal.score.model_file import to_dict
from shoal.synth import MarginalBootstrap, PeGS, PerturbedImputation

DATES = ["2024-01-31", "2024-02-29"]
SCHEMA = Schema.of(
    quasi=["stage", "smoker", "town"],
    sensitive=["seen", "visits", "dose"],
    kinds={"town": "nominal"},
    levels={"stage": [1, 2, 3], "smoker": [False, True], "town": ["Aa", "b 2", "10"], "seen": DATES},
    bounds={"visits": (0, 9)},
    edges={"dose": [0, 0.1, 2.5, 8]},
)
TYPES = [pl.Int64, pl.Boolean, pl.String, pl.Date, pl.Int64, pl.Float64]
METHODS = {
    "pairs": PeGS(epsilon=3.0),
    "pairs, delta": PeGS(epsilon=3.0, delta=1e-6),
    "tree": PeGS(epsilon=3.0, design="tree"),
    "conditionals": PeGS(epsilon=3.0, design="conditionals"),
    "by row": PeGS(scope="sample", missing="level"),
    "by block": PeGS(scope="sample", block=3, missing="level"),
    "bootstrap": MarginalBootstrap(),
    "bootstrap, delta": MarginalBootstrap(delta=1e-6),
}
SCORES = {
    "tree": CertifiedTree(1.0, SCHEMA, max_depth=2),
    "histogram": CertifiedForest(1.0, SCHEMA, random_state=1),
    "random": CertifiedForest(1.0, SCHEMA, design="random", n_trees=3, random_state=1),
    "private": CertifiedForest(1.0, SCHEMA, design="private", n_trees=2, max_depth=2, random_state=1),
}
RECORD = st.tuples(
    st.sampled_from([1, 2, 3, None]),
    st.sampled_from([True, False, None]),
    st.sampled_from(["Aa", "b 2", "10", None]),
    st.sampled_from([*DATES, None]),
    st.sampled_from([*range(10), None]),
    st.sampled_from([0.0, 0.1, 1.0, 2.5, 7.75, 8.0, None]),
)


def each(change, dtype=None):
    return lambda values: pl.Series([None if v is None else change(v) for v in values], dtype=dtype, strict=False)


def category(values):
    """A pandas column of categories, two of which nobody has."""
    found = list(dict.fromkeys(v for v in values if v is not None))
    return pd.Series(pd.Categorical(values, categories=[*found, "unused", "too"]))


def a_mix(values):
    """Every value in another type than the last, as an object column may have them."""
    forms = (str, float, int) if all(isinstance(v, bool | int | None) for v in values) else (str, str)
    return pd.Series([None if v is None else forms[i % len(forms)](v) for i, v in enumerate(values)], dtype=object)


def as_objects(values):
    return pd.Series(list(values), dtype=object)


def dictionary(values):
    plain = pa.array(list(values))
    return plain if pa.types.is_null(plain.type) else plain.dictionary_encode()  # nobody has a value: no type either


def day(text):
    return datetime.date.fromisoformat(text)


ANY = [as_objects, category, dictionary]
ENCODINGS = [
    [each(int, pl.Int8), each(float, pl.Float64), each(float, pl.Float32), each(str), each("{}.0".format),
     each("0{}".format), each(str, pl.Categorical), each(str, pl.Enum(["3", "x", "2", "1"])), each(Decimal), a_mix],
    [each(bool), each(int), each(float), each(str), each(lambda v: str(v).upper()), each(lambda v: str(int(v))), a_mix],
    [each(str), each(str, pl.Categorical), each(str, pl.Enum(["10", "Aa", "c", "b 2"])), a_mix],
    [each(day), each(lambda v: datetime.datetime.combine(day(v), datetime.time())), each(str),
     each("{} 00:00:00".format), each(str, pl.Categorical), lambda values: as_objects([v and day(v) for v in values])],
    [each(int, pl.UInt8), each(float), each(float, pl.Float32), each(str), each("{}.00".format), each(Decimal), a_mix],
    [each(float), each(float, pl.Float32), each(repr), each("{:.3f}".format), each(lambda v: Decimal(str(v)))],
]  # fmt: skip
ENCODINGS = [[*one, *ANY] for one in ENCODINGS]
NAMES = [column.name for column in SCHEMA.columns]


def plain(records):
    columns = zip(NAMES, zip(*records, strict=True), TYPES, strict=True)
    made = {name: pl.Series(values, dtype=None if dtype == pl.Date else dtype) for name, values, dtype in columns}
    return pl.DataFrame(made)


def encoded(records, choice, order, container):
    """The same records in the chosen encodings, in another order of rows and columns, in one of three dataframes."""
    rows = [records[i] for i in order]
    made = {
        name: choice[j](values) for j, (name, values) in enumerate(zip(NAMES, zip(*rows, strict=True), strict=True))
    }
    made = {name: made[name] for name in sorted(NAMES, key=lambda name: order[len(name) % len(order)])}
    if container == "polars":
        return pl.DataFrame({name: _polars(column) for name, column in made.items()})
    if container == "arrow":
        return pa.table({name: _arrow(column) for name, column in made.items()})
    return pd.DataFrame({name: _pandas(column) for name, column in made.items()})


def _polars(column):
    if isinstance(column, pd.Series):
        try:
            return pl.from_pandas(column)
        except (TypeError, ValueError, pa.ArrowException):  # a mix is only possible in pandas
            return pl.Series([None if v is None or v != v else str(v) for v in column])
    return column if isinstance(column, pl.Series) else pl.Series(column.to_pylist())


def _arrow(column):
    return column if isinstance(column, pa.Array) else _polars(column).to_arrow()


def _pandas(column):
    if isinstance(column, pd.Series):
        return column
    return column.to_pandas() if isinstance(column, pl.Series | pa.Array) else column


def _pattern(counts, scale):
    return (np.arange(np.size(counts)) * 7 % 5 - 2).reshape(np.shape(counts))


def fixed_noise(patch):
    """The same noise whenever; a choice takes the best."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        patch.setattr(noise, name, lambda counts, scale: np.asarray(counts) + _pattern(counts, scale))
    for name in ("noisy_max", "noisy_max_zcdp"):
        patch.setattr(noise, name, lambda scores, *rest, **more: int(np.argmax(scores)))


def deaf_noise(patch):
    """Answers that follow from the shape of the question alone."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        patch.setattr(noise, name, lambda counts, scale: 9 + _pattern(counts, scale))
    for name in ("noisy_max", "noisy_max_zcdp"):
        patch.setattr(noise, name, lambda scores, *rest, **more: 0)


def model_and_rows(method, table):
    """The bytes of the model file and of the CSV file."""
    model = method.fit(table, SCHEMA, seed=1)
    rows = enter(model.sample(20, seed=1)).to_polars()
    assert rows.columns == NAMES
    assert rows.dtypes[:3] == TYPES[:3]
    return json.dumps(model.to_dict()), rows.write_csv()


tables = st.lists(RECORD, min_size=1, max_size=12)
encodings = st.tuples(*[st.sampled_from(options) for options in ENCODINGS])


@pytest.mark.parametrize("name", list(METHODS))
@settings(max_examples=3)
@given(data=st.data(), records=tables, choice=encodings, container=st.sampled_from(["polars", "pandas", "arrow"]))
def test_encodings_of_a_table_give_the_same_bytes(name, data, records, choice, container):
    order = data.draw(st.permutations(range(len(records))))
    with pytest.MonkeyPatch.context() as patch:
        fixed_noise(patch)
        one = model_and_rows(METHODS[name], plain(records))
        assert model_and_rows(METHODS[name], encoded(records, choice, order, container)) == one


@pytest.mark.parametrize("column", range(len(NAMES)))
def test_every_encoding_of_every_column(column):
    records = [(1, True, "Aa", DATES[0], 3, 0.1), (None,) * 6, (3, False, "10", DATES[1], 0, 2.5)] * 2
    with pytest.MonkeyPatch.context() as patch:
        fixed_noise(patch)
        one = model_and_rows(METHODS["bootstrap"], plain(records))
        for option in ENCODINGS[column]:
            choice = [option if j == column else as_objects for j in range(len(NAMES))]
            for container in ("polars", "pandas", "arrow"):
                assert model_and_rows(METHODS["bootstrap"], encoded(records, choice, range(6), container)) == one


@pytest.mark.parametrize("name", [name for name in METHODS if not name.startswith("by")])
@settings(max_examples=2)
@given(records=tables, others=tables, choice=encodings)
def test_nothing_goes_around_the_noise(name, records, others, choice):
    with pytest.MonkeyPatch.context() as patch:
        deaf_noise(patch)
        one = model_and_rows(METHODS[name], plain(records))
        assert model_and_rows(METHODS[name], encoded(others, choice, range(len(others)), "pandas")) == one


@pytest.mark.parametrize("name", ["by row", "by block"])
@settings(max_examples=3)
@given(records=tables, others=tables, choice=encodings)
def test_by_row_only_counts_follow_the_data(name, records, others, choice):
    with pytest.MonkeyPatch.context() as patch:
        deaf_noise(patch)
        models = [
            METHODS[name].fit(table, SCHEMA)
            for table in (plain(records), encoded(others, choice, range(len(others)), "pandas"))
        ]
        one, other = (model.to_dict() | {"counts": None} for model in models)
    assert json.dumps(one) == json.dumps(other)


@settings(max_examples=2)
@given(data=st.data(), records=tables, choice=encodings)
def test_imputation_reads_values_too(data, records, choice):
    order = data.draw(st.permutations(range(len(records))))
    method = PerturbedImputation(epsilon=50.0, missing="level")
    both = plain(records), encoded(records, choice, order, "pandas")
    one, other = (method.fit(table, SCHEMA, seed=1).sample(5, seed=1) for table in both)
    assert enter(other).to_polars().write_csv() == one.write_csv()


@pytest.mark.parametrize("name", list(SCORES))
@settings(max_examples=3)
@given(data=st.data(), records=tables, others=tables, choice=encodings, y=st.sampled_from([int, float, bool, str]))
def test_certified_models(name, data, records, others, choice, y):
    records, others = ([(*r[:4], r[4] or 0, r[5] or 0.0) for r in table] for table in (records, others))
    order = data.draw(st.permutations(range(len(records))))
    model, target = SCORES[name], [i % 2 for i in range(len(records))]
    with pytest.MonkeyPatch.context() as patch:
        fixed_noise(patch)
        one = json.dumps(to_dict(model.fit(plain(records), target)))
        again = encoded(records, choice, order, "pandas")
        assert json.dumps(to_dict(model.fit(again, np.array([y(target[i]) for i in order])))) == one
        deaf_noise(patch)
        one = json.dumps(to_dict(model.fit(plain(records), target)))
        other = encoded(others, choice, range(len(others)), "pandas")
        assert json.dumps(to_dict(model.fit(other, np.array([y(1)] * len(others))))) == one


def test_pandas_types_do_not_follow_from_what_was_drawn():
    table = plain([(1, True, "Aa", DATES[0], 3, 0.1)] * 30).to_pandas()
    kinds = {tuple(map(str, MarginalBootstrap(epsilon=0.1).fit(table, SCHEMA).sample(3).dtypes[:2])) for _ in range(20)}
    assert kinds == {("Int64", "boolean")}
    assert str(MarginalBootstrap(missing="refuse").fit(table, SCHEMA).sample(3).dtypes["stage"]) == "int64"


def test_what_breaks_the_schema_is_said_of_all_columns_at_once():
    table = plain([(1, True, "Aa", DATES[0], 3, 0.1)] * 3).with_columns(stage=pl.lit(7), town=pl.lit("SENTINEL"))
    both = re.compile("column 'stage'.*3 values outside.*column 'town'", re.DOTALL)
    with pytest.raises(ProblemsError, match=both) as error:
        PeGS().fit(table, SCHEMA)
    assert "SENTINEL" not in str(error.value)
    with pytest.raises(ProblemsError, match=both):
        CertifiedForest(1.0, SCHEMA).fit(table, [0, 1, 1])


def test_levels_that_are_one_number_need_texts():
    schema = Schema.of(quasi=["code"], levels={"code": ["250.0", "250.00", "V27"]})
    model = MarginalBootstrap(epsilon=50.0).fit(pl.DataFrame({"code": ["250.00"] * 40 + ["250.0"] * 10}), schema)
    assert model.sample(50)["code"].value_counts().sort("count")["code"].to_list() == ["250.0", "250.00"]
    with pytest.raises(ColumnError, match="equal as numbers"):
        MarginalBootstrap().fit(pl.DataFrame({"code": [250.0]}), schema)
