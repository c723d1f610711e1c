"""A figure with its reading: before → after, what chance gives, the limit that applies, how many people, good or bad.

A number alone says nothing: 3% of people found is a success if it was 98%, and a failure if guessing finds 0.1% and
1% was promised. So every figure that a person is shown carries its yardsticks, and the verdict follows from them, by
the first that there is:

- a **limit** (proved, verified, or asked for): *good* within it, else *bad*; *watch* if the figure is within it and the
  worse end of its interval isn't, unless the limit is proved and needs no measuring;
- what **chance** gives (a blind guess, people outside the data, a fresh sample): *good* if no worse than that by more
  than a tenth, or by the slack of the figure (a tenth of a percent; of what a release keeps, two percent); otherwise
  *better* if it has come at least halfway from what it was before, else *watch*;
- what it was **before**: *better*, or *watch* if it didn't improve.

Without any of them there is no verdict, and nothing pretends to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from shoal.record import Interval, Record

__all__ = ["Counts", "Reading", "Shows", "Verdict"]

Verdict = Literal["good", "better", "watch", "bad", "not measured", "no yardstick"]
Shows = Literal["share", "number", "count"]
Counts = Literal["people", "rows", "households"]
_NEAR, _ROUNDING = 0.1, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Record):
    """One figure and what to hold it against.

    Parameters
    ----------
    name, meaning
        What it is, and one sentence on what it says.
    value, interval
        The figure, None where it was not measured (`meaning` then says why), and its 95% interval.
    shows
        Whether it is a ``"share"``, told in percent, a ``"number"`` or a ``"count"``.
    before
        The same of the original.
    chance, against
        What somebody or something without the release gets, and what that is.
    limit, basis
        The limit that applies, and why: ``"proved"``, ``"verified"``, ``"asked for"``.
    n, counts
        How many ``"people"`` it is a share of, or ``"rows"`` where people may have several, or ``"households"``.
    better, slack
        Which way is good, and how much worse than chance is as good as that.
    first
        Whether it belongs to the few that are read first.

    Examples
    --------
    >>> found = Reading(name="found by nearest match", value=0.03, before=0.98, chance=0.001, n=1000)
    >>> found.verdict, found.people
    ('better', 30)
    >>> Reading(name="found by nearest match", value=0.03, limit=0.2).verdict
    'good'
    """

    derived: ClassVar[tuple[str, ...]] = ("verdict", "people")

    name: str
    value: float | None
    meaning: str = ""
    interval: Interval | None = None
    shows: Shows = "share"
    before: float | None = None
    chance: float | None = None
    against: str = "chance"
    limit: float | None = None
    basis: str = ""
    n: int | None = None
    counts: Counts = "people"
    better: Literal["lower", "higher"] = "lower"
    slack: float = 0.001
    first: bool = False

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Self:
        """A reading from its words."""
        names = [field.name for field in fields(cls) if field.name in words]
        known = {name: words[name] for name in names}
        interval = known.get("interval")
        return cls(**{**known, "interval": None if interval is None else tuple(interval)})

    @property
    def people(self) -> int | None:
        """How many people (or rows, see `counts`) are behind a share."""
        if self.value is None or self.n is None or self.shows != "share":
            return None
        return round(self.value * self.n)

    @property
    def verdict(self) -> Verdict:
        """Good or bad, by the first yardstick that there is."""
        if self.value is None:
            return "not measured"
        if self.limit is not None:
            return self._against_limit(self.limit)
        if self.chance is not None:
            return self._against_chance(self.value, self.chance)
        if self.before is not None:
            return "better" if self._worse(self.before) < -_ROUNDING else "watch"
        return "no yardstick"

    def _against_limit(self, limit: float) -> Verdict:
        if self._worse(limit) > _ROUNDING:
            return "bad"
        if self.interval is None or self.basis == "proved":
            return "good"
        end = replace(self, value=self.interval[self.better == "lower"])
        return "watch" if end._worse(limit) > _ROUNDING else "good"

    def _against_chance(self, value: float, chance: float) -> Verdict:
        whole = 1 - chance if self.shows == "share" and self.better == "higher" else abs(chance)
        if self._worse(chance) <= max(self.slack, _NEAR * whole):
            return "good"
        came = self.before is not None and abs(self.before - value) >= abs(value - chance)
        return "better" if came and self._worse(self.before) < 0 else "watch"

    def _worse(self, than: float | None) -> float:
        """By how much the figure is worse."""
        if self.value is None or than is None:
            return 0.0
        return self.value - than if self.better == "lower" else than - self.value
