"""Hold a table to its schema before anything else looks at it.

`prepare` settles the kind of each column, applies the schema's rules for missing numbers and refuses what breaks a
rule: an error names the column, the rule and the remedy, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.domain.absence import coded, numbers, stands_for_absence, written
from shoal.domain.declared import dated, declared_kind, declared_levels, floats
from shoal.errors import ColumnError, InputError, Problems, SchemaError
from shoal.fact import Fact, sentences
from shoal.frame import Frame, adopt, enter, pick, series, with_columns
from shoal.schema import Column, Kind, Role, Schema
from shoal.schema.codes_seen import without_codes
from shoal.schema.column import NAMING
from shoal.schema.placeholder_ids import check_names_somebody
from shoal.schema.repeats import content_numbers
from shoal.schema.schema import EQUAL_ROWS
from shoal.schema.whose_rows import readable
from shoal.value import codes_of, text_of

__all__ = [
    "Prepared",
    "as_written",
    "check_columns",
    "coded_as_text",
    "floats",
    "in_two_homes",
    "kind_of",
    "levels_like",
    "names_of",
    "prepare",
    "told_apart_by",
    "torn_home",
    "typed_by_input",
    "unit_numbers",
    "unit_rule",
    "with_codes",
    "with_persons",
]

Value = TypeVar("Value")

_LARGEST = 1e100  # squares and their sums stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table that fits its schema: kinds settled, missing numbers dealt with.

    `rows` holds the original position of each row that is left, `facts` what was done.
    """

    frame: Frame = field(repr=False)
    schema: Schema
    rows: IntArray = field(repr=False)
    n_original: int
    facts: tuple[Fact, ...] = ()
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, in sentences."""
        return sentences(self.facts)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """What `compute` gives, computed the first time that something asks this table for it by `name`.

        A column is coded once, whoever asks: method, risk, utility or report. It must follow from the table alone;
        whoever uses it leaves it as it is.
        """
        if name not in self._memo:
            self._memo[name] = compute()
        found: Value = self._memo[name]
        return found

    def weights(self) -> FloatArray | None:
        """Survey weights, if the schema names a weight column."""
        name = self.schema.weight
        return None if name is None else floats(series(self.frame, name))

    def units(self) -> IntArray:
        """Which person each row belongs to, as numbers from 0; without a unit column, each row is a person."""
        return self.once("units", self._units)

    def _units(self) -> IntArray:
        name = self.schema.unit
        return np.arange(self.n) if name is None else unit_numbers(series(self.frame, name))


def prepare(table: Any, schema: Schema, *, records: IntArray | None = None) -> Prepared:
    """Hold `table` to `schema` and apply its rules for missing numbers.

    Parameters
    ----------
    records
        How many records each row stands for, where they are not records: of the different values of a column, or of
        distinct combinations. What is judged or told by a number of records then counts these.

    Raises
    ------
    SchemaError
        A column of the table has no role, or one of the schema is not in the table.
    ColumnError
        A column breaks its entry: wrong type, infinity, missing number without a rule, level or number outside the
        declared domain. The message names column, rule and remedy, never a value.
    ProblemsError
        Several of these at once: all of them, each with its remedy.
    InputError
        There are no rows, or none is left once those with missing numbers are dropped.
    """
    frame, schema = with_persons(enter(table), schema)
    problems = Problems([*_misfits(frame, schema), *in_two_homes(frame, schema)])
    if len(frame) == 0:
        problems.raise_if_any()
        raise InputError("table", "must have at least one row", got="0 rows")
    problems.each(lambda named: _check_named(frame, *named), names_of(schema))
    frame = dated(frame, schema, problems)
    here = [column for column in schema.columns if _is_used(column) and column.name in frame.columns]
    each = np.ones(len(frame), dtype=np.int64) if records is None else records
    columns = problems.each(lambda column: _with_kind(series(frame, column.name), column, each), here)
    frame = with_codes(frame, columns, problems)
    left, rows, facts = _treat_missing(frame, columns, problems, each)
    numeric = [column for column in columns if column.kind == "numeric" and not _is_unread(left, column)]
    problems.each(lambda column: _check_numbers(series(left, column.name), column), numeric)
    left = _respelled(left, [column for column in columns if column.levels is not None], problems)
    problems.raise_if_any()
    settled = schema.with_columns(columns)
    facts = (*facts, *_unit_fact(left, settled))
    return Prepared(frame=left, schema=settled, rows=rows, n_original=len(frame), facts=facts)


def with_persons(frame: Frame, schema: Schema) -> tuple[Frame, Schema]:
    """The table with a unit that rows share if they are equal in all but identifiers and weight, where these are one
    person's by the schema; else as it is.

    Numbers of rows, which all differ, take no part. The unit follows from what rows hold, not from their order.
    """
    if schema.repeats != "same person":
        return frame, schema
    unit = Column(name=EQUAL_ROWS, role="unit")
    counted = replace(schema, columns=(*schema.columns, unit), repeats=None)
    if EQUAL_ROWS in frame.columns:
        return frame, counted
    same = content_numbers(readable(frame, told_apart_by(schema)))
    return with_columns(frame, {EQUAL_ROWS: adopt(same.alias(EQUAL_ROWS), frame)}), counted


def told_apart_by(schema: Schema) -> list[str]:
    """The columns that say something of a person: all but those that name somebody, and the weight."""
    return [column.name for column in schema.columns if column.role not in (*NAMING, "weight")]


def _unit_fact(frame: Frame, schema: Schema) -> tuple[Fact, ...]:
    if schema.unit in (None, EQUAL_ROWS) or series(frame, str(schema.unit)).null_count() == 0:
        return ()
    return (unit_rule(str(schema.unit)),)


def unit_rule(unit: str) -> Fact:
    """How rows without a value of the unit column count."""
    return Fact(says="{column}: each row without a person's number counts as a person of its own", column=unit)


def _is_used(column: Column) -> bool:
    return column.role in ("quasi", "sensitive", "weight")


def check_columns(frame: Frame, schema: Schema) -> None:
    """Refuse a table whose columns are not those of the schema; all that differ are named."""
    Problems(_misfits(frame, schema)).raise_if_any()


def _misfits(frame: Frame, schema: Schema) -> list[InputError]:
    names, known = set(frame.columns), {column.name for column in schema.columns}
    gone = [
        SchemaError(
            "schema", f"column '{column.name}' is not in the table", hint="Correct its name or remove its entry."
        )
        for column in schema.columns
        if column.name not in names
    ]
    new = [
        SchemaError(
            "schema",
            f"column '{name}' of the table has no role",
            hint=f"Give it one of: {', '.join(get_args(Role))}.",
        )
        for name in frame.columns
        if name not in known
    ]
    return [*gone, *new]


def in_two_homes(frame: Frame, schema: Schema) -> list[InputError]:
    """A person in two households, if there is one."""
    unit, home = schema.unit, schema.household
    if unit is None or home is None or not {unit, home} <= set(frame.columns):
        return []
    pairs = pl.DataFrame({"unit": series(frame, unit), "home": series(frame, home)}).drop_nulls().unique()
    n_torn = int((pairs["unit"].unique_counts() > 1).sum())
    return [torn_home(home, got=f"{n_torn} persons in several")] if n_torn else []


def torn_home(home: str, got: str = "") -> ColumnError:
    """What is said of a person in two households."""
    rule, hint = "must be the same in all rows of a person", "Correct it, or give who moved a household of their own."
    return ColumnError(home, rule, got=got, hint=hint)


def names_of(schema: Schema) -> list[tuple[str, str, str]]:
    """The columns by which rows count as one person's or one household's, what they name, and what to do if not."""
    own = None if schema.unit == EQUAL_ROWS else schema.unit
    both = ((own, "person"), (schema.household, "household"))
    remedy = "Leave these cells empty: each row then counts as a {} of its own."
    return [(name, what, remedy.format(what)) for name, what in both if name is not None]


def _check_named(frame: Frame, name: str, what: str, remedy: str) -> None:
    if name in frame.columns:
        check_names_somebody(series(frame, name), what, remedy)


def with_codes(frame: Frame, columns: Iterable[Column], problems: Problems | None = None) -> Frame:
    """The table with each number or reason in the form that `shoal.domain.absence` says.

    Without `problems`, what can't be read stays as it is: an interval of a release, for one.
    """
    found = Problems() if problems is None else problems
    with_reasons = [column for column in columns if column.reasons and column.name in frame.columns]
    made = found.each(lambda column: (column.name, coded(series(frame, column.name), column)), with_reasons)
    changed = {name: content for name, content in made if content.dtype != series(frame, name).dtype}
    return with_columns(frame, {name: adopt(content, frame) for name, content in changed.items()})


def as_written(frame: Frame, schema: Schema) -> Frame:
    """The table with every code as it came; undoes `with_codes`."""
    with_reasons = [column for column in schema.columns if column.reasons and column.name in frame.columns]
    made = {column.name: written(series(frame, column.name), column) for column in with_reasons}
    changed = {name: content for name, content in made.items() if content.dtype != series(frame, name).dtype}
    return with_columns(frame, {name: adopt(content, frame) for name, content in changed.items()})


def typed_by_input(table: Any, schema: Schema) -> Frame:
    """The columns of a table whose type a release may take over.

    A column with a code that is a text is released as texts, whether or not anybody in the input has the code.
    """
    frame, texts = enter(table), coded_as_text(schema)
    return frame.select([name for name in frame.columns if name not in texts])


def coded_as_text(schema: Schema) -> list[str]:
    """The columns of numbers in which a text stands for an absence, and those of dates or codes."""
    return [c.name for c in schema.columns if c.date_codes or any(isinstance(r, str) for r in c.reasons.values())]


def _is_unread(frame: Frame, column: Column) -> bool:
    """Whether a column of numbers and codes could not be read, which was said already."""
    return bool(column.reasons) and series(frame, column.name).dtype == pl.String


def _with_kind(content: pl.Series, column: Column, records: IntArray) -> Column:
    content = _without_texts(content, column)
    if column.kind is None and column.levels is None and not column.date_codes:
        _check_not_mixed(content, column, records)
    kind = column.kind or kind_of(content, column)
    levels = column.levels
    if kind == "ordinal" and levels is None and content.dtype == pl.Enum:
        told = {text_of(code) for code in column.missing_codes or ()}
        levels = tuple(level for level in content.dtype.categories if level not in told)  # type: ignore[attr-defined]
    return replace(column, kind=kind, levels=levels)


def _without_texts(content: pl.Series, column: Column) -> pl.Series:
    """A column of texts whose texts are all codes, as the numbers that are left."""
    if column.kind is not None or column.levels is not None or not column.missing_codes or content.dtype != pl.String:
        return content
    left = without_codes(content, column.missing_codes)
    return left if left.dtype.is_numeric() else content


def _check_not_mixed(content: pl.Series, column: Column, records: IntArray) -> None:
    """A text column in which most values, but not all, are numbers wants a person's word."""
    if content.dtype != pl.String:
        return
    stripped = content.str.strip_chars()
    is_number = stripped.cast(pl.Float64, strict=False).is_not_null().to_numpy()
    is_text = (stripped != "").fill_null(False).to_numpy() & ~is_number
    numbers, texts = int(records[is_number].sum()), int(records[is_text].sum())
    if numbers > texts > 0:
        raise ColumnError(
            column.name,
            "mixes numbers and texts, and the schema names no kind for it",
            got=f"{texts} texts among {numbers} numbers",
            hint='Correct the texts, or declare kind = "nominal" if the values are codes.',
            fix={"kind": "nominal"},
        )


