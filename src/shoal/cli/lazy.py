"""Commands that are loaded when one of them is called: the one place where the command line puts off an import.

A group knows the name and the one-line summary of each command, which is all that its own help shows; the module behind
a command, with whatever it stands on, is imported when the command is called or its own help is asked for. The modules
can then import at their top like any other. Methods that a help text lists are loaded when the help is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
import typer.main
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from shoal.cli.output import with_output

__all__ = ["LazyGroup", "ListingCommand", "ModuleGroup", "OneFileCommand", "as_command"]


class OneFileCommand(TyperCommand):
    """A command that is told what to do about a pattern that the shell has replaced by the names of files."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments; where too many are names of files, the remedy is said."""
        strict, ctx.allow_extra_args = not ctx.allow_extra_args, True
        left = super().parse_args(ctx, args)
        if strict and left and not ctx.resilient_parsing:
            advice = _QUOTE if any(Path(one).exists() for one in left) else ""
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(map(repr, left[:3]))}{_more(left)}).{advice}")
        return left


_QUOTE = " A command reads one file, folder or pattern: quote a pattern ('data/*.csv'), or the shell replaces it."


def _more(left: list[str]) -> str:
    return f" and {len(left) - 3} more" if len(left) > 3 else ""


class ListingCommand(OneFileCommand):
    """A command whose help lists methods: ``{group}`` in a help text stands for the names of that family."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with the names filled in."""
        self.list_methods()
        super().format_help(ctx, formatter)

    def list_methods(self) -> None:
        """Fill in the names; loads every method of the families, those of other packages too."""
        from shoal.method import FAMILIES  # the list of commands needs no method

        for parameter in self.params:
            for family in FAMILIES:
                if f"{{{family}}}" in (getattr(parameter, "help", None) or ""):
                    parameter.help = parameter.help.replace(f"{{{family}}}", _names(family))  # type: ignore[attr-defined]


def _names(family: Any) -> str:
    """The names of the methods of a family; of coarseners those alone that see to k."""
    from shoal.method import methods
    from shoal.params import parameters

    def sees_to_k(cls: type) -> bool:
        return any(parameter.name == "k" and parameter.accepts(2) for parameter in parameters(cls))

    return ", ".join(cls.name for cls in methods(family) if family != "coarsen" or sees_to_k(cls))


class LazyGroup(TyperGroup):
    """A group whose commands are made by `load` when they are needed."""

    summaries: ClassVar[Mapping[str, str]] = {}
    """What each command does, in a line."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, text in self.summaries.items():
            self.add_command(TyperCommand(name, help=text), name)

    def load(self, name: str) -> Any:
        """The command itself."""
        raise NotImplementedError

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that was named, loaded."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else self.load(name), rest


class ModuleGroup(LazyGroup):
    """Commands that are modules of `shoal.cli`: a Typer named `app`, or a function of its name with EXAMPLES."""

    def load(self, name: str) -> Any:
        """Import the module and make its command."""
        module = import_module(f"shoal.cli.{name.replace('-', '_')}")
        if hasattr(module, "app"):
            return as_command(name, module.app)
        return as_command(name, getattr(module, name.replace("-", "_")), module.EXAMPLES)


def as_command(name: str, what: Any, examples: str | None = None) -> Any:
    """A function, or a Typer of several, as the command `name`, with the options that every command has."""
    around = typer.Typer(rich_markup_mode="rich", add_completion=False)
    if isinstance(what, typer.Typer):
        for command in what.registered_commands:
            command.callback = with_output(command.callback) if command.callback else None
            command.cls = OneFileCommand if command.cls in (None, TyperCommand) else command.cls
        around.add_typer(what, name=name)
    else:
        around.command(name, epilog=examples, cls=ListingCommand)(with_output(what))
    return _literal(typer.main.get_group(around).commands[name])


def _literal(command: Any) -> Any:
    """The command with its texts escaped: `[default: 5]` and `[[recipe]]` are words here, not rich markup."""
    for child in getattr(command, "commands", {}).values():
        _literal(child)
    command.epilog = escape(command.epilog or "") or None
    for parameter in command.params:
        parameter.help = escape(parameter.help or "") or None
    return command
