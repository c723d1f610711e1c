"""Safe Harbor's rules for values: three digits of the ZIP code, years without days, ages over 89 in one.

45 CFR 164.514(b)(2) names 18 identifiers. Those that name a person outright are never rewritten here: a table in which
a released column holds one is refused, with the columns named, so that a person gives them the role identifier (and
they are dropped) or says that they are something else; free text, which may hold any of them, likewise. The rest is
rewritten in every released column, whatever its role:

- ZIP codes become their first three digits, or ``000`` where 20,000 people or fewer live in all ZIP codes with these
  digits (`shoal.compliance.zip_codes`; what isn't a ZIP code becomes ``000``, too);
- dates, by name or by value, become years; a year of birth that shows an age over 89 in the year of the data becomes
  the latest such year;
- ages over 89 become 90, which stands for 90 and over;
- other places smaller than a state (city, county, tract, coordinates) are suppressed.

What can't be judged is refused until a person says what it is: a region that may be smaller than a state, numbers in a
column of dates that are no dates, years of birth of people who may be over 89 while the year of the data isn't given.

A *limited data set* (164.514(e)) may keep dates, cities, ZIP codes and ages; only the first rule applies, and street
addresses count as names do.

Promised: what the scan of `shoal.compliance.scan` recognises as such is rewritten or refused. Not promised: that
nothing else is there, or that nobody can be told apart (k is 1). The rule also asks that nobody who releases the data
*knows* how to identify a person in it; that is for people to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener
from shoal.compliance.dates import year_of
from shoal.compliance.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, OTHER_CODES
from shoal.compliance.scan import OLDEST, Finding, Scan, lower_ends, scan, speaks_of_age, speaks_of_birth
from shoal.compliance.zip_codes import CENSUS, SMALL_ZIPS, is_zip, three_digits
from shoal.conform import Prepared
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.frame import series
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check
from shoal.schema.infer import words_in

__all__ = ["LimitedDataSet", "SafeHarbor", "outright"]

_REWRITTEN = {GEOGRAPHIC, DATES, AGES}
_FOR_PEOPLE = {OTHER_CODES, FREE_TEXT}  # named after the release, for a person to judge
_STREET = ("street", "address", "addr")


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeHarbor(Coarsener):
    """Rewrite ZIP codes, dates and ages as the Safe Harbor rule wants; refuse direct identifiers.

    Parameters
    ----------
    small_zips
        First three digits of ZIP codes that are written ``000``; None takes the list of the census of 2020.
    year
        The year in which the data were collected. With it, years of birth of people over 89 are pooled; without it a
        table with years of birth of people who would be over 89 today is refused.
    allow
        Columns that a person has looked at and that stay as they are, although they look like identifiers.
    k
        Always 1: the rule asks for no classes of any size.

    Notes
    -----
    Missing values stay missing. Survey weights are not used. Years and ages are whole numbers (years of a
    quasi-identifier are texts if some are missing), ZIP codes are texts. Cost: a scan of the released columns.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.compliance.safe_harbor import SafeHarbor
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"zip": ["02139", "03601"], "age": [44, 97]})
    >>> done = SafeHarbor().apply(prepare(table, shoal.Schema.of(quasi=["zip", "age"], kinds={"zip": "nominal"})), 1)
    >>> done.columns["zip"].to_list(), done.columns["age"].to_list()
    (['021', '000'], [44, 90])
    """

    title = "Safe Harbor"
    summary = "ZIP codes to three digits, dates to years, ages over 89 pooled, smaller places suppressed."
    promise = "What the scan recognises is rewritten, or the run stops; no k is promised."
    report_text = ReportText(
        done=(
            "Columns were coarsened by the rules of HIPAA Safe Harbor: three digits of a ZIP code, years "
            "instead of dates, ages over 89 pooled."
        ),
        writes="coarsened as the Safe Harbor rule says, where it has a rule for such a column",
        keeps="What the rule leaves.",
    )
    rank = 5

    small_zips: Annotated[
        tuple[str, ...] | None, Help("first three digits of ZIP codes written 000; none: by the census of 2020")
    ] = None
    year: Annotated[int | None, Range(low=1900, high=2200), Help("year in which the data were collected")] = None
    allow: Annotated[tuple[str, ...], Help("columns to keep although they look like identifiers"), ColumnNames()] = ()
    k: Annotated[int, Range(low=1, high=1), Help("always 1")] = 1

    @property
    def blanks_cells(self) -> bool:
        """Ages over 89 and places are pooled or suppressed; everything else stays."""
        return True

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Rewrite what the rule lets stand in part; refuse what it doesn't let stand at all."""
        check(self)
        _check_zips(self.small_zips or ())
        found = _released(prepared, self.allow, self.year)
        _refuse(type(self).__name__, _direct(found), _unclear(found, self._born(prepared)))
        made = {name: self._column(prepared, found, name) for name in _names(prepared, self.allow)}
        columns = {name: _levels(column, prepared) for name, column in made.items() if column is not None}
        return Coarsened(
            columns=columns,
            kept=np.ones(prepared.n, dtype=np.bool_),
            facts=tuple(Fact(says=rule, outside=True) for rule in self._rules()),
            outside=_rewritten(found, columns),
        )

    def _rules(self) -> tuple[str, ...]:
        list_of = CENSUS if self.small_zips is None else "a list that was given"
        return (
            f"ZIP codes are written as their first three digits, or 000 where 20,000 people or fewer live by {list_of}",
            "dates are written as years; ages over 89 as 90, which stands for 90 and over",
            "places smaller than a state are suppressed",
        )

    def _born(self, prepared: Prepared) -> list[Finding]:
        """Dates of birth, once they are years, of people who may be over 89; none where the year is given."""
        if self.year is not None:
            return []
        dates = [name for name in _names(prepared, self.allow) if speaks_of_birth(name)]
        years = [year_of(series(prepared.frame, name)).alias(name) for name in dates]
        return [finding for column in years for finding in scan(column.to_frame()).of(AGES)]

    def _column(self, prepared: Prepared, found: Scan, name: str) -> pl.Series | None:
        """What is written instead of a column, if anything."""
        column = series(prepared.frame, name)
        titles = {finding.identifier for finding in found.findings if finding.column == name}
        if DATES in titles or (AGES in titles and not speaks_of_age(name)):
            return self._years(column)
        if AGES in titles:
            return _pooled(column)
        if GEOGRAPHIC in titles:
            return (
                three_digits(column, SMALL_ZIPS if self.small_zips is None else self.small_zips)
                if is_zip(column)
                else _blank(column)
            )
        return None

    def _years(self, column: pl.Series) -> pl.Series:
        years = year_of(column)
        if self.year is not None and speaks_of_birth(column.name):
            years = years.clip(lower_bound=self.year - OLDEST - 1)
        return years.alias(column.name)


