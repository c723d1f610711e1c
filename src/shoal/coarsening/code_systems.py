"""Code systems that health files hold, and what each code lies in: diagnoses, drugs, ZIP codes, counties, regions.

======== ======================================== ==========================================================
system   codes                                    levels
======== ======================================== ==========================================================
icd-10   ``I21.4``, ``I214``                      category ``I21``, block ``I20-I25``, chapter ``I00-I99``
icd-9    ``250.83``, ``25083``, ``V57``, ``E909`` category ``250``, block ``249-259``, chapter ``240-279``
atc      ``A10BA02``, ``A10BA``, ``A10``          ``A10BA``, ``A10B``, ``A10``, ``A``
zip      ``02139``, 2139                          ``021``, state ``MA``, division ``New England``, region
fips     ``25017``, 25017, ``25``                 state ``MA``, division, region
nuts     ``DE212``, ``DE21``, ``DE``              ``DE21``, ``DE2``, ``DE``
======== ======================================== ==========================================================

Blocks and chapters are those of WHO's ICD-10, with room for the categories that ICD-10-CM adds, and those of ICD-9-CM.
A category in no block stands for itself there, and so does a short code of ATC or NUTS on finer levels. Places are
those of `shoal.schema.judgement.us_places`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from shoal.schema.judgement.us_places import ARMED_FORCES, REGIONS, STATE_OF_FIPS, STATE_OF_ZIP3, STATES

__all__ = ["SYSTEMS", "CodeSystem", "System"]

System: TypeAlias = Literal["icd-10", "icd-9", "atc", "zip", "fips", "nuts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSystem:
    """A code system.

    Parameters
    ----------
    name, about
        Its name in a schema, and what its codes are.
    levels
        What a code lies in, finest first.
    ancestors
        What a code, written as text, lies in; None if it is no code of the system.

    Examples
    --------
    >>> SYSTEMS["icd-10"].ancestors("I21.4")
    ('I21', 'I20-I25', 'I00-I99')
    """

    name: str
    about: str
    levels: tuple[str, ...]
    ancestors: Callable[[str], tuple[str, ...] | None]

    def look_up(self, codes: Sequence[str]) -> list[tuple[str, ...] | None]:
        """What each code of one column lies in.

        Three digits are the area of a ZIP code, but beside longer codes a whole one that lost its zeros: 602 is 00602.
        """
        lost = self.name == "zip" and any(len(code.strip()) > 3 for code in codes)
        return [self.ancestors(code.strip().zfill(5) if lost else code) for code in codes]


_ICD10 = """
A00-B99: A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A90-A99 B00-B09 B15-B19 B20-B24 B25-B34
  B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B98 B99-B99
C00-D49: C00-C14 C15-C26 C30-C39 C40-C41 C43-C44 C45-C49 C50-C50 C51-C58 C60-C63 C64-C68 C69-C72 C73-C75 C76-C80 C81-C96
  C97-C97 D00-D09 D10-D36 D37-D49
