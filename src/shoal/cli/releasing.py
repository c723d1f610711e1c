"""What the commands that write a release share: reading the input, choosing the format, telling the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.cli.reading import Reading
from shoal.errors import ParameterError

__all__ = ["format_of", "open_input", "required", "tell"]


def required(value: Path | None, name: str, command: str) -> Path:
    """The value of an argument that can't be left out."""
    if value is None:
        raise ParameterError(command, f"{name} must be given", hint=f"See: shoal {command} --help.")
    return value


def open_input(
    file: Path | None,
    schema: Path | None,
    target: Path,
    overwrite: bool,
    reading: Reading,
    step: Any,
    command: str,
) -> tuple[Any, Any]:
    """The input and its schema; a target in use is refused before any work is done."""
    from shoal.release.staging import check_target
    from shoal.schema import Schema

    rules = Schema.read(required(schema, "--schema FILE", command))
    if file is not None and file.resolve() == target.resolve():
        raise ParameterError("--out", "must not be the input file", hint="Name a new folder.")
    check_target(target, overwrite=overwrite)
    step("reading")
    return reading.source(file, command, rules), rules


def format_of(release: Any, replay: Path | None = None) -> str:
    """The ending of the released table: as it was before, or as the input's."""
    from shoal.release.layout import FORMATS
    from shoal.release.replay import read_replay

    if replay is not None:
        return Path(read_replay(replay)["output"]["file"]).suffix[1:]
    source = release.source.format
    return source if source in FORMATS else "csv"


def tell(release: Any, target: Path) -> None:
    """Print what was released, what is promised, what was measured, and where it lies."""
    from shoal.cli.console import out as screen
    from shoal.cli.console import print_claims
    from shoal.release.layout import inside_of

    screen.print(f"[bold]{len(release.source_rows):,} rows released[/] by {release.recipe}")
    for note in release.notes:
        screen.print(f"  {note}", markup=False, style="dim")
    print_claims(release.claims)
    screen.print("[bold]Measured[/]")
    for line in (*release.risk_lines, *release.utility_lines):
        screen.print(f"  {line.name:<58}{line.value}")
    screen.print(f"Table, report and manifest: {target}", markup=False)
    screen.print(f"Keep inside: {inside_of(target)}", markup=False)
