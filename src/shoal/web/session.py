"""What one browser session works on: the opened file, the schema and recipe as settled so far, the jobs, the log.

A session is a value: each change gives a new one, so that two tabs never see a half-made change, and undo is a step
back in the list of drafts.

Sessions are on disk, so that a reload or a second tab finds what was there. Every change is made on the latest session
under one lock and written whole. The opened file, which is the large part, has a file of its own that is written only
when it changes.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.files.atomic import write_text
from shoal.web.cache import DRAWINGS
from shoal.web.inspect import BEFORE, CODEBOOK, Opened

__all__ = ["Draft", "Entry", "Session", "SessionStore"]

MOST_STEPS = 60

Words = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a person has settled so far, which can be undone: schema, recipe, goal, and the answers beside them.

    Parameters
    ----------
    what, at
        The change that led here, in a few words, and when it was made, in seconds since 1970.
    schema, recipe
        Both in words (`shoal.Schema.to_dict`, recipes of `shoal.recipe`); None before there is one.
    goal
        The name of the goal chosen last.
    asked
        Answers beside the recipe, by name: the output format, rules to meet, limits.
    """

    what: str = ""
    at: float = 0.0
    schema: Words | None = None
    recipe: Words | None = None
    goal: str | None = None
    asked: Words = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The draft as JSON-safe words."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log: who did what, when; `command` is the same on a command line, where there is one.

    `job` is the run that it is about, if it is about one.
    """

    at: float
    who: str
    what: str
    command: str = ""
    job: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-safe words."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The state of one session; build it with `new`.

    Parameters
    ----------
    id
        Its name in the address.
    opened
        The file; None before one is opened.
    now, past, future
        What is settled, what was before (oldest first), and what was undone (the next to redo first).
    job_ids
        The jobs started here, oldest first.
    notes
        What else is known, by name: the file's name and path, the jobs that read it and count it.
    log
        What was done, oldest first; undoing is an entry too, and nothing is taken out.

    Examples
    --------
    >>> from shoal.web.session import Session
    >>> session = Session.new().changed("k = 5", recipe={"coarsen": [{"method": "mondrian", "k": 5}]})
    >>> session = session.changed("k = 10", recipe={"coarsen": [{"method": "mondrian", "k": 10}]})
    >>> session.recipe["coarsen"][0]["k"], session.undo().recipe["coarsen"][0]["k"], session.undo().redo() == session
    (10, 5, True)
    """

    id: str
    opened: Opened | None = None
    now: Draft = field(default_factory=Draft)
    past: tuple[Draft, ...] = ()
    future: tuple[Draft, ...] = ()
    job_ids: tuple[str, ...] = ()
    notes: Words = field(default_factory=dict)
    log: tuple[Entry, ...] = ()

    @classmethod
    def new(cls) -> Session:
        """An empty session with a fresh name that nobody can guess."""
        return cls(id=secrets.token_urlsafe(12))

    @property
    def schema(self) -> Words | None:
        """The schema in words, as corrected so far; None before there is one."""
        return self.now.schema

    @property
    def recipe(self) -> Words | None:
        """The current recipe in words; None before one is chosen."""
        return self.now.recipe

    @property
    def goal(self) -> str | None:
        """The goal chosen last."""
        return self.now.goal

    @property
    def tried(self) -> tuple[Words, ...]:
        """The recipes that were current once, oldest first, each once, the present one last."""
        found: list[Words] = []
        for draft in (*self.past, self.now):
            if draft.recipe is not None:
                found = [*(words for words in found if words != draft.recipe), draft.recipe]
        return tuple(found)

    def with_opened(self, opened: Opened) -> Session:
        """Take a file; its proposal becomes the schema, unless this is the same file, looked at more closely."""
        same = self.opened is not None and self.opened.is_same(opened)
        if (same or self.notes.get("restored")) and self.schema is not None:
            return replace(self, opened=opened)
        found = opened.proposal or {}
        first = found.get(BEFORE) or found.get("schema")
        taken = replace(self, opened=opened, now=replace(self.now, schema=first), past=(), future=())
        return taken.changed(f"codebook {found[CODEBOOK]}", schema=found["schema"]) if BEFORE in found else taken

    def changed(self, what: str, *, at: float = 0.0, **parts: Any) -> Session:
        """Settle some parts of the draft anew; what was undone is dropped. The same again is no step."""
        after = replace(self.now, what=what, at=at, **parts)
        if replace(after, what=self.now.what, at=self.now.at) == self.now:
            return self
        return replace(self, now=after, past=(*self.past, self.now)[-MOST_STEPS:], future=())

    def columns(self, table: str = "") -> Words:
        """The columns' words of the schema, or of one of linked tables."""
        schema = self.schema or {}
        found: Words = (schema.get("tables", {}).get(table, {}) if table else schema).get("columns", {})
        return found

    def with_columns(self, what: str, entries: Mapping[str, Words], *, at: float = 0.0, table: str = "") -> Session:
        """Change entries of some columns of the schema, or of one of linked tables; an entry of None is taken out."""
        before = self.columns(table)
        after = {name: {**before.get(name, {}), **words} for name, words in entries.items()}
        cleaned = {name: {k: v for k, v in words.items() if v is not None} for name, words in after.items()}
        columns = {"columns": {**before, **cleaned}}
        if not table:
            return self.changed(what, at=at, schema={**(self.schema or {}), **columns})
        tables = (self.schema or {})["tables"]
        return self.changed(what, at=at, schema={"tables": {**tables, table: {**tables[table], **columns}}})

    def undo(self) -> Session:
        """Back to what was before, where there is such."""
        if not self.past:
            return self
        return replace(self, now=self.past[-1], past=self.past[:-1], future=(self.now, *self.future))

    def redo(self) -> Session:
        """Forward again to what was undone."""
        if not self.future:
            return self
        return replace(self, now=self.future[0], past=(*self.past, self.now), future=self.future[1:])

    def with_job(self, job_id: str) -> Session:
        """Remember a job."""
        return self if job_id in self.job_ids else replace(self, job_ids=(*self.job_ids, job_id))

    def with_note(self, name: str, value: Any) -> Session:
        """Remember something by name."""
        return replace(self, notes={**self.notes, name: value})

    def with_notes(self, notes: Words) -> Session:
        """Remember some things by name."""
        return replace(self, notes={**self.notes, **notes})

    def with_entry(self, entry: Entry) -> Session:
        """One more line of the log."""
        return replace(self, log=(*self.log, entry))

    def to_dict(self) -> dict[str, Any]:
        """The session as JSON-safe words, without the opened file; each schema is told once."""
        drafts = [*self.past, self.now, *self.future]
        schemas: list[Words | None] = []
        places = [_place_of(draft.schema, schemas) for draft in drafts]
        return {
            "id": self.id,
            "schemas": schemas,
            "drafts": [{**draft.to_dict(), "schema": place} for draft, place in zip(drafts, places, strict=True)],
            "place": len(self.past),
            "job_ids": list(self.job_ids),
            "notes": dict(self.notes),
            "log": [entry.to_dict() for entry in self.log],
        }

    @classmethod
    def from_dict(cls, words: Words, opened: Opened | None = None) -> Session:
        """Read a session back from its words and its opened file."""
        schemas, place = words["schemas"], words["place"]
        drafts = tuple(Draft(**{**draft, "schema": schemas[draft["schema"]]}) for draft in words["drafts"])
        return cls(
            id=words["id"],
            opened=opened,
            now=drafts[place],
            past=drafts[:place],
            future=drafts[place + 1 :],
            job_ids=tuple(words["job_ids"]),
            notes=words["notes"],
            log=tuple(Entry(**entry) for entry in words["log"]),
        )


