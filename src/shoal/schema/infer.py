"""A schema proposed from a table, with the reason of every guess, for a person to correct.

Roles are guessed from the words in a column's name (``AGE23X`` holds the word *age*, ``stage`` does not), then from its
cells: addresses and numbers of persons, and columns in which everybody differs, are identifiers. Whatever stays
undecided is a quasi-identifier, because that is the cautious guess: it will be masked. Kinds are guessed from the type
and the number of different values.

Nothing that belongs to one person is written into a proposal: reasons hold counts and shares only, levels are given
only if each is held by at least five people, and bounds never are, since the smallest and the largest value are
somebody's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import ColumnError, InputError
from shoal.frame import enter, series
from shoal.record import Record
from shoal.schema import Column, Kind, Level, Role, Schema
from shoal.schema.name_words import (
    BODY,
    EVENT,
    GROUPED,
    IDENTIFIERS,
    MEASURES,
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
    'The name speaks of age. Numbers with 20 different values.'
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
    facts = [_look(series(frame, name)) for name in frame.columns]
    roles = _one_each({fact.name: _role(fact) for fact in facts})
    unit = next((fact.cells for fact in facts if roles[fact.name].role == "unit"), None)
    entries = [_entry(fact, roles[fact.name], unit) for fact in facts]
    return Proposal(
        schema=Schema(tuple(column for column, _ in entries)),
        reasons={column.name: reason for column, reason in entries},
    )


# What is known of a column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    name: str
    words: tuple[str, ...]
    cells: pl.Series  # with NaN as null
    n_known: int
    n_distinct: int

    @property
    def text(self) -> bool:
        return self.cells.dtype in (pl.String, pl.Categorical, pl.Enum)

    @property
    def whole(self) -> bool:
        if self.cells.dtype.is_float():
            return bool((self.cells == self.cells.round()).all())
        return self.cells.dtype.is_integer()

    @property
    def all_distinct(self) -> bool:
        return self.n_distinct == self.n_known > 1

    @property
    def distinct_share(self) -> float:
        return self.n_distinct / max(1, self.n_known)

    def has(self, *words: str) -> bool:
        return any(word in words for word in self.words)


def _look(column: pl.Series) -> _Facts:
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        rule = "must hold values of one simple type (numbers, texts, dates or true/false)"
        raise ColumnError(column.name, rule, got=str(column.dtype).split("(")[0])
    cells = column.fill_nan(None) if column.dtype.is_float() else column
    known = cells.drop_nulls()
    return _Facts(
        name=column.name, words=words_in(column.name), cells=cells, n_known=len(known), n_distinct=known.n_unique()
    )


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name in lower case (``patientID`` gives patient, id), and the name in one piece."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return (*(part.lower() for part in parts), re.sub(r"[^a-z0-9]", "", name.lower()))


# Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guess:
    role: Role
    reason: str


_PATTERNS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "telephone numbers": r"^\+?[\d(][\d ()./-]{7,18}\d$",
    "web or network addresses": r"^(?:https?://\S+|\d{1,3}(?:\.\d{1,3}){3})$",
}


def _role(fact: _Facts) -> _Guess:
    rules = (_by_pattern, _by_number, _by_name, _by_weight, _by_date, _by_topic, _by_difference, _by_length)
    for rule in rules:
        guess = rule(fact)
        if guess is not None:
            return guess
    return _Guess(role="quasi", reason="Undecided, so quasi, the cautious guess")


def _by_pattern(fact: _Facts) -> _Guess | None:
    if fact.cells.dtype != pl.String or not fact.n_known:
        return None
    known = fact.cells.drop_nulls()
    for what, pattern in _PATTERNS.items():
        share = float(known.str.contains(pattern).mean())  # type: ignore[arg-type]
        if share >= 0.5 and not (what == "telephone numbers" and _dates_or_ranges(fact, known)):
            return _Guess(role="identifier", reason=f"{share:.0%} of its cells look like {what}")
    return None


def _dates_or_ranges(fact: _Facts, known: pl.Series) -> bool:
    """Whether digits with marks are rather dates (31.12.1999), plain numbers, or ranges (10000-20000), which repeat."""
    plain = known.str.contains(r"^\d+$|^\d{4}-\d\d-\d\d|^\d{1,2}[./-]\d{1,2}[./-]\d")
    return fact.distinct_share < 0.5 or float(plain.mean()) > 0.5  # type: ignore[arg-type]


def _by_number(fact: _Facts) -> _Guess | None:
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


def _by_name(fact: _Facts) -> _Guess | None:
    named = any(word.endswith(("name", "names")) for word in fact.words)
    if named and not any(word.startswith(tuple(PLACE_OR_THING)) for word in fact.words):
        return _Guess(role="identifier", reason="The name speaks of a person's name")
    if fact.has("id") and fact.distinct_share < 0.5:  # admission_type_id: a code for the type
        return None
    return _first(fact, IDENTIFIERS, "identifier")


def _by_weight(fact: _Facts) -> _Guess | None:
    if not fact.cells.dtype.is_numeric() or not fact.n_known or fact.cells.min() < 0:  # type: ignore[operator]
        return None
    if any(WEIGHTS.covers(word) for word in fact.words):
        return _Guess(role="weight", reason="The name speaks of a survey weight")
    if not fact.has("weight", "weights", "wt", "wts") or fact.has(*BODY):
        return None
    if fact.has(*SURVEY):
        return _Guess(role="weight", reason="The name speaks of a survey weight")
    if float(fact.cells.median()) > 700:  # type: ignore[arg-type]
        return _Guess(role="weight", reason="A weight far above any body's, so a survey weight")
    return _Guess(role="quasi", reason="A weight that could be a body's, so quasi, the cautious guess")


def _by_date(fact: _Facts) -> _Guess | None:
    return _Guess(role="quasi", reason="Dates tell people apart") if fact.cells.dtype.is_temporal() else None


def _by_topic(fact: _Facts) -> _Guess | None:
    # Quasi first: if a name speaks of both ("age at diagnosis"), masking is the cautious guess.
    return _first(fact, QUASI, "quasi") or _first(fact, SENSITIVE, "sensitive")


def _by_difference(fact: _Facts) -> _Guess | None:
    enough = fact.text or (fact.whole and fact.n_known >= 20)
    if not fact.all_distinct or not enough:
        return None
    measure = "" if fact.text else "; if it measures something, make it quasi"
    return _Guess(role="identifier", reason=f"All its {fact.n_known:,} values differ, as names would{measure}")


def _by_length(fact: _Facts) -> _Guess | None:
    if fact.cells.dtype != pl.String or fact.distinct_share < 0.5 or fact.n_known < 2:
        return None
    if float(fact.cells.str.len_chars().mean()) < 40:  # type: ignore[arg-type]
        return None
    return _Guess(role="identifier", reason="Long texts that mostly differ, so free text, which can hold names")


def _first(fact: _Facts, topics: tuple[Topic, ...], role: Role) -> _Guess | None:
    for topic in topics:
        if any(topic.covers(word) for word in fact.words):
            return _Guess(role=role, reason=f"The name speaks of {topic.about}")
    return None


def _one_each(guesses: dict[str, _Guess]) -> dict[str, _Guess]:
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


def _entry(fact: _Facts, guess: _Guess, unit: pl.Series | None) -> tuple[Column, str]:
    if guess.role in ("identifier", "unit"):
        return Column(name=fact.name, role=guess.role), _sentence(guess.reason, _gaps(fact))
    kind, why = _kind(fact, guess.role)
    levels, kind, remark = _levels(fact, kind, unit)
    column = Column(name=fact.name, role=guess.role, kind=kind, levels=levels)
    return column, _sentence(guess.reason, why, remark, _gaps(fact, numeric=kind == "numeric"))


def _kind(fact: _Facts, role: Role) -> tuple[Kind, str]:
    if role == "weight":
        return "numeric", _values(fact, "Numbers")
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


def _unordered(fact: _Facts) -> bool:
    return any(UNORDERED.covers(word) for word in fact.words)


def _levels(fact: _Facts, kind: Kind, unit: pl.Series | None) -> tuple[tuple[Level, ...] | None, Kind, str]:
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


def _values(fact: _Facts, what: str) -> str:
    return f"{what} with {fact.n_distinct:,} different value{'' if fact.n_distinct == 1 else 's'}"


def _of(part: int, whole: int) -> str:
    return f"{part} of the {whole}" if part < whole else f"each of the {whole}"


def _gaps(fact: _Facts, *, numeric: bool = False) -> str:
    n_missing = len(fact.cells) - fact.n_known
    if not n_missing:
        return ""
    share = f"{n_missing:,} of {len(fact.cells):,} cells are missing"
    return f"{share}: choose 'drop', 'median' or a number" if numeric else share


def _sentence(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)
