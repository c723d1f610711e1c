"""A table on an engine, held to its schema: what `prepare` and `Encoder.fit` do, without holding the rows.

Everything that is learnt from the whole table comes to the driver as counts and exact sums, which don't depend on
files, order, threads or retries: values and how often they occur, smallest and largest numbers, how many are missing.
Means and deviations are sums of whole numbers: with M the largest magnitude and n rows, each x becomes round(x / 2^e),
e = exponent(M) − (62 − ⌈log2 n⌉), whose sum fits 64 bits; deviations are taken from the rounded mean. The rows are then
read batch by batch, by the same `prepare`, which sees a schema that leaves nothing to learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.conform import check_columns, coded_as_text, prepare, unit_rule
from shoal.domain import Axis
from shoal.domain.absence import coded, written
from shoal.encode import Coding, Encoder, absences, coding_of_counts, palette, step_of, with_atoms
from shoal.engine import PERSON, ROWS, Engine, Relation
from shoal.errors import ColumnError, InputError, Problems, ProblemsError, SchemaError
from shoal.fact import Fact
from shoal.files.column_types import FORMS
from shoal.frame import enter, series
from shoal.recipe.rules import refuse_rules
from shoal.schema import Column, Schema

__all__ = ["PreparedRelation", "prepare_relation", "with_texts", "without_numbers"]

_MOST_VALUES = 2_000_000  # different values of one column on the driver
_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelation:
    """A relation that fits its schema, and what was learnt from all of it.

    Parameters
    ----------
    relation
        The rows that are used, in plain types; only the columns that a run needs.
    schema
        With every kind settled and every rule for missing numbers carried out.
    codings
        How the quasi-identifiers become numbers, then numeric sensitive columns.
    n
        Number of rows.
    facts
        What was done.
    """

    relation: Relation
    schema: Schema
    codings: tuple[Coding, ...]
    n: int
    facts: tuple[Fact, ...]

    @property
    def encoder(self) -> Encoder:
        """The coding of the quasi-identifiers."""
        quasi = self.schema.quasi
        return Encoder(codings=tuple(coding for coding in self.codings if coding.name in quasi))

    @property
    def marked_columns(self) -> list[str]:
        """The columns that the marks of rows follow from: they must be the same with and without a register."""
        return [name for name in self.relation.columns if name not in PERSON]

    def palette(self) -> pl.DataFrame:
        """A row for each level, to decode from."""
        return palette(self.codings)


@contextmanager
def without_numbers() -> Iterator[None]:
    """Numbers in an error would count the rows of a batch, or values: they are left out."""
    try:
        yield
    except ProblemsError as error:
        raise ProblemsError([_without_number(problem) for problem in error.problems]) from None
    except ColumnError as error:
        raise _without_number(error) from None


def _without_number(error: InputError) -> InputError:
    return ColumnError(error.column, error.rule, hint=error.hint) if isinstance(error, ColumnError) else error


def prepare_relation(engine: Engine, relation: Relation, schema: Schema) -> PreparedRelation:
    """Hold a relation to its schema and learn what runs need to know of it; all problems are named at once."""
    check_columns(enter(pl.DataFrame(schema=dict(relation.types)).drop(PERSON, strict=False)), schema)
    _refuse(schema)
    released = schema.released
    kept = [name for name in relation.columns if name in released or name in (schema.unit, *PERSON)]
    relation = engine.select(relation, kept)
    columns = _settled(engine, relation, schema)
    relation = _with_numbers(engine, relation, columns)
    facts = _missing_facts(engine, relation, columns)
    relation = _without_missing(engine, relation, columns)
    columns = [_with_median(engine, relation, column) for column in columns]
    settled = schema.with_columns(columns)
    prepared = engine.narrow(_prepared(engine, relation, settled), kept)
    bare = _without_codes(engine, prepared, columns)
    numbers = [c.name for c in columns if c.kind == "numeric" and c.role != "weight"]
    known = engine.known(bare, numbers)
    if known[ROWS] == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    learn = [c for c in columns if c.role == "quasi" or (c.role == "sensitive" and c.kind == "numeric")]
    codings = zip(learn, _learnt(engine, bare, learn, known), strict=True)
    return PreparedRelation(
        relation=prepared,
        schema=settled,
        codings=tuple(_with_absences(engine, prepared, bare, column, coding) for column, coding in codings),
        n=known[ROWS],
        facts=(*facts, *([unit_rule(schema.unit)] if schema.unit else [])),
    )


def _settled(engine: Engine, relation: Relation, schema: Schema) -> list[Column]:
    """The columns that are used, with their kinds settled."""
    used = [c for c in schema.columns if c.role in ("quasi", "sensitive", "weight")]
    numbers = [c for c in used if _is_number(c, relation)]
    by_ends = [c.name for c in numbers]
    bare = _without_codes(engine, relation, [replace(c, kind="numeric") for c in numbers])
    ends = engine.extremes(bare, by_ends) if by_ends else pl.DataFrame()
    counted = engine.value_counts(relation, [c.name for c in used if c.name not in by_ends], _MOST_VALUES)
    problems = Problems([])
    columns = problems.each(
        lambda c: _kinded(ends.select(c.name) if c.name in by_ends else _few(c, counted[c.name]), c), used
    )
    problems.raise_if_any()
    return columns


def _missing_facts(engine: Engine, relation: Relation, columns: Sequence[Column]) -> list[Fact]:
    """What is done about missing numbers."""
    known = engine.known(relation, [c.name for c in columns])
    problems = Problems([])
    facts = problems.each(lambda c: _missing_fact(c, known[ROWS] - known[c.name]), columns)
    problems.raise_if_any()
    return [fact for fact in facts if fact is not None]


def _is_number(column: Column, relation: Relation) -> bool:
    numeric = column.kind in (None, "numeric") and column.format not in FORMS  # 20200213 is a date if declared so
    return relation.types[column.name].is_numeric() and column.levels is None and numeric


def _refuse(schema: Schema) -> None:
    refuse_rules(schema)
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier")


def _with_numbers(engine: Engine, relation: Relation, columns: Sequence[Column]) -> Relation:
    """The rows with codes that are texts as the numbers they stand for, and those that a rule replaces as missing."""
    replaced = [c for c in columns if c.reasons and not c.keeps_absence]
    texts = [c for c in columns if c.reasons and not relation.types[c.name].is_numeric()]
    if texts:
        types = {**relation.types, **{c.name: pl.Float64() for c in texts}}

        def batch(rows: pl.DataFrame) -> pl.DataFrame:
            with without_numbers():
                return rows.with_columns(coded(rows[c.name], c) for c in texts).cast(types)  # type: ignore[arg-type]

        relation = engine.map(relation, batch, types)
    return _without_codes(engine, relation, replaced)


def with_texts(engine: Engine, relation: Relation, schema: Schema) -> Relation:
    """The rows with each code that is a text as it came, and the numbers beside it as texts."""
    texts = [name for name in coded_as_text(schema) if relation.types.get(name, pl.String()).is_numeric()]
    if not texts:
        return relation

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(written(rows[name], schema[name]) for name in texts)

    return engine.map(relation, batch, {**relation.types, **{name: pl.String() for name in texts}})


def _without_codes(engine: Engine, relation: Relation, columns: Sequence[Column]) -> Relation:
    """The rows with the codes for an absence as missing; the relation itself where there are none."""
    codes = {c.name: list(c.reasons) for c in columns if c.reasons and relation.types[c.name].is_numeric()}
    if not codes:
        return relation

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        blank = [
            pl.when(pl.col(name).cast(pl.Float64).is_in(of)).then(None).otherwise(pl.col(name)).alias(name)
            for name, of in codes.items()
        ]
        return rows.with_columns(blank).cast(dict(relation.types))  # type: ignore[arg-type]

    return engine.map(relation, batch, relation.types)


def _with_absences(engine: Engine, relation: Relation, bare: Relation, column: Column, coding: Coding) -> Coding:
    """The coding of a number or a reason, with the share of records that have each; others as they are."""
    if not column.keeps_absence:
        return coding
    coding = replace(coding, absent=absences(column))
    if column.role != "quasi":
        return coding
    low, high = (float(end or 0.0) for end in engine.extremes(bare, [column.name])[column.name])
    coding = with_atoms(coding, (low, high))
    types = {"reason": pl.Int64(), "n": pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        counts = np.bincount(coding.reason(coding.codes(rows[column.name])), minlength=len(coding.absent) + 1)
        return pl.DataFrame({"reason": range(len(counts)), "n": counts}, schema=types)

    counts = engine.add_up(relation, batch, types, ["reason"]).sort("reason")["n"].to_numpy()
    return replace(coding, shares=counts / max(1, counts.sum()))


def _kinded(values: pl.DataFrame, column: Column) -> Column:
    """The column with its kind settled, held to what the schema declares: by its ends, or by its different values."""
    held = replace(column, missing=0.0) if column.missing != "error" else column
    n_missing = values[column.name].null_count()
    filled = values.drop_nulls(column.name) if column.role != "sensitive" and n_missing < len(values) else values
    return replace(_held(filled, held), missing=column.missing)


def _held(values: pl.DataFrame, column: Column) -> Column:
    """Hold values to a column's entry; numbers in an error would count values, not records."""
    records = values[ROWS].to_numpy() if ROWS in values.columns else None
    with without_numbers():
        return prepare(values.select(column.name), Schema((column,)), records=records).schema[column.name]


