"""Published aggregates: who belongs to which group, and what was published about the group.

An `Aggregate` is one set of groups (the counties, say) with the mean, total or median of the wanted variable in each.
Several of them are stacked: county, hospital and ZIP at once. `resolve` holds it to the rows at hand: every row has a
group, every group an aggregate and at least one row, and counts, where published, agree with the rows.

What differential privacy costs when group means are published: the noise, from OpenDP.

A mean of N values inside (low, high) moves by at most (high − low)/N when one person's value changes. Laplace noise of
scale

    b = (high − low) / (N ε)

makes its publication ε-differentially private with N known. The scale is asked of OpenDP, which also counts the
rounding of floating point, and not computed here. A person is in one group of each set, so sets add up: k sets at ε
each cost kε.

This is advice. The noise of a real release must come from OpenDP's own sampler, unseeded; nothing here draws any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.errors import ColumnError, InputError, ParameterError
from shoal.extras import need
from shoal.frame import Frame, enter, series
from shoal.record import Record

__all__ = ["Aggregate", "Groups", "NoiseAdvice", "noise_for_means", "resolve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One set of groups with a published mean, total or median for each.

    Parameters
    ----------
    by
        The group of each individual row: numbers 0..p−1, or names.
    mean
        The mean of each group: a mapping from group to mean, or a sequence in the order of `groups`. Left out, `groups`
        are the labels in sorted order, so that for numbers 0..p−1 ``mean[g]`` belongs to group g.
    total
        The total of each group in the place of its mean, in the same forms.
    median
        The median of each group in the place of its mean, in the same forms, greater than 0. Logarithms are fitted as
        if they were means of logarithms (true where the variable is about symmetric inside groups on that scale), and
        values are scaled group by group so that their medians are the published ones.
    count
        Published size of each group, in the same forms. It must agree with the rows; a total is divided by it.
    groups
        The names of the groups in the order of `mean`, `total`, `median` and `count`.
    name
        What the set is called in warnings, such as "county".

    Notes
    -----
    A row without a group, a group without an aggregate, an aggregate without rows, a missing or infinite aggregate and
    a name that occurs twice are errors; they say how many, never which.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, PseudoInverse
    >>> county = Aggregate(by=["Travis", "Hays", "Travis"], mean={"Hays": 5.0, "Travis": 7.0}, name="county")
    >>> PseudoInverse().reconstruct([[1.0], [2.0], [3.0]], [county]).values.tolist()
    [7.0, 5.0, 7.0]
    """

    by: Any
    mean: Any = None
    total: Any = None
    median: Any = None
    count: Any = None
    groups: Any = None
    name: str = "groups"

    @classmethod
    def of(cls, table: Any, *, by: str, value: str, weights: Any = None) -> Aggregate:
        """The means of the column `value` by the column `by`, as a publisher would compute them.

        `weights` are survey weights, one per row, for weighted means; the count is then left out.
        """
        frame = enter(table)
        labels, names = _labels(_column(frame, by), by)
        values = _finite(_column(frame, value), f"column '{value}'")
        w = np.ones(len(values)) if weights is None else _finite(weights, "weights")
        sums, mass = np.bincount(labels, w * values), np.bincount(labels, w)
        if (mass <= 0).any():
            raise InputError("weights", "must add up to more than 0 in every group")
        count = np.bincount(labels).tolist() if weights is None else None
        return cls(by=names[labels], mean=(sums / mass).tolist(), count=count, groups=names.tolist(), name=by)

    @classmethod
    def joined(
        cls,
        table: Any,
        published: Any,
        *,
        by: str,
        value: str,
        key: str | None = None,
        count: str | None = None,
        total: bool = False,
        median: bool = False,
    ) -> Aggregate:
        """Join a published table of aggregates to individual rows.

        Parameters
        ----------
        table
            The individual rows, with the column `by`.
        published
            One row per group: its name in the column `key` (left out: `by`), its mean in `value`.
        count
            Column of `published` with the size of the group.
        total, median
            Whether `value` holds totals, or medians.
        """
        if total and median:
            raise ParameterError("aggregates", "must hold totals or medians, not both")
        rows, groups = enter(table), enter(published, owner="aggregates")
        return cls(
            by=_column(rows, by),
            groups=_column(groups, key or by),
            count=None if count is None else _column(groups, count),
            name=by,
            **{"total" if total else "median" if median else "mean": _column(groups, value)},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """One resolved set: label and weight sum of groups, and the means s."""

    name: str
    labels: IntArray
    sizes: IntArray
    mass: FloatArray
    s: FloatArray
    names: AnyArray

    @property
    def p(self) -> int:
        """Number of groups."""
        return len(self.s)


def resolve(aggregate: Aggregate, n: int, weights: FloatArray | None) -> Groups:
    """Hold an aggregate to the `n` rows it is about; `weights` are the rows' survey weights, if any."""
    if not isinstance(aggregate, Aggregate):
        raise ParameterError("aggregates", "must be a sequence of Aggregate", got=type(aggregate).__name__)
    owner = f"aggregate '{aggregate.name}'"
    labels, names = _labels(aggregate.by, aggregate.name)
    if len(labels) != n:
        raise InputError(owner, "must have one label per row of X", got=f"{len(labels)} labels, {n} rows")
    if sum(values is not None for values in (aggregate.mean, aggregate.total, aggregate.median)) != 1:
        raise ParameterError(owner, "must have one of mean, total and median")
    published = _published_names(aggregate, names, owner)
    order = _match(published, names, owner)
    count = _aligned(aggregate.count, published, order, owner, "count")
    sizes = np.bincount(labels, minlength=len(names)).astype(np.int64)
    mass = np.bincount(labels, weights, minlength=len(names)).astype(np.float64)
    _check_mass(mass, owner)
    _check_counts(count, sizes if weights is None else None, owner)
    if aggregate.median is not None:
        s = _aligned(aggregate.median, published, order, owner, "median")
    elif aggregate.total is None:
        s = _aligned(aggregate.mean, published, order, owner, "mean")
    else:
        s = _aligned(aggregate.total, published, order, owner, "total") / (mass if count is None else count)
    return Groups(name=aggregate.name, labels=labels, sizes=sizes, mass=mass, s=s, names=names)


def _labels(by: Any, name: str) -> tuple[IntArray, AnyArray]:
    """Labels as numbers from 0, and the sorted names they stand for."""
    column = _as_series(by, f"aggregate '{name}'", "labels")
    if column.dtype.is_float():
        column = column.fill_nan(None)
    missing = int(column.null_count())
    if missing:
        raise InputError(f"aggregate '{name}'", "must have a group for every row", got=f"{missing} without one")
    if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        column = column.cast(pl.String)
    names, labels = np.unique(_plain(column), return_inverse=True)
    return labels.reshape(-1).astype(np.int64), names


def _plain(column: pl.Series) -> AnyArray:
    """Whole numbers as integers, other numbers as floats, everything else as text."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64).to_numpy()
    if column.dtype.is_float():
        values = column.to_numpy()
        whole = np.isfinite(values).all() and (values == np.rint(values)).all() and (np.abs(values) < 2**53).all()
        return values.astype(np.int64) if whole else values
    return column.cast(pl.String).to_numpy().astype(str)


def _published_names(aggregate: Aggregate, names: AnyArray, owner: str) -> AnyArray:
    """The names in the order in which means, totals or medians were given."""
    values = next(given for given in (aggregate.mean, aggregate.total, aggregate.median) if given is not None)
    if aggregate.groups is not None:
        return _plain(_as_series(aggregate.groups, owner, "groups"))
    if isinstance(values, Mapping):
        return _plain(_as_series(list(values), owner, "names of groups"))
    if names.dtype.kind == "i" and len(names) and names[0] >= 0 and names[-1] < _length(values):
        return np.arange(_length(values))  # numbers 0..p−1; what is left over has no rows
    if _length(values) != len(names):
        raise InputError(
            owner,
            "must have one aggregate per group",
            got=f"{_length(values)} aggregates, {len(names)} groups among the rows",
            hint="Give a mapping from group to mean if some means are unknown.",
        )
    return names


def _match(published: AnyArray, names: AnyArray, owner: str) -> IntArray:
    """The place of each group of the rows among the published ones."""
    if len(np.unique(published)) < len(published):
        twice = len(published) - len(np.unique(published))
        raise InputError(
            owner, "must name each group once", got=f"{twice} repeated", hint="Pool repeated groups first."
        )
    if names.dtype.kind != published.dtype.kind:
        published, names = published.astype(str), names.astype(str)  # 1 and "1" are one group
    lonely, empty = np.setdiff1d(names, published), np.setdiff1d(published, names)
    if len(lonely):
        raise InputError(
            owner,
            "must have an aggregate for every group among the rows",
            got=f"{len(lonely)} of {len(names)} groups without one",
            hint="Drop those rows, or supply their aggregates.",
        )
    if len(empty):
        raise InputError(
            owner,
            "must have rows for every aggregate",
            got=f"{len(empty)} of {len(published)} aggregates without rows",
            hint="Drop those aggregates, or add their rows.",
        )
    order = np.argsort(published, kind="stable")
    return order[np.searchsorted(published[order], names)].astype(np.int64)


def _aligned(values: Any, published: AnyArray, order: IntArray, owner: str, what: str) -> Any:
    """Published numbers in the order of the labels; None where there are none."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        keys = _plain(_as_series(list(values), owner, what))
        if len(keys) != len(published):
            raise InputError(owner, f"{what} must cover every group", got=f"{len(keys)} of {len(published)}")
        found = _finite(list(values.values()), f"{owner}: {what}")
        return found[_match(keys, published[order], owner)]
    found = _finite(values, f"{owner}: {what}")
    if len(found) != len(published):
        raise InputError(owner, f"{what} must have one number per group", got=f"{len(found)} of {len(published)}")
    return found[order]


def _check_counts(count: FloatArray | None, sizes: IntArray | None, owner: str) -> None:
    if count is None:
        return
    if (count <= 0).any():
        raise InputError(owner, "count must be greater than 0 for every group", got=f"{int((count <= 0).sum())} not")
    if sizes is not None and (count != sizes).any():
        raise InputError(
            owner,
            "count must agree with the number of rows of each group",
            got=f"{int((count != sizes).sum())} of {len(sizes)} groups that differ",
            hint="The aggregates describe other people than the rows; omit count to accept that.",
        )


def _check_mass(mass: FloatArray, owner: str) -> None:
    if (mass <= 0).any():
        raise InputError(
            owner, "weights must add up to more than 0 in every group", got=f"{int((mass <= 0).sum())} not"
        )


def _finite(values: Any, owner: str) -> FloatArray:
    column = _as_series(values, owner, "numbers")
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean or column.dtype == pl.Null):
        raise InputError(owner, "must be numbers", got=f"type {column.dtype.base_type()}")
    found: FloatArray = column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    bad = int((~np.isfinite(found)).sum())
    if bad:
        raise InputError(owner, "must be finite numbers", got=f"{bad} missing or infinite")
    return found


