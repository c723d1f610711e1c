"""Recoding steps as a form asks for them: nothing is left out, and what is shown is read back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coarsening.steps import Bins, Cap, DatePart, Prefix, Round, Star, TreeLevel, step_of
from shoal.errors import ParameterError
from shoal.params import parameters
from shoal.web.forms import fields
from shoal.web.recoding import (
    CHOICES,
    begun,
    choice_of,
    choices_for,
    read_step,
    show_part,
    split_steps,
)

NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
INCREASING = st.lists(NUMBERS, min_size=1, max_size=5, unique=True).map(lambda some: tuple(sorted(some)))
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=6)
TREES = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=4, unique_by=lambda row: row[0]).map(tuple)
)
STEPS = st.one_of(
    st.builds(Bins, width=st.floats(0.5, 99).map(lambda w: round(w, 2)), origin=NUMBERS),
    st.builds(Bins, edges=INCREASING),
    st.builds(Bins, width=st.integers(1, 9), within=st.tuples(st.integers(0, 9), st.integers(10, 99))),
    st.builds(Cap, high=NUMBERS),
    st.builds(Round, base=st.integers(1, 99)),
    st.builds(DatePart, part=st.sampled_from(["day", "year-month", "year-quarter", "year", "decade"])),
    st.builds(Prefix, keep=st.integers(1, 9), pad=st.booleans(), length=st.none() | st.integers(1, 9)),
    st.builds(TreeLevel, rows=TREES, level=st.integers(0, 1)),
    st.just(Star()),
)


def test_every_parameter_of_every_step_is_asked_for():
    for step in (Bins, Cap, Round, DatePart, Prefix, TreeLevel, Star):
        asked = {part for choice in CHOICES if choice.step is step for part in choice.parts}
        assert asked == {parameter.name for parameter in parameters(step)}
        assert any(choice.step is step for choice in CHOICES)
        assert {field.name for field in fields(step)} == asked


@given(STEPS)
def test_a_step_is_shown_and_typed_again(step):
    words = step.to_dict()
    chosen = choice_of(words)
    typed = begun(chosen.name)
    assert choice_of(typed) == chosen
    for part in chosen.parts:
        value = words.get(part)
        typed[part] = value if isinstance(value, bool) else show_part(part, value)
    assert step_of(read_step(typed)) == step_of(words)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ({"kind": "bins", "edges": " 0;18 ; 40;65.5; "}, {"kind": "bins", "edges": (0, 18, 40, 65.5)}),
        ({"kind": "bins", "width": "10", "within": "0 to 120"}, {"kind": "bins", "width": 10, "within": (0, 120)}),
        ({"kind": "tree", "rows": "a,x\nb,x\n"}, {"kind": "tree", "rows": (("a", "x"), ("b", "x"))}),
        ({"kind": "tree", "rows": "a\tx\nb\tx"}, {"kind": "tree", "rows": (("a", "x"), ("b", "x"))}),
        ({"kind": "tree", "rows": "a, or b;x\nc;x"}, {"kind": "tree", "rows": (("a, or b", "x"), ("c", "x"))}),
        ({"kind": "tree", "rows": '"a;1";x\nb;x'}, {"kind": "tree", "rows": (("a;1", "x"), ("b", "x"))}),
        ("cap:high=90", {"kind": "cap", "high": 90}),
    ],
    ids=["edges", "within", "commas", "tabs", "commas-in-cells", "quotes", "command-line"],
)
def test_what_is_typed(typed, read):
    assert read_step(typed) == read


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"kind": "bins", "edges": "0, 18"}, "edges must be increasing numbers"),
        ({"kind": "bins", "edges": "18; 0"}, "edges must be increasing numbers"),
        ({"kind": "bins", "edges": ""}, "either a width or edges"),
        ({"kind": "bins", "width": "10", "within": "120"}, "within must be a lower and a higher number"),
        ({"kind": "prefix"}, "keep must be given"),
        ({"kind": "date", "part": ""}, "part must be given"),
        ({"kind": "tree", "rows": ""}, "rows must be given"),
        ({"kind": "tree", "rows": "a;x\nb"}, "as many columns in every row"),
        ({"kind": "tree", "rows": "a;x", "level": "2"}, "level must be less than 2"),
        ({"kind": "tree", "rows": "a;" + "x" * 200_000}, "must be a table"),
        ({"kind": "nothing"}, "kind must be one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said(typed, said):
    with pytest.raises(ParameterError, match=said):
        read_step(typed)


def test_only_what_fits_a_type_is_offered():
    assert {choice.name for choice in choices_for("date")} == {"date", "tree", "star"}
    assert "date" not in {choice.name for choice in choices_for("number")}
    assert choices_for("nested") == CHOICES


def test_lists_of_the_command_line():
    assert split_steps("age=cap:high=90/zip=prefix:keep=3") == {"age": "cap:high=90", "zip": "prefix:keep=3"}
    assert split_steps("cap 90") is None
    assert split_steps("") is None
