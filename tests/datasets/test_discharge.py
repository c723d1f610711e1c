import polars as pl
import pytest

from shoal import ParameterError
from shoal.datasets.discharges import discharge, discharge_schema
from shoal.synth.domain import encode_table

CARDINALITIES = {
    "typ": 6, "age_yrs": 18, "sex": 3, "ethncty": 4, "race": 7, "patzip": 16, "los": 16, "disp": 13, "pay": 9,
    "charge": 25, "mdc": 25, "sev": 3, "cat": 2,
}  # fmt: skip


def test_numbers_of_levels_are_the_papers():
    schema = discharge_schema()
    assert {column.name: len(column.levels) for column in schema.columns} == CARDINALITIES


def test_domain_has_1_02_trillion_cells():
    found = encode_table(discharge(100), discharge_schema(), bins=1, missing="refuse", public=True, owner="test")
    assert found.domain.n_cells == 1_018_967_040_000


def test_rows_fit_the_schema_and_its_rules():
    table, schema = discharge(5000, seed=3), discharge_schema()
    found = encode_table(table, schema, bins=1, missing="refuse", public=True, owner="test")
    assert not found.domain.broken(table).any()
    assert table.null_count().sum_horizontal().item() == 0
    assert table.columns == list(CARDINALITIES)


def test_ties_that_the_study_needs():
    table = discharge(20_000, seed=1).filter(pl.col("los") >= 0, pl.col("age_yrs") >= 0)
    assert table.select(pl.corr("los", "charge")).item() > 0.3
    assert table.filter(pl.col("age_yrs") >= 70).select((pl.col("pay") == "medicare").mean()).item() > 0.5
    assert table.filter(pl.col("age_yrs") <= 40).select((pl.col("pay") == "medicare").mean()).item() < 0.2


def test_same_seed_same_table():
    assert discharge(200, seed=5).equals(discharge(200, seed=5))
    assert not discharge(200, seed=5).equals(discharge(200, seed=6))


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 2.5}, {"seed": -1}, {"seed": True}])
def test_bad_input(options):
    with pytest.raises(ParameterError):
        discharge(**options)
