"""Values that look like codes for an absence: −8, 97, 9999, "NA", a heap of zeros outside the range. Only asked about.

A number is a candidate by its digits (−9 to −1; 7, 8, 9 and these repeated: 97, 998, 9999) or because it is 0. It is
asked about if at least five people have it and it stands apart: below or above all others by five times the usual step
between neighbouring values, or negative where all else is not. A text is asked about if it is a usual word for an
absence and other cells hold something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.frame import Frame, series
from shoal.schema.described import is_absence
from shoal.schema.evidence import Facts, date_forms, look
from shoal.schema.foreign_words import FOREIGN_ABSENCES
from shoal.schema.schema import Schema
from shoal.value import Level, same_as

__all__ = [
    "ABSENT_WORDS",
    "codes_among_dates",
    "codes_seen",
    "meaning_of",
    "question",
    "undeclared",
    "without_codes",
    "words_among_numbers",
]

FEWEST_PEOPLE = 5
_FEW_NUMBERS = 20  # different values up to which numbers among texts may be codes
_APART = 5.0  # usual steps
_FEW_DATES = 3  # different dates, fewer of which prove nothing
_NO_DATE = r"^(?:0+|7+|8+|9+|-\d+)$"
_LIKE_A_CODE = re.compile(r"-[1-9]|-?(?:[789]|9[789]|99+[789]?|88+|77+)(?:\.0)?")
ABSENT_WORDS = frozenset(
    (
        *("na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", ".", "?", "n", "unknown", "unk", "missing"),
        *("not applicable", "not available", "not known", "not stated", "not ascertained", "not in universe"),
        *("refused", "refusal", "don't know", "dont know", "no answer", "no response", "unspecified", "undetermined"),
        *FOREIGN_ABSENCES,
    )
)

_REASONS = frozenset(("not applicable", "not in universe", "refused", "not stated", "not ascertained", "no answer"))
_MEANINGS = {"refusal": "refused", "not available": "not available", "missing": "missing"} | FOREIGN_ABSENCES
_YES = frozenset(("y", "yes", "j", "ja", "t"))  # beside which n says no


def codes_seen(fact: Facts) -> dict[str, int]:
    """Values of a column that may stand for an absence, as texts, and how many cells hold each.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.evidence import look
    >>> codes_seen(look(pl.Series("income", [*range(500, 900, 10), *[-8] * 6])))
    {'-8': 6}
    """
    if fact.cells.dtype.is_numeric():
        return _numbers(fact.cells.drop_nulls())
    if not fact.text:
        return {}
    texts = fact.cells.cast(pl.String).drop_nulls()
    return _texts(texts) or _numbers_as_texts(texts)


def undeclared(frame: Frame, schema: Schema) -> dict[str, str]:
    """What to ask about columns with an order in which values look like codes that the schema doesn't declare.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal import Schema
    >>> from shoal.frame import enter
    >>> schema = Schema.of(quasi=["children"], levels={"children": [0, 1, 2, 97]})
    >>> undeclared(enter(pl.DataFrame({"children": [*[0, 1, 2] * 5, *[97] * 6]})), schema)["children"]
    'Does 97 (6 cells) stand for an absence? If so: missing_codes = { "97" = "unknown" }, and take it out of the levels'
    """
    columns = [c for c in schema.columns if c.role in ("quasi", "sensitive") and c.kind != "nominal"]
    columns = [c for c in columns if c.format is None and c.name in frame.columns]
    cells = [without_codes(series(frame, column.name), tuple(column.missing_codes or ())) for column in columns]
    seen = [(column, codes_seen(look(left))) for column, left in zip(columns, cells, strict=True)]
    return {column.name: question(codes, listed=bool(column.levels)) for column, codes in seen if codes}


def without_codes(content: pl.Series, codes: Collection[Level]) -> pl.Series:
    """The column with its codes as missing values; as numbers, where only texts among its codes made it texts.

    Examples
    --------
    >>> import polars as pl
    >>> without_codes(pl.Series("income", ["1200", ".a", None]), [".a"]).to_list()
    [1200, None, None]
    """
    if not codes:
        return content
    left = content.set(pl.Series(same_as(content, tuple(codes))), None)
    if content.dtype != pl.String:
        return left
    trimmed = left.str.strip_chars()
    for dtype in (pl.Int64, pl.Float64):
        numbers = trimmed.cast(dtype, strict=False)
        if numbers.null_count() == left.null_count() < len(left):
            return numbers
    return left


def question(seen: Mapping[str, int], *, listed: bool = False) -> str:
    """What to ask about them, and what to write if the answer is yes; `listed` says that they are among the levels."""
    if not seen:
        return ""
    codes = ", ".join(f"{value} ({n:,} cells)" for value, n in seen.items())
    entry = ", ".join(f'"{value}" = "{meaning_of(value)}"' for value in seen)
    levels = ", and take it out of the levels" if listed else ""
    asked = f"{'Does' if len(seen) == 1 else 'Do'} {codes} stand for an absence?"
    return f"{asked} If so: missing_codes = {{ {entry} }}{levels}"


def meaning_of(word: str) -> str:
    """What a word for an absence means: the word itself where it says why, else unknown.

    Examples
    --------
    >>> meaning_of("Not applicable"), meaning_of("?")
    ('not applicable', 'unknown')
    """
    said = word.strip().lower()
    return _MEANINGS.get(said, said if said in _REASONS else "unknown")


def _numbers(known: pl.Series) -> dict[str, int]:
    counted = _counted(known)
    values, counts = counted["value"].cast(pl.Float64).to_numpy(), counted["n"].to_numpy()
    ends = _ends(values)
    if len(values) - len(ends) < 2:  # 0, 1 and 9: nothing is left of no and yes, so 0 says no
        ends = [place for place in ends if values[place] != 0]
    rest = np.delete(values, ends)
    if len(rest) < 2:
        return {}
    apart = _apart(values, ends, rest)
    common = [place for place in apart if counts[place] >= FEWEST_PEOPLE]
    return {f"{values[place]:g}": int(counts[place]) for place in common}


def _numbers_as_texts(texts: pl.Series) -> dict[str, int]:
    """The same for a few numbers that came as texts: 1 to 5, and 97."""
    if texts.n_unique() > _FEW_NUMBERS:
        return {}
    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False)
    return {} if numbers.null_count() or not numbers.is_finite().all() else _numbers(numbers)


def _ends(values: FloatArray) -> list[int]:
    """Where the runs of likely codes lie with which the sorted values begin and end."""
    likely = [value == 0 or _LIKE_A_CODE.fullmatch(f"{value:g}") is not None for value in values.tolist()]
    if all(likely):
        return []
    return [*range(likely.index(False)), *range(len(likely) - likely[::-1].index(False), len(likely))]


def _apart(values: FloatArray, ends: list[int], rest: FloatArray) -> list[int]:
    """The likely codes that stand apart: negative ones, and those with a gap between them and all values before them.

    Whoever is next to the others (an 8 after a 7 after 1 to 6) is one of them, and the gap is measured from there.
    """
    found = [place for place in ends if values[place] < 0 and rest.min() >= 0]
    below = [place for place in ends[::-1] if 0 <= values[place] < rest.min()]
    above = [place for place in ends if values[place] > rest.max()]
    return sorted([*found, *_beyond_a_gap(values, below, rest), *_beyond_a_gap(values, above, rest)])


def _beyond_a_gap(values: FloatArray, outwards: list[int], rest: FloatArray) -> list[int]:
    step, last = float(np.median(np.diff(rest))), None
    for i, place in enumerate(outwards):
        value = float(values[place])
        before = last if last is not None else float(rest.min() if value < rest.min() else rest.max())
        if abs(value - before) >= (2 if value in (7, 8, 9) and len(rest) < 7 else _APART) * step:
            return outwards[i:]
        last = value
    return []


def words_among_numbers(fact: Facts, *, coded: bool = True) -> dict[str, int]:
    """Words for an absence in a column of texts that are numbers but for these words, and how many cells hold each.

    Where the numbers may be codes (`coded`) they must be many, as a word among few codes may be one of them.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.evidence import look
    >>> words_among_numbers(look(pl.Series("income", [*map(str, range(30)), "N", "N"])))
    {'N': 2}
    """
    if fact.cells.dtype != pl.String:
        return {}
    counted = _counted(fact.cells.drop_nulls())
    texts = counted["value"].str.strip_chars()
    is_word = texts.str.to_lowercase().is_in(list(ABSENT_WORDS))
    numbers = texts.filter(~is_word)
    if not is_word.any() or not _are_numbers(numbers, coded):
        return {}
    return {str(value): int(n) for value, n in counted.filter(is_word).iter_rows()}


def codes_among_dates(fact: Facts) -> dict[str, int]:
    """Words and numbers for an absence in a column that holds dates or times but for these, and their cells.

    A number is one of the digits 0, 7, 8 or 9 alone, or below 0, which no date is.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.evidence import look
    >>> codes_among_dates(look(pl.Series("seen", ["01.02.2021", "31.12.2020", "07.05.2021", "unknown"])))
    {'unknown': 1}
    """
    if fact.cells.dtype != pl.String and not fact.cells.dtype.is_integer():
        return {}
    counted = _counted(fact.cells.drop_nulls())
    texts = counted["value"].cast(pl.String).str.strip_chars()
    is_code = texts.str.to_lowercase().is_in(list(ABSENT_WORDS)) | texts.str.contains(_NO_DATE)
    rest = counted["value"].filter(~is_code)
    if not is_code.any() or len(rest) < _FEW_DATES or not date_forms(look(rest)):
        return {}
    return {str(value): int(n) for value, n in counted.filter(is_code).iter_rows()}


def _are_numbers(texts: pl.Series, coded: bool) -> bool:
    plain = texts.str.contains(r"^-?(?:0|[1-9]\d*)(?:\.\d+)?$")
    return len(texts) > (_FEW_NUMBERS if coded else 2) and bool(plain.all())


def _texts(known: pl.Series) -> dict[str, int]:
    counted = _counted(known)
    said = counted["value"].str.strip_chars().str.to_lowercase()
    absent = ABSENT_WORDS - ({"n"} if _YES & set(said) else set())
    words = counted.filter(pl.Series([word in absent or is_absence(word) for word in said], dtype=pl.Boolean))
    if len(words) == len(counted):
        return {}
    common = words.filter(pl.col("n") >= FEWEST_PEOPLE)
    return {str(value): int(n) for value, n in common.iter_rows()}


def _counted(known: pl.Series) -> pl.DataFrame:
    """The distinct values in their order, and how many cells hold each; a column may itself be called "count"."""
    return known.alias("value").value_counts(name="n").sort("value")
