"""Who may use the workbench, and which files may be opened by their path.

On loopback only this machine can connect, and any file may be named that the person who started the workbench can read;
`shoal web` asks for a token there too, since all who can log in to the machine can reach it. Bound to anything else, a
token is always needed, and a path is taken only if it lies beneath a folder that was opened for it. Links are followed
before that is decided, so no link leads out of the folder.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import FileError

__all__ = ["Access", "is_loopback", "make_token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The token, and the places that files may be opened from.

    Parameters
    ----------
    token
        What a browser must show; None: nothing is asked for.
    loopback
        Whether only this machine can connect.
    data
        The folder beneath which files may be opened by path; on loopback any file may.

    Examples
    --------
    >>> from shoal.web.access import Access
    >>> Access.of("127.0.0.1").token is None
    True
    >>> open_to_all = Access.of("0.0.0.0")
    >>> open_to_all.admits("guess"), open_to_all.admits(open_to_all.token), open_to_all.allows("/etc/passwd")
    (False, True, False)
    """

    token: str | None = field(default=None, repr=False)
    loopback: bool = True
    data: Path | None = None

    @classmethod
    def of(cls, host: str, *, data: Path | None = None, token: str | None = None) -> Access:
        """The access to a workbench bound to `host`; a token is made where one is needed and none was given."""
        loopback = is_loopback(host)
        return cls(token=token if token or loopback else make_token(), loopback=loopback, data=data)

    def admits(self, given: str) -> bool:
        """Whether `given` is the token, compared in constant time; anything is where none is asked for."""
        return self.token is None or hmac.compare_digest(given.encode(), self.token.encode())

    def allows(self, path: str | Path) -> bool:
        """Whether a file may be opened by this path."""
        if self.loopback:
            return True
        if self.data is None:
            return False
        try:
            return Path(path).resolve().is_relative_to(self.data.resolve())
        except (OSError, ValueError, RuntimeError):  # loops of links, zeros in names
            return False

    def place(self, path: str | Path) -> Path:
        """The file that `path` leads to, with links followed, or a FileError if it may not be opened."""
        try:
            real = Path(path).expanduser().resolve()
        except (OSError, ValueError, RuntimeError):
            raise FileError("file", "must have a valid path", hint="Check the path.") from None
        if not self.allows(real):
            where = "must be inside the folder given with --data" if self.data else "can't be opened by its path"
            raise FileError(real.name, where, hint="Upload the file from your browser.")
        return real


def make_token() -> str:
    """A fresh token of 256 bits that can stand in an address."""
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    """Whether a host's name or address can be reached from this machine only."""
    name = host.strip().strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
