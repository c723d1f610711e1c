"""The register of releases: what left of a data set, to whom, and what a new release gives away beside it.

What is kept of a release: a number, date, recipient, scope and key id of its pseudonyms, columns with their levels, k,
claims, ε, the hashes of its files; of each person 32 bytes that mean nothing without the register's key
(`shoal.register.person_marks`); of each class keyed marks of its sensitive values, where diversity was asked for. No
identifier, seed, permutation or row is kept. It is entered in the ledger of the data set, in the chain of its journal.

Before a release is written, it is held against every earlier one of the same people that it can be joined with:

- the intersection attack is run (`shoal.register.intersection_attack`), and people left with fewer than k candidates
  are counted;
- where diversity was asked for, the sensitive values that all classes of a person have in common are counted
  (`shoal.register.joint_attack`);
- ε is added up by the account of the data set.

What doesn't hold is refused, unless a person overrides it; the reason is kept, printed and released. `Register.plan`
keeps the groups of an earlier release, so that a refreshed file stays safe.

The register shows who is grouped with whom, which the bound allows everybody to know; still, whoever has its key can
test whether a person is in it. Keep it as you keep the data.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shoal.arrays import AnyArray, BoolArray, Generator, IntArray
from shoal.errors import FileError, InputError, ParameterError
from shoal.frame import Frame
from shoal.ledger.account_rows import new_name
from shoal.ledger.engine import LedgerError
from shoal.ledger.ledger import Ledger
from shoal.ledger.tag import without_password
from shoal.register.beside_earlier import Beside
from shoal.register.column_sketches import RowSketch
from shoal.register.draft import Draft
from shoal.register.earlier_release import Past
from shoal.register.identity import Known, TableSketch, Who, readable, sketch_of, without_identifiers
from shoal.register.joint_attack import few_values, found_beside
from shoal.register.own_ledger import other_ledgers, own_ledger
from shoal.register.pending import Pending
from shoal.register.person_marks import BYTES, written_rows
from shoal.register.refusal import CrossedError
from shoal.register.same_groups import SameGroups, held_rows, plan_same_groups
from shoal.register.ties import Tie, exposed, in_the_way, reached, who_is_told_apart
from shoal.schema import Schema

__all__ = ["Register", "check_reasons"]


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

    ledger: Ledger
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
            The URL of a ledger, which must be there already. None: the user's own (`shoal.register.own_ledger`).
        label
            What a data set is called that is begun without a name.
        """
        book = Ledger.open(own_ledger() if ledger is None else ledger, create=ledger is None, keep=False)
        return replace(cls.of(book, data, label=label), elsewhere=other_ledgers() if ledger is None else ())

    @classmethod
    def of(cls, book: Ledger, data: str | None, *, label: str | None = None) -> Register:
        """The register in a ledger that is open."""
        try:
            found = cls(ledger=book, declared=data, label=(data or label or "data set")[:200])
            _ = found.data
        except BaseException:
            book.close()
            raise
        return found

    @cached_property
    def key(self) -> bytes:
        """The key of every mark, which is never in the database."""
        return self.ledger.register_key()

    @property
    def data(self) -> str | None:
        """The name of the data set; None where it will begin with its first release."""
        return None if self.declared is None else _named(self.ledger, self.declared)

    def to(self, recipient: str | None, *, despite: str | None = None) -> Register:
        """The same, with who gets the next release, and why it is made although it may not hold beside others."""
        check_reasons(recipient, despite)
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
        self.ledger.close()

    def releases(self) -> list[dict[str, Any]]:
        """What left this data set, oldest first, numbered from 1."""
        if self.data is None:
            return []
        found = [{**words, "number": i} for i, words in enumerate(self.ledger.releases(self.data), start=1)]
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
        texts = written_rows(readable(frame, frame.columns), len(frame))
        rest = readable(frame, without_identifiers(frame.columns, schema))
        found, sketch, said = self.recognised(lambda key: TableSketch.of(key, texts, rest))
        who = found.who() or Who.of(frame, schema)
        marks = who.marks(found.key, frame, texts)
        people = sketch_of(marks)
        known = Known(
            who=who,
            marks=marks,
            rows=sketch.rows,
            people=people,
            contents=RowSketch.of(sketch.contents, marks),
            columns=sketch.columns,
            recognised=said,
        )
        return found, replace(known, resembles=found._resembled(known))

    def recognised(self, sketch: Callable[[bytes], TableSketch]) -> tuple[Register, TableSketch, str]:
        """The register of a table's data set, here or in another ledger of the user's, and how it was found.

        Parameters
        ----------
        sketch
            Makes the sketch of the table under the key of a register (`shoal.register.identity`).
        """
        own = sketch(self.key)
        if self.declared is not None:
            return self, own, ""
        found, said = self._like(own)
        for url in () if said else self.elsewhere:
            with suppress(LedgerError, InputError, FileError):  # it is gone, or out of reach
                other = replace(Register.open(ledger=url), recipient=self.recipient, despite=self.despite)
                there, mine, said = other.recognised(sketch)
                if said:
                    return there, mine, said
                other.close()
        return found, own, said

    def _like(self, sketch: TableSketch) -> tuple[Register, str]:
        for words in reversed(self.ledger.releases()):
            if "sketch" in words and sketch.is_of(words["sketch"]):
                return replace(self, declared=words["data"]), f"recognised as '{self._called(words)}' by its rows"
        return self, ""

    def _resembled(self, known: Known) -> str:
        """A data set whose people may be those of a table that nobody named the data set of; empty: there is none.

        Most people have the same identifiers, or a column in which nearly all differ carries the same. Numbers from 1
        up are the identifiers of many tables, so it is said and not taken for the same people.
        """
        if self.declared is not None:
            return ""
        for words in reversed([one for one in self.ledger.releases() if one["withdrawn"] is None]):
            if words.get("who") and known.resembles_table(words):
                return self._called(words)
        return ""

    def _called(self, words: Mapping[str, Any]) -> str:
        return self.ledger.balance("data", words["data"]).label or str(words["data"])

    def who(self) -> Who | None:
        """By what people of this data set are told apart; None where nobody was released yet."""
        named = [words["who"] for words in self.releases() if words.get("who")]
        return Who.from_dict(named[-1]) if named else None

    def plan(self, known: Known, release: str, k: int, rng: Generator) -> SameGroups:
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
        chosen = self.find(release)["release"]
        return plan_same_groups(self._past(), chosen, known.marks, k, rng)

    def held_back(self, known: Known, labels: IntArray, k: int, rng: Generator) -> BoolArray:
        """Which rows must be held back for classes that are what they are; `labels` are −1 for who is left out."""
        return held_rows(self._past(), known.marks, labels, k, rng)

    def check(
        self,
        draft: Draft,
        known: Known,
        *,
        k: int,
        values: int = 0,
        classes: AnyArray | None = None,
        keeps_groups: bool = True,
    ) -> Beside:
        """Run the intersection attack on a release that is about to be written; a CrossedError where it doesn't hold.

        Parameters
        ----------
        draft
            The people of the release.
        known
            Those of the table that it was made from.
        k
            How many candidates everybody must keep; 1: as many as earlier releases asked for.
        values, classes
            How many sensitive values everybody must keep, and those of each class: label, column, value.
        keeps_groups
            Whether a release of this kind could keep the groups of an earlier one; a refusal says so.
        """
        everything = self._past()
        ties = {one.release: Tie.of(one, draft) for one in everything}
        past = reached(ties, everything)
        least = k if k > 1 else max([one.k for one in past], default=1)
        found = replace(self.nobodys(), k=least, people=len(draft.people), **found_beside(draft, past, ties, least))
        if past and values and classes is not None:
            found = replace(found, values=values, few_values=few_values(past, ties, draft, values, classes))
        found = replace(found, **who_is_told_apart(draft, known, everything), exposed=exposed(draft, ties, everything))
        if found.is_broken and self.despite is None:
            raise CrossedError(found, in_the_way(found, past, everything), keeps_groups=keeps_groups)
        return found

    @property
    def place(self) -> str:
        """Where the ledger is, without a password."""
        return without_password(self.ledger.engine.url.render_as_string(hide_password=False))

    def nobodys(self) -> Beside:
        """What there is to say of a release whose rows are nobody's."""
        return Beside(
            release=secrets.token_hex(4),
            data=self.data or new_name(),
            ledger=self.place,
            recipient=self.recipient,
            despite=self.despite,
            epsilon=self._epsilon(),
            n_releases=len(self.releases()),
        )

    def _epsilon(self) -> str | None:
        if self.data is None:
            return None
        balance = self.ledger.balance("data", self.data)
        return str(balance.committed.budget) if balance.spent else None

    def _past(self) -> list[Past]:
        """The earlier releases of people that are not withdrawn."""
        known = [words for words in self._standing() if self.despite is None or words["expired"] is None]
        return [Past.of(self.ledger, words) for words in known]

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
        marks = {} if draft is None else {"people": people, "values": values, "sample": draft.sample.to_bytes()}
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
            marks=marks,
            after=beside.n_releases,
            known=len(self.ledger.releases()),
            replaces=self.replaces,
        )


def check_reasons(recipient: str | None, despite: str | None) -> None:
    """Who gets a release, and why it is made all the same: left out, or a text that says something."""
    for name, text in (("recipient", recipient), ("despite", despite)):
        if text is not None and not text.strip():
            raise ParameterError("register", f"{name} must be a text that says something")


def _named(book: Ledger, data: str) -> str | None:
    """The data set of that name or label; None where there is none yet."""
    sets = [one for one in book.balances() if one.kind == "data"]
    fit = [one.name for one in sets if one.name == data] or [one.name for one in sets if one.label == data]
    if len(fit) > 1:
        hint = "Name it as `shoal ledger show` does."
        raise InputError("register", f"several data sets are called '{data}'", hint=hint)
    return fit[0] if fit else None
