"""What a column holds, how sure that is, and why: one record, read wherever something depends on it.

The proposal of roles, the scan, the presets, Safe Harbor, the register, the gate before a release is written and the
check of a written release ask `judge`, and have no rules of their own about what a name or a form of values means.

`certain` is what no reasonable table contradicts: e-mail addresses, a run of record numbers under such a name. A gate
may stop a release for it. `likely` decides where nothing speaks against it; `possible` is a question for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

import polars as pl

from shoal.record import Record
from shoal.schema.evidence import words_in
from shoal.schema.judgement.finding import Finding
from shoal.schema.judgement.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, NAMES, OTHER_CODES
from shoal.schema.judgement.judge import counted_cells, findings_in
from shoal.schema.name_words import WEIGHTS

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
_FEW = 50  # different values up to which numbers are levels


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
    if found:
        return _by_findings(name, found)
    holds, reason = _plain(name, distinct)
    return Judgement(column=name, holds=holds, certainty="likely", reasons=(reason,))


def _by_findings(name: str, found: tuple[Finding, ...]) -> Judgement:
    """What the surest finding says: by values before by name."""
    first = max(found, key=lambda one: (one.judged, one.by_values, one.by_name, one.share))
    certain = first.judged and first.by_values and first.identifier != OTHER_CODES
    certainty: Certainty = "certain" if certain else "likely" if first.judged else "possible"
    return Judgement(
        column=name,
        holds=_HELD.get(first.identifier, "identifier"),
        certainty=certainty,
        reasons=tuple(_said(one) for one in found),
        findings=found,
    )


def _said(one: Finding) -> str:
    """Why, in words."""
    by_name = f"the name suggests {one.identifier}"
    if not one.by_values:
        return by_name
    share = f"{one.share:.0%} of its cells look like {one.identifier}"
    return f"{share}, and {by_name}" if one.by_name else share


def _plain(name: str, distinct: pl.DataFrame) -> tuple[Holds, str]:
    """What a column holds in which nothing of the rule was found."""
    values = distinct["value"]
    if not len(values):
        return "nothing", "no cell is filled"
    if values.dtype.is_numeric() and any(WEIGHTS.covers(word) for word in words_in(name)):
        return "weight", "the name suggests a survey weight"
    if values.dtype.is_float() and bool((values != values.round()).any()):
        return "measurement", "numbers with decimals"
    if values.dtype.is_numeric() and len(values) > _FEW:
        return "measurement", f"numbers with {len(values):,} different values"
    return "level", f"{len(values):,} different values"
