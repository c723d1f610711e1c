"""Many recipes measured alike: outcomes, the front, a recommendation in words, a map, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.comparison.advice import advice, best, front
from shoal.comparison.outcome import RISK, UTILITY, Outcome, readings_of
from shoal.comparison.page import chart_of, map_of, read, write
from shoal.errors import ParameterError
from shoal.frame import Backend
from shoal.reading import Reading
from shoal.record import html_table
from shoal.report.markup import Html
from shoal.report.readings import shown
from shoal.synth.domain import give

__all__ = ["Comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What `compare` found. It compares with the original: internal. It never holds the table.

    Parameters
    ----------
    outcomes
        One for each recipe, in the order in which they were given.
    reference
        Of the table as it is: ``"found"`` and ``"guessed"`` if it were published so, and ``"second_sample"``, what
        another sample of the same size would keep.
    n_records, quasi, sensitive
        What the table was.
    backend
        The kind of dataframe that `table` gives.

    Examples
    --------
    >>> import shoal
    >>> from shoal.comparison import Comparison, Outcome
    >>> from shoal.recipe import Coarsening
    >>> outcomes = [
    ...     Outcome(recipe=Coarsening.of(shoal.Mondrian(k=k)), name=f"mondrian:k={k}", family="coarsening",
    ...             state="done", risks={"found": found}, utilities={"kept": kept})
    ...     for k, found, kept in ((5, 0.12, 0.95), (20, 0.04, 0.9), (50, 0.03, 0.7))
    ... ]
    >>> result = Comparison(outcomes=tuple(outcomes))
    >>> result.best(0.1).name, [one.name for one in result.front]
    ('mondrian:k=20', ['mondrian:k=50', 'mondrian:k=20', 'mondrian:k=5'])
    """

    releasable: ClassVar[bool] = False

    outcomes: tuple[Outcome, ...]
    reference: Mapping[str, float | None] = field(default_factory=dict)
    n_records: int = 0
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    backend: Backend = "polars"

    @property
    def front(self) -> tuple[Outcome, ...]:
        """The outcomes that no other beats in both risk and utility, from the lowest risk up."""
        return front(self.outcomes)

    def best(self, limit: float = 0.05) -> Outcome | None:
        """The outcome that keeps most with a risk of at most `limit`; None where none has so little."""
        return best(self.outcomes, checked_limit(limit))

    def readings(self, one: Outcome, limit: float = 0.05) -> tuple[Reading, ...]:
        """What `one` was measured to have found, guessed and kept, each beside its yardsticks, with a verdict."""
        return readings_of(self, one, checked_limit(limit))

    def recommendation(self, limit: float = 0.05) -> str:
        """Which recipe to choose for a risk of at most `limit`, in plain words; one paragraph a line."""
        return "\n".join(advice(self, checked_limit(limit)))

    def table(self) -> Any:
        """One row for each recipe, as the kind of dataframe that the data came in (after `read`: Polars)."""
        return give(self._rows(), self.backend)

    @property
    def plot(self) -> Html:
        """The risk-utility map as inline SVG."""
        return map_of(self, 0.05)

    def chart(self, limit: float = 0.05) -> Any:
        """The risk-utility map as an Altair chart, to show, change or save, with a line at the risk of `limit`."""
        return chart_of(self, checked_limit(limit))

    def __repr__(self) -> str:
        return f"Comparison({len(self.outcomes)} recipes, {self.n_records} records)"

    def _repr_html_(self) -> str:
        """The comparison as a notebook shows it: the map, and below it what its numbers are."""
        return f"{self.plot}{html_table(f'{self!r}, internal', self._lines(), _HEAD)}"

    def _lines(self) -> list[tuple[str, ...]]:
        """A row for each recipe: measured, or why it was not."""
        front = {id(one) for one in self.front}
        return [_line(self, place, one, id(one) in front) for place, one in enumerate(self.outcomes, start=1)]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-safe words."""
        front = {id(one) for one in self.front}
        return {
            "outcomes": [{**one.to_dict(), **_headlines(one), "on_front": id(one) in front} for one in self.outcomes],
            "front": [one.name for one in self.front],
            "reference": dict(self.reference),
            "n_records": self.n_records,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Comparison:
        """Read a comparison back from its words."""
        return cls(
            outcomes=tuple(Outcome.from_dict(one) for one in words["outcomes"]),
            reference=dict(words["reference"]),
            n_records=int(words["n_records"]),
            quasi=tuple(words["quasi"]),
            sensitive=tuple(words["sensitive"]),
        )

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False, limit: float = 0.05) -> Path:
        """Write comparison.csv, .parquet, .json and .html to `folder`, all of them or nothing.

        Parameters
        ----------
        folder
            Must not exist yet, or be empty, or hold an older comparison and `overwrite` be True.
        limit
            The risk that the page's recommendation is for.
        """
        return write(self, Path(folder), overwrite=overwrite, limit=checked_limit(limit))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Comparison:
        """Read a comparison that `write` wrote."""
        return read(Path(folder))

    def _rows(self) -> pl.DataFrame:
        standing = {id(one) for one in self.front}
        rows = [_row(one, on_front=id(one) in standing) for one in self.outcomes]
        return pl.DataFrame(rows, schema=_columns(self.outcomes))


def checked_limit(limit: float) -> float:
    """A risk that can be asked for."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1:
        raise ParameterError("comparison", "limit must be a share from 0 to 1", got=repr(limit)[:40])
    return float(limit)


def _headlines(one: Outcome) -> dict[str, float | None]:
    return {"risk": one.risks.get(RISK), "utility": one.utilities.get(UTILITY)}


_HEAD = ("", "recipe", "found", "guessed", "preserved", "proved", "risk reads", "preserved reads", "on the front")


def _line(comparison: Comparison, place: int, one: Outcome, on_front: bool) -> tuple[str, ...]:
    if not one.is_done:
        return (str(place), one.name, one.state, one.reason)
    found, guessed, kept = comparison.readings(one)
    figures = [shown(reading, reading.value) for reading in (found, guessed, kept)]
    return (str(place), one.name, *figures, one.proof, found.verdict, kept.verdict, "★" if on_front else "")


_TEXTS = ("name", "family", "state", "reason")


def _columns(outcomes: tuple[Outcome, ...]) -> dict[str, Any]:
    numbers = dict.fromkeys(name for one in outcomes for name in (*one.risks, *one.utilities))
    return {
        **dict.fromkeys(_TEXTS, pl.String),
        "front": pl.Boolean,
        "k": pl.Int64,
        "proved_bound": pl.Float64,
        **dict.fromkeys(numbers, pl.Float64),
        "seconds": pl.Float64,
    }


def _row(one: Outcome, *, on_front: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "family": one.family,
        "state": one.state,
        "reason": one.reason or None,
        "front": on_front,
        "k": one.k,
        "proved_bound": one.bound,
        **one.risks,
        **one.utilities,
        "seconds": one.seconds,
    }
