"""The project key: 32 random bytes that every pseudonym and every date shift of a project depends on.

The secret must be the key. A plain hash of an identifier, or one with a public salt, is broken by hashing all
identifiers: a billion nine-digit numbers take about a second. So the key is drawn from the operating system, never
from a password or a seed; it lies in a file that only its owner can read, or in an environment variable, and never
in a release, a manifest or a message. What may be named is its `id`, which follows from the key and doesn't give it
away.

Rotation: draw a new key, and make the pseudonyms again from the identifiers. Old and new pseudonyms can't be joined
without both keys and the identifiers.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import FileError, ParameterError
from shoal.files.atomic import FilePath, reporting

__all__ = ["ENVIRONMENT", "Part", "ProjectKey"]

ENVIRONMENT = "SHOAL_PSEUDONYM_KEY"
"""The environment variable that holds a key in hexadecimal, where no file is named."""

Part = str | int
_BYTES = 32
_HEX = re.compile(rf"[0-9a-fA-F]{{{2 * _BYTES}}}")
_OTHERS = 0o077  # rights of anybody but the owner


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A secret of 32 bytes; build it with `draw`, `read` or `find`.

    Examples
    --------
    >>> key = ProjectKey(bytes(range(32)))
    >>> key
    ProjectKey(id='cb8ce1d7df32')
    >>> key.digest("release 1", "patient", 7) == key.digest("release 1", "patient", "7")
    False
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) != _BYTES:
            raise ParameterError("project key", f"must be {_BYTES} random bytes", hint="Make one: ProjectKey.draw().")

    def __repr__(self) -> str:
        return f"ProjectKey(id={self.id!r})"

    @property
    def id(self) -> str:
        """The public name of the key: twelve hexadecimal digits that follow from it."""
        return self.digest("key id").hex()[:12]

    def digest(self, *parts: Part) -> bytes:
        """HMAC-SHA-256 of `parts`, each with its type and its length, so that no two lists of parts read alike."""
        return hmac.digest(self.secret, b"".join(map(_encoded, parts)), "sha256")

    @classmethod
    def draw(cls) -> ProjectKey:
        """A fresh key from the operating system's entropy source."""
        return cls(secrets.token_bytes(_BYTES))

    @classmethod
    def find(cls, path: FilePath | None = None) -> ProjectKey:
        """The key in the file `path`, or in the environment variable ``SHOAL_PSEUDONYM_KEY`` where none is named."""
        if path is not None:
            return cls.read(path)
        text = os.environ.get(ENVIRONMENT)
        if text is None:
            raise ParameterError(
                "pseudonyms",
                "need the project key",
                hint=f"Name its file, or set {ENVIRONMENT}. A new one: shoal pseudonymize --new-key FILE.",
            )
        return cls(_bytes_of(text, f"environment variable {ENVIRONMENT}"))

    @classmethod
    def read(cls, path: FilePath) -> ProjectKey:
        """The key in a file that nobody but its owner may read."""
        with reporting(Path(path)), open(path, "rb") as stream:
            rights, text = os.fstat(stream.fileno()).st_mode, stream.read(4 * _BYTES)
        if os.name == "posix" and rights & _OTHERS:
            raise FileError(str(path), "key file must be its owner's alone", hint=f"chmod 600 {path}")
        return cls(_bytes_of(text.decode("ascii", "replace"), str(path)))

    def write(self, path: FilePath) -> None:
        """Write the key to a new file with mode 0600; an existing file is never replaced."""
        with reporting(Path(path)):
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(self.secret.hex() + "\n")


def _bytes_of(text: str, owner: str) -> bytes:
    found = _HEX.fullmatch(text.strip())
    if found is None:
        raise FileError(owner, f"must hold a key: {2 * _BYTES} hexadecimal digits", hint="It may be damaged or no key.")
    return bytes.fromhex(found[0])


def _encoded(part: Part) -> bytes:
    """Type tag, length, bytes: 7 and "7" differ, and so do ("ab", "c") and ("a", "bc")."""
    tag, content = (b"i", str(part).encode()) if isinstance(part, int) else (b"s", part.encode())
    return tag + len(content).to_bytes(8, "big") + content
