"""A release made by an engine: from files that need not fit in memory to a folder of Parquet with one manifest.

Files are written to a stage folder in an order that follows from what they hold, and read back: they must hold exactly
the rows that were made, in classes of k where that is claimed. The manifest is written last; the folder takes its name
in one step, or nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import tomli_w

from shoal.claim import Claim
from shoal.coarsening import Generalize, Mondrian, Suppress
from shoal.engine import Engine, Inputs, Part, Relation
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.fact import Fact, sentences
from shoal.files import sha256, write_text
from shoal.recipe import Anonymization, Coarsening, Progress, Recipe, Synthesis, quiet, read_recipe
from shoal.release.by_engine import EngineMade, anonymize_relation, check_written
from shoal.release.cells import CELL, GROUP, Plan, check_recipe
from shoal.release.coarsening_cells import coarsen_by_cells
from shoal.release.engine_registering import EngineEntering
from shoal.release.engine_report import aggregates_of
from shoal.release.engine_texts import check_texts_on
from shoal.release.folders import MANIFEST, MODEL, PARTS, REPLAY, REPORT, staged
from shoal.release.generalize_on import generalize_relation
from shoal.release.manifest import FORMAT, commitment, read_replay, versions
from shoal.release.preset_rules import shown
from shoal.release.registering import Entry
from shoal.release.release import checked_seed
from shoal.release.synthesis_on import check_synthesis, synthesize_relation
from shoal.release.write import manifest_text
from shoal.report.aggregates import render_aggregates
from shoal.rng import branch_key, fresh_key
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.register.beside import Beside
    from shoal.register.register import Register

__all__ = ["EngineRun", "FilesRelease", "Origin", "check_on", "made_on", "release_files", "repeat_files", "written"]

_NOT_MEASURED = "no attack was run and nothing was compared: the release was made out of core"
_ON_A_SAMPLE = "an attack was run for a sample of people, against all rows; nothing else was compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRelease:
    """What was released: where, how many rows and classes (or groups), what is claimed and what was done; no cell."""

    folder: Path
    n_rows: int
    n_classes: int
    k: int
    parts: tuple[Part, ...]
    claims: tuple[Claim, ...]
    facts: tuple[Fact, ...]
    recipe: Recipe
    entry: Entry | None = field(default=None, repr=False)

    @property
    def beside(self) -> Beside | None:
        """What it gives away beside earlier releases of the same people, where a register was given."""
        return None if self.entry is None else self.entry.beside

    @property
    def attacked(self) -> bool:
        """Whether an attack was measured."""
        return any(claim.basis == "measured" for claim in self.claims)

    @property
    def unmeasured(self) -> str:
        """What was not measured, in words."""
        return "utility" if self.attacked else "attacks and utility"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """What a run on an engine depends on besides its rows."""

    recipe: Recipe
    declared: Schema
    seed: int
    key: str = field(repr=False)
    plan: Plan

    @classmethod
    def of(
        cls, recipe: Recipe, schema: Schema, seed: int | None, key: str | None = None, plan: Plan | None = None
    ) -> EngineRun:
        """With what was left out drawn in secret."""
        number, secret = checked_seed(seed), fresh_key() if key is None else key
        return cls(recipe=recipe, declared=schema, seed=number, key=secret, plan=plan or Plan())

    @property
    def repeats(self) -> dict[str, Any]:
        """The words of a replay file that make the same files again; protective noise is never made again."""
        if not self.recipe.repeats:
            return {"seed": self.seed, "pairing": self.key}
        return {"seed": self.seed, "pairing": self.key, "cells": self.plan.to_dict()}


class Origin(Protocol):
    """Where the rows came from: files, or a relation that somebody else holds."""

    @property
    def path(self) -> str:
        """What was named."""

    def sha256(self) -> str:
        """A digest of all of it."""

    def require_unchanged(self) -> None:
        """Raise if it was changed since."""


def release_files(
    engine: Engine,
    inputs: Inputs,
    schema: Schema,
    recipe: Recipe,
    target: Path,
    *,
    seed: int | None = None,
    key: str | None = None,
    plan: Plan | None = None,
    account: Any = None,
    overwrite: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    progress: Progress = quiet,
) -> FilesRelease:
    """Make the release of a recipe from the table that `inputs` hold and write it to `target`, or leave all as it was.

    Parameters
    ----------
    seed, key
        The same seed, key and plan make the same files again; leave the key out whenever you publish.
    plan
        How large cells are, for recipes that run cell by cell.
    account
        The account that a synthesis is charged to, before any noise is drawn.
    allow
        Columns of free text that a person has looked at and that stay; any other is refused.
    register
        The register that a release of people is held against and entered in.
    """
    check_on(recipe, schema)
    run = EngineRun.of(recipe, schema, seed, key, plan)
    with staged(target, overwrite=overwrite) as (stage, inside):
        relation = engine.scan(inputs)
        entering = _entering(register, engine, relation, run, progress)
        relation = relation if entering is None else entering.relation
        made = made_on(engine, relation, run, account=account, allow=allow, progress=progress)
        by = [CELL, GROUP] if isinstance(recipe, Anonymization) else made.schema.quasi
        entry = None if entering is None else entering.entry(engine, made.relation, by, made.schema, recipe)
        return written(engine, made, run, inputs, target, stage, inside, progress, entry)


def _entering(
    register: Register | None, engine: Engine, relation: Relation, run: EngineRun, progress: Progress
) -> EngineEntering | None:
    """The rows as the register sees them; None where nobody asks it, or rows are nobody's."""
    if register is None or not run.recipe.is_of_people:
        return None
    progress("looking into the register")
    return EngineEntering.of(register, engine, relation, run.declared)


