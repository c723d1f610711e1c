"""What a new release gives away beside earlier ones of the same people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from shoal.fact import Fact
from shoal.record import Record

__all__ = ["Beside", "stands_beside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside(Record):
    """The result of the intersection attack: for inside, but for `outside`.

    Parameters
    ----------
    release, data, ledger
        The number of the new release, its data set, and the ledger that it is entered in.
    recipient, despite
        Who gets it, and why it was released although people are left with too few candidates.
    earlier
        The releases that it was held against.
    k
        How many candidates everybody must keep.
    people, returning, newcomers, leavers
        Who is in the new release; who of them was in an earlier one, and who was in none; who was in one and left.
    below, single, lost_before, smallest
        How many people are left with fewer than k candidates by this release, and how many of them with one alone; how
        many had lost them to earlier ones already; and the smallest number of candidates.
    joined, how, tied
        The unchanged columns that rows can be joined by, how each was recognised, and whether the events of a person
        join them.
    not_compared
        Whether so few people are in both tables that columns couldn't be compared: then any is taken to be in both.
    exposed
        Columns that one release hides as quasi-identifiers and the other shows: the column, the quasi-identifier, the
        number of the earlier release, and whether it is this one that shows it.
    recoded, recognised
        About how many people are in earlier releases under other identifiers, and whether people could be recognised.
    values, few_values
        How many different sensitive values everybody must keep, and for how many people fewer are common to all of
        their classes.
    same_groups_as, held_back
        The release whose groups were kept, and how many people were held back; None where nobody ever is.
    epsilon
        What the data set has spent in all, where it has spent any.
    n_releases
        How many releases the data set had by then.
    resembles
        Another data set whose people have the same identifiers, not checked against; None: there is none.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("holds",)

    release: str
    data: str
    ledger: str = ""
    recipient: str | None = None
    despite: str | None = None
    earlier: tuple[str, ...] = ()
    k: int = 1
    people: int = 0
    returning: int = 0
    newcomers: int = 0
    leavers: int = 0
    below: int = 0
    single: int = 0
    lost_before: int = 0
    smallest: int | None = None
    joined: tuple[str, ...] = ()
    how: tuple[str, ...] = ()
    tied: bool = False
    not_compared: bool = False
    exposed: tuple[tuple[str, str, int, bool], ...] = ()
    recoded: int = 0
    recognised: bool = True
    values: int = 0
    few_values: int = 0
    same_groups_as: str | None = None
    held_back: int | None = None
    epsilon: str | None = None
    n_releases: int = 0
    resembles: str | None = None

    @property
    def is_judged(self) -> bool:
        """Return True if its people could be recognised, so that what was counted is about them."""
        return self.recognised and not self.recoded

    @property
    def is_broken(self) -> bool:
        """Return True if the table gives something away beside earlier ones, as far as people were recognised."""
        return bool(self.below or self.few_values or self.exposed or self.recoded)

    @property
    def holds(self) -> bool:
        """Return True if everybody keeps k candidates and the required number of sensitive values."""
        return self.is_judged and not self.is_broken

    @property
    def overridden(self) -> bool:
        """Whether it was released although it doesn't hold."""
        return self.is_broken and self.despite is not None

    @property
    def found(self) -> str:
        """What was counted, in words, for inside."""
        said = []
        if self.below:
            alone = f"{self.single:,} of them with one alone" if self.single else f"the fewest being {self.smallest}"
            said.append(f"{self.below:,} people with fewer than {self.k} candidates, {alone}")
        if self.few_values:
            said.append(f"{self.few_values:,} people with fewer than {self.values} sensitive values left")
        said += [_shown(*one) for one in self.exposed]
        if self.recoded:
            said.append(f"about {self.recoded:,} people who are in an earlier release under other identifiers")
        return " and ".join(said)

    @property
    def stands(self) -> str:
        """How it stands beside earlier releases, in few words, for inside."""
        if self.is_broken:
            return f"beside {len(self.earlier)}: {self.found}, despite: {self.despite}"
        if not self.is_judged:
            return "not judged: its people can't be recognised"
        return f"beside {len(self.earlier)}: holds" if self.earlier else "alone"

    @property
    def not_measured(self) -> str:
        """What was not counted, for inside; empty where nothing was left out."""
        return "; ".join([*([_UNRECOGNISED] if not self.recognised else []), *([_EVENTS] if self.tied else [])])

    @property
    def not_held_against(self) -> str:
        """What to do where another data set may be of the same people, for inside."""
        return (
            f"its identifiers or its columns are those of data set '{self.resembles}', which was not checked; "
            f"if they are the same people, name it: --data {shlex.quote(str(self.resembles))}"
        )

    def outside(self) -> dict[str, Any]:
        """What the manifest says: no count, and nothing that shows which other releases are of the same people."""
        words: dict[str, Any] = {"holds": self.holds, "same_groups": self.same_groups_as is not None}
        words |= {} if self.is_judged else {"judged": False}
        given = {"recipient": self.recipient, "despite": self.despite if self.overridden else None}
        return words | {name: text for name, text in given.items() if text is not None}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said first, and may leave."""
        unjudged = () if self.recognised else (f"The register: {_UNRECOGNISED}.",)
        if not self.overridden:
            return unjudged
        return (
            *unjudged,
            "Beside earlier releases of the same people this table leaves some of them with fewer candidates than each "
            f"table alone promises. It was released despite that: {self.despite}",
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What there is to say."""
        like = (Fact(says="register: {said}", values={"said": self.not_held_against}),) if self.resembles else ()
        return (*like, *self._outside_facts(), *self._counted(), *self._not_held(), *self._kept())

    def _outside_facts(self) -> tuple[Fact, ...]:
        """What may leave is the same for a first release and for a tenth."""
        if not self.earlier and self.k <= 1:
            return ()
        values = {"release": self.release, "data": self.data, "n": len(self.earlier)}
        which = Fact(says="release {release} of data set {data}, beside {n} earlier of the same people", values=values)
        return (*([which] if self.earlier else []), *self._joint())

    def _joint(self) -> tuple[Fact, ...]:
        if not self.holds:
            return ()
        says = _LOST if self.lost_before else _HELD
        return (Fact(says=says, values={"k": self.k}, counts="persons", outside=True),)

    def _counted(self) -> tuple[Fact, ...]:
        if not self.earlier:
            return ()
        said = {"people": self.people, "returning": self.returning, "newcomers": self.newcomers}
        says = "register: {people:,} people, {returning:,} of them released before, {newcomers:,} new; {leavers:,} left"
        if self.lost_before:
            says += "; {lost:,} had too few candidates before"
        who = Fact(says=says, values={**said, "leavers": self.leavers, "lost": self.lost_before}, counts="persons")
        return (who, *self._joins())

    def _joins(self) -> tuple[Fact, ...]:
        how = [*self.how, *(["any column, since too few people are in both to compare them"] * self.not_compared)]
        on = Fact(says="register: joined on {how}", values={"how": ", ".join(how)})
        return (on,) if how else ()

    def _not_held(self) -> tuple[Fact, ...]:
        missing = (Fact(says="register: {said}", values={"said": self.not_measured}),) if self.not_measured else ()
        if not self.is_broken:
            return missing
        found = Fact(says="register: {found}", values={"found": self.found, "below": self.below}, counts="persons")
        return (found, *missing)

    def _kept(self) -> tuple[Fact, ...]:
        if self.held_back is None:
            return ()
        gone = (
            "people who would be alone beside earlier releases, as newcomers or after others left, are not in it, and "
            "no rows were made up in their place"
        )
        says = f"groups are those of an earlier release; {gone}" if self.same_groups_as else gone
        held = Fact(says="register: {held:,} people held back", values={"held": self.held_back}, counts="persons")
        return (Fact(says=says, outside=True), held)

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Beside:
        """Read it from the words of `to_dict`."""
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {name: _frozen(value) for name, value in words.items() if name in known}
        return cls(**given)


