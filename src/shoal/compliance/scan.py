"""Look for the 18 Safe Harbor identifiers in a table: by the names of its columns and by the form of their values.

A column can be found by its name, by its values, or by both. Values are counted, never shown. Each different value is
looked at once, so columns with few of them cost next to nothing.

What a scan promises: what it names deserves a look. What it doesn't: that nothing else is there. A name in a column
called ``x7``, or an address inside a long note, can escape it; pictures and other binary content it can't read at all.
Columns in which everybody has another whole number are named as possible codes even if they are amounts of money.

Three digits of a ZIP code, a year alone, and ages pooled at 90 are no findings: the rule lets them stand.

What a scan can't judge it says: places that may be smaller than a state (a *region* of unknown names, a hospital),
numbers in a column of dates that are neither days nor years, years (of birth, of marriage) of people who may be over 89
where nobody says of which year the data are, and columns that give others away (`shoal.compliance.side_doors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from shoal.compliance.side_doors import rows_of, with_side_doors
from shoal.frame import enter, series
from shoal.schema.judgement.date_parts import Pairs, parts_of_dates
from shoal.schema.judgement.finding import Finding, Scan
from shoal.schema.judgement.identifiers import DATES
from shoal.schema.judgement.judge import counted_cells, part_of_date
from shoal.schema.judgement.judgement import judge

__all__ = ["Finding", "Scan", "scan", "scan_counted"]


def scan(
    table: Any, *, columns: Sequence[str] | None = None, sample: int | None = None, year: int | None = None
) -> Scan:
    """Look for identifiers in `table`, any dataframe; nothing is changed.

    Parameters
    ----------
    columns
        The columns to look at; None means all.
    sample
        Look at this many different values of a column at most, evenly spaced in the order of values, and count as if
        the others weren't there; None looks at all. A few numbers among a million notes escape a sample, and so do
        columns that give others away.
    year
        The year in which the data were collected, to tell who of those born in a year was over 89; None can tell only
        that nobody is over 89 today.

    Notes
    -----
    Missing values are not counted. Weights play no part. Cost: each different text is held against fifteen forms, about
    a microsecond each; a million rows of 20 columns take seconds.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.compliance.scan import scan
    >>> table = pl.DataFrame({"contact": ["a@b.org", "c@d.net", None], "age": [34, 91, 95]})
    >>> [(f.column, f.identifier, f.n_matching) for f in scan(table).findings]
    [('contact', 'e-mail addresses', 2), ('age', 'ages over 89', 2)]
    """
    frame = enter(table)
    names = list(frame.columns if columns is None else columns)
    counted = {name: counted_cells(series(frame, name), sample) for name in names}
    rows = rows_of(frame)
    found = scan_counted(counted, year=year, pairs=None if sample is not None else rows.pairs)
    found = replace(found, n_rows=len(frame), n_looked_at=sample)
    if sample is not None or not found.findings:
        return found
    return with_side_doors(found, counted, rows)


def scan_counted(counted: Mapping[str, pl.DataFrame], *, year: int | None = None, pairs: Pairs | None = None) -> Scan:
    """The same of columns of which the different values (``value``) with their rows (``count``) are known.

    With `pairs`, which counts the combinations of two columns, days and months in columns of their own are found
    whatever these are called.
    """
    found = [one for name, distinct in counted.items() for one in judge(name, distinct, year=year).findings]
    dated = {finding.column for finding in found if finding.identifier == DATES and finding.judged}
    parts = {name: sure for name, sure in parts_of_dates(counted, pairs).items() if name not in dated}
    found = [finding for finding in found if finding.identifier != DATES or finding.column not in parts]
    found += [part_of_date(name, counted[name], judged=sure) for name, sure in parts.items()]
    n_rows = max((int(distinct["count"].sum()) for distinct in counted.values()), default=0)
    return Scan(findings=tuple(found), n_rows=n_rows, n_columns=len(counted))
