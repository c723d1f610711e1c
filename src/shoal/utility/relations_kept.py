"""Whether outcomes depend on who people are as they did: the slopes of an analyst, before and after.

For each quasi-identifier i (a number, or a level that at least 50 people have) and each sensitive column j (the same)
the slope of j on i by least squares, b_ij = cov(i, j) / var(i), with its heteroscedasticity-robust standard error in
the original, SE_ij; and for each sensitive j the coefficients of one regression on all quasi-identifiers together::

    within   share of the slopes with |b' − b| ≤ 2 SE
    kept     median of b' / b over strong slopes, |b| > 6 SE; and the tenth of them of which least is left

The strong slopes that changed most, relative to their size, are named. A fresh sample of the population would not have
all slopes within two standard errors, nor all kept: `chance` figures are those of bootstraps of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.design import Design, designs
from shoal.utility.tables import Both, both_columns, row_weights, sample_rows, side_by_side

__all__ = ["Relations", "Slope", "measure", "relations"]

_FEWEST_PEOPLE = 50  # with a level, before its slope says anything
_STRONG = 6.0  # standard errors
_CLOSE = 2.0
_MOST_ROWS = 200_000
_BOOTSTRAPS = 3
_NAMED = 3
_ROUNDING = 1e-9
_SINGULAR, _UNTOUCHED = 1e-10, 1e-6
_CHUNK = 8192  # rows spread out at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope(Record):
    """One strong slope in both tables, by the names of what depends and of what it depends on.

    It stays inside: the slope of a level that few people have tells of them.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("kept",)

    of: str
    by: str
    original: float
    released: float
    error: float

    @property
    def kept(self) -> float:
        """What is left of it: 1 all, 0 nothing, below 0 the other way round."""
        return self.released / self.original


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations(Record):
    """What is left of the relations between quasi-identifiers and sensitive columns; see the module.

    Parameters
    ----------
    within, kept, kept_tenth
        Of single slopes; None where there is none, or none that is strong.
    chance_within, chance_kept, chance_tenth
        The same of bootstraps of the original.
    multiple_within, multiple_kept, multiple_chance_within
        Of the coefficients of regressions on all quasi-identifiers together.
    n_slopes, n_strong, n_multiple
        How many slopes were compared, how many of these are strong, and how many coefficients.
    worst
        The strong slopes that changed most, relative to their size, the worst first.
    n_rows, sampled
        Original rows looked at, and whether they are a random sample.
    why
        Why nothing was measured; None where it was.
    """

    releasable: ClassVar[bool] = False
    listed: ClassVar[tuple[str, ...]] = ("worst",)

    within: float | None
    kept: float | None
    kept_tenth: float | None
    chance_within: float | None
    chance_kept: float | None
    chance_tenth: float | None
    multiple_within: float | None
    multiple_kept: float | None
    multiple_chance_within: float | None
    n_slopes: int
    n_strong: int
    n_multiple: int
    worst: tuple[Slope, ...]
    n_rows: int
    sampled: bool
    why: str | None = None

    def __float__(self) -> float:
        return float("nan") if self.kept is None else self.kept


def relations(original: Any, released: Any, schema: Schema, source_rows: Any = None, seed: int = 0) -> Relations:
    """Compare each slope of a sensitive column on a quasi-identifier before and after.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; needed where a column was coarsened.
    seed
        Seed of the bootstraps, and of the sample of a table of more than 200,000 rows.

    Notes
    -----
    Ordered levels count by their position. A row in which either value is missing is left out of their slope; in
    regressions on all columns a missing number is a term of its own. Survey weights are used where the schema names
    them and the release has them. Cost: O(n · quasi-identifiers · sensitive columns).

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> rng = np.random.default_rng(1)
    >>> table = pl.DataFrame({"age": rng.normal(size=500)}).with_columns(cost=2 * pl.col("age") + rng.normal(size=500))
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> halved = table.with_columns(age=pl.col("age") * 2)
    >>> shoal.utility.relations(table, table, schema).kept, shoal.utility.relations(table, halved, schema).kept
    (1.0, 0.5)
    """
    return measure(side_by_side(original, released, schema, source_rows), seed=seed)


