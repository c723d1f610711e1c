"""Dates as numbers: digits of a date in one number, and days, seconds or months counted from some origin.

Digits prove themselves: of random numbers of eight digits one in thirty is a day of the calendar, of six one in
thirty, of fourteen one in ten million; all values of a column in one order are dates. Counts prove nothing: 22,000 may
be a day (of SAS, in 2020; of R, in 2030) or an amount. They are judged by range (every value a plausible day), by
spread (a year to a lifetime, far from the origin for its width), by shape (neither skewed nor rounded) and by density,
and unless the name says that they are dates a person is asked. Whole multiples of 86,400 are days in seconds for sure.

The year is told where one origin alone gives plausible days; where two do (Unix and SAS seconds), nobody can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import polars as pl

from shoal.arrays import FloatArray

__all__ = ["NumberReading", "are_plain_numbers", "as_numbers", "read_numbers"]

_FIRST, _LAST = 1850, 2100
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberReading:
    """How numbers are dates: in which form, which are, how sure that is, and the years (missing where untold)."""

    form: str
    fits: pl.Series
    years: pl.Series
    sure: bool
    short: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Digits:
    """An order of digits: where year, month and day stand in a number of so many, as (divisor, size) of each."""

    title: str
    n_digits: int
    year: tuple[int, int]
    month: tuple[int, int] | None = None
    day: tuple[int, int] | None = None
    ordinal: tuple[int, int] | None = None
    hour: int | None = None
    enough: float = 0.6
    fewest: int = 1

    @property
    def short(self) -> bool:
        """Whether its year has two digits."""
        return self.year[1] == 100


_MOSTLY, _MOSTLY_SHORT = 0.5, 0.9  # of the numbers under a name that speaks of dates
_MANY_DAYS = 20
DIGITS: tuple[_Digits, ...] = (
    _Digits(title="YYYYMMDD", n_digits=8, year=(10**4, 10**4), month=(100, 100), day=(1, 100)),
    _Digits(title="YYYYMM", n_digits=6, year=(100, 10**4), month=(1, 100), enough=0.98),
    _Digits(title="MMDDYYYY", n_digits=8, year=(1, 10**4), month=(10**6, 100), day=(10**4, 100)),
    _Digits(title="DDMMYYYY", n_digits=8, year=(1, 10**4), month=(10**4, 100), day=(10**6, 100)),
    _Digits(
        title="YYYYMMDDHHMMSS", n_digits=14, year=(10**10, 10**4), month=(10**8, 100), day=(10**6, 100), hour=10**4
    ),
    _Digits(title="YYYYMMDDHHMM", n_digits=12, year=(10**8, 10**4), month=(10**6, 100), day=(10**4, 100), hour=100),
    _Digits(title="YYYYDDD", n_digits=7, year=(1000, 10**4), ordinal=(1, 1000), enough=1.0, fewest=3),
    _Digits(title="YYMMDD", n_digits=6, year=(10**4, 100), month=(100, 100), day=(1, 100), enough=1.0, fewest=6),
    _Digits(title="DDMMYY", n_digits=6, year=(1, 100), month=(100, 100), day=(10**4, 100), enough=1.0, fewest=6),
    _Digits(title="MMDDYY", n_digits=6, year=(1, 100), month=(10**4, 100), day=(100, 100), enough=1.0, fewest=6),
)
"""The orders of digits, the likelier first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """A way of counting time: what it is called, its origin in days from 1970, and units in a day.

    `recent` says that only days since 1980 count where the name says nothing.
    """

    title: str
    days: float
    per_day: float
    parts: bool = False


ORIGINS: tuple[_Origin, ...] = (
    _Origin(title="days since 1970 (R)", days=0, per_day=1),
    _Origin(title="days since 1960 (SAS, Stata)", days=-3653, per_day=1),
    _Origin(title="days since 1900 (Excel)", days=-25569, per_day=1, parts=True),
    _Origin(title="days since 1904 (Excel)", days=-24107, per_day=1, parts=True),
    _Origin(title="modified Julian days", days=-40587, per_day=1, parts=True),
    _Origin(title="days since the year 1", days=-719163, per_day=1),
    _Origin(title="days since the year 0 (Matlab)", days=-719529, per_day=1, parts=True),
    _Origin(title="Julian days", days=-2440587.5, per_day=1, parts=True),
    _Origin(title="seconds since 1970 (Unix)", days=0, per_day=_DAY, parts=True),
    _Origin(title="seconds since 1960 (SAS)", days=-3653, per_day=_DAY, parts=True),
    _Origin(title="seconds since 1582 (SPSS)", days=-141428, per_day=_DAY, parts=True),
    _Origin(title="milliseconds since 1970", days=0, per_day=_DAY * 1e3, parts=True),
    _Origin(title="milliseconds since 1960 (Stata)", days=-3653, per_day=_DAY * 1e3, parts=True),
    _Origin(title="microseconds since 1970", days=0, per_day=_DAY * 1e6, parts=True),
    _Origin(title="nanoseconds since 1970", days=0, per_day=_DAY * 1e9, parts=True),
    _Origin(title="ticks since 1601 (Windows)", days=-134774, per_day=_DAY * 1e7, parts=True),
    _Origin(title="ticks since the year 1 (.NET)", days=-719162, per_day=_DAY * 1e7, parts=True),
)
"""The ways of counting days and moments."""

