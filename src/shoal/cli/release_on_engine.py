"""`shoal anonymize`, `coarsen` and `synthesize` on an engine: from files of any size to a folder of Parquet or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal import release
from shoal.cli.console import out as screen
from shoal.cli.console import print_claims, steps
from shoal.cli.options import EngineOptions
from shoal.cli.output import answer
from shoal.cli.summary import places, registered, suppressed, treated, written_to
from shoal.engine import Inputs
from shoal.errors import ParameterError
from shoal.fact import sentences
from shoal.recipe import Recipe
from shoal.release.folders import check_target, inside_of, place
from shoal.schema import Schema

__all__ = ["account_place", "release_on_engine", "replay_on_engine"]


def release_on_engine(
    path: Path, schema: Schema, recipe: Recipe, target: Path, engine: EngineOptions, **given: Any
) -> release.FilesRelease:
    """Make the release of the table that `path` names, write it to `target` and print what was released."""
    check_target(target, overwrite=given["overwrite"])
    release.check_on(recipe, schema, given.get("pseudonyms"), given.get("format"), given.get("preset"))
    inputs = Inputs.of(path, delimiter=given.pop("delimiter"))
    _check_apart(inputs, target)
    with steps() as step, engine.open() as opened:
        made = release.release_files(opened, inputs, schema, recipe, target, **given, progress=step)
    _tell(made)
    return made


def replay_on_engine(replay: Path, path: Path | None, target: Path, engine: EngineOptions, **given: Any) -> None:
    """Repeat the run that a replay file records and print what was released."""
    with steps() as step, engine.open() as opened:
        made = release.repeat_files(opened, replay, target, input=path, **given, progress=step)
    _tell(made)


def account_place(path: Path) -> Path:
    """What the account of a table of several files belongs to: the file, or the folder that holds all of them."""
    if path.is_dir():
        return path
    folders = {file.parent for file in Inputs.of(path).files}
    if len(folders) > 1:
        rule = "keeps an account of one file or folder, not of several"
        raise ParameterError("synthesize", rule, hint="Pass --no-account if the budget is accounted for elsewhere.")
    return path if path.is_file() else folders.pop()


def _check_apart(inputs: Inputs, target: Path) -> None:
    folders = (place(target), inside_of(target))
    if any(folder in file.resolve().parents for folder in folders for file in inputs.files):
        raise ParameterError("--out", "must not be a folder around the input", hint="Name another folder.")


def _tell(made: release.FilesRelease) -> None:
    answer(recipe=str(made.recipe), n_rows=made.n_rows, claims=made.claims, notes=sentences(made.facts))
    answer(**({} if made.suppression is None else {"suppression": made.suppression}))
    answer(warnings=made.warnings)
    for text in made.warnings:
        screen.print(f"Warning: {text}", markup=False, style="bold yellow", soft_wrap=True)
    answer(**({"treated": made.treated} if made.treated else {}))
    answer(n_classes=made.n_classes, k=made.k, register=registered(made), **written_to(made.folder))
    files = f"{len(made.parts)} file{'s' if len(made.parts) > 1 else ''}"
    screen.print(f"[bold]{made.n_rows:,} rows released[/] in {files} by {made.recipe}")
    for text in sentences(made.facts):
        screen.print(f"  {text}", markup=False, style="dim")
    for line in treated(made.treated):
        screen.print(line, markup=False, soft_wrap=True)
    for line in suppressed(made.suppression):
        screen.print(line, markup=False, soft_wrap=True)
    print_claims(made.claims)
    if made.n_classes:
        what = "classes" if made.recipe.command == "coarsen" else "groups"
        screen.print(f"Counted over all rows: {made.n_classes:,} {what}, smallest {made.k}.", markup=False)
    screen.print(f"Not measured: {made.unmeasured}; run on a sample in memory (--sample) to see more.", markup=False)
    for line in (*registered(made), *places(made.folder)):
        screen.print(line, markup=False, soft_wrap=True)
