"""Two doors of randomness: streams keyed by a seed, for what must repeat, and by a secret key, for who gets which row.

``stream(seed, "mask", 0)`` and ``stream(seed, "order")`` are statistically independent, and adding a stream changes
no other draw. A seed may be chosen, written down and guessed: nothing that hides a person may rest on it. Which row a
person of a group gets, and the order of the released rows, come from `secret(key, ...)`, with a fresh 256-bit key that
lies with the inside files: whoever has it and the input can undo both.

Noise that carries a differential-privacy claim never comes from here: a seeded generator can be replayed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from shoal.arrays import Generator

__all__ = ["branch", "branch_key", "fresh_key", "fresh_seed", "is_repeatable", "repeatable", "secret", "stream"]

_GIVEN: ContextVar[str | None] = ContextVar("given key", default=None)


def fresh_seed() -> int:
    """Draw a 63-bit seed (it fits a TOML integer) from the operating system's entropy source."""
    return secrets.randbits(63)


def stream(seed: int, *names: str | int) -> Generator:
    """Return the generator that belongs to `seed` and `names`, the same one on every call.

    Examples
    --------
    >>> from shoal.rng import stream
    >>> bool(stream(7, "mask").integers(100) == stream(7, "mask").integers(100))
    True
    """
    return _generator([seed, *_words(hashlib.sha256(_path(names)).digest())])


def branch(seed: int, *names: str | int) -> int:
    """The seed that belongs to `seed` and `names`: a part of a run that must repeat by itself."""
    digest = hashlib.sha256(_path(("branch", seed, *names))).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def branch_key(key: str, *names: str | int) -> str:
    """The key that belongs to a secret `key` and `names`."""
    return hmac.new(bytes.fromhex(key), _path(("branch", *names)), "sha256").hexdigest()


def fresh_key() -> str:
    """Draw a 256-bit key, in hexadecimal, from the operating system's entropy source."""
    return _GIVEN.get() or secrets.token_hex(32)


def secret(key: str, *names: str | int) -> Generator:
    """Return the generator that belongs to a secret `key` and `names`: nobody without the key can repeat it.

    Examples
    --------
    >>> from shoal.rng import fresh_key, secret
    >>> key = fresh_key()
    >>> bool(secret(key, "order").integers(100) == secret(key, "order").integers(100))
    True
    """
    return _generator(_words(hmac.new(bytes.fromhex(key), _path(names), "sha256").digest()))


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Inside the block every key follows from `seed`, so that studies and tests repeat; nothing made there is written.

    Examples
    --------
    >>> from shoal.rng import fresh_key, repeatable
    >>> with repeatable(7):
    ...     first = fresh_key()
    >>> with repeatable(7):
    ...     print(first == fresh_key())
    True
    """
    token = _GIVEN.set(hashlib.sha256(f"repeatable:{seed}".encode()).hexdigest())
    try:
        yield
    finally:
        _GIVEN.reset(token)


def is_repeatable() -> bool:
    """Whether keys are given by `repeatable` at the moment, and so are no secret."""
    return _GIVEN.get() is not None


def _path(names: tuple[str | int, ...]) -> bytes:
    return "\x1f".join(f"{type(name).__name__}:{name}" for name in names).encode()


def _words(digest: bytes) -> list[int]:
    return [int(word) for word in np.frombuffer(digest, dtype=np.uint32)]


def _generator(entropy: list[int]) -> Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
