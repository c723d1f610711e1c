"""What every command has beside its own options: `--json`, `--quiet` and `--no-color`.

A command says what it found twice: in words for a person (`console.out`), and by name (`answer`). With ``--json`` the
words are left out, and one object is printed on standard output: ``command`` and ``exit_code``, then the names that the
command answers with, or ``error`` where it refuses. Errors are told on standard error in any case.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any

import typer

from shoal.cli.console import err, out, print_error
from shoal.errors import ShoalError

__all__ = ["SHARED", "answer", "answer_now", "is_asked", "product", "stopped", "with_output", "write_bytes"]


class _Answer:
    """The one object that a command prints with `--json`."""

    def __init__(self, command: str) -> None:
        self.command, self.is_printed = command, False
        self.facts: dict[str, Any] = {}

    def print(self, code: int, **facts: Any) -> None:
        if not self.is_printed:
            words = {"command": self.command, "exit_code": code, **self.facts, **facts}
            _write(json.dumps(words, indent=2, ensure_ascii=False, default=_plain))
        self.is_printed = True


_ANSWER: ContextVar[_Answer | None] = ContextVar("answer", default=None)


def _option(*names: str, text: str) -> Any:
    return Annotated[bool, typer.Option(*names, help=text, rich_help_panel="Output")]


SHARED = {
    "as_json": _option("--json", text="Print the result as one JSON object, and nothing else."),
    "quiet": _option("--quiet", "-q", text="Print errors only; the exit code tells the rest."),
    "no_color": _option("--no-color", text="Print without colours; so does the variable NO_COLOR."),
}
"""The options that every command has."""


def answer(**facts: Any) -> None:
    """What the command found, by name: fields of the JSON object, where one is asked for."""
    asked = _ANSWER.get()
    if asked is not None:
        asked.facts.update(facts)


def answer_now(**facts: Any) -> None:
    """The same for a command that runs until it is stopped: its object is printed at once."""
    asked = _ANSWER.get()
    if asked is not None:
        asked.print(0, **facts)


def is_asked() -> bool:
    """Whether JSON is asked for."""
    return _ANSWER.get() is not None


def write_bytes(content: memoryview) -> None:
    """A file on standard output."""
    with _pipe():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def product(text: str) -> None:
    """Text that is itself the result, such as a key: printed however quiet, but not beside JSON."""
    if not is_asked():
        _write(text)


def with_output(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the shared options."""
    signature = inspect.signature(command, eval_str=True)
    if SHARED.keys() <= signature.parameters.keys():
        return command
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(name, keyword, default=False, annotation=kind) for name, kind in SHARED.items()]
    own = [p.replace(kind=keyword) for p in signature.parameters.values()]
    context = [p.name for p in own if p.annotation is typer.Context]
    asked = [] if context else [inspect.Parameter("context", keyword, annotation=typer.Context)]

    @wraps(command)
    def run(*, as_json: bool, quiet: bool, no_color: bool, **given: Any) -> None:
        here = given[context[0]] if context else given.pop("context")
        with _screen(quiet=quiet or as_json, no_color=no_color), _stopping():
            _answered(_path(here), lambda: command(**given)) if as_json else command(**given)

    run.__signature__ = signature.replace(parameters=[*asked, *own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*asked, *own, *shared)}
    return run


@contextmanager
def _screen(*, quiet: bool, no_color: bool) -> Iterator[None]:
    before = out.quiet, out.no_color, err.no_color
    out.quiet = out.quiet or quiet
    out.no_color, err.no_color = out.no_color or no_color, err.no_color or no_color
    try:
        yield
    finally:
        out.quiet, out.no_color, err.no_color = before


@contextmanager
def _stopping() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print_error(stopped())
        raise typer.Exit(130) from None


def stopped() -> str:
    """What is true of a run that was stopped: a charge that is on the disk stays, whatever became of the result."""
    tally = sys.modules.get("shoal.ledger.account")
    spent = tally.charged() if tally is not None else ()
    return f"stopped; the charge stands: {'; '.join(spent)}." if spent else "stopped; nothing was written."


def _answered(command: str, run: Callable[[], None]) -> None:
    asked = _Answer(command)
    token = _ANSWER.set(asked)
    try:
        run()
        asked.print(0)
    except typer.Exit as end:
        asked.print(end.exit_code)
        raise
    except ShoalError as error:
        asked.facts.clear()
        asked.print(error.exit_code, error=_error(error))
        raise
    finally:
        _ANSWER.reset(token)


def _error(error: ShoalError) -> dict[str, Any]:
    words = {"kind": type(error).__name__, "owner": error.owner, "rule": error.rule, "got": error.got}
    words["hint"] = error.hint
    return words | {"problems": [_error(problem) for problem in getattr(error, "problems", ())]}


def _path(context: typer.Context) -> str:
    """The words by which the command was called, without the program's name."""
    names, here = [], context
    while here.parent is not None:
        names.append(str(here.info_name))
        here = here.parent  # type: ignore[assignment]
    return " ".join(reversed(names))


def _plain(value: Any) -> Any:
    """A record, number or path as JSON has it."""
    for name in ("to_dict", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return str(value)


def _write(text: str) -> None:
    with _pipe():
        typer.echo(text)


@contextmanager
def _pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        out.on_broken_pipe()
