"""Mondrian and Suppress on an engine: boxes, or suppressed cells, within cells of neighbours.

The cells are cut as for an anonymization (`shoal.release.on_engine.cells`), each with at least 2k persons, and the
method of one machine makes every cell into classes of at least k. A class lies in one cell, so its persons are those
that were counted there; classes of two cells that are written alike are one, which can only be larger. k is counted
again over all rows. What one machine would have written differs: the first cuts come from a sample, and people in
different cells don't help each other.

Mondrian writes all quasi-identifiers as texts, since a column may be exact in one cell and an interval in the next.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.coarsening import Mondrian, Suppress
from shoal.coarsening.suppress import WRITTEN
from shoal.conform import Prepared
from shoal.engine import MARK, Batch, Engine, Relation, Types
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.recipe import Coarsening, Progress
from shoal.release.claims import class_claims
from shoal.release.on_engine.anonymize import EngineMade, class_sizes, largest_share
from shoal.release.on_engine.cells import CELL, Plan, cut, in_cell
from shoal.release.on_engine.conform import PreparedRelation, prepare_relation
from shoal.rng import branch
from shoal.schema import Schema

__all__ = ["coarsen_by_cells"]

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
    _check(method)
    progress("checking the table")
    prepared = prepare_relation(engine, relation, schema)
    progress("coarsening")
    cells = cut(engine, prepared, method.k, key, plan)
    quasi, unit = list(prepared.schema.quasi), prepared.schema.unit
    types = _types(method, prepared)
    made = engine.apply(cells.relation, CELL, _classes(method, prepared.schema, seed, types), types)
    if isinstance(method, Suppress):
        made = engine.narrow(made, quasi)
    k, n_classes = class_sizes(engine, made, quasi, unit)
    if k < method.k:
        raise GuaranteeError(
            type(method).__name__, f"every class must hold at least {method.k} persons", got=f"a class of {k}"
        )
    return EngineMade(
        relation=made,
        schema=prepared.schema,
        claims=class_claims(Coarsening.of(method), prepared.schema, largest_share(engine, made, quasi, unit, k)),
        facts=(*prepared.facts, *_facts(engine, made, method, prepared, cells.n_cells)),
        class_columns=quasi,
        n_groups=n_classes,
        k=k,
    )


def _check(method: Mondrian | Suppress) -> None:
    beyond = (method.diversity, method.closeness, getattr(method, "subsets", None), method.risk)
    if any(asked is not None for asked in beyond) or getattr(method, "write", "sets") != "sets":
        raise ParameterError(
            "--method",
            f"{method.name} on an engine takes k alone" + (" and writes sets" if isinstance(method, Mondrian) else ""),
            hint="Run in memory (--engine memory).",
        )


def _types(method: Mondrian | Suppress, prepared: PreparedRelation) -> Types:
    types, quasi = dict(prepared.relation.types), prepared.schema.quasi
    if isinstance(method, Mondrian):
        types |= {name: pl.String() for name in quasi}
    return {**types, _CHANGED: pl.Int64()}


def _classes(method: Mondrian | Suppress, schema: Schema, seed: int, types: Types) -> Batch:
    def cell(rows: pl.DataFrame) -> pl.DataFrame:
        path = str(rows[CELL][0])
        frame = rows.drop(MARK, CELL)
        prepared = Prepared(frame=enter(frame), schema=schema, rows=np.arange(len(rows)), n_original=len(rows))
        with in_cell(path):
            done = method.apply(prepared, branch(seed, "cell", path))
        written = frame.with_columns(column.alias(name) for name, column in done.columns.items())
        changed = pl.zeros(len(frame), dtype=pl.Int64(), eager=True)
        for name in done.columns:
            changed = changed + _differs(frame[name], written[name])
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
        return [Fact(says="cut into {n} cells, and these into boxes", values={"n": n_cells})]
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
    ]
    if n_rows < prepared.n:
        left = prepared.n - n_rows
        found.append(Fact(says="{n} records were left out", values={"n": left}, counts="records"))
    return found