_MONTHS_SINCE_1960 = "months since 1960 (Stata)"
_FEWEST, _MANY = 20, 12  # different values from which on numbers can be judged at all
_AHEAD = 3  # years that a date may lie ahead
_DAYS_A_YEAR = 365.2425


def as_numbers(values: pl.Series) -> pl.Series | None:
    """Numbers, or texts that nearly all are numbers, as numbers; None where they are something else."""
    if values.dtype == pl.Boolean or not len(values):
        return None
    if values.dtype.is_numeric():
        return values
    if values.dtype != pl.String:
        return None
    values = values.str.replace(_DECIMAL_COMMA, "$1.$2")
    grouped = values.str.contains(_THOUSANDS).fill_null(False)
    values = values.zip_with(~grouped, values.str.replace_all(",", "", literal=True))
    plain = values.str.contains(_NUMBER)
    return values.set(~plain, None).cast(pl.Float64) if float(plain.mean() or 0.0) >= 0.9 else None  # type: ignore[arg-type]


def are_plain_numbers(values: pl.Series) -> bool:
    """Whether nearly all of these texts are numbers."""
    return as_numbers(values) is not None


_NUMBER = r"^-?\d{1,18}(?:\.\d+)?(?:e\+?\d\d?)?$"
_DECIMAL_COMMA, _THOUSANDS = r"^(-?\d+),(\d{1,2}|\d{4,})$", r"^-?\d{1,3}(?:,\d{3})+$"


def read_numbers(values: pl.Series, *, named: bool, vetoed: bool = False) -> NumberReading | None:
    """Read different numbers as dates, if they are.

    Parameters
    ----------
    values
        Different numbers, or texts of digits.
    named
        Whether the name of the column speaks of dates.
    vetoed
        Whether it speaks of something that is counted otherwise, such as costs.
    """
    numbers = as_numbers(values)
    if numbers is None or not numbers.drop_nulls().len():
        return None
    sizes = values.str.len_chars() if values.dtype == pl.String else None
    found = _digits(numbers, sizes, named=named)
    if found is not None or (vetoed and not named):
        return found
    return _counted(numbers, named=named)


# Digits


def _digits(numbers: pl.Series, sizes: pl.Series | None, *, named: bool) -> NumberReading | None:
    plain = ((numbers == numbers.round()) & (numbers >= 0)).fill_null(False)
    whole = numbers.set(~plain, None).cast(pl.Int64, strict=False)
    orders = [order for order in DIGITS if _has_digits(whole, sizes, order)]
    fitting = {
        order: fits for order in orders if _enough(fits := _fits(whole, sizes, order), whole, order, named=named)
    }
    if not fitting:
        return None
    order = next(iter(fitting))
    fits, years = fitting[order], _part(whole, order.year)
    if order.short:
        years = _told(whole, [other for other in fitting if other.short])
    return NumberReading(
        form=order.title,
        fits=fits,
        years=years.set(~fits, None).cast(pl.Int32),
        sure=int(fits.sum()) >= (1 if named and not order.short else order.fewest),
        short=order.short,
    )


def _has_digits(whole: pl.Series, sizes: pl.Series | None, order: _Digits) -> bool:
    """Whether most numbers have as many digits: a look before a closer look."""
    if sizes is not None:
        return float((sizes == order.n_digits).mean() or 0.0) >= _MOSTLY  # type: ignore[arg-type]
    return float(whole.is_between(10 ** (order.n_digits - 2), 10**order.n_digits).mean() or 0.0) >= _MOSTLY  # type: ignore[arg-type]