def _rewritten(found: Scan, columns: Mapping[str, pl.Series]) -> dict[str, list[str]]:
    """The columns that were rewritten, by what they held; what is written there shows it."""
    held = {name: next(f.identifier for f in found.findings if f.column == name) for name in columns}
    return {title: [name for name, other in held.items() if other == title] for title in dict.fromkeys(held.values())}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedDataSet(Coarsener):
    """Refuse what a limited data set may not hold; change nothing.

    Parameters
    ----------
    allow
        Columns that a person has looked at and that stay, although they look like identifiers.
    k
        Always 1: the rule asks for no classes of any size.

    Notes
    -----
    Dates, ages, cities, states and ZIP codes stay; names, street addresses, numbers and addresses of persons are
    refused. Missing values and weights play no part. Cost: a scan of the released columns.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.compliance.safe_harbor import LimitedDataSet
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"zip": ["02139", "03601"], "email": ["a@b.org", "c@d.org"]})
    >>> schema = shoal.Schema.of(quasi=["zip", "email"], kinds={"zip": "nominal"})
    >>> try:
    ...     LimitedDataSet().apply(prepare(table, schema), 1)
    ... except shoal.GuaranteeError as error:
    ...     error.got
    "e-mail addresses in 'email'"
    """

    title = "limited data set"
    summary = "Dates, ages and ZIP codes stay; street addresses and direct identifiers are refused."
    promise = "What the scan recognises is refused; no k is promised."
    report_text = ReportText(
        done="Columns with names of people or street addresses were refused.",
        writes="unchanged, after a scan for names and street addresses",
        keeps="Everything.",
    )
    rank = 6

    allow: Annotated[tuple[str, ...], Help("columns to keep although they look like identifiers"), ColumnNames()] = ()
    k: Annotated[int, Range(low=1, high=1), Help("always 1")] = 1

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Refuse direct identifiers and street addresses; everything else stays."""
        check(self)
        found = _released(prepared, self.allow)
        _refuse(type(self).__name__, [*outright(found), *found.of(FREE_TEXT)])
        note = "dates, cities, ZIP codes and ages are as they were"
        return Coarsened(columns={}, kept=np.ones(prepared.n, dtype=np.bool_), facts=(Fact(says=note, outside=True),))


def outright(found: Scan) -> list[Finding]:
    """What a limited data set may not hold: identifiers that name a person outright, and street addresses."""
    named = [finding for finding in found.findings if finding.identifier not in _REWRITTEN | _FOR_PEOPLE]
    return [*named, *(finding for finding in found.of(GEOGRAPHIC) if _speaks_of_street(finding.column))]


def _names(prepared: Prepared, allow: Iterable[str]) -> list[str]:
    """The released columns that nobody has vouched for."""
    released = prepared.schema.released
    return [column.name for column in released.columns if column.role != "weight" and column.name not in set(allow)]


def _released(prepared: Prepared, allow: Iterable[str], year: int | None = None) -> Scan:
    return scan(prepared.frame, columns=_names(prepared, allow), year=year)


def _direct(found: Scan) -> list[Finding]:
    """Identifiers that name a person outright, free text, and dates within other texts, where no rule could take them
    out."""
    named = [finding for finding in outright(found) if finding.identifier != GEOGRAPHIC]
    within = [finding for finding in found.of(DATES) if not finding.by_name and finding.share < 0.5]
    texts = found.of(FREE_TEXT)
    columns = {finding.column for finding in texts}
    return [*named, *texts, *(f for f in found.of(DATES) if f in within or f.column in columns)]


def _unclear(found: Scan, born: list[Finding]) -> list[Finding]:
    """What only a person can judge, but for codes in which everybody differs: they are named at the end."""
    unclear = [finding for finding in found.findings if not finding.judged and finding.identifier != OTHER_CODES]
    known = {finding.column for finding in unclear}
    return [*unclear, *(finding for finding in born if finding.column not in known)]


def _refuse(owner: str, direct: list[Finding], unclear: Sequence[Finding] = ()) -> None:
    if not direct and not unclear:
        return
    hints = [_DROP] if direct or any(finding.identifier != AGES for finding in unclear) else []
    hints += [_YEAR] if any(finding.identifier == AGES for finding in unclear) else []
    said = [f"{finding.identifier} in '{finding.column}'" for finding in direct]
    said += [f"{finding.identifier} in '{finding.column}' (could not be judged)" for finding in unclear]
    rule = "must not contain direct identifiers" if direct else "must not contain what only a person can judge"
    raise GuaranteeError(owner, rule, got=", ".join(dict.fromkeys(said)), hint=" ".join(hints))


_DROP = (
    "Give these columns the role identifier to drop them, or allow them (--allow) if you have looked and they are not "
    "identifiers."
)
_YEAR = "Give the year of the data (--year), so that ages over 89 can be told from years of birth."


def _check_zips(zips: tuple[str, ...]) -> None:
    if not all(isinstance(z, str) and len(z) == 3 and z.isdigit() for z in zips):
        raise ParameterError(
            "SafeHarbor",
            "small_zips must be texts of three digits each",
            got=f"{len(zips)} entries",
            parameter="small_zips",
        )


def _levels(column: pl.Series, prepared: Prepared) -> pl.Series:
    """Years of a quasi-identifier as texts where some are missing: a level may be missing, a number may not."""
    gaps = prepared.schema[column.name].role == "quasi" and column.dtype.is_numeric() and column.null_count() > 0
    return column.cast(pl.String) if gaps else column


def _pooled(column: pl.Series) -> pl.Series:
    """Ages over 89 in one: 90, or in a column of texts ``90+``."""
    if column.dtype.is_numeric():
        return column.clip(upper_bound=OLDEST + 1)
    texts = column.cast(pl.String)
    return texts.set((lower_ends(texts) > OLDEST).fill_null(False), f"{OLDEST + 1}+")


def _blank(column: pl.Series) -> pl.Series:
    """A column in which everything is suppressed, missing cells too."""
    return pl.Series(column.name, [SUPPRESSED]).new_from_index(0, len(column))


def _speaks_of_street(name: str) -> bool:
    return any(word.startswith(_STREET) for word in words_in(name))
