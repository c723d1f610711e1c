"""The outcome of a score and the records that count: y as 0, 1 and so on, or as shares of a public range; weights.

The last class is the one whose probability is the risk. Classes are public: given by name, or levels of the target's
schema entry, or 0 and 1 (false and true). Only models that promise nothing read them from the data where none of these
applies; a certified one refuses, as one person may be the only one with a class. It also reads y by what the classes
are and not by its type (`shoal.value`), as one person's entry can change that. Certified models take more than two
classes, and a `CertifiedRegressor` a number y within public bounds: as u = (y − low) / (high − low), on a grid of 2²⁰.

The rows of a classifier: any dataframe, or an array of numbers, as a frame with named columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from inspect import signature
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.domain.declared import declared_levels
from shoal.errors import InputError, ParameterError
from shoal.extras import need
from shoal.frame import Frame, enter
from shoal.schema import Column, Schema
from shoal.value import codes_of

__all__ = ["GRID", "is_frame", "named_rows", "read_number", "read_target", "read_weights"]

GRID = 1 << 20  # steps of a numeric outcome's range: noise is added to whole numbers only


def read_target(
    y: Any, classes: Sequence[Any] | None, schema: Schema | None, n: int, owner: str, *, public: bool = False
) -> tuple[IntArray, AnyArray]:
    """y as 0, 1 and so on, and the classes in order; with `public` they are not read from the data, and may be many."""
    values = _flat(y, n, owner)
    known = _public_classes(y, classes, schema, owner, many=public)
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
    if len(known) < 2:
        _check_two(known, owner)
    column = Column(name="y", role="other", levels=tuple(known.tolist()))
    codes = codes_of(_as_series(values), declared_levels(column))
    if (codes == len(known)).any():
        raise InputError(owner, "y must have no missing value (Input contains NaN)")
    if (codes < 0).any() and declared:  # without a schema there is a graver complaint
        rule = "y must be 0 and 1, or its classes must be public"
        hint = "Name them with classes=(no, yes), or give y as a column whose levels the schema declares."
        raise InputError(owner, rule, got=f"{int((codes < 0).sum())} other values", hint=hint)
    return np.maximum(codes, 0).astype(np.int64), known


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


def read_number(
    y: Any, bounds: tuple[float, float] | None, schema: Schema | None, n: int, owner: str
) -> tuple[IntArray, tuple[float, float]]:
    """A numeric y in steps of its public range, 0 to `GRID`, and the range; what lies outside counts as its end."""
    low, high = _public_range(y, bounds, schema, owner)
    values = _vector(y, n, owner)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(owner, "y must hold numbers") from None
    if not np.isfinite(numbers).all():
        raise InputError(owner, "y must have no missing or infinite value (Input contains NaN or infinity)")
    shares = (np.clip(numbers, low, high) - low) / (high - low)
    return np.rint(shares * GRID).astype(np.int64), (low, high)


def _public_range(y: Any, bounds: tuple[float, float] | None, schema: Schema | None, owner: str) -> tuple[float, float]:
    name = getattr(y, "name", None)
    if bounds is None and schema is not None and isinstance(name, str) and name in schema:
        bounds = schema[name].bounds
    if bounds is None:
        hint = "Give bounds=(low, high) from public knowledge, or y as a column whose bounds the schema declares."
        raise ParameterError(owner, "the outcome must have public bounds", hint=hint)
    low, high = (float(end) for end in bounds)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterError(owner, "bounds must be two finite numbers, the lower first", got=repr(bounds)[:60])
    return low, high


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
    values = _vector(y, n, owner)
    _check_present(values, owner)
    return values.astype(str) if values.dtype == object and isinstance(values[0], str) else values


def _vector(y: Any, n: int, owner: str) -> AnyArray:
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
    return values


def _check_present(values: AnyArray, owner: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(owner, "y must have no missing or infinite value (Input contains NaN or infinity)")
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(owner, "y must hold classes, not measurements. Unknown label type: continuous")
    if values.dtype == object and any(value is None or value != value for value in values):
        raise InputError(owner, "y must have no missing value (Input contains NaN)")


def _warn_column() -> None:
    need("sklearn", "y given as an array")
    from sklearn.exceptions import DataConversionWarning

    words = "A column-vector y was passed when a 1d array was expected."
    warnings.warn(words, DataConversionWarning, stacklevel=4)


def _public_classes(
    y: Any, classes: Sequence[Any] | None, schema: Schema | None, owner: str, *, many: bool
) -> AnyArray | None:
    if classes is not None:
        enough = not isinstance(classes, str) and len(classes) >= 2 and (many or len(classes) == 2)
        if not enough or len(set(classes)) != len(classes):
            number = "two or more" if many else "two"
            rule = f"classes must be {number} different labels, the risk last"
            raise ParameterError(owner, rule, got=repr(classes)[:60])
        return np.array(list(classes))
    name = getattr(y, "name", None)
    if schema is not None and isinstance(name, str) and name in schema and schema[name].levels is not None:
        return np.array(list(schema[name].levels or ()))
    return None


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
    need("sklearn", "X given as an array")
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
    from sklearn.utils import check_array

    return "ensure_all_finite" in signature(check_array).parameters


def _schema_names(schema: Schema | None, target: Any) -> tuple[str, ...]:
    if schema is None:
        return ()
    name = getattr(target, "name", None)
    roles = ("quasi", "sensitive", "other")
    return tuple(column.name for column in schema.columns if column.role in roles and column.name != name)
