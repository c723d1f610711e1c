"""Names of months and days of the week, and the small words of written dates, from the CLDR (by Babel).

Names are folded as texts are (`folded`): small letters, no accents, one sort of blank, dash and apostrophe, Western
digits. A month stands for itself however it is called, so each is one token: which month it is, nobody has to know to
write the year.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import polars as pl

__all__ = ["DAY_NAME", "EITHER", "LANGUAGES", "MONTH", "WESTERN", "folded", "tokens"]

LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "da",
    "nb",
    "nn",
    "fi",
    "is",
    "pl",
    "cs",
    "sk",
    "sl",
    "hr",
    "sr",
    "sr_Latn",
    "bs",
    "mk",
    "bg",
    "ru",
    "uk",
    "be",
    "hu",
    "ro",
    "el",
    "tr",
    "et",
    "lv",
    "lt",
    "sq",
    "ca",
    "eu",
    "gl",
    "ga",
    "cy",
    "ar",
    "fa",
    "he",
    "hi",
    "bn",
    "ta",
    "th",
    "id",
    "ms",
    "vi",
    "ka",
    "hy",
    "az",
    "sw",
    "af",
]

MONTH, DAY_NAME, EITHER = "M", "D", "E"
"""What stands for the name of a month, of a day of the week, and for a word that may be either (``mar``)."""

_SHORTEST = 3  # letters of the beginning of a month's name that may stand for it
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0x1040, 0x17E0)
WESTERN = {chr(zero + i): str(i) for zero in _ZEROS for i in range(10)}
_EAST = {"年": "-", "년": "-", "月": "-", "월": "-", "日": " ", "일": " ", "号": " ", "號": " "}
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def folded(texts: pl.Series) -> pl.Series:
    """Write texts in one way: small letters, Western digits, one sort of blank, dash and apostrophe, no accents.

    Examples
    --------
    >>> folded(pl.Series(["3. März\\u202f2020", "’31", "２０２０–05–17"])).to_list()
    ['3. marz 2020', "'31", '2020-05-17']
    """
    low = texts.str.to_lowercase()
    if bool((texts.str.len_bytes() != texts.str.len_chars()).any()):
        low = low.str.normalize("NFKD").str.replace_all(_UNSEEN, "")
        low = low.str.replace_many({**WESTERN, **_EAST_FOLDED})
        low = low.str.replace_all(r"\p{Pd}|[\u2212\u2043]", "-").str.replace_all(
            r"[\u2018-\u201b\u02bc\u02b9\u00b4\u2032`]", "'"
        )
    return low.str.replace_all(r"\s+", " ").str.strip_chars(" ")


@cache
def tokens() -> dict[str, str]:
    """What stands for each word, longest first: for months and days of the week a token, for small words nothing."""
    months, days = _names("months", ("wide", "abbreviated")), _names("days", ("wide", "abbreviated", "short"))
    counted = [name for name in months if re.search(r"\d", name)]  # the fifth month
    small = {word for name in counted for word in re.split(r"[\d ]+", name)} | _small_words()
    starts = {start for name in set(months) - set(counted) for start in _beginnings(name)}
    both = starts & set(days)
    made = dict.fromkeys(days, DAY_NAME) | dict.fromkeys(starts, MONTH) | dict.fromkeys(both, EITHER)
    made = {word: token for word, token in made.items() if len(word) >= (_SHORTEST if word.isascii() else 2)}
    made |= {f" {word} ": " " for word in small if len(word) > 1}
    return dict(sorted(made.items(), key=lambda pair: -len(pair[0])))


def _names(what: str, widths: tuple[str, ...]) -> list[str]:
    """The names of months or days in all languages, folded."""
    locales = _locales()
    found = {
        name.lower()
        for locale in locales
        for context in ("format", "stand-alone")
        for width in widths
        for name in getattr(locale, what)[context].get(width, {}).values()
    }
    spelled = pl.Series(sorted(found | {name.translate(_GERMAN) for name in found}))
    return sorted({name for name in folded(spelled).str.strip_chars(". '-,") if name})


def _small_words() -> set[str]:
    """Words that stand between the parts of a date: of, de, gada."""
    forms = [locale.date_formats[width].pattern for locale in _locales() for width in ("full", "long", "medium")]
    quoted = [text for form in forms for text in re.findall(r"'([^']+)'", form)]
    return set(" ".join(folded(pl.Series([*quoted, "of", "the"]))).split()) | {"day of"}


@cache
def _locales() -> tuple[Any, ...]:
    from babel import Locale

    return tuple(Locale.parse(language) for language in LANGUAGES)


def _beginnings(name: str) -> set[str]:
    """A month's name and the beginnings that may stand for it: sept, janv."""
    word = name.split()[-1]
    return {name} | {word[:n] for n in range(_SHORTEST, len(word) + 1)}


def _folded_east(signs: Iterable[str]) -> dict[str, str]:
    return {unicodedata.normalize("NFKD", sign): _EAST[sign] for sign in signs}


_EAST_FOLDED = _folded_east(_EAST)
_UNSEEN = r"[\p{Mn}\p{Cf}]"