def measure(pair: Pair, *, seed: int = 0) -> Relations:
    """`relations` of an existing pair."""
    rng = stream(seed, "relations")
    weight = pair.schema.weight
    weights = row_weights(pair, weight is not None and weight in pair.released.columns, "relations")
    rows = sample_rows(pair, _MOST_ROWS, rng) if max(pair.original.n, len(pair.released)) > _MOST_ROWS else None
    columns = both_columns(pair) if rows is None else tuple(_taken(one, *rows) for one in both_columns(pair))
    before, after = weights if rows is None else (weights[0][rows[0]], weights[1][rows[1]])
    causes = [term for one in columns if one.role == "quasi" for term in _terms(one)]
    effects = [term for one in columns if one.role == "sensitive" for term in _terms(one)]
    if not causes or not effects:
        return _nothing(pair, "no sensitive column, or none with a level that enough people have")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # small matrices: threads only wait for each other
        single = _Single.of(causes, effects, before, after)
        multiple = _Multiple.of([one for one in columns if one.role == "quasi"], effects, before, after)
        chance = _chance(causes, effects, single, multiple, before, rng)
    return Relations(
        within=single.within(single.released),
        kept=single.kept(single.released, 0.5),
        kept_tenth=single.kept(single.released, 0.1),
        n_slopes=single.n,
        n_strong=int(single.strong.sum()),
        n_multiple=multiple.n,
        multiple_within=multiple.within(multiple.released),
        multiple_kept=multiple.kept(multiple.released, 0.5),
        worst=_worst(causes, effects, single),
        n_rows=len(before),
        sampled=rows is not None,
        chance_within=chance[0],
        chance_kept=chance[1],
        chance_tenth=chance[2],
        multiple_chance_within=chance[3],
    )


def _nothing(pair: Pair, why: str) -> Relations:
    return Relations(
        within=None,
        kept=None,
        kept_tenth=None,
        chance_within=None,
        chance_kept=None,
        chance_tenth=None,
        multiple_within=None,
        multiple_kept=None,
        multiple_chance_within=None,
        n_slopes=0,
        n_strong=0,
        n_multiple=0,
        worst=(),
        n_rows=pair.original.n,
        sampled=False,
        why=why,
    )


