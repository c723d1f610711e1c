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

import json
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
from shoal.schema import Column, Level, Schema
from shoal.schema.arithmetic import Formula, formulas
from shoal.schema.codes_seen import (
    codes_among_dates,
    codes_seen,
    meaning_of,
    question,
    without_codes,
    words_among_numbers,
)
from shoal.schema.column import NAMING
from shoal.schema.dependency import Dependency, dependencies
from shoal.schema.described import absences_among
from shoal.schema.evidence import (
    Facts,
    date_forms,
    look,
    number_marks,
    words_in,
    words_of,
)
from shoal.schema.foreign_words import languages_of
from shoal.schema.guess import guess_roles
from shoal.schema.guess_beside import Guess, says_the_same
from shoal.schema.guess_kind import guess_kind, guess_levels, is_unordered
from shoal.schema.keys import group_codes
from shoal.schema.person_key import key_question
from shoal.schema.proposal_advice import advice
from shoal.schema.schema import REPEATS, toml_comment
from shoal.schema.whose_rows import whose_rows
from shoal.value import text_of

__all__ = ["Proposal", "propose", "words_in"]

_MOST_COLUMNS = 500  # among which formulas are sought
_MOST_NAMED = 20  # columns of the codebook that are named for not being there

Codebook: TypeAlias = Labels | Mapping[str, str] | str | os.PathLike[str] | None

_HEADER = """\
# A proposed schema. Check every line before you use it: a role that is wrong here is protected wrongly.
#
#   role      identifier (never released), quasi (masked), sensitive (what must not be learnt), weight, unit (which rows
#             belong to one person), household (who lives together) or other (released as it is)
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
    which are quasi-identifiers out of caution, and may be sensitive, those that tell most people apart first;
    `follows` the quasi-identifiers that follow from others; `sums` the columns that are sums of others, of which some
    are masked and some are not; `keys` the columns that may number people or households although something speaks
    against it, or be the weight of a survey or of a body, each with the role it would have; `gaps` the columns where
    numbers are missing, which stay so unless somebody says what they shall be; `repeats` the question whether rows that
    occur more than once are the same person's; `unused` what a codebook describes and the table does not have; `advice`
    where to begin if very many columns are open.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.infer import propose
    >>> table = pl.DataFrame({"patient_id": range(100, 140), "age": [*range(30, 50)] * 2, "sex": ["f", "m"] * 20})
    >>> proposal = propose(table)
    >>> proposal.schema.identifier, proposal.schema.quasi
    (('patient_id',), ('age', 'sex'))
    >>> proposal.reasons["age"]
    'The name suggests age or birth. Numbers with 20 different values.'
    """

    schema: Schema
    reasons: Mapping[str, str]
    doubtful: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()
    follows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    repeats: str = ""
    unused: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def comments(self) -> dict[str, str]:
        """The reasons, and below each what to ask: its role, codes for an absence, missing numbers, derivation."""
        return {name: f"{reason}{self._questions(name)}" for name, reason in self.reasons.items()}

    def _questions(self, name: str) -> str:
        codes = question(self.doubtful.get(name, {}), listed=bool(self.schema[name].levels))
        asked = [codes] if codes else []
        if name in self.gaps:
            asked.append('What shall a missing number be? missing = "level", "drop", "median" or a number')
        if name in self.keys:
            asked.insert(0, f'{key_question(name, self.keys[name])} If so: role = "{self.keys[name]}"')
        if name in self.undecided:
            asked.insert(0, 'Must nobody learn it? If so: role = "sensitive"')
        if name in self.follows:
            made = ", ".join(f'"{other}"' for other in self.follows[name])
            asked.append(f"Is it made from that? If so: derived = [{made}]")
        if name in self.sums:
            terms = ", ".join([*(f"{_key(other)} = 1" for other in self.sums[name]), f"{_key(name)} = -1"])
            asked.append(f"Must the sum hold in the release? If so: [[rules]] with sum = {{ {terms} }} and equals = 0")
        return "".join(f"\n{one}" for one in asked)

    def to_toml(self) -> str:
        """The schema as TOML text, with a header that says how to read it and the reasons as comments."""
        first, _, header = _HEADER.partition("\n")
        advised = "".join(map(toml_comment, self.advice))
        return f"{first}\n{advised}{header}{self._asks_of_rows()}{self._remark()}\n{self.schema.to_toml(self.comments)}"

    def _asks_of_rows(self) -> str:
        """Whether equal rows are one person's, as a comment that answers it where its sign is taken away."""
        if not self.repeats:
            return ""
        asked = toml_comment(f"{self.repeats} Take away the sign before the answer that is right:")
        return f"#\n{asked}" + "".join(f'# repeats = "{answer}"\n' for answer in REPEATS)

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
        hint = "Give a file with rows below its header, or a query that returns some."
        raise InputError("table", "must have at least one row to propose a schema from", got="none", hint=hint)
    book = codebook_labels(codebook)
    said, unused = fitted(book, frame.columns)
    said = said.over(labels)
    known = {name: codes for name in frame.columns if (codes := _absences(series(frame, name), said))}
    spoken = languages_of(map(words_of, frame.columns))
    facts = [_look(series(frame, name), known.get(name, {}), said, spoken) for name in frame.columns]
    found = dependencies({fact.name: fact.cells for fact in facts})
    computed = formulas({fact.name: fact.cells for fact in facts}) if len(facts) <= _MOST_COLUMNS else ()
    roles = guess_roles(facts, found, computed)
    unit = next((fact.cells for fact in facts if roles[fact.name].role == "unit"), None)
    why_coded = _why_coded(facts, roles, found)
    entries = [
        _with_codes(
            _entry(fact, roles[fact.name], unit, _follows(found, computed, fact.name), why_coded),
            known.get(fact.name, {}),
            _declarer(fact, said),
        )
        for fact in facts
    ]
    undecided = _by_weight([fact for fact in facts if roles[fact.name].undecided])
    sensitive = _by_weight([fact for fact in facts if roles[fact.name].role == "sensitive"])
    schema = Schema(tuple(column for column, _ in entries))
    return Proposal(
        schema=schema,
        reasons={column.name: reason for column, reason in entries},
        doubtful=_doubtful(facts, [column for column, _ in entries]),
        undecided=undecided,
        follows=_made_from((*computed, *found), roles),
        sums=_sums_asked(computed, roles),
        keys={name: guess.asked for name, guess in roles.items() if guess.asked is not None},
        gaps=tuple(one.name for (one, _), fact in zip(entries, facts, strict=True) if _needs_rule(one, fact)),
        repeats=whose_rows(frame, schema).question,
        unused=unused,
        advice=advice(len(facts), sensitive, undecided),
    )


