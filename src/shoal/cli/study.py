"""`shoal study NAME`: repeat the papers' tables and figures; options follow from the settings of each study."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from shoal.cli.console import err
from shoal.cli.console import out as screen
from shoal.cli.lazy import LazyGroup, as_command
from shoal.cli.output import answer
from shoal.errors import ParameterError
from shoal.files import read_table
from shoal.params import Parameter, Range
from shoal.schema import Schema
from shoal.study.page import check_folder, write
from shoal.study.study import STUDIES, Flag, Study, find

__all__ = ["app", "command", "progress_bar"]


class Studies(LazyGroup):
    """A command for each study."""

    summaries: ClassVar[Mapping[str, str]] = {name: entry.summary for name, entry in STUDIES.items()}

    def load(self, name: str) -> Any:
        """Import the study and make its command."""
        study = find(name)
        return as_command(name, command(study, self.summaries[name]), _examples(study))


app = typer.Typer(cls=Studies, help="Repeat the tables and figures of the papers.", no_args_is_help=True)
_OUT = Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")]
_OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace an existing study in that folder.")]


@app.callback()
def main() -> None:
    """Repeat the tables and figures of the papers."""


def command(study: Study[Any], summary: str = "") -> Callable[..., None]:
    """The command of a study: a function whose signature is its folder, its inputs and its settings."""
    options = {p.name: p for p in (*study.inputs, *study.numbers)}

    def run(out: Path, overwrite: bool, **words: Any) -> None:
        check_folder(study, out, overwrite)
        given = {name: _read(options[name], word) for name, word in words.items() if _is_given(word)}
        _run(study, given, words.get("table"), out)

    signature = [
        _keyword("out", _OUT, Path("study")),
        *(_keyword(p.name, *_option(p)) for p in options.values()),
        _keyword("overwrite", _OVERWRITE, False),
    ]
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in signature}
    run.__doc__ = summary
    return run


def _run(study: Study[Any], given: Mapping[str, Any], file: Path | None, out: Path) -> None:
    settings = study.settings(**{p.name: given[p.name] for p in study.numbers if p.name in given})
    inputs = {p.name: given[p.name] for p in study.inputs if p.name in given}
    if file is not None and "name" in inspect.signature(study.run).parameters:
        inputs["name"] = file.name
    with progress_bar(study.counted) as progress:
        result = study.run(**inputs, settings=settings, progress=progress)
    write(study, result, out)
    answer(heading=study.heading(result), findings=study.findings(result), out=out)
    for text in (study.heading(result), *(f"- {text}" for text in study.findings(result))):
        screen.print(text, markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=screen.quiet) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _option(p: Parameter) -> tuple[Any, Any]:
    """The annotation and the default of an option."""
    ends = p.range or Range()
    kind, default = _kind(p)
    names = _flag(p).names or (f"--{p.name.replace('_', '-')}",)
    if kind is bool:
        names = (f"{names[0]}/--no-{names[0][2:]}",)
    return Annotated[kind, typer.Option(*names, help=p.help, min=_end(p, ends.low), max=_end(p, ends.high))], default


def _kind(p: Parameter) -> tuple[Any, Any]:
    """What the command line reads: files as paths, many values as a repeated option, none as the word 'none'."""
    first = _options(p)[0]
    if p.type is Any or first is Schema:
        return Path | None, None
    if _flag(p).commas:
        return str | None, None
    if get_origin(first) is Literal:
        return str, p.default  # the settings know the choices, and name them
    if get_origin(first) is not None:
        return list[get_args(first)[0]] | None, None  # type: ignore[misc]
    return (first | None if p.default is None else first), p.default


def _options(p: Parameter) -> tuple[Any, ...]:
    """What a parameter may be: the members of a union, or its type."""
    return get_args(p.type) if get_origin(p.type) in (Union, UnionType) else (p.type,)


def _end(p: Parameter, end: float) -> float | None:
    """A closed end of a range as an option can say it; an open one is left to the check of the settings."""
    if math.isinf(end):
        return None
    return int(end) if p.type is int else end


def _read(p: Parameter, word: Any) -> Any:
    options = _options(p)
    if isinstance(word, Path):
        return Schema.read(word) if Schema in options else read_table(word)
    if _flag(p).commas:
        return _shares(p, word)
    if word == "none" and type(None) in options:
        return None
    return tuple(word) if isinstance(word, list) else word


def _shares(p: Parameter, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--{p.name}", "must be numbers separated by commas", got=repr(text)[:60]) from None


def _is_given(word: Any) -> bool:
    return word is not None and word != []


def _flag(p: Parameter) -> Flag:
    return next((extra for extra in p.metadata if isinstance(extra, Flag)), Flag())


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _examples(study: Study[Any]) -> str:
    return "\n\n".join(["Examples:", *study.examples]) + "\n"
