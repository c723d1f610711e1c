"""Work that grows with the square of the columns: 3,000 of them are a table like any other."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.schema import Schema


def schemas_made(n_columns, monkeypatch):
    """How many schemas a coarsening makes."""
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(n_columns)]
    table = pl.DataFrame({"age": rng.integers(20, 60, 60), **{name: rng.integers(0, 3, 60) for name in names}})
    schema = Schema.of(quasi=["age"], sensitive=names, kinds={"age": "numeric", **dict.fromkeys(names, "nominal")})
    made, init = [], Schema.__post_init__
    with monkeypatch.context() as patched:
        patched.setattr(Schema, "__post_init__", lambda self: (made.append(1), init(self))[1])
        shoal.coarsen(table, schema, shoal.Mondrian(k=5))
    return len(made)


def test_schemas_are_not_made_column_by_column(monkeypatch):
    assert schemas_made(4, monkeypatch) == schemas_made(24, monkeypatch)


def test_names_that_repeat_are_refused():
    with pytest.raises(shoal.SchemaError, match="column 'a' must have exactly one role"):
        Schema.of(quasi=["b", "a"], sensitive=["a", "b"])
