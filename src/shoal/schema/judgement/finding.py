"""What a scan finds: identifiers in columns, by name and by values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.record import Record

__all__ = ["Finding", "Scan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Record):
    """An identifier in a column.

    Parameters
    ----------
    column
        The column.
    letter, identifier
        The identifier's letter in the rule and its title; free text has no letter.
    by_name, by_values
        Whether the name of the column speaks for it, and whether its values do.
    n_matching
        How many cells have its form; all filled ones where the name is all there is to go by.
    n_filled
        How many cells are filled.
    judged
        Whether this is what it seems; False where only a person can tell.
    gives_away
        Columns with such an identifier that follow from this one: whoever knows which value goes with which has both.
    """

    derived: ClassVar[tuple[str, ...]] = ("share",)
    column: str
    letter: str
    identifier: str
    by_name: bool
    by_values: bool
    n_matching: int
    n_filled: int
    judged: bool = True
    gives_away: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Share of the filled cells that match."""
        return self.n_matching / max(1, self.n_filled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Record):
    """What a scan found, column after column.

    Counts may be small and belong to single people: the result stays inside.
    """

    releasable: ClassVar[bool] = False

    findings: tuple[Finding, ...]
    n_rows: int
    n_columns: int
    n_looked_at: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in which something was found."""
        return tuple(dict.fromkeys(finding.column for finding in self.findings))

    def of(self, identifier: str) -> tuple[Finding, ...]:
        """The findings of one identifier."""
        return tuple(finding for finding in self.findings if finding.identifier == identifier)
