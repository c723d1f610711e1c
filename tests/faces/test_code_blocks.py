"""Code on the pages is true: blocks of Python run, or at least name what there is; commands parse.

Pages of methods and how-tos take a table and its schema as given. What a page takes as given beyond that is in `GIVEN`;
pages whose code needs another machine, or is tried at length elsewhere, are in `READ_ONLY`. Tutorials have their own
test.
"""

import ast
import inspect
import io
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

import shoal
from shoal.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
}
READ_ONLY = {
    "docs/how-to/cluster.md": "needs Spark",
    "docs/how-to/large-files.md": "tests/engines",
    "docs/how-to/linked-tables.md": "tests/linked; the FHIR export is the reader's",
    "docs/how-to/serve.md": "needs a running service: tests/test_client.py",
    "docs/how-to/yearly-releases.md": "tests/register; the tutorial runs the same commands",
}
GIVEN = {
    "docs/how-to/hierarchies.md": """
import polars as pl
table = pl.DataFrame({"age": [30 + i % 60 for i in range(200)], "zip": [f"0213{i % 4}" for i in range(200)]})
schema = shoal.Schema.of(quasi=["age", "zip"], kinds={"zip": "nominal"})
column = table["age"]
""",
    "docs/explanation/privacy-budget.md": """
import numpy as np
table.write_parquet("visits.parquet")
rng = np.random.default_rng(1)
data, neighbour, mechanism = 0.0, 1.0, lambda data: data + rng.laplace()
""",
    "docs/methods/market-risk.md": """
import polars as pl
here, there, new = (shoal.datasets.health_survey(600, seed=seed) for seed in (1, 2, 3))
new = new.drop("cost")
""",
}


def blocks(text, language):
    """The blocks of one language, '' for commands."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


WITH_PYTHON = [name for name, text in PAGES.items() if blocks(text, "python") and "tutorials" not in name]


@pytest.mark.parametrize("name", [name for name in WITH_PYTHON if name not in READ_ONLY])
def test_python_on_a_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, schema = shoal.datasets.health_survey(500, seed=1), shoal.datasets.health_survey_schema()
    names = {"shoal": shoal, "table": table, "schema": schema}
    exec(GIVEN.get(name, ""), names)
    with redirect_stdout(io.StringIO()):
        for code in blocks(PAGES[name], "python"):
            exec(compile(code, name, "exec"), names)


@pytest.mark.parametrize("name", [*WITH_PYTHON, *(name for name in PAGES if "tutorials" in name)])
def test_python_on_a_page_names_what_there_is(name):
    for code in blocks(PAGES[name], "python"):
        for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
            found = _found(call.func)
            if found is not None:
                inspect.signature(found).bind_partial(**{word.arg: None for word in call.keywords if word.arg})


@pytest.mark.parametrize("name", PAGES)
def test_names_in_the_text_exist(name):
    for dotted in re.findall(r"`[^`\n]*?\b(shoal(?:\.[A-Za-z_]+)+)", PAGES[name]):
        assert _named(dotted), dotted


def _named(dotted):
    """Whether ``shoal.a.b`` is a module, or a name in one; a file or an entry point of that name will do."""
    home, _, name = dotted.rpartition(".")
    if dotted in ("shoal.methods", "shoal.cdx", "shoal.pub", "shoal.key", "shoal.R") or find_spec_of(dotted):
        return True
    return hasattr(_module(home), name) if find_spec_of(home) else _named(home)


def find_spec_of(dotted):
    """Whether a module of this name can be found."""
    try:
        return find_spec(dotted) is not None
    except (ModuleNotFoundError, AttributeError):
        return False


_module = cache(import_module)


def _found(node):
    """What ``shoal.a.b`` stands for; None for other expressions."""
    if isinstance(node, ast.Name):
        return shoal if node.id == "shoal" else None
    if not isinstance(node, ast.Attribute):
        return None
    above = _found(node.value)
    return None if above is None else getattr(above, node.attr)


def commands(text):
    """Each command of Shoal that a page prints, in a fence, indented, or in a line of text; continued lines as one."""
    whole = re.sub(r"\\\n\s*", "", text)
    fenced = [line for code in (*blocks(whole, ""), *blocks(whole, "sh")) for line in code.splitlines()]
    indented = re.findall(r"^    (shoal .*)$", whole, re.MULTILINE)
    inline = [" ".join(found.split()) for found in re.findall(r"`(shoal [a-z][^`]*)`", whole)]
    return [line.strip() for line in (*fenced, *indented, *inline) if re.match(r"\s*shoal [a-z]", line)]


@cache
def _command(*words):
    """The command that these words begin with; None if there is none."""
    command, used = typer.main.get_command(app), 0
    while used < len(words) and (children := getattr(command, "commands", None)) is not None:
        if words[used] not in children:
            return None
        command = getattr(command, "load", children.get)(words[used])
        used += 1
    return command


def wrong_with(line):
    """What a command line has that no command takes; '' where nothing is wrong."""
    try:
        words = shlex.split(line, comments=True)[1:]
    except ValueError:
        return ""  # a sentence that breaks off
    command = _command(*[word for word in words if not word.startswith("-")][:3])
    if command is None:
        return "no such command"
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
    return ", ".join(word for word in given if word not in known | {"--help", "-h", "--version"})


@pytest.mark.parametrize("name", [name for name in PAGES if name != "docs/reference/cli.md"])
def test_commands_on_a_page_have_these_options(name):
    assert {line: wrong for line in commands(PAGES[name]) if (wrong := wrong_with(line))} == {}


def test_a_wrong_command_is_seen():
    assert wrong_with("shoal anonymise people.csv") == "no such command"
    assert wrong_with("shoal anonymize people.csv --sekret 3") == "--sekret"
    assert wrong_with("shoal ledger releases") == ""
    assert len([line for text in PAGES.values() for line in commands(text)]) > 300
