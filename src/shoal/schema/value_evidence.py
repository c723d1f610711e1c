"""What the cells of a column say about it, whatever its name: numbers of persons, code systems, amounts, names.

Each function looks at different values, not at rows, so that one common value decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.files.dates import forms_of
from shoal.schema.facts import Facts

__all__ = ["UUID", "clinical_codes", "date_forms", "is_amount", "like_names", "personal_patterns"]

UUID = r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"

_PERSONAL = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "telephone numbers": r"^\+?[\d(][\d ()./-]{7,18}\d$",
    "web or network addresses": r"^(?:https?://\S+|\d{1,3}(?:\.\d{1,3}){3})$",
}
_CLINICAL = {  # what it is, its shape, and the share of values that must have it: tags are rarer and prove more
    "drugs of ATC": (r"^[A-DGHJLMNPRSV]\d\d[A-Z]{2}(?:\d\d)?$", 0.8),
    "diagnoses of ICD-10": (r"^[A-TV-Z]\d[0-9AB](?:\.?[0-9A-Z]{1,4})?$", 0.8),
    "clinical terms of SNOMED CT": (
        r" \((?:disorder|finding|situation|procedure|morphologic abnormality|regime/therapy|person|event)\)$",
        0.4,
    ),
    "drugs with their strength": (r"(?i)\b\d+(?:\.\d+)? (?:mg|ml|mcg|unt|meq|actuat|hr)\b", 0.4),
}
_ICD9, _ICD9_MARKED = r"^(?:\d{3}|V\d\d|E\d{3})(?:\.\d{1,2})?$", r"^[VE]\d|\.\d"
_NAME = r"^\p{Lu}\p{Ll}+(?:[ '’-]\p{Lu}\p{Ll}+)*\d*$"


def personal_patterns(fact: Facts) -> tuple[str, float] | None:
    """What of a person at least half of the texts look like, and their share."""
    if fact.cells.dtype != pl.String or not fact.n_known:
        return None
    known = fact.cells.drop_nulls()
    for what, pattern in _PERSONAL.items():
        share = float(known.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]
        if share >= 0.5 and not (what == "telephone numbers" and _dates_or_ranges(fact, known)):
            return what, share
    return None


def _dates_or_ranges(fact: Facts, known: pl.Series) -> bool:
    """Whether digits with marks are rather dates (31.12.1999), plain numbers, or ranges (10000-20000), which repeat."""
    plain = known.str.contains(r"^\d+$|^\d{4}-\d\d-\d\d|^\d{1,2}[./-]\d{1,2}[./-]\d")
    return fact.distinct_share < 0.5 or float(plain.mean() or 0.0) > 0.5  # type: ignore[arg-type]


def clinical_codes(fact: Facts) -> tuple[str, float] | None:
    """Which clinical code system or term most of the different texts are shaped like, and their share."""
    if not fact.text or fact.n_distinct < 10:
        return None
    for what, (pattern, enough) in _CLINICAL.items():
        share = fact.share(pattern)
        if share >= enough:
            return what, share
    share = fact.share(_ICD9)
    marked = share >= 0.8 and fact.share(_ICD9_MARKED) >= 0.1  # three digits alone prove nothing
    return ("diagnoses of ICD-9", share) if marked else None


def like_names(fact: Facts) -> bool:
    """Whether the different texts are mostly single capitalised words, as names are, and there are many."""
    return fact.text and fact.n_distinct >= 10 and fact.share(_NAME) >= 0.8


def is_amount(fact: Facts, others: Sequence[Facts]) -> bool:
    """Whether whole numbers that all differ measure something: they rise and fall with two other measures.

    Numbers of persons do so with the order of rows, and with what else was numbered in that order.
    """
    order = pl.Series(range(len(fact.cells)))
    if abs(_rank_correlation(fact.cells, order)) >= 0.2:
        return False
    measures = [other for other in others if other is not fact and _is_measure(other)]
    return sum(abs(_rank_correlation(fact.cells, other.cells)) >= 0.4 for other in measures) >= 2


def _is_measure(fact: Facts) -> bool:
    return fact.cells.dtype.is_numeric() and fact.distinct_share >= 0.2


def _rank_correlation(one: pl.Series, other: pl.Series) -> float:
    pair = pl.DataFrame({"one": one, "other": other}).drop_nulls()
    found = pair.select(pl.corr("one", "other", method="spearman")).item() if len(pair) >= 20 else None
    return float(found) if found is not None and found == found else 0.0


def date_forms(fact: Facts) -> tuple[str, ...]:
    """The forms in which every cell is a date or time; compact ones only with enough values within living memory."""
    if fact.cells.dtype.is_temporal() or fact.n_distinct < 3:
        return ()
    forms = forms_of(fact.values)
    if not {"YYYYMMDD", "YYYYMM"} & set(forms):
        return forms
    years = fact.values.cast(pl.String).str.slice(0, 4).cast(pl.Int64)
    return forms if fact.n_distinct >= 5 and years.is_between(1880, 2100).all() else ()
