"""Benches on disk, so that a reload or a second tab finds what was there.

Every change is made on the latest bench under one lock and written whole. The opened file, which is the large part, has
a file of its own that is written only when it changes.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

from shoal.files.atomic import write_text
from shoal.web.bench import Bench
from shoal.web.inspect import Opened

__all__ = ["Sessions"]


class Sessions:
    """The benches of a room.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.web.sessions import Sessions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sessions = Sessions(pathlib.Path(folder))
    ...     bench = sessions.begin()
    ...     _ = sessions.change(bench.id, lambda bench: bench.with_goal("distribution"))
    ...     print(Sessions(pathlib.Path(folder)).load(bench.id).goal, sessions.load("another"))
    distribution None
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._known: dict[str, Bench] = {}

    def begin(self) -> Bench:
        """A new bench, saved."""
        bench = Bench.new()
        self.save(bench)
        return bench

    def load(self, id: str) -> Bench | None:
        """The bench of this name; None if there is none."""
        with self._lock:
            if id not in self._known and (bench := self._read(id)) is not None:
                self._known[id] = bench
            return self._known.get(id)

    def save(self, bench: Bench) -> None:
        """Write `bench`, whole or not at all."""
        with self._lock:
            before = self._known.get(bench.id)
            if bench.opened is not None and (before is None or before.opened != bench.opened):
                write_text(self._place(bench.id, "opened"), json.dumps(bench.opened.to_dict(), ensure_ascii=False))
            words = {**bench.to_dict(), "has_opened": bench.opened is not None}
            write_text(self._place(bench.id, "bench"), json.dumps(words, ensure_ascii=False))
            self._known[bench.id] = bench

    def change(self, id: str, step: Callable[[Bench], Bench]) -> Bench:
        """Apply `step` to the latest bench of this name (a new one if there is none) and save what it gives."""
        with self._lock:
            before = self.load(id)
            after = step(before or Bench(id=_checked(id)))
            if after != before:
                self.save(after)
            return after

    def remove(self, id: str) -> Bench | None:
        """Forget a bench; gives what it was at last, so that nothing that belonged to it is overlooked."""
        with self._lock:
            last = self.load(id)
            self._known.pop(id, None)
            for part in ("bench", "opened"):
                self._place(id, part).unlink(missing_ok=True)
            return last

    def all(self) -> tuple[Bench, ...]:
        """Every bench, in the order of their names."""
        with self._lock:
            found = [self.load(file.name.removesuffix(".bench.json")) for file in self._folder.glob("*.bench.json")]
        return tuple(sorted((bench for bench in found if bench is not None), key=lambda bench: bench.id))

    def _read(self, id: str) -> Bench | None:
        try:
            words = json.loads(self._place(id, "bench").read_text(encoding="utf-8"))
            opened = self._place(id, "opened").read_text(encoding="utf-8") if words["has_opened"] else None
            return Bench.from_dict(words, Opened.from_dict(json.loads(opened)) if opened else None)
        except (OSError, ValueError, KeyError):
            return None

    def _place(self, id: str, part: str) -> Path:
        return self._folder / f"{_checked(id)}.{part}.json"


def _checked(id: str) -> str:
    """A name that can't lead out of the folder."""
    if not re.fullmatch(r"[\w-]{1,64}", id, flags=re.ASCII):
        raise ValueError("a bench's name has letters, digits, _ and - only")
    return id
