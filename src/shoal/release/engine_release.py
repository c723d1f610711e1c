"""A release that lies on an engine: a Spark DataFrame or a DuckDB relation in, the same out, never collected.

It promises what a release from files does, and is written the same way. Its rows are in a secret order. It lives as
long as its engine: close it, or use it as a context manager, once the table has been read or written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from shoal.claim import Claim
from shoal.engine import MARK, Engine, Inputs, Relation, open_engine
from shoal.engine.choose import suited
from shoal.engine.marks import marked
from shoal.errors import ParameterError
from shoal.fact import Fact, sentences
from shoal.recipe import Anonymization, Progress, quiet
from shoal.release.by_engine import EngineMade, anonymize_relation, digest
from shoal.release.cells import Plan, check_recipe
from shoal.release.engine_texts import check_texts_on
from shoal.release.folders import staged
from shoal.release.from_files import EngineRun, FilesRelease, Origin, written
from shoal.release.preset_rules import shown
from shoal.release.release import checked_seed
from shoal.rng import branch_key, fresh_key
from shoal.schema import Schema

__all__ = ["EngineRelease", "anonymize_on", "engine_of"]


@dataclass(frozen=True, kw_only=True)
class EngineRelease:
    """What a run on an engine made, with its claims.

    Parameters
    ----------
    engine, made, run, origin
        Where it lies, what was made and how, and from what (internal).
    """

    engine: Engine = field(repr=False)
    made: EngineMade = field(repr=False)
    run: EngineRun = field(repr=False)
    origin: Origin = field(repr=False)

    @cached_property
    def table(self) -> Any:
        """What goes out, of the engine's own type, not collected: rows in a secret order, no identifier."""
        relation, engine = self.made.relation, self.engine
        names = [name for name in relation.columns if name in self.made.schema.released]
        chosen = engine.select(relation, names)
        types = {**chosen.types, MARK: relation.types[MARK]}
        return engine.native(engine.map(chosen, marked(branch_key(self.run.key, "order")), types), MARK)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is promised, each with its basis and assumptions."""
        return self.made.claims

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What else happened."""
        return self.made.facts

    @property
    def notes(self) -> tuple[str, ...]:
        """What else happened, in sentences, for inside."""
        return sentences(self.facts)

    def write(
        self, directory: str | Path, *, overwrite: bool = False, progress: Progress | None = None
    ) -> FilesRelease:
        """Write a folder of Parquet with one manifest, and what must not leave to the folder beside it."""
        target = Path(directory)
        with staged(target, overwrite=overwrite) as (stage, inside):
            return written(self.engine, self.made, self.run, self.origin, target, stage, inside, progress or quiet)

    def close(self) -> None:
        """Give back what the engine holds; the table can't be read afterwards."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def engine_of(table: Any, engine: str | None, memory: str | None) -> str:
    """The name of the engine that a table is to be anonymized on: the one asked for, or the one it lies on."""
    if engine not in (None, "auto"):
        return str(engine)
    if _library(table) == "pyspark":
        return "spark"
    return suited(table, memory) if isinstance(table, str | Path) else "memory"


def anonymize_on(
    name: str,
    table: Any,
    schema: Schema,
    recipe: Anonymization,
    *,
    seed: int | None,
    memory: str | None = None,
    master: str | None = None,
    plan: Plan | None = None,
    allow: Sequence[str] = (),
    progress: Progress = quiet,
) -> EngineRelease:
    """Anonymize files, a DuckDB relation or a Spark DataFrame where they lie."""
    check_recipe(recipe)
    engine, relation, origin = _opened(name, table, memory, master)
    try:
        run = EngineRun(recipe=recipe, declared=schema, seed=checked_seed(seed), key=fresh_key(), plan=plan or Plan())
        check_texts_on(engine, relation, shown(schema, recipe), allow)
        made = anonymize_relation(engine, relation, schema, recipe, run.seed, run.key, run.plan, progress)
    except BaseException:
        engine.close()
        raise
    return EngineRelease(engine=engine, made=made, run=run, origin=origin)


def _opened(name: str, table: Any, memory: str | None, master: str | None) -> tuple[Engine, Relation, Origin]:
    if isinstance(table, str | Path):
        inputs = Inputs.of(table)
        engine = open_engine(name, memory=memory, master=master)
        return engine, engine.scan(inputs), inputs
    if _library(table) != {"spark": "pyspark", "duckdb": "duckdb"}.get(name):
        rule = "table must be files or a table of the engine itself"
        raise ParameterError("anonymize", rule, got=type(table).__name__, hint="Leave engine out to run in memory.")
    if name == "spark":
        from shoal.engine.spark import SparkEngine

        engine = SparkEngine(session=table.sparkSession)
    else:
        engine = open_engine(name, memory=memory)
    relation = engine.adopted(table)
    return engine, relation, _Held(engine=engine, relation=relation)


@dataclass(frozen=True, kw_only=True)
class _Held:
    """Rows that somebody else holds: known by the number and the marks of all of them."""

    engine: Engine
    relation: Relation
    path: str = ""

    def sha256(self) -> str:
        return hashlib.sha256(repr(digest(self.engine, self.relation, "00" * 32)).encode()).hexdigest()

    def require_unchanged(self) -> None:
        """It was read through the engine."""


def _library(table: Any) -> str:
    return type(table).__module__.split(".")[0].lstrip("_")
