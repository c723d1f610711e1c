"""Safe Harbor's rules for values: three digits of the ZIP code, years without days, ages over 89 in one.

45 CFR 164.514(b)(2) names 18 identifiers. Those that name a person outright are never rewritten here: a table in which
a released column holds one is refused, with the columns named, so that a person gives them the role identifier (and
they are dropped) or says that they are something else; free text, which may hold any of them, likewise. The rest is
rewritten in every released column, whatever its role:

- ZIP codes, and areas of three digits, become three digits, or ``000`` where 20,000 people or fewer live in all ZIP
  codes with these digits (`shoal.schema.judgement.zip_codes`); what isn't a ZIP code in such a column becomes ``000``;
- dates, by name or by value, become years; a year that shows an age over 89 in the year of the data (of birth, or of
  anything else that somebody under 90 can't have lived to see) becomes the latest such year;
- ages over 89 become 90, which stands for 90 and over;
- other places smaller than a state (city, county, tract, coordinates) are suppressed.

What can't be judged is refused until a person says what it is: a region or a hospital, which may be smaller than a
state, a column from which something that is rewritten follows, numbers in a column of dates that are no dates, years of
people who may be over 89 while the year of the data isn't given.

A *limited data set* (164.514(e)) may keep dates, cities, ZIP codes and ages; only the first rule applies, and street
addresses count as names do.

Promised: what the scan of `shoal.compliance.scan` recognises as such is rewritten or refused. Not promised: that
nothing else is there, or that nobody can be told apart (k is 1). The rule also asks that nobody who releases the data
*knows* how to identify a person in it; that is for people to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated

import numpy as np
import polars as pl

from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener
from shoal.compliance.scan import scan_counted
from shoal.compliance.side_doors import Rows, rows_of, with_side_doors
from shoal.compliance.treatment import Treatment, treatment
from shoal.conform import Prepared
from shoal.domain.absence import bare, written
from shoal.errors import IdentifierError, ParameterError
from shoal.fact import Fact, RewrittenCells
from shoal.files.column_types import as_dates
from shoal.frame import series
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check
from shoal.schema import Column, Schema
from shoal.schema.evidence import words_in
from shoal.schema.judgement.ages import OLDEST, lower_ends, oldest_allowed, speaks_of_age
from shoal.schema.judgement.dates import read_dates, single_years, speaks_of_date, year_numbers, years_among
from shoal.schema.judgement.finding import Finding, Scan
from shoal.schema.judgement.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, OTHER_CODES
from shoal.schema.judgement.judge import (
    born_long_ago,
    counted_cells,
    shows_years,
    speaks_of_birth,
)
from shoal.schema.judgement.zip_codes import CENSUS, SMALL_ZIPS, speaks_of_zip, three_digits, zip_codes
from shoal.value import same_as

__all__ = [
    "HeldColumns",
    "LimitedDataSet",
    "SafeHarbor",
    "outright",
    "released_names",
]

_REWRITTEN = {GEOGRAPHIC, DATES, AGES}
_FOR_PEOPLE = {OTHER_CODES, FREE_TEXT}  # named after the release, for a person to judge
_STREET = ("street", "address", "addr")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldColumns:
    """The columns that were rewritten, by what they held.

    `shown` are those of which most cells were, judged over all rows; `always` those of which every cell was, whatever
    the rows (dates by their type, suppressed places): these may be told where rows are left out later. `treatments`
    says of every column of which a cell was rewritten how, for inside. `declared` has the domains of columns from now
    on, as they follow from the schema.
    """

    treatments: tuple[Fact, ...] = ()
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    always: Mapping[str, Sequence[str]] = field(default_factory=dict)
    declared: Mapping[str, Column] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeHarbor(Coarsener):
    """Rewrite ZIP codes, dates and ages as the Safe Harbor rule wants; refuse direct identifiers.

    Parameters
    ----------
    small_zips
        First three digits of further ZIP codes that are written ``000``, beside those of the census of 2020.
    year
        The year in which the data were collected. With it, years of birth of people over 89 are pooled; without it a
        table with years of birth of people who would be over 89 today is refused.
    allow
        Columns that a person has looked at and that stay as they are, although they look like identifiers.
    k
        Always 1: the rule asks for no classes of any size.

    Notes
    -----
    Missing values stay missing. Survey weights are not used. Years and ages are whole numbers,
    ZIP codes are texts. Cost: a scan of the released columns.

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
        tuple[str, ...], Help("first three digits of further ZIP codes written 000, beside those of the census")
    ] = ()
    year: Annotated[int | None, Range(low=1900, high=2200), Help("year in which the data were collected")] = None
    allow: Annotated[tuple[str, ...], Help("columns to keep although they look like identifiers"), ColumnNames()] = ()
    k: Annotated[int, Range(low=1, high=1), Help("always 1")] = 1

    @property
    def blanks_cells(self) -> bool:
        """Ages over 89 and places are pooled or suppressed; everything else stays."""
        return True

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Rewrite what the rule lets stand in part; refuse what it doesn't let stand at all."""
        frame = prepared.frame
        names = released_names(prepared.schema, self.allow)
        known = {name: _known(series(frame, name), prepared.schema[name]) for name in names}
        counted = {name: counted_cells(column) for name, column in known.items()}
        found = self.judged(counted, rows_of(frame, prepared.schema.unit))
        made = {name: self._column(column, found, counted[name]) for name, column in known.items()}
        columns = {
            name: _beside_codes(series(frame, name), known[name], column, prepared.schema[name])
            for name, column in made.items()
            if column is not None
        }
        cells = tuple(_cells(known[name], new, _title(found, name)) for name, new in columns.items())
        return Coarsened(
            columns=columns,
            kept=np.ones(prepared.n, dtype=np.bool_),
            facts=(*self.facts, *_treatments({c.column: c.title for c in cells if c.rewritten.any()}, columns)),
            details=_held(found, [one.column for one in cells if one.rewritten.any()]),
            cells=cells,
            declared={name: self._declared(prepared.schema[name], found, counted[name]) for name in columns},
        )

    def apply_counted(
        self, schema: Schema, counted: Mapping[str, pl.DataFrame], rows: Rows
    ) -> tuple[dict[str, pl.DataFrame], HeldColumns]:
        """What is written for each different value of a column, and which columns held what, as far as it shows.

        `counted` has the values (``value``) of each released column with their rows (``count``), missing ones too; the
        tables have columns ``from`` and ``to``. What is refused is what `apply` refuses of the rows themselves.
        """
        given = {name: cells["value"].alias(name) for name, cells in counted.items()}
        known = {
            name: cells.with_columns(_known(given[name], schema[name]).alias("value"))
            for name, cells in counted.items()
        }
        found = self.judged({name: cells.drop_nulls("value") for name, cells in known.items()}, rows)
        made = {name: self._column(cells["value"].alias(name), found, cells) for name, cells in known.items()}
        columns = {
            name: _beside_codes(given[name], known[name]["value"], column, schema[name])
            for name, column in made.items()
            if column is not None
        }
        maps = {name: pl.DataFrame({"from": given[name], "to": new}) for name, new in columns.items()}
        always = [name for name in columns if _is_always(known[name]["value"], columns[name])]
        titles = {name: _title(found, name) for name, new in columns.items() if _rewritten_share(new, known[name]) > 0}
        return maps, HeldColumns(
            treatments=_treatments(titles, columns),
            shown=_held(found, _mostly_rewritten(columns, known)),
            always=_held(found, always),
            declared={name: self._declared(schema[name], found, known[name]) for name in columns},
        )

    def judged(self, counted: Mapping[str, pl.DataFrame], rows: Rows) -> Scan:
        """What the columns hold, once nothing in them must be refused."""
        check(self)
        _check_zips(self.small_zips)
        found = with_side_doors(scan_counted(counted, year=self.year, pairs=rows.pairs), counted, rows)
        unclear = [*_of_ranges(counted, found), *self._born(counted, found)]
        _refuse(type(self).__name__, _direct(found), _unclear(found, unclear))
        return found

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the rules do."""
        return tuple(Fact(says=rule, outside=True) for rule in self._rules())

    def _rules(self) -> tuple[str, ...]:
        list_of = f"{CENSUS} or a list that was given" if self.small_zips else CENSUS
        return (
            f"ZIP codes are written as their first three digits, or 000 where 20,000 people or fewer live by {list_of}",
            "dates are written as years; ages over 89 as 90, which stands for 90 and over",
            "places smaller than a state are suppressed",
        )

    def _born(self, counted: Mapping[str, pl.DataFrame], found: Scan) -> list[Finding]:
        """Dates, once they are years, of people who may be over 89; none where the year is given."""
        if self.year is not None:
            return []
        dated = {finding.column for finding in found.of(DATES)}
        years = {
            name: cells.with_columns(self._year_of(cells["value"].alias(name), cells).alias("value")).drop_nulls(
                "value"
            )
            for name, cells in counted.items()
            if name in dated or speaks_of_birth(name)
        }
        return [finding for name, cells in years.items() for finding in born_long_ago(name, cells)]

    def _year_of(self, column: pl.Series, counted: pl.DataFrame) -> pl.Series:
        """The year of each cell of a column of dates or of years; missing where it isn't told."""
        read = read_dates(column.name, counted.drop_nulls("value"), year=self.year)
        if read is None:
            return year_numbers(column)
        years = read.year_of(column)
        if column.dtype != pl.String:
            return years
        plain = year_numbers(column).set(~single_years(column).fill_null(False), None)
        return years.zip_with(years.is_not_null(), plain.cast(years.dtype))

    def _column(self, column: pl.Series, found: Scan, counted: pl.DataFrame) -> pl.Series | None:
        """What is written instead of a column, if anything.

        Ages, years of birth, dates and ZIP codes by their names are written as the rule has them whether or not
        anybody's own were over it: who is left out later must not decide what the others' column is.
        """
        name, known = column.name, counted.drop_nulls("value")
        titles = {finding.identifier for finding in found.findings if finding.column == name}
        if DATES in titles or _are_years(name, known):
            return self._years(column, counted)
        if speaks_of_age(name) and (column.dtype.is_numeric() or column.dtype == pl.String):
            return _pooled(column)
        if AGES in titles:
            return self._late(column)
        zips = zip_codes(name, known)
        if zips is not None and (zips.by_name or zips.judged):
            return three_digits(column, {*SMALL_ZIPS, *self.small_zips}, whole=zips.whole)
        return _blank(column) if GEOGRAPHIC in titles else None

    def _years(self, column: pl.Series, counted: pl.DataFrame) -> pl.Series:
        """The years of dates; nothing where most cells tell none."""
        years, known = self._year_of(column, counted), counted["value"].is_not_null()
        told = counted["count"].filter(self._year_of(counted["value"].alias(column.name), counted).is_not_null())
        if 2 * int(told.sum()) < int(counted["count"].filter(known).sum()):
            return _blank(column)
        if self._oldest is not None:
            years = years.clip(lower_bound=self._oldest)
        return years.alias(column.name)

    def _late(self, column: pl.Series) -> pl.Series:
        """Years under a name that says nothing of birth: those that show an age over 89 in one, all else as it is."""
        assert self._oldest is not None, "years of people who may be over 89 are refused without a year"
        old = (year_numbers(column) < self._oldest).fill_null(False)
        return column.set(old, self._oldest if column.dtype.is_numeric() else str(self._oldest))

    @property
    def _oldest(self) -> int | None:
        """The earliest year that may stand."""
        return None if self.year is None else self.year - OLDEST - 1

    def _declared(self, column: Column, found: Scan, counted: pl.DataFrame) -> Column:
        """The column's domain once it is rewritten, from the schema alone: bounds and levels that still hold.

        A year may be missing where a date was unreadable, so an absence is a level of its own, whoever has one.
        """
        titles = {finding.identifier for finding in found.findings if finding.column == column.name}
        if DATES in titles or _are_years(column.name, counted.drop_nulls("value")):
            missing = "level" if column.missing == "error" else column.missing
            bounds = _within(column.bounds, (self._oldest or -inf, inf)) if speaks_of_birth(column.name) else None
            return replace(column, bounds=bounds, levels=None, missing=missing)
        if speaks_of_age(column.name):
            pooled = _pooled(pl.Series(column.name, column.levels or (), strict=False))
            levels = tuple(pooled.unique(maintain_order=True)) if column.levels else None
            highest = oldest_allowed(column.name) + 1
            return replace(column, bounds=_within(column.bounds, (-inf, highest)), levels=levels)
        return replace(column, levels=None) if AGES in titles else replace(column, bounds=None, levels=None)


