"""The rows of a classifier: any dataframe, or an array of numbers, as a frame with named columns."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.frame import Frame, enter
from shoal.schema import Schema

__all__ = ["is_frame", "named_rows"]


def is_frame(X: Any) -> bool:
    """Whether X has columns with names of its own."""
    if isinstance(X, nw.DataFrame):
        return True
    if type(X).__module__.startswith("pandas"):  # unnamed columns are numbered there
        return bool(X.ndim == 2) and all(isinstance(name, str) for name in X.columns)
    return hasattr(type(X), "columns")


def named_rows(X: Any, names: tuple[str, ...] | None, schema: Schema | None, target: Any, owner: str) -> Frame:
    """X as a frame.

    Columns of an array are named by position: by `names` (those of the fit), or by the columns of the schema that may
    be features, or x0, x1 and so on where there is no schema.
    """
    if is_frame(X):
        frame = enter(X, owner="X")
    else:
        values = _array(X)
        found = names or _schema_names(schema, target) or tuple(f"x{j}" for j in range(values.shape[1]))
        if len(found) != values.shape[1]:
            words = f"X has {values.shape[1]} features, but {owner} is expecting {len(found)} features as input"
            raise InputError("X", words, hint="Give a dataframe, or a schema of the features only.")
        frame = enter(pl.DataFrame({name: values[:, j] for j, name in enumerate(found)}))
    if len(frame) == 0:
        raise InputError("X", "must have at least one row: a minimum of 1 is required", got="0 sample(s)")
    return frame


def _array(X: Any) -> Any:
    from sklearn.utils import check_array

    values = X if hasattr(X, "dtype") or hasattr(X, "toarray") else np.asarray(X)
    if getattr(values, "dtype", None) is not None and values.dtype.kind in "OUS" and values.ndim == 2:
        return _texts(values)
    finite = "ensure_all_finite" if _new() else "force_all_finite"  # missing numbers follow the schema, later
    return check_array(values, dtype="numeric", **{finite: False})


def _texts(values: Any) -> Any:
    """An array of objects: of numbers where it can be, else of texts; a message may not quote a cell."""
    try:
        return values.astype(np.float64)
    except TypeError:
        raise TypeError("X: argument must be a string or a number in every cell") from None
    except ValueError:
        absent = (values == None) | (values != values)  # noqa: E711  (elementwise; NaN differs from itself)
        return np.where(absent, None, values.astype(str))


def _new() -> bool:
    from inspect import signature

    from sklearn.utils import check_array

    return "ensure_all_finite" in signature(check_array).parameters


def _schema_names(schema: Schema | None, target: Any) -> tuple[str, ...]:
    if schema is None:
        return ()
    name = getattr(target, "name", None)
    roles = ("quasi", "sensitive", "other")
    return tuple(column.name for column in schema.columns if column.role in roles and column.name != name)
