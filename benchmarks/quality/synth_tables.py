"""Real tables as rows of cells, for benchmarks of synthesis: any CSV file, coded by one public rule.

A column of at most 25 values keeps them, a number of more becomes ten bins of about equal share, another column keeps
its 24 commonest values. A missing value is a cell of its own. Identifiers (a value for more than half of the rows) and
constants are left out. The coding is taken as public by all methods alike.
"""

from pathlib import Path

import numpy as np
import polars as pl

from shoal import Schema

__all__ = ["as_frame", "coded", "read_tables", "wide_table"]

MOST_LEVELS, BINS = 25, 10


def read_tables(paths, columns=14):
    """Rows of cells and numbers of levels for each file, by its name; at most `columns` columns."""
    out = {}
    for path in (Path(p) for p in paths):
        frame = pl.read_csv(path, infer_schema_length=None)
        out[path.name.split(".")[0]] = coded(frame, columns)
    return out


def wide_table(n=30_000, columns=50, seed=5):
    """A simulated table: columns of 2 to 12 levels, each tied to one or two of six latent traits."""
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((n, 6))
    found = []
    for _ in range(columns):
        levels, weights = int(rng.integers(2, 13)), rng.dirichlet(np.full(6, 0.3)) ** 0.5 * rng.choice([-1, 1], 6)
        x = traits @ weights * rng.uniform(0.3, 1.5) + rng.standard_normal(n)
        found.append(np.digitize(x, np.quantile(x, np.sort(rng.random(levels - 1)))))
    X = np.column_stack([_dense(codes) for codes in found]).astype(np.int64)
    return X, tuple(int(x) + 1 for x in X.max(axis=0))


def coded(frame, columns):
    """Cells of the first `columns` columns that can be used, and how many levels each has."""
    found = [codes for name in frame.columns if (codes := _codes(frame[name])) is not None][:columns]
    X = np.column_stack(found).astype(np.int64)
    return X, tuple(int(x) + 1 for x in X.max(axis=0))


def as_frame(X, sizes):
    """The cells as a dataframe with its schema."""
    names = [f"c{i}" for i in range(len(sizes))]
    levels = {name: range(size) for name, size in zip(names, sizes, strict=True)}
    kinds = dict.fromkeys(names, "nominal")
    return pl.DataFrame({name: X[:, i] for i, name in enumerate(names)}), Schema.of(
        quasi=names, levels=levels, kinds=kinds
    )


def _codes(column):
    n_values = column.n_unique()
    if n_values < 2 or (n_values > len(column) / 2 and not column.dtype.is_numeric()):
        return None
    if column.dtype.is_numeric() and n_values > MOST_LEVELS:
        column = _binned(column)
        if column is None:
            return None
    common = column.drop_nulls().value_counts(sort=True)[column.name].head(MOST_LEVELS - 1)
    order = common.sort()
    codes = column.replace_strict(order, list(range(len(order))), default=len(order), return_dtype=pl.Int64)
    return _dense(codes.fill_null(len(order) + 1).to_numpy())


def _binned(column):
    values = column.drop_nulls().to_numpy().astype(float)
    if len(np.unique(values)) > 0.9 * len(values) and column.dtype.is_integer():
        return None
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    at = np.clip(np.searchsorted(edges, column.cast(pl.Float64).fill_null(0).to_numpy(), side="right"), 1, len(edges))
    return pl.Series(column.name, at).set(column.is_null(), None)


def _dense(codes):
    return np.unique(codes, return_inverse=True)[1]
