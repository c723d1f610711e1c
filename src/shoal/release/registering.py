"""A release and the register: who is in it, what it gives away beside earlier ones, and its entry in the ledger.

Rows of two releases are joined by what both carry unchanged: every released column but the quasi-identifiers, as far as
no mask that starts from a record's own row rewrote it; and quasi-identifiers that came through such a mask as they
were. Events that hang on a person tie releases together as a token does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray
from shoal.canonical import plain
from shoal.condition.requirements import Diversity
from shoal.errors import ParameterError
from shoal.files import sha256
from shoal.frame import enter, leave, pick, series
from shoal.linked import Collection
from shoal.recipe import Recipe, Run
from shoal.register.beside_earlier import Beside
from shoal.register.draft import Draft
from shoal.register.own_ledger import own_ledger
from shoal.register.person_marks import row_hashes
from shoal.release.folders import MANIFEST, place
from shoal.release.release import Release
from shoal.rng import secret
from shoal.schema import LinkedSchema, Schema

if TYPE_CHECKING:
    from shoal.register.identity import Known
    from shoal.register.pending import Pending
    from shoal.register.register import Register
    from shoal.register.same_groups import SameGroups

__all__ = [
    "Entering",
    "Entry",
    "draft_of",
    "entered",
    "held_against",
    "known_people",
    "old_ledger",
    "postponed",
    "register_of",
    "without_held",
]

_NONE = np.empty((0, 3), dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Entry:
    """What the register records when the release is written."""

    register: Register
    known: Known | None
    beside: Beside
    draft: Draft | None
    values: AnyArray

    def enter(self, stage: Path, target: Path, words: Mapping[str, Any], levels: Mapping[str, Any]) -> None:
        """Enter the release that lies in `stage` and is about to appear as `target`; `words` is its manifest."""
        self.pending(target, words, levels).enter(self.register.ledger, sha256(stage / MANIFEST))

    def pending(self, target: Path, words: Mapping[str, Any], levels: Mapping[str, Any]) -> Pending:
        """What the register will be told of a release with the manifest `words` that appears as `target`."""
        entry = {
            "created": words["created"],
            "folder": str(place(target)),
            "commitment": words["input"]["commitment"],
            "rows": words["output"]["rows"],
            "recipe": words["recipe"],
            "columns": {n: {**c, **({"level": levels[n]} if n in levels else {})} for n, c in words["columns"].items()},
            "claims": [_short(claim) for claim in words["claims"]],
            "epsilon": sum(c["value"] for c in words["claims"] if c["kind"] == "epsilon-DP"),
            "pseudonyms": words.get("pseudonyms"),
            "files": words["files"],
        }
        values = self.values.astype("<u8").tobytes()
        return self.register.pending(self.beside, self.draft, self.known, entry, values=values)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Postponed:
    """An entry that is left in a private folder until the release leaves."""

    entry: Entry
    place: Path

    def enter(self, stage: Path, target: Path, words: Mapping[str, Any], levels: Mapping[str, Any]) -> None:
        """Leave the entry in its place."""
        self.entry.pending(target, words, levels).write(self.place)


def postponed(release: Release, place: Path) -> Release:
    """The release, to be entered in the register later, when it leaves (`shoal.register.pending`)."""
    return release if release.entry is None else replace(release, entry=Postponed(entry=release.entry, place=place))


def register_of(source: Any, *, data: str | None = None, ledger: str | None = None) -> Register:
    """The register for a file or folder that was read: that of its tag, or the user's own.

    Parameters
    ----------
    source
        What was read (`shoal.files.read_source` or `read_linked`).
    data
        The data set that it belongs to; None: recognised by its rows.
    ledger
        The URL of a ledger; None: that of the tag, or the user's own.
    """
    from shoal.ledger.account import fingerprint, opened_by_tag  # SQLAlchemy takes a third of a second to load
    from shoal.ledger.tag import Tag
    from shoal.register.register import Register

    file = Path(source.path)
    single = getattr(source, "single", False) and file.is_file()
    tag = Tag.read(file.resolve()) if single else None
    if tag is None:
        found = Register.open(data, ledger=ledger, label=file.name)
        return found.of_content(fingerprint(file, found.ledger)) if single else found
    if data not in (None, tag.data):
        raise ParameterError("--data", "the file's tag names another data set", got=f"{data}, not {tag.data}")
    return Register.of(opened_by_tag(file.resolve(), tag, ledger), tag.data)


def old_ledger(source: Any) -> Path | None:
    """The ledger beside a file, or the user's own, if an earlier version made it: it is brought up to date."""
    from shoal.ledger.migration import bring_up_to_date
    from shoal.ledger.tag import Tag, embedded_place

    file = Path(source.path)
    tag = Tag.read(file.resolve()) if getattr(source, "single", False) and file.is_file() else None
    embedded = tag is not None and not tag.ledger
    place = embedded_place(file.resolve()) if embedded else Path(own_ledger().removeprefix("sqlite:///"))
    return place if bring_up_to_date(place) else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Entering:
    """The table of a run as the register sees it.

    Parameters
    ----------
    register, known
        The register with its data set found, and the people of the table.
    table, kept
        The rows that are not held back, and whose groups are kept.
    beside
        What was found when the run was made that is repeated now.
    """

    register: Register | None
    table: Any = None
    known: Known | None = None
    same_groups: SameGroups | None = None
    beside: Beside | None = None

    @classmethod
    def of(
        cls,
        register: Register | None,
        groups: str | None,
        beside: Beside | None,
        table: Any,
        schema: Schema | LinkedSchema,
        recipe: Recipe,
        run: Run,
    ) -> Entering | None:
        """Look at the table before the run; None where no register is asked."""
        if beside is not None and beside.same_groups_as is None:
            return cls(register=None, beside=beside)
        again = None if beside is None else _as_it_was(beside)
        register, groups = again or register, groups if beside is None else beside.same_groups_as
        if register is None:
            _require_register(groups)
            return None
        if not recipe.is_of_people and register.declared is not None:
            return cls(register=register)
        run.progress("looking into the register")
        found, known = known_people(register, table, schema)
        if groups is None:
            return cls(register=found, table=table, known=known)
        _check_groups(recipe)
        planned = found.plan(known, groups, recipe.k, secret(run.key, "held back"))
        rest, mine = without_held(table, schema, known, planned.held)
        return cls(register=found, table=rest, known=mine, same_groups=planned, beside=beside)

    def entered(self, release: Release) -> Release:
        """The release, held against the register and ready to be entered."""
        if self.beside is not None:
            return replace(release, beside=self.beside, facts=(*release.facts, *self.beside.facts))
        assert self.register is not None
        if self.same_groups is None:
            return held_against(release, self.register, self.known)
        words: dict[str, Any] = {"same_groups_as": self.same_groups.release, "held": self.same_groups.people}
        return held_against(release, self.register, self.known, **words)