D50-D89: D50-D53 D55-D59 D60-D64 D65-D69 D70-D77 D80-D89
E00-E90: E00-E07 E08-E14 E15-E16 E20-E36 E40-E46 E50-E64 E65-E68 E70-E90
F00-F99: F00-F09 F10-F19 F20-F29 F30-F39 F40-F48 F50-F59 F60-F69 F70-F79 F80-F89 F90-F98 F99-F99
G00-G99: G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 G60-G65 G70-G73 G80-G83 G89-G99
H00-H59: H00-H06 H10-H13 H15-H22 H25-H28 H30-H36 H40-H42 H43-H45 H46-H48 H49-H52 H53-H54 H55-H59
H60-H95: H60-H62 H65-H75 H80-H83 H90-H95
I00-I99: I00-I02 I05-I09 I10-I16 I20-I25 I26-I28 I30-I52 I60-I69 I70-I79 I80-I89 I95-I99
J00-J99: J00-J06 J09-J18 J20-J22 J30-J39 J40-J47 J60-J70 J80-J84 J85-J86 J90-J94 J95-J99
K00-K95: K00-K14 K20-K31 K35-K38 K40-K46 K50-K52 K55-K64 K65-K68 K70-K77 K80-K87 K90-K95
L00-L99: L00-L08 L10-L14 L20-L30 L40-L45 L49-L54 L55-L59 L60-L75 L76-L76 L80-L99
M00-M99: M00-M25 M30-M36 M40-M54 M60-M79 M80-M94 M95-M99
N00-N99: N00-N08 N10-N16 N17-N19 N20-N23 N25-N29 N30-N39 N40-N53 N60-N65 N70-N77 N80-N98 N99-N99
O00-O99: O00-O08 O09-O09 O10-O16 O20-O29 O30-O48 O60-O77 O80-O84 O85-O92 O94-O99
P00-P96: P00-P04 P05-P08 P09-P09 P10-P15 P19-P29 P35-P39 P50-P61 P70-P74 P75-P78 P80-P83 P84-P84 P90-P96
Q00-Q99: Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89 Q90-Q99
R00-R99: R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 R80-R82 R83-R89 R90-R94 R95-R99
S00-T98: S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99 T00-T07 T08-T14 T15-T19 T20-T32
  T33-T35 T36-T50 T51-T65 T66-T78 T79-T79 T80-T88 T90-T98
V00-Y99: V00-V99 W00-X59 X60-X84 X85-Y09 Y10-Y34 Y35-Y38 Y40-Y84 Y85-Y89 Y90-Y99
Z00-Z99: Z00-Z13 Z14-Z19 Z20-Z29 Z30-Z39 Z40-Z54 Z55-Z65 Z66-Z68 Z69-Z76 Z77-Z99
U00-U99: U00-U49 U50-U99
"""
_ICD9 = """
001-139: 001-009 010-018 020-027 030-041 042-042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129
  130-136 137-139
140-239: 140-149 150-159 160-165 170-176 179-189 190-199 200-208 209-209 210-229 230-234 235-238 239-239
240-279: 240-246 249-259 260-269 270-279
280-289: 280-289
290-319: 290-294 295-299 300-316 317-319
320-389: 320-327 330-337 338-338 339-339 340-349 350-359 360-379 380-389
390-459: 390-392 393-398 401-405 410-414 415-417 420-429 430-438 440-449 451-459
460-519: 460-466 470-478 480-488 490-496 500-508 510-519
520-579: 520-529 530-539 540-543 550-553 555-558 560-569 570-579
580-629: 580-589 590-599 600-608 610-612 614-616 617-629
630-679: 630-639 640-649 650-659 660-669 670-677 678-679
680-709: 680-686 690-698 700-709
710-739: 710-719 720-724 725-729 730-739
740-759: 740-759
760-779: 760-763 764-779
780-799: 780-789 790-796 797-799
800-999: 800-804 805-809 810-819 820-829 830-839 840-848 850-854 860-869 870-879 880-887 890-897 900-904 905-909 910-919
  920-924 925-929 930-939 940-949 950-957 958-959 960-979 980-989 990-995 996-999
E000-E999: E000-E000 E001-E030 E800-E807 E810-E819 E820-E825 E826-E829 E830-E838 E840-E845 E846-E849 E850-E858 E860-E869
  E870-E876 E878-E879 E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929-E929 E930-E949 E950-E959 E960-E969
  E970-E979 E980-E989 E990-E999
V01-V91: V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82 V83-V84 V85-V85 V86-V86 V87-V87 V88-V88
  V89-V89 V90-V90 V91-V91
"""
# Categories of ICD-10-CM with a letter within: each shares the block of another, or is one of its own in its chapter.
_LETTERED = {"C4A": "C43", "I1A": "I16", "M1A": "M10", "O9A": "O99", "Z3A": "Z39"}
_ALONE = {"C7A": "C76", "C7B": "C76", "D3A": "D36", "QA0": "Q99"}


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Ranges of categories in order: which one holds a category? One of a single category has that category's name."""

    starts: tuple[str, ...]
    ends: tuple[str, ...]

    @classmethod
    def of(cls, texts: list[str]) -> _Ranges:
        pairs = sorted(tuple(text.split("-")) for text in texts)
        return cls(tuple(start for start, _ in pairs), tuple(end for _, end in pairs))

    def holding(self, category: str) -> str | None:
        at = bisect_right(self.starts, category) - 1
        if at < 0 or category > self.ends[at]:
            return None
        start, end = self.starts[at], self.ends[at]
        return start if start == end else f"{start}-{end}"


