"""Bad input gives a clear error, names the column, never quotes a cell."""

import pandas as pd
import polars as pl
import pytest

from shoal import (
    MDAV,
    ColumnError,
    GaussianDither,
    GuaranteeError,
    InputError,
    KMember,
    ParameterError,
    Resample,
    Schema,
    SchemaError,
    anonymize,
)  # fmt: skip
from shoal.method import methods
from shoal.recipe import Anonymization
from shoal.release import make

TABLE = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "s": ["w", "x", "y", "z"]})
SCHEMA = Schema.of(quasi=["a", "s"])


@pytest.mark.parametrize("grouper", [KMember, MDAV])
def test_fewer_people_than_k(grouper):
    with pytest.raises(GuaranteeError, match="at least k = 5 persons; got 4"):
        anonymize(TABLE, SCHEMA, group=grouper(k=5), mask=Resample())


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, "5", None, True])
@pytest.mark.parametrize("grouper", methods("group"))
def test_k_must_be_a_whole_number_from_two(grouper, k):
    if k is None and getattr(grouper(), grouper.size_parameter) is None:
        pytest.skip("none stands for the other grouper's size")
    with pytest.raises(ParameterError, match=f"{grouper.size_parameter} must be a whole number (or none )?at least 2"):
        anonymize(TABLE, SCHEMA, group=grouper(**{grouper.size_parameter: k}), mask=Resample())


def test_one_row():
    with pytest.raises(GuaranteeError):
        anonymize(TABLE.head(1), SCHEMA, group=MDAV(k=2), mask=Resample())


def test_no_quasi_column():
    with pytest.raises(SchemaError, match="at least one quasi-identifier"):
        anonymize(TABLE, Schema.of(other=["a", "s"]), group=MDAV(k=2), mask=Resample())


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_seed_rule(seed):
    with pytest.raises(ParameterError, match="seed must be"):
        anonymize(TABLE, SCHEMA, group=MDAV(k=2), mask=Resample(), seed=seed)


@pytest.mark.parametrize(
    "call",
    [{"group": "kmember"}, {"group": KMember}, {"mask": "resample"}, {"mask": []}, {"mask": [Resample]}],
)
def test_wrong_methods_name_the_choices(call):
    with pytest.raises(ParameterError, match="Choose one of"):
        anonymize(TABLE, SCHEMA, **{"group": MDAV(k=2), "mask": Resample(), **call})


@pytest.mark.parametrize(
    "mask",
    [GaussianDither(alpha=0), GaussianDither(alpha=float("nan")), GaussianDither(exact=True, weighted=True),
     GaussianDither(exact=True, inverse="smooth"), GaussianDither(inverse="other"),
     Resample(replace=False, weighted=True), Resample(weighted=True), GaussianDither(weighted=True)],
)  # fmt: skip
def test_wrong_mask_parameters(mask):
    with pytest.raises(ParameterError):
        anonymize(TABLE, SCHEMA, group=MDAV(k=2), mask=mask)


def test_weighted_only_first_in_a_chain():
    table = TABLE.with_columns(w=1.0)
    schema = Schema.of(quasi=["a", "s"], weight="w")
    with pytest.raises(ParameterError, match="first mask"):
        anonymize(table, schema, group=MDAV(k=2), mask=[Resample(), Resample(weighted=True)])


@pytest.mark.parametrize("mask", [Resample(), GaussianDither(), GaussianDither(exact=True)])
@pytest.mark.parametrize("grouper", [KMember(k=2), MDAV(k=2)])
def test_constant_columns_and_one_column_work(grouper, mask):
    constant = pl.DataFrame({"a": [7.0] * 6, "s": ["x"] * 6})
    assert anonymize(constant, SCHEMA, group=grouper, mask=mask, seed=1).table["a"].to_list() == [7.0] * 6
    one = pl.DataFrame({"a": [1.0, 2, 3, 4, 5, 6]})
    assert len(anonymize(one, Schema.of(quasi=["a"]), group=grouper, mask=mask, seed=1).table) == 6


