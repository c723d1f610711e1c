"""PeGS on an engine: exact tables counted where the rows are, noise once on the driver, rows drawn by ranges.

1. The engine counts, batch by batch, the tables of all columns and pairs, whole numbers that add up to the same sums
   for any files, order, batches and retries. A person with more rows than the budget pays for keeps so many, drawn
   among their own rows.
2. The account is charged; then, once and on the driver, OpenDP draws the noise, the model is fitted and stored. No task
   draws protective noise, so none that runs twice draws it twice. A run that dies later finds the model that it has
   paid for (`shoal.recipe.paid_model`).
3. The rows are drawn from the fitted model where they will lie, in ranges, each from the stream of its number: a range
   that is drawn again gives the same rows. That is post-processing, whatever the streams are.

What is claimed is what `shoal.synthesize` claims. Nothing is compared with the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import check_columns
from shoal.engine import MARK, Batch, Engine, Relation
from shoal.engine.marks import marked, marks, signed
from shoal.errors import InputError, ParameterError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.recipe import Progress, Synthesis
from shoal.recipe.paid_model import PaidModel
from shoal.release.on_engine.anonymize import EngineMade
from shoal.release.on_engine.conform import without_numbers
from shoal.rng import branch, fresh_key, stream
from shoal.schema import Schema
from shoal.synth.counts import Tabulated, part_counts
from shoal.synth.domain import ALL_DROPPED, PublicTable
from shoal.synth.parents import LARGEST
from shoal.synth.pegs import PeGS
from shoal.synth.spend import can_pay, total_budget
from shoal.synth.synthesizer import Model
from shoal.synth.tables import check_keys, keys, n_keys
from shoal.synth.within_bins import parts_of

__all__ = ["check_synthesis", "synthesize_relation"]

ROWS_OF_A_RANGE = 250_000  # more than are ever polished, so that ranges are drawn as one draw of all rows would be
_PLACE, _COPY, _ORDER = "#place", "#copy", "#order"
_COUNTED = {"table": pl.Int64(), "cell": pl.Int64(), "n": pl.Int64()}

Columns = tuple[int, ...]


def check_synthesis(recipe: Synthesis) -> None:
    """Refuse synthesizers that need the rows themselves."""
    method = recipe.method
    if not isinstance(method, PeGS) or method.scope != "dataset":
        raise ParameterError(
            "--method",
            "must be pegs with scope = dataset on an engine",
            hint="Run in memory (--engine memory).",
        )
    method.price(recipe.rows)


def synthesize_relation(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    recipe: Synthesis,
    account: Any,
    digest: Callable[[], str],
    seed: int,
    progress: Progress,
) -> EngineMade:
    """Fit a model to the counts of a relation, charged to `account` first, and draw rows from it.

    `digest` is that of the input, by which a model that was paid for is found again.
    """
    check_synthesis(recipe)
    paid = None if account is None else PaidModel.of(account, recipe, schema, digest())
    found = None if paid is None else paid.found()
    model = found or _fitted(engine, relation, schema, recipe, paid, seed, progress)
    progress("drawing")
    n = recipe.rows if recipe.rows is not None else model.total
    assert n is not None
    notes = (Fact(says="{note}", values={"note": note}, outside=True) for note in model.notes)
    return EngineMade(
        relation=_drawn(engine, model, n, branch(seed, "draw")),
        schema=schema,
        claims=model.claims,
        facts=(*notes, *([PaidModel.PAID_BEFORE] if found is not None else [])),
        model=model,
        spending=None if account is None else account.spending,
        paid=paid,
    )


def _fitted(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    recipe: Synthesis,
    paid: PaidModel | None,
    seed: int,
    progress: Progress,
) -> Model:
    """Count, charge, draw the noise, and store what was paid for before it is used."""
    pegs = recipe.method
    assert isinstance(pegs, PeGS)
    can_pay(paid, pegs.stated)
    total_budget(pegs.epsilon, pegs.delta, pegs.unit(schema))
    progress("checking the table")
    check_columns(enter(pl.DataFrame(schema=dict(relation.types))), schema)
    table = _tabulated(engine, relation, schema, pegs)
    progress("fitting")
    model = pegs.fit_tabulated(table, schema, paid, stream(seed, "synth", "fit"))
    if paid is not None:
        paid.keep(model)
    return model


def _tabulated(engine: Engine, relation: Relation, schema: Schema, pegs: PeGS) -> Tabulated:
    """The table held to its public domain, as exact counts."""
    held = pegs.public_table(schema)
    names = [name for name in relation.columns if name in held.domain.names or name == schema.unit]
    chosen = engine.select(relation, names)
    if schema.unit is not None:
        chosen = _within(engine, chosen, schema.unit, held, fresh_key())
    counts = EngineCounts.of(engine, chosen, held, None if schema.unit is None else (schema.unit, pegs.rows_per_person))
    if int(counts.one_way()[0].sum()) == 0:
        raise InputError("table", ALL_DROPPED, got="0 rows")
    return Tabulated(domain=held.domain, counts=counts, notes=held.notes)


def _within(engine: Engine, relation: Relation, unit: str, held: PublicTable, key: str) -> Relation:
    """The rows with their place among those of their person, drawn by `key`; equal rows get places of their own."""

    def staying(rows: pl.DataFrame) -> pl.DataFrame:
        with without_numbers():
            _, there, _ = held.cells(enter(rows))
        return marked(key)(rows[there])

    def ordered(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(pl.Series(_ORDER, signed(marks(rows.select(MARK, _COPY), key))))

    types = {**relation.types, MARK: pl.Int64()}
    copies = engine.numbered(engine.map(relation, staying, types), [unit, MARK], MARK, _COPY)
    drawn = engine.map(copies, ordered, {**types, _COPY: pl.Int64(), _ORDER: pl.Int64()})
    return engine.keep(engine.numbered(drawn, [unit], _ORDER, _PLACE))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounts:
    """Exact tables of counts that an engine has counted; tables of more than two columns are counted when asked for.

    Parameters
    ----------
    sizes
        Number of cells of each column.
    known
        Flat tables by the positions of their columns.
    fine
        Records in each part of each bin, by the position of the column.
    count
        Counts further tables.
    """

    sizes: tuple[int, ...]
    known: Mapping[Columns, IntArray] = field(repr=False)
    fine: Mapping[int, IntArray] = field(repr=False)
    count: Callable[[Columns], IntArray] = field(repr=False)

    @classmethod
    def of(cls, engine: Engine, relation: Relation, held: PublicTable, cut: tuple[str, int] | None) -> EngineCounts:
        """Count single columns, pairs of them and the parts of bins, in one pass; `cut` are unit and rows a person."""
        sizes, parts = held.domain.sizes, parts_of(held.domain)
        pairs = [pair for pair in combinations(range(len(sizes)), 2) if n_keys(sizes, pair) <= LARGEST]
        wanted = [*((i,) for i in range(len(sizes))), *pairs]
        known, fine = _counted(engine, relation, held, wanted, parts, cut)
        return cls(
            sizes=sizes,
            known=known,
            fine=fine,
            count=lambda columns: _counted(engine, relation, held, [columns], {}, cut)[0][columns],
        )

    def one_way(self) -> list[IntArray]:
        """Counts of every column."""
        return [self.known[i,] for i in range(len(self.sizes))]

    def pair(self, i: int, j: int) -> IntArray:
        """Cross-table of columns i and j."""
        return self._table((i, j)).reshape(self.sizes[i], self.sizes[j])

    def blocks(self, i: int, parents: Sequence[int]) -> IntArray:
        """Counts of column i for every key of its parents."""
        check_keys(self.sizes, i, parents)
        return self._table((*parents, i)).reshape(n_keys(self.sizes, parents), self.sizes[i])

    def parts(self, i: int, sizes: Sequence[int]) -> IntArray:
        """Records in each part of each bin of column i."""
        return self.fine[i]

    def _table(self, columns: Columns) -> IntArray:
        return self.known[columns] if columns in self.known else self.count(columns)


def _counted(
    engine: Engine,
    relation: Relation,
    held: PublicTable,
    wanted: Sequence[Columns],
    parts: Mapping[int, Sequence[int]],
    cut: tuple[str, int] | None,
) -> tuple[dict[Columns, IntArray], dict[int, IntArray]]:
    """The flat tables of columns, and those of the parts of bins."""
    found = engine.add_up(relation, _counting(held, wanted, parts, cut), _COUNTED, ["table", "cell"])
    sizes = [n_keys(held.domain.sizes, columns) for columns in wanted] + [sum(own) for own in parts.values()]
    tables = [np.zeros(size, dtype=np.int64) for size in sizes]
    number, cell, n = (found[name].to_numpy() for name in _COUNTED)
    for k, table in enumerate(tables):
        there = number == k
        table[cell[there]] = n[there]
    return dict(zip(wanted, tables, strict=False)), dict(zip(parts, tables[len(wanted) :], strict=True))


def _counting(
    held: PublicTable,
    wanted: Sequence[Columns],
    parts: Mapping[int, Sequence[int]],
    cut: tuple[str, int] | None,
) -> Batch:
    sizes = held.domain.sizes

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        if cut is not None:
            rows = rows.filter((pl.col(_PLACE) <= cut[1]) | pl.col(cut[0]).is_null())
        with without_numbers():
            codes, _, places = held.cells(enter(rows))
        flat = [_occurring(keys(codes, sizes, columns)) for columns in wanted]
        flat += [_nonzero(part_counts(codes[:, i], places[i], own)) for i, own in parts.items()]
        table = np.repeat(np.arange(len(flat)), [len(cell) for cell, _ in flat])
        cells, counts = (np.concatenate([found[side] for found in flat]) for side in (0, 1))
        return pl.DataFrame({"table": table, "cell": cells, "n": counts}, schema=_COUNTED)

    return batch


def _occurring(cells: IntArray) -> tuple[IntArray, IntArray]:
    """The cells that occur, and how often."""
    if len(cells) and int(cells.max()) > 4 * len(cells):
        return np.unique(cells, return_counts=True)
    return _nonzero(np.bincount(cells))


def _nonzero(counts: IntArray) -> tuple[IntArray, IntArray]:
    there = np.flatnonzero(counts)
    return there, counts[there]


def _drawn(engine: Engine, model: Model, n: int, seed: int) -> Relation:
    """`n` rows of a model, drawn in ranges of equal length, each from the stream of its number."""
    ranges = max(1, n // ROWS_OF_A_RANGE)
    ends = [n * i // ranges for i in range(ranges + 1)]
    return engine.draw(ranges, _range(model, ends, seed), dict(model.sample(1, seed=seed).schema))


def _range(model: Model, ends: Sequence[int], seed: int) -> Callable[[int], pl.DataFrame]:
    def rows_of(i: int) -> pl.DataFrame:
        drawn: pl.DataFrame = model.sample(ends[i + 1] - ends[i], seed=branch(seed, "range", i))
        return drawn

    return rows_of
