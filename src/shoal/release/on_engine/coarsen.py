"""Mondrian and Suppress on an engine: boxes, or suppressed cells, within cells of neighbours.

The cells are cut as for an anonymization (`shoal.release.on_engine.cells`), each with at least 2k persons, and the
method of one machine makes every cell into classes of at least k. A class lies in one cell, so its persons are those
that were counted there; classes of two cells that are written alike are one, which can only be larger. k is counted
again over all rows, and so is the mix of sensitive columns (`shoal.release.on_engine.mix`). What one machine would have
written differs: the first cuts come from a sample, and people in different cells don't help each other.

Mondrian writes all quasi-identifiers as texts, since a column may be exact in one cell and an interval in the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from shoal.coarsening import Mondrian, Suppress
from shoal.coarsening.mondrian import TIGHTER
from shoal.coarsening.suppress import WRITTEN
from shoal.condition.requirements import Closeness, Promise
from shoal.conform import Prepared, as_written, coded_as_text
from shoal.engine import MARK, ROWS, Batch, Engine, Relation, Types
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.recipe import Coarsening, Progress
from shoal.release.claims import class_claims
from shoal.release.on_engine.anonymize import EngineMade, class_sizes, largest_share
from shoal.release.on_engine.cells import CELL, Plan, cut, in_cell
from shoal.release.on_engine.conform import PreparedRelation, prepare_relation
from shoal.release.on_engine.mix import Mixes, kept_mixes
from shoal.rng import branch
from shoal.schema import Schema
from shoal.utility.suppressed import SuppressionLoss, loss_of_values

__all__ = ["check_by_cells", "coarsen_by_cells"]

SEAMS = Fact(says="coarsened cell by cell: people in different cells are not compared with each other", outside=True)
_CHANGED = "#changed"
"""How many quasi-identifiers of a row are not written as they were."""


def coarsen_by_cells(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    method: Mondrian | Suppress,
    seed: int,
    key: str,
    plan: Plan,
    progress: Progress,
) -> EngineMade:
    """Coarsen a relation cell by cell, and count its classes."""
    check_by_cells(method)
    progress("checking the table")
    prepared = prepare_relation(engine, relation, schema)
    progress("coarsening")
    run = partial(_coarsened, engine, prepared, seed=seed, key=key, plan=plan)
    made, n_cells, mixes = _kept(engine, prepared.schema, method, run)
    quasi, unit = list(prepared.schema.quasi), prepared.schema.unit
    k, n_classes = class_sizes(engine, made, quasi, unit)
    if k < method.k:
        raise GuaranteeError(
            type(method).__name__, f"every class must hold at least {method.k} persons", got=f"a class of {k}"
        )
    share = largest_share(engine, made, quasi, unit, k)
    return EngineMade(
        relation=made,
        schema=prepared.schema,
        claims=class_claims(Coarsening.of(method), prepared.schema, share, mixes),
        facts=(*prepared.facts, *_facts(engine, made, method, prepared, n_cells)),
        class_columns=quasi,
        n_groups=n_classes,
        k=k,
        suppression=_suppression(engine, prepared, made) if isinstance(method, Suppress) else None,
    )


_MOST_COMBINATIONS = 5_000_000  # on the driver, to count what was suppressed


def _suppression(engine: Engine, prepared: PreparedRelation, made: Relation) -> SuppressionLoss | None:
    """What was blanked or left out: what a column holds still is written as it came, so both are counted alike."""
    names = list(prepared.schema.quasi)
    counted = [engine.keep(engine.count(engine.select(table, names), names)) for table in (prepared.relation, made)]
    if any(int(engine.known(one, [])[ROWS]) > _MOST_COMBINATIONS for one in counted):
        return None
    came, left = (as_written(enter(engine.collect(one)), prepared.schema).to_polars() for one in counted)
    return loss_of_values(came, left, prepared.schema, ROWS)


def check_by_cells(method: Mondrian | Suppress) -> None:
    """Refuse what can't be done cell by cell."""
    beyond = (getattr(method, "subsets", None), method.risk)
    if any(asked is not None for asked in beyond) or getattr(method, "write", "sets") != "sets":
        asks = (
            "takes neither risk nor write=means" if isinstance(method, Mondrian) else "takes neither risk nor subsets"
        )
        raise ParameterError("--method", f"{method.name} on an engine {asks}", hint="Run in memory (--engine memory).")


