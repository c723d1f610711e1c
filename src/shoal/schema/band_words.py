"""Levels that are bands of numbers, in their order: ``0-4999``, ``<18``, ``18 bis 34``, ``100,000 and over``.

A band is a number, two numbers in their order, or one with a word that says that it is open below or above, in English,
German, French, Spanish, Dutch or Italian; units may follow. Words for an absence among bands have no place in their
order: they come last, to be asked about. Levels are given back as they came, with their blanks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from shoal.schema.codes_seen import ABSENT_WORDS
from shoal.schema.described import is_absence
from shoal.schema.judgement.spelling import unaccented

__all__ = ["in_order_of_bands"]

_FEWEST = 2  # bands
_BELOW, _BETWEEN, _ABOVE = -1, 0, 1


def in_order_of_bands(levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels in the order of their bands, words for an absence last; None if one is neither.

    Examples
    --------
    >>> in_order_of_bands(["65+", "<18", "unknown", "18-64"])
    ('<18', '18-64', '65+', 'unknown')
    >>> in_order_of_bands([" 5000-9999", "10,000 and over", " 0-4999"])
    (' 0-4999', ' 5000-9999', '10,000 and over')
    >>> in_order_of_bands(["3A", "4B"]) is None
    True
    """
    absent = [level for level in levels if _says_absence(level)]
    bands = [level for level in levels if level not in absent]
    plain = [_plain(level) for level in bands]
    decimal = _decimal_mark(plain)
    places = [_place(text, decimal) for text in plain]
    known = [place for place in places if place is not None]
    single = [text for text, (low, opens, high) in zip(plain, known, strict=False) if opens == _BETWEEN and low == high]
    if len(bands) < _FEWEST or len(known) < len(bands) or _are_names(single):
        return None
    order = sorted(zip(known, bands, strict=True))
    return (*(level for _, level in order), *sorted(absent))


def _says_absence(level: str) -> bool:
    said = level.strip().lower()
    return said in ABSENT_WORDS or is_absence(said)


def _are_names(texts: Sequence[str]) -> bool:
    """Whether numbers are followed by another word each time, as codes are by what they mean (1 Male, 2 Female)."""
    found = [re.fullmatch(rf"(?:{_NUMBER})[ _](?P<unit>[a-z]+.*)", text) for text in texts]
    units = [one["unit"][:4].rstrip("s") for one in found if one is not None]
    return len(units) >= _FEWEST and len(set(units)) == len(units)


def _plain(level: str) -> str:
    """A level in small letters, without accents, currencies and doubled blanks, with one sort of dash."""
    text = re.sub(r"[\u2010-\u2015\u2212]", "-", unaccented(level).lower())
    text = re.sub(r"[$€£¥]|\b(?:usd|eur|gbp|chf)\b", "", text).replace("≥", ">=").replace("≤", "<=")
    return " ".join(text.split())


_OPEN_BELOW = (
    r"<=?|under|below|less than|fewer than|up to|at most|before|until|younger than|unter|bis(?: zu)?|weniger als|"
    r"junger als|vor|hochstens|moins de|jusqu'?a|avant|au plus|menos de|hasta|antes de|jonger dan|minder dan|tot|onder|"
    r"voor|meno di|fino a|sotto(?: i)?|prima del"
)
_OPEN_ABOVE = (
    r">=?|\+|over|above|more than|greater than|at least|from|after|since|older than|ab|uber|mehr als|mindestens|"
    r"alter als|nach|seit|plus de|a partir de|au moins|apres|mas de|desde|meer dan|vanaf|boven|ouder dan|sinds|piu di|"
    r"oltre(?: i)?|almeno"
)
_AND = r"(?:and|or|&|und|oder|et|ou|y|o|en|of|e)"
_ENDS_BELOW = rf"{_AND} (?:less|fewer|under|below|younger|earlier|lower|weniger|junger|moins|menos|minder|jonger|meno)"
_ENDS_ABOVE = (
    rf"\+|plus|{_AND} (?:over|above|more|older|later|up|higher|greater|beyond|mehr|alter|daruber|hoher|spater|plus|mas|"
    r"ouder|meer|oltre|piu)|up"
)
_TO = r"(?:-|to|through|thru|till|until|bis|a|à|hasta|tot|t/m|al|\.\.\.?|(?:to |bis )?(?:under|<|unter))"
_NUMBER = r"\d{1,3}(?:[ .,'’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_LOW, _HIGH = (rf"(?P<{end}>{_NUMBER})(?P<{end}_times>k|m)?(?![a-z0-9])%?" for end in ("low", "high"))
_UNIT = r"(?:[ _]?[a-z][a-z²]*\.?(?:/[a-z]+)?){0,2}"
_TWO = re.compile(rf"(?:between |von |de |entre |zwischen |van |da )?{_LOW}{_UNIT}? ?{_TO} ?{_HIGH}{_UNIT}")
_ONE = re.compile(
    rf"(?:(?P<below>{_OPEN_BELOW})|(?P<above>{_OPEN_ABOVE}))? ?{_LOW}(?P<unit>{_UNIT}?)"
    rf" ?(?:(?P<ends_below>{_ENDS_BELOW})|(?P<ends_above>{_ENDS_ABOVE}))?{_UNIT}"
)
_INTERVAL = re.compile(r"[\[(]\s*(?P<low>-?[\d.]+|-?inf)\s*[,;-]\s*(?P<high>-?[\d.]+|\+?inf)\s*[\])]")
_TIMES = {None: 1.0, "k": 1e3, "m": 1e6}


def _decimal_mark(texts: Sequence[str]) -> str:
    """The mark before decimals: a comma if one is followed by other than three digits, else a point or none."""
    marks = [mark for text in texts for mark in re.findall(r"\d([.,])(?!\d{3}(?!\d))\d", text)]
    return max(set(marks), key=marks.count) if marks else ""


def _place(text: str, decimal: str) -> tuple[float, int, float] | None:
    """Where a band lies among others: its number, whether it is open below or above, and where it ends."""
    if (interval := _INTERVAL.fullmatch(text)) is not None:
        return _bounded(float(interval["low"]), float(interval["high"]))
    if (two := _TWO.fullmatch(text)) is not None:
        low, high = (_value(two[end], two[f"{end}_times"], decimal) for end in ("low", "high"))
        return _bounded(low * (_TIMES[two["high_times"]] if low and not two["low_times"] else 1), high)
    one = _ONE.fullmatch(text)
    if one is None:
        return None
    value = _value(one["low"], one["low_times"], decimal)
    if one["below"] or one["ends_below"]:
        return value, _BELOW, value
    return value, _ABOVE if one["above"] or one["ends_above"] else _BETWEEN, value


def _bounded(low: float, high: float) -> tuple[float, int, float] | None:
    """An interval; none if it ends before it begins."""
    if math.isinf(low):
        return high, _BELOW, high
    return (low, _BETWEEN, high) if low <= high else None


def _value(text: str, times: str | None, decimal: str) -> float:
    thousands = " '’" + {".": ",", ",": "."}.get(decimal, ".,")
    bare = "".join(letter for letter in text if letter not in thousands)
    return float(bare.replace(",", ".")) * _TIMES[times]
