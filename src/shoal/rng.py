"""Repeatable randomness: independent streams, keyed by a seed and by names.

``stream(seed, "mask", 0)`` and ``stream(seed, "order")`` are statistically independent, and adding a stream changes
no other draw. A seed that nobody chose comes from the operating system's entropy source. The seed of a release
must stay inside: whoever has it and the input can replay every choice.

Noise that carries a differential-privacy claim never comes from here: a seeded generator can be replayed.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from shoal.arrays import Generator

__all__ = ["fresh_seed", "stream"]


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
    path = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    digest = hashlib.sha256(path.encode()).digest()
    words = [int(word) for word in np.frombuffer(digest, dtype=np.uint32)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
