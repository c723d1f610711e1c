"""Ed25519 keys and detached signatures in minisign's format, so that anybody can check a release without Shoal.

A key pair is two text files, a signature is one; each line of data is Base64 (‖ joins bytes, n is the key's 8-byte
number):

- public key: ``Ed`` ‖ n ‖ key (32 bytes)
- secret key: ``Ed`` ‖ kdf ‖ ``B2`` ‖ salt (32) ‖ opslimit (8) ‖ memlimit (8) ‖ (n ‖ seed ‖ key ‖ checksum) ⊕ stream,
  where checksum = BLAKE2b-256(``Ed`` ‖ n ‖ seed ‖ key) and stream = scrypt(password, salt) of 104 bytes for kdf =
  ``Sc``; for a key without a password kdf is two zero bytes, the stream is zero and minisign leaves the checksum zero
- signature: ``ED`` ‖ n ‖ s with s = Ed25519(BLAKE2b-512(file)); then a trusted comment, and Ed25519(s ‖ comment)

``Ed`` signatures of the file itself, which minisign made in earlier days, are read too. The limits of scrypt become
N, r and p as in libsodium. Reference: https://jedisct1.github.io/minisign/ (signature format, key format).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import FileError, ParameterError
from shoal.extras import need
from shoal.files.atomic import reporting

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Cost", "PublicKey", "SecretKey", "Signature", "fresh_comment", "is_encrypted", "new_key"]

_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "
_SECRET, _BODY = struct.Struct("<2s2s2s32sQQ104s"), struct.Struct("<8s32s32s32s")
_LONGEST_COMMENT = 1024  # as minisign has it
_LARGEST = 1 << 16  # bytes: keys and signatures are small


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What scrypt may cost, as libsodium counts: operations and bytes; the defaults are minisign's (1 GiB)."""

    operations: int = 1 << 25
    memory: int = 1 << 30

    def stream(self, password: str, salt: bytes) -> bytes:
        """The 104 bytes that hide a secret key."""
        need("cryptography", "key")
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        n, r, p = self.parameters()
        return Scrypt(salt=salt, length=_BODY.size, n=n, r=r, p=p).derive(password.encode())

    def parameters(self) -> tuple[int, int, int]:
        """N, r and p of scrypt, as libsodium picks them.

        Examples
        --------
        >>> Cost().parameters()
        (1048576, 8, 1)
        """
        r, operations = 8, max(self.operations, 32768)
        if operations < self.memory // 32:
            return _power_below(operations // (4 * r)), r, 1
        n = _power_below(self.memory // (128 * r))
        return n, r, max(1, min(operations // 4 // n, 0x3FFFFFFF) // r)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """Who a signature is by."""

    number: bytes
    key: bytes

    @classmethod
    def read(cls, path: str | Path) -> PublicKey:
        """Read a public key file."""
        data = _decoded(_lines(path, "public key")[1], path, "public key")
        if len(data) != 42 or data[:2] != b"Ed":
            raise FileError(str(path), "must be a public key in minisign's format")
        return cls(number=data[2:10], key=data[10:])

    @property
    def text(self) -> str:
        """The key as its file holds it."""
        return f"{_UNTRUSTED}minisign public key {self.name}\n{_encoded(b'Ed' + self.number + self.key)}\n"

    @property
    def name(self) -> str:
        """The key's number as minisign prints it."""
        return self.number[::-1].hex().upper()

    def accepts(self, signature: Signature, data: bytes) -> bool:
        """Whether `signature` was made over `data` by the owner of this key, comment included."""
        signed = _prehashed(data) if signature.algorithm == b"ED" else data
        joined = signature.signature + signature.comment.encode()
        return (
            hmac.compare_digest(signature.number, self.number)
            and self._fits(signature.signature, signed)
            and self._fits(signature.all_over, joined)
        )

    def _fits(self, signature: bytes, data: bytes) -> bool:
        need("cryptography", "signature")
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, data)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A detached signature: of the file, and of that signature with its trusted comment."""

    algorithm: bytes
    number: bytes
    signature: bytes
    comment: str
    all_over: bytes

    @classmethod
    def read(cls, path: str | Path) -> Signature:
        """Read a signature file: four lines, and nothing that nobody signed but one comment of a moderate length."""
        what = "signature"
        lines = _lines(path, what, least=4)
        if any(lines[4:]) or len(lines) > 5 or len(lines[0]) > _LONGEST_COMMENT:
            raise FileError(str(path), "must be a signature in minisign's format and nothing more")
        data, all_over = _decoded(lines[1], path, what), _decoded(lines[3], path, what)
        fits = len(data) == 74 and data[:2] in (b"ED", b"Ed") and len(all_over) == 64
        if not fits or not lines[2].startswith(_TRUSTED):
            raise FileError(str(path), "must be a signature in minisign's format")
        comment = lines[2].removeprefix(_TRUSTED)
        return cls(algorithm=data[:2], number=data[2:10], signature=data[10:], comment=comment, all_over=all_over)

    @property
    def text(self) -> str:
        """The signature as its file holds it."""
        data = _encoded(self.algorithm + self.number + self.signature)
        head = f"{_UNTRUSTED}signature from minisign secret key"
        return f"{head}\n{data}\n{_TRUSTED}{self.comment}\n{_encoded(self.all_over)}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKey:
    """A key to sign with; it is never printed."""

    number: bytes
    seed: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, password: str | None = None) -> SecretKey:
        """Read a secret key file; a ParameterError says that it needs a password, or another one."""
        kdf, salt, cost, body = _parts(path)
        if kdf == b"Sc":
            if password is None:
                raise ParameterError("key", "needs its password", hint="Use --password-file.")
            body = _xor(body, cost.stream(password, salt))
        number, seed, key, checksum = _BODY.unpack(body)
        made = cls(number=number, seed=seed)
        whole = made.public.key == key and checksum in (made._checksum(), bytes(32) if kdf != b"Sc" else b"")
        if not whole and kdf == b"Sc":
            raise ParameterError("key", "password does not match this key")
        if not whole:
            raise FileError(str(path), "must be an intact secret key: its public half does not match")
        return made

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(number=self.number, key=self._private().public_key().public_bytes_raw())

    def sign(self, data: bytes, comment: str) -> Signature:
        """Sign `data` (by its BLAKE2b-512), and the one-line `comment` with it."""
        if "\n" in comment or "\r" in comment:
            raise ParameterError("sign", "comment must be one line")
        signature = self._private().sign(_prehashed(data))
        all_over = self._private().sign(signature + comment.encode())
        return Signature(algorithm=b"ED", number=self.number, signature=signature, comment=comment, all_over=all_over)

    def text(self, password: str | None, cost: Cost) -> str:
        """The key as its file holds it, under `password` where there is one."""
        key = self.public.key
        if password is None:
            data = _SECRET.pack(b"Ed", bytes(2), b"B2", bytes(32), 0, 0, self.number + self.seed + key + bytes(32))
        else:
            salt = secrets.token_bytes(32)
            body = _xor(self.number + self.seed + key + self._checksum(), cost.stream(password, salt))
            data = _SECRET.pack(b"Ed", b"Sc", b"B2", salt, cost.operations, cost.memory, body)
        return f"{_UNTRUSTED}minisign {'' if password is None else 'encrypted '}secret key\n{_encoded(data)}\n"

    def _private(self) -> Ed25519PrivateKey:
        need("cryptography", "key")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)

    def _checksum(self) -> bytes:
        return hashlib.blake2b(b"Ed" + self.number + self.seed + self.public.key, digest_size=32).digest()


def new_key(path: str | Path, *, password: str | None = None, cost: Cost | None = None) -> tuple[Path, Path]:
    """Make a key pair: the secret key at `path`, readable by its owner only, the public key beside it as ``.pub``.

    Parameters
    ----------
    path
        Name it ``publisher.key``; the public key is then ``publisher.pub``. Neither may exist yet.
    password
        Without one, whoever can read the file can sign.
    cost
        What guessing the password costs; by default what minisign asks for: 1 GiB and some seconds a guess.

    Examples
    --------
    >>> import tempfile
    >>> from shoal.release.minisign import PublicKey, SecretKey, new_key
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret, public = new_key(f"{folder}/publisher.key")
    ...     signature = SecretKey.read(secret).sign(b"text", "today")
    ...     PublicKey.read(public).accepts(signature, b"text"), PublicKey.read(public).accepts(signature, b"other")
    (True, False)
    """
    secret = Path(path)
    public = secret.with_suffix(".pub") if secret.suffix == ".key" else secret.with_name(f"{secret.name}.pub")
    for place in (secret, public):
        if place.exists() or place.is_symlink():
            raise FileError(str(place), "exists, and a key is never overwritten", hint="Choose another file.")
    if password == "":
        raise ParameterError("key", "password must not be empty", hint="Omit it for a key without a password.")
    made = SecretKey(number=secrets.token_bytes(8), seed=secrets.token_bytes(32))
    _write_new(secret, made.text(password, cost or Cost()), 0o600)
    _write_new(public, made.public.text, 0o644)
    return secret, public


def is_encrypted(path: str | Path) -> bool:
    """Whether a secret key file needs a password."""
    return _parts(path)[0] == b"Sc"


def fresh_comment(name: str) -> str:
    """The trusted comment that minisign makes by default."""
    return f"timestamp:{int(time.time())}\tfile:{name}\thashed"


def _parts(path: str | Path) -> tuple[bytes, bytes, Cost, bytes]:
    data = _decoded(_lines(path, "secret key")[1], path, "secret key")
    if len(data) != _SECRET.size:
        raise FileError(str(path), "must be a secret key in minisign's format")
    algorithm, kdf, checksum, salt, operations, memory, body = _SECRET.unpack(data)
    if algorithm != b"Ed" or checksum != b"B2" or kdf not in (b"Sc", bytes(2)):
        raise FileError(str(path), "must be a secret key in minisign's format")
    if kdf == b"Sc" and not (memory <= 1 << 32 and operations <= 1 << 32):
        raise FileError(str(path), "needs more than 4 GiB of memory to be opened", hint="Make another key.")
    return kdf, salt, Cost(operations=operations, memory=memory), body


def _lines(path: str | Path, what: str, least: int = 2) -> list[str]:
    with reporting(Path(path)), open(path, "rb") as stream:
        data = stream.read(_LARGEST + 1)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = []
    if len(lines) < least or len(data) > _LARGEST or not lines[0].startswith(_UNTRUSTED):
        raise FileError(str(path), f"must be a {what} in minisign's format")
    return [line.removesuffix("\r") for line in lines]


def _write_new(path: Path, text: str, mode: int) -> None:
    with reporting(path), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(text.encode())


def _decoded(line: str, path: str | Path, what: str) -> bytes:
    try:
        return base64.b64decode(line, validate=True)
    except ValueError:
        raise FileError(str(path), f"must be a {what} in minisign's format") from None


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _prehashed(data: bytes) -> bytes:
    return hashlib.blake2b(data).digest()


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def _power_below(limit: int) -> int:
    """The smallest power of two above half of `limit`, at least 2."""
    power = 2
    while power <= limit // 2:
        power *= 2
    return power