def stands_beside(words: Mapping[str, Any]) -> str:
    """How a release stands beside earlier ones by its entry in the ledger; *alone* where nothing was noted."""
    noted = words.get("beside")
    return Beside.from_dict(noted).stands if noted else "alone"


_EVENTS = (
    "what both releases show together to somebody who knows events of a person is not measured; claims about known "
    "events are counted on each release alone"
)
_JOIN = (
    "when this table is joined with those of the same people that were entered before it, if any, on columns of the "
    "same name or the same values, up to unit, code or rounding; a release whose people it can't recognise is not "
    "judged"
)
_HELD = "checked against the register of releases: everybody whom it recognises keeps at least {k} candidates " + _JOIN
_LOST = (
    "nobody whom the register recognises is left with fewer than {k} candidates who was not so by earlier releases "
    "alone " + _JOIN
)
_UNRECOGNISED = (
    "it can't tell whether the people of this table are in earlier releases of the data set under other identifiers, "
    "so how they stand together is not judged"
)


def _shown(column: str, quasi: str, number: int, is_now: bool) -> str:
    carries = "" if column == quasi else f", which carries '{quasi}',"
    if is_now:
        return f"column '{column}'{carries} unchanged, a quasi-identifier of release {number}"
    return f"column '{column}'{carries} a quasi-identifier now, unchanged in release {number}"


def _frozen(value: Any) -> Any:
    """Lists as tuples, as the fields have them."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
