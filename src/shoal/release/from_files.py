"""A release made by an engine: from files that need not fit in memory to a folder of Parquet with one manifest.

`Generalize` chooses its levels from the distinct combinations of quasi-identifiers with their counts, which is all that
comes to the driver; where a unit column is named, persons are counted by the sets of combinations they have, since
persons don't add over combinations. The levels are then applied to the rows where they are, the rows are written in an
order that follows from what they hold, and the written files are counted again: every class must have the rows that it
had before, and at least k persons.

Files are written to a stage folder, the manifest last; the folder takes its name in one step, or nothing is left.
What is claimed is what `shoal.coarsen` claims of the same table, but for what attacks measure: none is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
import tomli_w

from shoal.canonical import canonical, plain
from shoal.claim import Claim
from shoal.coarsening import Generalize, Mondrian
from shoal.coarsening.coarsener import Coarsened
from shoal.coarsening.nodes import Counted
from shoal.conform import Prepared, as_written, check_columns, prepare, unit_rule
from shoal.engine import GROUPED, PERSON, PERSONS, ROWS, Engine, Inputs, Part, Relation
from shoal.errors import ColumnError, GuaranteeError, InputError, SchemaError
from shoal.fact import Fact, sentences
from shoal.files import write_text
from shoal.frame import enter, series
from shoal.recipe import Anonymization, Coarsening, Progress, Recipe, quiet, read_recipe
from shoal.recipe.rules import refuse_rules
from shoal.release.by_engine import EngineMade, anonymize_relation, check_written, largest_share
from shoal.release.cells import CELL, GROUP, Plan, check_recipe
from shoal.release.engine_registering import EngineEntering
from shoal.release.engine_texts import check_texts_on
from shoal.release.folders import MANIFEST, PARTS, REPLAY, staged
from shoal.release.manifest import FORMAT, commitment, read_replay, versions
from shoal.release.mondrian_cells import mondrian_relation
from shoal.release.preset_rules import shown
from shoal.release.promises import class_claims
from shoal.release.registering import Entry
from shoal.release.release import checked_seed
from shoal.release.write import manifest_text
from shoal.risk.class_sizes import require_plain
from shoal.rng import branch_key, fresh_key
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from shoal.register.beside import Beside
    from shoal.register.register import Register

__all__ = [
    "EngineRun",
    "FilesRelease",
    "Origin",
    "anonymize_files",
    "coarsen_files",
    "mondrian_files",
    "repeat_files",
    "written",
]

_MOST_COMBINATIONS = 30_000_000  # on the driver
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
    def unmeasured(self) -> str:
        """What was not measured, in words."""
        attacked = any(claim.basis == "measured" for claim in self.claims)
        return "utility" if attacked else "attacks and utility"


def coarsen_files(
    engine: Engine,
    inputs: Inputs,
    schema: Schema,
    method: Generalize,
    target: Path,
    *,
    overwrite: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    progress: Progress = quiet,
) -> FilesRelease:
    """Coarsen the table that `inputs` hold and write it to `target`, or raise and leave everything as it was."""
    recipe = Coarsening.of(method)
    if schema.pseudonym:
        raise SchemaError(
            f"column '{next(iter(schema.pseudonym))}'",
            "can't be published as a pseudonym from files on an engine",
            hint="Take pseudonym out of the schema, or run in memory.",
        )
    with staged(target, overwrite=overwrite) as (stage, inside):
        progress("checking the table")
        relation = engine.scan(inputs)
        settled = _checked(engine, relation, schema)
        check_texts_on(engine, relation, shown(schema, recipe), allow)
        entering = _entering(register, engine, relation, schema, progress)
        relation = relation if entering is None else entering.relation
        progress("coarsening")
        items = _items(engine, relation, settled)
        done = method.apply_counted(items.prepared, items.counted)
        coded = _coded(engine, relation, settled, items, done)
        entry = None if entering is None else entering.entry(engine, coded, settled.quasi, settled, recipe)
        progress("writing")
        key = fresh_key()
        released = [name for name in coded.columns if name in schema.released]
        parts = engine.write(engine.select(coded, released), stage, key)
        progress("verifying")
        classes = _verified(engine, coded, settled, [stage / part.name for part in parts], method.k)
        inputs.require_unchanged()
        made = FilesRelease(
            folder=target,
            n_rows=sum(part.rows for part in parts),
            n_classes=len(classes),
            k=int(classes[PERSONS].min()),  # type: ignore[arg-type]
            parts=parts,
            claims=class_claims(recipe, settled, largest_share(engine, coded, settled.quasi, settled.unit)),
            facts=(*items.prepared.facts, *([unit_rule(schema.unit)] if schema.unit else []), *done.facts),
            recipe=recipe,
            entry=entry,
        )
        _write_words(made, stage, inside, settled, schema, released, inputs, {"pairing": key}, measured=False)
    return made


def anonymize_files(
    engine: Engine,
    inputs: Inputs,
    schema: Schema,
    recipe: Anonymization,
    target: Path,
    *,
    seed: int | None = None,
    key: str | None = None,
    plan: Plan | None = None,
    overwrite: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    progress: Progress = quiet,
) -> FilesRelease:
    """Group and mask the table that `inputs` hold, cell by cell, and write it to `target`, or leave all as it was.

    Parameters
    ----------
    seed, key
        The same seed, key and plan make the same files again; leave the key out whenever you publish.
    plan
        How large cells are.
    allow
        Columns of free text that a person has looked at and that stay; any other is refused.
    register
        The register that the release is held against and entered in.
    """
    check_recipe(recipe)
    number, secret, sizes = checked_seed(seed), key or fresh_key(), plan or Plan()
    with staged(target, overwrite=overwrite) as (stage, inside):
        relation = engine.scan(inputs)
        check_texts_on(engine, relation, shown(schema, recipe), allow)
        entering = _entering(register, engine, relation, schema, progress)
        relation = relation if entering is None else entering.relation
        made = anonymize_relation(engine, relation, schema, recipe, number, secret, sizes, progress)
        entry = None if entering is None else entering.entry(engine, made.relation, [CELL, GROUP], made.schema, recipe)
        run = EngineRun(recipe=recipe, declared=schema, seed=number, key=secret, plan=sizes)
        return written(engine, made, run, inputs, target, stage, inside, progress, entry)


def mondrian_files(
    engine: Engine,
    inputs: Inputs,
    schema: Schema,
    method: Mondrian,
    target: Path,
    *,
    seed: int | None = None,
    key: str | None = None,
    plan: Plan | None = None,
    overwrite: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    progress: Progress = quiet,
) -> FilesRelease:
    """Cut the table that `inputs` hold into boxes, cell by cell, and write it to `target`; as `anonymize_files`."""
    number, secret, sizes = checked_seed(seed), key or fresh_key(), plan or Plan()
    with staged(target, overwrite=overwrite) as (stage, inside):
        relation, recipe = engine.scan(inputs), Coarsening.of(method)
        check_texts_on(engine, relation, shown(schema, recipe), allow)
        entering = _entering(register, engine, relation, schema, progress)
        relation = relation if entering is None else entering.relation
        made = mondrian_relation(engine, relation, schema, method, number, secret, sizes, progress)
        entry = (
            None if entering is None else entering.entry(engine, made.relation, made.schema.quasi, made.schema, recipe)
        )
        run = EngineRun(recipe=recipe, declared=schema, seed=number, key=secret, plan=sizes)
        return written(engine, made, run, inputs, target, stage, inside, progress, entry)


def _entering(
    register: Register | None, engine: Engine, relation: Relation, schema: Schema, progress: Progress
) -> EngineEntering | None:
    """The rows as the register sees them; None where nobody asks it."""
    if register is None:
        return None
    progress("looking into the register")
    return EngineEntering.of(register, engine, relation, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """What a run cell by cell depends on besides its rows."""

    recipe: Recipe
    declared: Schema
    seed: int
    key: str = field(repr=False)
    plan: Plan


class Origin(Protocol):
    """Where the rows came from: files, or a relation that somebody else holds."""

    @property
    def path(self) -> str:
        """What was named."""

    def sha256(self) -> str:
        """A digest of all of it."""

    def require_unchanged(self) -> None:
        """Raise if it was changed since."""


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
        facts=made.facts,
        recipe=run.recipe,
        entry=entry,
    )
    repeats = {"seed": run.seed, "pairing": run.key, "cells": run.plan.to_dict()}
    measured = any(claim.basis == "measured" for claim in made.claims)
    _write_words(done, stage, inside, made.schema, run.declared, released, origin, repeats, measured=measured)
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
    """Repeat a run that an engine made cell by cell: any engine makes the same files again, byte for byte."""
    words = read_replay(replay)
    recipe = read_recipe(words["recipe"])
    if "cells" not in words:
        raise InputError("replay", "must be of a run that an engine made cell by cell", hint="Run it in memory.")
    inputs = Inputs.of(input or words["input"]["path"])
    if inputs.sha256() != words["input"]["sha256"]:
        raise InputError("replay", "needs the exact input files of the release", got="files with another SHA-256")
    given: dict[str, Any] = {"seed": words["seed"], "key": words["pairing"], "plan": Plan(**words["cells"])}
    schema = Schema.from_dict(words["schema"])
    given |= {"overwrite": overwrite, "allow": [column.name for column in schema.columns], "progress": progress}
    if isinstance(recipe, Anonymization):
        return anonymize_files(engine, inputs, schema, recipe, target, **given)
    return mondrian_files(engine, inputs, schema, recipe.methods[-1], target, **given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """The distinct combinations as they came, as they are worked on, and what they stand for."""

    raw: pl.DataFrame
    prepared: Prepared
    counted: Counted


def _checked(engine: Engine, relation: Relation, schema: Schema) -> Schema:
    """The schema with all kinds settled; what an engine can't treat as memory does is refused."""
    require_plain(schema)
    refuse_rules(schema)
    check_columns(enter(pl.DataFrame(schema=dict(relation.types))), schema)
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier to coarsen")
    for column in schema.columns:
        by_rule = column.missing not in ("error", "level") and column.role in ("sensitive", "weight")
        if by_rule or (column.missing == "median" and column.role == "quasi"):
            raise ColumnError(
                column.name,
                "has a rule for missing numbers that needs the table in memory",
                hint='Fill them in the files, or use missing = "drop" or a number, which quasi-identifiers may have.',
            )
    others = [column for column in schema.columns if column.role in ("sensitive", "weight")]
    return schema.with_columns(_probed(engine, relation, column) for column in others)


