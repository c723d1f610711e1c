"""A schema proposed from a table, with the reason of every guess, for a person to correct.

Roles are guessed from the words in a column's name (``AGE23X`` holds the word *age*, ``stage`` does not) and from its
cells: addresses and numbers of persons, columns in which everybody differs, codes of diagnoses and drugs, dates in any
usual form. What follows from another column (a description from its code) has that column's role. Whatever stays
undecided is a quasi-identifier, because that is the cautious guess: it will be masked. Kinds are guessed from the type,
the number of different values, and whether another column spells the values out, which makes them codes.

Nothing that belongs to one person is written into a proposal: reasons hold counts and shares only, levels are given
only if each is held by at least five people, and bounds never are, since the smallest and the largest value are
somebody's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.frame import enter, series
from shoal.record import Record
from shoal.schema import Column, Kind, Level, Role, Schema
from shoal.schema.dependency import Dependency, dependencies
from shoal.schema.facts import Facts, look, words_in
from shoal.schema.name_words import (
    BODY,
    CODED,
    COUNTS,
    DESCRIBING,
    EVENT,
    GROUPED,
    IDENTIFIERS,
    MEASURES,
    NAME_PARTS,
    NUMBER,
    PERSON,
    PERSON_NUMBERS,
    PLACE_OR_THING,
    QUASI,
    SENSITIVE,
    SURVEY,
    UNORDERED,
    WEIGHTS,
    Topic,
)
from shoal.schema.value_evidence import (
    UUID,
    clinical_codes,
    date_forms,
    is_amount,
    like_names,
    personal_patterns,
)

__all__ = ["Proposal", "propose", "words_in"]

FEWEST_PEOPLE = 5
MOST_LEVELS = 30

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
#   missing   "error", "drop" the row, "median", or the number to put in its place
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """A schema, and for each column the reason of its entry in one line.

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

    def to_toml(self) -> str:
        """The schema as TOML text, with a header that says how to read it and the reasons as comments."""
        return f"{_HEADER}\n{self.schema.to_toml(self.reasons)}"


def propose(table: Any) -> Proposal:
    """Propose a schema for `table`: any dataframe with at least one row.

    The proposal is for a person to correct; nothing in Shoal uses one silently. Missing values: their number is part of
    the reason. Cost: one count of different values per column.
    """
    frame = enter(table)
    if not len(frame):
        raise InputError("table", "must have at least one row to propose a schema from", got="none")
    facts = [look(series(frame, name)) for name in frame.columns]
    beside = frozenset(word for fact in facts for word in fact.words)
    found = dependencies({fact.name: fact.cells for fact in facts})
    guesses = {fact.name: _not_amount(fact, _role(fact, beside), facts) for fact in facts}
    roles = _one_each(_with_codes(facts, guesses, found))
    unit = next((fact.cells for fact in facts if roles[fact.name].role == "unit"), None)
    spelled = _spelled_out(facts, [one for one in found if len(one.of) == 1])
    entries = [_entry(fact, roles[fact.name], unit, found, spelled) for fact in facts]
    return Proposal(
        schema=Schema(tuple(column for column, _ in entries)),
        reasons={column.name: reason for column, reason in entries},
    )


# Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guess:
    role: Role
    reason: str
    by_difference: bool = False


def _role(fact: Facts, beside: frozenset[str]) -> _Guess:
    """The first rule that decides; `beside` holds the words of all columns' names."""
    rules = (_by_pattern, _by_key, _by_number, _by_name, _by_code, _by_date, _by_topic, _by_difference, _by_length)
    weight = _by_weight(fact, beside)
    for rule in rules:
        guess = weight if weight is not None and rule is _by_code else rule(fact)
        if guess is not None:
            return guess
    return _Guess(role="quasi", reason="Undecided, so quasi, the cautious guess")


def _by_pattern(fact: Facts) -> _Guess | None:
    found = personal_patterns(fact)
    return (
        None if found is None else _Guess(role="identifier", reason=f"{found[1]:.0%} of its cells look like {found[0]}")
    )


def _by_key(fact: Facts) -> _Guess | None:
    """A column that is called after persons or events and holds keys: made-up ones, or numbers that repeat."""
    made_up = fact.share(UUID) >= 0.95
    event = fact.has(*EVENT)
    if made_up and (fact.all_distinct or event):
        return _Guess(
            role="identifier", reason="Its cells are universal identifiers (UUID)" + (", of records" if event else "")
        )
    if (fact.words[:-1] and not all(word in PERSON for word in fact.words)) or fact.n_distinct < 20:
        return None
    if not (made_up or fact.whole or fact.share(r"\d") >= 0.95):
        return None
    rows = fact.n_known / fact.n_distinct
    if fact.all_distinct:
        return _Guess(role="identifier", reason="The name speaks of a person, and all values differ")
    return _Guess(role="unit", reason=f"The name speaks of a person, and its keys repeat: {rows:.1f} rows each")


