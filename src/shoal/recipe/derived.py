"""Columns that follow from others (an age group from the age): computed again from what is released, no side door.

Left as it is, such a column tells what its sources were before they were masked or coarsened. So it takes no part in
grouping, masking and coarsening, and is written from the released sources alone:

- after a mask, by the function that the table shows: the value that goes with the released source. A number that nobody
  has gets the value of the nearest one that somebody has. Where a column follows from several and the mask wrote a
  combination that nobody has, the column is left out;
- after coarsening, along with its source: the set of values that go with the written interval or category, or their
  range where they are numbers.

That a column follows from its sources is held against every row of the input: at most one row in a hundred may have
another value than the commonest of its sources, which is then written instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.coarsening.intervals import around
from shoal.conform import Prepared, as_written
from shoal.errors import InputError, Problems, SchemaError
from shoal.fact import Fact
from shoal.frame import Frame, adopt, series, with_columns
from shoal.schema import Column, Schema
from shoal.value import canonical

__all__ = ["again", "along", "derived_columns", "derived_faults", "without_derived"]

_KEY, _VALUE = "key", "value"
_MOST_ODD = 0.01  # of the rows


def derived_columns(schema: Schema, written: Collection[str] = ()) -> tuple[Column, ...]:
    """The released columns that follow from others of which one is masked or coarsened.

    `written` are the columns besides the quasi-identifiers that are masked.
    """
    changed = {*schema.quasi, *written}
    return tuple(c for c in schema.released.columns if c.derived and changed & set(c.derived))


def without_derived(prepared: Prepared, written: Collection[str] = ()) -> Prepared:
    """The table as methods see it: what follows from other columns is none of their business.

    `written` are the columns besides the quasi-identifiers that are masked.

    Raises
    ------
    SchemaError
        A column doesn't follow from its sources, or is a quasi-identifier that follows from other columns; a
        ProblemsError if there are several.
    """
    found = derived_columns(prepared.schema, written)
    if not found:
        return prepared
    Problems(derived_faults(prepared, written)).raise_if_any()
    return replace(prepared, schema=prepared.schema.with_columns(replace(c, role="other") for c in found))


def derived_faults(prepared: Prepared, written: Collection[str] = ()) -> list[InputError]:
    """What is wrong with the derived columns, each with its remedy."""
    problems, changed = Problems(), {*prepared.schema.quasi, *written}
    problems.each(lambda column: _check(prepared, column, changed), derived_columns(prepared.schema, written))
    return problems.found


def _check(prepared: Prepared, column: Column, changed: Collection[str]) -> None:
    sources, schema = column.derived or (), prepared.schema
    strange = [name for name in sources if column.role == "quasi" and name not in changed]
    if strange:
        raise SchemaError(
            "schema",
            f"column '{column.name}' is a quasi-identifier and follows from '{strange[0]}', which is none",
            hint="Give both the role quasi, or the derived column another role.",
        )
    shown = as_written(prepared.frame.select([column.name, *sources]), schema)
    odd = prepared.n - int(_function(shown, column)["n"].sum())
    if odd > _MOST_ODD * prepared.n:
        raise SchemaError(
            "schema",
            f"column '{column.name}' must follow from {' and '.join(sources)}, as declared",
            got=f"{odd:,} rows that have another value than most with the same {' and '.join(sources)}",
            hint="Correct the rows, or take the entry `derived` out: the column is then masked like any other.",
        )


def _pairs(frame: Frame, column: Column) -> pl.DataFrame:
    """Each row's sources as one text, and its value."""
    return pl.DataFrame({_KEY: _keys(frame, column.derived or ()), _VALUE: series(frame, column.name)})


def _function(frame: Frame, column: Column) -> pl.DataFrame:
    """For each combination of sources the commonest value (ties: the first in order), and how many rows have it."""
    counted = _pairs(frame, column).group_by(_KEY, _VALUE).agg(n=pl.len())
    return counted.sort("n", _VALUE, descending=[True, False]).unique(_KEY, keep="first", maintain_order=True)