def _of_ranges(counted: Mapping[str, pl.DataFrame], found: Scan) -> list[Finding]:
    """Dates among ranges of years: to write years would rewrite all ranges for the sake of a few dates."""
    return [
        replace(finding, judged=False)
        for finding in found.of(DATES)
        if 2 * _n_ranges(counted[finding.column]) >= finding.n_filled
    ]


def _n_ranges(cells: pl.DataFrame) -> int:
    if cells["value"].dtype != pl.String:
        return 0
    return int(cells["count"].filter(years_among(cells["value"]) & ~single_years(cells["value"])).sum())


def _within(bounds: tuple[float, float] | None, limits: tuple[float, float]) -> tuple[float, float] | None:
    """Public bounds once everything beyond the limits is pooled at them; None where nothing is left between."""
    if bounds is None:
        return None
    low, high = max(bounds[0], limits[0]), min(bounds[1], limits[1])
    return (low, high) if low < high else None


def _are_years(name: str, known: pl.DataFrame) -> bool:
    """Whether a column holds years of birth, or, by its name, dates of which only the year is told."""
    if not len(known):
        return False
    if speaks_of_birth(name):
        return shows_years(name, known)
    return speaks_of_date(name) and bool(single_years(known["value"]).all())


def _mostly_rewritten(columns: Mapping[str, pl.Series], counted: Mapping[str, pl.DataFrame]) -> list[str]:
    """The columns of which most known cells were rewritten, so that what is written there shows what they held.

    That a few were, such as ages over 89, tells of these people, and a later step may leave them out.
    """
    return [name for name, new in columns.items() if _rewritten_share(new, counted[name]) > 0.5]