def _by_number(fact: Facts) -> _Guess | None:
    """Numbers of persons, visits and records: in pairs of words such as ``patient_nbr``, or in one word."""
    pairs = list(zip(fact.words, fact.words[1:], strict=False))
    person = fact.has(*PERSON_NUMBERS) or any(a in PERSON and b in NUMBER for a, b in pairs)
    if person and not fact.all_distinct and fact.n_known > 1:
        rows = fact.n_known / fact.n_distinct
        return _Guess(role="unit", reason=f"The name speaks of a person's number, and it repeats: {rows:.1f} rows each")
    if person:
        return _Guess(role="identifier", reason="The name speaks of a person's number")
    if any(a in EVENT and b in NUMBER for a, b in pairs):
        return _Guess(role="identifier", reason="The name speaks of a record's number")
    if fact.has(*NUMBER) and fact.distinct_share >= 0.5 and fact.n_known >= 20 and (fact.whole or fact.text):
        share = f"{fact.distinct_share:.0%}"
        return _Guess(role="identifier", reason=f"The name speaks of a number, and {share} of its values differ")
    return None


def _by_name(fact: Facts) -> _Guess | None:
    named = any(word.endswith(("name", "names")) for word in fact.words)
    if named and not any(word.startswith(tuple(PLACE_OR_THING)) for word in fact.words):
        return _Guess(role="identifier", reason="The name speaks of a name")
    if fact.has(*NAME_PARTS) and like_names(fact):
        return _Guess(role="identifier", reason="The name speaks of a part of a name, and its texts look like names")
    if fact.has("id") and fact.distinct_share < 0.5:  # admission_type_id: a code for the type
        return None
    if fact.has(*DESCRIBING) and fact.distinct_share < 0.5:  # texts that repeat are no free text
        return None
    return _first(fact, IDENTIFIERS, "identifier")


def _by_weight(fact: Facts, beside: frozenset[str]) -> _Guess | None:
    if not fact.cells.dtype.is_numeric() or not fact.n_known or fact.cells.min() < 0:  # type: ignore[operator]
        return None
    if any(WEIGHTS.covers(word) for word in fact.words):
        return _Guess(role="weight", reason="The name speaks of a survey weight")
    if not fact.has("weight", "weights", "wt", "wts") or fact.has(*BODY):
        return None
    if fact.has(*SURVEY):
        return _Guess(role="weight", reason="The name speaks of a survey weight")
    return _by_size(fact, beside)


def _by_size(fact: Facts, beside: frozenset[str]) -> _Guess:
    """A body's weight or a survey's, told from its size, its digits and the columns beside it."""
    known = fact.cells.drop_nulls().cast(pl.Float64)
    if float(known.median()) > 400:  # type: ignore[arg-type]
        return _Guess(role="weight", reason="A weight far above any body's, so a survey weight")
    if beside & {"height", "bmi", "hgt", "stature"}:
        return _Guess(role="quasi", reason="A weight beside a height or body mass index, so a body's")
    if not fact.whole and abs(float(known.mean()) - 1) < 0.02:  # type: ignore[arg-type]
        return _Guess(role="weight", reason="A weight that is 1 on average, so a survey weight")
    if float(known.quantile(0.1)) < 1:  # type: ignore[arg-type]
        return _Guess(role="weight", reason="A weight below any body's, so a survey weight")
    if float((known != known.round(2)).mean()) > 0.5:  # type: ignore[arg-type]
        return _Guess(role="weight", reason="A weight of more than two decimals, so a survey weight")
    return _Guess(role="quasi", reason="A weight that could be a body's or a survey's, so quasi, the cautious guess")


def _by_code(fact: Facts) -> _Guess | None:
    found = clinical_codes(fact)
    return (
        None if found is None else _Guess(role="sensitive", reason=f"{found[1]:.0%} of its values look like {found[0]}")
    )


def _by_date(fact: Facts) -> _Guess | None:
    if fact.cells.dtype.is_temporal() or date_forms(fact):
        return _Guess(role="quasi", reason="Dates and times tell people apart")
    return None


def _by_topic(fact: Facts) -> _Guess | None:
    # Quasi first: if a name speaks of both ("age at diagnosis"), masking is the cautious guess.
    return _first(fact, QUASI, "quasi") or _first(fact, SENSITIVE, "sensitive")


def _by_difference(fact: Facts) -> _Guess | None:
    enough = fact.text or (fact.whole and fact.n_known >= 20)
    if not fact.all_distinct or not enough:
        return None
    measure = "" if fact.text else "; if it measures something, make it quasi"
    reason = f"All its {fact.n_known:,} values differ, as names would{measure}"
    return _Guess(role="identifier", reason=reason, by_difference=True)


def _not_amount(fact: Facts, guess: _Guess, facts: Sequence[Facts]) -> _Guess:
    """An identifier by difference alone that goes with other measures is an amount after all."""
    if not guess.by_difference or fact.text or not is_amount(fact, facts):
        return guess
    reason = "All its values differ, but rise and fall with other measures: an amount, so quasi, the cautious guess"
    return _Guess(role="quasi", reason=reason)


