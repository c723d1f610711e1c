"""Whether one value of a column stands for one person: what its rows, its words and the columns beside it say.

A number that repeats may be a patient's or a hospital's. A person keeps sex, birth and origin from row to row, and
grows older by few years; a hospital's rows have both sexes. So a key of persons must not contradict itself, must not
speak of an institution, a plan, an area or a visit, and must not be spelled out by another column, unless that holds
people's names. A household's rows may differ, but are few. What fails is no key until a person says so: it is asked,
never assumed.

Values are counted, never shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.frame import Frame, series
from shoal.record import Record
from shoal.schema import Role, Schema
from shoal.schema.dependency import Dependency
from shoal.schema.evidence import Facts, look
from shoal.schema.guess_beside import Guess
from shoal.schema.name_words import PEOPLE, PERSON_TRAITS, VISITS, Trait, is_institution

__all__ = ["Contradiction", "contradictions", "key_question", "unit_warnings", "with_evidence"]

_NUMBERED = re.compile(r"(?:idno|id|nbr|num|nr|no|key|code)$")
_TORN, _FEWEST = 0.05, 2  # share of values, and how many, whose rows contradict each other before it counts
_YEARS, _BANDS = 15, 2  # years, or bands of age, through which one person may go in a file
_HOME = 20.0  # rows for each household, on average, above which it is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction(Record):
    """A column that should be the same in all rows of a person, and isn't.

    Parameters
    ----------
    column, trait
        The column, and what of a person it holds.
    n_persons, n_torn
        How many values of the key have several rows, and in how many of these the column contradicts itself.
    """

    column: str
    trait: Trait
    n_persons: int
    n_torn: int

    @property
    def weighs(self) -> bool:
        """Whether it is more than errors of writing."""
        return self.n_torn >= _FEWEST and self.n_torn > _TORN * self.n_persons

    def __str__(self) -> str:
        """What contradicts, and how often."""
        what = f"ages more than {_YEARS} years apart" if self.trait == "age" else f"several values of {self.column}"
        return f"{self.n_torn:,} of {self.n_persons:,} persons with several rows have {what}"


def key_question(name: str, role: str) -> str:
    """What is asked of a column that could be a key of persons or of households, or a survey's weight."""
    if role == "weight":
        return f"Is {name} the weight of a survey, and not of a body?"
    what = {"unit": "person", "household": "household"}[role]
    return f"Does one value of {name} stand for one {what}?"


def contradictions(columns: Mapping[str, pl.Series], unit: str) -> tuple[Contradiction, ...]:
    """Where the rows of persons differ in what one person keeps: sex, birth, origin, an age within 15 years.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.person_key import contradictions
    >>> visits = pl.DataFrame({"who": [1, 1, 2, 2], "sex": ["f", "f", "m", "f"]})
    >>> [str(one) for one in contradictions(visits.to_dict(), "who")]
    ['1 of 2 persons with several rows have several values of sex']
    """
    facts = [look(cells.alias(name)) for name, cells in columns.items() if name != unit and _could_hold_trait(name)]
    return tuple(one for fact in facts if (one := _contradiction(columns[unit], fact)) is not None and one.n_torn)


def unit_warnings(frame: Frame, schema: Schema) -> tuple[str, ...]:
    """Where the unit of a schema contradicts itself, in sentences: how many persons, never which."""
    unit = schema.unit
    if unit is None or unit not in frame.columns:
        return ()
    names = [name for name in frame.columns if name == unit or _trait(_words(name)) is not None]
    found = contradictions({name: series(frame, name) for name in names}, unit)
    return tuple(f"{unit}: {one}. {key_question(unit, 'unit')}" for one in found)


def with_evidence(
    facts: Sequence[Facts], guesses: Mapping[str, Guess], found: Sequence[Dependency]
) -> dict[str, Guess]:
    """The guesses, in which keys of persons or households that something speaks against are asked about instead."""
    made = dict(guesses)
    for fact in facts:
        guess = guesses[fact.name]
        if guess.role not in ("unit", "household"):
            continue
        of_groups = _of_groups(fact, facts, guesses, found)
        against = of_groups or _torn(fact, facts, guess.role)
        if against:
            named = any(word in PEOPLE for word in _words(f"{fact.name} {fact.label}"))
            of_people = named or _is_visit(fact) or not of_groups
            removed = guess.role == "unit" and of_people  # what may number people, or their visits, leaves in no role
            role: Role = "identifier" if removed else "quasi"
            made[fact.name] = Guess(role=role, reason=f"{guess.reason}, but {against}", asked=guess.role)
    return made


