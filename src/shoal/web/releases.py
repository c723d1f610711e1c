"""The register of releases as the workbench sees it: what left before, and withdrawing what never did."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError, ShoalError
from shoal.register.beside_earlier import stands_beside
from shoal.register.own_ledger import own_ledger

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger

__all__ = ["Left", "left_before", "withdraw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One release of the register.

    Parameters
    ----------
    release, number, data
        Its name, its number among the releases of its data set, and what that is called.
    day, recipient, rows, people, k
        When it was entered, for whom, how large it is, and how many everybody hides among.
    beside
        How it stands beside earlier ones, in few words.
    withdrawn
        Why it was withdrawn; empty where it stands.
    """

    release: str
    number: int
    data: str
    day: str
    recipient: str
    rows: int
    people: int
    k: int
    beside: str = "alone"
    withdrawn: str = ""

    @property
    def title(self) -> str:
        """Number and name, as the command line prints them: *2 (0f3a9c1e)*."""
        return f"{self.number} ({self.release})"

    @property
    def stands(self) -> str:
        """How it stands, in few words."""
        return f"withdrawn: {self.withdrawn}" if self.withdrawn else self.beside


def left_before(files: Iterable[Path] = ()) -> tuple[Left, ...]:
    """Every release in the register, the newest first; none where there is no register yet.

    Synthetic releases of a file that has an account are entered in the ledger of the account, which may lie beside it:
    those of `files` are among them.
    """
    found = [one for address in _addresses(files) for one in _in_ledger(address)]
    return tuple(left for _, left in sorted(found, key=lambda one: one[0], reverse=True))


def _in_ledger(address: str) -> list[tuple[str, Left]]:
    """The releases of one ledger, the newest first, each with the moment when it was entered."""
    with _opened(address) as ledger:
        if ledger is None:
            return []
        labels = {one.name: one.label or one.name for one in ledger.balances() if one.kind == "data"}
        last: Counter[str] = Counter()
        found = []
        for words in ledger.releases():
            last[words["data"]] += 1
            found.append((words["at"], _left(words, last[words["data"]], labels)))
        return found[::-1]


def withdraw(release: str, because: str, files: Iterable[Path] = ()) -> None:
    """Note that a release never left, or was called back; it stays in the journal of the ledger that it is in."""
    if not because.strip():
        raise ParameterError("withdrawal", "must have a reason", hint="Say why: it is recorded in the journal.")
    for address in _addresses(files):
        with _opened(address) as ledger:
            if ledger is not None and any(words["release"] == release for words in ledger.releases()):
                ledger.withdraw(release, because.strip())
                return
    raise ParameterError("withdrawal", "must be of a release in the register", hint="Open its file again.")


def _addresses(files: Iterable[Path]) -> tuple[str, ...]:
    """The user's register, and the ledgers of the accounts of `files`; each once."""
    from shoal.ledger.tag import Tag  # SQLAlchemy takes a third of a second to load

    found = [os.environ.get("SHOAL_LEDGER") or own_ledger()]
    for file in files:
        with suppress(ShoalError):  # an account of an earlier version: a run brings it up to date
            tag = Tag.read(file.resolve())
            found += [] if tag is None else [tag.url(file.resolve())]
    return tuple(dict.fromkeys(found))


def _left(words: dict[str, Any], number: int, labels: dict[str, str]) -> Left:
    return Left(
        release=words["release"],
        number=number,
        data=labels[words["data"]],
        day=words["at"][:10],
        recipient=words.get("recipient") or "",
        rows=int(words.get("rows") or 0),
        people=int(words.get("people") or 0),
        k=int(words.get("k") or 1),
        beside=stands_beside(words),
        withdrawn=words["withdrawn"] or "",
    )


@contextmanager
def _opened(address: str) -> Iterator[Ledger | None]:
    from shoal.ledger.ledger import Ledger

    if address.startswith("sqlite:///") and not Path(address.removeprefix("sqlite:///")).exists():
        yield None
        return
    try:
        ledger = Ledger.open(address, create=False, keep=False)
    except ShoalError:  # made by an earlier version: a run brings it up to date
        yield None
        return
    try:
        yield ledger
    finally:
        ledger.close()
