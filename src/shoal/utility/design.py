"""The design matrix of a model on the columns, for both tables alike, kept as numbers and cells.

Coding "dummy": every column by its cells (see `cells`), one 0/1 variable per cell but the most frequent one, so the
model is a sum of free functions of one column each (000 section 4.2). Coding "numeric": a numeric or ordinal column
by its standardised code, with a 0/1 variable for missing where there is any; a nominal column with more than two
levels by its cells.

Cells are never spread out over the rows: a product with a 0/1 variable is a count, so n rows cost time in the number of
columns and not in the number of levels.

Weighted least squares that survives collinear columns, and says which coefficients the data determine.

The normal equations are scaled to unit diagonal and solved on the space that the data span; a coefficient is
*estimable* if no direction without information touches it. Standard errors are the classical ones, or with survey
weights the sandwich (heteroscedasticity-consistent) ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.utility.tables import MOST_VALUES, Both, cells_of, counts

__all__ = ["WIDEST", "Code", "Design", "Fit", "Layout", "design_width", "designs", "least_squares", "stack"]

Code = Literal["dummy", "numeric"]

_CHUNK = 8192  # rows spread out at a time
WIDEST = 600  # 0/1 variables of all columns together; wider columns are coarsened


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the variables of a design are: names of terms, and place and scale of the numbers as they were.

    Term `age` is a number, `sex[1]` the cell 1 of a column (its levels in their order, or bins from the lowest up),
    `age[missing]` marks missing numbers. A number that is constant in the original counts from there. After the
    intercept come `n_codes` columns as numbers. `sizes` are the numbers of cells, the reference cell 0 included.
    """

    terms: tuple[str, ...]
    n_codes: int
    centers: FloatArray
    scales: FloatArray
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """One table's rows: `numbers` (n x a, the first all 1) and `cells` (b x n, reference cell 0)."""

    numbers: FloatArray
    cells: IntArray
    sizes: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    @property
    def width(self) -> int:
        """Number of variables."""
        return int(self.numbers.shape[1]) + sum(self.sizes) - len(self.sizes)

    def take(self, rows: IntArray | BoolArray) -> Design:
        """The rows at these positions."""
        return replace(self, numbers=self.numbers[rows], cells=self.cells[:, rows])

    def dot(self, coefficients: FloatArray) -> FloatArray:
        """X b."""
        found = self.numbers @ coefficients[: self.numbers.shape[1]]
        for j, block in self._blocks():
            found += np.concatenate([[0.0], coefficients[block]])[self.cells[j]]
        return found

    def cross(self, values: FloatArray) -> FloatArray:
        """X' v."""
        parts = [self.numbers.T @ values]
        parts += [counts(self.cells[j], size, values)[1:] for j, size in enumerate(self.sizes)]
        return np.concatenate(parts)

    def gram(self, weights: FloatArray) -> FloatArray:
        """X' W X, by whichever way takes less time."""
        a, b = self.numbers.shape[1], len(self.sizes)
        by_counts = 100 * (b * b / 2 + a * b)  # a count costs about as much as 100 multiplications
        return self._gram_by_counts(weights) if by_counts < self.width**2 - a * a else self._gram_by_rows(weights)

    def rows(self, start: int, stop: int) -> FloatArray:
        """X itself, for some rows."""
        chunk = np.zeros((min(stop, self.n) - start, self.width))
        chunk[:, : self.numbers.shape[1]] = self.numbers[start:stop]
        for j, block in self._blocks():
            row = np.flatnonzero(self.cells[j, start:stop])
            chunk[row, block.start + self.cells[j, start:stop][row] - 1] = 1.0
        return chunk

    def _gram_by_rows(self, weights: FloatArray) -> FloatArray:
        gram = np.zeros((self.width, self.width))
        for start in range(0, self.n, _CHUNK):
            gram += _weighted_square(self.rows(start, start + _CHUNK), weights[start : start + _CHUNK])
        return gram

    def _gram_by_counts(self, weights: FloatArray) -> FloatArray:
        a = self.numbers.shape[1]
        gram = np.zeros((self.width, self.width))
        for start in range(0, self.n, _CHUNK):
            gram[:a, :a] += _weighted_square(self.numbers[start : start + _CHUNK], weights[start : start + _CHUNK])
        for j, block in self._blocks():
            for i in range(a):
                gram[i, block] = counts(self.cells[j], self.sizes[j], weights * self.numbers[:, i])[1:]
            gram[block, :a] = gram[:a, block].T
            gram[block, block] = np.diag(counts(self.cells[j], self.sizes[j], weights)[1:])
            for h, other in self._blocks():
                if h < j:
                    gram[other, block] = self._table(h, j, weights)
                    gram[block, other] = gram[other, block].T
        return gram

    def _table(self, h: int, j: int, weights: FloatArray) -> FloatArray:
        shape = self.sizes[h], self.sizes[j]
        keys = self.cells[h] * shape[1] + self.cells[j]
        return counts(keys, shape[0] * shape[1], weights).reshape(shape)[1:, 1:]

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        start = self.numbers.shape[1]
        for j, size in enumerate(self.sizes):
            yield j, slice(start, start + size - 1)
            start += size - 1


