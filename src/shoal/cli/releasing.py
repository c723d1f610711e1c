"""What the commands that write a release share: reading the input, choosing the format, telling the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.cli.compiled import cache_folder, is_warm
from shoal.cli.console import note, print_claims
from shoal.cli.console import out as screen
from shoal.cli.reading import Reading
from shoal.cli.summary import summary
from shoal.errors import ParameterError
from shoal.method import Family, methods
from shoal.params import parameters
from shoal.pseudonym import ENVIRONMENT, ProjectKey, Pseudonyms
from shoal.release.forecast import forecast
from shoal.release.layout import FORMATS, REPORT, inside_of
from shoal.release.replay import read_replay
from shoal.release.staging import check_target
from shoal.sampling import sample_of
from shoal.schema import Schema

__all__ = [
    "FORMAT_HELP",
    "KEY_HELP",
    "SAMPLE",
    "SCOPE_HELP",
    "check_trial",
    "expect",
    "format_of",
    "listed",
    "open_input",
    "pseudonyms_of",
    "required",
    "tell",
    "tell_where",
    "tried",
]

KEY_HELP = f"File with the project key of pseudonyms. [default: ${ENVIRONMENT}]"
SCOPE_HELP = "Project or recipient whose pseudonyms these are: those of two scopes can't be joined."
FORMAT_HELP = "Pseudonyms: hex, uuid, or digits:D."
SAMPLE = "Dry run on a random sample of this many rows (of whole units, if the schema has a unit); writes nothing."


def listed(family: Family, *, with_k: bool = False) -> str:
    """The names of the methods of a family, those of other packages too; `with_k` those alone that see to k."""
    return ", ".join(cls.name for cls in methods(family) if not with_k or _sees_to_k(cls))


def _sees_to_k(cls: type) -> bool:
    return any(parameter.name == "k" and parameter.accepts(2) for parameter in parameters(cls))


def required(value: Path | None, name: str, command: str) -> Path:
    """The value of an argument that can't be left out."""
    if value is None:
        raise ParameterError(command, f"{name} must be given", hint=f"See: shoal {command} --help.")
    return value


def open_input(
    file: Path | None,
    schema: Path | None,
    target: Path | None,
    overwrite: bool,
    reading: Reading,
    step: Any,
    command: str,
) -> tuple[Any, Any]:
    """The input and its schema; a target in use is refused before any work is done. A trial has no target."""
    rules = Schema.read(required(schema, "--schema FILE", command))
    if target is not None and file is not None and file.resolve() == target.resolve():
        raise ParameterError("--out", "must not be the input file", hint="Choose a new folder.")
    if target is not None:
        check_target(target, overwrite=overwrite)
    step("reading")
    return reading.source(file, command, rules), rules


def pseudonyms_of(
    schema: Schema, key: Path | None, scope: str | None, format: str | None, *, as_text: bool = False
) -> Pseudonyms | None:
    """The pseudonyms that the options ask for, or None where the schema wants none and no option does."""
    if not schema.pseudonym and key is None and scope is None and format is None:
        return None
    if scope is None:
        raise ParameterError("--scope", "must name the project or recipient whose pseudonyms these are")
    return Pseudonyms(key=ProjectKey.find(key), scope=scope, format=format or "hex", as_text=as_text)


def check_trial(sample: int | None, out: Path | None, command: str) -> Path | None:
    """The folder to write to: one must be named, but for a trial on a sample, which writes nothing."""
    if sample is None:
        return required(out, "--out FOLDER", command)
    if out is not None:
        raise ParameterError(
            "--sample",
            "is a dry run and writes nothing: a release of a sample could be mistaken for one of the whole table",
            hint="Omit --out or --sample.",
        )
    return None


def tried(source: Any, schema: Any, sample: int | None, seed: int | None) -> Any:
    """The source, or that of a trial: a random sample of its rows, which is said on the screen."""
    if sample is None:
        return source
    part = replace(source, frame=sample_of(source.frame, schema, sample, seed))
    screen.print(f"[bold]Dry run[/] on a random sample: {len(part.frame):,} of {len(source.frame):,} rows.")
    return part


def expect(step: Any, source: Any, schema: Any, recipe: Any) -> None:
    """Forecast the run, for the bar, and in words where it will be long."""
    if not is_warm(recipe.command):
        note(f"First run on this machine: compiling kernels once, cached in {cache_folder()} (see `shoal warm-up`).")
    step.expect(forecast(len(source.frame), schema, recipe))


def format_of(release: Any, replay: Path | None = None) -> str:
    """The ending of the released table: as it was before, or as the input's."""
    if replay is not None:
        return Path(read_replay(replay)["output"]["file"]).suffix[1:]
    source = release.source.format
    return source if source in FORMATS else "csv"


def tell(release: Any, target: Path | None, *, verbose: bool = False) -> None:
    """Print what was released, what is promised, what was measured, and where it lies; a trial lies nowhere."""
    how = "released" if target is not None else "tried"
    screen.print(f"[bold]{len(release.source_rows):,} rows {how}[/] by {release.recipe}")
    if verbose:
        _tell_all(release)
    else:
        for line in summary(release):
            screen.print(f"  {line}", markup=False)
    tell_where(target)
    if not verbose:
        screen.print("Every assumption and measure: in the report, or here with --verbose.", style="dim")


def _tell_all(release: Any) -> None:
    for said in release.notes:
        screen.print(f"  {said}", markup=False, style="dim")
    print_claims(release.claims)
    screen.print("[bold]Measured[/]")
    for line in (*release.risk_lines, *release.utility_lines):
        screen.print(f"  {line.name:<58}{line.value}")


def tell_where(target: Path | None) -> None:
    """Print where everything lies; of a trial, what its numbers are worth."""
    if target is None:
        screen.print("Nothing was written; claims and numbers refer to the sample. Omit --sample to release.")
        return
    what = "Table, report and manifest" if (target / REPORT).is_file() else "Table and manifest"
    screen.print(f"{what}: {target}", markup=False)
    screen.print(f"Internal, do not release: {inside_of(target)}", markup=False)
