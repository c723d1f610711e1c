"""Where to begin with a proposal of very many columns: which few decide most, and which can be answered together."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["advice"]

_MANY = 25  # columns of a role, or undecided, that nobody looks through one by one
_FEW, _SORTS, _ALIKE = 3, 3, 4  # columns that decide most; sorts named; columns that make one
_LONGEST = 24  # letters of a name that is shown


def advice(n_columns: int, sensitive: Sequence[str], undecided: Sequence[str]) -> tuple[str, ...]:
    """Return two lines that say how much is open and where to begin; none where a person can look through all.

    `sensitive` and `undecided` are columns in the order in which they tell people apart, the most telling ones first.

    Examples
    --------
    >>> print(*advice(40, ["cost"], [f"q_{i}" for i in range(30)]), sep="\\n")
    1 of 40 columns is sensitive, so released as it is, and 30 are undecided, so masked. Begin with q_0, q_1, q_2.
    One answer may do for many: q_* (30 columns). What nobody needs is left out by role = "identifier".
    """
    if max(len(sensitive), len(undecided)) < _MANY:
        return ()
    n = len(sensitive)
    released = f"{n:,} of {n_columns:,} columns {'is' if n == 1 else 'are'} sensitive, so released as "
    released += "it is" if n == 1 else "they are"
    masked = f", and {len(undecided):,} are undecided, so masked" if undecided else ""
    first = ", ".join(map(_short, (undecided or sensitive)[:_FEW]))
    sorts = ", ".join(f"{_short(start)}* ({n:,} columns)" for start, n in _sorts([*sensitive, *undecided]))
    together = f"One answer may do for many: {sorts}. " if sorts else ""
    return (
        f"{released}{masked}. Begin with {first}.",
        f'{together}What nobody needs is left out by role = "identifier".',
    )


def _sorts(names: Sequence[str]) -> list[tuple[str, int]]:
    """The beginnings that most of the names share, up to a mark or a number, and how many have each."""
    counted: dict[str, int] = {}
    for name in names:
        if (start := re.match(r"[^\W\d_]+(?:[_. -]|(?=\d))", name)) is not None:
            counted[start[0]] = counted.get(start[0], 0) + 1
    alike = [(start, n) for start, n in counted.items() if n >= _ALIKE]
    return sorted(alike, key=lambda one: -one[1])[:_SORTS]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