def _place_of(schema: Words | None, schemas: list[Words | None]) -> int:
    """Where a schema stands in the list; one that isn't there yet is added."""
    for place, known in enumerate(schemas):
        if known is schema or known == schema:
            return place
    schemas.append(schema)
    return len(schemas) - 1


class SessionStore:
    """The sessions of a workspace.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.web.session import SessionStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sessions = SessionStore(pathlib.Path(folder))
    ...     session = sessions.begin()
    ...     _ = sessions.change(session.id, lambda session: session.changed("a goal", goal="distribution"))
    ...     print(SessionStore(pathlib.Path(folder)).load(session.id).goal, sessions.load("another"))
    distribution None
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._known: dict[str, Session] = {}
        self._revisions: dict[str, int] = {}
        self._drafts: dict[str, int] = {}

    def revision(self, id: str) -> int:
        """How often a session was saved: a number that changes when the session does."""
        return self._revisions.get(id, 0)

    def revision_of_draft(self, id: str) -> int:
        """A number that changes when what is settled does: schema, recipe, goal or answers."""
        return self._drafts.get(id, 0)

    def begin(self) -> Session:
        """A new session, saved."""
        session = Session.new()
        self.save(session)
        return session

    def load(self, id: str) -> Session | None:
        """The session of this name; None if there is none."""
        with self._lock:
            if id not in self._known and (session := self._read(id)) is not None:
                self._known[id] = session
            return self._known.get(id)

    def save(self, session: Session) -> None:
        """Write `session`, whole or not at all."""
        with self._lock:
            before = self._known.get(session.id)
            if session.opened is not None and (before is None or before.opened != session.opened):
                self._write(session.id, "opened", session.opened.to_dict())
            words = {**session.to_dict(), "has_opened": session.opened is not None}
            self._write(session.id, "session", words)
            self._known[session.id] = session
            self._revisions[session.id] = self.revision(session.id) + 1
            if before is None or before.now != session.now:
                self._drafts[session.id] = self.revision_of_draft(session.id) + 1

    def change(self, id: str, step: Callable[[Session], Session]) -> Session:
        """Apply `step` to the latest session of this name (a new one if there is none) and save what it gives."""
        with self._lock:
            before = self.load(id)
            after = step(before or Session(id=_checked(id)))
            if after != before:
                self.save(after)
            return after

    def remove(self, id: str) -> Session | None:
        """Forget a session; gives what it was at last, so that nothing that belonged to it is overlooked."""
        with self._lock:
            last = self.load(id)
            self._known.pop(id, None)
            DRAWINGS.forget(id)
            for part in ("session", "opened"):
                self._place(id, part).unlink(missing_ok=True)
            return last

    def all(self) -> tuple[Session, ...]:
        """Every session, in the order of their names."""
        with self._lock:
            found = [self.load(file.name.removesuffix(".session.json")) for file in self._folder.glob("*.session.json")]
        return tuple(sorted((session for session in found if session is not None), key=lambda session: session.id))

    def _read(self, id: str) -> Session | None:
        try:
            words = json.loads(self._place(id, "session").read_text(encoding="utf-8"))
            opened = self._place(id, "opened").read_text(encoding="utf-8") if words["has_opened"] else None
            return Session.from_dict(words, Opened.from_dict(json.loads(opened)) if opened else None)
        except (OSError, ValueError, KeyError):
            return None

    def _write(self, id: str, part: str, words: Words) -> None:
        """Whole or not at all; the workspace goes with the process, so nothing is flushed."""
        write_text(self._place(id, part), json.dumps(words, ensure_ascii=False), durable=False)

    def _place(self, id: str, part: str) -> Path:
        return self._folder / f"{_checked(id)}.{part}.json"


def _checked(id: str) -> str:
    """A name that can't lead out of the folder."""
    if not re.fullmatch(r"[\w-]{1,64}", id, flags=re.ASCII):
        raise ValueError("a session's name has letters, digits, _ and - only")
    return id