def _few(column: Column, values: pl.DataFrame) -> pl.DataFrame:
    """The different values of a column, if the driver can hold them."""
    if len(values) > _MOST_VALUES:
        raise ColumnError(
            column.name,
            f"must have at most {_MOST_VALUES:,} different values on an engine",
            hint="Round or shorten them, or give the column the role other.",
        )
    return values


def _sums(
    engine: Engine, relation: Relation, functions: Mapping[str, Callable[[pl.DataFrame], int]]
) -> Mapping[str, int]:
    """The sums over all batches of what functions of a batch give: whole numbers, so that batches don't matter."""
    if not functions:
        return {}
    types = {name: pl.Int64() for name in functions}
    found = engine.add_up(
        relation, lambda rows: pl.DataFrame({name: [of(rows)] for name, of in functions.items()}, schema=types), types
    )
    return {name: int(found[name][0]) for name in functions}


def _missing_fact(column: Column, count: int) -> Fact | None:
    """What is done about missing numbers; an error where the schema has no rule."""
    if count == 0 or column.kind != "numeric" or column.missing == "level":
        return None
    if column.role == "sensitive" and column.missing == "error":
        return None
    if column.missing == "error":
        raise ColumnError(
            column.name,
            "has missing numbers and the schema has no rule for them",
            got=f"{count} missing",
            hint='Set missing = "drop" (drop those rows), missing = "median", or missing = a number to fill in.',
        )
    if column.missing == "drop":
        says = "{column}: rows with a missing number were left out"
        return Fact(says=says, values={"n": count}, column=column.name, counts="records")
    what = "the median" if column.missing == "median" else "the number declared in the schema"
    says = "{column}: missing numbers were replaced by {what}"
    return Fact(says=says, values={"what": what, "n": count}, column=column.name, counts="cells")


