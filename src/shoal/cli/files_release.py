"""`shoal anonymize` and `shoal coarsen` on an engine: from files of any size to a folder of Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.cli.console import out as screen
from shoal.cli.console import print_claims, steps
from shoal.cli.options import EngineOptions
from shoal.cli.summary import places, registered
from shoal.coarsening import Generalize, Mondrian
from shoal.engine import Inputs
from shoal.errors import ParameterError
from shoal.recipe import Anonymization
from shoal.release.folders import check_target, inside_of, place
from shoal.release.from_files import FilesRelease, anonymize_files, coarsen_files, mondrian_files, repeat_files
from shoal.schema import Schema

__all__ = ["anonymize_lake", "coarsen_lake", "repeat_lake"]


def anonymize_lake(
    path: Path, schema: Schema, recipe: Anonymization, target: Path, engine: EngineOptions, **given: Any
) -> None:
    """Anonymize the table that `path` names, write it to `target` and print what was released."""
    inputs = _inputs(path, target, given.pop("delimiter"), overwrite=given["overwrite"])
    with steps() as step, engine.open() as opened:
        made = anonymize_files(opened, inputs, schema, recipe, target, **given, progress=step)
    _tell(made, f"Counted over all rows: {made.n_classes:,} groups, smallest {made.k}.")


def repeat_lake(replay: Path, path: Path | None, target: Path, engine: EngineOptions, *, overwrite: bool) -> None:
    """Repeat the run that a replay file records and print what was released."""
    with steps() as step, engine.open() as opened:
        made = repeat_files(opened, replay, target, input=path, overwrite=overwrite, progress=step)
    _tell(made, f"Counted over all rows: {made.n_classes:,} groups, smallest {made.k}.")


def coarsen_lake(
    path: Path,
    schema: Schema,
    method: Any,
    target: Path,
    engine: EngineOptions,
    *,
    delimiter: str | None,
    overwrite: bool,
    allow: Sequence[str] = (),
    register: Any = None,
) -> None:
    """Coarsen the table that `path` names, write it to `target` and print what was released."""
    if not isinstance(method, Generalize | Mondrian):
        raise ParameterError("--method", f"must be generalize or mondrian with --engine {engine.engine}")
    inputs = _inputs(path, target, delimiter, overwrite=overwrite)
    with steps() as step, engine.open() as opened:
        given: dict[str, Any] = {"overwrite": overwrite, "allow": allow, "register": register, "progress": step}
        if isinstance(method, Generalize):
            made = coarsen_files(opened, inputs, schema, method, target, **given)
        else:
            made = mondrian_files(opened, inputs, schema, method, target, **given)
    _tell(made, f"Counted on the written files: {made.n_classes:,} classes, smallest {made.k}.")


def _inputs(path: Path, target: Path, delimiter: str | None, *, overwrite: bool) -> Inputs:
    check_target(target, overwrite=overwrite)
    inputs = Inputs.of(path, delimiter=delimiter)
    _check_apart(inputs, target)
    return inputs


def _check_apart(inputs: Inputs, target: Path) -> None:
    folders = (place(target), inside_of(target))
    if any(folder in file.resolve().parents for folder in folders for file in inputs.files):
        raise ParameterError("--out", "must not be a folder around the input", hint="Name another folder.")


def _tell(made: FilesRelease, counted: str) -> None:
    files = f"{len(made.parts)} file{'s' if len(made.parts) > 1 else ''}"
    screen.print(f"[bold]{made.n_rows:,} rows released[/] in {files} by {made.recipe}")
    for fact in made.facts:
        screen.print(f"  {fact}", markup=False, style="dim")
    print_claims(made.claims)
    screen.print(counted, markup=False)
    screen.print(f"Not measured: {made.unmeasured}; run on a sample in memory (--sample) to see more.", markup=False)
    for line in (*registered(made), *places(made.folder)):
        screen.print(line, markup=False, soft_wrap=True)