def _as_it_was(beside: Beside) -> Register:
    """The register as it was when a run was made that kept the groups of an earlier one."""
    from shoal.register.register import Register  # SQLAlchemy takes a third of a second to load

    register = Register.open(beside.data, ledger=beside.ledger)
    return register.among([words["release"] for words in register.releases()[: beside.n_releases]])


def _require_register(groups: str | None) -> None:
    if groups is not None:
        raise ParameterError("same_groups_as", "needs the register that the release was entered in")


def _check_groups(recipe: Recipe) -> None:
    if not recipe.keeps_groups:
        hint = "Levels are kept by a policy: `shoal coarsen --policy`, then `shoal apply`."
        raise ParameterError(
            "same_groups_as", "is for groups and masks, not for coarsened or synthetic tables", hint=hint
        )


def _short(claim: Mapping[str, Any]) -> dict[str, Any]:
    names = ("kind", "value", "scope", "basis", "column", "unit")
    return {name: claim[name] for name in names if claim.get(name) is not None}


def known_people(register: Register, table: Any, schema: Schema | LinkedSchema) -> tuple[Register, Known]:
    """The people of a table, or of the table of persons of linked ones, as the register knows them."""
    if isinstance(schema, LinkedSchema):
        root = schema.persons
        return register.know(enter(table[root.name]), root.whole)
    return register.know(enter(table), schema)


def without_held(table: Any, schema: Schema | LinkedSchema, known: Known, held: BoolArray) -> tuple[Any, Known]:
    """The table without the rows that are held back, and its people; of linked tables without their events too."""
    mine = replace(known, marks=known.marks[~held])
    if isinstance(schema, Schema):
        return _picked(table, ~held), mine
    owners = Collection.of(table, schema).persons
    return {name: _picked(frame, ~held[owners[name]]) for name, frame in table.items()}, mine


def _picked(table: Any, keep: BoolArray) -> Any:
    return leave(pick(enter(table), np.flatnonzero(keep)), like=table)