def _probed(engine: Engine, relation: Relation, column: Column) -> Column:
    """Hold a column to its entry, by its extremes where it holds numbers and by its distinct values elsewhere."""
    name, dtype = column.name, relation.types[column.name]
    if dtype.is_numeric() and column.levels is None:
        values = engine.extremes(relation, [name])
    else:
        values = engine.collect(engine.select(engine.count(relation, [name]), [name]))
    checked = prepare(values, Schema((column,)))
    if not series(checked.frame, name).equals(values[name]):
        raise ColumnError(name, "must have its levels as the schema spells them", hint="Correct either.")
    return checked.schema[name]


def _items(engine: Engine, relation: Relation, schema: Schema) -> _Items:
    names = list(schema.quasi)
    n = engine.collect(engine.aggregate(engine.count(relation, names), [], []))[GROUPED][0]
    if n > _MOST_COMBINATIONS:
        raise InputError(
            "table",
            f"must have at most {_MOST_COMBINATIONS:,} distinct combinations of quasi-identifiers",
            got=f"{n:,}",
            hint="Recode some columns first: round numbers, shorten codes.",
        )
    if schema.unit is None:
        raw, sets = engine.collect(engine.count(relation, names)), None
    else:
        raw, sets = engine.person_sets(relation, names, schema.unit)
    prepared = canonical(_prepared(raw.select(names), schema))
    rows = raw[ROWS].to_numpy()[prepared.rows]
    return _Items(raw=raw.select(names), prepared=prepared, counted=_counted(rows, sets, prepared.rows, len(raw)))


