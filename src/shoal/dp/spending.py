"""What an account says of itself to the reader of a release: which data set, what is spent, what was allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.dp.budget import Budget
from shoal.record import Record

__all__ = ["Spending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending(Record):
    """The state of an account at one time; it may leave the secure environment, as it follows from prices alone.

    Parameters
    ----------
    account
        The account's name for its data set: the beginning of a keyed hash, which tells nothing of the data.
    spent, limit
        What all entries so far cost together, and what may ever be spent.
    n_entries
        How many charges there were.
    """

    account: str
    spent: Budget
    limit: Budget
    n_entries: int

    def __str__(self) -> str:
        return f"Account {self.account}: {self.spent} spent of {self.limit} in {self.n_entries} entries."

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Spending:
        """Read a state back from its words."""
        return cls(
            account=words["account"],
            spent=Budget.from_dict(words["spent"]),
            limit=Budget.from_dict(words["limit"]),
            n_entries=words["n_entries"],
        )