def check_on(recipe: Recipe, schema: Schema) -> None:
    """Refuse what an engine can't do, before anything is opened."""
    if schema.pseudonym:
        raise SchemaError(
            f"column '{next(iter(schema.pseudonym))}'",
            "can't be published as a pseudonym from files on an engine",
            hint="Take pseudonym out of the schema, or run in memory.",
        )
    if isinstance(recipe, Anonymization):
        check_recipe(recipe)
    elif isinstance(recipe, Synthesis):
        check_synthesis(recipe)
    elif not isinstance(recipe, Coarsening) or not (_by_cells(recipe) or _method(recipe, Generalize)):
        raise ParameterError(
            "--method", "must be generalize, mondrian or suppress, alone, on an engine", hint="Run in memory."
        )


def made_on(
    engine: Engine,
    relation: Relation,
    run: EngineRun,
    *,
    account: Any = None,
    allow: Sequence[str] = (),
    progress: Progress = quiet,
) -> EngineMade:
    """What a recipe makes of a relation, with its claims."""
    recipe, schema = run.recipe, run.declared
    if isinstance(recipe, Synthesis):
        return synthesize_relation(engine, relation, schema, recipe, account, run.seed, progress)
    check_texts_on(engine, relation, shown(schema, recipe), allow)
    if isinstance(recipe, Anonymization):
        return anonymize_relation(engine, relation, schema, recipe, run.seed, run.key, run.plan, progress)
    (method,) = recipe.methods
    if isinstance(method, Generalize):
        return generalize_relation(engine, relation, schema, method, progress)
    assert isinstance(method, Mondrian | Suppress)
    return coarsen_by_cells(engine, relation, schema, method, run.seed, run.key, run.plan, progress)


def _by_cells(recipe: Recipe) -> bool:
    """Whether a coarsening runs cell by cell."""
    return _method(recipe, Mondrian) or _method(recipe, Suppress)


def _method(recipe: Recipe, kind: type) -> bool:
    return isinstance(recipe, Coarsening) and len(recipe.methods) == 1 and isinstance(recipe.methods[0], kind)


def written(
    engine: Engine,
    made: EngineMade,
    run: EngineRun,
    origin: Origin,
    target: Path,
    stage: Path,
    inside: Path,
    progress: Progress,
    entry: Entry | None = None,
) -> FilesRelease:
    """Write what a run made to the stage of a release, read it back, and last of all write the manifest."""
    progress("writing")
    released = [name for name in made.relation.columns if name in made.schema.released]
    parts = engine.write(engine.select(made.relation, released), stage, branch_key(run.key, "order"))
    progress("verifying")
    check_written(engine, made, released, [stage / part.name for part in parts], run.recipe)
    origin.require_unchanged()
    done = FilesRelease(
        folder=target,
        n_rows=sum(part.rows for part in parts),
        n_classes=made.n_groups,
        k=made.k,
        parts=parts,
        claims=made.claims,
        facts=(*made.facts, *(() if entry is None else entry.beside.facts)),
        recipe=run.recipe,
        entry=entry,
    )
    if made.model is not None:
        made.model.save(inside / MODEL, internal=True)
    progress("reporting")
    _write_words(engine, done, stage, inside, made, run, released, origin)
    return done


