"""The private folder of a workbench: uploads, jobs and results live here and go when it closes.

Only its owner can enter it (mode 0700). It is removed on `close`, at the end of the process, or, if the process was
killed, when the next workspace is made: a workspace is known to be left behind by its lock, which ends with its
process. Removing is plain deletion; a disk may retain deleted data until they are overwritten.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from shoal.errors import FileError
from shoal.web.session import SessionStore

__all__ = ["Workspace", "plain_name"]

_PREFIX = "shoal-room-"
_LOCK = "room.lock"
_LONGEST = 120


class Workspace:
    """A private folder; make one with `create`.

    Examples
    --------
    >>> from shoal.web.workspace import Workspace
    >>> with Workspace.create() as workspace:
    ...     place = workspace.receive("../../people.csv")
    ...     print(place.name, place.is_relative_to(workspace.path), oct(workspace.path.stat().st_mode & 0o777))
    people.csv True 0o700
    >>> workspace.path.exists()
    False
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock
        self._before_close: list[Callable[[], None]] = []
        atexit.register(self.close)

    @classmethod
    def create(cls, folder: Path | None = None) -> Workspace:
        """Make a new workspace in `folder` (None: where temporary files go), and remove those left behind there."""
        parent = Path(tempfile.gettempdir()) if folder is None else Path(folder)
        try:
            parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _sweep(parent)
            return cls(*_begun(parent))
        except OSError as error:
            got = (error.strerror or "").lower()
            hint = "Choose another folder, or free some space."
            raise FileError(str(parent), "must be a folder that can be written to", got=got, hint=hint) from None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def uploads(self) -> Path:
        """Where received files lie."""
        return self._inner("uploads")

    @property
    def jobs(self) -> Path:
        """Where jobs and their results lie."""
        return self._inner("jobs")

    @property
    def compared(self) -> Path:
        """Where finished recipes of comparisons are kept, so that none is run twice."""
        return self._inner("compared")

    @cached_property
    def sessions(self) -> SessionStore:
        """What the browsers' sessions work on."""
        return SessionStore(self._inner("sessions"))

    @cached_property
    def seed(self) -> int:
        """A secret seed of this workspace, under which comparisons repeat."""
        return secrets.randbits(62)

    @property
    def is_open(self) -> bool:
        """Whether the folder is still there."""
        return self._lock is not None

    def receive(self, name: str) -> Path:
        """Where an upload of this file name is to be written: a folder of its own, and a name without tricks."""
        folder = self.uploads / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder / plain_name(name)

    def receive_together(self, mark: str, name: str) -> Path:
        """The same for one of several files that are opened together; `mark`, 16 hexadecimal digits, names them."""
        place = self.together(mark) / plain_name(name)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.exists():
            raise FileError(place.name, "must be sent once", hint="Linked tables need files of different names.")
        return place

    def together(self, mark: str) -> Path:
        """The folder of files that were sent together."""
        if not re.fullmatch(r"[0-9a-f]{16}", mark):
            raise FileError("files", "must be sent by the workbench's own page")
        return self.uploads / mark / "linked-tables"

    def receive_codebook(self, mark: str, name: str) -> Path:
        """Where the codebook of a file that is still to come is to be written; `mark`, as above, names it then."""
        place = self.together(mark).parent / plain_name(name)
        place.parent.mkdir(mode=0o700)
        return place

    def codebook(self, mark: str) -> Path:
        """The codebook that was sent under this mark."""
        found = [path for path in self.together(mark).parent.glob("*") if path.is_file()]
        if len(found) != 1:
            raise FileError("codebook", "must be sent before its file", hint="Choose it again.")
        return found[0]

    def holds(self, path: Path) -> bool:
        """Whether `path` lies in this workspace."""
        return Path(path).resolve().is_relative_to(self.path)

    def forget(self, upload: Path | None = None) -> None:
        """Remove one upload with its folder, or (None) all uploads, jobs, results and sessions."""
        if upload is None:
            for inner in ("uploads", "jobs", "compared", "sessions"):
                shutil.rmtree(self.path / inner, ignore_errors=True)
            self.__dict__.pop("sessions", None)
            return
        folder = Path(upload).resolve().parent
        if folder.parent == self.uploads.resolve():
            shutil.rmtree(folder, ignore_errors=True)

    def before_close(self, action: Callable[[], None]) -> None:
        """Call `action` before the folder is removed."""
        self._before_close.append(action)

    def close(self) -> None:
        """Remove the workspace and everything in it; once is enough."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        for action in self._before_close:
            with suppress(Exception):
                action()
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(lock)
        atexit.unregister(self.close)

    def _inner(self, name: str) -> Path:
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder


def plain_name(name: str) -> str:
    """A file name without folders, control characters and leading dots; its ending stays."""
    last = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r"[^\w .()+-]", "_", last).strip(" .") or "table"
    stem, dot, ending = kept.partition(".")
    return kept if len(kept) <= _LONGEST else f"{stem[: _LONGEST // 2]}{dot}{ending[-_LONGEST // 2 :]}"


def _begun(parent: Path) -> tuple[Path, int]:
    """A new folder and its lock; a sweeper that came between the two, and took it for one left behind, is outlived."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)).resolve()  # mode 0700
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if _try_lock(lock) and (path / _LOCK).exists():
            return path, lock
        os.close(lock)


def _sweep(parent: Path) -> None:
    for left in parent.glob(f"{_PREFIX}*"):
        if _left_behind(left):
            shutil.rmtree(left, ignore_errors=True)


def _left_behind(workspace: Path) -> bool:
    """Whether no process holds the workspace's lock any more; a workspace of somebody else's is left alone."""
    try:
        lock = os.open(workspace / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        return _try_lock(lock)
    finally:
        os.close(lock)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
