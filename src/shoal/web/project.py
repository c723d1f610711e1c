"""A project as one file, ``.shoal``: schema, recipes, manifests of results, decisions and history; never a cell.

It opens again after the workbench has stopped: the file that it is about is read anew, by its path, and must be the one
it was. A file that was uploaded is gone by then: open it again, and the project is taken up where it was.

The list of projects that were saved last is kept in the user's own folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import FileError
from shoal.files.atomic import write_text
from shoal.schema import Schema
from shoal.web.session import Session

__all__ = ["ENDING", "Recent", "folder_of", "project_words", "read_project", "schema_text", "script_of"]

ENDING = ".shoal"
FORMAT = 1
MOST_RECENT = 12
_KEPT = ("name", "path", "decisions", "written", "key")


def project_words(session: Session, results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The words of a project file; `results` has the manifest and measures of each finished release."""
    words = session.to_dict()
    opened = session.opened
    return {
        "shoal project": FORMAT,
        "notes": {name: session.notes[name] for name in _KEPT if name in session.notes},
        "stamp": None if opened is None else dict(opened.stamp),
        "asked": {} if opened is None else dict(opened.asked),
        "schemas": words["schemas"],
        "drafts": words["drafts"],
        "place": words["place"],
        "log": words["log"],
        "results": [dict(result) for result in results],
    }


def read_project(path: Path) -> dict[str, Any]:
    """The words of a project file, or a FileError that says it is none."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "file must be accessible", got=(error.strerror or "").lower()) from None
    except ValueError:
        raise FileError(path.name, "must be a project file of Shoal") from None
    if not isinstance(words, dict) or words.get("shoal project") != FORMAT:
        raise FileError(path.name, "must be a project file of Shoal")
    try:
        Session.from_dict({**words, "id": "x", "job_ids": []})
    except (KeyError, TypeError, IndexError, AttributeError):
        raise FileError(path.name, "must be a whole project file") from None
    return words


def folder_of(session: Session, job: str) -> str:
    """Where a command of the log writes a run: each has a folder of its own."""
    runs = list(dict.fromkeys(entry.job for entry in session.log if entry.job))
    place = (runs.index(job) if job in runs else len(runs)) + 1
    return "release" if place == 1 else f"release-{place}"


def script_of(session: Session) -> str:
    """The log as a shell script: who did what, when, and the commands that do the same.

    Of the runs those that left are made again, signed or written; where none did, the last one. The others are told.
    """
    name = _one_line(str(session.notes.get("name", "a file")))
    lines = ["#!/bin/sh", f"# What was done with {name} in the workbench.", "set -e", ""]
    if session.schema is not None:
        lines += ["cat > schema.toml <<'END OF SCHEMA'", schema_text(session.schema).rstrip()]
        lines += ["END OF SCHEMA", ""]
    kept = _made_again(session)
    for entry in session.log:
        lines.append(f"# {_day(entry.at)}, {_one_line(entry.who)}: {_one_line(entry.what)}")
        tried = "" if entry.job in kept else "# not written: "
        lines += [f"{tried}{entry.command}"] if entry.command else []
    return "\n".join(lines) + "\n"


def _made_again(session: Session) -> set[str]:
    left = {*session.notes.get("decisions", {}), *session.notes.get("written", {})}
    runs = [entry.job for entry in session.log if entry.job and entry.command]
    return {"", *(left.intersection(runs) or runs[-1:])}


def schema_text(words: Mapping[str, Any]) -> str:
    """A schema's words, or those of linked tables, as the TOML file that the command line reads."""
    import tomli_w

    return tomli_w.dumps(dict(words)) if "tables" in words else Schema.from_dict(words).to_toml()


def _one_line(text: str) -> str:
    """A comment ends with its line, whatever a column is called: the rest would be a command."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _day(at: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


class Recent:
    """The projects saved last, in a small file of the user's own."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    @classmethod
    def of_user(cls) -> Recent:
        """The list of whoever runs this."""
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(base) / "shoal" / "recent.json")

    def all(self) -> tuple[Path, ...]:
        """Those that are still there, the last one first."""
        if self._file is None:
            return ()
        try:
            found = [Path(str(path)) for path in json.loads(self._file.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return ()
        return tuple(path for path in found if path.is_file())

    def add(self, path: Path) -> None:
        """Put a project first; a list that can't be written does no harm."""
        if self._file is None:
            return
        kept = [str(path), *(str(known) for known in self.all() if known != path)]
        with suppress(OSError, FileError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(self._file, json.dumps(kept[:MOST_RECENT]))