def kind_of(content: pl.Series, column: Column) -> Kind:
    """The kind of a column for which the schema names none."""
    declared = declared_kind(column)
    if declared is not None or column.role == "weight":
        return declared or "numeric"
    if content.dtype == pl.Enum or content.dtype.is_temporal() or column.date_codes:
        return "ordinal"
    return "numeric" if content.dtype.is_numeric() else "nominal"


def _treat_missing(
    frame: Frame, columns: list[Column], problems: Problems, records: IntArray
) -> tuple[Frame, IntArray, tuple[Fact, ...]]:
    """Leave rows out, then fill: a row that is left out has no part in a median."""
    found = [(column, absent) for column in columns if (absent := _absent(frame, column)) is not None]
    facts = problems.each(lambda pair: _missing_fact(pair[0], int(records[pair[1]].sum())), found)
    keep = np.ones(len(frame), dtype=np.bool_)
    for column, absent in found:
        if column.missing == "drop":
            keep &= ~absent
    rows = np.flatnonzero(keep)
    if len(rows) == 0:
        problems.raise_if_any()
        raise InputError(
            "table", "must have at least one row after those with missing numbers are dropped", got="0 rows"
        )
    frame = frame if keep.all() else pick(frame, rows)
    fill = [column for column, _ in found if column.missing not in ("drop", "error", "level")]
    filled = problems.each(lambda column: (column.name, _fill(series(frame, column.name), column)), fill)
    return with_columns(frame, dict(filled)), rows, tuple(facts)


