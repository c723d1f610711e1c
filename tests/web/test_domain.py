"""The public domain of a column as a line of text: what is shown is read back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import SchemaError
from shoal.web.pages.domain import read_domain, show_domain

texts = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["1 to 5", "a; b", '"', '"a"', "\\", " x ", "", ";", "nan", "01067", "5", "a\nb", "to", "one to many", '"a" to "b"']
)
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(texts, min_size=1, max_size=4))
def test_levels_come_back_as_they_were(levels):
    shown = show_domain({"levels": levels})
    assert "\n" not in shown
    assert read_domain("x", shown, numbers=False) == {"levels": levels}


@given(st.lists(texts | numbers, min_size=1, max_size=4))
def test_levels_among_numbers_come_back_too(levels):
    shown = show_domain({"levels": levels}, numbers=True)
    assert read_domain("x", shown, numbers=True) == {"levels": levels}


@given(numbers, numbers)
def test_a_range_keeps_every_digit(low, high):
    assert read_domain("x", show_domain({"bounds": [low, high]}), numbers=True) == {"bounds": [low, high]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("  ", {}),
        ("0 to 120", {"bounds": [0, 120]}),
        (" -1.5 to 1e3 ", {"bounds": [-1.5, 1000.0]}),
        ("none; school ;college;", {"levels": ["none", "school", "college"]}),
        ('"1 to 5"; "a; b" ;c', {"levels": ["1 to 5", "a; b", "c"]}),
        ('5" pipe; 6" pipe', {"levels": ['5" pipe', '6" pipe']}),
        (r'"C:\dir"', {"levels": [r"C:\dir"]}),
        ("01067; 01069", {"levels": ["01067", "01069"]}),
    ],
    ids=str,
)
def test_what_a_person_types(text, found):
    assert read_domain("x", text, numbers=False) == found


def test_large_ends_are_shown_whole():
    assert show_domain({"bounds": [0.0, 1234567.0]}) == "0 to 1234567"


def test_words_around_to_are_no_range():
    with pytest.raises(SchemaError, match="two numbers"):
        read_domain("x", "school to college", numbers=False)
