"""Nothing is decided by reading a sentence: held over the source.

A fact has fields. Whoever looks into its sentence (`"fewer" in claim.statement`, `note.startswith(...)`) decides by
wording, and a new wording decides otherwise: two such places were leaks.
"""

import ast
from pathlib import Path

import pytest

import shoal

HOME = Path(shoal.__file__).parent
ROOMS = ("claim.py", "fact.py", "release", "report", "comparison", "web", "cli")
SENTENCES = {"statement", "assumptions", "caveats", "says", "notes", "detail", "reason", "meaning"}
LOOKS = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "index", "removeprefix"}


def sources():
    for room in ROOMS:
        path = HOME / room
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def is_sentence(node):
    """``claim.statement``, ``release.notes[0]``, ``str(fact)``."""
    if isinstance(node, ast.Subscript):
        return is_sentence(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id in ("fact", "claim", "note")
    if isinstance(node, ast.Name):
        return node.id in ("statement", "sentence", "note")
    return isinstance(node, ast.Attribute) and node.attr in SENTENCES and not _is_mapping(node)


def _is_mapping(node):
    """``session.notes`` of the workbench holds entries by name, no sentences."""
    return isinstance(node.value, ast.Name) and node.value.id == "session"


def looks(tree):
    """The lines in which a sentence is looked into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            inside = [isinstance(op, ast.In | ast.NotIn) and is_sentence(right) for op, right in _pairs(node)]
            same = [isinstance(op, ast.Eq | ast.NotEq) and is_sentence(right) for op, right in _pairs(node)]
            if any(inside) or any(same) or (is_sentence(node.left) and _is_text(node.comparators[0])):
                yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            read = node.func.attr in LOOKS and is_sentence(node.func.value)
            matched = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if read or (matched and any(map(is_sentence, node.args))):
                yield node.lineno


def _pairs(node):
    return zip(node.ops, node.comparators, strict=True)


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize(
    "line",
    [
        'x = "fewer" in claim.statement',
        'x = note.startswith("fewer")',
        'x = release.notes[0].rpartition(" ")',
        'x = str(fact).endswith(".")',
        'x = re.match("[0-9]", claim.statement)',
        'x = claim.statement == "safe"',
    ],
)
def test_the_test_finds_them(line):
    assert list(looks(ast.parse(line)))


def test_nobody_reads_sentences():
    found = [
        f"{path.relative_to(HOME)}:{line}" for path in sources() for line in looks(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []
