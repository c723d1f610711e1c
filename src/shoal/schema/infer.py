"""A schema proposed from a table, with the reason of every guess, for a person to correct.

Roles are guessed from the words in a column's name (``AGE23X`` holds the word *age*, ``stage`` does not), from what a
codebook or the file itself says that it holds, and from its cells: addresses and numbers of persons, columns in which
everybody differs, codes of diagnoses and drugs, dates in any usual form. What follows from another column (a
description from its code) has that column's role. Whatever stays undecided is a quasi-identifier, because that is the
cautious guess: it will be masked. Kinds are guessed from the type, the number of different values, and whether another
column or a codebook spells the values out, which makes them codes.

Nothing that belongs to one person is written into a proposal: reasons hold counts and shares only, levels are given
only if each is held by at least five people or a codebook lists them, and bounds never are, since the smallest and the
largest value are somebody's.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypeAlias

import polars as pl

from shoal.errors import InputError
from shoal.files import Labels
from shoal.files.codebook import codebook_labels, fitted
from shoal.files.column_types import DURATIONS
from shoal.frame import enter, series
from shoal.record import Record
from shoal.schema import Column, Kind, Level, Role, Schema
from shoal.schema.codes_seen import codes_seen, question, without_codes, words_among_numbers
from shoal.schema.column import NAMING
from shoal.schema.described import absences_among, in_order, is_code
from shoal.schema.evidence import (
    Dependency,
    Facts,
    date_forms,
    dependencies,
    look,
    number_marks,
    words_in,
)
from shoal.schema.guess import Guess, guess_roles, says_the_same
from shoal.schema.name_words import (
    COUNTS,
    GROUPED,
    MEASURES,
    UNORDERED,
)
from shoal.value import text_of

__all__ = ["Proposal", "propose", "words_in"]

FEWEST_PEOPLE = 5
MOST_LEVELS = 30
_MOST_LISTED = 300  # levels that a codebook lists
_MOST_NAMED = 20  # columns of the codebook that are named for not being there

Codebook: TypeAlias = Labels | Mapping[str, str] | str | os.PathLike[str] | None

_HEADER = """\
# A proposed schema. Check every line before you use it: a role that is wrong here is protected wrongly.
#
#   role      identifier (never released), quasi (masked), sensitive (what must not be learnt), weight, unit (which rows
#             belong to one person) or other (released as it is)
#   kind      numeric, ordinal (levels with an order) or nominal (levels without)
#   levels    the public list of levels, ordinal ones in their order; those below are the ones that occur, so before
#             you synthesise with a claim of differential privacy, put what is publicly known in their place
#   bounds    [lowest, highest], the public range of a number; never proposed, as the extremes are somebody's
#   format    how the file writes the column's dates or times; dates as ISO has them need none
#   missing   "error", "level" (a level of its own), "drop" the row, "median", or the number to put in its place
#   missing_codes   values that stand for an absence, each with its meaning: { "-8" = "not applicable" }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """A schema, and for each column the reason of its entry in one line.

    `doubtful` are values that may stand for an absence, by column; `undecided` the columns that nothing speaks for,
    which are quasi-identifiers out of caution; `unused` what a codebook describes and the table does not have.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.infer import propose
    >>> table = pl.DataFrame({"patient_id": range(100, 140), "age": [*range(30, 50)] * 2, "sex": ["f", "m"] * 20})
    >>> proposal = propose(table)
    >>> proposal.schema.identifier, proposal.schema.quasi
    (('patient_id',), ('age', 'sex'))
    >>> proposal.reasons["age"]
    'The name speaks of age or birth. Numbers with 20 different values.'
    """

    schema: Schema
    reasons: Mapping[str, str]
    doubtful: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def comments(self) -> dict[str, str]:
        """The reasons, with what to ask about values that may stand for an absence (`doubtful`)."""
        return {
            name: _sentence(
                reason.rstrip("."), question(self.doubtful.get(name, {}), listed=bool(self.schema[name].levels))
            )
            for name, reason in self.reasons.items()
        }

    def to_toml(self) -> str:
        """The schema as TOML text, with a header that says how to read it and the reasons as comments."""
        return f"{_HEADER}{self._remark()}\n{self.schema.to_toml(self.comments)}"

    def _remark(self) -> str:
        """What of the codebook was of no use, as a comment."""
        if not self.unused:
            return ""
        listed = "; ".join(_asked(name, self.reasons) for name in self.unused[:_MOST_NAMED])
        more = f"; and {len(self.unused) - _MOST_NAMED} more" if len(self.unused) > _MOST_NAMED else ""
        return f"#\n# The codebook describes columns that the table does not have: {listed}{more}.\n"


def _asked(name: str, columns: Collection[str]) -> str:
    """A name of the codebook, and the column that it may be meant for."""
    near = get_close_matches(name, list(columns), n=1, cutoff=0.85)
    return f"{name} (is {near[0]} meant?)" if near else name


def propose(table: Any, labels: Labels | None = None, *, codebook: Codebook = None) -> Proposal:
    """Propose a schema for `table`: any dataframe with at least one row.

    `labels` are what the table's file itself says of its columns, as statistical files do. `codebook` says the same
    from outside (a file that `shoal.files.codebook.read_codebook` can read, its labels, or texts by column), and comes
    first. A label counts where the name says nothing; codes that are said to stand for an absence are proposed so.

    The proposal is for a person to correct; nothing in Shoal uses one silently. Missing values: their number is part of
    the reason. Cost: one count of different values per column.
    """
    frame = enter(table)
    if not len(frame):
        raise InputError("table", "must have at least one row to propose a schema from", got="none")
    book = codebook_labels(codebook)
    said, unused = fitted(book, frame.columns)
    said = said.over(labels)
    known = {name: codes for name in frame.columns if (codes := _absences(series(frame, name), said))}
    facts = [_look(series(frame, name), known.get(name, {}), said) for name in frame.columns]
    found = dependencies({fact.name: fact.cells for fact in facts})
    roles = guess_roles(facts, found)
    unit = next((fact.cells for fact in facts if roles[fact.name].role == "unit"), None)
    spelled = _spelled_out(facts, [one for one in found if len(one.of) == 1])
    entries = [
        _with_codes(
            _entry(fact, roles[fact.name], unit, found, spelled), known.get(fact.name, {}), _declarer(fact, said)
        )
        for fact in facts
    ]
    return Proposal(
        schema=Schema(tuple(column for column, _ in entries)),
        reasons={column.name: reason for column, reason in entries},
        doubtful=_doubtful(facts, [column for column, _ in entries]),
        undecided=tuple(name for name, guess in roles.items() if guess.undecided),
        unused=unused,
    )


def _absences(column: pl.Series, said: Labels) -> dict[Level, str]:
    """The codes for an absence: those declared, those whose meaning is one, else words among numbers."""
    meanings = said.values.get(column.name, {})
    declared = said.absences.get(column.name, {}) | absences_among(meanings)
    if declared or column.dtype != pl.String:
        return declared
    return dict.fromkeys(words_among_numbers(look(column)), "unknown")


def _declarer(fact: Facts, said: Labels) -> str:
    """Who says which codes stand for an absence; nobody where the numbers alone show it."""
    return fact.said_by if fact.name in said.missing or absences_among(said.values.get(fact.name, {})) else ""


def _doubtful(facts: Sequence[Facts], columns: Sequence[Column]) -> dict[str, dict[str, int]]:
    """Of columns that are described by their values, those that may stand for an absence, and how many cells."""
    described = [fact for fact, column in zip(facts, columns, strict=True) if column.kind and not column.format]
    return {fact.name: seen for fact in described if (seen := codes_seen(fact))}


def _look(column: pl.Series, codes: Mapping[Level, str], said: Labels) -> Facts:
    bare = without_codes(column, codes)
    absent = {text_of(code) for code in codes}
    meanings = said.values.get(column.name, {})
    return replace(
        look(bare, bare.null_count() - column.null_count()),
        label=said.columns.get(column.name, ""),
        meanings={code: meaning for code, meaning in meanings.items() if text_of(code) not in absent},
        said_by="codebook" if column.name in said.codebook else "file",
        marked=column.name in said.identifiers,
    )


def _with_codes(entry: tuple[Column, str], codes: Mapping[Level, str], declarer: str) -> tuple[Column, str]:
    """The entry with the codes that are declared, or that its numbers show."""
    column, reason = entry
    if not codes or column.role in NAMING:
        return entry
    listed = ", ".join(map(text_of, codes))
    why = f"The {declarer} says that" if declarer else "Numbers but for words, so it is taken that"
    stand = "stands" if len(codes) == 1 else "stand"
    return replace(column, missing_codes=codes), f"{reason} {why} {listed} {stand} for an absence."


def _spelled_out(facts: Sequence[Facts], found: Sequence[Dependency]) -> frozenset[str]:
    """The columns of whole numbers that are codes: a text follows from each of them, and it from the text."""
    known = {fact.name: fact for fact in facts}
    pairs = [(one.column, one.of[0]) for one in found if one.both_ways or says_the_same(*_both(one, known))]
    named = {name: other for pair in pairs for name, other in (pair, pair[::-1])}
    return frozenset(
        name for name, other in named.items() if known[name].whole and known[name].n_distinct > 2 and known[other].text
    )


def _both(one: Dependency, known: Mapping[str, Facts]) -> tuple[Facts, Facts]:
    return known[one.column], known[one.of[0]]


def _entry(
    fact: Facts, guess: Guess, unit: pl.Series | None, found: Sequence[Dependency], spelled: frozenset[str]
) -> tuple[Column, str]:
    follows = _follows(found, fact.name)
    if guess.role in ("identifier", "unit"):
        return Column(name=fact.name, role=guess.role), _sentence(guess.reason, follows, _marked(fact), _gaps(fact))
    forms = date_forms(fact)
    if forms:
        return _dated(fact, guess, forms, follows)
    kind, why = _kind(fact, guess.role, fact.name in spelled)
    levels, kind, remark = _levels(fact, kind, unit)
    column = Column(name=fact.name, role=guess.role, kind=kind, levels=levels)
    gaps = _gaps(fact, numeric=kind == "numeric")
    return column, _sentence(guess.reason, why, remark, follows, _marked(fact), gaps)


def _marked(fact: Facts) -> str:
    """How to read texts that are numbers with marks between their thousands."""
    marks = number_marks(fact)
    if marks is None:
        return ""
    given = " ".join(f'--{name} "{mark}"' for name, mark in zip(("thousands", "decimal"), marks, strict=True))
    return f"All its values are numbers with a thousands mark: read the file with {given}"


def _dated(fact: Facts, guess: Guess, forms: tuple[str, ...], follows: str) -> tuple[Column, str]:
    """A column whose cells are dates or times in some form: declared if there is one, asked for if there are two."""
    form, other = (*forms, None)[:2]
    if form in DURATIONS:
        sure = f"All its {fact.n_distinct:,} different values are durations ({form}), read as seconds"
        column = Column(name=fact.name, role=guess.role, kind="numeric", format=form)
        return column, _sentence(guess.reason, sure, follows, _gaps(fact, numeric=True))
    if other is None:
        column = Column(name=fact.name, role=guess.role, kind="ordinal", format=form)
        sure = f"All its {fact.n_distinct:,} different values are {form}, and in no other form"
        return column, _sentence(guess.reason, sure, follows, _gaps(fact))
    unsure = f"Its values are {form} or {other}, as no day is above 12: set format to the right one"
    column = Column(name=fact.name, role=guess.role, kind="nominal")
    return column, _sentence(guess.reason, unsure, follows, _gaps(fact))


def _follows(found: Sequence[Dependency], name: str) -> str:
    """From which columns this one follows: the two coarsest suffice to see it."""
    mine = [one for one in found if one.column == name][:2]
    exact = [" and ".join(one.of) for one in mine if one.share == 1]
    if exact:
        return f"Follows from {', and also from '.join(exact)}"
    near = [f"{' and '.join(one.of)} in {math.floor(1000 * one.share) / 10}% of rows" for one in mine]
    return f"Follows from {', and from '.join(near)}" if near else ""


def _kind(fact: Facts, role: Role, spelled: bool = False) -> tuple[Kind, str]:
    if role == "weight":
        return "numeric", _values(fact, "Numbers")
    if spelled and not fact.has(*MEASURES):
        return "nominal", _values(fact, "Codes that another column spells out,")
    if _listed(fact) and fact.whole and fact.n_distinct > 2:
        ordered = in_order(f"{' '.join(fact.words)} {fact.label}", fact.meanings)
        what = f"Codes that the {fact.said_by} lists{', steps of a scale' if ordered else ''},"
        return "ordinal" if ordered else "nominal", _values(fact, what)
    if fact.cells.dtype.is_temporal():
        return "ordinal", _values(fact, "Dates and times")
    if not fact.n_known:
        return "nominal", "No cell is filled"
    if fact.text or not fact.cells.dtype.is_numeric():
        return "nominal", _values(fact, "Texts" if fact.text else "True or false")
    if fact.n_distinct <= 2:
        return "nominal", _values(fact, "Numbers")
    if fact.whole and _unordered(fact):
        return "nominal", _values(fact, "Codes")
    # Few different values among many people are classes; among few people they say nothing.
    measured = role == "sensitive" or (fact.has(*MEASURES) and fact.n_known < 100)
    if fact.whole and fact.n_distinct <= 10 and (fact.has(*GROUPED) or not measured):
        return "ordinal", _values(fact, "Whole numbers")
    return "numeric", _values(fact, "Numbers")


def _unordered(fact: Facts) -> bool:
    counted = fact.has(*COUNTS) and fact.cells.dtype.is_numeric()
    return (is_code(fact.label) or any(UNORDERED.covers(word) for word in fact.words)) and not counted


def _levels(fact: Facts, kind: Kind, unit: pl.Series | None) -> tuple[tuple[Level, ...] | None, Kind, str]:
    """The levels that may be shown, the kind (texts such as "18-25" are ordinal), and what is to be said about it."""
    if kind == "numeric" or fact.cells.dtype.is_temporal() or not fact.n_known:
        return None, kind, ""
    if fact.said_by == "codebook" and _listed(fact) and len(fact.meanings) <= _MOST_LISTED:
        codes = [_like(fact, code) for code in fact.meanings]
        return tuple(sorted(codes) if kind == "ordinal" else codes), kind, "Levels are those of the codebook"
    if fact.n_distinct > MOST_LEVELS:
        return None, kind, f"Levels are left out: more than {MOST_LEVELS}"
    people = _people(fact.cells, unit)
    rare = int((people["people"] < FEWEST_PEOPLE).sum())
    if rare:
        return None, kind, f"Levels are left out: fewer than {FEWEST_PEOPLE} people have {_of(rare, fact.n_distinct)}"
    shown = people["level"].to_list()
    if fact.text and not _unordered(fact) and all(re.match(_RANGE, level) for level in shown):
        return tuple(sorted(shown, key=_start)), "ordinal", "Its texts begin with numbers, so they have an order"
    return tuple(_plain(level) for level in shown), kind, ""


def _listed(fact: Facts) -> bool:
    """Whether the meaning of each of its values is said, and of two at least."""
    listed = {text_of(code) for code in fact.meanings}
    return len(listed) >= 2 and {text_of(_plain(value)) for value in fact.values.to_list()} <= listed


def _like(fact: Facts, code: Level) -> Any:
    return text_of(code) if fact.text else _plain(code)


def _plain(level: Any) -> Level:
    if isinstance(level, str | bool | int):
        return level
    return int(level) if level == int(level) else float(level)


def _people(cells: pl.Series, unit: pl.Series | None) -> pl.DataFrame:
    """Each level with the number of people who have it, in order of the levels."""
    level = cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells
    rows = pl.DataFrame({"level": level, "unit": range(len(level)) if unit is None else unit}).drop_nulls("level")
    return rows.group_by("level").agg(people=pl.col("unit").n_unique()).sort("level")


_RANGE = r"^(?:\[|\(|<=?|>=?|under |over |below |above |up to |less than )? ?\d+(?:\.\d+)?(?!\d*[A-Za-z])"


def _start(level: str) -> tuple[float, int]:
    number = re.search(r"\d+(?:\.\d+)?", level)
    below = re.match(r"<|under|below|up to|less", level) is not None
    above = re.match(r">|over|above", level) is not None
    return float(number[0]) if number else 0.0, above - below


def _values(fact: Facts, what: str) -> str:
    return f"{what} with {fact.n_distinct:,} different value{'' if fact.n_distinct == 1 else 's'}"


def _of(part: int, whole: int) -> str:
    return f"{part} of the {whole}" if part < whole else f"each of the {whole}"


def _gaps(fact: Facts, *, numeric: bool = False) -> str:
    n_missing = len(fact.cells) - fact.n_known - fact.n_coded
    if not n_missing:
        return ""
    share = f"{n_missing:,} of {len(fact.cells):,} cells {'is' if n_missing == 1 else 'are'} missing"
    return f"{share}: choose level, drop, median or a number" if numeric else share


def _sentence(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)
