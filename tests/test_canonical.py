"""One form of a table: the fast sort is the plain one, and input order leaves no trace."""

import datetime

import numpy as np
import polars as pl
import pytest

from shoal import canonical

DAYS = [datetime.date(1960, 2, 29), None, datetime.date(2024, 1, 1)]
COLUMNS = {
    "texts": ["b", "", "é", None, "a", "Z", "e\u0301", "🐟"],
    "numbers": [3, -(2**40), None, 0, 7],
    "truths": [True, None, False],
    "days": DAYS,
    "nothing": [None],
}


def drawn(name, n, rng):
    cells = [COLUMNS[name][i] for i in rng.integers(0, len(COLUMNS[name]), n)]
    return pl.Series(name, cells, dtype=pl.String if name == "nothing" else None)


@pytest.mark.parametrize("seed", range(4))
def test_sorting_by_one_number_is_sorting_by_all_columns(seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(COLUMNS))[: 2 + seed]
    table = pl.DataFrame([drawn(name, 300, rng) for name in names])
    assert canonical._sort_key(table.get_columns()) is not None
    order = canonical._order(table.get_columns(), len(table))
    assert table[order].equals(table.sort(table.columns, nulls_last=True))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([-(2**63), 2**63 - 1, None, 0]),
        pl.Series([2**64 - 1, 1, None, 0], dtype=pl.UInt64),
        pl.Series([0.5, -1.5, None, 0.0]),
    ],
)
def test_what_one_number_cannot_hold_is_sorted_column_by_column(column):
    table = pl.DataFrame({"a": ["x", "y", "x", None], "b": column})
    assert canonical._sort_key(table.get_columns()) is None
    order = canonical._order(table.get_columns(), 4)
    assert table[order].equals(table.sort(table.columns, nulls_last=True))
