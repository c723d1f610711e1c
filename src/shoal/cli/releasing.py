"""What the commands that write a release share: where it goes, pseudonyms, trials on a sample, and the forecast.

Loops over records are compiled when they are first met. What is compiled is kept beside the package where its folder
can be written to, else in the user's cache folder, or in NUMBA_CACHE_DIR if that is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from shoal.cli.console import note
from shoal.cli.console import out as screen
from shoal.cli.options import Reading, required
from shoal.cli.summary import tell
from shoal.compliance import PRESETS, Preset
from shoal.compliance import preset as preset_of
from shoal.errors import ParameterError
from shoal.pseudonym import ENVIRONMENT, ProjectKey, Pseudonyms
from shoal.recipe import read_method
from shoal.release.compiled import cache_folder, is_warm
from shoal.release.folders import FORMATS, MANIFEST, SIGNATURE, check_target
from shoal.release.forecast import forecast
from shoal.release.manifest import read_replay
from shoal.release.registering import old_ledger, register_of
from shoal.release.withdrawn import entry_of
from shoal.sampling import sample_of
from shoal.schema import LinkedSchema, Schema, read_schema

__all__ = [
    "Destination",
    "Events",
    "PresetOptions",
    "PseudonymOptions",
    "RegisterOptions",
    "TrialOptions",
    "cache_folder",
    "expect",
    "is_warm",
    "open_input",
    "read_events",
    "tried",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the release is written, and how much is said about it."""

    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the release; must not exist yet.")] = None
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Output format: csv, tsv, parquet, dta, sav, xpt.")
    ] = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release in that folder.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every assumption and every measure.")] = False

    def write(self, release: Any, step: Any, replay: Path | None = None) -> None:
        """Write the release in the format asked for, or as its input was; measure a trial, which writes nothing."""
        if self.out is None:
            release.measure(progress=step)
        else:
            ending = self.format or _format_of(release, replay)
            release.write(self.out, format=ending, overwrite=self.overwrite, progress=step)

    def tell(self, release: Any, account: Any = None) -> None:
        """Print what was released."""
        tell(release, self.out, verbose=self.verbose, account=account)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions(Destination):
    """A destination, or none: a trial on a sample writes nothing."""

    sample: Annotated[
        int | None,
        typer.Option(
            help="Dry run on a random sample of this many rows (of whole units, if the schema has a unit); "
            "writes nothing and charges no account."
        ),
    ] = None

    def check(self, command: str) -> None:
        """A folder must be named, but for a trial."""
        if self.out == Path("-"):
            hint = "`shoal export FOLDER` writes the table of a release to standard output."
            raise ParameterError("--out", "must be a folder, as a release is a table with its evidence", hint=hint)
        if self.sample is None:
            required(self.out, "--out FOLDER", command)
        elif self.out is not None:
            raise ParameterError(
                "--sample",
                "is a dry run and writes nothing: a release of a sample could be mistaken for one of the whole table",
                hint="Omit --out or --sample.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetOptions:
    """The preset of rules that a release is held to."""

    preset: Annotated[
        str | None, typer.Option(help=f"Preset of rules that the release is held to: {', '.join(PRESETS)}.")
    ] = None
    year: Annotated[
        int | None,
        typer.Option(help="Year of the data (safe-harbor): years of birth that show an age over 89 are pooled."),
    ] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Keep a column that merely looks like an identifier or free text. Repeatable."),
    ] = None
    accept: Annotated[bool, typer.Option("--accept", help="Release even if a check of the preset fails.")] = False

    def of(self) -> Preset | None:
        """The preset that the options ask for."""
        if self.preset is None:
            if self.year is not None:
                raise ParameterError("--year", "belongs to a preset", hint="Add --preset safe-harbor.")
            return None
        return preset_of(self.preset).asked(allow=tuple(self.allow or ()), year=self.year)

    @property
    def least(self) -> int:
        """The smallest k that the preset asks for."""
        return 1 if self.preset is None else preset_of(self.preset).k

    @property
    def held(self) -> dict[str, Any]:
        """What the runner is told."""
        return {"preset": self.of(), "accept": self.accept, "allow": tuple(self.allow or ())}


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymOptions:
    """The keyed pseudonyms of identifiers that stay."""

    pseudonym_key: Annotated[
        Path | None, typer.Option(help=f"File with the project key of pseudonyms. [default: ${ENVIRONMENT}]")
    ] = None
    scope: Annotated[
        str | None,
        typer.Option(help="Project or recipient whose pseudonyms these are: those of two scopes can't be joined."),
    ] = None
    pseudonym_format: Annotated[str | None, typer.Option(help="Pseudonyms: hex, uuid, or digits:D.")] = None

    def of(self, schema: Schema | LinkedSchema, *, as_text: bool = False) -> Pseudonyms | None:
        """The pseudonyms that the options ask for, or None where the schema wants none and no option does."""
        given = (self.pseudonym_key, self.scope, self.pseudonym_format)
        wanted = isinstance(schema, Schema) and schema.pseudonym
        if not wanted and given == (None, None, None):
            return None
        if self.scope is None:
            raise ParameterError("--scope", "must name the project or recipient whose pseudonyms these are")
        key, form = ProjectKey.find(self.pseudonym_key), self.pseudonym_format or "hex"
        return Pseudonyms(key=key, scope=self.scope, format=form, as_text=as_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions:
    """The register of releases that a release is held against and entered in."""

    recipient: Annotated[str | None, typer.Option(help="Who receives the release; recorded in the register.")] = None
    despite: Annotated[
        str | None,
        typer.Option(help="Release although an earlier release exposes people beside this one; give the REASON."),
    ] = None
    register: Annotated[
        bool,
        typer.Option(
            help="Check against earlier releases of the same people, and record this one; --no-register for a trial."
        ),
    ] = True
    data: Annotated[str | None, typer.Option(help="Data set that FILE belongs to. [default: recognised by rows]")] = (
        None
    )
    ledger: Annotated[
        str | None, typer.Option(envvar="SHOAL_LEDGER", help="Ledger with the register. [default: your own]")
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """What makes no sense without a register."""
        return {"--recipient": self.recipient, "--despite": self.despite, "--data": self.data}

    @contextmanager
    def opened_for(self, file: Any, to: Destination) -> Iterator[Any]:
        """The register for files on an engine; None where nobody wants one."""
        with self.opened(SimpleNamespace(path=str(file), single=Path(file).is_file()), to) as register:
            yield register

    @contextmanager
    def opened(self, source: Any, to: Destination) -> Iterator[Any]:
        """The register; None where nothing is written or nobody wants one."""
        if not self.register:
            for name, value in self.given.items():
                if value is not None:
                    raise ParameterError(name, "is for the register", hint="Omit it, or --no-register.")
        if to.out is None or not self.register:
            yield None
            return
        found = self._of(source)
        try:
            yield _replacing(found.to(self.recipient, despite=self.despite), to)
        finally:
            found.close()

    def _of(self, source: Any) -> Any:
        if self.ledger is None and (place := old_ledger(source)) is not None:
            note(f"Ledger {place}: brought to the layout of this version; nothing is lost.")
        return register_of(source, data=self.data, ledger=self.ledger)


def _replacing(register: Any, to: Destination) -> Any:
    """The register, for a release that takes the place of one in the same folder that was not signed."""
    if not to.overwrite or to.out is None or not (to.out / MANIFEST).is_file() or (to.out / SIGNATURE).exists():
        return register
    old = entry_of(to.out, [words for words in register.ledger.releases() if words["withdrawn"] is None])
    return register if old is None else register.replacing(old["release"])


def read_events(given: list[str] | None) -> list[Any] | None:
    """The methods for events that the options name."""
    return None if not given else [read_method(text, "events") for text in given]


Events = Annotated[
    list[str] | None,
    typer.Option(
        "--events",
        help="Methods for the events of linked tables: {events}; parameters follow a colon, as in "
        "coarsen-events:k=5,m=2; repeat to chain.",
    ),
]


def open_input(
    file: Path | None, schema: Path | None, to: TrialOptions, reading: Reading, step: Any, command: str
) -> tuple[Any, Any]:
    """The input and its schema; a target in use is refused before any work is done. A trial has no target."""
    rules = read_schema(required(schema, "--schema FILE", command))
    if to.out is not None and file is not None and file.resolve() == to.out.resolve():
        raise ParameterError("--out", "must not be the input file", hint="Choose a new folder.")
    if to.out is not None:
        check_target(to.out, overwrite=to.overwrite)
    step("reading")
    return reading.source(file, command, rules), rules


def tried(source: Any, schema: Any, sample: int | None, seed: int | None) -> Any:
    """The source, or that of a trial: a random sample of its rows, which is said on the screen."""
    if sample is None:
        return source
    part = replace(source, frame=sample_of(source.frame, schema, sample, seed))
    persons = schema.persons.name if isinstance(schema, LinkedSchema) else None
    drawn, whole = (len(one.frame if persons is None else one.frame[persons]) for one in (part, source))
    what = "rows" if persons is None else f"{persons}, with all their events"
    screen.print(f"[bold]Dry run[/] on a random sample: {drawn:,} of {whole:,} {what}.")
    return part


def expect(step: Any, source: Any, schema: Any, recipe: Any) -> None:
    """Forecast the run, for the bar, and in words where it will be long."""
    persons = schema.persons if isinstance(schema, LinkedSchema) else None
    n = len(source.frame if persons is None else source.frame[persons.name])
    compiles = not all(is_warm(needed, n) for needed in (recipe.command, *(method.name for method in recipe.methods)))
    if compiles:
        note(f"First run on this machine: compiling kernels once, cached in {cache_folder()} (see `shoal warm-up`).")
    step.expect(forecast(n, schema if persons is None else persons.whole, recipe), compiles=compiles)


def _format_of(release: Any, replay: Path | None) -> str:
    """The ending of the released table: as it was before, or as the input's."""
    if replay is not None:
        return Path(read_replay(replay)["output"]["file"]).suffix[1:]
    source = release.source.format
    return source if source in FORMATS else "csv"
