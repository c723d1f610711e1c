"""The words of an engine's release: replay file and report, then, last of all, the manifest.

With the day, the key of the commitment, the decision and what the register found (`Stamp`), the same release gives the
same words, byte for byte; so whoever has the inside files can make them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import tomli_w

from shoal.claim import Claim
from shoal.engine import Engine, Inputs, Part, scanned
from shoal.fact import Fact, sentences
from shoal.files import sha256, write_text
from shoal.recipe import Recipe
from shoal.release.folders import MANIFEST, REPLAY, REPORT, parts_pattern
from shoal.release.manifest import (
    FORMAT,
    allowed_columns,
    column_words,
    commitment,
    held_allowed,
    held_preset,
    versions,
)
from shoal.release.on_engine.anonymize import EngineMade
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.report import aggregates_of
from shoal.release.preset_rules import preset_words
from shoal.release.registering import Entry
from shoal.release.release import checked_seed
from shoal.release.write import manifest_text, write_suppression
from shoal.report.decision import Decision, with_decision
from shoal.report.engine_page import render_aggregates
from shoal.rng import fresh_key
from shoal.schema import Schema
from shoal.utility.suppressed import SuppressionLoss

if TYPE_CHECKING:
    from shoal.compliance.presets import Preset
    from shoal.pseudonym import Pseudonyms
    from shoal.register.beside_earlier import Beside

__all__ = ["EngineRun", "FilesRelease", "Origin", "Stamp", "write_evidence"]

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
    beside: Beside | None = None
    """What it gives away beside earlier releases of the same people, where a register was given."""
    entry: Entry | None = field(default=None, repr=False)
    suppression: SuppressionLoss | None = None
    """What was left out or blanked, by level; for inside only."""
    warnings: tuple[str, ...] = ()
    """What must be said first. About the whole table: internal."""
    treated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns that a preset removed or rewrote and those that a person allowed; for inside only."""

    @property
    def attacked(self) -> bool:
        """Whether an attack was measured."""
        return any(claim.basis == "measured" for claim in self.claims)

    @property
    def unmeasured(self) -> str:
        """What was not measured, in words."""
        return "utility" if self.attacked else "attacks and utility"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the words of a release depend on besides the release.

    Parameters
    ----------
    created, key
        The day, and the secret key of the commitment to the input.
    decision, beside
        Of a run that is repeated: what was decided when it was signed, and what the register had found.
    """

    created: str
    key: str = field(repr=False)
    decision: Decision | None = None
    beside: Beside | None = None

    @classmethod
    def fresh(cls) -> Stamp:
        """Today, and a new key."""
        return cls(created=datetime.now(UTC).date().isoformat(), key=fresh_key())


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """What a run on an engine depends on besides its rows, and what is written of it.

    Parameters
    ----------
    recipe, declared
        What is done, and the roles of the columns.
    seed, key, plan
        The same ones make the same rows again.
    pseudonyms
        Key, scope and format of the pseudonyms that the schema wants.
    format
        Of the written files: ``"parquet"`` or ``"csv"``.
    preset, accept
        Rules that the release is held to, and whether it may fail them.
    """

    recipe: Recipe
    declared: Schema
    seed: int
    key: str = field(repr=False)
    plan: Plan
    pseudonyms: Pseudonyms | None = None
    format: str = "parquet"
    preset: Preset | None = None
    accept: bool = False
    stamp: Stamp = field(default_factory=Stamp.fresh)

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        schema: Schema,
        seed: int | None,
        key: str | None = None,
        plan: Plan | None = None,
        **given: Any,
    ) -> EngineRun:
        """With what was left out drawn in secret."""
        number, secret = checked_seed(seed), fresh_key() if key is None else key
        given = {name: value for name, value in given.items() if value is not None}
        return cls(recipe=recipe, declared=schema, seed=number, key=secret, plan=plan or Plan(), **given)

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


def write_evidence(
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
    digest, files = origin.sha256(), {part.name: part.sha256 for part in done.parts}
    output = {
        "file": parts_pattern(run.format),
        "rows": done.n_rows,
        "columns": list(released),
        "sha256": Inputs.listed("written table", [stage / name for name in files]).sha256(),
    }
    write_text(inside / REPLAY, _replay_text(done, run, origin, digest, output))
    committed = commitment(digest, run.stamp.key)
    hashes = {"released table, SHA-256": str(output["sha256"]), "input, keyed hash": committed}
    _write_report(engine, done, stage, inside, made, run.stamp, hashes)
    words = {
        "format": FORMAT,
        "created": run.stamp.created,
        "recipe": done.recipe.to_dict(),
        "columns": {c.name: column_words(c) for c in made.schema.columns if c.name in released},
        "removed": [c.name for c in made.schema.declared if c.name not in released],
        "schema": {"sha256": run.declared.fingerprint()},
        "input": {
            "commitment": committed,
            "method": "HMAC-SHA-256 of the input's SHA-256, under the key in the replay file, which stays inside",
        },
        "output": output,
        **held_preset(run.preset, run.recipe, done.facts),
        "claims": [claim.to_dict() for claim in done.claims],
        "measures": _ON_A_SAMPLE if done.attacked else _NOT_MEASURED,
        **held_allowed(done.facts),
        "notes": list(sentences(done.facts, outside=True)),
        **({} if made.spending is None else {"account": made.spending.to_dict()}),
        **({} if run.pseudonyms is None else {"pseudonyms": run.pseudonyms.to_dict()}),
        **({} if done.beside is None else {"register": done.beside.outside()}),
        "versions": versions(),
        "files": files | {REPORT: sha256(stage / REPORT)},
        **({} if run.stamp.decision is None else {"decision": run.stamp.decision.to_dict()}),
    }
    write_text(stage / MANIFEST, manifest_text(words))
    if done.entry is not None:
        done.entry.enter(stage, done.folder, words, {})


def _replay_text(done: FilesRelease, run: EngineRun, origin: Origin, digest: str, output: Mapping[str, Any]) -> str:
    replay = {
        "format": FORMAT,
        "created": run.stamp.created,
        **run.repeats,
        "key": run.stamp.key,
        "input": {"path": origin.path, "sha256": digest},
        "output": {"file": output["file"], "sha256": output["sha256"]},
        "recipe": done.recipe.to_dict(),
        "schema": run.declared.to_dict(),
        "versions": versions(),
    }
    if run.pseudonyms is not None:
        replay["pseudonyms"] = run.pseudonyms.to_dict()
    if run.preset is not None:
        replay["preset"] = preset_words(run.preset, run.recipe)
    if done.beside is not None:
        replay["register"] = {name: value for name, value in done.beside.to_dict().items() if value is not None}
    if found := allowed_columns(done.facts):
        replay["allow"] = found
    return "# Internal: never publish it.\n" + tomli_w.dumps(replay)


def _write_report(
    engine: Engine,
    done: FilesRelease,
    stage: Path,
    inside: Path,
    made: EngineMade,
    stamp: Stamp,
    hashes: Mapping[str, str],
) -> None:
    """The page for everybody, and the same for inside with what only those who made it may know."""
    files = Inputs.listed("written table", [stage / part.name for part in done.parts])
    about: dict[str, Any] = {"created": stamp.created, "versions": versions(), "hashes": hashes}
    about |= {"n_files": len(done.parts), "unmeasured": done.unmeasured}
    with scanned(engine, files) as rows:
        shown = aggregates_of(engine, rows, made, done.recipe, **about)
    write_text(stage / REPORT, with_decision(render_aggregates(shown, "external"), stamp.decision))
    if done.suppression is not None:
        write_suppression(inside, done.suppression)
    own = replace(shown, notes=sentences(done.facts), suppression=done.suppression)
    write_text(inside / REPORT, render_aggregates(own, "internal"))
