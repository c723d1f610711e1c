"""The role of a column by what stands beside it: what its label refers to, its battery of questions, its code.

A guess made of a column alone (`shoal.schema.guess`) goes through these in turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.schema import Role
from shoal.schema.arithmetic import Formula
from shoal.schema.dependency import Dependency
from shoal.schema.evidence import Facts
from shoal.schema.name_words import CODED, DESCRIBING, HOUSEHOLD, MODIFIERS, NUMBERED

__all__ = [
    "Guess",
    "by_formula",
    "by_reference",
    "in_batteries",
    "in_families",
    "in_scales",
    "naming",
    "one_each",
    "says_the_same",
    "with_codes",
]

_ALIKE = 2  # columns of a family that must be sensitive by what their own names say
_BATTERY, _FEW_ANSWERS = 4, 11  # columns of one battery, and the most answers that a question has


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A role, and why."""

    role: Role
    reason: str
    by_difference: bool = False
    undecided: bool = False
    named: bool = False  # undecided, as its name may speak of what others can know: no column beside it decides
    weak: bool = False  # by a word of a label that says little of what the column holds
    asked: Role | None = None  # the role that it would have, if a person says that it numbers people, or weighs them


def by_reference(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Columns whose label is made of another column (``log of income``): they have its role."""
    made = dict(guesses)
    names = {name.lower(): name for name in guesses}
    for fact in facts:
        if not fact.label or not guesses[fact.name].undecided:
            continue
        words = [
            word for word in re.findall(r"[a-z_][a-z0-9_.]*", fact.label.lower()) if len(word) > 2 or not word.isalpha()
        ]
        others = [names[word] for word in words if word in names and names[word] != fact.name]
        other = next((other for other in others if not guesses[other].undecided), None)
        if other is not None and guesses[other].role in ("quasi", "sensitive"):
            role = guesses[other].role
            made[fact.name] = Guess(role=role, reason=f"{fact.quoted}: it names {other}, which is {role}")
    return made


def by_formula(facts: Sequence[Facts], guesses: Mapping[str, Guess], computed: Sequence[Formula]) -> dict[str, Guess]:
    """What follows from others by arithmetic has their role, if they all have one.

    Sensitive columns are released as they are, so the result of a public formula of them tells nothing more: this is
    no guess. It must hold in every row, and the column be empty where one of the others is.
    """
    made, known = dict(guesses), {fact.name: fact.cells for fact in facts}
    for one in computed:
        names = (one.column, *one.of)
        unsure = [name for name in names if _is_open(made[name])]
        others = [name for name in names if name not in unsure]
        roles = {made[name].role for name in others}
        if one.share < 1 or len(unsure) != 1 or len(roles) != 1 or any(made[name].named for name in others):
            continue
        told = pl.DataFrame([known[name].is_null() for name in others]).sum_horizontal() > 0
        if (role := roles.pop()) in ("quasi", "sensitive") and not (known[unsure[0]].is_not_null() & told).any():
            listed = f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} {role}"
            made[unsure[0]] = Guess(role=role, reason=f"{one.column} is {one.words}, and {listed}")
    return made


def in_batteries(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Questions of one battery: names of the same beginning, the same values; if one is sensitive, so is the rest."""
    made = dict(guesses)
    for start, names in _batteries(facts).items():
        known = [guesses[name] for name in names if not guesses[name].undecided]
        if not known or any(guess.role != "sensitive" for guess in known):
            continue
        reason = f"One of {len(names)} columns that begin with {start} and have the same values; {len(known)} of them"
        reason += f" {'is' if len(known) == 1 else 'are'} sensitive by what the name or the values say"
        made |= {name: Guess(role="sensitive", reason=reason) for name in names if _is_open(guesses[name])}
    return made


def _is_open(guess: Guess) -> bool:
    return guess.undecided and not guess.named


def _batteries(facts: Sequence[Facts]) -> dict[str, list[str]]:
    """Columns of few values by the two letters with which their names begin and by their values, if they are many."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for fact in facts:
        if 2 <= fact.n_distinct <= _FEW_ANSWERS and fact.name[:2].isalpha():
            values = tuple(sorted(fact.values.cast(pl.String).to_list()))
            found.setdefault((fact.name[:2].lower(), values), []).append(fact.name)
    return {start: names for (start, _), names in found.items() if len(names) >= _BATTERY}


def in_scales(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Questions answered on one scale: several columns with the same few whole numbers, of which nothing else is known.

    What others can know of a person comes on scales of its own; what is asked in batteries are symptoms and opinions.
    """
    made = dict(guesses)
    scales: dict[tuple[float, ...], list[str]] = {}
    for fact in facts:
        if 3 <= fact.n_distinct <= _FEW_ANSWERS and fact.cells.dtype.is_numeric() and fact.whole:
            scales.setdefault(tuple(sorted(fact.values.cast(pl.Float64).to_list())), []).append(fact.name)
    for names in scales.values():
        open_ = [name for name in names if _is_open(guesses[name]) or guesses[name].weak]
        if len(open_) >= _BATTERY:
            reason = (
                f"One of {len(names)} columns with the same few whole numbers, as answers to a battery of questions"
            )
            made |= {name: Guess(role="sensitive", reason=reason) for name in open_}
    return made


def in_families(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Columns of one sort: names that share a telling word (``accounts``); they get one role where two are sensitive.

    None of them may be known to others: a family with a quasi-identifier stays as it is.
    """
    made = dict(guesses)
    families: dict[str, list[str]] = {}
    for fact in facts:
        for word in set(fact.words[:-1]) - MODIFIERS:
            if len(word) > 2:
                families.setdefault(word.removesuffix("s"), []).append(fact.name)
    for word, names in families.items():
        known = [name for name in names if not _is_open(guesses[name])]
        if len(known) < _ALIKE or any(guesses[name].role != "sensitive" for name in known):
            continue
        reason = f"One of {len(names)} columns with {word} in their names; {len(known)} of them are sensitive"
        made |= {name: Guess(role="sensitive", reason=reason) for name in names if _is_open(guesses[name])}
    return made


def with_codes(facts: Sequence[Facts], guesses: Mapping[str, Guess], found: Sequence[Dependency]) -> dict[str, Guess]:
    """Give a code and its description, each of which follows from the other, the more protective role of both."""
    made, known = dict(guesses), {fact.name: fact for fact in facts}
    for one in found:
        pair = (one.column, one.of[0])
        if len(one.of) > 1 or not says_the_same(known[pair[0]], known[pair[1]]):
            continue
        roles = {made[name].role for name in pair}
        if "sensitive" in roles and roles <= {"sensitive", "quasi"}:
            for name, other in (pair, pair[::-1]):
                if made[name].role == "quasi":
                    made[name] = Guess(role="sensitive", reason=f"Says the same as {other}, which is sensitive")
    return made


def naming(facts: Sequence[Facts], guesses: Mapping[str, Guess], found: Sequence[Dependency]) -> dict[str, Guess]:
    """Numbers from which an identifier follows in every row (the name from ``UTILITYID``): they name as much."""
    made, known = dict(guesses), {fact.name: fact for fact in facts}
    for one in found:
        number, named = one.of[0], one.column
        if len(one.of) > 1 or one.share < 1 or guesses[named].role != "identifier" or not guesses[number].undecided:
            continue
        if any(re.fullmatch(NUMBERED, word) for word in known[number].words):
            made[number] = Guess(role="identifier", reason=f"{named}, an identifier, follows from it")
    return made


def says_the_same(one: Facts, other: Facts) -> bool:
    """Whether two columns of which one follows from the other are a code and its description."""
    alike = min(one.n_distinct, other.n_distinct) >= 0.8 * max(one.n_distinct, other.n_distinct)
    return alike and (one.text or other.text) and any(fact.has(*DESCRIBING, *CODED) for fact in (one, other))


def one_each(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Keep one weight (the final one, a person's before a household's), one unit, one household: a schema has one."""
    spare = {
        "weight": Guess(role="quasi", reason="A second survey weight: a schema has one, and weights tell people apart"),
        "unit": Guess(role="identifier", reason="A second number of persons: a schema has one unit"),
        "household": Guess(role="identifier", reason="A second number of households: a schema has one"),
    }
    seen: set[str] = set()
    kept = dict(guesses)
    for fact in sorted(facts, key=_later):
        role = guesses[fact.name].role
        if role in seen:
            kept[fact.name] = spare[role]
        if role in spare:
            seen.add(role)
    return kept


def _later(fact: Facts) -> tuple[bool, bool]:
    said = {*fact.words, *re.findall(r"[a-z]+", fact.label.lower())}
    return "final" not in said, bool(said & HOUSEHOLD) and not said & {"person", "personal", "persons", "individual"}