def repeat_files(
    engine: Engine,
    replay: Path,
    target: Path,
    *,
    input: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = quiet,
) -> FilesRelease:
    """Repeat a run that an engine made: any engine makes the same files again, byte for byte."""
    words = read_replay(replay)
    if "cells" not in words:
        raise InputError("replay", "must be of a run that an engine made and can repeat", hint="Run it in memory.")
    inputs = Inputs.of(input or words["input"]["path"])
    if inputs.sha256() != words["input"]["sha256"]:
        raise InputError("replay", "needs the exact input files of the release", got="files with another SHA-256")
    schema = Schema.from_dict(words["schema"])
    return release_files(
        engine,
        inputs,
        schema,
        read_recipe(words["recipe"]),
        target,
        seed=words["seed"],
        key=words["pairing"],
        plan=Plan(**words["cells"]),
        overwrite=overwrite,
        allow=[column.name for column in schema.columns],
        progress=progress,
    )


def _write_words(
    engine: Engine,
    done: FilesRelease,
    stage: Path,
    inside: Path,
    made: EngineMade,
    run: EngineRun,
    released: Sequence[str],
    origin: Origin,
) -> None:
    """The replay file inside, the report, then, last of all, the manifest: without it the folder is no release."""
    schema, declared = made.schema, run.declared
    digest, created, secret = origin.sha256(), datetime.now(UTC).date().isoformat(), fresh_key()
    files = {part.name: part.sha256 for part in done.parts}
    output = {
        "file": PARTS,
        "rows": done.n_rows,
        "columns": list(released),
        "sha256": Inputs.listed("written table", [stage / name for name in files]).sha256(),
    }
    replay = {
        "format": FORMAT,
        "created": created,
        **run.repeats,
        "key": secret,
        "input": {"path": origin.path, "sha256": digest},
        "output": {"file": PARTS, "sha256": output["sha256"]},
        "recipe": done.recipe.to_dict(),
        "schema": declared.to_dict(),
        "versions": versions(),
    }
    if done.beside is not None:
        replay["register"] = {name: value for name, value in done.beside.to_dict().items() if value is not None}
    write_text(inside / REPLAY, "# Internal: never publish it.\n" + tomli_w.dumps(replay))
    committed = commitment(digest, secret)
    hashes = {"released table, SHA-256": str(output["sha256"]), "input, keyed hash": committed}
    _write_report(engine, done, stage, inside, made, created, hashes)
    words = {
        "format": FORMAT,
        "created": created,
        "recipe": done.recipe.to_dict(),
        "columns": {c.name: {"role": c.role, "kind": c.kind} for c in schema.columns if c.name in released},
        "removed": [c.name for c in schema.columns if c.name not in released],
        "schema": {"sha256": declared.fingerprint()},
        "input": {
            "commitment": committed,
            "method": "HMAC-SHA-256 of the input's SHA-256, under the key in the replay file, which stays inside",
        },
        "output": output,
        "claims": [claim.to_dict() for claim in done.claims],
        "measures": _ON_A_SAMPLE if done.attacked else _NOT_MEASURED,
        "notes": list(sentences(done.facts, outside=True)),
        **({} if made.spending is None else {"account": made.spending.to_dict()}),
        **({} if done.beside is None else {"register": done.beside.outside()}),
        "versions": versions(),
        "files": files | {REPORT: sha256(stage / REPORT)},
    }
    write_text(stage / MANIFEST, manifest_text(words))
    if done.entry is not None:
        done.entry.enter(stage, done.folder, words, {})


def _write_report(
    engine: Engine,
    done: FilesRelease,
    stage: Path,
    inside: Path,
    made: EngineMade,
    created: str,
    hashes: Mapping[str, str],
) -> None:
    """The page for everybody, and the same for inside with what only those who made it may know."""
    files = Inputs.listed("written table", [stage / part.name for part in done.parts])
    about: dict[str, Any] = {"created": created, "versions": versions(), "hashes": hashes}
    about |= {"n_files": len(done.parts), "unmeasured": done.unmeasured}
    shown = aggregates_of(engine, engine.scan(files), made, done.recipe, **about)
    engine.forget(files)
    write_text(stage / REPORT, render_aggregates(shown, "external"))
    write_text(inside / REPORT, render_aggregates(replace(shown, notes=sentences(done.facts)), "internal"))