def _enough(fits: pl.Series, whole: pl.Series, order: _Digits, *, named: bool) -> bool:
    """Whether so many numbers are dates in this order that it is no accident."""
    share = float(fits.mean() or 0.0)  # type: ignore[arg-type]
    if named:
        return share >= (_MOSTLY_SHORT if order.short else _MOSTLY)
    return share >= order.enough and (order.fewest == 1 or _spreads(whole.filter(fits), order))


def _told(whole: pl.Series, orders: Sequence[_Digits]) -> pl.Series:
    """The years of two digits in the order in which years are few and days many; none where two orders do as well."""
    parts = [(_part(whole, order.year), _part(whole, order.day)) for order in orders if order.day is not None]
    told = [year for year, day in parts if year.n_unique() <= 0.75 * day.n_unique() and day.n_unique() >= _MANY_DAYS]
    clear = [year for year, _ in parts] if len(parts) == 1 else told
    alike = bool(clear) and all(bool((clear[0] == year).all()) for year in clear)
    return clear[0] if alike else whole.set(whole.is_not_null(), None)


def _fits(whole: pl.Series, sizes: pl.Series | None, order: _Digits) -> pl.Series:
    """Which numbers are dates in this order of digits; texts must have all its digits."""
    most: pl.Series = whole < 10**order.n_digits
    fits = most.fill_null(False) & (
        (whole >= 10 ** (order.n_digits - 2)) if sizes is None else (sizes == order.n_digits)
    )
    year = _part(whole, order.year)
    if order.year[1] == 10_000:
        fits &= year.is_between(_FIRST, _LAST)
    if order.month is not None:
        fits &= _part(whole, order.month).is_between(1, 12)
    if order.day is not None:
        fits &= _part(whole, order.day).is_between(1, 31)
    if order.ordinal is not None:
        fits &= _part(whole, order.ordinal).is_between(1, 366)
    if order.hour is not None:
        fits &= _part(whole, (order.hour, 100)) < 24
        fits &= _part(whole, (order.hour // 100, 100)) < 60
    return fits.fill_null(False)


def _spreads(whole: pl.Series, order: _Digits) -> bool:
    """Whether days and months of few digits lie all over the year, as those of dates do and running numbers don't."""
    part = order.ordinal or order.month
    assert part is not None
    found, top = _part(whole, part), 366 if order.ordinal else 12
    years = _part(whole, order.year)
    within = bool((years <= _this_year() + _AHEAD).all()) if order.year[1] == 10_000 else True
    return within and bool((found >= 0.5 * top).any()) and found.n_unique() >= min(4, len(whole))


def _part(whole: pl.Series, place: tuple[int, int]) -> pl.Series:
    divisor, size = place
    part: pl.Series = whole // divisor % size
    return part


# Counts


def _counted(numbers: pl.Series, *, named: bool) -> NumberReading | None:
    """The origins from which all numbers are plausible days; none, where the numbers don't look like days."""
    numbers = numbers.cast(pl.Float64)
    known = _without_codes(numbers.drop_nulls().to_numpy())
    if not known.size:
        return None
    years = _decimal_years(numbers, known, named=named)
    if years is not None:
        return years
    origins = [origin for origin in ORIGINS if _plausible(known, origin)]
    if named and not origins:
        origins = [origin for origin in ORIGINS if _possible(known, origin)]
    midnights = _are_midnights(known, origins)
    if origins and (named or midnights or _like_days(known)):
        return _from(numbers, origins[0] if len(origins) == 1 else None, sure=named or midnights)
    return _months_since_1960(numbers, known, named=named)


def _without_codes(known: FloatArray) -> FloatArray:
    """Finite numbers but those that stand for an absence in many files: -9 to -1, 9999, -99."""
    finite = known[np.isfinite(known)]
    left: FloatArray = finite[~np.isin(finite, _CODES)]
    return left if left.size else finite


_CODES = np.array(
    [*range(-9, 0), *(sign * digit * (10**n - 1) // 9 for sign in (1, -1) for digit in (7, 8, 9) for n in range(2, 16))]
)


def _decimal_years(numbers: pl.Series, known: FloatArray, *, named: bool) -> NumberReading | None:
    """Years with a fraction: 2020.37."""
    fractions = known != np.round(known)
    low, high = float(known.min()), float(known.max())
    inside = low >= 1900 and high < _this_year() + _AHEAD and 0.5 <= high - low <= 110
    if not inside or fractions.mean() < 0.5 or (len(known) < _FEWEST and not named):
        return None
    if not named and (_skewed(known) or _rounded(known % 1)):
        return None
    fits = numbers.is_between(1900, _this_year() + _AHEAD).fill_null(False)
    return NumberReading(
        form="decimal years", fits=fits, years=numbers.set(~fits, None).floor().cast(pl.Int32), sure=named
    )


def _rounded(parts: FloatArray) -> bool:
    """Whether fractions are but a few: halves and quarters."""
    return np.unique(np.round(parts, 3)).size <= 4


def _plausible(known: FloatArray, origin: _Origin) -> bool:
    """Whether all numbers are days between 1900 and a few years ahead, spread over some months to a lifetime."""
    years = _years_of(known, origin)
    low, high = np.quantile(years, [0.01, 0.99])
    inside = years.min() >= 1900 and years.max() < _this_year() + 1 + _AHEAD and 0.2 <= high - low <= 110
    return bool(inside) and (origin.parts or not (known != np.round(known)).any())


def _possible(known: FloatArray, origin: _Origin) -> bool:
    """Whether nearly all numbers under a name that speaks of dates are such days, however few they are."""
    years = _years_of(known, origin)
    inside = np.mean((years >= 1900) & (years < _this_year() + 1 + _AHEAD)) >= 0.95
    return bool(inside) and float(np.median(np.abs(known))) / origin.per_day > 366


def _years_of(known: FloatArray, origin: _Origin) -> FloatArray:
    return np.asarray(1970 + (known / origin.per_day + origin.days) / _DAYS_A_YEAR, dtype=np.float64)


def _like_days(known: FloatArray) -> bool:
    """Whether numbers lie as days do: many, whole or with fine fractions, far from 0 for their width, not skewed."""
    if len(known) < _FEWEST or _skewed(known) or float(np.max(np.abs(known))) < _SMALL:
        return False
    low, high = float(known.min()), float(known.max())
    whole = bool((known == np.round(known)).all())
    tens = float(np.mean(known % 10 == 0))
    signed = whole and low < -366 and high > 366 and min(-low, high) > 0.1 * (high - low)
    far = max(low, 0.0) >= (_FAR if whole else 1.0) * (high - low)
    if whole and float(np.max(np.abs(known))) > 1e8:
        tens = 0.0  # seconds may be whole minutes, milliseconds whole seconds
    return (signed or far) and tens <= 0.25


_SMALL = 2200  # a day of 1976, counted from 1970; scores, weights and years are smaller
_FAR = 0.4  # of their width, that the smallest lies from 0


def _skewed(known: FloatArray) -> bool:
    """Whether one half of the numbers takes much more room than the other, as amounts do and days don't."""
    low, middle, high = np.quantile(known, [0.02, 0.5, 0.98])
    below, above = middle - low, high - middle
    return bool(min(below, above) < 0.25 * max(below, above))


def _are_midnights(known: FloatArray, origins: Sequence[_Origin]) -> bool:
    """Whether the numbers are whole days in seconds or less."""
    units = {origin.per_day for origin in origins if origin.per_day > 1}
    return len(known) >= 3 and any(bool((known % unit == 0).all()) for unit in units)


def _from(numbers: pl.Series, origin: _Origin | None, *, sure: bool) -> NumberReading:
    fits = numbers.is_not_null()
    if origin is None:
        none = pl.Series([None], dtype=pl.Int32).new_from_index(0, len(numbers))
        return NumberReading(form="days or moments counted from some origin", fits=fits, years=none, sure=sure)
    days = (numbers.cast(pl.Float64) / origin.per_day + origin.days).floor()
    inside = days.is_between(-200_000, 200_000).fill_null(False)
    years = days.set(~inside, None).cast(pl.Int32).cast(pl.Date).dt.year()
    return NumberReading(form=origin.title, fits=fits, years=years.cast(pl.Int32), sure=sure)


def _months_since_1960(numbers: pl.Series, known: FloatArray, *, named: bool) -> NumberReading | None:
    """Months as Stata counts them: dense whole numbers within the last decades."""
    low, high = float(known.min()), float(known.max())
    now = (_this_year() - 1960) * 12 + 12 * _AHEAD
    if (known != np.round(known)).any() or low < 360 or high > now or high - low < 12 or len(known) < _MANY:
        return None
    dense = len(known) >= 0.6 * (high - low + 1) and low >= 1.5 * (high - low) and not _skewed(known)
    if not dense and not named:
        return None
    origin = _Origin(title=_MONTHS_SINCE_1960, days=-3653, per_day=12 / _DAYS_A_YEAR)
    fits = numbers.is_not_null()
    years = (numbers.cast(pl.Int32) // 12 + 1960).cast(pl.Int32)
    return NumberReading(form=origin.title, fits=fits, years=years, sure=named)


def _this_year() -> int:
    return datetime.now(UTC).year
