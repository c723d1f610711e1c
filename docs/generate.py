"""Write the parts of the reference that follow from the code: commands, methods and public names.

`make docs` runs it; a test fails when a page is stale.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import typer.main

import shoal
from shoal.cli.main import app
from shoal.method import FAMILIES, methods
from shoal.params import parameters

DOCS = Path(__file__).parent
NAMES = """# Public names

Generated from the code by `make docs`. What is not here may change without notice.
"""
COMMANDS = """# Command line

Generated from the code by `make docs`. Every command has `--help`.
"""
METHODS = """# Methods

Generated from the code by `make docs`: each method supplies these lines. Methods that other packages add through the
entry point `shoal.methods` appear in `shoal anonymize --help` and in the workbench beside these.
"""
TITLES = {
    "group": "Groupers: who is grouped with whom",
    "mask": "Masks: what is written instead",
    "coarsen": "Coarseners: less exact values",
    "synthesize": "Synthesizers: rows of no real person",
    "events": "Events of linked tables: what becomes of them",
}


def pages() -> dict[Path, str]:
    """Every generated page."""
    made = {"cli": commands_page(), "methods": methods_page(), "python": names_page()}
    return {DOCS / f"reference/{name}.md": text for name, text in made.items()}


def methods_page() -> str:
    """A table of the methods of each family."""
    return "\n".join([METHODS, *map(_family, FAMILIES)])


def _family(family: Any) -> str:
    own = [cls for cls in methods(family) if cls.__module__.startswith("shoal.")]
    head = ["| | parameters | what it does | what it promises |", "| --- | --- | --- | --- |"]
    return "\n".join([f"## {TITLES[family]}", "", *head, *map(_method, own)]) + "\n"


def _method(cls: Any) -> str:
    given = ", ".join(f"`{parameter.name}`" for parameter in parameters(cls))
    promise = cls.promise or "Nothing."
    return f"| [`{cls.name}`](../methods/{_page_of(cls)}): {cls.title} | {given} | {cls.summary} | {promise} |"


def _page_of(cls: type) -> str:
    """The page of a method: the one that has it in a heading."""
    for path in sorted((DOCS / "methods").glob("*.md")):
        if re.search(rf"^#.*\b{cls.__name__}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            return path.name
    raise LookupError(f"docs/methods has no page with {cls.__name__} in a heading")


def commands_page() -> str:
    """Every command with its options."""
    root = typer.main.get_command(app)
    return "\n".join([COMMANDS, *(_section(name, command) for name, command in _commands(root, "shoal"))])


def names_page() -> str:
    """The page of public names: those of `shoal` and of the modules that it shows, each with what it is in a line."""
    rooms = [name for name in shoal.__all__ if inspect.ismodule(getattr(shoal, name))]
    return "\n".join([NAMES, *(_names(path) for path in ("shoal", *(f"shoal.{room}" for room in rooms)))])


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
        getattr(command, "list_methods", list)()  # help texts name methods when they are shown
        return [(name, command)]
    load = getattr(command, "load", children.get)  # a lazy group has but the names
    return [found for child in children for found in _commands(load(child), f"{name} {child}")]


def _section(name: str, command: Any) -> str:
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
    return f"| {names} | {(parameter.help or '').replace(chr(92) + '[', '[')} | {shown} |"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
