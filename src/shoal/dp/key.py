"""The key file of an account: its secret, and the lock that lets one process charge at a time.

The account itself is replaced at every charge, so a lock on it would be lost; the key file stays the same for ever.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError

__all__ = ["locked_key", "read_key"]

_LENGTH = 64


@contextmanager
def locked_key(place: Path, account: Path, *, begin: bool) -> Iterator[bytes]:
    """Hold the lock of the key file `place` and give its key; made new where an `account` is begun."""
    from shoal.files.place import reporting

    fresh = begin and not account.exists()
    with reporting(place):
        handle = os.open(place, os.O_RDWR | (os.O_CREAT if fresh else 0), 0o600)
    try:
        _lock(handle)
        if fresh and os.fstat(handle).st_size == 0:
            _write_key(handle)
        elif not account.exists():
            hint = "Bring it back from a copy. Only if there never was one, delete the key file beside it."
            raise FileError(str(account), "the account must not vanish while its key is there", hint=hint)
        try:
            yield read_key(place)
        finally:
            if fresh and not account.exists():
                os.ftruncate(handle, 0)  # the beginning failed, and another try may begin anew
    finally:
        os.close(handle)  # this also opens the lock


def read_key(place: Path) -> bytes:
    """The key, or a FileError."""
    from shoal.files.place import reporting

    with reporting(place):
        key = place.read_bytes().strip()
    if len(key) != _LENGTH:
        raise FileError(str(place), "must be the key of an account", hint="Bring back an unharmed copy.")
    return key


def _write_key(handle: int) -> None:
    os.write(handle, secrets.token_hex(_LENGTH // 2).encode())
    os.fsync(handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)  # far behind the key, which others may read meanwhile
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
