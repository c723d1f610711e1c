"""Sets of rules that people must meet, by name: what is done first, which k is asked for, what is checked at the end.

=================  ====  ======================================================================================
preset             k     what it does and checks
=================  ====  ======================================================================================
safe-harbor        1     ZIP codes, dates, ages and places as 45 CFR 164.514(b)(2) wants; direct identifiers refused
limited-data-set   1     direct identifiers and street addresses refused (164.514(e)); dates, ages, ZIP codes stay
cms                11    every combination shared by 11; no count of 1 to 10 of a level or of people left out
internal-3         3     re-identification risk of a matched record at most 1/3
internal-5         5     at most 0.2
public-10          10    at most 0.1
public-11          11    at most 1/11 (0.091)
ema-0070           11    at most 1/11, the threshold of 0.09 of EMA's Policy 0070
health-canada      11    at most 1/11, the threshold of 0.09 of Health Canada's public release of clinical information
public-20          20    at most 0.05
=================  ====  ======================================================================================

Each rule about an identifier ends as *found and removed*, *looked for and not found*, or *could not be judged*; the
last, and an identifier that is still there, fail the preset until a person accepts it.

A preset documents what was done and what was found. Whether that is enough is for a person to decide; no preset says
that a table is safe or meets a law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.canonical import plain
from shoal.coarsening.coarsener import Coarsener
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor, outright
from shoal.compliance.scan import Scan, scan, scan_counted
from shoal.equivalence import classes_of
from shoal.errors import ParameterError
from shoal.frame import Frame, adopt, enter, series, with_columns
from shoal.record import Record
from shoal.schema import Schema
from shoal.schema.evidence import words_in
from shoal.schema.judgement.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, IDENTIFIERS, OTHER_CODES, named

__all__ = ["MOST_LEVELS", "PRESETS", "Check", "Counts", "Finished", "Outcome", "Preset", "preset", "removed_by_name"]

MOST_LEVELS = 50
"""Whole numbers with more different values are measurements, not levels."""
Outcome = Literal["removed", "not found", "not judged", "found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Record):
    """One rule of a preset, held against a finished table.

    Parameters
    ----------
    rule
        What must hold.
    holds
        Whether it does.
    words
        What was found, in words and counts, never values.
    outside
        Whether it may leave: it does if it looks at the released table alone.
    outcome, columns
        Of a rule about an identifier: what came of it, and in which columns (those looked at, where it wasn't found).
    by_claim
        Whether it rests on a claim of the release rather than on what its table shows.
    """

    rule: str
    holds: bool
    words: str
    outside: bool = True
    outcome: Outcome | None = None
    columns: tuple[str, ...] = ()
    by_claim: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished table, and what its rules must know beside it.

    Parameters
    ----------
    frame, schema
        The released table, as read back from its file, and its schema; identifiers and the unit may be missing from it.
    n_left_out
        How many records were left out, if somebody could learn it.
    year
        The year in which the data were collected.
    removed
        The columns that were dropped or rewritten, by the title of what they held.
    bound
        The proved bound on finding a person's row, where there is one.
    persons
        Of a table of events: whose row each is.
    counted
        Of a table that is not held: its columns' different values with their rows, for a scan; its frame has no rows.
    """

    frame: Frame
    schema: Schema
    n_left_out: int | None = None
    year: int | None = None
    removed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bound: float | None = None
    persons: IntArray | None = None
    counted: Mapping[str, pl.DataFrame] | None = None

    def scanned(self) -> Scan:
        """What a scan of the released columns finds."""
        if self.counted is not None:
            known = {name: self.counted[name].drop_nulls("value") for name in self.columns}
            return scan_counted(known, year=self.year)
        return scan(self.frame, columns=self.columns, year=self.year)

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        released = self.schema.released.columns
        return [c.name for c in released if c.name in self.frame.columns and c.role != "weight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the rules that only count must know of a finished table.

    Parameters
    ----------
    k, n_small
        The smallest class, and the records in classes of fewer than the preset asks for.
    rare
        Levels that too few people have, by column.
    n_left_out, bound
        As in `Finished`.
    """

    k: int
    n_small: int
    rare: Mapping[str, int]
    n_left_out: int | None = None
    bound: float | None = None


_Checks = Callable[["Preset", Finished], list[Check]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of rules.

    Parameters
    ----------
    name
        Its name on the command line.
    about
        What it is, in a sentence.
    k
        Fewest persons who must share a combination of quasi-identifiers; 1 asks for nothing.
    source
        Where the rule or the threshold is written down.
    limits
        What it doesn't do, for the report.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.compliance.presets import PRESETS
    >>> table = pl.DataFrame({"age": [30, 30, 30, 30, 30, 41]})
    >>> [check.words for check in PRESETS["internal-5"].findings(table, shoal.Schema.of(quasi=["age"]))]
    ['1 record is in a class of fewer than 5; the largest risk is 1']
    """

    name: str
    about: str
    k: int
    source: str
    limits: tuple[str, ...]
    first: tuple[Coarsener, ...] = ()
    checks: tuple[_Checks, ...] = field(default=(), repr=False)

    @property
    def largest_risk(self) -> float:
        """The largest probability that a matched record is the right person's: 1 / k."""
        return 1.0 / self.k

    def prepare(self, schema: Schema) -> list[Coarsener]:
        """The coarseners to apply, in this order, before anything else; `schema` is the table's."""
        return list(self.first)

    def asked(self, *, allow: Sequence[str] = (), year: int | None = None) -> Preset:
        """The preset with columns that a person lets stand, and the year of the data, where its steps take them."""
        given = {"allow": tuple(allow), "year": year}
        return replace(self, first=tuple(_with(step, given) for step in self.first))

    def findings(self, released: Any, schema: Schema, **known: Any) -> tuple[Check, ...]:
        """Hold a finished table to the rules; `known` are further fields of `Finished`."""
        finished = Finished(frame=_plain(released), schema=schema, **known)
        return tuple(made for checks in self.checks for made in checks(self, finished))

    @property
    def counts_only(self) -> bool:
        """Whether its rules look at counts of classes and levels alone, and not at what values are like."""
        return set(self.checks) <= {_classes, _small_cells}

    def counted_findings(self, counts: Counts) -> tuple[Check, ...]:
        """The same for a table of which only counts are known."""
        cells = _cell_checks(self, counts.rare, counts.n_left_out) if _small_cells in self.checks else []
        return (_class_check(self, counts.k, counts.n_small, counts.bound), *cells)

    def event_findings(self, released: Any, schema: Schema, persons: IntArray, **known: Any) -> tuple[Check, ...]:
        """Hold a finished table of events to the rules that don't count classes; `persons` says whose row each is."""
        finished = Finished(frame=_plain(released), schema=schema, persons=persons, **known)
        return tuple(made for checks in self.checks if checks is not _classes for made in checks(self, finished))

    def known_events(self, shared: int) -> Check | None:
        """Whether each event that may be known is shared by k persons, as the release claims; None where k is 1."""
        if self.k <= 1:
            return None
        rule = f"whoever knows one event of a person finds at least {self.k} persons who have it"
        words = (
            f"{shared} persons at least, by a claim of the release" if shared else "nothing is claimed of known events"
        )
        return Check(rule=rule, holds=shared >= self.k, words=words, by_claim=True)


def _plain(released: Any) -> Frame:
    """The table in the types that its file has: whole numbers that came as floats have levels and may be codes."""
    frame = enter(released)
    return with_columns(frame, {name: adopt(plain(series(frame, name)), frame) for name in frame.columns})


def _with(step: Coarsener, given: Mapping[str, Any]) -> Coarsener:
    known = {f.name for f in fields(step)}  # type: ignore[arg-type]
    return replace(step, **{name: value for name, value in given.items() if name in known})  # type: ignore[type-var]


def removed_by_name(columns: Iterable[str]) -> dict[str, list[str]]:
    """Dropped columns by the identifier that their name speaks for; other unique codes where it speaks for none."""
    made: dict[str, list[str]] = {}
    for column in columns:
        found = named(words_in(column))
        made.setdefault(OTHER_CODES if found is None else found.title, []).append(column)
    return made


def preset(name: str) -> Preset:
    """The preset of this name, or a ParameterError that lists them."""
    if name not in PRESETS:
        raise ParameterError("preset", f"must be one of {', '.join(PRESETS)}", got=repr(name)[:40])
    return PRESETS[name]


# Checks


def _direct(preset: Preset, finished: Finished) -> list[Check]:
    """What names a person outright, rule by rule."""
    found = finished.scanned()
    still = outright(found)
    streets = replace(found, findings=tuple(finding for finding in still if finding.identifier == GEOGRAPHIC))
    rules = [i for i in sorted(IDENTIFIERS, key=lambda i: i.letter) if i.title not in (GEOGRAPHIC, DATES, OTHER_CODES)]
    checks = [_rule(f"{i.letter} {i.title}", i.title, found, finished) for i in rules]
    return [*checks, _rule("B street addresses", GEOGRAPHIC, streets, finished), _no_text(found, finished)]


def _listed(preset: Preset, finished: Finished) -> list[Check]:
    """All 18 identifiers of Safe Harbor, and free text."""
    found = finished.scanned()
    titles = {(i.letter, i.title) for i in IDENTIFIERS} | {("C", AGES)}
    checks = [_rule(f"{letter} {title}", title, found, finished) for letter, title in sorted(titles)]
    return [*checks, _no_text(found, finished)]


def _no_text(found: Scan, finished: Finished) -> Check:
    return _rule("free text, which may hold any of them", FREE_TEXT, found, finished)


def _rule(rule: str, title: str, found: Scan, finished: Finished) -> Check:
    """What came of one identifier: still there, not judged, removed, or not found."""
    here = found.of(title)
    still = tuple(dict.fromkeys(finding.column for finding in here if finding.judged))
    unclear = tuple(dict.fromkeys(finding.column for finding in here if not finding.judged))
    removed = tuple(finished.removed.get(title, ()))
    looked = tuple(finished.columns)
    if still:
        return _came("found", rule, still, f"found in {_quoted(still)}")
    if unclear:
        return _came("not judged", rule, unclear, f"could not be judged in {_quoted(unclear)}")
    if removed:
        return _came("removed", rule, removed, f"found and removed: {_quoted(removed)}")
    many = f"{len(looked)} column{'' if len(looked) == 1 else 's'}"
    return _came("not found", rule, looked, f"looked for in {many} and not found")


def _came(outcome: Outcome, rule: str, columns: tuple[str, ...], words: str) -> Check:
    holds = outcome in ("removed", "not found")
    return Check(rule=rule, holds=holds, words=words, outcome=outcome, columns=columns)


def _quoted(columns: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in columns)


def _classes(preset: Preset, finished: Finished) -> list[Check]:
    """Combinations shared by k, or else a proved bound of 1/k on finding a person's row."""
    frame, schema = finished.frame, finished.schema
    found = classes_of(frame, schema.quasi, schema.unit if schema.unit in frame.columns else None)
    return [_class_check(preset, found.k, int((found.row_sizes < preset.k).sum()), finished.bound)]


def _class_check(preset: Preset, k: int, small: int, bound: float | None) -> Check:
    rule = f"every combination of quasi-identifiers is shared by at least {preset.k}, or a person's row is found with "
    rule += f"probability 1/{preset.k} at most"
    if not small:
        return Check(rule=rule, holds=True, words=f"the smallest class has {k}")
    if bound is not None and bound <= preset.largest_risk * (1 + 1e-12):
        return Check(rule=rule, holds=True, words=f"found with probability {bound:.4g} at most", by_claim=True)
    records = "1 record is" if small == 1 else f"{small:,} records are"
    words = f"{records} in a class of fewer than {preset.k}; the largest risk is {1 / max(1, k):.2g}"
    return Check(rule=rule, holds=False, words=words)


def _small_cells(preset: Preset, finished: Finished) -> list[Check]:
    """No count of 1 to 10: of people with a level in any released column, or of people left out."""
    released = [c.name for c in finished.schema.released.columns if c.role != "weight"]
    counts = {name: _rare_levels(finished, name, preset.k) for name in released}
    found = _cell_checks(preset, counts, finished.n_left_out)
    return found if finished.persons is None else found[:1]


def _cell_checks(preset: Preset, counts: Mapping[str, int], n_left_out: int | None) -> list[Check]:
    rare = {name: n for name, n in counts.items() if n}
    said = ", ".join(f"{n:,} in '{name}'" for name, n in rare.items())
    levels = Check(
        rule=f"no level of a column is held by 1 to {preset.k - 1} people",
        holds=not rare,
        words=f"levels that are: {said}" if rare else "none is",
    )
    derivable = n_left_out is not None and 0 < n_left_out < preset.k
    left_out = Check(
        rule=f"no count of 1 to {preset.k - 1} people can be derived from totals",
        holds=not derivable,
        words="fewer than that were left out, and the total of the original would tell how many"
        if derivable
        else "none",
        outside=False,
    )
    return [levels, left_out]


def _rare_levels(finished: Finished, name: str, k: int) -> int:
    """How many levels of a column fewer than k people have; numbers with many different values have no levels."""
    if name not in finished.frame.columns:
        return 0
    column = series(finished.frame, name)
    if column.dtype.is_float() or (column.dtype.is_integer() and column.n_unique() > MOST_LEVELS):
        return 0
    held = pl.DataFrame({"level": column, "person": finished.persons}) if finished.persons is not None else None
    once = column if held is None else held.unique()["level"]
    counts = once.drop_nulls().alias("level").value_counts(name="n")["n"].to_numpy()
    return int(np.sum(counts < k))


_ANY = "Nobody can foresee what others know; a person must decide whether this is enough."
_SCAN = "Identifiers are looked for by name and by form; what is neither named nor formed like one escapes."
_CLASSES = "It says nothing about what a class gives away on its sensitive columns."


def _risk(name: str, k: int, risk: str, source: str, *, inside: bool = False) -> Preset:
    who = "For use inside" if inside else "For the public"
    about = f"{who}: a matched record is the right one with probability {risk} at most."
    return Preset(name=name, about=about, k=k, source=source, limits=(_CLASSES, _ANY), checks=(_classes,))


_EL_EMAM = "K. El Emam, Guide to the De-Identification of Personal Health Information, 2013: cell sizes in use"
_ONTARIO = "Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data, 2016"
_EMA = (
    "European Medicines Agency, external guidance on Policy 0070, EMA/90915/2016: threshold 0.09, as quoted by others"
)
_CANADA = "Health Canada, Guidance on Public Release of Clinical Information, 2019: threshold 0.09, as quoted by others"

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        made.name: made
        for made in (
            Preset(
                name="safe-harbor",
                about="Identifiers removed as the Safe Harbor rule of HIPAA lists them: 45 CFR 164.514(b)(2).",
                k=1,
                source="45 CFR 164.514(b)(2); areas of ZIP codes by the census of 2020",
                limits=(_SCAN, "It asks for no k: combinations of what is left can still be unique.", _ANY),
                first=(SafeHarbor(),),
                checks=(_listed,),
            ),
            Preset(
                name="limited-data-set",
                about="Direct identifiers removed as for a limited data set: 45 CFR 164.514(e).",
                k=1,
                source="45 CFR 164.514(e)(2)",
                limits=(_SCAN, "It is still protected health information, and needs a data use agreement.", _ANY),
                first=(LimitedDataSet(),),
                checks=(_direct,),
            ),
            Preset(
                name="cms",
                about="The small-cell rule of CMS: no count of 1 to 10 shown or derivable.",
                k=11,
                source="Centers for Medicare and Medicaid Services, cell size policy of 2024: no cell of 1 to 10",
                limits=(
                    "Counts that somebody makes of several columns, or over several releases, are not checked.",
                    _CLASSES,
                    _ANY,
                ),
                checks=(_classes, _small_cells),
            ),
            _risk("internal-3", 3, "1/3", _EL_EMAM, inside=True),
            _risk("internal-5", 5, "0.2", _EL_EMAM, inside=True),
            _risk("public-10", 10, "0.1", f"{_ONTARIO}: 0.1 where little is at stake"),
            _risk("public-11", 11, "1/11", f"{_EMA}; {_CANADA}"),
            _risk("ema-0070", 11, "1/11", _EMA),
            _risk("health-canada", 11, "1/11", _CANADA),
            _risk("public-20", 20, "0.05", f"{_ONTARIO}: 0.05 where much is at stake"),
        )
    }
)
"""The presets by name."""
