"""What a column holds, how sure that is, and why: one record, read wherever something depends on it.

The proposal of roles, the scan, the presets, Safe Harbor, the register, the gate before a release is written and the
check of a written release ask `judge`, and have no rules of their own about what a name or a form of values means.

`certain` is what no reasonable table contradicts: e-mail addresses, a run of record numbers under such a name. A gate
may stop a release for it. `likely` decides where nothing speaks against it; `possible` is a question for a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

import polars as pl

from shoal.record import Record
from shoal.schema.described import names_a_person
from shoal.schema.evidence import words_in
from shoal.schema.judgement.codes import clinical_codes
from shoal.schema.judgement.finding import Finding
from shoal.schema.judgement.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, NAMES, OTHER_CODES, named
from shoal.schema.judgement.judge import counted_cells, findings_in
from shoal.schema.judgement.names_of_people import People, people_in
from shoal.schema.judgement.record_numbers import RecordNumbers, could_be_numbers, record_numbers
from shoal.schema.judgement.spelling import unaccented
from shoal.schema.name_words import NAME_PARTS, WEIGHTS

__all__ = ["Certainty", "Holds", "Judgement", "judge", "judge_column"]

Holds: TypeAlias = Literal[
    "identifier",
    "name",
    "contact",
    "free text",
    "date",
    "age",
    "place",
    "code",
    "weight",
    "measurement",
    "level",
    "nothing",
]
"""What a column may hold; ``code`` is one of a classification, ``level`` one of few values, ``nothing`` no cell."""

Certainty: TypeAlias = Literal["certain", "likely", "possible"]

_NAMES_PEOPLE: frozenset[Holds] = frozenset(("identifier", "name", "contact", "free text"))
_HELD: Mapping[str, Holds] = MappingProxyType(
    {
        NAMES: "name",
        "fax numbers": "contact",
        "e-mail addresses": "contact",
        "telephone numbers": "contact",
        "web addresses": "contact",
        "IP addresses": "contact",
        FREE_TEXT: "free text",
        DATES: "date",
        AGES: "age",
        GEOGRAPHIC: "place",
    }
)
"""What a finding says that a column holds; every other one speaks of an identifier."""
_REACH = frozenset(title for title, holds in _HELD.items() if holds == "contact")
_NUMBERED = frozenset(
    (
        *("fax numbers", "telephone numbers", "social security numbers", "medical record numbers", "account numbers"),
        *("health plan beneficiary numbers", "certificate and licence numbers", "vehicle identifiers and plates"),
        *("device identifiers and serial numbers", OTHER_CODES),
    )
)
"""Identifiers that are numbers: a name and values that could be numbers of anything are enough together."""
_FEW = 50  # different values up to which numbers are levels
_HALF, _FEWEST, _LONG = 0.5, 20, 4  # share of cells with a form; different numbers, and how long, that name somebody


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Record):
    """What one column holds.

    Parameters
    ----------
    column
        The column.
    holds
        What it holds, out of a closed list.
    certainty
        How sure that is.
    reasons
        Why, in words and counts, never a value.
    findings
        Identifiers of the Safe Harbor rule that this implies, for a scan.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("names_people",)

    column: str
    holds: Holds
    certainty: Certainty
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def names_people(self) -> bool:
        """Whether it holds what names a person, or may hold it: identifiers, names, ways to reach somebody, texts."""
        return self.holds in _NAMES_PEOPLE

    @property
    def is_certain(self) -> bool:
        """Whether no reasonable table contradicts it."""
        return self.certainty == "certain"


def judge_column(column: pl.Series, *, label: str = "", year: int | None = None) -> Judgement:
    """Judge a column from its cells."""
    return judge(column.name, counted_cells(column), label=label, year=year)


def judge(name: str, distinct: pl.DataFrame, *, label: str = "", year: int | None = None) -> Judgement:
    """Judge what a column holds.

    Parameters
    ----------
    name
        The column's name.
    distinct
        Its different values (``value``), without missing ones and codes for an absence, with their rows (``count``).
    label
        What a codebook or the file says that it holds.
    year
        The year of the data, to tell who of those born in a year was over 89.

    Notes
    -----
    Cost: each different value is looked at once.

    Examples
    --------
    >>> import polars as pl
    >>> seen = pl.DataFrame({"value": [f"p{i}@clinic.org" for i in range(40)], "count": [1] * 40})
    >>> made = judge("x7", seen)
    >>> made.holds, made.certainty, made.names_people
    ('contact', 'certain', True)
    """
    found = tuple(findings_in(name, distinct, year))
    people = None if _are_else(found) else people_in(distinct, named=_speaks_of(name, label, NAMES))
    numbers = None if people or _are_else(found) else record_numbers(name, distinct, label)
    if people is not None:
        return _of_people(name, distinct, people, found)
    if numbers is not None and (numbers.certainty == "certain" or not found):
        return _of_records(name, distinct, numbers, found)
    if found:
        return _by_findings(name, distinct, found)
    holds, reason, certainty = _plain(name, distinct)
    return Judgement(column=name, holds=holds, certainty=certainty, reasons=(reason,))


