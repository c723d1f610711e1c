"""Change entries of a schema file and leave all else in it as a person wrote it: comments, order, blank lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

__all__ = ["amended"]


def amended(text: str, changes: Mapping[str, Mapping[str, Any] | None]) -> str:
    """The schema's text with some columns changed.

    Parameters
    ----------
    changes
        Column to the entries that are set in it (a column that is not there is added at the end), or to None: the
        column's table is taken out, with the comments right above it.

    Examples
    --------
    >>> from shoal.schema.amend import amended
    >>> print(amended('# checked\\n[columns.zip]\\nrole = "quasi"\\n', {"zip": {"kind": "nominal"}}))
    # checked
    [columns.zip]
    role = "quasi"
    kind = "nominal"
    <BLANKLINE>
    """
    blocks = _blocks(text)
    there = {_column(block) for block in blocks}
    kept = [_changed(block, changes) for block in blocks]
    new = {name: words for name, words in changes.items() if words and name not in there}
    return "".join([*kept, *(f"\n[columns.{_key(name)}]\n{_lines(words)}" for name, words in new.items())])


def _blocks(text: str) -> list[str]:
    """The text cut before each table, the comments right above a table with it."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            above = blocks[-1]
            start = len(above)
            while start and above[start - 1].startswith("#"):
                start -= 1
            blocks[-1], comments = above[:start], above[start:]
            blocks.append(comments)
        blocks[-1].append(line)
    return ["".join(block) for block in blocks]


def _head(block: str) -> str:
    return next((line for line in block.splitlines() if line.startswith("[")), "")


def _column(block: str) -> str | None:
    """The column whose table a block is; its sub-tables (hierarchy, metric) belong to it too."""
    try:
        columns = tomllib.loads(_head(block)).get("columns")
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(columns), None) if isinstance(columns, dict) else None


def _changed(block: str, changes: Mapping[str, Mapping[str, Any] | None]) -> str:
    name = _column(block)
    if name is None or name not in changes:
        return block
    words = changes[name]
    if words is None:
        return ""
    if tomllib.loads(_head(block))["columns"][name]:  # a sub-table
        return block
    body = block.rstrip("\n")
    for entry in words:
        body = re.sub(rf"(?m)^{re.escape(entry)}\s*=.*\n?", "", body)
    rest = block[len(block.rstrip("\n")) :] or "\n"
    return f"{body.rstrip()}\n{_lines(words).rstrip()}{rest}"


def _lines(words: Mapping[str, Any]) -> str:
    return tomli_w.dumps(dict(words))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _lines({name: 0}).rpartition(" = ")[0]
