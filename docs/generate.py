"""Write the parts of the reference that follow from the code: commands, methods and public names.

`make docs` runs it; a test fails when a page is stale.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import runpy
from pathlib import Path
from typing import Any

import typer.main

import shoal
from shoal.cli.main import app
from shoal.cli.output import SHARED
from shoal.method import FAMILIES, methods
from shoal.params import parameters

DOCS = Path(__file__).parent
NUMBERS = DOCS.parent / "benchmarks/peers.json"
SCALE = DOCS.parent / "benchmarks/scale/measured.json"
PEERS = """# Numbers

Speed and quality beside what one would otherwise take, both sides in one run on the same simulated data, one process.
`make bench` measures them anew; this page is made from what it writes (`benchmarks/peers.json`). Compare within a row,
not with other machines. The peers do the named step only; verified releases are timed in
[how long it takes](speed.md).
"""
NAMES = """# Public names

Generated from the code by `make docs`. What is not here may change without notice.
"""
COMMANDS = """# Command line

Generated from the code by `make docs`. Every command has `--help`, and the options below.
"""
SHAPE = """
With `--json` a command prints one object on standard output: `command` and `exit_code`, then what it found, by name
(`claims`, `out`, `n_rows`, ...). Where it refuses, the object has `error` instead, and standard error has the sentence:

    {
      "command": "ledger show",
      "exit_code": 4,
      "error": {"kind": "InputError", "owner": "...", "rule": "...", "got": "", "hint": "...", "problems": []}
    }

`problems` lists the errors where there are several. `serve` and `web`, which run until they are stopped, print their
object when they are ready. Options that are misspelt are reported on standard error alone. JSON may hold internal
figures, just as the screen does.

Exit codes: 0 done; 2 wrong usage; 3 the guarantee can't be met or a check fails, and nothing was written; 4 the input
is unusable, and nothing was written; 5 (`verify`) nothing fails, but something rests on the publisher's word; 1 an
internal fault; 130 or 143 stopped; 141 whoever read the output went away, as in `shoal ledger show | head`.

`shoal --install-completion` completes commands and options in your shell.
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
    numbers = {DOCS / "explanation/numbers.md": numbers_page(json.loads(NUMBERS.read_text(encoding="utf-8")))}
    scale_page = runpy.run_path(str(DOCS / "scale_page.py"))["scale_page"]
    scale = DOCS / "explanation/scale.md"
    numbers[scale] = scale_page(scale.read_text(encoding="utf-8"), json.loads(SCALE.read_text(encoding="utf-8")))
    return numbers | {DOCS / f"reference/{name}.md": text for name, text in made.items()}


def numbers_page(found: dict[str, Any]) -> str:
    """Speed and quality against peers, as `make bench` measured them."""
    machine = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    where = f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, {machine['system']}"
    head = ["| job | peer | CPU s, Shoal | CPU s, peer | times faster | quality | Shoal | peer |"]
    rows = [*head, "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |", *map(_measured, found["jobs"])]
    about = f"One run: {where}, Python {machine['python']}; {versions}."
    return "\n".join([PEERS, about, "", *rows]) + "\n"


def _measured(job: dict[str, Any]) -> str:
    if job.get("absent"):
        return f"| {job['job']} | {job['peer']}: not installed in this run | | | | | | |"
    (ours, theirs), (own, other) = job["seconds"], job["values"]
    times = f"{theirs / ours:.2g}" if theirs < 100 * ours else f"{theirs / ours:,.0f}"
    cells = (
        job["job"],
        job["peer"],
        f"{ours:.3g}",
        f"{theirs:.3g}",
        times,
        job["quality"],
        f"{own:.4g}",
        f"{other:.4g}",
    )
    return f"| {' | '.join(cells)} |"


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
    found = _commands(root, "shoal")
    return "\n".join([COMMANDS, _shared(found[0][1]), SHAPE, *(_section(*one) for one in found)])


def _shared(command: Any) -> str:
    """The options that every command has, taken from one."""
    return "\n".join(["| | | default |", "| --- | --- | --- |", *(_row(p) for p in command.params if p.name in SHARED)])


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
    rows = [_row(p) for p in command.params if p.name not in ("help", *SHARED)]
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