def test_two_hundred_columns_work():
    table = pl.DataFrame({f"c{j}": [float((i * (j + 3)) % 17) for i in range(60)] for j in range(200)})
    release = anonymize(table, Schema.of(quasi=table.columns), group=KMember(k=5), mask=GaussianDither(), seed=1)
    assert release.table.shape == (60, 200)
    assert release.risk.reidentification.by_group.holds


def test_long_texts_work_and_never_show():
    texts = ["SENTINEL" * 5000, "b", "c", "d"]
    table, recipe = TABLE.with_columns(s=pl.Series(texts)), Anonymization.of(MDAV(k=2), Resample())
    with pytest.raises(GuaranteeError, match="free text") as caught:
        make(table, SCHEMA, recipe, seed=1)
    assert "SENTINEL" not in str(caught.value)
    assert set(make(table, SCHEMA, recipe, seed=1, allow=["s"]).table["s"]) <= set(texts)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (pd.DataFrame({"a": [1, "SENTINEL", 2.5, 3], "s": list("wxyz")}), ColumnError),
        (TABLE.with_columns(a=pl.Series([1.0, None, 3.0, 4.0])), ColumnError),
        (TABLE.with_columns(a=pl.Series([1.0, float("inf"), 3.0, 4.0])), ColumnError),
        (TABLE.head(0), InputError),
        (TABLE.drop("s"), SchemaError),
        (TABLE.with_columns(z=1), SchemaError),
        (["SENTINEL"], InputError),
    ],
)
def test_unusable_tables(table, error):
    with pytest.raises(error) as caught:
        anonymize(table, SCHEMA, group=MDAV(k=2), mask=Resample())
    assert "SENTINEL" not in str(caught.value)


def test_a_grouper_that_breaks_its_promise_is_stopped():
    import numpy as np

    class Careless(MDAV):
        def _partition(self, points):
            return np.arange(len(points)) // 2, {}

    with pytest.raises(GuaranteeError, match="a group of 2"):
        anonymize(TABLE, SCHEMA, group=Careless(k=3), mask=Resample())


def test_numbers_mixed_with_texts_want_a_kind():
    table = TABLE.with_columns(a=pl.Series(["1", "2", "3", "SENTINEL"]))
    with pytest.raises(ColumnError, match="1 texts among 3 numbers") as caught:
        anonymize(table, SCHEMA, group=MDAV(k=2), mask=Resample())
    assert "SENTINEL" not in str(caught.value)
    declared = Schema.of(quasi=["a", "s"], kinds={"a": "nominal"})
    assert len(anonymize(table, declared, group=MDAV(k=2), mask=Resample()).table) == 4


def test_whole_numbers_too_large_for_floats():
    table = TABLE.with_columns(a=pl.Series([2**60, 1, 2, 3]))
    with pytest.raises(ColumnError, match="too large"):
        anonymize(table, SCHEMA, group=MDAV(k=2), mask=Resample())


def test_small_integer_types_never_wrap():
    from shoal import MicroPerturb

    table = pl.DataFrame({"a": pl.Series([0, 1, 2, 3, 4] * 8, dtype=pl.UInt8)})
    for frame in (table, table.to_pandas(), table.to_arrow()):
        mask = MicroPerturb(keep_types=True)
        release = anonymize(frame, Schema.of(quasi=["a"]), group=MDAV(k=4), mask=mask, seed=1)
        assert abs(pl.Series(release.table["a"].to_numpy()).cast(pl.Float64) - 2).max() < 20


def test_no_category_of_a_left_out_person_remains():
    table = pd.DataFrame({"a": [1.0, 2, 3, 4, None], "s": pd.Categorical(["x", "y", "x", "y", "SENTINEL"])})
    schema = Schema.of(quasi=["a", "s"], missing={"a": "drop"})
    out = anonymize(table, schema, group=MDAV(k=2), mask=Resample(), seed=1).table
    assert "SENTINEL" not in list(out["s"].cat.categories)