def _by_length(fact: Facts) -> _Guess | None:
    if fact.cells.dtype != pl.String or fact.distinct_share < 0.5 or fact.n_known < 2:
        return None
    if float(fact.cells.str.len_chars().mean()) < 40:  # type: ignore[arg-type]
        return None
    return _Guess(role="identifier", reason="Long texts that mostly differ, so free text, which can hold names")


def _first(fact: Facts, topics: tuple[Topic, ...], role: Role) -> _Guess | None:
    for topic in topics:
        if any(topic.covers(word) for word in fact.words):
            return _Guess(role=role, reason=f"The name speaks of {topic.about}")
    return None


def _with_codes(
    facts: Sequence[Facts], guesses: Mapping[str, _Guess], found: Sequence[Dependency]
) -> dict[str, _Guess]:
    """Give a code and its description, each of which follows from the other, the more protective role of both."""
    made, known = dict(guesses), {fact.name: fact for fact in facts}
    for one in found:
        pair = (one.column, one.of[0])
        if len(one.of) > 1 or not _says_the_same(known[pair[0]], known[pair[1]]):
            continue
        roles = {made[name].role for name in pair}
        if "sensitive" in roles and roles <= {"sensitive", "quasi"}:
            for name, other in (pair, pair[::-1]):
                if made[name].role == "quasi":
                    made[name] = _Guess(role="sensitive", reason=f"Says the same as {other}, which is sensitive")
    return made


def _says_the_same(one: Facts, other: Facts) -> bool:
    """Whether two columns of which one follows from the other are a code and its description."""
    alike = min(one.n_distinct, other.n_distinct) >= 0.8 * max(one.n_distinct, other.n_distinct)
    return alike and (one.text or other.text) and any(fact.has(*DESCRIBING, *CODED) for fact in (one, other))


def _one_each(guesses: Mapping[str, _Guess]) -> dict[str, _Guess]:
    """Keep the first weight and the first unit: a schema has one of each."""
    spare = {
        "weight": _Guess(
            role="quasi", reason="A second survey weight: a schema has one, and weights tell people apart"
        ),
        "unit": _Guess(role="identifier", reason="A second number of persons: a schema has one unit"),
    }
    seen: set[str] = set()
    kept = {}
    for name, guess in guesses.items():
        kept[name] = spare[guess.role] if guess.role in seen else guess
        if guess.role in spare:
            seen.add(guess.role)
    return kept


# Kinds and levels


def _spelled_out(facts: Sequence[Facts], found: Sequence[Dependency]) -> frozenset[str]:
    """The columns of whole numbers that are codes: a text follows from each of them, and it from the text."""
    known = {fact.name: fact for fact in facts}
    pairs = [(one.column, one.of[0]) for one in found if one.both_ways or _says_the_same(*_both(one, known))]
    named = {name: other for pair in pairs for name, other in (pair, pair[::-1])}
    return frozenset(
        name for name, other in named.items() if known[name].whole and known[name].n_distinct > 2 and known[other].text
    )


def _both(one: Dependency, known: Mapping[str, Facts]) -> tuple[Facts, Facts]:
    return known[one.column], known[one.of[0]]


def _entry(
    fact: Facts, guess: _Guess, unit: pl.Series | None, found: Sequence[Dependency], spelled: frozenset[str]
) -> tuple[Column, str]:
    follows = _follows(found, fact.name)
    if guess.role in ("identifier", "unit"):
        return Column(name=fact.name, role=guess.role), _sentence(guess.reason, follows, _gaps(fact))
    forms = date_forms(fact)
    if forms:
        return _dated(fact, guess, forms, follows)
    kind, why = _kind(fact, guess.role, fact.name in spelled)
    levels, kind, remark = _levels(fact, kind, unit)
    column = Column(name=fact.name, role=guess.role, kind=kind, levels=levels)
    return column, _sentence(guess.reason, why, remark, follows, _gaps(fact, numeric=kind == "numeric"))


def _dated(fact: Facts, guess: _Guess, forms: tuple[str, ...], follows: str) -> tuple[Column, str]:
    """A column whose cells are dates or times in some form: declared if there is one, asked for if there are two."""
    form, other = (*forms, None)[:2]
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
    return any(UNORDERED.covers(word) for word in fact.words) and not counted


def _levels(fact: Facts, kind: Kind, unit: pl.Series | None) -> tuple[tuple[Level, ...] | None, Kind, str]:
    """The levels that may be shown, the kind (texts such as "18-25" are ordinal), and what is to be said about it."""
    if kind == "numeric" or fact.cells.dtype.is_temporal() or not fact.n_known:
        return None, kind, ""
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
    n_missing = len(fact.cells) - fact.n_known
    if not n_missing:
        return ""
    share = f"{n_missing:,} of {len(fact.cells):,} cells are missing"
    return f"{share}: choose 'drop', 'median' or a number" if numeric else share


def _sentence(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)
