"""What is not HTML already is escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shoal.report.markup import Html, rows_table, section, tag


@given(st.text())
def test_text_never_becomes_an_element(text: str) -> None:
    made = tag("p", text, title=text)
    assert made.count("<") == 2
    assert made.count(">") == 2
    assert made.count('"') == 2


def test_html_is_kept_and_nothing_is_left_out() -> None:
    assert tag("p", Html("<b>x</b>"), None, class_="a b", hidden=True, id=None) == '<p class="a b" hidden><b>x</b></p>'
    assert tag("br") == "<br>"


def test_a_table_has_a_caption_and_heads_with_scope(read_page: Callable[[str], Any]) -> None:
    page = read_page(rows_table("Cap <b>", ("A", "B"), [("x", "1"), ("y", "2")], numeric=(1,)))
    assert page.tables == [[["A", "B"], ["x", "1"], ["y", "2"]]]
    assert [head["scope"] for head in page.found("th")] == ["col", "col", "row", "row"]
    assert "Cap <b>" in page.text
    assert not page.unbalanced


def test_a_section_is_named_by_its_heading() -> None:
    assert section("risk", "Risk") == (
        '<section id="risk" aria-labelledby="risk-heading"><h2 id="risk-heading">Risk</h2></section>'
    )
