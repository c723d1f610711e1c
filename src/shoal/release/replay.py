"""Make a released table again from its replay file, byte for byte."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from shoal.errors import FileError, InputError
from shoal.files import Source, read_source
from shoal.files.source import READING
from shoal.recipe import Progress, read_recipe
from shoal.release.make import make
from shoal.release.release import Release
from shoal.schema import Schema

__all__ = ["read_replay", "replay"]


def replay(
    path: str | Path, table: Any = None, *, input: str | Path | None = None, progress: Progress | None = None
) -> Release:
    """Repeat the run that `path` (``out.internal/replay.toml``) records.

    Parameters
    ----------
    path
        The replay file of a written release.
    table
        The input table, where the run started from one in memory.
    input
        The input file, where it is no longer where it was.
    """
    words = read_replay(Path(path))
    recipe, schema = read_recipe(words["recipe"]), Schema.from_dict(words["schema"])
    if not recipe.repeats:
        raise InputError(
            "replay", "can't repeat a synthetic table: its protective noise is drawn once and never stored"
        )
    given = table if table is not None else _same_input(words, schema, input)
    return make(
        given,
        schema,
        recipe,
        seed=words["seed"],
        key=words["pairing"],
        preset=words.get("preset"),
        accept=True,
        progress=progress,
    )


def read_replay(path: Path) -> dict[str, Any]:
    """Read and check a replay file."""
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "must be a readable replay file", got=error.strerror or "") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise FileError(str(path), "must be a replay file in TOML") from None
    needed = {"seed", "pairing", "input", "recipe", "schema", "output"}
    if not needed <= set(words):
        raise FileError(str(path), f"must hold {', '.join(sorted(needed))}")
    return words


def _same_input(words: dict[str, Any], schema: Schema, input: str | Path | None) -> Source:
    recorded = words["input"]
    path = input or recorded.get("path")
    if path is None:
        raise InputError("replay", "needs the input table", hint="The input was in memory; pass it as `table`.")
    reading = {name: recorded[name] for name in READING if name in recorded}
    source = read_source(path, formats=schema.formats, **reading)
    if source.sha256 != recorded["sha256"]:
        raise InputError("replay", "needs the exact input file of the release", got="a file with another SHA-256")
    return source