def _as_series(values: Any, owner: str, what: str) -> pl.Series:
    """Any sequence, array or column as a Polars series of one simple type."""
    try:
        column = _adopted(values)
    except Exception:  # a library's message may quote cells
        column = None
    if column is None or column.dtype.is_nested() or column.dtype == pl.Object:
        raise InputError(owner, f"{what} must be a sequence of one simple type", got=type(values).__name__)
    return column


def _adopted(values: Any) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pl.Series(values)
    return pl.Series(values.to_list() if hasattr(values, "to_list") else list(values), strict=True)


def _column(frame: Frame, name: str) -> pl.Series:
    if name not in frame.columns:
        raise ColumnError(name, "must be in the table")
    return series(frame, name)


def _length(values: Sequence[Any]) -> int:
    return len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAdvice(Record):
    """Laplace noise that makes the mean of a group of `size` people ε-differentially private.

    `scale` is the noise's scale b; its standard deviation is √2 b. `share` is b over the width of the bounds.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("share",)

    epsilon: float
    size: int
    low: float
    high: float
    scale: float

    @property
    def share(self) -> float:
        """The scale as a share of the bounds' width."""
        return self.scale / (self.high - self.low)


def noise_for_means(*, epsilon: float, size: int, bounds: tuple[float, float], n_sets: int = 1) -> NoiseAdvice:
    """The Laplace scale that the mean of a group needs for a total of `epsilon`.

    Parameters
    ----------
    epsilon
        Privacy budget of a person for all sets of groups together. Raising it lowers the noise.
    size
        People in the group, taken as public.
    bounds
        Public range of a value; values outside are clamped. Never take it from the data.
    n_sets
        Sets of groups published, each of which gets epsilon / n_sets.

    Examples
    --------
    >>> from shoal.aggregate import noise_for_means
    >>> round(noise_for_means(epsilon=1.0, size=50, bounds=(0, 100)).scale, 6)
    2.0
    """
    low, high = (float(end) for end in bounds)
    _check(epsilon, size, low, high, n_sets)
    scale = _laplace_scale(epsilon / n_sets, int(size), low, high)
    return NoiseAdvice(epsilon=epsilon, size=int(size), low=low, high=high, scale=scale)


def _check(epsilon: float, size: int, low: float, high: float, n_sets: int) -> None:
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("noise_for_means", "epsilon must be a number greater than 0", got=repr(epsilon)[:40])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterError("noise_for_means", "bounds must be two finite numbers, the lower first")
    if size < 1 or n_sets < 1:
        raise ParameterError("noise_for_means", "size and n_sets must be at least 1", got=f"{size} and {n_sets}")


@lru_cache(maxsize=256)
def _laplace_scale(epsilon: float, size: int, low: float, high: float) -> float:
    """The least scale that OpenDP accepts, searched by OpenDP itself."""
    need("opendp", "noise_for_means")
    from opendp import domains, measurements, metrics, mod, transformations

    mod.enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(bounds=(low, high)), size=size), metrics.symmetric_distance()
    mean: Any = transformations.then_mean
    changed = 2  # one person's value replaced: one row out, one in
    found: float = mod.binary_search_param(
        lambda scale: space >> mean() >> measurements.then_laplace(scale), d_in=changed, d_out=epsilon
    )
    return found