def _absent(frame: Frame, column: Column) -> BoolArray | None:
    """Which numbers of a column are missing; None where none is, or where the rule lets them stand."""
    if not _is_used(column) or column.kind != "numeric" or (column.role == "sensitive" and column.missing == "error"):
        return None
    if column.missing == "level":
        return None
    content = series(frame, column.name)
    absent = content.is_null().to_numpy() if column.keeps_absence else stands_for_absence(content, column)
    return absent if absent.any() else None


def _missing_fact(column: Column, count: int) -> Fact:
    if column.missing == "error":
        raise ColumnError(
            column.name,
            "has missing numbers and the schema has no rule for them",
            got=f"{count:,} missing",
            hint='Set missing = "level" (they stay missing, a level of their own), "drop" (drop those rows), "median", '
            "or a number to fill in.",
            fix={"missing": "level"} if column.role == "quasi" else None,
        )
    if column.missing == "drop":
        says = "{column}: rows with a missing number were left out"
        return Fact(says=says, values={"n": count}, column=column.name, counts="records")
    what = "the median" if column.missing == "median" else "the number declared in the schema"
    says = "{column}: missing numbers were replaced by {what}"
    return Fact(says=says, values={"what": what, "n": count}, column=column.name, counts="cells")


def _fill(content: pl.Series, column: Column) -> FloatArray:
    values = numbers(content, column)
    absent = np.isnan(values)
    present = values[~absent]
    if column.missing == "median" and len(present) == 0:
        raise ColumnError(column.name, "has no numbers to compute a median from")
    value = float(np.median(present)) if column.missing == "median" else float(column.missing)
    return np.where(absent, value, values)


