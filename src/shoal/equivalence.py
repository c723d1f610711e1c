"""Equivalence classes: who shares whose quasi-identifiers, how many they are, and how mixed their sensitive values are.

Rows with equal values in all key columns form a class. Each column becomes whole numbers, the numbers of a row are
read as one number in mixed radix, and everything else is counting: no loop over classes. A missing key is a level
of its own, so no row is left out of k. Where a unit column says which rows belong to one person, a class counts
distinct persons.

For a class with n_v records of sensitive value v, n = Σ n_v, p_v = n_v / n, and q_v the share of v in the whole table:

- distinct l: number of v with n_v > 0; entropy l: exp(−Σ p_v log p_v) (Machanavajjhala et al. 2007);
- recursive (c, l): the largest l with r_1 < c (r_l + ... + r_m), where r_1 ≥ r_2 ≥ ... are the sorted n_v;
- t (Li et al. 2007): nominal, Σ max(0, p_v − q_v), which is the total variation; ordered, the earth mover's distance
  Σ_{i<m} |Σ_{v≤i} (p_v − q_v)| / (m − 1) over the m values that occur, by rank;
- α: the largest p_v (Wong et al. 2006).

A table has the worst value over its classes. Cost: O(n · columns) for the classes, O(n log n) for the contents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import LARGEST_KEY, AnyArray, BoolArray, FloatArray, IntArray
from shoal.errors import Problems, SchemaError
from shoal.frame import Frame, series

__all__ = [
    "Classes",
    "Codes",
    "Contents",
    "classes_of",
    "codes",
    "combine",
    "contents_of",
    "equal_rows",
    "persons",
    "ranks",
    "require_columns",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """Whole numbers from 0 to n − 1 that stand for the values of a column; equal values, equal numbers."""

    values: IntArray
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The equivalence classes of a table.

    Parameters
    ----------
    labels
        The class of each row, from 0 up, in no particular order.
    sizes
        The number of persons in each class: distinct units, or rows where there is no unit column.
    persons
        The unit of each row, or None where each row is a person.
    weights
        How many records each row stands for, or how many persons its unit does; None: one.
    """

    labels: IntArray
    sizes: IntArray
    persons: IntArray | None = None
    weights: IntArray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def k(self) -> int:
        """The smallest class; 0 for a table without rows."""
        return int(self.sizes.min()) if len(self.sizes) else 0

    @property
    def row_sizes(self) -> IntArray:
        """The size of the class of each row."""
        return self.sizes[self.labels]

    def histogram(self) -> dict[int, int]:
        """How many classes there are of each size that occurs."""
        counts = np.bincount(self.sizes)
        return {int(size): int(counts[size]) for size in np.flatnonzero(counts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """How often each sensitive value occurs in each class, as the pairs (class, value) that occur, in that order.

    With units, a person who has a value several times in a class counts once.

    Parameters
    ----------
    of
        Class of each pair.
    value
        Sensitive value of each pair, as a number from 0 to `n_values` − 1.
    count
        Number of records of each pair.
    starts
        Where each class begins among the pairs.
    n_values
        Number of values that occur in the table.
    overall
        Number of records of each value in the whole table; None where these are all its classes.
    """

    of: IntArray
    value: IntArray
    count: IntArray
    starts: IntArray
    n_values: int
    overall: IntArray | None = None

    def distinct(self) -> IntArray:
        """Number of different values in each class."""
        return np.diff(np.append(self.starts, len(self.of)))

    def entropy(self) -> FloatArray:
        """The exponential of the entropy of each class: 1 where all values are equal."""
        n = self._totals.astype(np.float64)
        count = self.count[np.lexsort((self.count, self.of))]  # in an order of their own: float sums depend on it
        inner = np.add.reduceat(count * np.log(count), self.starts)
        exact: FloatArray = np.exp(np.log(n) - inner / n)
        return np.clip(exact, 1.0, self.distinct())

    def recursive(self, c: float) -> IntArray:
        """The largest l for which each class is (c, l)-diverse; 0 where it isn't even for l = 1."""
        order = np.lexsort((-self.count, self.of))
        count = self.count[order]
        before = np.cumsum(count) - count
        before -= before[self.starts][self.of]
        tail = self._totals[self.of] - before
        holds = count[self.starts][self.of] < c * tail
        return np.add.reduceat(holds.astype(np.int64), self.starts)

    def largest_share(self) -> FloatArray:
        """The share of the most frequent value in each class."""
        largest: IntArray = np.maximum.reduceat(self.count, self.starts)
        return largest / self._totals

    def variation(self) -> FloatArray:
        """Total variation between each class and the table: half the sum of |p_v − q_v|."""
        overall, sizes = _value_counts(self), self._totals
        n = int(overall.sum())
        above = np.maximum(0, self.count * n - overall[self.value] * sizes[self.of])  # n · n_c · (p_v − q_v), whole
        found: FloatArray = np.add.reduceat(above, self.starts) / (n * sizes)
        return found

    def ordered_distance(self) -> FloatArray:
        """Earth mover's distance between each class and the table over ranks, from 0 to 1."""
        if self.n_values < 2:
            return np.zeros(len(self.starts))
        return _earth_mover(self) / (self.n_values - 1)

    @property
    def _totals(self) -> IntArray:
        return np.add.reduceat(self.count, self.starts)


def classes_of(frame: Frame, names: Sequence[str], unit: str | Codes | None = None) -> Classes:
    """The equivalence classes of `frame` over the columns `names`.

    With `unit`, the name of a column or the person of each row, sizes count distinct persons. Without any name, all
    rows are one class. Columns that aren't there are all named in one error.
    """
    require_columns(frame.columns, names)
    key = combine([_column_codes(frame, name) for name in names], n_rows=len(frame))
    if unit is None:
        return Classes(labels=key.values, sizes=np.bincount(key.values, minlength=key.n))
    person = persons(_column(frame, unit)) if isinstance(unit, str) else unit
    both = combine([key, person], n_rows=len(frame))
    owner = np.empty(both.n, dtype=np.int64)
    owner[both.values] = key.values
    return Classes(labels=key.values, sizes=np.bincount(owner, minlength=key.n), persons=person.values)


def contents_of(classes: Classes, sensitive: Codes) -> Contents:
    """Count the values of a sensitive column in each class."""
    pair = combine([Codes(values=classes.labels, n=classes.n_classes), sensitive], dense=False)
    weights = classes.weights
    if classes.persons is not None:
        pair, first = _once_per_person(pair, classes.persons)
        weights = None if weights is None else weights[first]
    keys, count = _tally(pair.values, weights)
    of = keys // sensitive.n
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    return Contents(of=of, value=keys % sensitive.n, count=count, starts=starts, n_values=sensitive.n)


def equal_rows(first: FloatArray, second: FloatArray) -> tuple[IntArray, IntArray, int]:
    """Number the distinct rows of two matrices together: equal rows, equal numbers; NaN equals NaN."""
    stacked = np.concatenate([first, second])
    columns = [codes(pl.Series(stacked[:, j]).fill_nan(None)) for j in range(stacked.shape[1])]
    key = combine(columns, n_rows=len(stacked))
    return key.values[: len(first)], key.values[len(first) :], key.n


def codes(column: pl.Series) -> Codes:
    """A column as whole numbers, in no particular order; a missing value is a level of its own."""
    whole = _whole_numbers(column)
    return _numbered(column) if whole is None else _shifted(whole)


def ranks(column: pl.Series, levels: pl.Series | None = None) -> Codes:
    """A column as dense ranks of the values that occur: by value, or by their place in `levels`; missing comes last."""
    if column.dtype == pl.Categorical:
        column = column.cast(pl.String)  # its physical numbers are in order of appearance
    whole = _whole_numbers(column) if levels is None else None
    if whole is not None:
        return _dense(_shifted(whole))
    coded = _numbered(column)
    shown = np.empty(coded.n, dtype=np.int64)
    shown[coded.values] = np.arange(len(column))
    place = np.empty(coded.n, dtype=np.int64)
    place[_order(column.gather(shown), levels)] = np.arange(coded.n)
    return Codes(values=place[coded.values], n=coded.n)


def persons(column: pl.Series) -> Codes:
    """The unit column as numbers of persons; each row with a missing unit is a person of their own."""
    known = codes(column)
    missing = column.is_null().to_numpy()
    own = known.n + np.arange(len(column))
    return Codes(values=np.where(missing, own, known.values), n=known.n + len(column))


def combine(columns: Sequence[Codes], *, n_rows: int | None = None, dense: bool = True) -> Codes:
    """Several columns as one: equal rows, equal numbers. `dense` leaves out the numbers that don't occur.

    Not dense, two columns a and b give a·n_b + b, so that the pair can be read back (while it fits 62 bits).
    """
    if not columns:
        return Codes(values=np.zeros(n_rows or 0, dtype=np.int64), n=1 if n_rows else 0)
    key = columns[0]
    for column in columns[1:]:
        if key.n * column.n > LARGEST_KEY:
            key = _dense(key)
        values = key.values * column.n
        values += column.values
        key = Codes(values=values, n=key.n * column.n)
    return _dense(key) if dense else key


def _column_codes(frame: Frame, name: str) -> Codes:
    column = _pandas_texts(frame, name) if name in frame.columns else None
    return codes(_column(frame, name)) if column is None else column


def _pandas_texts(frame: Frame, name: str) -> Codes | None:
    """Texts that pandas keeps as objects, numbered by pandas: to convert each would take several times as long."""
    if not frame.implementation.is_pandas() or frame[name].to_native().dtype != object:
        return None
    import pandas as pd

    values, distinct = pd.factorize(frame[name].to_native())
    if not all(isinstance(value, str) for value in distinct):  # nothing else equals a text, so the rest are texts too
        return None
    absent = values < 0
    return Codes(values=np.where(absent, len(distinct), values), n=len(distinct) + bool(absent.any()))


def require_columns(there: Collection[str], names: Sequence[str]) -> None:
    """Hold a table that has the columns `there` to have `names`; all that it lacks are named at once."""
    hint = "Correct its name, or remove its entry from the schema."
    lacking = [name for name in names if name not in there]
    Problems(SchemaError("table", f"must have the column '{name}'", hint=hint) for name in lacking).raise_if_any()


def _column(frame: Frame, name: str) -> pl.Series:
    require_columns(frame.columns, [name])
    return series(frame, name)


def _whole_numbers(column: pl.Series) -> pl.Series | None:
    """The column as 64-bit integers where its values, or their physical form, are such, within a small range."""
    kind = column.dtype
    if kind.is_temporal() or kind in (pl.Categorical, pl.Enum):
        column = column.to_physical()
    if column.dtype == pl.Boolean or column.dtype == pl.Null:
        column = column.cast(pl.Int8)
    if not (column.dtype.is_integer() or column.dtype.is_float()):
        return None
    low, high = column.min(), column.max()
    if low is None or high is None:
        return column.cast(pl.Int64)
    return _narrow(column, float(low), float(high))  # type: ignore[arg-type]


def _narrow(column: pl.Series, low: float, high: float) -> pl.Series | None:
    if not (high - low < 4 * len(column) + 1024 and max(abs(low), abs(high)) < 2**53):
        return None
    if column.dtype.is_float() and not bool((column == column.round()).all()):
        return None
    return column.cast(pl.Int64)


def _shifted(whole: pl.Series) -> Codes:
    low, high = whole.min(), whole.max()
    base, span = (0, 0) if low is None else (int(low), int(high) - int(low) + 1)  # type: ignore[arg-type]
    missing = whole.null_count() > 0
    values = (whole - base).fill_null(span).to_numpy().astype(np.int64, copy=False)
    return Codes(values=values, n=span + missing)


def _numbered(column: pl.Series) -> Codes:
    """A column's distinct values in the order of their first rows; missing is one of them."""
    if column.dtype.is_float():
        # The two zeros are one value. NumPy's sum makes them so; Polars' leaves a column as it is when 0 is added.
        return _sorted_out(column.to_numpy() + 0.0)
    if column.dtype.is_integer() and column.null_count() == 0:
        return _sorted_out(column.to_numpy())
    frame = pl.DataFrame({"value": column})
    distinct = frame.unique(maintain_order=True).with_row_index("place")
    found = frame.join(distinct, on="value", how="left", nulls_equal=True, maintain_order="left")["place"]
    return Codes(values=found.to_numpy().astype(np.int64), n=distinct.height)


def _sorted_out(values: AnyArray) -> Codes:
    """Numbers (NaN equals NaN) by sorting, which is faster for them than hashing."""
    distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.empty(len(distinct), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(distinct))
    return Codes(values=order[place], n=len(distinct))


def _dense(key: Codes) -> Codes:
    if key.n > 4 * len(key.values) + 2**16:
        return _numbered(pl.Series(key.values))
    seen: BoolArray = np.zeros(key.n, dtype=np.bool_)
    seen[key.values] = True
    place = np.cumsum(seen) - 1
    return Codes(values=place[key.values], n=int(seen.sum()))


def _order(distinct: pl.Series, levels: pl.Series | None) -> IntArray:
    """The positions of distinct values in their order: declared levels, then others by value, then missing."""
    if levels is None:
        return distinct.arg_sort(nulls_last=True).to_numpy().astype(np.int64)
    names = levels.cast(pl.String)
    place = distinct.cast(pl.String).replace_strict(names, pl.Series(np.arange(len(names))), default=len(names))
    table = pl.DataFrame({"missing": distinct.is_null(), "place": place, "value": distinct})
    return table.select(pl.arg_sort_by("missing", "place", "value")).to_series().to_numpy().astype(np.int64)


def _tally(values: IntArray, weights: IntArray | None) -> tuple[IntArray, IntArray]:
    """The distinct values, and the rows that have each or the weights of these rows."""
    if weights is None:
        return np.unique(values, return_counts=True)
    keys, place = np.unique(values, return_inverse=True)
    return keys, np.bincount(place.reshape(-1), weights=weights, minlength=len(keys)).astype(np.int64)


def _once_per_person(pair: Codes, person: IntArray) -> tuple[Codes, IntArray]:
    """One row for each person of each pair, and which of the rows it is."""
    both = combine([_dense(pair), Codes(values=person, n=int(person.max(initial=-1)) + 1)])
    row = np.empty(both.n, dtype=np.int64)
    row[both.values] = np.arange(len(person))
    return Codes(values=pair.values[row], n=pair.n), row


def _value_counts(contents: Contents) -> IntArray:
    if contents.overall is not None:
        return contents.overall
    counts = np.zeros(contents.n_values, dtype=np.int64)
    np.add.at(counts, contents.value, contents.count)
    return counts


def _earth_mover(contents: Contents) -> FloatArray:
    """Σ_{i<m−1} |F(i) − Q(i)| of each class, F its cumulative shares and Q the table's, both over ranks.

    F is constant from one value that occurs in the class to the next, and Q only rises, so each such stretch has at
    most one crossing, found by bisection; on either side the sum is a difference of prefix sums. Sums are of
    integers, so a class that is the table has distance 0 exactly.
    """
    starts, totals = contents.starts, contents._totals
    overall = np.cumsum(_value_counts(contents))
    n = int(overall[-1])
    prefix = np.concatenate([[0], np.cumsum(overall)])
    running = np.cumsum(contents.count)
    running -= (running[starts] - contents.count[starts])[contents.of]
    ends = np.append(contents.value[1:], 0)
    ends[np.append(starts[1:] - 1, len(ends) - 1)] = contents.n_values - 1
    share = totals[contents.of]
    cross = np.clip(np.searchsorted(overall / n, running / share), contents.value, ends)
    below = (cross - contents.value) * running / share - (prefix[cross] - prefix[contents.value]) / n
    above = (prefix[ends] - prefix[cross]) / n - (ends - cross) * running / share
    inside = np.add.reduceat(np.maximum(below, 0.0) + np.maximum(above, 0.0), starts)
    return inside + prefix[contents.value[starts]] / n