def _rewritten_share(new: pl.Series, cells: pl.DataFrame) -> float:
    both = cells.select(pl.col("value").cast(pl.String), pl.col("count"), new.cast(pl.String).alias("new")).drop_nulls(
        "value"
    )
    other = both.filter(pl.col("value").ne_missing(pl.col("new")))
    return int(other["count"].sum()) / max(1, int(both["count"].sum()))


def _cells(old: pl.Series, new: pl.Series, title: str) -> RewrittenCells:
    known = old.is_not_null().to_numpy()
    changed = old.cast(pl.String).ne_missing(new.cast(pl.String)).to_numpy()
    return RewrittenCells(
        column=old.name,
        title=title,
        rows=np.flatnonzero(known),
        rewritten=changed[known],
        always=_is_always(old, new),
    )


def _treatments(titles: Mapping[str, str], columns: Mapping[str, pl.Series]) -> tuple[Fact, ...]:
    """What was done to each column, for inside; `titles` has what those held of which a cell was rewritten."""
    done: Mapping[str, Treatment] = {DATES: "years", AGES: "pooled"}
    return tuple(
        treatment(name, "suppressed" if _is_blank(columns[name]) else done.get(title, "digits"))
        for name, title in titles.items()
    )


def _title(found: Scan, name: str) -> str:
    """What a column holds: by its name, else by what was found; dates before ages, which one old person may bring."""
    by_name = _of_name(name)
    if by_name is not None:
        return by_name
    titles = [finding.identifier for finding in found.findings if finding.column == name]
    return DATES if DATES in titles or not titles else titles[0]