def _prepared(raw: pl.DataFrame, schema: Schema) -> Prepared:
    """Hold the combinations to the schema; numbers in an error would count combinations, not records."""
    try:
        return prepare(raw, Schema(tuple(schema[name] for name in schema.quasi)))
    except ColumnError as error:
        raise ColumnError(error.column, error.rule, hint=error.hint) from None


def _counted(rows: Any, sets: pl.DataFrame | None, kept: Any, n: int) -> Counted:
    """What each prepared item stands for; combinations that were dropped are nobody's."""
    if sets is None:
        return Counted(rows=rows)
    place = np.full(n, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    pairs = sets.with_row_index("group").explode("set")
    item = place[pairs["set"].to_numpy()]
    there = item >= 0
    group, persons = (pairs[name].to_numpy().astype(np.int64)[there] for name in ("group", PERSONS))
    return Counted(rows=rows, item=item[there], group=group, persons=persons)


def _coded(engine: Engine, relation: Relation, schema: Schema, items: _Items, done: Coarsened) -> Relation:
    """The rows that are kept, with their quasi-identifiers as they are written, and the unit."""
    if not done.kept.any():
        raise GuaranteeError("Generalize", "would leave no record", hint="Lower k or the suppression.")
    released = [name for name in relation.columns if name in schema.released or name in (schema.unit, *PERSON)]
    own = np.flatnonzero(done.kept)
    raw = items.raw[items.prepared.rows[own]]
    maps, shown = {}, as_written(items.prepared.frame, items.prepared.schema)
    for name in schema.quasi:
        now = done.columns[name] if name in done.columns else series(shown, name)
        table = pl.DataFrame({"from": raw[name], "to": plain(now.gather(own))}).unique()
        if not table["from"].equals(table["to"]):
            maps[name] = table
    left_out = np.setdiff1d(np.arange(len(items.raw)), items.prepared.rows[own])
    chosen = engine.recode(engine.select(relation, released), maps, items.raw[left_out])
    return engine.narrow(engine.keep(chosen), [name for name in released if name not in schema.quasi])


def _verified(engine: Engine, coded: Relation, schema: Schema, files: Sequence[Path], k: int) -> pl.DataFrame:
    """Count the written files again; the rows of every class must be those of before, its persons at least k."""
    names = list(schema.quasi)
    before = engine.collect(engine.count(coded, names, schema.unit)).sort(names)
    written = Inputs.listed("written table", files)
    after = engine.collect(engine.count(engine.scan(written), names)).sort(names)
    engine.forget(written)
    if not before.select([*names, ROWS]).equals(after.select([*names, ROWS])):
        raise GuaranteeError("written table", "must hold exactly the released rows", hint="Nothing was released.")
    if int(before[PERSONS].min()) < k:  # type: ignore[arg-type]
        raise GuaranteeError("written table", f"must be {k}-anonymous", hint="Nothing was released.")
    return before


def _write_words(
    made: FilesRelease,
    stage: Path,
    inside: Path,
    schema: Schema,
    declared: Schema,
    released: Sequence[str],
    origin: Origin,
    repeats: Mapping[str, Any],
    *,
    measured: bool,
) -> None:
    """The replay file inside, then, last of all, the manifest: without it the folder is no release."""
    digest, created, secret = origin.sha256(), datetime.now(UTC).date().isoformat(), fresh_key()
    files = {part.name: part.sha256 for part in made.parts}
    output = {
        "file": PARTS,
        "rows": made.n_rows,
        "columns": list(released),
        "sha256": Inputs.listed("written table", [stage / name for name in files]).sha256(),
    }
    replay = {
        "format": FORMAT,
        "created": created,
        **repeats,
        "key": secret,
        "input": {"path": origin.path, "sha256": digest},
        "output": {"file": PARTS, "sha256": output["sha256"]},
        "recipe": made.recipe.to_dict(),
        "schema": declared.to_dict(),
        "versions": versions(),
    }
    if made.beside is not None:
        replay["register"] = {name: value for name, value in made.beside.to_dict().items() if value is not None}
    write_text(inside / REPLAY, "# Internal: never publish it.\n" + tomli_w.dumps(replay))
    words = {
        "format": FORMAT,
        "created": created,
        "recipe": made.recipe.to_dict(),
        "columns": {c.name: {"role": c.role, "kind": c.kind} for c in schema.columns if c.name in released},
        "removed": [c.name for c in schema.columns if c.name not in released],
        "schema": {"sha256": declared.fingerprint()},
        "input": {
            "commitment": commitment(digest, secret),
            "method": "HMAC-SHA-256 of the input's SHA-256, under the key in the replay file, which stays inside",
        },
        "output": output,
        "claims": [claim.to_dict() for claim in made.claims],
        "measures": _ON_A_SAMPLE if measured else _NOT_MEASURED,
        "notes": list(sentences((*made.facts, *(made.beside.facts if made.beside else ())), outside=True)),
        **({} if made.beside is None else {"register": made.beside.outside()}),
        "versions": versions(),
        "files": files,
    }
    write_text(stage / MANIFEST, manifest_text(words))
    if made.entry is not None:
        made.entry.enter(stage, made.folder, words, {})
