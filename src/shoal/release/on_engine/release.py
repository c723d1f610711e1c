"""A release that lies on an engine: a Spark DataFrame or a DuckDB relation in, the same out, never collected.

It promises what a release from files does, and is written the same way. Its rows are in a secret order. It lives as
long as its engine: close it, or use it as a context manager, once the table has been read or written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.claim import Claim
from shoal.engine import MARK, Engine, Inputs, Relation, open_engine
from shoal.engine.choose import suited, suited_to_cells
from shoal.errors import ParameterError
from shoal.fact import Fact, sentences
from shoal.recipe import Progress, Recipe, quiet
from shoal.release.folders import staged
from shoal.release.on_engine.anonymize import EngineMade
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import check_on, made_on, written
from shoal.release.on_engine.write import EngineRun, FilesRelease, Origin
from shoal.release.on_engine.written_table import digest, in_order
from shoal.release.preset_rules import preset_for
from shoal.release.registering import Entry
from shoal.rng import branch_key
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.compliance.presets import Preset
    from shoal.pseudonym import Pseudonyms
    from shoal.register.register import Register

__all__ = ["EngineRelease", "engine_of", "release_on"]


@dataclass(frozen=True, kw_only=True)
class EngineRelease:
    """What a run on an engine made, with its claims.

    Parameters
    ----------
    engine, made, run, origin, entry
        Where it lies, what was made and how, from what, and what the register will be told when it is written
        (internal).
    """

    engine: Engine = field(repr=False)
    made: EngineMade = field(repr=False)
    run: EngineRun = field(repr=False)
    origin: Origin = field(repr=False)
    entry: Entry | None = field(default=None, repr=False)

    @cached_property
    def table(self) -> Any:
        """What goes out, of the engine's own type, not collected: rows in a secret order, no identifier."""
        return self.engine.native(in_order(self.engine, self.made, branch_key(self.run.key, "order")), MARK)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is promised, each with its basis and assumptions."""
        return self.made.claims

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What else happened."""
        return self.made.facts

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said first, to those who may see the whole table."""
        return self.made.warnings

    @property
    def notes(self) -> tuple[str, ...]:
        """What else happened, in sentences, for inside."""
        return sentences(self.facts)

    def write(
        self,
        directory: str | Path,
        *,
        format: str = "parquet",
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> FilesRelease:
        """Write a folder of Parquet (or CSV) with one manifest, and what must not leave to the folder beside it."""
        target, run = Path(directory), replace(self.run, format=format)
        check_on(run.recipe, run.declared, run.pseudonyms, format)
        with staged(target, overwrite=overwrite) as (stage, inside):
            done = written(
                self.engine, self.made, run, self.origin, target, stage, inside, progress or quiet, self.entry
            )
        self.made.drop_paid_model()
        return done

    def close(self) -> None:
        """Give back what the engine holds; the table can't be read afterwards, and what it cost is used up."""
        self.made.drop_paid_model()
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self.engine.close()


def engine_of(table: Any, engine: str | None, memory: str | None) -> str:
    """The name of the engine that a release is to be made on: the one asked for, or the one it lies on."""
    if engine not in (None, "auto"):
        return str(engine)
    if _library(table) == "pyspark":
        return "spark"
    if _library(table) == "duckdb":
        return suited_to_cells(int(table.shape[0]) * len(table.columns), memory)
    return suited(table, memory) if isinstance(table, str | Path) else "memory"


def release_on(
    name: str,
    table: Any,
    schema: Schema,
    recipe: Recipe,
    *,
    seed: int | None = None,
    memory: str | None = None,
    master: str | None = None,
    plan: Plan | None = None,
    account: Any = None,
    allow: Sequence[str] = (),
    register: Register | None = None,
    pseudonyms: Pseudonyms | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    progress: Progress | None = None,
) -> EngineRelease:
    """Make the release of a recipe from files, a DuckDB relation or a Spark DataFrame where they lie."""
    check_on(recipe, schema, pseudonyms, preset=preset)
    given = Inputs.of(table) if isinstance(table, str | Path) else _own_table(name, table, recipe.command)
    engine = _opened(name, given, memory, master)
    try:
        relation, origin = _read(engine, given)
        held: dict[str, Any] = {"preset": preset_for(preset, recipe), "accept": accept}
        run = EngineRun.of(recipe, schema, seed, plan=plan, pseudonyms=pseudonyms, **held)
        words: dict[str, Any] = {"register": register, "account": account, "allow": allow}
        made, entry = made_on(engine, relation, run, origin, **words, progress=progress or quiet)
    except BaseException:
        engine.close()
        raise
    return EngineRelease(engine=engine, made=made, run=run, origin=origin, entry=entry)


def _own_table(name: str, table: Any, command: str) -> Any:
    """A table of the engine's own type; an error for any other."""
    if _library(table) != {"spark": "pyspark", "duckdb": "duckdb"}.get(name):
        rule = "table must be files or a table of the engine itself"
        raise ParameterError(command, rule, got=type(table).__name__, hint="Leave engine out to run in memory.")
    return table


def _opened(name: str, given: Any, memory: str | None, master: str | None) -> Engine:
    return open_engine(name, memory=memory, master=master, session=getattr(given, "sparkSession", None))


def _read(engine: Engine, given: Any) -> tuple[Relation, Origin]:
    if isinstance(given, Inputs):
        return engine.scan(given), given
    relation = engine.adopted(given)
    return relation, _Held(engine=engine, relation=relation)


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
