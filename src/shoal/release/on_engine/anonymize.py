"""Anonymize a relation of an engine: hold it to its schema, cut it into cells, group, mask, count, attack, claim.

The rows never come together on the driver. What is claimed is counted over all of them by the engine; the attack is run
for a keyed sample of people against all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.claim import Claim
from shoal.dp.journal import Spending
from shoal.engine import GROUPED, PERSONS, ROWS, Engine, Relation
from shoal.errors import GuaranteeError
from shoal.fact import Fact
from shoal.group.mix import ClassGrouper
from shoal.recipe import Progress
from shoal.recipe.anonymization import Anonymization
from shoal.recipe.paid_model import PaidModel
from shoal.release.claims import cell_claims
from shoal.release.on_engine.cells import CELL, GROUP, Holds, Learnt, Plan, by_cells, cut, tried
from shoal.release.on_engine.class_mix import close_enough, whole_classes
from shoal.release.on_engine.conform import PreparedRelation, prepare_relation, with_texts
from shoal.release.on_engine.mix import Mixes, kept_mixes
from shoal.rng import branch_key
from shoal.schema import Schema
from shoal.synth.synthesizer import Model
from shoal.utility.suppressed import SuppressionLoss

__all__ = ["EngineMade", "anonymize_relation", "class_sizes", "largest_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMade:
    """What a run on an engine made, and what is said of it.

    Parameters
    ----------
    relation
        The rows; columns that are not released, such as cell, group and mark, are internal.
    schema
        With every kind settled.
    class_columns
        The columns whose combinations are the groups or classes; none where there are none.
    n_groups, k
        How many groups or classes there are, and the persons of the smallest; 0 where there are none.
    model, spending, paid
        The model that rows were drawn from, what its account had spent afterwards, and where the model is kept until
        the release exists.
    suppression
        What left-out records and blanked cells took; None where nothing was, or it was not counted. For inside only.
    warnings
        What must be said first, and stays inside.
    """

    relation: Relation
    schema: Schema
    claims: tuple[Claim, ...]
    facts: tuple[Fact, ...]
    class_columns: Sequence[str] = ()
    n_groups: int = 0
    k: int = 0
    model: Model | None = None
    spending: Spending | None = None
    paid: PaidModel | None = None
    suppression: SuppressionLoss | None = None
    warnings: tuple[str, ...] = ()

    def drop_paid_model(self) -> None:
        """The release exists: what was kept for a run that stops is no longer needed."""
        if self.paid is not None:
            self.paid.forget()


def anonymize_relation(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    recipe: Anonymization,
    seed: int,
    key: str,
    plan: Plan,
    progress: Progress,
) -> EngineMade:
    """Group and mask a relation, count what is claimed, and attack it."""
    progress("checking the table")
    prepared = prepare_relation(engine, relation, schema)
    progress("grouping")
    learnt, holding = _learnt(engine, prepared, recipe, plan)
    cells = cut(engine, prepared, recipe.k, key, plan, holding)
    trial = tried(learnt, cells, recipe, seed, key)
    progress("masking")
    masked = by_cells(engine, learnt, cells, recipe, seed, key)
    released = [name for name in prepared.relation.columns if name in prepared.schema.released]
    masked = engine.narrow(masked, released)
    k, n_groups = class_sizes(engine, masked, [CELL, GROUP], prepared.schema.unit)
    if k < recipe.k:
        raise GuaranteeError("cells", f"every group must hold at least {recipe.k} persons", got=f"a group of {k}")
    progress("measuring risk")
    from shoal.release.on_engine.sampled_attack import attack  # numba takes a fifth of a second to load

    found = attack(engine, prepared, cells.relation, masked, branch_key(key, "sample"))
    share = largest_share(engine, masked, [CELL, GROUP], prepared.schema.unit, k)
    kept = kept_mixes(engine, masked, prepared.schema, **_asked(recipe), by=[CELL, GROUP])
    return EngineMade(
        relation=with_texts(engine, masked, prepared.schema),
        schema=prepared.schema,
        claims=(*cell_claims(recipe, prepared.schema, share, trial.caveats, found, kept), *trial.claims),
        facts=(*prepared.facts, *_cell_facts(cells.n_cells)),
        class_columns=(CELL, GROUP),
        n_groups=n_groups,
        k=k,
    )


def _learnt(
    engine: Engine, prepared: PreparedRelation, recipe: Anonymization, plan: Plan
) -> tuple[Learnt, Callable[[Relation], Holds] | None]:
    """What cells are told of the whole table, and what must hold of a cell, where the grouper looks at its mix."""
    relation, schema = prepared.relation, prepared.schema
    mixes = Mixes.of(engine, relation, schema, **_asked(recipe))
    if mixes is not None:
        return Learnt.of(prepared, mixes=mixes), mixes.holding(engine, CELL, schema.unit)
    if not isinstance(recipe.group, ClassGrouper):
        return Learnt.of(prepared), None
    classes = whole_classes(engine, relation, schema, recipe.group, plan.rows)
    t = recipe.group.required_closeness()
    return Learnt.of(prepared, classes=classes), None if t is None else close_enough(engine, classes, t, CELL)


def _asked(recipe: Anonymization) -> dict[str, Any]:
    """What the grouper is to see to in the sensitive columns of each group."""
    return {name: getattr(recipe.group, name, None) for name in ("diversity", "closeness")}


def _cell_facts(n: int) -> tuple[Fact, ...]:
    """How many cells there were, for inside; what working by cells means, for everybody."""
    seams = (
        "grouped and masked cell by cell: no group lies in two cells, no value left its cell, "
        "and no second pass mended the groups at the seams"
    )
    return (Fact(says="number of cells: {n}", values={"n": n}, counts="groups"), Fact(says=seams, outside=True))


def class_sizes(engine: Engine, relation: Relation, by: Sequence[str], unit: str | None) -> tuple[int, int]:
    """The persons of the smallest class, and how many classes there are."""
    classes = engine.count(relation, by, unit)
    sizes = engine.collect(engine.aggregate(engine.select(classes, [PERSONS]), [PERSONS], []))
    return int(sizes[PERSONS].min()), int(sizes[GROUPED].sum())  # type: ignore[arg-type]


def largest_share(engine: Engine, relation: Relation, by: Sequence[str], unit: str | None, k: int) -> float:
    """The largest share of a group's rows that one person holds, where the smallest group holds `k` persons."""
    if unit is None:
        return 1 / k
    groups = engine.keep(engine.count(relation, by, unit))
    smallest = int(engine.extremes(groups, [ROWS])[ROWS][0])
    nobody = pl.DataFrame({unit: [None]}, schema={unit: relation.types[unit]})
    known = engine.recode(engine.select(relation, [*by, unit]), {}, nobody)
    held = engine.keep(engine.aggregate(engine.count(known, [*by, unit]), by, [], [ROWS]))
    most = 1 / smallest
    for part in engine.parts(held, by, 5_000_000):
        rows = engine.collect(engine.matching(groups, part.select(by))).select(*by, pl.col(ROWS).alias("all"))
        both = part.join(rows, on=list(by), nulls_equal=True)
        most = max(most, float((both[ROWS] / both["all"]).max() or 0.0))  # type: ignore[arg-type]
    return most
