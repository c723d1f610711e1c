"""The kind of a column and its levels, guessed from the type, the number of different values, and what spells them out.

Levels are given only if each is held by at least five people, or a codebook lists them.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.schema import Kind, Level, Role
from shoal.schema.band_words import in_order_of_bands
from shoal.schema.described import in_order, is_code
from shoal.schema.evidence import Facts
from shoal.schema.name_words import COUNTS, FACILITIES, GROUPED, LENGTHS, MEASURES, UNORDERED
from shoal.value import text_of

__all__ = ["FEWEST_PEOPLE", "MOST_LEVELS", "guess_kind", "guess_levels", "is_unordered"]

FEWEST_PEOPLE = 5
MOST_LEVELS = 30
_MOST_STEPS = 10  # of a scale
_MOST_LISTED = 300  # levels that a codebook lists
_YEARS = ("year", "years", "yr", "yrs")


def guess_kind(fact: Facts, role: Role, coded: str = "") -> tuple[Kind, str]:
    """The kind, and what its values are; `coded` says what other columns show its numbers to be, if codes."""
    if role == "weight":
        return "numeric", _values(fact, "Numbers")
    if coded and not fact.has(*MEASURES):
        return "nominal", _values(fact, coded)
    if _listed(fact) and fact.whole and fact.n_distinct > 2:
        ordered = in_order(f"{' '.join(fact.words)} {fact.label}", fact.meanings)
        what = f"Codes that the {fact.said_by} lists{', steps of a scale' if ordered else ''},"
        return "ordinal" if ordered else "nominal", _values(fact, what)
    if fact.cells.dtype.is_temporal():
        return "ordinal", _values(fact, "Dates and times")
    if not fact.n_known:
        return "nominal", "No cell is filled"
    if fact.text or not fact.cells.dtype.is_numeric():
        return "nominal", _values(fact, "Texts" if fact.text else "True or false")
    years = _counts_years(fact)
    if fact.n_distinct <= 2 and not years:
        return "nominal", _values(fact, "Numbers")
    if fact.whole and is_unordered(fact):
        return "nominal", _values(fact, "Taken for codes without an order,")
    # Few different values among many people are classes; among few people they say nothing.
    measured = years or role == "sensitive" or (fact.has(*MEASURES) and fact.n_known < 100)
    if fact.whole and fact.n_distinct <= _MOST_STEPS and (fact.has(*GROUPED) or not measured):
        return "ordinal", _values(fact, "Whole numbers")
    return "numeric", _values(fact, "Numbers")


def _counts_years(fact: Facts) -> bool:
    """Whether a name of years stands above numbers too large for steps of a scale: years, or how many there were."""
    return fact.whole and fact.has(*_YEARS) and not fact.has(*GROUPED) and float(fact.cells.max()) > _MOST_STEPS  # type: ignore[arg-type]


def is_unordered(fact: Facts) -> bool:
    """Whether its label or its name speaks of codes without an order, and its numbers are no counts."""
    counted = fact.cells.dtype.is_numeric() and (fact.has(*COUNTS, *LENGTHS) or _counts_stays(fact))
    return (is_code(fact.label) or any(UNORDERED.covers(word) for word in fact.words)) and not counted


def _counts_stays(fact: Facts) -> bool:
    """Whether numbers under the name of a facility count stays there: from 0, which most people have."""
    if not fact.has(*FACILITIES) or not fact.whole or fact.cells.min() != 0:
        return False
    return float((fact.cells.drop_nulls() == 0).mean() or 0.0) > 0.5  # type: ignore[arg-type]


def guess_levels(fact: Facts, kind: Kind, unit: pl.Series | None) -> tuple[tuple[Level, ...] | None, Kind, str]:
    """The levels that may be shown, the kind (texts such as "18-25" are ordinal), and what is to be said about it."""
    if kind == "numeric" or fact.cells.dtype.is_temporal() or not fact.n_known:
        return None, kind, ""
    if fact.said_by == "codebook" and _listed(fact) and len(fact.meanings) <= _MOST_LISTED:
        codes = [_like(fact, code) for code in fact.meanings]
        return tuple(sorted(codes) if kind == "ordinal" else codes), kind, "Levels are those of the codebook"
    if fact.n_distinct > MOST_LEVELS:
        return None, kind, f"Levels are left out: more than {MOST_LEVELS}"
    people = _people(fact.cells, unit)
    rare, shown = int((people["people"] < FEWEST_PEOPLE).sum()), people["level"].to_list()
    bands = in_order_of_bands(shown) if fact.text and not is_unordered(fact) else None
    if rare:
        order = "; they are bands: say ordinal, and list them in their order" if bands is not None else ""
        few = f"fewer than {FEWEST_PEOPLE} people have {_of(rare, fact.n_distinct)}"
        return None, kind, f"Levels are left out: {few}{order}"
    if bands is not None:
        return bands, "ordinal", "Its texts are numbers or bands of numbers, so they have an order"
    return tuple(_plain(level) for level in shown), kind, ""


def _listed(fact: Facts) -> bool:
    """Whether the meaning of each of its values is said, and of two at least."""
    listed = {text_of(code) for code in fact.meanings}
    return len(listed) >= 2 and {text_of(_plain(value)) for value in fact.values.to_list()} <= listed


def _like(fact: Facts, code: Level) -> Any:
    return text_of(code) if fact.text else _plain(code)


def _plain(level: Any) -> Level:
    if isinstance(level, str | bool | int):
        return level
    return int(level) if level == int(level) else float(level)


def _people(cells: pl.Series, unit: pl.Series | None) -> pl.DataFrame:
    """Each level with the number of people who have it, in order of the levels."""
    level = cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells
    rows = pl.DataFrame({"level": level, "unit": range(len(level)) if unit is None else unit}).drop_nulls("level")
    return rows.group_by("level").agg(people=pl.col("unit").n_unique()).sort("level")


def _values(fact: Facts, what: str) -> str:
    return f"{what} with {fact.n_distinct:,} different value{'' if fact.n_distinct == 1 else 's'}"


def _of(part: int, whole: int) -> str:
    if whole == 1:
        return "it"
    return f"{part} of the {whole}" if part < whole else f"each of the {whole}"
