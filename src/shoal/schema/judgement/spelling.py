"""Texts as they are judged: one kind of blank, of dash and of apostrophe, and no accents where words are compared."""

from __future__ import annotations

import unicodedata

import polars as pl

__all__ = ["folded", "tidied", "unaccented"]

_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})


def tidied(texts: pl.Series) -> pl.Series:
    """Texts with plain blanks, dashes and apostrophes, and none of them at the ends."""
    return (
        texts.str.normalize("NFC")
        .str.replace_all(r"[\s\u{200B}-\u{200D}\u{2060}\u{FEFF}]+", " ")
        .str.replace_all(r"\p{Pd}", "-")
        .str.replace_all(r"[\u{2018}\u{2019}\u{02BC}\u{00B4}`]", "'")
        .str.strip_chars()
    )


def folded(text: str) -> str:
    """A text in small letters without accents.

    Examples
    --------
    >>> folded("Núñez-ØRSTED")
    'nunez-orsted'
    """
    return unaccented(text.casefold()).translate(_LETTERS)


def unaccented(text: str) -> str:
    """A text without accents, capital letters as they are.

    Examples
    --------
    >>> unaccented("Körpergröße")
    'Korpergrosse'
    """
    if text.isascii():
        return text
    split = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(sign for sign in split if not unicodedata.combining(sign))