def _of_groups(fact: Facts, facts: Sequence[Facts], guesses: Mapping[str, Guess], found: Sequence[Dependency]) -> str:
    """What says that a key numbers institutions, plans or areas; nothing if nothing does."""
    words = _words(f"{fact.name} {fact.label}")
    if not any(word in PEOPLE for word in words) and any(is_institution(word) for word in words):
        return "a word of it is one for an institution, a plan or an area"
    if _is_visit(fact):
        return "a word of it is one for a visit or a record, of which a person may have several"
    spelled = _spelled_out_by(fact, facts, guesses, found)
    return f"{spelled} spells it out, and holds no names of people" if spelled else ""


def _torn(fact: Facts, facts: Sequence[Facts], role: Role) -> str:
    """What the rows of one value say against a person, or their number against a household; nothing if nothing does."""
    rows = fact.n_known / max(1, fact.n_distinct)
    if role == "household":
        return f"a household has no {rows:.0f} rows on average" if rows > _HOME else ""
    tried = [_contradiction(fact.cells, other) for other in facts if other is not fact]
    torn = [one for one in tried if one is not None and one.weighs]
    return "; ".join(map(str, torn)).replace("persons", "its values")


def _spelled_out_by(
    fact: Facts, facts: Sequence[Facts], guesses: Mapping[str, Guess], found: Sequence[Dependency]
) -> str:
    """The text that says in words what the key says in numbers."""
    known = {other.name: other for other in facts}
    for one in found:
        if len(one.of) > 1 or fact.name not in (one.column, *one.of):
            continue
        other = known[one.of[0] if one.column == fact.name else one.column]
        alike = min(fact.n_distinct, other.n_distinct) >= 0.8 * max(fact.n_distinct, other.n_distinct)
        of_people = guesses[other.name].role in ("identifier", "unit", "household")
        if other.text and alike and not of_people and other.share(r"[^\W\d_]{3}") > 0.5:
            return other.name
    return ""


def _could_hold_trait(name: str) -> bool:
    return _trait(_words(name)) is not None


def _trait(words: Sequence[str]) -> Trait | None:
    return next((trait for trait, known in PERSON_TRAITS.items() if any(word in known for word in words)), None)


def _contradiction(key: pl.Series, fact: Facts) -> Contradiction | None:
    """How many values of the key have rows that can't be one person's; None where the column says nothing of that."""
    trait = _trait(_words(fact.name))
    if trait is None or fact.n_distinct < 2:
        return None
    cells = fact.cells
    if trait == "birth" and cells.dtype in (pl.Date, pl.Datetime):
        cells = cells.dt.year()
    rows = pl.DataFrame({"key": key, "value": cells}).drop_nulls()
    by_key = rows.group_by("key").agg(n=pl.len(), differs=_differs(trait, cells)).filter(pl.col("n") > 1)
    if not len(by_key):
        return None
    return Contradiction(column=fact.name, trait=trait, n_persons=len(by_key), n_torn=int(by_key["differs"].sum()))


def _differs(trait: Trait, cells: pl.Series) -> pl.Expr:
    value = pl.col("value")
    if trait != "age":
        return value.n_unique() > 1
    if cells.dtype.is_numeric():
        return (value.max() - value.min()) > _YEARS
    return value.n_unique() > _BANDS


def _words(text: str) -> list[str]:
    """The words of a name or label in lower case, without accents (``HôpitalNr`` gives hopital, nr)."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain)]


def _is_visit(fact: Facts) -> bool:
    words = _words(f"{fact.name} {fact.label}")
    stems = {stem for word in words for stem in (word, _NUMBERED.sub("", word))}
    return bool(stems & VISITS) and not any(word in PEOPLE for word in words)