def _keys(frame: Frame, names: Iterable[str]) -> pl.Series:
    parts = [canonical(series(frame, name)).fill_null("").alias(str(i)) for i, name in enumerate(names)]
    return pl.select(pl.concat_str(parts, separator="\x1f")).to_series()


def again(
    prepared: Prepared, released: Frame, written: Collection[str] = ()
) -> tuple[Frame, tuple[Column, ...], tuple[Fact, ...]]:
    """The released rows with every derived column by its function; the columns that were left out, and what to say."""
    gone, facts = [], []
    for column in derived_columns(prepared.schema, written):
        original = as_written(prepared.frame.select([column.name, *(column.derived or ())]), prepared.schema)
        values = _looked_up(original, released, column, prepared.schema)
        if values is None:
            gone.append(column)
            released = released.drop(column.name)
            says = "{column}: left out, as it follows from {sources}, and combinations were written that nobody has"
        else:
            released = with_columns(released, {column.name: adopt(values, released)})
            says = "{column}: computed again from {sources} as released"
        said = {"sources": " and ".join(column.derived or ())}
        facts.append(Fact(says=says, values=said, column=column.name, outside=True))
    return released, tuple(gone), tuple(facts)


def _looked_up(original: Frame, released: Frame, column: Column, schema: Schema) -> pl.Series | None:
    known = _function(original, column).select(_KEY, _VALUE)
    keys = pl.DataFrame({_KEY: _keys(released, column.derived or ())})
    if not bool(keys[_KEY].is_in(known[_KEY].implode()).all()):
        sources = column.derived or ()
        if len(sources) > 1 or schema[sources[0]].kind != "numeric":
            return None
        keys = pl.DataFrame({_KEY: _nearest(keys[_KEY], known[_KEY])})
    found = keys.join(known, on=_KEY, how="left", maintain_order="left")[_VALUE]
    return found.alias(column.name)


def _nearest(keys: pl.Series, known: pl.Series) -> pl.Series:
    """Each text that is a number as the nearest one that is known (ties: the lower); all else as it is."""
    numbers = known.to_frame().select(_KEY, x=pl.col(_KEY).cast(pl.Float64, strict=False)).drop_nulls().sort("x")
    wanted = keys.cast(pl.Float64, strict=False)
    x = numbers["x"].to_numpy()
    place = np.searchsorted((x[1:] + x[:-1]) / 2, wanted.fill_null(0.0).to_numpy(), side="left")
    keeps = keys.is_in(known.implode()) | wanted.is_null()
    return keys.zip_with(keeps, numbers[_KEY].gather(place))


def along(frame: Frame, schema: Schema) -> Frame:
    """Coarsened rows with every derived column as coarse as its sources; `frame` holds it as it was."""
    made = {c.name: adopt(_coarsened(frame, c), frame) for c in derived_columns(schema) if c.name in frame.columns}
    return with_columns(frame, made)


def _coarsened(frame: Frame, column: Column) -> pl.Series:
    pairs = _pairs(frame, column)
    classes = pairs.unique().group_by(_KEY).agg(pl.col(_VALUE).sort(nulls_last=True))
    if (classes[_VALUE].list.len() <= 1).all():
        return pairs[_VALUE].alias(column.name)
    texts = [_spelled(values) for values in classes[_VALUE].to_list()]
    words = classes.select(_KEY).with_columns(pl.Series(_VALUE, texts, dtype=pl.String))
    return pairs.select(_KEY).join(words, on=_KEY, how="left", maintain_order="left")[_VALUE].alias(column.name)


def _spelled(values: list[object]) -> str | None:
    """One value as it is, several as a set, numbers as a range."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    lost = " or missing" if len(known) < len(values) else ""
    if len(known) == 1:
        return f"{canonical(pl.Series(known))[0]}{lost}"
    if all(isinstance(value, int | float) for value in known):
        return f"{around(known)}{lost}"  # type: ignore[arg-type]
    return "{" + ", ".join(str(value) for value in known) + "}" + lost
