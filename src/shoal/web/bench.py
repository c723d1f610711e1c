"""What one browser session works on: the opened file, the schema, the recipes tried, the jobs.

A bench is a value: each change gives a new one, so that two tabs never see a half-made change, and undo is a step back
in the list of recipes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.web.inspect import Opened

__all__ = ["Bench"]

Words = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The state of one session; build it with `new`.

    Parameters
    ----------
    id
        Its name in the address.
    opened
        The file; None before one is opened.
    schema
        The schema in words (`shoal.Schema.to_dict`), as corrected so far.
    goal
        The name of the goal chosen last.
    recipes, place
        Every recipe tried, oldest first, and which of them is the current one (−1: none).
    job_ids
        The jobs started here, oldest first.
    notes
        Small answers of the pages (the output format, a limit), by name.

    Examples
    --------
    >>> from shoal.web.bench import Bench
    >>> bench = Bench.new().with_recipe({"coarsen": [{"method": "mondrian", "k": 5}]})
    >>> bench = bench.with_recipe({"coarsen": [{"method": "mondrian", "k": 10}]})
    >>> bench.recipe["coarsen"][0]["k"], bench.undo().recipe["coarsen"][0]["k"], bench.undo().redo() == bench
    (10, 5, True)
    """

    id: str
    opened: Opened | None = None
    schema: Words | None = None
    goal: str | None = None
    recipes: tuple[Words, ...] = ()
    place: int = -1
    job_ids: tuple[str, ...] = ()
    notes: Words = field(default_factory=dict)

    @classmethod
    def new(cls) -> Bench:
        """An empty bench with a fresh name that nobody can guess."""
        return cls(id=secrets.token_urlsafe(12))

    @property
    def recipe(self) -> Words | None:
        """The current recipe in words; None before one is chosen."""
        return self.recipes[self.place] if self.place >= 0 else None

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier recipe."""
        return self.place > 0

    @property
    def can_redo(self) -> bool:
        """Whether a recipe was undone and no other chosen since."""
        return self.place < len(self.recipes) - 1

    def with_opened(self, opened: Opened) -> Bench:
        """Take a file; its proposal becomes the schema, unless this is the same file, looked at more closely."""
        proposed = opened.proposal["schema"] if opened.proposal else None
        if self.opened is not None and self.opened.is_same(opened) and self.schema is not None:
            return replace(self, opened=opened)
        return replace(self, opened=opened, schema=proposed)

    def with_schema(self, words: Words) -> Bench:
        """Take a corrected schema."""
        return replace(self, schema=dict(words))

    def with_column(self, name: str, **entries: Any) -> Bench:
        """Change entries of one column of the schema; an entry of None is taken out."""
        columns = {} if self.schema is None else dict(self.schema["columns"])
        words = {**columns.get(name, {}), **entries}
        columns[name] = {entry: value for entry, value in words.items() if value is not None}
        return replace(self, schema={**(self.schema or {}), "columns": columns})

    def with_goal(self, name: str | None) -> Bench:
        """Remember the goal."""
        return replace(self, goal=name)

    def with_recipe(self, words: Words) -> Bench:
        """Take a recipe as the current one; what was undone is dropped. The same recipe again is no step."""
        if words == self.recipe:
            return self
        kept = self.recipes[: self.place + 1]
        return replace(self, recipes=(*kept, dict(words)), place=len(kept))

    def undo(self) -> Bench:
        """Back to the earlier recipe, where there is one."""
        return replace(self, place=self.place - 1) if self.can_undo else self

    def redo(self) -> Bench:
        """Forward again to a recipe that was undone."""
        return replace(self, place=self.place + 1) if self.can_redo else self

    def with_job(self, job_id: str) -> Bench:
        """Remember a job."""
        return self if job_id in self.job_ids else replace(self, job_ids=(*self.job_ids, job_id))

    def without_job(self, job_id: str) -> Bench:
        """Forget a job."""
        return replace(self, job_ids=tuple(known for known in self.job_ids if known != job_id))

    def with_note(self, name: str, value: Any) -> Bench:
        """Remember a small answer."""
        return replace(self, notes={**self.notes, name: value})

    def to_dict(self) -> dict[str, Any]:
        """The bench as JSON-safe words, without the opened file."""
        return {
            "id": self.id,
            "schema": self.schema,
            "goal": self.goal,
            "recipes": [dict(words) for words in self.recipes],
            "place": self.place,
            "job_ids": list(self.job_ids),
            "notes": dict(self.notes),
        }

    @classmethod
    def from_dict(cls, words: Words, opened: Opened | None = None) -> Bench:
        """Read a bench back from its words and its opened file."""
        return cls(
            id=words["id"],
            opened=opened,
            schema=words["schema"],
            goal=words["goal"],
            recipes=tuple(words["recipes"]),
            place=words["place"],
            job_ids=tuple(words["job_ids"]),
            notes=words["notes"],
        )
