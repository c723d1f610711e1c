"""Names of people, by their form and by a public list of given and family names in many languages and scripts.

A column holds names if most of its different values are made of names: a given name beside a family name in either
order, initials beside a family name, a title before one, given names alone. Names within longer texts count too
("Mr X was ok"): words after a title, or a given name beside a family name.

Not promised: that a name which no list knows is found where nothing beside it says that it is one. Family names alone
look like the towns and counties that were called after people: where the name of the column doesn't tell, they are a
question and no certainty.

The list is that of Faker's locales (`benchmarks/quality/names_of_people.py` makes it).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import polars as pl

from shoal.schema.judgement.spelling import folded, tidied

__all__ = ["NOTICE", "People", "folded", "people_in"]

NOTICE = """\
Given and family names of all locales of Faker, https://github.com/joke2k/faker.
Copyright (c) 2012 Daniele Faraglia. Permission is hereby granted, free of charge, to any person obtaining a copy of
this software and associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies
of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:
The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED
TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT
OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MOST_READ = 2_000  # different values
_FEWEST = 20  # different values, below which only a title tells
_FEW_TITLED = 5  # different names after titles
_OFTEN = 0.05  # of the texts hold a title and a name, from which on it is no title of a film


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Names of people that a column holds.

    Parameters
    ----------
    how
        Why they are taken for names, in words.
    certain
        Whether nothing else looks like it.
    within
        Whether the names stand within longer texts.
    share
        Share of the different values that hold one.
    """

    how: str
    certain: bool
    within: bool
    share: float


def people_in(distinct: pl.DataFrame, *, named: bool) -> People | None:
    """The names of people among the different values of a column; `named` says that its name speaks of some."""
    values = distinct["value"]
    if values.dtype != pl.String or not len(values):
        return None
    texts = tidied(values).unique().sort()
    texts = texts.filter(texts.str.contains(r"\p{L}{2}|\p{L}\p{M}"))
    if not len(texts):
        return None
    every = max(1, len(texts) // _MOST_READ)
    read = texts.gather_every(every).to_list()
    of = len(read) * len(values) / max(1, len(texts))  # texts without letters are no names
    rules = (_titled, _whole, _with_initials, _without_blanks, _single, _within)
    return next((found for rule in rules if (found := rule(read, of, named)) is not None), None)


@cache
def _listed() -> tuple[frozenset[str], frozenset[str]]:
    """The given names and the family names of the list."""
    packed = files(__package__).joinpath("names_of_people.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode().split("\n")
    plain = [line for line in lines if not line.startswith("#")]
    given, family = "\n".join(plain).split("\n\n")
    return frozenset(given.split("\n")) - _NO_NAMES, frozenset(family.split()) - _NO_NAMES


_TITLE = (
    r"(?:(?:Mr|Mrs|Ms|Miss|Mister|Dr|Prof|Sir|Herrn?|Frau|Hr|Fr|Sr|Sra|Srta|Señora?|Senhora?|Mme|Mlle|Monsieur|Madame|"
    r"Mevrouw|Meneer|Mevr|Dhr|Mw|Sig|Sigra|Signora?|Dott|Dra|Pani?|Bayan|Bay|Fru|MR|MRS|MS|DR|HERR|FRAU)\b\.?)"
)
_WORD = r"(?![a-zà-öø-ÿ])[^\W\d_](?:[^\W\d_]|['-])+"
_PATIENT = r"(?i:\b(?:pt|pat|patientin|patiente?|client|resident)\b\.?)"
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_PLAIN = re.compile(r"^[^\d_/&:;@#+*=<>%!?\[\]]+(?: \(?(?:18|19|20)\d\d\)?)?$")
_PARTICLES = _set(
    "da de del della dei di do dos das du la le las los van von vom der den het ten ter zu zum al el bin bint ibn "
    "abu ould ben bar mac mc o y e san st jr sr ii iii phd md"
)
_PLACES_AND_THINGS = _set(
    "hospital hospitals clinic clinics clinica klinik klinikum krankenhaus hopital ospedale medical health "
    "healthcare care center centre institute institut university college school academy gymnasium library museum "
    "gallery airport station street avenue road drive lane court place square park house farm hill hills lake river "
    "mount mountain island islands county parish borough township city town village north south east west new upper "
    "lower saint st santa san ward wing unit room tower hall church company corp corporation inc llc ltd gmbh ag sa "
    "plc co group partners associates laboratories pharma foundation society disease syndrome disorder fracture "
    "failure cancer procedure surgery repair hernia test sign reflex score scale index plan red black white blue "
    "green brown gray grey gold silver acute chronic acid sulfate chloride oxide sodium potassium republic kingdom "
    "states united the and of for with und et or american european african asian us uk"
)
_NO_NAMES = _set(
    "yes no none other unknown male female left right high low normal positive negative day night may august june "
    "april january february march july september october november december monday friday sunday summer winter red "
    "blue green black white brown grey gray silver gold angel lab doctor nurse cardiology chest home park love"
)


def _titled(read: Sequence[str], of: float, named: bool) -> People | None:
    """Most values begin with a title: Mr, Frau, Dr. E. …"""
    pattern = re.compile(rf"^{_TITLE} (?:[^\W\d_]\.? )*({_WORD})(?:[ ,.-]|$)")
    names = [found[1] for text in read if (found := pattern.match(text)) and len(text) <= 40]
    return _people(names, of, 0.5, "begin with a title and a name") if len(set(names)) >= _FEW_TITLED else None


def _people(names: Sequence[str], of: float, least: float, how: str, *, within: bool = False) -> People | None:
    share = len(names) / of
    if share < least:
        return None
    return People(how=f"{share:.0%} of its different texts {how}", certain=True, within=within, share=share)


def _whole(read: Sequence[str], of: float, named: bool) -> People | None:
    """A given name beside another name, in any order and in small or capital letters."""
    given, family = _listed()
    if len(read) < (5 if named else _FEWEST):
        return None
    words = [made for text in read if (made := _name_words(text)) is not None]
    some = sum(any(word in given for word in name) for name in words) / of
    both = sum(_is_both(name, given, family) for name in words) / of
    enough = (0.4, 0.15) if named else (0.68, 0.42)
    if (some < enough[0] or both < enough[1]) and (some < 0.8 or both < 0.3):
        return None
    return People(
        how=f"{some:.0%} of its different texts have the form of a name and hold a given name",
        certain=True,
        within=False,
        share=some,
    )


def _is_both(name: Sequence[str], given: frozenset[str], family: frozenset[str]) -> bool:
    known = sum(word in given or word in family for word in name)
    return known >= 2 and any(word in given for word in name)


def _name_words(text: str) -> list[str] | None:
    """The words of a text that has the form of a whole name: two to five of them, and none of a place or a thing."""
    if len(text) > 45 or not _PLAIN.match(text):
        return None
    words = [word.replace("'", "") for word in _LETTERS.findall(folded(text))]
    if not 2 <= len(words) <= 6 or any(word in _PLACES_AND_THINGS for word in words):
        return None
    left = [word for word in words if word not in _PARTICLES and word not in _TITLES]
    return left if left else None


_TITLES = _set("mr mrs ms miss dr prof herr frau hr fr sr sra mme mlle sir rev hon")
_INITIALS = re.compile(
    r"^(?:(?:[^\W\d_]\.?[ -]?){1,3} [^\W\d_]['’\w-]{2,}(?: [^\W\d_]['’\w-]{2,})?|"
    r"[^\W\d_]['’\w-]{2,}(?: [^\W\d_]['’\w-]{2,})?,? (?:[^\W\d_]\.?[ -]?){1,3})$"
)


def _with_initials(read: Sequence[str], of: float, named: bool) -> People | None:
    """Initials beside a family name: E. Okafor, Okafor E."""
    if len(read) < _FEWEST:
        return None
    given, family = _listed()
    formed = [text for text in read if _INITIALS.match(text)]
    known = sum(any(word in family or word in given for word in _long_words(text)) for text in formed) / of
    if len(formed) < 0.75 * of or known < 0.4:
        return None
    return _people(formed, of, 0.75, "are initials beside a name")


def _long_words(text: str) -> list[str]:
    return [part for word in _LETTERS.findall(folded(text)) for part in word.split("'") if len(part) > 2]


_HAN, _HANGUL = re.compile(r"^[\u4e00-\u9fff·]{2,4}$"), re.compile(r"^[\uac00-\ud7a3]{2,4}$")


def _without_blanks(read: Sequence[str], of: float, named: bool) -> People | None:
    """Chinese and Korean names: two to four signs, of which the first is a family name."""
    if len(read) < 12:
        return None
    _, family = _listed()
    for form in (_HAN, _HANGUL):
        formed = [text for text in read if form.match(text)]
        known = [text for text in formed if folded(text[0]) in family or folded(text[:2]) in family]
        if len(formed) >= 0.9 * of and len(known) >= 0.85 * of:
            return _people(known, of, 0.85, "begin with a family name and are as long as names")
    return None


def _single(read: Sequence[str], of: float, named: bool) -> People | None:
    """Given names alone; family names alone where the column says that it holds names."""
    words = [found for text in read if (found := _one_word(text)) is not None]
    if len(read) < (5 if named else _FEWEST) or len(words) < 0.75 * of:
        return None
    given, family = _listed()
    n_given = sum(any(part in given for part in word) for word in words) / of
    n_known = sum(any(part in given or part in family for part in word) for word in words) / of
    if n_given >= (0.45 if named else 0.72):
        return People(
            how=f"{n_given:.0%} of its different texts are given names", certain=True, within=False, share=n_given
        )
    if n_known >= (0.45 if named else 0.6):
        how = f"{n_known:.0%} of its different texts are names that families have, too"
        return People(how=how, certain=named, within=False, share=n_known)
    return None


def _one_word(text: str) -> list[str] | None:
    parts = folded(text).replace("-", " ").split()
    parts = [part for part in parts if part not in _PARTICLES]
    return parts if 1 <= len(parts) <= 2 and all(part.replace("'", "").isalpha() for part in parts) else None


def _within(read: Sequence[str], of: float, named: bool) -> People | None:
    """Names within texts: after a title, after a word for patients, or a given name beside a family name."""
    given, family = _listed()
    after_title = re.compile(rf"(?:^|[\s(,;]){_TITLE} ?(?:[^\W\d_]\. ?)?({_WORD})")
    after_patient = re.compile(rf"{_PATIENT} ({_WORD})")
    titled = [found[1] for text in read if (found := after_title.search(text))]
    patients = [
        found[1] for text in read if (found := after_patient.search(text)) and _is_known(found[1], given, family)
    ]
    for names, how in ((titled, "hold a title and a name"), (patients, "name a patient")):
        known = sum(_is_known(name, given, family) for name in set(names))
        if len(set(names)) >= _FEW_TITLED and known >= 0.3 * len(set(names)):
            made = _people(names, of, 0.02, how, within=True)
            return None if made is None else replace(made, certain=made.share >= _OFTEN)
    pairs = [text for text in read if _holds_pair(text, given, family)]
    if len(pairs) >= max(10, 0.4 * of):
        return _people(pairs, of, 0.4, "hold a given name beside a family name", within=True)
    return None


def _is_known(word: str, given: frozenset[str], family: frozenset[str]) -> bool:
    return any(part in given or part in family for part in re.split(r"[-']", folded(word)))


def _holds_pair(text: str, given: frozenset[str], family: frozenset[str]) -> bool:
    """Whether a given name stands beside a family name, both with a capital letter, and not in the name of a place."""
    return any(
        folded(one) in given and _is_known(other, given, family) and folded(after) not in _PLACES_AND_THINGS
        for one, other, after in _neighbours(text)
    )


def _neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    """Neighbouring words with capital letters, and the word that follows them."""
    words = re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*|[^\s\w]", text)
    for i in range(len(words) - 1):
        one, other = words[i], words[i + 1]
        if (
            len(one) > 1 < len(other)
            and one[0].isupper()
            and other[0].isupper()
            and one.lower() not in _PLACES_AND_THINGS
        ):
            yield one, other, words[i + 2] if i + 2 < len(words) else ""