def _of_name(name: str) -> str | None:
    """What is rewritten by a column's name, whoever is in the table."""
    if speaks_of_age(name):
        return AGES
    return GEOGRAPHIC if speaks_of_zip(name) else None


def _held(found: Scan, columns: Iterable[str]) -> dict[str, list[str]]:
    """The columns that were rewritten, by what they held."""
    held = {name: _title(found, name) for name in columns}
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
        frame, names = prepared.frame, released_names(prepared.schema, self.allow)
        self.judged({name: counted_cells(series(frame, name)) for name in names})
        return Coarsened(columns={}, kept=np.ones(prepared.n, dtype=np.bool_), facts=self.facts)

    def apply_counted(
        self, schema: Schema, counted: Mapping[str, pl.DataFrame], rows: Rows
    ) -> tuple[dict[str, pl.DataFrame], HeldColumns]:
        """Refuse what `apply` refuses, of the different values of each column with their rows; nothing is rewritten."""
        self.judged({name: cells.drop_nulls("value") for name, cells in counted.items()})
        return {}, HeldColumns()

    def judged(self, counted: Mapping[str, pl.DataFrame]) -> Scan:
        """What the columns hold, once nothing in them must be refused."""
        check(self)
        found = scan_counted(counted)
        _refuse(type(self).__name__, [*outright(found), *found.of(FREE_TEXT)])
        return found

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What stays."""
        return (Fact(says="dates, cities, ZIP codes and ages are as they were", outside=True),)


def outright(found: Scan) -> list[Finding]:
    """What a limited data set may not hold: identifiers that name a person outright, and street addresses."""
    named = [finding for finding in found.findings if finding.identifier not in _REWRITTEN | _FOR_PEOPLE]
    return [*named, *(finding for finding in found.of(GEOGRAPHIC) if _speaks_of_street(finding.column))]


def released_names(schema: Schema, allow: Iterable[str]) -> list[str]:
    """The released columns that nobody has vouched for."""
    vouched, columns = set(allow), schema.released.columns
    return [column.name for column in columns if column.role != "weight" and column.name not in vouched]


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
    years = [finding for finding in unclear if finding.identifier == AGES and not finding.gives_away]
    hints = [_DROP] if direct or len(years) < len(unclear) else []
    hints += [_YEAR] if years else []
    said = [f"{finding.identifier} in '{finding.column}'" for finding in direct]
    said += [f"{one.identifier} in '{one.column}' (could not be judged{_given(one)})" for one in unclear]
    rule = "must not contain direct identifiers" if direct else "must not contain what only a person can judge"
    raise IdentifierError(
        owner, rule, got=", ".join(dict.fromkeys(said)), hint=" ".join(hints), columns=_reasons(direct, unclear)
    )


def _reasons(direct: Sequence[Finding], unclear: Sequence[Finding]) -> dict[str, str]:
    """Why each column is refused."""
    said: dict[str, list[str]] = {}
    for finding in direct:
        said.setdefault(finding.column, []).append(finding.identifier)
    for finding in unclear:
        said.setdefault(finding.column, []).append(f"{finding.identifier} (could not be judged{_given(finding)})")
    return {name: ", ".join(dict.fromkeys(reasons)) for name, reasons in said.items()}


def _given(finding: Finding) -> str:
    """What follows from the column; nothing where it is looked at for its own sake."""
    names = ", ".join(f"'{name}'" for name in finding.gives_away)
    return f": {names} {'follows' if len(finding.gives_away) == 1 else 'follow'} from it" if names else ""


_DROP = (
    "Give these columns the role identifier to drop them, or allow them (--allow) if you have looked and they are not "
    "identifiers."
)
_YEAR = "Give the year of the data (--year), so that years of birth show who is over 89."


def _check_zips(zips: tuple[str, ...]) -> None:
    if not all(isinstance(z, str) and len(z) == 3 and z.isdigit() for z in zips):
        raise ParameterError(
            "SafeHarbor",
            "small_zips must be texts of three digits each",
            got=f"{len(zips)} entries",
            parameter="small_zips",
        )


def _known(cells: pl.Series, column: Column) -> pl.Series:
    """What the rules look at and rewrite: the cells without codes for an absence; dates, where a form is declared."""
    if column.date_codes:
        return bare(as_dates(cells, str(column.format), column.date_codes), column)
    codes = tuple(column.missing_codes or ())
    left = bare(cells, column)
    return left.set(pl.Series(same_as(left, codes)), None) if codes else left


def _beside_codes(old: pl.Series, known: pl.Series, new: pl.Series, column: Column) -> pl.Series:
    """What is written, with each code for an absence as it was."""
    if column.missing_codes and not _is_blank(new):
        if column.date_codes:
            old = as_dates(old, str(column.format), column.date_codes)
        if not (old.dtype.is_numeric() and new.dtype.is_numeric()):
            old, new = written(old, column).cast(pl.String), new.cast(pl.String)
        is_code = known.is_null() & old.is_not_null()
        new = new.zip_with(~is_code, old.set(~is_code, None).cast(new.dtype)).alias(column.name)
    return new


def _pooled(column: pl.Series) -> pl.Series:
    """Ages over 89 in one: 90, or in a column of texts ``90+``; 1,080 in a column of months."""
    oldest = oldest_allowed(column.name)
    if column.dtype.is_numeric():
        return column.clip(upper_bound=oldest + 1) if bool((column.cast(pl.Float64) > oldest).any()) else column
    texts = column.cast(pl.String)
    return texts.set((lower_ends(texts) > oldest).fill_null(False), f"{oldest + 1}+")


def _blank(column: pl.Series) -> pl.Series:
    """A column in which everything is suppressed, missing cells too."""
    return pl.Series(column.name, [SUPPRESSED]).new_from_index(0, len(column))


def _is_always(old: pl.Series, new: pl.Series) -> bool:
    """Whether every cell is rewritten whatever the rows: dates by their type, suppressed places."""
    return old.dtype.is_temporal() or _is_blank(new)


def _is_blank(column: pl.Series) -> bool:
    return column.dtype == pl.String and bool((column == SUPPRESSED).all())


def _speaks_of_street(name: str) -> bool:
    return any(word.startswith(_STREET) for word in words_in(name))