def _are_else(found: Sequence[Finding]) -> bool:
    """Whether the values show what is neither a name nor a number of people: an address, a date, a place, a text."""
    return any(one.by_values and one.judged and one.identifier not in (OTHER_CODES, AGES) for one in found)


def _speaks_of(name: str, label: str, title: str) -> bool:
    """Whether a column's name, or else its label, speaks of an identifier of the rule."""
    words = words_in(unaccented(name))
    by_name = named(words)
    if title == NAMES and (set(words) & NAME_PARTS or (by_name is None and label and names_a_person(label))):
        return True
    return by_name is not None and by_name.title == title


def _of_people(name: str, distinct: pl.DataFrame, people: People, found: tuple[Finding, ...]) -> Judgement:
    n = int(distinct["count"].sum())
    by_name = any(one.by_name and one.identifier == NAMES for one in found)
    matching = max(1, round(people.share * n))
    finding = _finding(name, "A", NAMES, (matching, n), by_name=by_name, judged=people.certain)
    return Judgement(
        column=name,
        holds="free text" if people.within else "name",
        certainty="certain" if people.certain else "possible",
        reasons=(people.how,),
        findings=(finding, *(one for one in found if one.identifier not in (NAMES, OTHER_CODES, AGES, GEOGRAPHIC))),
    )


def _of_records(name: str, distinct: pl.DataFrame, numbers: RecordNumbers, found: tuple[Finding, ...]) -> Judgement:
    n = int(distinct["count"].sum())
    given = next((one for one in found if one.by_name and one.identifier in _NUMBERED), None)
    letter, title = ("R", OTHER_CODES) if given is None else (given.letter, given.identifier)
    finding = _finding(name, letter, title, (n, n), by_name=numbers.by_name or given is not None)
    others = (one for one in found if one.identifier not in (title, OTHER_CODES, AGES))
    return Judgement(
        column=name,
        holds="contact" if title in _REACH else "identifier",
        certainty=numbers.certainty,
        reasons=(numbers.how,),
        findings=(finding, *others) if numbers.certainty == "certain" else found,
    )


def _finding(
    column: str, letter: str, title: str, cells: tuple[int, int], *, by_name: bool, judged: bool = True
) -> Finding:
    matching, filled = cells
    return Finding(
        column=column,
        letter=letter,
        identifier=title,
        by_name=by_name,
        by_values=True,
        n_matching=matching,
        n_filled=filled,
        judged=judged,
    )


def _by_findings(name: str, distinct: pl.DataFrame, found: tuple[Finding, ...]) -> Judgement:
    """What the surest finding says: by values before by name."""
    first = max(found, key=lambda one: (one.judged, one.by_values, one.by_name, one.share))
    return Judgement(
        column=name,
        holds=_HELD.get(first.identifier, "identifier"),
        certainty=_certainty(first, distinct),
        reasons=tuple(_said(one) for one in (first, *(one for one in found if one is not first))),
        findings=found,
    )


def _certainty(finding: Finding, distinct: pl.DataFrame) -> Certainty:
    if not finding.judged or (finding.identifier == OTHER_CODES and not finding.by_name):
        return "possible"
    if finding.by_values:
        return "certain" if finding.share >= _HALF or finding.identifier == FREE_TEXT else "likely"
    values = distinct["value"]
    long = finding.identifier == OTHER_CODES or float(values.cast(pl.String).str.len_chars().mean() or 0.0) >= _LONG  # type: ignore[arg-type]
    numbers = finding.identifier in _NUMBERED and len(values) >= _FEWEST and could_be_numbers(values)
    return "certain" if numbers and long else "likely"


def _said(one: Finding) -> str:
    """Why, in words."""
    by_name = f"the name suggests {one.identifier}"
    if not one.by_values:
        return by_name
    share = f"{one.share:.0%} of its cells look like {one.identifier}"
    return f"{share}, and {by_name}" if one.by_name else share


def _plain(name: str, distinct: pl.DataFrame) -> tuple[Holds, str, Certainty]:
    """What a column holds in which nothing of the rule was found."""
    values = distinct["value"]
    if not len(values):
        return "nothing", "no cell is filled", "certain"
    if values.dtype.is_numeric() and any(WEIGHTS.covers(word) for word in words_in(name)):
        return "weight", "the name suggests a survey weight", "likely"
    codes = clinical_codes(distinct)
    if codes is not None:
        return "code", f"{codes[1]:.0%} of its different values look like {codes[0]}", "likely"
    if values.dtype.is_float() and bool((values != values.round()).any()):
        return "measurement", "numbers with decimals", "likely"
    if values.dtype.is_numeric() and len(values) > _FEW:
        return "measurement", f"numbers with {len(values):,} different values", "likely"
    return "level", f"{len(values):,} different values", "likely"