def designs(columns: Sequence[Both], code: Code, bins: int = 20) -> tuple[Design, Design, Layout]:
    """The designs of the original and the release, and what their variables are."""
    numbers = [_number(column) for column in columns if _as_number(column, code)]
    gone = [_mark_missing(one) for one in numbers if _any_nan(one.original, one.released)]
    cells = [_dummies(column, bins, len(columns)) for column in columns if not _as_number(column, code)]
    layout = _layout(numbers, gone, cells)
    sizes, variables = layout.sizes, [*numbers, *gone]
    n, m = len(columns[0].original), len(columns[0].released)
    original = _design([one.original for one in variables], [one.original for one in cells], sizes, n)
    released = _design([one.released for one in variables], [one.released for one in cells], sizes, m)
    return original, released, layout


def design_width(columns: Sequence[Both], bins: int = 20) -> int:
    """How many variables the dummy coding of `columns` would need, before any coarsening."""
    return sum(_n_cells(column, bins) - 1 for column in columns)


def stack(first: Design, second: Design) -> Design:
    """The rows of both."""
    return replace(
        first,
        numbers=np.vstack([first.numbers, second.numbers]),
        cells=np.hstack([first.cells, second.cells]),
    )


def _weighted_square(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """X' W X of some rows."""
    return rows.T @ (weights[:, None] * rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    term: str
    center: float
    scale: float
    original: FloatArray
    released: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dummies:
    terms: tuple[str, ...]
    original: IntArray
    released: IntArray


def _layout(numbers: Sequence[_Number], gone: Sequence[_Number], cells: Sequence[_Dummies]) -> Layout:
    variables = [*numbers, *gone]
    terms = ["(intercept)", *(one.term for one in variables), *(term for one in cells for term in one.terms)]
    return Layout(
        terms=tuple(terms),
        n_codes=len(numbers),
        centers=np.array([0.0, *(one.center for one in variables)]),
        scales=np.array([1.0, *(one.scale for one in variables)]),
        sizes=tuple(len(one.terms) + 1 for one in cells),
    )


def _as_number(column: Both, code: Code) -> bool:
    return code == "numeric" and not column.coding.unordered


def _number(column: Both) -> _Number:
    original, released = column.numbers()
    center, scale = column.coding.center, column.coding.scale
    present = original[~np.isnan(original)]
    is_flat = len(present) == 0 or bool(np.ptp(present) == 0)
    if is_flat:  # exactly 0, so that rounding does not make it a copy of the intercept
        center, scale = (float(present[0]) if len(present) else 0.0), 1.0
    return _Number(
        term=column.name,
        center=0.0 if is_flat else center,
        scale=scale,
        original=(original - center) / scale,
        released=(released - center) / scale,
    )


def _mark_missing(one: _Number) -> _Number:
    original, released = np.isnan(one.original), np.isnan(one.released)
    return _Number(
        term=f"{one.term}[missing]",
        center=0.0,
        scale=1.0,
        original=original.astype(np.float64),
        released=released.astype(np.float64),
    )


def _any_nan(*arrays: FloatArray) -> bool:
    return any(bool(np.isnan(array).any()) for array in arrays)


def _n_cells(column: Both, bins: int) -> int:
    if column.coding.levels is not None:
        return min(MOST_VALUES, column.coding.n_levels)
    n_values = len(np.unique(column.original))
    return bins if n_values > MOST_VALUES else n_values


def _dummies(column: Both, bins: int, n_columns: int) -> _Dummies:
    """Cells with the most frequent one first; of more than a column's share of variables the rarest are merged."""
    limit = max(2, min(MOST_VALUES, WIDEST // n_columns))
    cells = cells_of(column, np.ones(len(column.original)), min(bins, limit), limit)
    frequency = counts(cells.original, cells.size, np.ones(len(cells.original)))
    order = np.argsort(-frequency, kind="stable")
    place = np.empty(cells.size, dtype=np.int64)
    place[order] = np.minimum(np.arange(cells.size), limit)
    used = np.unique(np.concatenate([[0], place[cells.original], place[cells.released]]))
    numbers = np.searchsorted(used, place)
    labels = ["other" if rank == limit else str(order[rank]) for rank in used[1:]]
    return _Dummies(
        terms=tuple(f"{column.name}[{label}]" for label in labels),
        original=numbers[cells.original],
        released=numbers[cells.released],
    )


def _design(numbers: Sequence[FloatArray], cells: Sequence[IntArray], sizes: tuple[int, ...], n: int) -> Design:
    return Design(
        numbers=np.column_stack([np.ones(n), *(np.nan_to_num(x, nan=0.0) for x in numbers)]),
        cells=np.vstack(cells) if cells else np.empty((0, n), dtype=np.int64),
        sizes=sizes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model: `coefficients` in the columns' own units, `working` ones for `Design.dot`.

    `half_widths` are those of 95% intervals; NaN where no degree of freedom is left.
    """

    working: FloatArray
    coefficients: FloatArray
    errors: FloatArray
    half_widths: FloatArray
    estimable: BoolArray

    def predict(self, design: Design) -> FloatArray:
        """Expected responses; a level that training had not seen counts as the reference level."""
        return design.dot(self.working)


def least_squares(design: Design, layout: Layout, response: FloatArray, weights: FloatArray, *, robust: bool) -> Fit:
    """Fit `response` on `design`; rows of weight 0 count for nothing."""
    center = float(np.average(response, weights=weights))
    gram = design.gram(weights)
    inverse, null, rank = _pseudo_inverse(gram)
    working = inverse @ design.cross(weights * (response - center))
    residuals = response - center - design.dot(working)
    working[0] += center
    freedom = int((weights > 0).sum()) - rank
    covariance = _covariance(design, inverse, residuals, weights, freedom, robust)
    back = _back(layout, design.width)
    errors = np.sqrt(np.maximum(np.sum((back @ covariance) * back, axis=1), 0.0))
    return Fit(
        working=working,
        coefficients=back @ working,
        errors=errors,
        half_widths=errors * _student(freedom),
        estimable=_estimable(back, null),
    )


def _pseudo_inverse(gram: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """The pseudo-inverse on the scale of unit diagonal, the directions without information, and the rank."""
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = values > max(1e-11, 10 * len(gram) * float(np.finfo(np.float64).eps)) * max(float(values[-1]), 1e-300)
    vectors = vectors / scale[:, None]
    used = vectors[:, kept]
    return (used / values[kept]) @ used.T, vectors[:, ~kept], int(kept.sum())


def _covariance(
    design: Design,
    inverse: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    freedom: int,
    robust: bool,
) -> FloatArray:
    if freedom <= 0:
        return np.full_like(inverse, np.nan)
    if not robust:
        return inverse * (float(weights @ residuals**2) / freedom)
    n = int((weights > 0).sum())
    return inverse @ design.gram((weights * residuals) ** 2) @ inverse * (n / freedom)


def _back(layout: Layout, width: int) -> FloatArray:
    """The map from coefficients on standardised numbers to those in the columns' own units."""
    back = np.eye(width)
    a = len(layout.scales)
    back[np.arange(a), np.arange(a)] = 1.0 / layout.scales
    back[0, 1:a] = -(layout.centers / layout.scales)[1:]
    return back


def _estimable(back: FloatArray, null: FloatArray) -> BoolArray:
    if null.shape[1] == 0:
        return np.ones(len(back), dtype=np.bool_)
    touched = np.linalg.norm(back @ (null / np.linalg.norm(null, axis=0)), axis=1)
    return np.asarray(touched <= 1e-6 * np.linalg.norm(back, axis=1), dtype=np.bool_)


def _student(freedom: int) -> float:
    """97.5% point of Student's t."""
    if freedom <= 0:
        return float("nan")
    if freedom >= 100:  # Fisher's expansion is right to eight digits, and spares the import
        z, v = 1.959963984540054, float(freedom)
        second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        return z + (z**3 + z) / (4 * v) + second + third
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
