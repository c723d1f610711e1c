"""Single coarsening steps: what is written instead of a value when it may be less exact.

Each step is a small value that can be written in words (``{kind = "bins", width = 10}``) and applied to a column:

- `Bins`: numbers to intervals, ``20-29`` for whole numbers and ``0.5 to <1`` for others;
- `Cap`: top and bottom coding, numbers beyond a bound become the bound;
- `Round`: numbers to the nearest multiple of a base;
- `DatePart`: dates to year and month, quarter, year or decade;
- `Prefix`: texts to their first letters, ``021**``;
- `CodeLevel`: codes to what they lie in, for the systems of `shoal.coarsening.code_systems`;
- `TreeLevel`: values to their ancestors in a table; `Star`: everything to ``*``.

A step sees one value at a time, so equal values stay equal and nothing else of the data shows in the result. A missing
value stays missing (under `Star` it becomes ``*`` too). Steps alone promise no k: `Recode` applies them as they are,
`shoal.coarsening.Hierarchy` stacks them for a search.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.coarsening.coarsener import SUPPRESSED
from shoal.coarsening.code_systems import SYSTEMS, System
from shoal.coarsening.intervals import between, is_whole, of_width, tidy
from shoal.errors import ColumnError, ParameterError
from shoal.params import Help, Range, build, check, to_dict
from shoal.schema import Level
from shoal.value import canonical, text_of

__all__ = [
    "Bins",
    "Cap",
    "CodeLevel",
    "DatePart",
    "Keeping",
    "Prefix",
    "Round",
    "Star",
    "Step",
    "TreeLevel",
    "as_text",
    "keeping",
    "step_of",
]

Part: TypeAlias = Literal["day", "year-month", "year-quarter", "year", "decade"]


def keeping(step: Step, codes: Mapping[Any, Level]) -> Step:
    """The step, with each code that stands for an absence written as itself."""
    return Keeping(step=step, codes=codes) if codes and not isinstance(step, Star) else step


class Step(ABC):
    """Writes a less exact value for each value."""

    kind: ClassVar[str]
    pools_some: ClassVar[bool] = False
    """Whether it may pool the values of a few people and leave the others' as they are."""

    def apply(self, content: pl.Series) -> pl.Series:
        """The coarser column, row by row; missing values stay missing."""
        self.check()
        return self._write(content).alias(content.name)

    def check(self) -> None:
        """Hold the parameters to their rules."""
        check(self)

    def to_dict(self) -> dict[str, Any]:
        """The step in words, from which `step_of` gives it back."""
        words = {name: value for name, value in to_dict(self).items() if value != "none"}
        return {"kind": self.kind} | words

    @abstractmethod
    def _write(self, content: pl.Series) -> pl.Series: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping(Step):
    """A step on the numbers, or dates, of a column that holds a number or a reason (`shoal.domain.absence`)."""

    kind: ClassVar[str] = "keeping"

    step: Step
    codes: Mapping[Any, Level]

    def check(self) -> None:
        """Hold the step to its rules."""
        self.step.check()

    def _write(self, content: pl.Series) -> pl.Series:
        if not content.dtype.is_numeric():
            return self._beside_texts(content)
        numbers = content.cast(pl.Float64)
        is_code = numbers.is_in(pl.Series(self._numbers, dtype=pl.Float64).implode()).fill_null(False)
        done = self.step.apply(content.set(is_code, None))
        return done.zip_with(~is_code, self._spelled(numbers, done.dtype))

    def _beside_texts(self, content: pl.Series) -> pl.Series:
        is_code = content.cast(pl.String).is_in([code for code in self.codes if isinstance(code, str)]).fill_null(False)
        if not is_code.any():
            return self.step.apply(content)
        done = self.step.apply(content.set(is_code, None))
        return done.cast(pl.String).zip_with(~is_code, content)

    def _spelled(self, numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
        if dtype.is_numeric():
            return numbers.cast(dtype)
        names = {number: text_of(self.codes[code]) for code, number in self._read.items()}
        return numbers.replace_strict(list(names), list(names.values()), default=None, return_dtype=pl.String)

    @property
    def _numbers(self) -> list[float]:
        """The codes that can stand in a column of numbers."""
        return list(self._read.values())

    @property
    def _read(self) -> dict[Any, float]:
        """Each code that is a number, as it is written and as that number."""
        texts = canonical(pl.Series([text_of(code) for code in self.codes], dtype=pl.String))
        found = zip(self.codes, texts.cast(pl.Float64, strict=False), strict=True)
        return {code: number for code, number in found if number is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins(Step):
    """Numbers to the intervals between edges, or of one width; an interval holds its lower end, not its upper one.

    Parameters
    ----------
    width, origin
        Intervals ``[origin + i·width, origin + (i + 1)·width)``. Raising the width says less.
    edges
        The edges instead; what lies beyond the outer ones is ``<18`` and ``90+``.
    within
        The public range; ends of intervals that go beyond it are cut, so that ages up to 120 read ``80-120``.

    Examples
    --------
    >>> import polars as pl
    >>> Bins(width=10).apply(pl.Series("age", [20, 29, 30])).to_list()
    ['20-29', '20-29', '30-39']
    >>> Bins(edges=(18, 65)).apply(pl.Series("age", [3, 18, 90])).to_list()
    ['<18', '18-64', '65+']
    """

    kind: ClassVar[str] = "bins"

    width: Annotated[float | None, Range(above=0), Help("width of the intervals")] = None
    origin: Annotated[float, Help("where an interval begins")] = 0.0
    edges: Annotated[tuple[float, ...] | None, Help("increasing edges, instead of a width")] = None
    within: Annotated[tuple[float, ...] | None, Help("public range, where ends of intervals are cut")] = None

    def check(self) -> None:
        """Hold the parameters to their rules."""
        check(self)
        if (self.width is None) == (self.edges is None):
            raise ParameterError("Bins", "must have either a width or edges")
        if self.edges is not None and not _increasing(self.edges):
            raise ParameterError("Bins", "edges must be increasing numbers, at least one", parameter="edges")
        if self.within is not None and not (len(self.within) == 2 and _increasing(self.within)):
            raise ParameterError("Bins", "within must be a lower and a higher number", parameter="within")

    def _write(self, content: pl.Series) -> pl.Series:
        values = _numbers(content)
        if self.edges is not None:
            return between(values, np.array(self.edges, dtype=np.float64))
        return of_width(values, float(self.width or 1), self.origin, self.within)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap(Step):
    """Top and bottom coding: numbers beyond a bound become the bound, so the column stays numeric.

    Parameters
    ----------
    low, high
        The bounds; None leaves an end open. In the result, `high` stands for `high` and more.

    Examples
    --------
    >>> import polars as pl
    >>> Cap(high=90).apply(pl.Series("age", [34, 90, 97])).to_list()
    [34, 90, 90]
    """

    kind: ClassVar[str] = "cap"
    pools_some: ClassVar[bool] = True

    low: Annotated[float | None, Help("smaller numbers become this one")] = None
    high: Annotated[float | None, Help("larger numbers become this one")] = None

    def check(self) -> None:
        """Hold the parameters to their rules."""
        check(self)
        if self.low is None and self.high is None:
            raise ParameterError("Cap", "must have a low or a high bound")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ParameterError("Cap", "low must be less than high", parameter="low")

    def _write(self, content: pl.Series) -> pl.Series:
        return _like(content, np.clip(_numbers(content), self.low, self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Step):
    """Numbers to the nearest multiple of a base, halves upwards; the column stays numeric.

    Parameters
    ----------
    base
        What results are multiples of. Raising it says less.

    Examples
    --------
    >>> import polars as pl
    >>> Round(base=5).apply(pl.Series("age", [41, 43, 47])).to_list()
    [40, 45, 45]
    """

    kind: ClassVar[str] = "round"

    base: Annotated[float, Range(above=0), Help("round to multiples of this")]

    def _write(self, content: pl.Series) -> pl.Series:
        return _like(content, tidy(np.floor(_numbers(content) / self.base + 0.5) * self.base))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatePart(Step):
    """Dates to a part: ``2021-03-17``, ``2021-03``, ``2021-Q1``, 2021 (a whole number) or ``2020-2029``.

    Parameters
    ----------
    part
        ``"day"`` (no time), ``"year-month"``, ``"year-quarter"``, ``"year"`` or ``"decade"``; each lies in the next.

    Notes
    -----
    Dates written as texts must read year-month-day.

    Examples
    --------
    >>> import datetime, polars as pl
    >>> born = pl.Series("born", [datetime.date(1984, 7, 21)])
    >>> [DatePart(part=part).apply(born)[0] for part in ("year-month", "year", "decade")]
    ['1984-07', 1984, '1980-1989']
    """

    kind: ClassVar[str] = "date"

    part: Annotated[Part, Help("part of a date to keep")]

    def _write(self, content: pl.Series) -> pl.Series:
        dates = _dates(content)
        years = dates.dt.year().cast(pl.Int64)
        if self.part == "year":
            return years
        if self.part == "decade":
            first = years // 10 * 10
            return first.cast(pl.String) + "-" + (first + 9).cast(pl.String)
        if self.part == "year-quarter":
            return years.cast(pl.String) + "-Q" + dates.dt.quarter().cast(pl.String)
        return dates.dt.strftime("%Y-%m-%d" if self.part == "day" else "%Y-%m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix(Step):
    """Texts to their first letters: ZIP codes to three digits, diagnosis codes to their chapter.

    Parameters
    ----------
    keep
        Number of letters kept. Raising it says more.
    pad
        Whether a ``*`` stands for each letter left out.
    length
        Number of digits of codes that are stored as whole numbers, whose leading zeros are lost.

    Examples
    --------
    >>> import polars as pl
    >>> Prefix(keep=3).apply(pl.Series("zip", ["02139"])).to_list()
    ['021**']
    >>> Prefix(keep=3, pad=False, length=5).apply(pl.Series("zip", [2139])).to_list()
    ['021']
    """

    kind: ClassVar[str] = "prefix"

    keep: Annotated[int, Range(low=1), Help("characters to keep")]
    pad: Annotated[bool, Help("write * for each removed character")] = True
    length: Annotated[int | None, Range(low=1), Help("number of digits of codes stored as integers")] = None

    def _write(self, content: pl.Series) -> pl.Series:
        texts = self._texts(content)
        if not self.pad:
            return texts.str.slice(0, self.keep)
        padded = [text and text[: self.keep].ljust(len(text), SUPPRESSED) for text in texts]
        return pl.Series(padded, dtype=pl.String)

    def _texts(self, content: pl.Series) -> pl.Series:
        if content.dtype.is_numeric() and self.length is None:
            raise ColumnError(
                content.name,
                "holds numbers, which have lost their leading zeros, so first digits are meaningless",
                hint="Read the column as text, or set the number of digits of the codes (length).",
            )
        texts = as_text(content)
        return texts if self.length is None else texts.str.zfill(self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLevel(Step):
    """Codes of a known system to what they lie in: diagnoses to blocks and chapters, ZIP codes to states.

    Parameters
    ----------
    system
        The code system: ``icd-10``, ``icd-9``, ``atc``, ``zip``, ``fips`` or ``nuts``.
    level
        The name of the level, as in `shoal.coarsening.code_systems`; each lies in the next.

    Examples
    --------
    >>> import polars as pl
    >>> CodeLevel(system="icd-10", level="block").apply(pl.Series("dx", ["I21.4", "E11"])).to_list()
    ['I20-I25', 'E08-E14']
    """

    kind: ClassVar[str] = "code"

    system: Annotated[System, Help("code system")]
    level: Annotated[str, Help("level of the system")]

    def check(self) -> None:
        """Hold the parameters to their rules."""
        check(self)
        levels = SYSTEMS[self.system].levels
        if self.level not in levels:
            rule = f"level of {self.system} must be one of {', '.join(levels)}"
            raise ParameterError("CodeLevel", rule, got=repr(self.level)[:40], parameter="level")

    def _write(self, content: pl.Series) -> pl.Series:
        system = SYSTEMS[self.system]
        texts, place = as_text(content), system.levels.index(self.level)
        known = texts.drop_nulls().unique()
        found = system.look_up(known.to_list())
        if None in found:
            raise ColumnError(
                content.name,
                f"holds values that are no codes: {system.about}",
                got=f"{found.count(None)} such values",
                hint="Correct them, declare them as missing codes, or give the column another hierarchy.",
            )
        written = [one[place] for one in found if one is not None]
        return texts.replace_strict(known, pl.Series(written, dtype=pl.String), return_dtype=pl.String)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLevel(Step):
    """Values to their ancestors in a table that has one row for each value and one column for each level.

    Parameters
    ----------
    rows
        The table: first the value as text, then its ancestors, finest first.
    level
        Which column is written; 0 is the value itself.

    Examples
    --------
    >>> import polars as pl
    >>> rows = (("Paris", "France", "Europe"), ("Lyon", "France", "Europe"), ("Rome", "Italy", "Europe"))
    >>> TreeLevel(rows=rows, level=1).apply(pl.Series("city", ["Rome", "Lyon", None])).to_list()
    ['Italy', 'France', None]
    """

    kind: ClassVar[str] = "tree"
    pools_some: ClassVar[bool] = True

    rows: Annotated[tuple[tuple[str, ...], ...], Help("one row per value, one column per level")]
    level: Annotated[int, Range(low=0), Help("which column is written")] = 1

    def check(self) -> None:
        """Hold the table to its rules: rows of one length, values that occur once, a level that exists."""
        check(self)
        check_rows(self.rows)
        if self.level >= len(self.rows[0]):
            raise ParameterError(
                "TreeLevel", f"level must be less than {len(self.rows[0])}", got=str(self.level), parameter="level"
            )

    def _write(self, content: pl.Series) -> pl.Series:
        texts = as_text(content)
        known = pl.Series([row[0] for row in self.rows], dtype=pl.String)
        ancestors = pl.Series([row[self.level] for row in self.rows], dtype=pl.String)
        written = texts.replace_strict(known, ancestors, default=None, return_dtype=pl.String)
        lost = written.is_null() & texts.is_not_null()
        if lost.any():
            n_values = texts.filter(lost).n_unique()
            raise ColumnError(
                content.name,
                "holds values that are not in its hierarchy",
                got=f"{n_values} such values",
                hint="Add a row for each to the hierarchy, or correct the values.",
            )
        return written


@dataclass(frozen=True, slots=True, kw_only=True)
class Star(Step):
    """Everything to ``*``, missing values too.

    Examples
    --------
    >>> import polars as pl
    >>> Star().apply(pl.Series("sex", ["f", None])).to_list()
    ['*', '*']
    """

    kind: ClassVar[str] = "star"

    def _write(self, content: pl.Series) -> pl.Series:
        return pl.Series([SUPPRESSED], dtype=pl.String).new_from_index(0, len(content))


_STEPS: dict[str, type[Step]] = {c.kind: c for c in (Bins, Cap, Round, DatePart, Prefix, CodeLevel, TreeLevel, Star)}


def step_of(words: Step | Mapping[str, Any]) -> Step:
    """Read a step from its words, such as ``{"kind": "bins", "width": 10}``; a step passes unchanged."""
    if isinstance(words, Step):
        words.check()
        return words
    kind = words.get("kind") if isinstance(words, Mapping) else None
    if kind not in _STEPS:
        raise ParameterError("step", f"kind must be one of {', '.join(_STEPS)}", got=repr(kind)[:60], parameter="kind")
    rest = {name: _frozen(value) for name, value in words.items() if name != "kind"}
    try:
        step = build(_STEPS[kind], rest)
    except TypeError:
        raise ParameterError(_STEPS[kind].__name__, "lacks a required parameter") from None
    step.check()
    return step


def check_rows(rows: Sequence[Sequence[str]]) -> None:
    """Hold the table of a hierarchy to its rules; an error names a row by its number only."""
    if not rows or not rows[0]:
        raise ParameterError("hierarchy", "must have at least one row and one column")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            rule = f"must have as many columns in every row as in the first ({len(rows[0])})"
            raise ParameterError("hierarchy", rule, got=f"{len(row)} in row {number}")
        if not all(isinstance(cell, str) for cell in row):
            raise ParameterError("hierarchy", "must hold texts", got=f"something else in row {number}")
    if len({row[0] for row in rows}) < len(rows):
        repeated = len(rows) - len({row[0] for row in rows})
        raise ParameterError("hierarchy", "must name every value once", got=f"{repeated} repeated rows")


def as_text(content: pl.Series) -> pl.Series:
    """A column as texts: whole numbers without a decimal point, dates as year-month-day."""
    shown = "{:.15g}" if content.dtype.is_float() else "{}" if content.dtype == pl.Duration else None
    if shown is None:
        return content.cast(pl.String)
    texts = [None if value is None else shown.format(value) for value in content]
    return pl.Series(content.name, texts, dtype=pl.String)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


def _increasing(edges: Sequence[object]) -> bool:
    numbers = [edge for edge in edges if isinstance(edge, int | float) and not isinstance(edge, bool)]
    whole = len(numbers) == len(edges) > 0 and all(map(math.isfinite, numbers))
    return whole and all(low < high for low, high in pairwise(numbers))


def _numbers(content: pl.Series) -> FloatArray:
    if not (content.dtype.is_numeric() or content.dtype == pl.Null):
        raise ColumnError(content.name, "must hold numbers for this step", got=f"type {content.dtype.base_type()}")
    return content.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)


def _like(content: pl.Series, values: FloatArray) -> pl.Series:
    """Numbers as a series in the content's own type where they fit it; NaN is missing."""
    made = pl.Series(values).fill_nan(None)
    if content.dtype.is_integer() and is_whole(values):
        return made.cast(pl.Int64).cast(content.dtype, strict=False) if _fits(content, values) else made.cast(pl.Int64)
    return made


def _fits(content: pl.Series, values: FloatArray) -> bool:
    return pl.Series(values).fill_nan(None).cast(content.dtype, strict=False).null_count() == int(
        np.isnan(values).sum()
    )


def _dates(content: pl.Series) -> pl.Series:
    if content.dtype in (pl.Date, pl.Datetime):
        return content
    if content.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        raise ColumnError(content.name, "must hold dates for this step", got=f"type {content.dtype.base_type()}")
    texts = content.cast(pl.String)
    dates = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    wrong = int((dates.is_null() & texts.is_not_null()).sum())
    if wrong:
        raise ColumnError(content.name, "must hold dates written as year-month-day", got=f"{wrong} other values")
    return dates
