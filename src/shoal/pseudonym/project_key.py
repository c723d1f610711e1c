"""The project key: 32 random bytes that every pseudonym and every date shift of a project depends on.

The secret must be the key. A plain hash of an identifier, or one with a public salt, is broken by hashing all
identifiers: a billion nine-digit numbers take about a second. So the key is drawn from the operating system, never
from a password or a seed; it lies in a file that only its owner can read, or in an environment variable, and never
in a release, a manifest or a message. What may be named is its `id`, which follows from the key and doesn't give it
away.

Rotation: draw a new key, and make the pseudonyms again from the identifiers. Old and new pseudonyms can't be joined
without both keys and the identifiers.

Identifiers in the one spelling that a pseudonym is made from.

7, "7" and "07" are three identifiers, and " 7" is refused, as nobody knows which of them it is. Missing stays
missing: a pseudonym for "nobody" would make one huge person.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from shoal.errors import ColumnError, FileError, ParameterError
from shoal.files.atomic import FilePath, reporting

__all__ = ["ENVIRONMENT", "Part", "ProjectKey", "each_identifier"]

ENVIRONMENT = "SHOAL_PSEUDONYM_KEY"
"""The environment variable that holds a key in hexadecimal, where no file is named."""
Value = TypeVar("Value")
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
    ProjectKey(id='9b57fdf3225f')
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
    """A number: 2 and sixteen bytes, the first the highest; a text: 4, its length in four bytes, and itself in UTF-8.

    So 7 and "7" differ, and so do ("ab", "c") and ("a", "bc").
    """
    if isinstance(part, int):
        return b"\x02" + part.to_bytes(16, "big", signed=True)
    content = part.encode()
    return b"\x04" + len(content).to_bytes(4, "big") + content


def each_identifier(
    column: pl.Series, make: Callable[[str | int], Value], *, as_text: bool = False
) -> tuple[pl.Series, dict[str | int, Value]]:
    """The identifiers of a column, and what `make` gives for each distinct one; missing ones are left out."""
    spelled = _spelled(column)
    if as_text and spelled.dtype != pl.String:
        spelled = spelled.cast(pl.String)
    return spelled, {one: make(one) for one in spelled.drop_nulls().unique(maintain_order=True).to_list()}


def _spelled(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _checked_texts(column)
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype.is_float():
        return _whole(column)
    if not column.dtype.is_integer():
        raise ColumnError(
            column.name, "holds identifiers, which must be whole numbers or texts", got=f"type {column.dtype}"
        )
    return column


def _checked_texts(column: pl.Series) -> pl.Series:
    texts = column.drop_nulls().unique().to_list()
    wrong = sum(not one or one != one.strip() or not unicodedata.is_normalized("NFC", one) for one in texts)
    if wrong:
        raise ColumnError(
            column.name,
            "holds identifiers, which must be texts without blanks at their ends, in Unicode's composed form",
            got=f"{wrong} others",
            hint="Correct their spelling: two spellings would be two persons.",
        )
    return column


def _whole(column: pl.Series) -> pl.Series:
    """Whole numbers that came as floats, as they do beside missing ones."""
    column = column.fill_nan(None)
    known = column.drop_nulls()
    if not (known.is_finite() & (known.abs() <= 2**53) & (known == known.round())).all():
        raise ColumnError(column.name, "holds identifiers, which must be whole numbers or texts", got="fractions")
    return column.cast(pl.Int64)