def _needs_rule(column: Column, fact: Facts) -> bool:
    """Whether numbers are missing, and nothing says what they shall be."""
    return column.kind == "numeric" and column.missing == "error" and _n_missing(fact) > 0


def _by_weight(facts: Sequence[Facts]) -> tuple[str, ...]:
    """Names of columns, those that tell most people apart first: there a wrong role costs most, whichever it is."""
    return tuple(fact.name for fact in sorted(facts, key=lambda fact: -_entropy(fact.cells)))


def _entropy(cells: pl.Series) -> float:
    return float(cells.alias("value").value_counts(name="n")["n"].entropy(normalize=True) or 0.0)


def _key(name: str) -> str:
    """A column's name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _sums_asked(computed: Sequence[Formula], roles: Mapping[str, Guess]) -> dict[str, tuple[str, ...]]:
    """The columns that are sums of others in every row, of which some would be masked and others not."""
    sums = [one for one in computed if one.share == 1 and one.is_sum]
    mixed = {one.column: {roles[name].role for name in (one.column, *one.of)} for one in sums}
    return {one.column: one.of for one in sums if mixed[one.column] == {"quasi", "sensitive"}}


def _made_from(found: Sequence[Dependency | Formula], roles: Mapping[str, Guess]) -> dict[str, tuple[str, ...]]:
    """Quasi-identifiers that follow from others in all rows or nearly all; of two that say the same, the later one."""
    made: dict[str, tuple[str, ...]] = {}
    place = {name: i for i, name in enumerate(roles)}
    for one in sorted(found, key=lambda one: -place[one.column]):
        names = (one.column, *one.of)
        if all(roles[name].role == "quasi" for name in names) and not set(one.of) & set(made):
            made.setdefault(one.column, one.of)
    return made


def _absences(column: pl.Series, said: Labels) -> dict[Level, str]:
    """The codes for an absence: those declared, those whose meaning is one, else words among numbers."""
    meanings = said.values.get(column.name, {})
    declared = said.absences.get(column.name, {}) | absences_among(meanings)
    if declared or not (column.dtype == pl.String or column.dtype.is_integer()):
        return declared
    fact = look(column)
    found = words_among_numbers(fact, coded=is_unordered(fact)) or codes_among_dates(fact)
    return {_read(word, column): meaning_of(word) for word in found}


def _read(word: str, column: pl.Series) -> Level:
    return int(word) if column.dtype.is_integer() else word


def _declarer(fact: Facts, said: Labels) -> str:
    """Who says which codes stand for an absence; nobody where the numbers alone show it."""
    return fact.said_by if fact.name in said.missing or absences_among(said.values.get(fact.name, {})) else ""


def _doubtful(facts: Sequence[Facts], columns: Sequence[Column]) -> dict[str, dict[str, int]]:
    """Of columns that are described by their values, those that may stand for an absence, and how many cells."""
    described = [fact for fact, column in zip(facts, columns, strict=True) if column.kind and not column.format]
    return {fact.name: seen for fact in described if (seen := codes_seen(fact))}


def _look(column: pl.Series, codes: Mapping[Level, str], said: Labels, spoken: Collection[str]) -> Facts:
    bare = without_codes(column, codes)
    absent = {text_of(code) for code in codes}
    meanings = said.values.get(column.name, {})
    return replace(
        look(bare, bare.null_count() - column.null_count(), spoken),
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
    but_for = "Dates but for these" if column.format else "Numbers but for words"
    why = f"The {declarer} says that" if declarer else f"{but_for}, so it is taken that"
    stand = "stands" if len(codes) == 1 else "stand"
    return replace(column, missing_codes=codes), f"{reason} {why} {listed} {stand} for an absence."


def _why_coded(facts: Sequence[Facts], roles: Mapping[str, Guess], found: Sequence[Dependency]) -> dict[str, str]:
    """The columns of whole numbers that other columns show to be codes, each with what it is."""
    grouped = dict.fromkeys(group_codes(facts, roles), "Codes of groups, as other columns repeat with them,")
    spelled = _spelled_out(facts, [one for one in found if len(one.of) == 1])
    return grouped | dict.fromkeys(spelled, "Codes that another column spells out,")


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
    fact: Facts, guess: Guess, unit: pl.Series | None, follows: str, why_coded: Mapping[str, str]
) -> tuple[Column, str]:
    if guess.role in NAMING:
        return Column(name=fact.name, role=guess.role), _sentence(guess.reason, follows, _marked(fact), _gaps(fact))
    forms = date_forms(fact)
    if forms:
        return _dated(fact, guess, forms, follows)
    kind, why = guess_kind(fact, guess.role, why_coded.get(fact.name, ""))
    levels, kind, remark = guess_levels(fact, kind, unit)
    column = Column(name=fact.name, role=guess.role, kind=kind, levels=levels)
    gaps = _gaps(fact)
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
        return column, _sentence(guess.reason, sure, follows, _gaps(fact))
    if other is None:
        column = Column(name=fact.name, role=guess.role, kind="ordinal", format=form)
        sure = f"All its {fact.n_distinct:,} different values are {form}, and in no other form"
        return column, _sentence(guess.reason, sure, follows, _gaps(fact))
    unsure = f"Its values are {form} or {other}, as no day is above 12: set format to the right one"
    column = Column(name=fact.name, role=guess.role, kind="nominal")
    return column, _sentence(guess.reason, unsure, follows, _gaps(fact))


def _follows(found: Sequence[Dependency], computed: Sequence[Formula], name: str) -> str:
    """From which columns this one follows: by a formula, else the two coarsest suffice to see it."""
    formula = next((one for one in computed if one.column == name), None)
    if formula is not None:
        share = "" if formula.share == 1 else f" in {math.floor(1000 * formula.share) / 10}% of rows"
        return f"Where all are known, it is {formula.words}{share}"
    mine = [one for one in found if one.column == name][:2]
    exact = [" and ".join(one.of) for one in mine if one.share == 1]
    if exact:
        return f"Follows from {', and also from '.join(exact)}"
    near = [f"{' and '.join(one.of)} in {math.floor(1000 * one.share) / 10}% of {_judged_on(one)}" for one in mine]
    return f"Follows from {', and from '.join(near)}" if near else ""


def _judged_on(one: Dependency) -> str:
    return "rows" if len(one.of) == 1 else "the rows that share both values with another"


def _n_missing(fact: Facts) -> int:
    return len(fact.cells) - fact.n_known - fact.n_coded


def _gaps(fact: Facts) -> str:
    n_missing = _n_missing(fact)
    verb = "is" if n_missing == 1 else "are"
    return f"{n_missing:,} of {len(fact.cells):,} cells {verb} missing" if n_missing else ""


def _sentence(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)
