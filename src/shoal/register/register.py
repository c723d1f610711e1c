"""The register of releases: what left of a data set, to whom, and what a new release gives away beside it.

What is kept of a release: a number, date, recipient, scope and key id of its pseudonyms, columns with their levels, k,
claims, ε, the hashes of its files; of each person 32 bytes that mean nothing without the register's key
(`shoal.register.people`); of each class keyed marks of its sensitive values, where diversity was asked for. No
identifier, seed, permutation or row is kept. It is entered in the ledger of the data set, in the chain of its journal.

Before a release is written, it is held against every earlier one of the same people that it can be joined with:

- the intersection attack is run (`shoal.register.crossing`), and people left with fewer than k candidates are counted;
- where diversity was asked for, the sensitive values that all classes of a person have in common are counted
  (`shoal.register.invariance`);
- ε is added up by the account of the data set.

What doesn't hold is refused, unless a person overrides it; the reason is kept, printed and released. `Register.plan`
keeps the groups of an earlier release, so that a refreshed file stays safe.

The register shows who is grouped with whom, which the bound allows everybody to know; still, whoever has its key can
test whether a person is in it. Keep it as you keep the data.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import AnyArray, BoolArray, Generator, IntArray
from shoal.errors import BesideError, FileError, GuaranteeError, InputError, ParameterError
from shoal.frame import Frame
from shoal.ledger.account_rows import new_name
from shoal.ledger.engine import LedgerError
from shoal.ledger.ledger import Ledger
from shoal.ledger.tag import without_password
from shoal.register.beside import Beside
from shoal.register.crossing import ABSENT, Side, aligned, candidates, cells_of
from shoal.register.home import other_ledgers, own_ledger
from shoal.register.invariance import common_values
from shoal.register.keeping import held_back
from shoal.register.pending import Pending
from shoal.register.people import BYTES, Draft, People, row_hashes
from shoal.register.who import Who, in_common, readable, sketch_of
from shoal.schema import Schema

__all__ = ["Kept", "Known", "Register"]

_SAME = 0.5  # share of rows in common from which a table is taken for the same


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Known:
    """The people of a table as the register knows them.

    Parameters
    ----------
    who
        By what they are told apart.
    marks
        The person of each row.
    rows, people
        Sketches of the table's rows and of its people.
    recognised
        How the data set was found, in words; empty where it was named.
    """

    who: Who
    marks: AnyArray
    rows: tuple[str, ...]
    people: tuple[str, ...]
    recognised: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What is kept of it beside the marks of a release."""
        return {"who": self.who.to_dict(), "sketch": {"rows": list(self.rows), "people": list(self.people)}}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Kept:
    """Groups of an earlier release for the rows of a table.

    Parameters
    ----------
    release
        The earlier release.
    groups
        The group of each row; −1 for newcomers, who are grouped among themselves.
    held
        Which rows are held back.
    people
        How many people these are.
    """

    release: str
    groups: IntArray
    held: BoolArray
    people: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Register:
    """The register of one data set; open it with `Register.open`.

    Examples
    --------
    >>> import pathlib, tempfile, shoal
    >>> from shoal.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> book = "sqlite:///" + str(pathlib.Path(folder.name, "ledger.db"))
    >>> Ledger.open(book).close()
    >>> table, schema = shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()
    >>> register = shoal.Register.open("survey", ledger=book)
    >>> first = shoal.anonymize(table, schema, register=register)
    >>> _ = first.write(pathlib.Path(folder.name, "first"))
    >>> try:
    ...     shoal.anonymize(table, schema, group=shoal.MDAV(k=5), register=register)
    ... except shoal.GuaranteeError as error:
    ...     print(error.rule)
    must hold beside release 1 of the same people
    >>> again = shoal.anonymize(table, schema, register=register, same_groups_as="last")
    >>> again.beside.holds, [one["number"] for one in register.releases()]
    (True, [1])
    >>> register.close(); folder.cleanup()
    """

    book: Ledger
    declared: str | None
    label: str
    recipient: str | None = None
    despite: str | None = None
    replaces: str | None = None
    content: str | None = None
    elsewhere: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    @classmethod
    def open(cls, data: str | None = None, *, ledger: str | None = None, label: str | None = None) -> Register:
        """Open the register of a data set, or begin one.

        Parameters
        ----------
        data
            The name or label of the data set, declared by a person. One that the ledger doesn't know is begun with its
            first release. None: the data set is recognised by its rows, or begun.
        ledger
            The URL of a ledger, which must be there already. None: the user's own (`shoal.register.home`).
        label
            What a data set is called that is begun without a name.
        """
        book = Ledger.open(own_ledger() if ledger is None else ledger, create=ledger is None, keep=False)
        return replace(cls.of(book, data, label=label), elsewhere=other_ledgers() if ledger is None else ())

    @classmethod
    def of(cls, book: Ledger, data: str | None, *, label: str | None = None) -> Register:
        """The register in a ledger that is open."""
        try:
            found = cls(book=book, declared=data, label=(data or label or "data set")[:200])
            _ = found.data
        except BaseException:
            book.close()
            raise
        return found

    @cached_property
    def key(self) -> bytes:
        """The key of every mark, which is never in the database."""
        return self.book.register_key()

    @property
    def data(self) -> str | None:
        """The name of the data set; None where it will begin with its first release."""
        return None if self.declared is None else _named(self.book, self.declared)

    def to(self, recipient: str | None, *, despite: str | None = None) -> Register:
        """The same, with who gets the next release, and why it is made although it may not hold beside others."""
        for name, text in (("recipient", recipient), ("despite", despite)):
            if text is not None and not text.strip():
                raise ParameterError("register", f"{name} must be a text that says something")
        return replace(self, recipient=recipient, despite=despite)

    def replacing(self, release: str) -> Register:
        """The same, for a run that takes the place of a release which has not left."""
        return replace(self, replaces=release)

    def of_content(self, content: str) -> Register:
        """The same, for a file with that keyed hash, by which a new data set is known to the account of the file."""
        return replace(self, content=content)

    def among(self, releases: Sequence[str]) -> Register:
        """The same as it was when these were all releases, to repeat a run."""
        return replace(self, only=tuple(releases))

    def close(self) -> None:
        """Give the connections back."""
        self.book.close()

    def releases(self) -> list[dict[str, Any]]:
        """What left this data set, oldest first, numbered from 1."""
        if self.data is None:
            return []
        found = [{**words, "number": i} for i, words in enumerate(self.book.releases(self.data), start=1)]
        return [words for words in found if self.only is None or words["release"] in self.only]

    def find(self, release: str) -> dict[str, Any]:
        """A release by its number in this data set, its name, or ``last``."""
        known = self._standing()
        fit = known[-1:] if release == "last" else [w for w in known if release in (str(w["number"]), w["release"])]
        if not fit:
            hint = "`shoal ledger releases` lists them."
            raise InputError("register", f"there is no release '{release}' of people in this data set", hint=hint)
        return fit[0]

    # ---- before a release

    def know(self, frame: Frame, schema: Schema) -> tuple[Register, Known]:
        """The people of a table; and this register with its data set found, where nobody named it."""
        found, rows, said = self._found(frame)
        who = found._who() or Who.of(frame, schema)
        marks = who.marks(found.key, frame)
        return found, Known(who=who, marks=marks, rows=rows, people=sketch_of(marks), recognised=said)

    def _found(self, frame: Frame) -> tuple[Register, tuple[str, ...], str]:
        """The register of a table's data set, here or in another ledger of the user's."""
        rows = sketch_of(row_hashes(self.key, "row", readable(frame, frame.columns), len(frame), numbered=True))
        if self.declared is not None:
            return self, rows, ""
        found, said = self._recognised(rows)
        for url in () if said else self.elsewhere:
            with suppress(LedgerError, InputError, FileError):  # it is gone, or out of reach
                other = replace(Register.open(ledger=url), recipient=self.recipient, despite=self.despite)
                there, mine, said = other._found(frame)
                if said:
                    return there, mine, said
                other.close()
        return found, rows, said

    def _recognised(self, rows: tuple[str, ...]) -> tuple[Register, str]:
        for words in reversed(self.book.releases()):
            if "sketch" in words and in_common(rows, words["sketch"]["rows"]) >= _SAME:
                label = self.book.balance("data", words["data"]).label or words["data"]
                return replace(self, declared=words["data"]), f"recognised as '{label}' by its rows"
        return self, ""

    def _who(self) -> Who | None:
        named = [words["who"] for words in self.releases() if words.get("who")]
        return Who.from_dict(named[-1]) if named else None

    def plan(self, known: Known, release: str, k: int, rng: Generator) -> Kept:
        """The groups of an earlier release for the people who are still there, and who must be held back.

        Parameters
        ----------
        known
            The people of the new table.
        release
            The release whose groups are kept.
        k
            How many people a group has at least.
        """
        chosen, past = self.find(release), self._past()
        sides, now, n = _aligned(past, known.marks)
        kept = next(side.groups for words, side in zip(past, sides, strict=True) if words.release == chosen["release"])
        earlier = cells_of([side.groups for side in sides])
        newcomer = np.all([side.groups == ABSENT for side in sides], axis=0)
        own = int(kept.max()) + 1 + earlier  # who was released before but not in that one keeps together by cell
        groups = np.full(n, ABSENT)
        groups[now] = np.where(kept == ABSENT, np.where(newcomer, int(own.max()) + 1, own), kept)[now]
        back = held_back(earlier, groups, newcomer, k, rng)
        return Kept(
            release=chosen["release"],
            groups=np.where(newcomer[now], ABSENT, groups[now]),
            held=back[now],
            people=int(back.sum()),
        )

    def held_back(self, known: Known, labels: IntArray, k: int, rng: Generator) -> BoolArray:
        """Which rows must be held back for classes that are what they are; `labels` are −1 for who is left out."""
        sides, now, n = _aligned(self._past(), known.marks)
        if not sides:
            return np.zeros(len(labels), dtype=np.bool_)
        groups = np.full(n, ABSENT)
        groups[now] = labels
        newcomer = np.all([side.groups == ABSENT for side in sides], axis=0)
        back = held_back(cells_of([side.groups for side in sides]), groups, newcomer, k, rng)
        rows: BoolArray = back[now]
        return rows

    def check(self, draft: Draft, *, k: int, values: int = 0, classes: AnyArray | None = None) -> Beside:
        """Run the intersection attack on a release that is about to be written; a GuaranteeError where it doesn't hold.

        Parameters
        ----------
        draft
            The people of the release.
        k
            How many candidates everybody must keep; 1: as many as earlier releases asked for.
        values, classes
            How many sensitive values everybody must keep, and those of each class: label, column, value.
        """
        past = [one for one in self._past() if one.joins(draft)]
        past = _reached(past, self._past())
        least = k if k > 1 else max([one.k for one in past], default=1)
        found = self._attacked(draft, past, least)
        if past and values and classes is not None:
            found = replace(found, values=values, few_values=_few_values(past, draft, values, classes))
        if not found.holds and self.despite is None:
            raise self._refusal(found, past)
        return found

    def _refusal(self, found: Beside, past: Sequence[_Past]) -> GuaranteeError:
        names = ", ".join(str(one.number) for one in past)
        return BesideError(
            "release",
            f"must hold beside release{'s' if len(past) > 1 else ''} {names} of the same people",
            got=found.found,
            hint="Keep the groups (--same-groups-as last), withdraw a release that never left (shoal ledger withdraw), "
            "or release despite it (--despite REASON), which is recorded and printed.",
            releases=[one.release for one in past],
        )

    def _attacked(self, draft: Draft, past: Sequence[_Past], k: int) -> Beside:
        people = draft.people
        words: dict[str, Any] = {
            "release": secrets.token_hex(4),
            "data": self.data or new_name(),
            "k": k,
            "people": len(people),
        }
        words |= {"recipient": self.recipient, "despite": self.despite, "epsilon": self._epsilon()}
        words |= {"ledger": self.place, "n_releases": len(self.releases())}
        if not past:
            return Beside(**words, newcomers=len(people))
        n, places = aligned([people.marks, *(one.people.marks for one in past)])
        new, *sides = [_side(one, at, n) for one, at in zip([people, *(p.people for p in past)], places, strict=True)]
        on = [_spread(one.joined_on(draft), places[0], n) for one in past]
        left = candidates(new, sides, k, on=on)
        lost = left < np.minimum(k, _lost_before(past, sides, k))
        before = np.any([side.present for side in sides], axis=0)
        shared = {name for one in past for name in set(one.columns) & set(draft.columns)}
        return Beside(
            **words,
            earlier=tuple(one.release for one in past),
            returning=int((new.present & before).sum()),
            newcomers=int((new.present & ~before).sum()),
            leavers=int((before & ~new.present).sum()),
            below=int(lost.sum()),
            lost_before=int(((left < k) & ~lost).sum()),
            smallest=int(left.min()),
            joined=tuple(sorted(shared)),
        )

    @property
    def place(self) -> str:
        """Where the ledger is, without a password."""
        return without_password(self.book.engine.url.render_as_string(hide_password=False))

    def nobodys(self) -> Beside:
        """What there is to say of a release whose rows are nobody's."""
        words = {"release": secrets.token_hex(4), "data": self.data or new_name(), "recipient": self.recipient}
        count = {"ledger": self.place, "n_releases": len(self.releases())}
        return Beside(**words, **count, epsilon=self._epsilon())  # type: ignore[arg-type]

    def _epsilon(self) -> str | None:
        if self.data is None:
            return None
        balance = self.book.balance("data", self.data)
        return str(balance.committed.budget) if balance.spent else None

    def _past(self) -> list[_Past]:
        """The earlier releases of people that are not withdrawn."""
        known = [words for words in self._standing() if self.despite is None or words["expired"] is None]
        return [_Past.of(self.book, words) for words in known]

    def _standing(self) -> list[dict[str, Any]]:
        return [
            words
            for words in self.releases()
            if words["withdrawn"] is None and words["people"] and words["release"] != self.replaces
        ]

    # ---- after it

    def pending(
        self,
        beside: Beside,
        draft: Draft | None,
        known: Known | None,
        words: Mapping[str, Any],
        *,
        values: bytes = b"",
    ) -> Pending:
        """The entry of a release that is about to appear.

        Parameters
        ----------
        beside
            What was found.
        draft
            Its people; None where its rows are nobody's.
        words
            What else to say of it.
        """
        data = self.data
        people = b"" if draft is None else draft.people.to_bytes()
        kept: dict[str, Any] = {} if draft is None else {"unchanged": list(draft.columns), "tied": draft.tied}
        entry = {
            **words,
            **kept,
            "release": beside.release,
            "people": len(people) // BYTES,
            "k": beside.k,
            "recipient": self.recipient,
            **({} if known is None else known.to_dict()),
            "beside": beside.to_dict(),
        }
        return Pending(
            ledger=self.place,
            data=data or beside.data,
            label=self.label,
            content=self.content,
            is_new=data is None,
            words=entry,
            people=people,
            values=values,
            after=beside.n_releases,
            known=len(self.book.releases()),
            replaces=self.replaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Past:
    """An earlier release, with its people."""

    release: str
    number: int
    k: int
    columns: tuple[str, ...]
    tied: bool
    people: People
    values: AnyArray

    @classmethod
    def of(cls, book: Ledger, words: Mapping[str, Any]) -> _Past:
        values = np.frombuffer(book.released_marks(words, "values"), dtype="<u8").reshape(-1, 3)
        return cls(
            release=words["release"],
            number=words["number"],
            k=words["k"],
            columns=tuple(words["unchanged"]),
            tied=words["tied"],
            people=People.from_bytes(book.released_marks(words, "people")),
            values=values,
        )

    def joins(self, other: Draft | _Past) -> bool:
        """Whether something ties rows of the two together."""
        return bool(set(self.columns) & set(other.columns)) or (self.tied and other.tied)

    def joined_on(self, draft: Draft) -> AnyArray | None:
        """The new people's signatures on the columns of this release; None where only a token will do."""
        if self.tied or draft.tied or not self.columns or not set(self.columns) <= set(draft.columns):
            return None
        return draft.signatures(self.columns)


def _reached(found: list[_Past], past: Sequence[_Past]) -> list[_Past]:
    """Those that can be joined with one that was found, directly or through others, in their order."""
    names = {one.release for one in found}
    while True:
        more = {p.release for p in past if any(p.joins(q) for q in past if q.release in names)} | names
        if more == names:
            return [one for one in past if one.release in names]
        names = more


def _side(people: People, place: IntArray, n: int) -> Side:
    groups = np.full(n, ABSENT)
    groups[place] = np.unique(people.labels, return_inverse=True)[1].reshape(-1)
    spread = _spread(people.signatures, place, n)
    return Side(groups=groups, signatures=spread)


def _lost_before(past: Sequence[_Past], sides: Sequence[Side], k: int) -> IntArray:
    """How many candidates the earlier releases leave: who has lost their cover already doesn't lose it again.

    No limit for new people, and for all where the columns of the earlier releases can't be compared.
    """
    first, *others = reversed(list(zip(past, sides, strict=True)))
    if any(one.columns != first[0].columns or one.tied != first[0].tied for one, _ in others):
        return np.full(len(first[1].groups), np.iinfo(np.int64).max)
    on = [None if first[0].tied else first[1].signatures for _ in others]
    found = candidates(first[1], [side for _, side in others], k, on=on)
    seen = np.any([side.present for side in sides], axis=0)
    return np.where(seen, found, np.iinfo(np.int64).max)


def _spread(values: AnyArray | None, place: IntArray, n: int) -> AnyArray | None:
    if values is None:
        return None
    whole = np.zeros(n, dtype=np.uint64)
    whole[place] = values
    return whole


def _aligned(past: Sequence[_Past], marks: AnyArray) -> tuple[list[Side], IntArray, int]:
    """The earlier releases over everybody, the number of each row's person, and how many people there are."""
    n, (now, *places) = aligned([marks, *(one.people.marks for one in past)])
    return [_side(one.people, place, n) for one, place in zip(past, places, strict=True)], now, n


def _few_values(past: Sequence[_Past], draft: Draft, least: int, classes: AnyArray) -> int:
    """How many people have fewer than `least` values of a sensitive column in common to all their classes."""
    people = draft.people
    n, places = aligned([people.marks, *(one.people.marks for one in past)])
    worst = np.full(n, least)
    tables = [classes, *(one.values for one in past)]
    for column in np.unique(classes[:, 1]):
        known = [table[table[:, 1] == column] for table in tables]
        use = [i for i, table in enumerate(known) if len(table)]
        if len(use) < 2:
            continue
        labels = [people.labels, *(one.people.labels for one in past)]
        groups, values = zip(*(_coded(labels[i], places[i], known[i], n) for i in use), strict=True)
        common = common_values(groups, values)
        repeated = np.sum([one != ABSENT for one in groups], axis=0) > 1
        worst = np.where(repeated, np.minimum(worst, common), worst)
    return int((worst < least).sum())


def _coded(labels: AnyArray, place: IntArray, table: AnyArray, n: int) -> tuple[IntArray, tuple[IntArray, AnyArray]]:
    """Classes as numbers, for people and for values alike."""
    codes = np.unique(np.concatenate((labels, table[:, 0])), return_inverse=True)[1].reshape(-1)
    groups = np.full(n, ABSENT)
    groups[place] = codes[: len(labels)]
    return groups, (codes[len(labels) :], table[:, 2])


def _named(book: Ledger, data: str) -> str | None:
    """The data set of that name or label; None where there is none yet."""
    sets = [one for one in book.balances() if one.kind == "data"]
    fit = [one.name for one in sets if one.name == data] or [one.name for one in sets if one.label == data]
    if len(fit) > 1:
        hint = "Name it as `shoal ledger show` does."
        raise InputError("register", f"several data sets are called '{data}'", hint=hint)
    return fit[0] if fit else None
