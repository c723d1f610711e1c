"""A recipe as slots of a form: what is shown can be read back, for every method."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.params import to_dict
from shoal.recipe import COARSENERS, GROUPERS, MASKS, method_name, synthesizers
from shoal.workbench.catalogue import goals, methods
from shoal.workbench.forms import read, read_words
from shoal.workbench.pages.editor import (
    Slot,
    add_slot,
    change_slot,
    draw_slots,
    fault,
    remove_slot,
    slots_of,
    words_of,
)

FAMILIES = ("group", "mask", "coarsen", "synthesize")
CLASSES = {method_name(cls): cls for cls in (*GROUPERS, *MASKS, *COARSENERS, *synthesizers())}
EVERY = [(family, method) for family in FAMILIES for method in methods(family)]
COLUMNS = ("age", "zip code", "<b>", 'q"')

every = pytest.mark.parametrize(("family", "method"), EVERY, ids=[f"{f}-{m.name}" for f, m in EVERY])


def answer_to(entry):
    """An answer such as a browser sends, that the field's rule allows."""
    low = entry.minimum if entry.minimum is not None else (entry.above or 0.0)
    high = entry.maximum if entry.maximum is not None else (entry.below or low + 9)
    kinds = {
        "whole": st.integers(int(low), int(high)).map(str),
        "number": st.floats(low, high, exclude_min=low < high, exclude_max=low < high).map(repr),
        "choice": st.sampled_from(entry.choices or ("",)).map(str),
        "flag": st.booleans(),
        "columns": st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1),
        "map": st.just("age=cap:high=90/zip code=prefix:keep=3" if entry.name == "steps" else "age=2/zip code=1"),
    }
    return kinds.get(entry.kind, st.nothing())


@every
@given(st.data())
def test_answers_come_back_from_the_form(family, method, data):
    """Typed into the form one after the other, then drawn, then read from what is drawn: the same method."""
    slots = (Slot(family=family, method=method.name),)
    for entry in method.fields:
        if entry.kind == "text" or not data.draw(st.booleans()):
            continue
        slots = change_slot(slots, f"0.{entry.name}", data.draw(answer_to(entry)))
    if "steps" in {entry.name for entry in method.fields}:
        slots = change_slot(slots, "0.steps", "age=cap:high=90/zip code=prefix:keep=3")
    assert fault(slots) is None
    assert slots_of(words_of(slots)) == slots
    read_words(_whole(words_of(slots)))


@every
def test_a_method_that_python_made_can_be_shown_and_typed_again(family, method):
    """As a recipe taken over from a comparison is: its words hold numbers, lists and tables instead of texts."""
    cls = CLASSES[method.name]
    given_ = (
        {"steps": {"age": {"kind": "cap", "high": 90}, "zip code": {"kind": "star"}}} if "recode" in method.name else {}
    )
    made = cls(**given_)
    slots = (Slot(family=family, method=method.name, answers=to_dict(made)),)
    assert fault(slots) is None
    drawn = draw_slots(slots, COLUMNS)
    for name, shown in re.findall(r'<input name="0\.(\w+)" value="([^"]*)"', drawn):
        if name == "rows" or not shown:
            continue
        typed = change_slot(slots, f"0.{name}", unescape(shown))
        again = read(cls, {key: value for key, value in typed[0].answers.items() if key != "rows"})
        near = (
            pytest.approx(getattr(made, name), rel=1e-5)
            if isinstance(getattr(made, name), float)
            else getattr(made, name)
        )
        assert getattr(again, name) == near


@every
def test_an_emptied_field_means_none_or_the_default(family, method):
    cls = CLASSES[method.name]
    for entry in method.fields:
        if entry.required or entry.name == "rows":
            continue
        (slot,) = change_slot((Slot(family=family, method=method.name),), f"0.{entry.name}", "")
        answers = {"steps": "age=star"} if method.name == "recode" else {}
        made = read(cls, {**answers, **slot.answers})
        assert getattr(made, entry.name) == (None if entry.optional else entry.default)


def test_columns_taken_out_again_are_none_rather_than_one_called_none():
    slots = (Slot(family="coarsen", method="safe-harbor", answers={"allow": ["visit"]}),)
    (slot,) = change_slot(slots, "0.allow", [])
    assert read(CLASSES["safe-harbor"], slot.answers).allow == ()


def test_every_goal_is_drawn_without_a_fault():
    for goal in goals():
        slots = slots_of(goal.recipe)
        assert words_of(slots) == goal.recipe
        assert fault(slots) is None
        assert draw_slots(slots, COLUMNS)


def test_another_method_keeps_the_answers_it_has_a_place_for():
    slots = slots_of({"group": {"method": "k-member", "k": 7, "response_weight": 2.0}, "mask": [{"method": "shuffle"}]})
    assert change_slot(slots, "0.method", "mdav")[0] == Slot(family="group", method="mdav", answers={"k": 7})


def test_a_chain_grows_and_shrinks():
    slots = slots_of({"coarsen": [{"method": "mondrian", "k": 5}]})
    assert remove_slot(add_slot(slots, "coarsen"), 1) == slots
    assert [slot.family for slot in add_slot(slots, "coarsen")] == ["coarsen", "coarsen"]


@pytest.mark.parametrize(
    ("steps", "said"),
    [("cap 90", "a value for each"), ("age=cop:high=3", "kind must be one of"), ("age=cap:hugh=3", "no parameter")],
    ids=["no-column", "no-such-step", "no-such-parameter"],
)
def test_a_step_that_is_none_is_said_before_anything_runs(steps, said):
    """A step that was quietly left out would publish what was meant to be capped."""
    wrong = fault((Slot(family="coarsen", method="recode", answers={"steps": steps}),))
    assert wrong.field == "steps"
    assert said in wrong.words


def test_the_field_at_fault_is_marked_and_names_are_escaped():
    slots = (Slot(family="mask", method="flatten", answers={"columns": ["<b>"]}),)
    assert "<b>" not in draw_slots(slots, COLUMNS)
    bad = (Slot(family="group", method="mdav", answers={"k": "1"}),)
    wrong = fault(bad)
    assert (wrong.place, wrong.field) == (0, "k")
    assert 'aria-invalid="true"' in draw_slots(bad, COLUMNS, wrong)


def test_what_cannot_be_changed_is_not_asked():
    assert 'name="0.k"' not in draw_slots((Slot(family="coarsen", method="safe-harbor"),), COLUMNS)


def _whole(words):
    """A recipe around a part of one."""
    if "group" in words:
        return {**words, "mask": [{"method": "centroid"}]}
    return {"group": {"method": "mdav"}, **words} if "mask" in words else words
