"""A release made by an engine: from files that need not fit in memory to a folder of Parquet with one manifest.

Files are written to a stage folder in an order that follows from what they hold, and read back: they must hold exactly
the rows that were made, in classes of k where that is claimed. The manifest is written last; the folder takes its name
in one step, or nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.coarsening import Coarsener, Generalize, Mondrian, Suppress
from shoal.engine import MARK, PART_FORMATS, ROWS, Engine, Inputs, Relation, scanned
from shoal.engine.equal_rows import whose_rows_on, with_persons_on
from shoal.errors import InputError, ParameterError
from shoal.recipe import Anonymization, Coarsening, Progress, Recipe, Synthesis, quiet, read_recipe
from shoal.register.beside_earlier import Beside
from shoal.release.folders import MODEL, staged
from shoal.release.gate import allowed_facts, allowed_in
from shoal.release.manifest import read_replay, recorded_pseudonyms
from shoal.release.on_engine.anonymize import EngineMade, anonymize_relation, class_sizes
from shoal.release.on_engine.cells import Plan, check_recipe
from shoal.release.on_engine.coarsen import check_by_cells, coarsen_by_cells
from shoal.release.on_engine.conform import prepare_relation, with_texts
from shoal.release.on_engine.first_steps import is_first_step, rewritten_on
from shoal.release.on_engine.gate import check_leaving_on, check_written_on
from shoal.release.on_engine.generalize import generalize_relation
from shoal.release.on_engine.named_people import check_people
from shoal.release.on_engine.preset import held_to_preset
from shoal.release.on_engine.pseudonyms import under_pseudonyms_on
from shoal.release.on_engine.registering import EngineEntering, nobodys_entry
from shoal.release.on_engine.synthesize import check_synthesis, synthesize_relation
from shoal.release.on_engine.write import EngineRun, FilesRelease, Origin, Stamp, write_evidence
from shoal.release.on_engine.written_table import check_written, in_order
from shoal.release.preset_rules import MEASURED, preset_for, read_preset
from shoal.release.pseudonyms import check_pseudonyms
from shoal.release.registering import Entry
from shoal.release.treated import treated_columns
from shoal.report.decision import Decision
from shoal.rng import branch_key
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.compliance.presets import Preset
    from shoal.pseudonym import ProjectKey, Pseudonyms
    from shoal.register.register import Register

__all__ = ["check_on", "made_on", "release_files", "repeat_files", "written"]


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
    pseudonyms: Pseudonyms | None = None,
    format: str | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    stamp: Stamp | None = None,
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
        Columns that a person has looked at and that stay, although they seem to name people; any other is refused.
    register
        The register that the release is held against and entered in.
    pseudonyms
        Key, scope and format of the pseudonyms that the schema wants.
    format
        Of the written files: ``"parquet"``, if left out, or ``"csv"``.
    preset, accept
        Rules that only count, by name or as they are, and whether to release although one of them fails.
    stamp
        Day and keys of a run that is repeated.
    """
    check_on(recipe, schema, pseudonyms, format, preset)
    held: dict[str, Any] = {"preset": preset_for(preset, recipe), "accept": accept}
    run = EngineRun.of(recipe, schema, seed, key, plan, pseudonyms=pseudonyms, format=format, stamp=stamp, **held)
    asked: dict[str, Any] = {"register": register, "account": account, "allow": allow, "progress": progress}
    with staged(target, overwrite=overwrite) as (stage, inside), scanned(engine, inputs) as relation:
        made, entry = made_on(engine, relation, run, inputs, **asked)
        done = written(engine, made, run, inputs, target, stage, inside, progress, entry)
    made.drop_paid_model()
    return done


def check_on(
    recipe: Recipe,
    schema: Schema,
    pseudonyms: Pseudonyms | None = None,
    format: str | None = None,
    preset: str | Preset | None = None,
) -> None:
    """Refuse what an engine can't do, before anything is opened."""
    check_pseudonyms(schema, recipe, pseudonyms, None)
    preset_for(preset, recipe)
    if format not in (None, *PART_FORMATS):
        raise ParameterError("--format", f"must be {' or '.join(PART_FORMATS)} on an engine", got=repr(format)[:40])
    runner_of(recipe)


