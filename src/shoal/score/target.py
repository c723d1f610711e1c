"""The two classes of a score and the records that count: y as 0 and 1, and weights.

The last class is the one whose probability is the risk. Classes are public: given by name, or levels of the target's
schema entry, or 0 and 1 (false and true). Only models that promise nothing read them from the data where none of these
applies; a certified one refuses, as one person may be the only one with a class. It also reads y by what the classes
are and not by its type (`shoal.value`), as one person's entry can change that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.domain.declared import declared_levels
from shoal.errors import InputError, ParameterError
from shoal.schema import Column, Schema
from shoal.value import codes_of

__all__ = ["read_target", "read_weights"]


def read_target(
    y: Any, classes: Sequence[Any] | None, schema: Schema | None, n: int, owner: str, *, public: bool = False
) -> tuple[IntArray, AnyArray]:
    """y as 0 and 1, and the two classes in order; with `public`, classes may not be read from the data."""
    values = _flat(y, n, owner)
    known = _public_classes(y, classes, schema, owner)
    if public:
        return _matched(values, np.array([0, 1]) if known is None else known, schema is not None, owner)
    found = np.unique(values)
    if known is None:
        plain = schema is not None and values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all()
        known = np.array([0, 1]) if plain else found  # without a schema one class is an error
    _check_two(known, owner)
    if not np.isin(found, known).all():
        raise InputError(owner, "y must hold only the two classes", got=f"{len(found)} different values")
    return (values == known[1]).astype(np.int64), known


def _matched(values: AnyArray, known: AnyArray, declared: bool, owner: str) -> tuple[IntArray, AnyArray]:
    """y by what its classes are, whatever its type: 1, 1.0, true and "1" are the class 1."""
    _check_two(known, owner)
    column = Column(name="y", role="other", levels=tuple(known.tolist()))
    codes = codes_of(_as_series(values), declared_levels(column))
    if (codes == 2).any():
        raise InputError(owner, "y must have no missing value (Input contains NaN)")
    if (codes < 0).any() and declared:  # without a schema there is a graver complaint
        rule = "y must be 0 and 1, or its two classes must be public (more than two classes are not supported)"
        hint = "Name them with classes=(no, yes), or give y as a column whose levels the schema declares."
        raise InputError(owner, rule, got=f"{int((codes < 0).sum())} other values", hint=hint)
    return (codes == 1).astype(np.int64), known


def _as_series(values: AnyArray) -> pl.Series:
    plain = values if values.dtype.kind in "biuf" else [str(value) for value in values]
    return pl.Series("y", plain)


def _check_two(known: AnyArray, owner: str) -> None:
    if len(known) != 2:
        raise InputError(
            owner,
            "y must have two classes. Only binary classification is supported.",
            got=f"{len(known)} class{'' if len(known) == 1 else 'es'}",
            hint="Name them with classes=(no, yes) if the data may hold only one of them.",
        )


def read_weights(weights: Any, n: int, owner: str, *, whole: bool) -> FloatArray | None:
    """Weights of the records; where each record must count as one, only 0 (left out) and 1 are allowed."""
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    values = np.full(n, float(values)) if values.ndim == 0 else values
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(owner, "sample_weight must be one finite number of at least 0 per record (1D)")
    if not values.any():
        raise InputError(owner, "sample_weight must not be zero for all records")
    if whole and not np.isin(values, (0.0, 1.0)).all():
        hint = "Each person must count once: omit weights, or use AlphaTree, which promises nothing."
        raise ParameterError(owner, "sample_weight must be 0 or 1 for every record", hint=hint)
    return values


def _flat(y: Any, n: int, owner: str) -> AnyArray:
    if y is None:
        raise InputError(owner, "requires y to be passed, but the target y is None")
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        _warn_column()
        values = values.ravel()
    if values.ndim != 1:
        raise InputError(owner, "y must have one axis: y should be a 1d array", got=f"{values.ndim} axes")
    if len(values) != n:
        raise InputError(owner, "y must have one entry per record: inconsistent lengths", got=f"{len(values)} for {n}")
    _check_present(values, owner)
    return values.astype(str) if values.dtype == object and isinstance(values[0], str) else values


def _check_present(values: AnyArray, owner: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(owner, "y must have no missing or infinite value (Input contains NaN or infinity)")
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(owner, "y must hold classes, not measurements. Unknown label type: continuous")
    if values.dtype == object and any(value is None or value != value for value in values):
        raise InputError(owner, "y must have no missing value (Input contains NaN)")


def _warn_column() -> None:
    import warnings

    from sklearn.exceptions import DataConversionWarning

    words = "A column-vector y was passed when a 1d array was expected."
    warnings.warn(words, DataConversionWarning, stacklevel=4)


def _public_classes(y: Any, classes: Sequence[Any] | None, schema: Schema | None, owner: str) -> AnyArray | None:
    if classes is not None:
        if isinstance(classes, str) or len(set(classes)) != 2 or len(classes) != 2:
            raise ParameterError(owner, "classes must be two different labels, the risk last", got=repr(classes)[:60])
        return np.array(list(classes))
    name = getattr(y, "name", None)
    if schema is not None and isinstance(name, str) and name in schema and schema[name].levels is not None:
        return np.array(list(schema[name].levels or ()))
    return None
