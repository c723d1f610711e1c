"""Pseudonyms: the same person gets the same token in all tables and years of a project, and nobody else can tell whose.

    pseudonym = a part of HMAC-SHA-256(key, enc(scope) enc(domain) enc(identifier)),   enc = type, length, bytes

`scope` names the project or recipient: under another scope, or another key, the tokens of the same people have nothing
in common. `domain` says what is named (patient, doctor), so that patient 7 and doctor 7 don't look alike.

Promised: equal identifiers get equal pseudonyms, different ones different pseudonyms (checked for every column; a
collision is refused, and never mended by a counter, which would depend on who came first). Whoever has no key can't
compute one. Not promised: anonymity. A pseudonym is a token that ties a person's rows together, and rows that are tied
together tell more than rows that are not; `shoal.release.reidentification_bound` says what then holds.

With n persons and b bits, n (n − 1) / 2^(b+1) pairs collide on average: hex has 128 bits, uuid 122, d digits 3.32 d.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import GuaranteeError, ParameterError, Problems, SchemaError
from shoal.frame import Frame, adopt, enter, leave, series, with_columns
from shoal.pseudonym.project_key import ProjectKey, each_identifier
from shoal.schema import Schema
from shoal.schema.placeholder_ids import check_names_somebody

__all__ = ["DATE_SHIFT", "Pseudonyms", "check_scope", "digits_for", "expected_collisions"]

DATE_SHIFT = "date shift"
"""What date shifts are drawn for: no pseudonym may show a part of the same digest."""

_DIGITS = re.compile(r"digits:([1-9][0-9]?)")
_FEWEST_DIGITS, _MOST_DIGITS = 6, 36
EMPTY_TOKENS = "Leave these cells empty: what is missing stays missing."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonyms:
    """The pseudonyms of one project key and scope.

    Parameters
    ----------
    key
        The project key; `ProjectKey.find` reads it from a file or the environment.
    scope
        The name of the project or recipient. Tables of one scope can be joined by their pseudonyms, of two can't.
    format
        ``"hex"`` (32 digits), ``"uuid"``, or ``"digits:12"`` for a number of so many digits, written as text with
        its leading zeros. More digits make a collision, which is refused, less likely.
    as_text
        Whether 7 and "7" are one identifier, as where one year's file has numbers and the next has texts. "07" is
        another one in any case.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.pseudonym import ProjectKey, Pseudonyms
    >>> names = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry", format="digits:10")
    >>> tokens = names.of(pl.Series("patient", [7, 8, None, 7]))
    >>> tokens[0] == tokens[3], tokens[0] == tokens[1], tokens[2]
    (True, False, None)
    """

    key: ProjectKey
    scope: str
    format: str = "hex"
    as_text: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.key, ProjectKey):
            raise ParameterError("pseudonyms", "key must be a ProjectKey", got=type(self.key).__name__)
        check_scope("pseudonyms", self.scope)
        self._digits()

    def of(self, identifiers: pl.Series, domain: str | None = None) -> pl.Series:
        """The pseudonym of each identifier; missing stays missing.

        Raises
        ------
        GuaranteeError
            Two identifiers have the same pseudonym: choose a longer format.
        """
        name = identifiers.name if domain is None else domain
        if name == DATE_SHIFT:
            raise ParameterError("pseudonyms", f"can't be made of something called '{DATE_SHIFT}'", hint="Rename it.")
        spelled, made = each_identifier(identifiers, lambda one: self._token(name, one), as_text=self.as_text)
        if len(set(made.values())) < len(made):
            raise GuaranteeError(
                "pseudonyms",
                f"of column '{identifiers.name}' must all differ, and two are the same",
                hint=f'Choose a longer format: "hex", or "digits:{digits_for(len(made))}" and more.',
            )
        tokens = [made.get(one) for one in spelled.to_list()]
        return pl.Series(identifiers.name, tokens, dtype=pl.String)

    def apply(self, table: Any, schema: Schema) -> Any:
        """`table`, of the same type, with a pseudonym in the place of each identifier that the schema wants one of."""
        if not schema.pseudonym:
            raise SchemaError(
                "pseudonyms", "the schema names no column to make them of", hint="Declare pseudonym = true for it."
            )
        frame = enter(table)
        problems = Problems()
        problems.each(lambda name: check_names_somebody(series(frame, name), "token", EMPTY_TOKENS), schema.pseudonym)
        problems.raise_if_any()
        return leave(self.replaced(frame, schema), like=table)

    def replaced(self, frame: Frame, schema: Schema) -> Frame:
        """The same of some rows of a table whose identifiers are known to name somebody."""
        new = {name: self.of(series(frame, name), domain) for name, domain in schema.pseudonym.items()}
        return with_columns(frame, {name: adopt(one, frame) for name, one in new.items()})

    def to_dict(self) -> dict[str, Any]:
        """What may be told: scope, format and the key's id; never the key."""
        words: dict[str, Any] = {"scope": self.scope, "format": self.format, "key": self.key.id}
        return words | ({"as_text": True} if self.as_text else {})

    @classmethod
    def from_dict(cls, words: Mapping[str, Any], key: ProjectKey) -> Pseudonyms:
        """Read it from the words of `to_dict`; the key must be the one that they name."""
        if words.get("key") != key.id:
            raise ParameterError("pseudonyms", f"need the project key {words.get('key')}", got=f"key {key.id}")
        return cls(key=key, scope=words["scope"], format=words["format"], as_text=bool(words.get("as_text", False)))

    def _token(self, domain: str, identifier: str | int) -> str:
        digest = self.key.digest(self.scope, domain, identifier)
        if self.format == "hex":
            return digest[:16].hex()
        if self.format == "uuid":
            return str(uuid.UUID(bytes=_version_8(digest[:16])))
        digits = self._digits()
        return f"{int.from_bytes(digest, 'big') % 10**digits:0{digits}d}"

    def _digits(self) -> int:
        if self.format in ("hex", "uuid"):
            return 0
        found = _DIGITS.fullmatch(self.format) if isinstance(self.format, str) else None
        if found is None or not _FEWEST_DIGITS <= int(found[1]) <= _MOST_DIGITS:
            raise ParameterError(
                "pseudonyms",
                f"format must be hex, uuid, or digits:D with D from {_FEWEST_DIGITS} to {_MOST_DIGITS}",
                got=repr(self.format)[:40],
            )
        return int(found[1])


def expected_collisions(n: int, space: int) -> float:
    """How many pairs of n identifiers have the same pseudonym on average, where there are `space` of them."""
    return n * (n - 1) / 2 / space


def digits_for(n: int) -> int:
    """Digits with which n identifiers hardly collide: 2 log2(n) + 30 bits, one pair in two billion tables."""
    fits = (d for d in range(_FEWEST_DIGITS, _MOST_DIGITS) if expected_collisions(n, 10**d) <= 2**-31)
    return next(fits, _MOST_DIGITS)


def check_scope(owner: str, scope: object) -> None:
    """Hold a scope to be a text that names something."""
    if not isinstance(scope, str) or not scope.strip() or len(scope) > 200:
        raise ParameterError(owner, "scope must be a short text that names the project or recipient")


def _version_8(content: bytes) -> bytes:
    """Sixteen bytes as a UUID of version 8, the one whose content is one's own (RFC 9562)."""
    out = bytearray(content)
    out[6], out[8] = out[6] & 0x0F | 0x80, out[8] & 0x3F | 0x80
    return bytes(out)
