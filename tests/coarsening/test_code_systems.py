"""Codes lie where their books say, levels nest, and what is no code is counted and never shown."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coarsening import Hierarchy
from shoal.coarsening.code_systems import _ICD9, _ICD10, SYSTEMS
from shoal.coarsening.default_hierarchies import default_hierarchy
from shoal.errors import ColumnError, ParameterError
from shoal.schema import Column
from shoal.schema.judgement.us_places import REGIONS, STATE_OF_FIPS, STATE_OF_ZIP3, STATES

BY_HAND = [
    ("icd-10", "I21.4", ("I21", "I20-I25", "I00-I99")),
    ("icd-10", "e119", ("E11", "E08-E14", "E00-E90")),
    ("icd-10", "H62", ("H62", "H60-H62", "H60-H95")),
    ("icd-10", "S72.001A"[:7], ("S72", "S70-S79", "S00-T98")),
    ("icd-10", "C4A.9", ("C4A", "C43-C44", "C00-D49")),
    ("icd-10", "C7A.00", ("C7A", "C7A", "C00-D49")),
    ("icd-10", "D3A.010", ("D3A", "D3A", "C00-D49")),
    ("icd-10", "I1A.0", ("I1A", "I10-I16", "I00-I99")),
    ("icd-10", "M1A.00X0", ("M1A", "M00-M25", "M00-M99")),
    ("icd-10", "O9A.211", ("O9A", "O94-O99", "O00-O99")),
    ("icd-10", "Z3A.20", ("Z3A", "Z30-Z39", "Z00-Z99")),
    ("icd-10", "QA0.01", ("QA0", "QA0", "Q00-Q99")),
    ("icd-10", "U07.1", ("U07", "U00-U49", "U00-U99")),
    ("icd-10", "B96.2!", ("B96", "B95-B98", "A00-B99")),
    ("icd-10", "I10.-", ("I10", "I10-I16", "I00-I99")),
    ("icd-10", "C50.9", ("C50", "C50", "C00-D49")),
    ("icd-9", "V86.1", ("V86", "V86", "V01-V91")),
    ("icd-9", "209.36", ("209", "209", "140-239")),
    ("icd-9", "250.83", ("250", "249-259", "240-279")),
    ("icd-9", "25083", ("250", "249-259", "240-279")),
    ("icd-9", "8", ("008", "001-009", "001-139")),
    ("icd-9", "V57", ("V57", "V50-V59", "V01-V91")),
    ("icd-9", "E909.1", ("E909", "E900-E909", "E000-E999")),
    ("atc", "A10BA02", ("A10BA", "A10B", "A10", "A")),
    ("atc", "A10BA", ("A10BA", "A10B", "A10", "A")),
    ("atc", "N02", ("N02", "N02", "N02", "N")),
    ("zip", "00602", ("006", "PR", "Territories", "Territories")),
    ("zip", "09012", ("090", "AE", "Armed Forces", "Armed Forces")),
    ("zip", "02139", ("021", "MA", "New England", "Northeast")),
    ("zip", "2139", ("021", "MA", "New England", "Northeast")),
    ("zip", "94110-1234", ("941", "CA", "Pacific", "West")),
    ("fips", "1001", ("AL", "East South Central", "South")),
    ("fips", "72001", ("PR", "Territories", "Territories")),
    ("fips", "6", ("CA", "Pacific", "West")),
    ("nuts", "DE212", ("DE21", "DE2", "DE")),
    ("nuts", "EL303", ("EL30", "EL3", "EL")),
    ("nuts", "UKI3", ("UKI3", "UKI", "UK")),
]


@pytest.mark.parametrize(("system", "code", "ancestors"), BY_HAND)
def test_codes_looked_up_by_hand(system, code, ancestors):
    assert SYSTEMS[system].ancestors(code) == ancestors
    assert len(ancestors) == len(SYSTEMS[system].levels)


@pytest.mark.parametrize(
    ("system", "wrong"),
    [
        ("icd-10", "heart"),
        ("icd-9", "heart"),
        ("icd-9", "E90"),
        ("atc", "A1"),
        ("zip", "00012"),
        ("fips", "99001"),
        ("nuts", "D"),
    ],
)
def test_what_is_no_code_is_counted_not_shown(system, wrong):
    with pytest.raises(ColumnError, match="'c'.*1 such value") as refused:
        Hierarchy.codes(system).climb(pl.Series("c", [wrong]))
    assert wrong not in str(refused.value)


def ranges(text):
    """An oracle that reads the books line by line: chapter to blocks."""
    chapters = re.findall(r"(\S+):((?:[^:])*?)(?=\n\S|$)", text.strip())
    return {chapter: blocks.split() for chapter, blocks in chapters}


@pytest.mark.parametrize("text", [_ICD10, _ICD9])
def test_blocks_follow_each_other_and_lie_in_their_chapter(text):
    assert len(ranges(text)) in (22, 19)
    for chapter, blocks in ranges(text).items():
        ends = [end for block in blocks for end in block.split("-")]
        assert ends == sorted(ends)
        low, high = chapter.split("-")
        assert low <= ends[0]
        assert ends[-1] <= high


@given(st.lists(st.from_regex(r"[A-Z][0-9]{2}(\.[0-9])?", fullmatch=True), min_size=1, max_size=30, unique=True))
def test_levels_nest(codes):
    known = [code for code in codes if SYSTEMS["icd-10"].ancestors(code)]
    ladder = Hierarchy.codes("icd-10").climb(pl.Series("dx", known, dtype=pl.String)) if known else None
    assert ladder is None or ladder.height >= 1  # climbing refuses levels that don't nest


def test_words_in_and_out():
    for words in (
        {"kind": "codes", "system": "icd-10"},
        {"kind": "codes", "system": "zip", "levels": ["state"]},
        {"kind": "ages"},
    ):
        assert Hierarchy.of(words).to_dict() == words
    with pytest.raises(ParameterError, match="system"):
        Hierarchy.of({"kind": "codes", "system": "icd-11"})
    with pytest.raises(ParameterError, match="level"):
        Hierarchy.of({"kind": "codes", "system": "atc", "levels": ["state"]})


def test_a_default_by_name_and_form():
    def kind(name, values):
        return default_hierarchy(pl.Series(name, values), Column(name=name, role="quasi", kind="nominal")).to_dict()

    assert kind("diag_1", ["250.83", "V57", "8"]) == {"kind": "codes", "system": "icd-9"}
    assert kind("dx", ["I21.4", "E11"]) == {"kind": "codes", "system": "icd-10"}
    assert kind("zip", ["02139", "94110"]) == {"kind": "codes", "system": "zip"}
    assert kind("zip", ["02139", "00012"])["kind"] == "prefix"
    assert kind("hospital", ["I21", "E11"]) == {"kind": "flat"}


def test_places_by_numbers_and_lost_zeros():
    place = Column(name="fips", role="quasi", kind="nominal")
    assert default_hierarchy(pl.Series("fips", [1001, 72001]), place).to_dict() == {"kind": "codes", "system": "fips"}
    assert default_hierarchy(pl.Series("zip", [602, 94110]), place).to_dict() == {"kind": "codes", "system": "zip"}
    states = Hierarchy.codes("zip", ["state"])
    assert states.climb(pl.Series("zip", [602, 2139, 94110])).written(1).to_list() == ["PR", "MA", "CA"]
    assert states.climb(pl.Series("zip", ["602", "941"])).written(1).to_list() == ["IL", "CA"]


def test_places_of_the_usa():
    assert len(STATES) == 50 + 1 + 5
    assert set(STATE_OF_FIPS.values()) == set(STATES)
    assert set(STATES.values()) == set(REGIONS)
    assert {STATE_OF_ZIP3[three] for three in ("005", "100", "063", "900", "995", "006")} == {
        "NY",
        "CT",
        "CA",
        "AK",
        "PR",
    }
