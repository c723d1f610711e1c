"""Sets of rules that people must meet, by name: what is done first, which k is asked for, what is checked at the end.

=================  ====  ======================================================================================
preset             k     what it does and checks
=================  ====  ======================================================================================
safe-harbor        1     ZIP codes, dates, ages and places as 45 CFR 164.514(b)(2) wants; direct identifiers refused
limited-data-set   1     direct identifiers and street addresses refused (164.514(e)); dates, ages, ZIP codes stay
cms                11    every combination shared by 11; no count of 1 to 10 of a level or of people left out
internal-5         5     re-identification risk of a matched record at most 0.2
public-11          11    at most 1/11 (0.091)
public-20          20    at most 0.05
=================  ====  ======================================================================================

A preset documents what was done and what was found. Whether that is enough is for a person to decide; no preset says
that a table is safe or meets a law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from shoal.coarsening.coarsener import Coarsener
from shoal.compliance.identifiers import AGES, DATES, FREE_TEXT, GEOGRAPHIC, OTHER_CODES
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor, outright
from shoal.compliance.scan import Scan, scan
from shoal.equivalence import classes_of
from shoal.errors import ParameterError
from shoal.frame import Frame, enter, series
from shoal.record import Record
from shoal.schema import Schema

__all__ = ["PRESETS", "Check", "Preset", "preset"]


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
    """

    rule: str
    holds: bool
    words: str
    outside: bool = True


_Checks = Callable[["Preset", Frame, Schema, int | None], list[Check]]


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

    def findings(self, released: Any, schema: Schema, *, n_left_out: int | None = None) -> tuple[Check, ...]:
        """Hold a finished table to the rules.

        Parameters
        ----------
        released
            The released table, as read back from its file.
        schema
            Its schema; identifiers and the unit may be missing from the table.
        n_left_out
            How many records were left out, if somebody could learn it.
        """
        frame = enter(released)
        return tuple(made for checks in self.checks for made in checks(self, frame, schema, n_left_out))


def preset(name: str) -> Preset:
    """The preset of this name, or a ParameterError that lists them."""
    if name not in PRESETS:
        raise ParameterError("preset", f"must be one of {', '.join(PRESETS)}", got=repr(name)[:40])
    return PRESETS[name]


# Checks


def _scanned(frame: Frame, schema: Schema) -> Scan:
    names = [c.name for c in schema.released.columns if c.name in frame.columns and c.role != "weight"]
    return scan(frame, columns=names)


def _direct(preset: Preset, frame: Frame, schema: Schema, n_left_out: int | None) -> list[Check]:
    found = outright(_scanned(frame, schema))
    return [_none("no direct identifier", {f.column for f in found})]


def _indirect(preset: Preset, frame: Frame, schema: Schema, n_left_out: int | None) -> list[Check]:
    found = _scanned(frame, schema)
    rules = {
        "no place smaller than three digits of a ZIP code": GEOGRAPHIC,
        "no day or month of a date": DATES,
        "no age over 89 by itself": AGES,
        "no other code that is unique to a person": OTHER_CODES,
        "no free text": FREE_TEXT,
    }
    return [_none(rule, {finding.column for finding in found.of(title)}) for rule, title in rules.items()]


def _none(rule: str, columns: set[str]) -> Check:
    names = ", ".join(f"'{name}'" for name in sorted(columns))
    return Check(rule=rule, holds=not columns, words=f"look at {names}" if columns else "none was found")


def _classes(preset: Preset, frame: Frame, schema: Schema, n_left_out: int | None) -> list[Check]:
    found = classes_of(frame, schema.quasi, schema.unit if schema.unit in frame.columns else None)
    small = int((found.row_sizes < preset.k).sum())
    rule = f"every combination of quasi-identifiers is shared by at least {preset.k}"
    if not small:
        return [Check(rule=rule, holds=True, words=f"the smallest class has {found.k}")]
    records = "1 record is" if small == 1 else f"{small:,} records are"
    words = f"{records} in a class of fewer than {preset.k}; the largest risk is {1 / max(1, found.k):.2g}"
    return [Check(rule=rule, holds=False, words=words)]


def _small_cells(preset: Preset, frame: Frame, schema: Schema, n_left_out: int | None) -> list[Check]:
    """No count of 1 to 10: of people with a level in any released column, or of people left out."""
    counts = {c.name: _rare_levels(frame, c.name, preset.k) for c in schema.released.columns if c.role != "weight"}
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


def _rare_levels(frame: Frame, name: str, k: int) -> int:
    """How many levels of a column fewer than k people have; numbers with many different values have no levels."""
    if name not in frame.columns:
        return 0
    column = series(frame, name)
    if column.dtype.is_float() or (column.dtype.is_integer() and column.n_unique() > 50):
        return 0
    counts = column.drop_nulls().value_counts()["count"].to_numpy()
    return int(np.sum(counts < k))


_ANY = "Nobody can foresee what others know; a person must decide whether this is enough."
_SCAN = "Identifiers are looked for by name and by form; what is neither named nor formed like one escapes."
_CLASSES = "It says nothing about what a class gives away on its sensitive columns."


def _risk(name: str, k: int, about: str) -> Preset:
    return Preset(name=name, about=about, k=k, limits=(_CLASSES, _ANY), checks=(_classes,))


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        made.name: made
        for made in (
            Preset(
                name="safe-harbor",
                about="Identifiers removed as the Safe Harbor rule of HIPAA lists them: 45 CFR 164.514(b)(2).",
                k=1,
                limits=(_SCAN, "It asks for no k: combinations of what is left can still be unique.", _ANY),
                first=(SafeHarbor(),),
                checks=(_direct, _indirect),
            ),
            Preset(
                name="limited-data-set",
                about="Direct identifiers removed as for a limited data set: 45 CFR 164.514(e).",
                k=1,
                limits=(_SCAN, "It is still protected health information, and needs a data use agreement.", _ANY),
                first=(LimitedDataSet(),),
                checks=(_direct,),
            ),
            Preset(
                name="cms",
                about="The small-cell rule of CMS: no count of 1 to 10 shown or derivable.",
                k=11,
                limits=(
                    "Counts that somebody makes of several columns, or over several releases, are not checked.",
                    _CLASSES,
                    _ANY,
                ),
                checks=(_classes, _small_cells),
            ),
            _risk("internal-5", 5, "For use inside: a matched record is the right one with probability 0.2 at most."),
            _risk("public-11", 11, "For the public: a matched record is the right one with probability 1/11 at most."),
            _risk("public-20", 20, "For the public: a matched record is the right one with probability 0.05 at most."),
        )
    }
)
"""The presets by name."""