def _coarsened(
    engine: Engine, prepared: PreparedRelation, method: Mondrian | Suppress, *, seed: int, key: str, plan: Plan
) -> tuple[Relation, int]:
    """The rows as they are written, and how many cells there were."""
    schema = prepared.schema
    mixes = Mixes.of(engine, prepared.relation, schema, method.diversity, method.closeness)
    holding = None if mixes is None else mixes.holding(engine, CELL, schema.unit)
    cells = cut(engine, prepared, method.k, key, plan, holding)
    types = _types(method, prepared)
    made = engine.apply(cells.relation, CELL, _classes(method, schema, mixes, seed, types), types)
    shown = schema.released
    released = [name for name in made.columns if name in shown]
    return engine.narrow(made, released) if isinstance(method, Suppress) else made, cells.n_cells


def _kept(
    engine: Engine, schema: Schema, method: Mondrian | Suppress, run: Callable[..., tuple[Relation, int]]
) -> tuple[Relation, int, list[Promise]]:
    """What a run makes, and what it promises of sensitive columns.

    Where records are left out, or persons have rows in several classes, the mix that closeness compares with depends
    on the classes themselves; if these fail, they are made again with a stricter closeness.
    """
    exact = method.closeness is None or (schema.unit is None and not method.leaves_out)
    for share in (1.0,) if exact else TIGHTER:
        made, n_cells = run(_stricter(method, share))
        try:
            return made, n_cells, kept_mixes(engine, made, schema, method.diversity, method.closeness)
        except GuaranteeError:
            if exact or share == TIGHTER[-1]:
                raise
    raise AssertionError("the last try returns or raises")


def _stricter(method: Mondrian | Suppress, share: float) -> Mondrian | Suppress:
    if method.closeness is None or share == 1:
        return method
    asked = Closeness.of(method.closeness)
    words = f"{asked.distance}:{share * asked.t!r}" if asked.distance else share * asked.t
    return replace(method, closeness=words)


def _types(method: Mondrian | Suppress, prepared: PreparedRelation) -> Types:
    types, schema = dict(prepared.relation.types), prepared.schema
    texts = {*coded_as_text(schema), *(schema.quasi if isinstance(method, Mondrian) else ())}
    types |= {name: pl.String() for name in texts & types.keys()}
    return {**types, _CHANGED: pl.Int64()}


def _classes(method: Mondrian | Suppress, schema: Schema, mixes: Mixes | None, seed: int, types: Types) -> Batch:
    def cell(rows: pl.DataFrame) -> pl.DataFrame:
        path = str(rows[CELL][0])
        frame = rows.drop(MARK, CELL)
        prepared = Prepared(frame=enter(frame), schema=schema, rows=np.arange(len(rows)), n_original=len(rows))
        if mixes is not None:
            mixes.tell(prepared)
        with in_cell(path):
            done = method.apply(prepared, branch(seed, "cell", path))
        new = frame.with_columns(column.alias(name) for name, column in done.columns.items())
        changed = pl.zeros(len(frame), dtype=pl.Int64(), eager=True)
        for name in done.columns:
            changed = changed + _differs(frame[name], new[name])
        written = as_written(enter(new), schema).to_polars()
        released = written.with_columns(changed.alias(_CHANGED)).filter(pl.Series(done.kept))
        return released.cast(dict(types))  # type: ignore[arg-type]

    return cell


def _differs(before: pl.Series, after: pl.Series) -> pl.Series:
    if before.dtype != after.dtype:
        return pl.ones(len(before), dtype=pl.Int64(), eager=True)
    return before.ne_missing(after).cast(pl.Int64)


def _facts(
    engine: Engine, made: Relation, method: Mondrian | Suppress, prepared: PreparedRelation, n_cells: int
) -> list[Fact]:
    """How many cells there were, and what was suppressed."""
    if isinstance(method, Mondrian):
        cut = "cut into {n} cells by a sample of the rows, and these into boxes"
        return [Fact(says=cut, values={"n": n_cells}), SEAMS]
    types = {"rows": pl.Int64(), _CHANGED: pl.Int64()}
    sums = engine.add_up(
        engine.select(made, [_CHANGED]),
        lambda rows: pl.DataFrame({"rows": [len(rows)], _CHANGED: [rows[_CHANGED].sum()]}, schema=types),
        types,
    )
    n_rows, n_blank = int(sums["rows"][0]), int(sums[_CHANGED][0])
    share = n_blank / max(1, n_rows * len(prepared.schema.quasi))
    says = "{share:.2%} of the cells of quasi-identifiers are suppressed"
    found = [
        Fact(says="cut into {n} cells, and rare combinations suppressed within these", values={"n": n_cells}),
        Fact(says=says, values={"share": share, "n": n_blank}, counts="cells"),
        Fact(says=WRITTEN, outside=True),
        SEAMS,
    ]
    if n_rows < prepared.n:
        left = prepared.n - n_rows
        found.append(Fact(says="{n} records were left out", values={"n": left}, counts="records"))
    return found
