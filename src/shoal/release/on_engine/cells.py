"""Group and mask a table cell by cell: the run of a recipe on an engine.

A keyed sample gives a tree (`shoal.engine.cell_tree`); each row's cell follows from the row alone, and all rows of a
person go to the cell of their row with the least mark. Cells with fewer than 2k persons join a neighbour. Inside a cell
the rows are sorted and the kernels of one machine run as they are, on scales learnt from the whole table, with streams
that belong to the cell's path.

**k and 1/k hold unchanged**: every group lies in one cell, has at least k persons, and which record gets which row is
drawn from the cell's own key, independent of all else, so the theorem of `shoal.mask.mask` applies group by group. A
dither that keeps the distribution of each cell keeps that of the table. What is lost: groups can't straddle cells, and
values can't leave them, so the measured risk is that of this run and of no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl

from shoal.claim import Claim
from shoal.conform import Prepared
from shoal.encode import Coding, Encoder
from shoal.engine import MARK, PERSON, PERSONS, Batch, Engine, Relation, Types
from shoal.engine.cell_tree import CellTree, hosts
from shoal.engine.marks import marks, signed
from shoal.errors import GuaranteeError, InputError, ParameterError, ShoalError
from shoal.frame import enter
from shoal.group.whole_classes import WholeClasses
from shoal.recipe.anonymization import Anonymization
from shoal.recipe.chain import Coder, run_chain
from shoal.release.on_engine.conform import PreparedRelation
from shoal.release.on_engine.mix import Mixes
from shoal.rng import branch, branch_key
from shoal.schema import Schema

__all__ = [
    "CELL",
    "GROUP",
    "Cells",
    "Holds",
    "Learnt",
    "Plan",
    "Ran",
    "by_cells",
    "check_recipe",
    "cut",
    "in_cell",
    "tried",
]

CELL, GROUP = "#cell", "#group"
_TRIAL = 2_000  # rows that the recipe is tried on before anything is cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How large cells are: rows of a cell, and rows of the sample that the tree is grown on."""

    rows: int = 20_000
    sample: int = 200_000

    def to_dict(self) -> dict[str, int]:
        """The words of a replay file."""
        return {"rows": self.rows, "sample": self.sample}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The rows with their cell and mark, how many cells there are, and a few rows to try a recipe on."""

    relation: Relation
    n_cells: int
    trial: pl.DataFrame


def check_recipe(recipe: Anonymization) -> None:
    """Refuse what can't be done cell by cell with the same promise."""
    hint = "Run in memory (--engine memory), or choose another."
    if recipe.group.leaves_out or recipe.limits:
        raise ParameterError("--group", "limits on attackers and rejected groups need the whole table", hint=hint)
    if recipe.group.leaves_small:
        raise ParameterError("--group", f"{recipe.group.name} leaves groups that only one machine can mend", hint=hint)
    columns = [method.name for method in recipe.methods if method.needs_all_columns]
    if columns:
        raise ParameterError("--engine", f"can't run {columns[0]}, which looks at all columns of all rows", hint=hint)
    aware = [mask.name for mask in recipe.masks if mask.is_aware]
    if aware:
        raise ParameterError("--mask", f"{aware[0]} starts from a record's own row and needs it all", hint=hint)


Holds: TypeAlias = Callable[[Sequence[str]], bool]
"""Whether something holds of the rows at some paths together."""


