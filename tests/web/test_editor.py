"""A recipe as slots of a form: what is shown can be read back, for every method."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.method import FAMILIES
from shoal.method import methods as registered
from shoal.params import to_dict
from shoal.web.catalogue import goals, methods
from shoal.web.forms import read, read_words
from shoal.web.pages.editor import (
    Slot,
    add_slot,
    change_slot,
    draw_slots,
    fault,
    remove_slot,
    slots_of,
    words_of,
)
from shoal.web.pages.form_controls import Columns

CLASSES = {cls.name: cls for family in FAMILIES[:-1] for cls in registered(family)}
EVERY = [(family, method) for family in FAMILIES[:-1] for method in methods(family)]
COLUMNS = Columns.named(("age", "zip code", "<b>", 'q"', "a=b/c", "a.b", "none"))

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
        "columns": st.lists(st.sampled_from(COLUMNS.names), unique=True, min_size=1),
        "list": st.just("036; 059"),
    }
    return kinds.get(entry.kind, st.nothing())


LINES = {"number": "2.5", "whole": "1", "columns": ["age"]}


def with_lines(slots, entry, columns):
    """The slots after a line of `entry` was typed for each of some columns."""
    for column in columns:
        if entry.each == "step":
            slots = change_slot(slots, f"0.{entry.name}.step.{column}", "cap")
            slots = change_slot(slots, f"0.{entry.name}.high.{column}", "90")
        else:
            slots = change_slot(slots, f"0.{entry.name}.{column}", LINES[entry.each])
    return slots


@every
@given(st.data())
def test_answers_come_back_from_the_form(family, method, data):
    """Typed into the form one after the other, then drawn, then read from what is drawn: the same method."""
    slots = (Slot(family=family, method=method.name),)
    for entry in method.fields:
        if entry.each and (entry.required or data.draw(st.booleans())):
            some = data.draw(st.lists(st.sampled_from(COLUMNS.names[1:]), unique=True, min_size=1))
            slots = with_lines(slots, entry, some)
            assert list(getattr(read(CLASSES[method.name], slots[0].answers), entry.name)) == some
        elif entry.kind not in ("text", "map") and data.draw(st.booleans()):
            slots = change_slot(slots, f"0.{entry.name}", data.draw(answer_to(entry)))
    assert fault(slots) is None
    assert slots_of(words_of(slots)) == slots
    read_words(_whole(words_of(slots)))


GIVEN = {
    "recode": {"steps": {"age": {"kind": "cap", "high": 90}, "a=b/c": {"kind": "bins", "edges": [0, 18.5]}}},
    "ball": {"radius": {"age": 5, "a=b/c": 0.5}},
    "pegs": {"parents": {"age": ["<b>", "a=b/c"]}},
    "generalize": {"limits": {"a.b": 2}, "importance": {"age": 0.25}},
}


@every
def test_a_method_that_python_made_can_be_shown_and_typed_again(family, method):
    """As a recipe taken over from a comparison is: its words hold numbers, lists and tables instead of texts."""
    cls = CLASSES[method.name]
    made = read(cls, GIVEN.get(method.name, {}))
    slots = (Slot(family=family, method=method.name, answers=to_dict(made)),)
    assert fault(slots) is None
    for name, shown in typed_in(draw_slots(slots, COLUMNS)):
        if name != "0.rows" and shown not in ("", []):
            slots = change_slot(slots, name, shown)
    again = read(cls, {key: value for key, value in slots[0].answers.items() if key != "rows"})
    assert _rounded(to_dict(again)) == _rounded(to_dict(made))


def typed_in(drawn):
    """Name and value of what a drawn form would send, if every field of it were typed again."""
    for name, shown in re.findall(r'<input name="([^"]*)"[^>]*? value="([^"]*)"', drawn):
        yield unescape(name), unescape(shown)
    for name, options in re.findall(r'<select (?:multiple size="\d+" )?name="([^"]*)"[^>]*>(.*?)</select>', drawn):
        chosen = [unescape(value) for value in re.findall(r'<option value="([^"]*)" selected', options)]
        if ".step." not in name and name.partition(".")[2] != "method":
            yield unescape(name), chosen if " multiple" in drawn and ".parents." in name else (chosen or [""])[0]


def _rounded(value):
    """As a form shows numbers."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float | int) and not isinstance(value, bool) else value


@every
def test_an_emptied_field_means_none_or_the_default(family, method):
    cls = CLASSES[method.name]
    for entry in method.fields:
        if entry.required or entry.name == "rows":
            continue
        (slot,) = change_slot((Slot(family=family, method=method.name),), f"0.{entry.name}", "")
        answers = {"steps": {"age": {"kind": "star"}}} if method.name == "recode" else {}
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


def test_a_line_left_empty_says_nothing():
    mondrian = (Slot(family="coarsen", method="mondrian"),)
    lines = change_slot(change_slot(mondrian, "0.importance.age", "3"), "0.importance.a.b", "2")
    assert read(CLASSES["mondrian"], lines[0].answers).importance == {"age": 3, "a.b": 2}
    emptied = change_slot(change_slot(lines, "0.importance.age", ""), "0.importance.a.b", "")
    assert read(CLASSES["mondrian"], emptied[0].answers).importance is None
    recode = (Slot(family="coarsen", method="recode"),)
    left = change_slot(change_slot(recode, "0.steps.step.age", "star"), "0.steps.step.age", "")
    assert fault(left).words == "Recode: steps must be given."


def test_one_value_for_all_or_one_for_each():
    ball = change_slot((Slot(family="group", method="ball"),), "0.radius", "0.25")
    each = change_slot(ball, "0.radius.age", "5")
    assert read(CLASSES["ball"], each[0].answers).radius == {"age": 5}
    assert read(CLASSES["ball"], change_slot(each, "0.radius", "0.5")[0].answers).radius == 0.5


@pytest.mark.parametrize(
    ("method", "line", "value", "said"),
    [
        ("mondrian", "importance.a=b/c", "much", "importance of 'a=b/c' must be a number; got 'much'"),
        ("generalize", "limits.age", "1.5", "limits of 'age' must be a whole number"),
        ("recode", "steps.step.a.b", "prefix", "Recode, step of 'a.b': keep must be given"),
    ],
    ids=["number", "whole", "step"],
)
def test_the_line_at_fault_is_named_and_marked(method, line, value, said):
    slots = change_slot((Slot(family="coarsen", method=method),), f"0.{line}", value)
    wrong = fault(slots)
    assert said in wrong.words
    assert wrong.column in COLUMNS.names
    assert draw_slots(slots, COLUMNS, wrong).count('aria-invalid="true"') >= 1


def test_of_many_columns_only_those_asked_for_have_a_line():
    many = Columns.named([f"c{i}" for i in range(41)])
    slots = (Slot(family="coarsen", method="mondrian"),)
    assert 'name="0.importance.c1"' not in draw_slots(slots, many)
    added = change_slot(slots, "0.importance+", "c1")
    assert 'name="0.importance.c1"' in draw_slots(added, many)
    assert fault(added) is None
    assert change_slot(slots, "0.importance+", "") == slots
