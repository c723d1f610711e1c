"""`shoal coarsen --engine duckdb`: from files of any size to a folder of Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.cli.console import out as screen
from shoal.cli.console import print_claims, steps
from shoal.cli.releasing import tell_where
from shoal.coarsening import Generalize
from shoal.engine import Inputs, open_engine
from shoal.errors import ParameterError
from shoal.release.from_files import FilesRelease, coarsen_files
from shoal.release.layout import inside_of, place
from shoal.release.staging import check_target
from shoal.schema import Schema

__all__ = ["release_files"]


def release_files(
    path: Path,
    schema: Schema,
    method: Any,
    target: Path,
    *,
    engine: str,
    memory: str | None,
    spill: Path | None,
    delimiter: str | None,
    overwrite: bool,
) -> None:
    """Coarsen the table that `path` names, write it to `target` and print what was released."""
    if not isinstance(method, Generalize):
        raise ParameterError("--method", f"must be generalize with --engine {engine}", hint="Add --method generalize.")
    check_target(target, overwrite=overwrite)
    inputs = Inputs.of(path, delimiter=delimiter)
    _check_apart(inputs, target)
    with steps() as step, open_engine(engine, memory=memory, spill=spill) as opened:
        made = coarsen_files(opened, inputs, schema, method, target, overwrite=overwrite, progress=step)
    _tell(made)


def _check_apart(inputs: Inputs, target: Path) -> None:
    folders = (place(target), inside_of(target))
    if any(folder in file.resolve().parents for folder in folders for file in inputs.files):
        raise ParameterError("--out", "must not be a folder around the input", hint="Name another folder.")


def _tell(made: FilesRelease) -> None:
    files = f"{len(made.parts)} file{'s' if len(made.parts) > 1 else ''}"
    screen.print(f"[bold]{made.n_rows:,} rows released[/] in {files} by {made.recipe}")
    for fact in made.facts:
        screen.print(f"  {fact}", markup=False, style="dim")
    print_claims(made.claims)
    screen.print(f"Counted on the written files: {made.n_classes:,} classes, smallest {made.k}.", markup=False)
    screen.print("Not measured: attacks and utility; coarsen a sample in memory (--sample) to see them.", markup=False)
    tell_where(made.folder)
