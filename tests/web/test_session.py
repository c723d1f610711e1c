import json
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.web.inspect import ColumnView, Opened
from shoal.web.session import Session, SessionStore


def opened(**parts):
    base = Opened(
        path="/x/people.csv",
        name="people.csv",
        format="csv",
        bytes=10,
        stamp={"size": 10, "mtime_ns": 1, "mark": "a"},
        n_columns=1,
        n_rows=3,
        columns=(ColumnView(name="age", type="number", n_missing=0, n_distinct=3),),
        preview=[["1"], ["2"], [""]],
        preview_columns=("age",),
        proposal={"schema": {"columns": {"age": {"role": "quasi"}}}, "reasons": {"age": "why"}},
        asked={"delimiter": None},
    )
    return replace(base, **parts)


class Oracle:
    """Undo as an editor has it: a list and a place."""

    def __init__(self):
        self.past, self.future = [{"schema": None, "recipe": None}], []

    def do(self, recipe):
        if not self.past or self.past[-1] != recipe:
            self.past, self.future = [*self.past, recipe], []

    def undo(self):
        if len(self.past) > 1:
            self.future.append(self.past.pop())

    def redo(self):
        if self.future:
            self.past.append(self.future.pop())


@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from(["undo", "redo"])), max_size=40))
def test_undo_and_redo_like_an_editor(steps):
    session, oracle = Session.new(), Oracle()
    for step in steps:
        if step in ("undo", "redo"):
            session = getattr(session, step)()
            getattr(oracle, step)()
        else:
            part = "schema" if step % 2 else "recipe"
            session = session.changed(f"{part} {step}", at=1.0, **{part: {"k": step}})
            oracle.do({**oracle.past[-1], part: {"k": step}})
        assert {"schema": session.schema, "recipe": session.recipe} == oracle.past[-1]
        assert bool(session.past) == (len(oracle.past) > 1)
        assert bool(session.future) == bool(oracle.future)
        assert Session.from_dict(json.loads(json.dumps(session.to_dict()))) == session


def test_values_do_not_change():
    session = Session.new()
    session.changed("k", recipe={"k": 1}).with_job("1").with_note("format", "csv").with_opened(opened())
    assert session == Session(id=session.id)
    assert Session.new().id != session.id


def test_proposal_becomes_the_schema_once():
    session = Session.new().with_opened(opened(stage="preview", proposal=None))
    assert session.schema is None
    session = session.with_opened(opened())
    assert session.schema["columns"]["age"]["role"] == "quasi"
    mended = session.with_columns("age", {"age": {"role": "sensitive", "kind": "numeric"}})
    assert mended.with_opened(opened()).schema["columns"]["age"] == {"role": "sensitive", "kind": "numeric"}
    assert mended.with_columns("age", {"age": {"kind": None}}).schema["columns"]["age"] == {"role": "sensitive"}
    assert mended.with_opened(opened(stamp={"size": 11})).schema["columns"]["age"]["role"] == "quasi"
    assert mended.with_opened(opened(asked={"delimiter": ";"})).schema["columns"]["age"]["role"] == "quasi"


def test_the_recipes_tried_are_told_once_the_present_one_last():
    session = Session.new()
    for k in (5, 10, 5):
        session = session.changed(f"k {k}", recipe={"k": k})
    assert session.tried == ({"k": 10}, {"k": 5})
    assert session.undo().tried == ({"k": 5}, {"k": 10})


def test_a_restored_project_keeps_its_schema_when_its_file_is_read():
    session = Session.new().with_note("restored", True).changed("x", schema={"columns": {"age": {"role": "other"}}})
    assert session.with_opened(opened()).schema["columns"]["age"]["role"] == "other"


def test_jobs_are_remembered_once():
    session = Session.new().with_job("a").with_job("b").with_job("a")
    assert session.job_ids == ("a", "b")


def test_a_reload_finds_the_bench(tmp_path):
    sessions = SessionStore(tmp_path)
    session = sessions.begin()
    sessions.change(session.id, lambda b: b.with_opened(opened()).changed("k", recipe={"k": 1}).with_job("1"))
    again = SessionStore(tmp_path).load(session.id)
    assert again == sessions.load(session.id)
    assert again.opened.preview == [["1"], ["2"], [""]]
    assert [b.id for b in SessionStore(tmp_path).all()] == [session.id]
    sessions.remove(session.id)
    assert sessions.load(session.id) is None
    assert list(tmp_path.iterdir()) == []


def test_two_tabs_lose_nothing(tmp_path):
    sessions = SessionStore(tmp_path)
    session = sessions.begin()

    def tab(name):
        for i in range(20):
            sessions.change(session.id, lambda b, job=f"{name}-{i}": b.with_job(job))

    tabs = [threading.Thread(target=tab, args=(name,)) for name in "ab"]
    for thread in tabs:
        thread.start()
    for thread in tabs:
        thread.join()
    assert len(sessions.load(session.id).job_ids) == 40
    assert SessionStore(tmp_path).load(session.id) == sessions.load(session.id)


@pytest.mark.parametrize("id", ["../x", "", "a/b", "a\0", "x" * 65, "ä"])
def test_names_that_lead_elsewhere(tmp_path, id):
    assert SessionStore(tmp_path).load(id) is None
    with pytest.raises(ValueError, match="name"):
        SessionStore(tmp_path).change(id, lambda session: session)


def test_harmed_file_is_no_bench(tmp_path):
    (tmp_path / "abc.session.json").write_text("{")
    assert SessionStore(tmp_path).load("abc") is None
    assert SessionStore(tmp_path).all() == ()