def held_against(
    release: Release,
    register: Register,
    known: Known | None,
    *,
    same_groups_as: str | None = None,
    held: int | None = None,
) -> Release:
    """The release with what it gives away beside earlier ones, ready to be entered; a GuaranteeError where too much.

    Parameters
    ----------
    same_groups_as, held
        The release whose groups were kept, and how many people were held back; None where nobody ever is.
    """
    draft, values = None, _NONE
    if known is None or release.model is not None:
        beside = register.nobodys()
    else:
        order = np.argsort(release.source_rows)
        draft = draft_of(release, register, known, order)
        values = _values_of(release, draft, order)
        beside = register.check(
            draft,
            known,
            k=release.recipe.k,
            values=_least_values(release.recipe),
            classes=values,
            keeps_groups=release.recipe.keeps_groups,
        )
    like = None if known is None else known.resembles or None
    beside = replace(beside, same_groups_as=same_groups_as, held_back=held, resembles=like)
    entry = Entry(register=register, known=known, beside=beside, draft=draft, values=values)
    return replace(release, beside=beside, entry=entry, facts=(*release.facts, *beside.facts))


def entered(release: Release, register: Register) -> Release:
    """A finished release, held against the register and ready to be entered."""
    found, known = known_people(register, release.original, release.described)
    return held_against(release, found, known)


def draft_of(release: Release, register: Register, known: Known, order: AnyArray) -> Draft:
    """The people of a release; `order` are its rows in the order of the original ones."""
    rows = release.source_rows[order]
    return Draft(
        key=register.key,
        marks=known.marks[rows],
        labels=release.labels[rows],
        unchanged=_unchanged(release, order),
        quasi=_true_quasi(release, order),
        tied=release.linked is not None,
    )


def _unchanged(release: Release, order: AnyArray) -> pl.DataFrame:
    """The released columns by which rows can be joined, in the order of the original rows.

    Where every column was handed round by itself, a person's value is the one that comes back in their group when the
    table is released again: all columns count, with each person's own values.
    """
    if release.recipe.is_apart(release.schema):
        names = [name for name in release.frame.columns if name in release.prepared.frame.columns]
        return pl.DataFrame([_original(release, name, order).alias(name) for name in sorted(names)])
    frame, keys = release.frame, _new_keys(release)
    own = {name: plain(series(frame, name)).gather(order) for name in frame.columns if name not in keys}
    names = [name for name in own if _joins(release, name, own[name], order)]
    return pl.DataFrame([own[name].alias(name) for name in sorted(names)])


def _true_quasi(release: Release, order: AnyArray) -> pl.DataFrame:
    """The quasi-identifiers of the released rows as they truly are, in the order of the original rows."""
    names = [name for name in release.schema.quasi if name in release.prepared.frame.columns]
    return pl.DataFrame([_original(release, name, order).alias(name) for name in sorted(names)])


def _new_keys(release: Release) -> set[str]:
    """Numbers in a secret order, which are new in each release; pseudonyms are not."""
    if release.linked is None or release.pseudonyms is not None:
        return set()
    return {str(release.linked.schema.persons.key)}


def _joins(release: Release, name: str, content: pl.Series, order: AnyArray) -> bool:
    aware = any(getattr(method, "is_aware", False) for method in release.recipe.methods)
    quasi = name in release.schema.quasi
    if not aware:
        return not quasi  # what a blind mask or a coarsener leaves follows from the group
    return not (quasi and content.n_unique() == 1) and _same(release, name, content, order)


def _same(release: Release, name: str, content: pl.Series, order: AnyArray) -> bool:
    """Whether a column is released as it was."""
    own = _original(release, name, order)
    return bool(content.cast(pl.String).eq_missing(own.cast(pl.String)).all())


def _original(release: Release, name: str, order: AnyArray) -> pl.Series:
    """A column of the released rows before it was masked, in the order of the original rows."""
    prepared = release.prepared
    place = np.empty(prepared.n_original, dtype=np.int64)
    place[prepared.rows] = np.arange(prepared.n)
    return plain(series(prepared.frame, name)).gather(place[release.source_rows[order]])


def _least_values(recipe: Recipe) -> int:
    """How many different sensitive values a class must have; 0 where nothing was asked for."""
    asked = [getattr(method, "diversity", None) for method in recipe.methods]
    return max([math.ceil(Diversity.of(one).l) for one in asked if one is not None], default=0)


def _values_of(release: Release, draft: Draft, order: AnyArray) -> AnyArray:
    """The label, the column and the value of every class, as keyed marks."""
    names = [name for name in sorted(release.frame.columns) if name in release.schema.sensitive]
    if not names or not _least_values(release.recipe):
        return _NONE
    return np.unique(np.concatenate([_marked(release, draft, name, order) for name in names]), axis=0)


def _marked(release: Release, draft: Draft, name: str, order: AnyArray) -> AnyArray:
    content = pl.DataFrame([plain(series(release.frame, name)).gather(order).alias(name)])
    values = row_hashes(draft.key, "value", content, len(order))[:, 0]
    column = row_hashes(draft.key, "column", pl.DataFrame({"name": [name]}), 1)[0, 0]
    return np.column_stack((draft.row_labels, np.full(len(order), column), values))