def _without_missing(engine: Engine, relation: Relation, columns: Sequence[Column]) -> Relation:
    """Without the rows that are left out: they have no part in a median."""
    for column in columns:
        if column.missing == "drop" and column.kind == "numeric":
            nothing = pl.DataFrame({column.name: [None]}, schema={column.name: relation.types[column.name]})
            relation = engine.recode(relation, {}, nothing)
    return relation


def _with_median(engine: Engine, relation: Relation, column: Column) -> Column:
    """The rule "median" as the number that it is."""
    if column.missing != "median" or column.kind != "numeric":
        return column
    counted = _few(column, engine.value_counts(relation, [column.name], _MOST_VALUES)[column.name])
    counted = counted.drop_nulls().sort(column.name)
    if len(counted) == 0:
        raise ColumnError(column.name, "has no numbers to compute a median from")
    below = np.cumsum(counted[ROWS].to_numpy())
    n = int(below[-1])
    middle = [float(counted[column.name][int(np.searchsorted(below, i))]) for i in ((n + 1) // 2, n // 2 + 1)]
    return replace(column, missing=(middle[0] + middle[1]) / 2)


def _prepared(engine: Engine, relation: Relation, schema: Schema) -> Relation:
    """The rows as `prepare` makes them, batch by batch; where it has nothing to do, the rows as they are."""
    if not any(c.levels or c.name in schema.formats or isinstance(c.missing, int | float) for c in schema.columns):
        return engine.keep(relation)
    people = (schema.unit, schema.household)  # looked at as a whole: a batch doesn't know all of them
    present = Schema(tuple(c for c in schema.columns if c.name in relation.columns and c.name not in people))
    wide = {c.name for c in present.columns if c.kind == "numeric" and not isinstance(c.missing, str)}
    types = {name: pl.Float64() if name in wide else dtype for name, dtype in relation.types.items()}
    dated = {c.name for c in present.columns if c.name in schema.formats}
    types |= {name: pl.Datetime("us") for name in dated if not relation.types[name].is_temporal()}
    types |= {c.name: pl.String() for c in present.columns if c.date_codes}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        if len(rows) == 0:
            return pl.DataFrame(schema=types)
        with without_numbers():
            frame = prepare(rows.select(c.name for c in present.columns), present).frame
        made = [series(frame, name) if name in present else rows[name] for name in types]
        return pl.DataFrame(made).cast(types)  # type: ignore[arg-type]

    return engine.map(relation, batch, types)


def _learnt(
    engine: Engine, relation: Relation, columns: Sequence[Column], known: Mapping[str, int]
) -> Iterator[Coding]:
    numbers = [column.name for column in columns if column.kind == "numeric"]
    places = _places(engine, relation, numbers, known)
    distinct = engine.distinct(relation, [c.name for c in columns if c.name in numbers and c.role == "quasi"])
    counted = engine.value_counts(relation, [c.name for c in columns if c.name not in numbers], _MOST_VALUES)
    for column in columns:
        if column.kind == "numeric":
            center, scale = places[column.name]
            yield Coding(
                axis=Axis(name=column.name, kind="numeric", bounds=column.bounds),
                center=center,
                scale=scale,
                integral=False,
                step=step_of(column, relation.types[column.name].is_integer()),
                n_distinct=distinct.get(column.name),
            )
        else:
            values = _few(column, counted[column.name]).sort(column.name)
            yield coding_of_counts(values[column.name], values[ROWS].to_numpy(), column)


def _places(
    engine: Engine, relation: Relation, names: Sequence[str], known: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Mean and standard deviation of each column of numbers, the same for any order and any batches."""
    if not names:
        return {}
    n, ends = known[ROWS], engine.extremes(relation, names).cast(pl.Float64)
    units = {name: _unit(_magnitude(ends[name].to_numpy()), n) for name in names}
    sums = _sums(engine, relation, {name: _fixed(name, 0.0, units[name], 1) for name in names})
    centers = {name: sums[name] * units[name] / max(1, known[name]) for name in names}
    spans = {name: _magnitude(ends[name].to_numpy() - centers[name]) ** 2 for name in names}
    squares = {name: _unit(spans[name], n) for name in names}
    total = _sums(engine, relation, {name: _fixed(name, centers[name], squares[name], 2) for name in names})
    return {
        name: (centers[name], _deviation(total[name] * squares[name] / max(1, known[name]), ends[name].to_numpy()))
        for name in names
    }


def _magnitude(values: FloatArray) -> float:
    return float(np.nanmax(np.abs(values))) if len(values) and not np.isnan(values).all() else 0.0


def _unit(magnitude: float, n: int) -> float:
    """2^e: the unit in which numbers up to `magnitude` are counted, so that n of them add up within 62 bits."""
    exponent = math.frexp(magnitude)[1] if magnitude > 0 else 0
    return math.ldexp(1.0, exponent - (_BITS - math.ceil(math.log2(max(2, n)))))


def _fixed(name: str, center: float, unit: float, power: int) -> Callable[[pl.DataFrame], int]:
    """The sum of round((x − center)^power / unit) over the known numbers of a batch."""

    def total(rows: pl.DataFrame) -> int:
        values = rows[name].drop_nulls().cast(pl.Float64).to_numpy()
        return int(np.rint((values - center) ** power / unit).astype(np.int64).sum())

    return total


def _deviation(variance: float, ends: FloatArray) -> float:
    scale = math.sqrt(variance)
    tiny = 1e-12 * max(1.0, _magnitude(ends))
    return scale if scale > tiny else 1.0
