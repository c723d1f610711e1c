"""Write the parts of the reference that follow from the code: `docs/reference/cli.md` and `docs/reference/python.md`.

`make docs` runs it; a test fails when the page is stale.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import typer.main

import shoal
from shoal.cli.listing import ListsMethods
from shoal.cli.main import app

NAMES = Path(__file__).parent / "reference" / "python.md"
NAMES_HEAD = """# Public names

Generated from the code by `make docs`. What is not here may change without notice.
"""
PAGE = Path(__file__).parent / "reference" / "cli.md"
HEAD = """# Command line

Generated from the code by `make docs`. Every command has `--help`.
"""


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    return "\n".join([HEAD, *(_section(name, command) for name, command in _commands(root, "shoal"))])


def names() -> str:
    """The page of public names: those of `shoal` and of the modules that it shows, each with what it is in a line."""
    rooms = [name for name in shoal.__all__ if inspect.ismodule(getattr(shoal, name))]
    return "\n".join([NAMES_HEAD, *(_names(path) for path in ("shoal", *(f"shoal.{room}" for room in rooms)))])


def _names(path: str) -> str:
    module = importlib.import_module(path)
    rows = [f"| `{name}` | {_about(getattr(module, name))} |" for name in sorted(module.__all__, key=str.lower)]
    return "\n".join([f"## {path}", "", "| name | |", "| --- | --- |", *rows]) + "\n"


def _about(value: Any) -> str:
    has_words = inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value)
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()) if has_words else "A constant."
    return text.replace("|", "\\|")


def _commands(command: Any, name: str) -> list[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        return [(name, command)]
    load = getattr(command, "load", children.get)  # a lazy group has but the names
    return [found for child in children for found in _commands(load(child), f"{name} {child}")]


def _section(name: str, command: Any) -> str:
    if isinstance(command, ListsMethods):
        command.list_methods()
    arguments = " ".join(_argument(p) for p in command.params if p.param_type_name == "argument")
    rows = [_row(p) for p in command.params if p.name != "help"]
    table = ["| | | default |", "| --- | --- | --- |", *rows]
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("shoal")]
    parts = [
        f"## {name}",
        f"`{' '.join(filter(None, [name, '[options]', arguments]))}`",
        inspect.cleandoc(command.help),
    ]
    if examples:
        parts.append("\n".join(["```", *examples, "```"]))
    return "\n\n".join([*parts, "\n".join(table)]) + "\n"


def _argument(parameter: Any) -> str:
    name = parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.opts) if parameter.opts else f"`{parameter.name}`"
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    default = parameter.default
    shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    return f"| {names} | {parameter.help or ''} | {shown} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    NAMES.write_text(names(), encoding="utf-8")