def made_on(
    engine: Engine,
    relation: Relation,
    run: EngineRun,
    origin: Origin,
    *,
    register: Register | None = None,
    account: Any = None,
    allow: Sequence[str] = (),
    progress: Progress = quiet,
) -> tuple[EngineMade, Entry | None]:
    """What a recipe makes of a relation, with its claims, and what the register will be told."""
    made, entry = _made_on(engine, relation, run, origin, register, account, allow, progress)
    warning = whose_rows_on(engine, relation, run.declared).warning
    return (replace(made, warnings=(warning,)) if warning else made), entry


def _made_on(
    engine: Engine,
    relation: Relation,
    run: EngineRun,
    origin: Origin,
    register: Register | None,
    account: Any,
    allow: Sequence[str],
    progress: Progress,
) -> tuple[EngineMade, Entry | None]:
    given: dict[str, Any] = {"origin": origin, "account": account, "progress": progress}
    task = _Task(engine=engine, relation=relation, schema=run.declared, run=run, **given)
    check_people(engine, relation, run.declared)
    if not run.recipe.is_of_people:
        allowed = allowed_in(run.recipe, run.preset, allow)
        counted, worked = with_persons_on(engine, relation, run.declared)
        made = runner_of(run.recipe)(replace(task, relation=counted, schema=worked))
        check_written_on(engine, relation, made.relation, made.schema, run.recipe, allowed)
        made = replace(made, facts=(*allowed_facts(run.declared, allowed), *made.facts))
        return made, None if register is None else nobodys_entry(register, engine, relation, run.declared)
    if register is None:
        return _of_people(task, allow), None
    progress("looking into the register")
    entering = EngineEntering.of(register, engine, relation, run.declared)
    made = _of_people(replace(task, relation=entering.relation), allow)
    return made, entering.entry(engine, made.relation, made.class_columns, made.schema, run.recipe)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A recipe to be run on a relation."""

    engine: Engine
    relation: Relation
    schema: Schema
    run: EngineRun
    origin: Origin
    account: Any
    progress: Progress


def _of_people(task: _Task, allow: Sequence[str]) -> EngineMade:
    """What a recipe makes of people's rows: under pseudonyms, if they are asked for, and without free text."""
    engine, relation, run = task.engine, task.relation, task.run
    if run.pseudonyms is not None:
        relation = under_pseudonyms_on(engine, relation, run.declared, run.pseudonyms)
    first = _first_steps(run)
    allowed = allowed_in(run.recipe, run.preset, allow)
    check_leaving_on(engine, relation, run.declared, run.recipe, allowed)
    counted, worked = with_persons_on(engine, relation, run.declared)
    now = rewritten_on(engine, counted, worked, first)
    made = runner_of(run.recipe)(replace(task, relation=now.relation, schema=now.schema))
    check_written_on(engine, relation, made.relation, made.schema, run.recipe, allowed)
    by_preset = [MEASURED] if now.relation is not counted and not run.recipe.has_preset_steps else []
    made = replace(made, facts=(*allowed_facts(run.declared, allowed), *now.facts, *by_preset, *made.facts))
    if run.preset is None:
        return made
    n_rows = engine.known(relation, [])[ROWS]
    only = all(map(is_first_step, run.recipe.methods))  # else rows may have been left out
    removed = now.removed if only else now.always
    held: dict[str, Any] = {"accept": run.accept, "n_rows": n_rows, "methods": first, "removed": removed}
    return held_to_preset(engine, made, run.preset, **held)


def _first_steps(run: EngineRun) -> list[Coarsener]:
    """The steps that follow from the different values of each column alone: of the recipe, or of its preset."""
    steps = [step for step in run.recipe.methods if is_first_step(step)]
    more = () if run.preset is None or run.recipe.has_preset_steps else run.preset.first
    return [step for step in (*steps, *more) if isinstance(step, Coarsener)]


@singledispatch
def runner_of(recipe: Recipe) -> Callable[[_Task], EngineMade]:
    """What runs a recipe on an engine; an error where an engine can't."""
    rule = "must be generalize, mondrian or suppress on an engine, alone or after safe-harbor or limited-data-set"
    raise ParameterError("--method", rule, hint="Run in memory.")


@runner_of.register
def _(recipe: Anonymization) -> Callable[[_Task], EngineMade]:
    check_recipe(recipe)
    return partial(_anonymized, recipe=recipe)


def _anonymized(task: _Task, *, recipe: Anonymization) -> EngineMade:
    run = task.run
    return anonymize_relation(
        task.engine, task.relation, task.schema, recipe, run.seed, run.key, run.plan, task.progress
    )