@cache
def _tree(text: str) -> tuple[_Ranges, _Ranges]:
    """Chapters and blocks."""
    parts = re.split(r"(\S+):", text)[1:]
    return _Ranges.of(parts[::2]), _Ranges.of(" ".join(parts[1::2]).split())


def _diagnosis(text: str, category: str) -> tuple[str, ...] | None:
    chapters, blocks = _tree(text)
    chapter = chapters.holding(category)
    return None if chapter is None else (category, blocks.holding(category) or category, chapter)


def _icd10(code: str) -> tuple[str, ...] | None:
    found = re.fullmatch(r"([A-Z]\d[0-9A-Z]|QA0)(?:\.?[0-9A-Z]{1,4}|\.[0-9A-Z]?-)?[+*†!]?", code.strip().upper())
    if found is None:
        return None
    category = found[1]
    lies = _diagnosis(_ICD10, _LETTERED.get(category) or _ALONE.get(category) or category)
    return None if lies is None else (category, category if category in _ALONE else lies[1], lies[2])


def _icd9(code: str) -> tuple[str, ...] | None:
    found = re.fullmatch(r"(\d{1,3}|V\d\d|E\d{3})(?:\.\d{0,2})?|(\d{3}|V\d\d|E\d{3})\d{1,2}", code.strip().upper())
    if found is None:
        return None
    category = found[1] or found[2]
    return _diagnosis(_ICD9, category.zfill(3) if category.isdigit() else category)


def _atc(code: str) -> tuple[str, ...] | None:
    text = code.strip().upper()
    known = re.fullmatch(r"[A-DGHJLMNPRSV]\d\d(?:[A-Z](?:[A-Z](?:\d\d)?)?)?", text)
    return (text[:5], text[:4], text[:3], text[:1]) if known else None


def _state(postal: str) -> tuple[str, ...]:
    if postal not in STATES:
        return postal, ARMED_FORCES, ARMED_FORCES
    division = STATES[postal]
    return postal, division, REGIONS[division]


def _zip(code: str) -> tuple[str, ...] | None:
    found = re.fullmatch(r"(\d{3,5})(?:-\d{4})?", code.strip())
    three = "" if found is None else found[1] if len(found[1]) == 3 else found[1].zfill(5)[:3]
    return (three, *_state(STATE_OF_ZIP3[three])) if three in STATE_OF_ZIP3 else None


def _fips(code: str) -> tuple[str, ...] | None:
    found = re.fullmatch(r"(\d{1,2})(\d{3})?", code.strip())
    two = found[1].zfill(2) if found else ""
    return _state(STATE_OF_FIPS[two]) if two in STATE_OF_FIPS else None


def _nuts(code: str) -> tuple[str, ...] | None:
    text = code.strip().upper()
    return (text[:4], text[:3], text[:2]) if re.fullmatch(r"[A-Z]{2}[0-9A-Z]{0,3}", text) else None


SYSTEMS: Mapping[str, CodeSystem] = MappingProxyType(
    {
        name: CodeSystem(name=name, about=about, levels=tuple(levels.split()), ancestors=ancestors)
        for name, about, levels, ancestors in (
            ("icd-10", "diagnoses of ICD-10 or ICD-10-CM", "category block chapter", _icd10),
            ("icd-9", "diagnoses of ICD-9-CM", "category block chapter", _icd9),
            ("atc", "drugs of ATC", "chemical-subgroup pharmacological-subgroup therapeutic-subgroup group", _atc),
            ("zip", "ZIP codes of the USA", "three-digits state division region", _zip),
            ("fips", "counties or states of the USA by FIPS", "state division region", _fips),
            ("nuts", "regions of NUTS", "nuts-2 nuts-1 country", _nuts),
        )
    }
)
"""The code systems by name."""