def _check_numbers(content: pl.Series, column: Column) -> None:
    if not (content.dtype.is_numeric() or content.dtype == pl.Boolean or content.dtype == pl.Null):
        raise ColumnError(
            column.name,
            "is declared numeric and must hold numbers",
            got=f"type {content.dtype.base_type()}",
            hint="Convert it (for decimal commas, read it with decimal=','), or declare it ordinal or nominal.",
        )
    values = numbers(content, column)
    if np.isinf(values).any():
        raise ColumnError(column.name, "must hold finite numbers", got=f"{int(np.isinf(values).sum())} infinite")
    if content.dtype.is_integer() and (np.abs(values) > 2**53).any():
        raise ColumnError(
            column.name,
            "holds integers too large for exact arithmetic",
            hint="Declare it nominal if they are codes, or give it the role identifier.",
            fix={"kind": "nominal"},
        )
    if (np.abs(values) > _LARGEST).any():
        raise ColumnError(column.name, f"must hold numbers of magnitude up to {_LARGEST:g}", hint="Rescale the column.")
    if column.role == "weight" and ((values < 0).any() or not np.nansum(values) > 0):
        raise ColumnError(column.name, "holds weights, which must be at least 0 and not all 0")
    if column.bounds is not None:
        outside = int(((values < column.bounds[0]) | (values > column.bounds[1])).sum())
        if outside:
            raise ColumnError(
                column.name,
                "must be within the bounds of the schema",
                got=f"{outside} values outside",
                hint="Correct the values or widen the bounds.",
            )


def _respelled(frame: Frame, columns: list[Column], problems: Problems) -> Frame:
    """The table with its levels in the schema's spelling, where a column has another: "1.0" for 1."""
    found = problems.each(lambda c: (c.name, _in_declared_spelling(series(frame, c.name), c)), columns)
    return with_columns(frame, {name: adopt(content, frame) for name, content in found if content is not None})


def _in_declared_spelling(content: pl.Series, column: Column) -> pl.Series | None:
    """The column with its levels as declared; None where each value is a level as it stands."""
    known = _own_levels(content, column)
    if known is not None and bool((content.is_null() | content.is_in(known.implode())).all()):
        return None
    levels = declared_levels(column)
    codes = codes_of(content, levels)
    outside = int((codes < 0).sum())
    if outside:
        raise ColumnError(
            column.name,
            "must hold only levels listed in the schema",
            got=f"{outside} values outside",
            hint="Correct the values or add the level.",
        )
    spelled = levels if known is None else known  # a type of its own stays: one person's spelling changes no type
    return spelled.gather(pl.Series(codes).replace(len(levels), None)).alias(column.name)


def levels_like(content: pl.Series, column: Column) -> pl.Series:
    """The declared levels in the column's own type; those of a prepared table always have one."""
    levels = _own_levels(content, column)
    if levels is None:
        raise ColumnError(
            column.name,
            "has declared levels of a different type from its values",
            got=f"values of type {content.dtype.base_type()}",
            hint="Write the levels as they are in the column (numbers without quotes, text with quotes).",
        )
    return levels


def _own_levels(content: pl.Series, column: Column) -> pl.Series | None:
    """The declared levels in the column's own type; None where that type can't hold them."""
    declared = pl.Series(column.name, list(column.every_level), strict=False)
    try:
        if content.dtype in (pl.Categorical, pl.Enum):
            return declared.cast(pl.String).cast(content.dtype)
        levels = declared.cast(content.dtype)
    except pl.exceptions.PolarsError:
        return None
    rounded = content.dtype.is_integer() and declared.dtype.is_float()  # a level of 1.5 is none of whole numbers
    return None if rounded and (levels.cast(declared.dtype) != declared).any() else levels


def unit_numbers(column: pl.Series) -> IntArray:
    """Equal values get equal numbers from 0 up; each missing value is a person of their own."""
    ranks = column.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    absent = np.flatnonzero(ranks < 0)
    numbers = ranks.astype(np.int64)
    numbers[absent] = numbers.max(initial=-1) + 1 + np.arange(len(absent))
    return numbers