@runner_of.register
def _(recipe: Coarsening) -> Callable[[_Task], EngineMade]:
    first = [is_first_step(method) for method in recipe.methods]
    *_, method = recipe.methods
    if all(first):
        return _as_rewritten
    more = not all(first[:-1])
    if not more and isinstance(method, Generalize):
        return partial(_generalized, method=method)
    if not more and isinstance(method, Mondrian | Suppress):
        check_by_cells(method)
        return partial(_coarsened_by_cells, method=method)
    return runner_of.dispatch(Recipe)(recipe)


def _as_rewritten(task: _Task) -> EngineMade:
    """The rows as the first steps wrote them: nothing is claimed of their classes."""
    task.progress("checking the table")
    prepared = prepare_relation(task.engine, task.relation, task.schema)
    quasi, unit = list(prepared.schema.quasi), prepared.schema.unit
    k, n_classes = class_sizes(task.engine, prepared.relation, quasi, unit)
    rows = with_texts(task.engine, prepared.relation, prepared.schema)
    about: dict[str, Any] = {"class_columns": quasi, "n_groups": n_classes, "k": k}
    return EngineMade(relation=rows, schema=prepared.schema, claims=(), facts=prepared.facts, **about)


def _generalized(task: _Task, *, method: Generalize) -> EngineMade:
    return generalize_relation(task.engine, task.relation, task.schema, method, task.progress)


def _coarsened_by_cells(task: _Task, *, method: Mondrian | Suppress) -> EngineMade:
    run = task.run
    return coarsen_by_cells(task.engine, task.relation, task.schema, method, run.seed, run.key, run.plan, task.progress)


@runner_of.register
def _(recipe: Synthesis) -> Callable[[_Task], EngineMade]:
    check_synthesis(recipe)
    return partial(_synthesized, recipe=recipe)


def _synthesized(task: _Task, *, recipe: Synthesis) -> EngineMade:
    digest, run = task.origin.sha256, task.run
    return synthesize_relation(
        task.engine, task.relation, task.schema, recipe, task.account, digest, run.seed, task.progress
    )


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
    order = branch_key(run.key, "order")
    rows = in_order(engine, made, order, run.format)
    parts = engine.write(rows, stage, run.format)
    progress("verifying")
    check_written(engine, made, rows, order, [stage / part.name for part in parts], run.recipe)
    origin.require_unchanged()
    beside = run.stamp.beside if entry is None else entry.beside
    done = FilesRelease(
        folder=target,
        n_rows=sum(part.rows for part in parts),
        n_classes=made.n_groups,
        k=made.k,
        parts=parts,
        claims=made.claims,
        facts=(*made.facts, *(() if beside is None else beside.facts)),
        recipe=run.recipe,
        beside=beside,
        entry=entry,
        suppression=made.suppression,
        warnings=made.warnings,
        treated=treated_columns(made.facts, run.declared, run.preset),
    )
    if made.model is not None:
        made.model.save(inside / MODEL, internal=True)
    progress("reporting")
    released = [name for name in rows.columns if name != MARK]
    write_evidence(engine, done, stage, inside, made, run, released, origin)
    return done


def repeat_files(
    engine: Engine,
    replay: Path,
    target: Path,
    *,
    input: str | Path | None = None,
    overwrite: bool = False,
    project_key: ProjectKey | None = None,
    decision: Decision | None = None,
    progress: Progress = quiet,
) -> FilesRelease:
    """Repeat a run that an engine made: any engine makes the same files again, byte for byte, words included.

    Parameters
    ----------
    replay, target, input
        The replay file, where to write, and the input files, where they are no longer where they were.
    project_key
        The key of the pseudonyms, where there are some; None: the one in the environment.
    decision
        What was decided when the release was signed.
    """
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
        allow=words.get("allow", ()),
        pseudonyms=recorded_pseudonyms(words, project_key),
        format=words["output"]["file"].rpartition(".")[2],
        preset=read_preset(words.get("preset")),
        accept=True,
        stamp=_recorded(words, decision),
        progress=progress,
    )


def _recorded(words: Mapping[str, Any], decision: Decision | None) -> Stamp:
    beside = Beside.from_dict(words["register"]) if "register" in words else None
    return Stamp(created=words["created"], key=words["key"], decision=decision, beside=beside)
