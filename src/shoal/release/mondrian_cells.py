"""Mondrian on an engine: boxes within cells.

The cells are cut as for an anonymization (`shoal.release.cells`), each with at least 2k persons, and Mondrian cuts
every cell into boxes of at least k. A box lies in one cell, so its persons are those that were counted there; boxes of
two cells that are written alike are one class, which can only be larger. k is counted again over all rows. What one
machine would have cut differs: the first cuts come from a sample.

All quasi-identifiers are written as texts, since a column may be exact in one cell and an interval in the next.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.coarsening import Mondrian
from shoal.conform import Prepared
from shoal.engine import GROUPED, MARK, PERSONS, Batch, Engine, Relation, Types
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.recipe import Coarsening, Progress
from shoal.release.by_engine import EngineMade, largest_share
from shoal.release.cells import CELL, Plan, cut, in_cell
from shoal.release.promises import class_claims
from shoal.release.relation import settle
from shoal.rng import branch
from shoal.schema import Schema

__all__ = ["mondrian_relation"]


def mondrian_relation(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    method: Mondrian,
    seed: int,
    key: str,
    plan: Plan,
    progress: Progress,
) -> EngineMade:
    """Coarsen a relation cell by cell, and count its classes."""
    if method.diversity is not None or method.closeness is not None or method.write != "sets":
        raise ParameterError(
            "--method", "mondrian on an engine takes k alone and writes sets", hint="Run in memory (--engine memory)."
        )
    progress("checking the table")
    settled = settle(engine, relation, schema)
    progress("coarsening")
    cells = cut(engine, settled, method.k, key, plan)
    quasi = list(settled.schema.quasi)
    types = {name: pl.String() if name in quasi else dtype for name, dtype in settled.relation.types.items()}
    boxes = engine.apply(cells.relation, CELL, _boxes(method, settled.schema, seed, types), types)
    classes = engine.keep(engine.count(boxes, quasi, settled.schema.unit))
    sizes = engine.collect(engine.aggregate(classes, [PERSONS], []))
    k, n_classes = int(sizes[PERSONS].min()), int(sizes[GROUPED].sum())  # type: ignore[arg-type]
    if k < method.k:
        raise GuaranteeError("Mondrian", f"every class must hold at least {method.k} persons", got=f"{k}")
    recipe = Coarsening.of(method)
    return EngineMade(
        relation=boxes,
        schema=settled.schema,
        claims=class_claims(recipe, settled.schema, largest_share(engine, boxes, quasi, settled.schema.unit)),
        facts=(*settled.facts, Fact(says="cut into {n} cells, and these into boxes", values={"n": cells.n_cells})),
        n_rows=settled.n,
        n_groups=n_classes,
        k=k,
    )


def _boxes(method: Mondrian, schema: Schema, seed: int, types: Types) -> Batch:
    def cell(rows: pl.DataFrame) -> pl.DataFrame:
        path = str(rows[CELL][0])
        frame = rows.drop(MARK, CELL)
        prepared = Prepared(frame=enter(frame), schema=schema, rows=np.arange(len(rows)), n_original=len(rows))
        with in_cell(path):
            done = method.apply(prepared, branch(seed, "cell", path))
        written = frame.with_columns(column.alias(name) for name, column in done.columns.items())
        return written.cast(dict(types))  # type: ignore[arg-type]

    return cell