def cut(
    engine: Engine,
    prepared: PreparedRelation,
    k: int,
    key: str,
    plan: Plan,
    holding: Callable[[Relation], Holds] | None = None,
) -> Cells:
    """Give every row its cell; every cell holds at least 2k persons, or all there are.

    `holding` gets the rows with their paths and says what must hold of a cell; one that fails joins its neighbour.
    """
    rows = engine.select(prepared.relation, prepared.marked_columns)
    sample = engine.sample(rows, plan.sample, branch_key(key, "sample"), prepared.n)
    size = plan.rows * len(sample) / prepared.n
    tree = CellTree.grow(prepared.encoder.codes(sample), prepared.encoder, size)
    placed = _placed(engine, prepared, tree, key)
    persons = _persons(engine, placed, prepared.schema)
    halves = {path: int(np.ceil(np.log2(n / plan.rows))) for path, n in persons.items() if n > 2 * plan.rows}
    if halves:
        tree = tree.halved(halves, len(prepared.encoder.codings))
        placed = _placed(engine, prepared, tree, key)
        persons = _persons(engine, placed, prepared.schema)
    host = hosts(persons, 2 * k, None if holding is None else holding(placed))
    moved = pl.DataFrame({"from": list(host), "to": list(host.values())})
    joined = engine.recode(placed, {CELL: moved}, pl.DataFrame())
    return Cells(relation=joined, n_cells=len(set(host.values())), trial=sample.head(_TRIAL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What a worker needs to know of the whole table; its classes or mixes, where the grouper looks at them."""

    schema: Schema
    codings: tuple[Coding, ...]
    levels: pl.DataFrame
    types: Types
    classes: WholeClasses | None
    mixes: Mixes | None

    @classmethod
    def of(
        cls, prepared: PreparedRelation, *, classes: WholeClasses | None = None, mixes: Mixes | None = None
    ) -> Learnt:
        """Leave the relation behind."""
        return cls(
            schema=prepared.schema,
            codings=prepared.codings,
            levels=prepared.palette(),
            types=_types(prepared),
            classes=classes,
            mixes=mixes,
        )


def tried(learnt: Learnt, cells: Cells, recipe: Anonymization, seed: int, key: str) -> Ran:
    """What a recipe makes of a few rows of the sample, and what it says of them; a wrong one fails here.

    These rows are held to their own mix: they need not be as mixed as the whole table, as cells are.
    """
    return _run(recipe, replace(learnt, mixes=None), cells.trial.sort(cells.trial.columns), seed, key)


def by_cells(engine: Engine, learnt: Learnt, cells: Cells, recipe: Anonymization, seed: int, key: str) -> Relation:
    """The masked rows, each with its cell, group and mark."""
    return engine.apply(cells.relation, CELL, _cell_function(recipe, learnt, seed, key), learnt.types)


def _placed(engine: Engine, prepared: PreparedRelation, tree: CellTree, key: str) -> Relation:
    """The rows with their mark and the path of their cell, that of their person's first row."""
    relation, unit = prepared.relation, prepared.schema.unit
    types = {**relation.types, MARK: pl.Int64(), CELL: pl.String()}
    placed = engine.map(relation, _place(prepared.encoder, tree, unit, key), types)
    return placed if unit is None else engine.keep(engine.gathered(placed, unit, CELL, MARK))


def _place(encoder: Encoder, tree: CellTree, unit: str | None, key: str) -> Batch:
    paths = pl.Series(tree.paths, dtype=pl.String)
    own, spread = branch_key(key, "sample"), branch_key(key, "persons")

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        plain = rows.drop(PERSON, strict=False)
        hashes = marks(plain if unit is None else rows.select(unit), spread) / 2.0**64
        cells = tree.cells(np.column_stack((encoder.codes(plain), hashes)))
        return rows.with_columns(pl.Series(MARK, signed(marks(plain, own))), paths.gather(cells).alias(CELL))

    return batch


def _persons(engine: Engine, placed: Relation, schema: Schema) -> dict[str, int]:
    counted = engine.collect(engine.count(placed, [CELL], schema.unit)).sort(CELL)
    return {str(path): int(n) for path, n in zip(counted[CELL], counted[PERSONS], strict=True)}


def _types(prepared: PreparedRelation) -> Types:
    """What a cell gives back: released columns, numbers as floats, the person, and who hides with whom."""
    numeric = {coding.name for coding in prepared.encoder.codings if coding.levels is None}
    types = {name: pl.Float64() if name in numeric else dtype for name, dtype in prepared.relation.types.items()}
    return {**types, MARK: pl.Int64(), CELL: pl.String(), GROUP: pl.Int64()}


def _cell_function(recipe: Anonymization, learnt: Learnt, seed: int, key: str) -> Batch:
    def cell(rows: pl.DataFrame) -> pl.DataFrame:
        path = str(rows[CELL][0])
        with in_cell(path):
            made = _run(recipe, learnt, rows, branch(seed, "cell", path), branch_key(key, "cell", path))
        return made.rows.select(list(learnt.types)).cast(dict(learnt.types))  # type: ignore[arg-type]

    return cell


@contextmanager
def in_cell(path: str) -> Iterator[None]:
    """An error of a cell names the cell's number and the rule; no value of it."""
    try:
        yield
    except ShoalError as error:
        kind = GuaranteeError if isinstance(error, GuaranteeError) else InputError
        raise kind(f"cell {int(f'1{path}', 2)}", error.rule) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """Masked rows, and what must be said of them."""

    rows: pl.DataFrame
    caveats: tuple[str, ...]
    claims: tuple[Claim, ...]


def _run(recipe: Anonymization, learnt: Learnt, rows: pl.DataFrame, seed: int, key: str) -> Ran:
    """Group and mask sorted rows as on one machine, on the scales of the whole table."""
    prepared = Prepared(frame=enter(rows), schema=learnt.schema, rows=np.arange(len(rows)), n_original=len(rows))
    Encoder(codings=learnt.codings).share(prepared)
    if learnt.classes is not None:
        learnt.classes.tell(prepared)
    if learnt.mixes is not None:
        learnt.mixes.tell(prepared)
    grouping = recipe.group.group(prepared, seed)
    coder = Coder.of(prepared)
    chained = run_chain(recipe.group, recipe.masks, prepared, coder, grouping, seed=seed, key=key)
    written = coder.quasi.decode(chained.codes, enter(learnt.levels), enter(rows)).to_polars()
    return Ran(
        rows=written.with_columns(pl.Series(GROUP, chained.labels)),
        caveats=chained.caveats,
        claims=tuple(claim for claim in chained.claims if claim.basis == "proved"),
    )