def _taken(column: Both, before: Any, after: Any) -> Both:
    return Both(
        name=column.name,
        role=column.role,
        coding=column.coding,
        original=column.original[before],
        released=column.released[after],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Term:
    """A number, or whether somebody has a level, in both tables; NaN where it is missing."""

    name: str
    original: FloatArray
    released: FloatArray


def _terms(column: Both) -> list[_Term]:
    original, released = column.numbers()
    if column.is_number:
        return [_Term(name=column.name, original=original, released=released)]
    levels = column.coding.levels
    names = [] if levels is None else levels.to_list()
    places = [place for place in range(len(names)) if _enough(original, place)]
    if len(names) == 2:
        places = places[-1:]  # the other is its mirror image
    return [
        _Term(name=f"{column.name} ({names[i]})", original=_has(original, i), released=_has(released, i))
        for i in places
    ]


def _enough(codes: FloatArray, place: int) -> bool:
    n = int((codes == place).sum())
    return n >= _FEWEST_PEOPLE and int((~np.isnan(codes)).sum()) - n >= _FEWEST_PEOPLE


def _has(codes: FloatArray, place: int) -> FloatArray:
    return np.where(np.isnan(codes), np.nan, codes == place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Coefficients of the original with their standard errors, and which can be compared."""

    original: FloatArray
    released: FloatArray
    errors: FloatArray

    @property
    def known(self) -> BoolArray:
        """Which are determined by the original."""
        known: BoolArray = np.isfinite(self.original) & np.isfinite(self.errors)
        return known

    @property
    def n(self) -> int:
        """How many are compared."""
        return int(self.known.sum())

    @property
    def strong(self) -> BoolArray:
        """Which are large beside their standard error."""
        strong: BoolArray = self.known & (np.abs(self.original) > _STRONG * self.errors) & (self.original != 0)
        return strong

    def within(self, other: FloatArray) -> float | None:
        """Return the share that lies within two standard errors; one that is lost in the other table doesn't."""
        known = self.known
        if not known.any():
            return None
        slack = _CLOSE * self.errors + _ROUNDING * np.abs(self.original)
        return float((np.abs(other - self.original) <= slack)[known].mean())

    def kept(self, other: FloatArray, quantile: float) -> float | None:
        """Return a quantile of what is left of the strong ones; nothing is left of one that is lost."""
        strong = self.strong
        if not strong.any():
            return None
        return float(np.quantile(np.nan_to_num(other[strong], nan=0.0) / self.original[strong], quantile))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Single(_Compared):
    """Slopes of each effect on each cause alone."""

    @classmethod
    def of(cls, causes: Sequence[_Term], effects: Sequence[_Term], before: FloatArray, after: FloatArray) -> _Single:
        """Fit all of them in both tables."""
        y = np.column_stack([one.original for one in effects])
        fits = [slopes(one.original, y, before) for one in causes]
        shown = np.column_stack([one.released for one in effects])
        return cls(
            original=np.array([slope for slope, _ in fits]),
            errors=np.array([error for _, error in fits]),
            released=np.array([slopes(one.released, shown, after)[0] for one in causes]),
        )


def slopes(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the slope of each column of `y` on `x` and its robust standard error; NaN where x doesn't vary."""
    both = ~np.isnan(x)[:, None] & ~np.isnan(y)
    w = np.where(both, weights[:, None], 0.0)
    total = np.maximum(w.sum(axis=0), 1e-300)
    numbers, values = np.nan_to_num(x, nan=0.0)[:, None], np.nan_to_num(y, nan=0.0)
    dx = np.where(both, numbers - (w * numbers).sum(axis=0) / total, 0.0)
    dy = np.where(both, values - (w * values).sum(axis=0) / total, 0.0)
    spread = (w * dx**2).sum(axis=0)
    flat = spread <= 1e-12 * total * np.maximum(1.0, float(np.abs(numbers).max(initial=0.0)) ** 2)
    spread = np.where(flat, np.nan, spread)
    slope = (w * dx * dy).sum(axis=0) / spread
    error = np.sqrt(((w * dx * (dy - slope * dx)) ** 2).sum(axis=0)) / spread
    return slope, error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Multiple(_Compared):
    """Coefficients of each effect on all quasi-identifiers together, without intercepts; effect × term."""

    design: Design
    effects: FloatArray

    @classmethod
    def of(cls, columns: Sequence[Both], effects: Sequence[_Term], before: FloatArray, after: FloatArray) -> _Multiple:
        """Fit all of them in both tables."""
        original, released, _ = designs(columns, "numeric")
        own = np.column_stack([one.original for one in effects])
        fitted, errors = coefficients(original, own, before)
        shown, _ = coefficients(released, np.column_stack([one.released for one in effects]), after)
        fitted[:, np.concatenate([[False], ~_common(original)])] = np.nan
        return cls(original=fitted[:, 1:], errors=errors[:, 1:], released=shown[:, 1:], design=original, effects=own)

    def again(self, weights: FloatArray) -> FloatArray:
        """Fit the original with other weights."""
        return coefficients(self.design, self.effects, weights, with_errors=False)[0][:, 1:]


def _common(design: Design) -> BoolArray:
    """Return which terms, but the intercept, are numbers or levels that enough people have."""
    cells = [np.bincount(design.cells[j], minlength=size)[1:] for j, size in enumerate(design.sizes)]
    held = np.concatenate([np.full(design.numbers.shape[1] - 1, design.n), *cells])
    common: BoolArray = held >= _FEWEST_PEOPLE
    return common


def coefficients(
    design: Design, y: FloatArray, weights: FloatArray, *, with_errors: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return, for each column of `y`, its coefficients on the design and their robust standard errors.

    Columns whose values are missing in the same rows are fitted together. A coefficient that the rows don't determine,
    and all of a column with too few rows, are NaN.
    """
    found = np.full((y.shape[1], design.width), np.nan)
    errors = np.full_like(found, np.nan)
    known = ~np.isnan(y)
    for pattern in {known[:, j].tobytes(): j for j in range(y.shape[1])}.values():
        alike = np.flatnonzero((known == known[:, [pattern]]).all(axis=0))
        w = np.where(known[:, pattern], weights, 0.0)
        if int((w > 0).sum()) >= 2 * design.width:
            found[alike], errors[alike] = _fitted(design, np.nan_to_num(y[:, alike], nan=0.0), w, with_errors)
    return found, errors


def _fitted(design: Design, y: FloatArray, weights: FloatArray, with_errors: bool) -> tuple[FloatArray, FloatArray]:
    y = y - (weights @ y) / weights.sum()  # smaller numbers; only the intercept moves
    inverse, determined = _inverse(design.gram(weights))
    cross = np.column_stack([design.cross(weights * one) for one in y.T])
    fitted = np.where(determined[:, None], inverse @ cross, np.nan).T
    if not with_errors:
        return fitted, np.full_like(fitted, np.nan)
    working = np.nan_to_num(fitted, nan=0.0)
    squares = np.zeros_like(fitted)
    for start in range(0, design.n, _CHUNK):
        rows, part = design.rows(start, start + _CHUNK), slice(start, start + _CHUNK)
        residuals = weights[part, None] * (y[part] - rows @ working.T)
        squares += (residuals**2).T @ (rows @ inverse) ** 2
    return fitted, np.sqrt(squares)


def _inverse(gram: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the pseudo-inverse on the scale of unit diagonal, and which coefficients the rows determine."""
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    used = values > _SINGULAR * values[-1]
    determined: BoolArray = (np.abs(vectors[:, ~used]) < _UNTOUCHED).all(axis=1)
    kept = vectors[:, used] / scale[:, None]
    return (kept / values[used]) @ kept.T, determined


def _chance(
    causes: Sequence[_Term],
    effects: Sequence[_Term],
    single: _Single,
    multiple: _Multiple,
    weights: FloatArray,
    rng: Generator,
) -> tuple[float | None, ...]:
    """Return within, kept and its tenth of slopes, and within of coefficients, for bootstraps of the original."""
    y = np.column_stack([one.original for one in effects])
    found: list[tuple[float | None, ...]] = []
    for _ in range(_BOOTSTRAPS):
        drawn = weights * np.bincount(rng.integers(0, len(weights), len(weights)), minlength=len(weights))
        again = np.array([slopes(one.original, y, drawn)[0] for one in causes])
        within, half, tenth = single.within(again), single.kept(again, 0.5), single.kept(again, 0.1)
        found.append((within, half, tenth, multiple.within(multiple.again(drawn))))
    return tuple(_mean(each) for each in zip(*found, strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _worst(causes: Sequence[_Term], effects: Sequence[_Term], single: _Single) -> tuple[Slope, ...]:
    """Return the strong slopes that changed most, relative to their size."""
    places = np.argwhere(single.strong)
    if not len(places):
        return ()
    now = np.nan_to_num(single.released, nan=0.0)
    change = np.abs(1 - now[single.strong] / single.original[single.strong])
    worst = places[np.argsort(-change, kind="stable")[:_NAMED]]
    return tuple(
        Slope(
            of=effects[j].name,
            by=causes[i].name,
            original=float(single.original[i, j]),
            released=float(now[i, j]),
            error=float(single.errors[i, j]),
        )
        for i, j in worst
    )
