"""What the pages do, with a real workspace: nothing is begun by accident, nothing is left behind."""

import sqlite3
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

import shoal
from shoal.errors import FileError, InputError, ParameterError
from shoal.web.access import Access
from shoal.web.controller import Controller, title_of
from shoal.web.job import write_result
from shoal.web.jobs import Jobs
from shoal.web.session import Session
from shoal.web.session_control import GoneError
from shoal.web.workspace import Workspace

PATIENCE = 120


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    with Workspace.create(tmp_path_factory.mktemp("controller")) as workspace:
        yield Controller(
            workspace=workspace, jobs=Jobs(workspace, warm=False, spawn=Here), access=Access.of("127.0.0.1")
        )


@pytest.fixture(scope="module")
def sample(controller):
    """A session whose file has been read."""
    session = controller.open_sample()
    controller.jobs.wait(session.notes["opening"], PATIENCE)
    assert controller.opened(session.id).stage == "full"
    return session.id


def test_a_file_is_open_with_its_schema_even_before_its_job_is_told_done(controller, sample):
    whole, job = controller.opened(sample), controller.opening(sample)
    other = controller.open(controller.workspace.path / "nowhere.csv")
    controller.jobs.wait(other.notes["opening"], PATIENCE)
    write_result(controller.opening(other.id).folder, job.result)
    assert controller.opening(other.id).state != "done"
    assert controller.opened(other.id) == whole
    assert controller.schema(other.id) == controller.schema(sample)
    controller.forget(other.id)
    assert controller.opened(other.id) is None


@pytest.fixture
def session(controller):
    """A session of its own, without a file that could be read."""
    made = controller.open(controller.workspace.path / "nowhere.csv")
    yield made.id
    controller.forget(made.id)


def test_a_new_bench_is_whole_from_the_beginning(controller, session):
    assert {"name", "path", "opening"} <= set(controller.find(session).notes)


def test_undo_leads_back_through_goals_and_their_rules(controller, session):
    first = controller.recipe(session)
    controller.choose_goal(session, "safe-harbor")
    controller.change_recipe(session, {"coarsen": [{"method": "safe-harbor", "year": "2020"}]})
    controller.choose_goal(session, "familiar")
    assert controller.asked(session)["preset"] is None
    controller.undo(session)
    assert (controller.session(session).goal, controller.asked(session)["preset"]) == ("safe-harbor", "safe-harbor")
    assert controller.recipe(session)["coarsen"][0]["year"] == "2020"
    for _ in range(5):
        controller.undo(session)
    assert (controller.goal(session).name, controller.recipe(session)) == ("distribution", first)


def test_what_was_undone_is_forgotten_with_its_goal(controller, session):
    for name in ("safe-harbor", "synthetic"):
        controller.choose_goal(session, name)
    controller.undo(session)
    controller.undo(session)
    controller.choose_goal(session, "familiar")
    controller.change_recipe(session, {"coarsen": [{"method": "mondrian", "k": "9"}]})
    controller.undo(session)
    assert (controller.session(session).goal, controller.recipe(session)["coarsen"][0]["k"]) == ("familiar", 5)


def test_a_goal_is_marked_only_while_the_recipe_is_its_own(controller, session):
    controller.choose_goal(session, "microaggregation")
    assert controller.goal(session).name == "microaggregation"
    controller.change_recipe(session, {"group": {"method": "mdav", "k": "5"}, "mask": [{"method": "centroid"}]})
    assert controller.goal(session).name == "microaggregation"  # as typed, the same
    controller.change_recipe(session, {"group": {"method": "mdav", "k": "7"}, "mask": [{"method": "centroid"}]})
    assert controller.goal(session) is None
    controller.choose_goal(session, "safe-harbor")
    controller.ask(session, "preset", None)
    assert controller.goal(session) is None


def test_everything_can_be_undone_and_the_log_forgets_nothing(controller, sample):
    before, n = controller.session(sample).now, len(controller.session(sample).log)
    controller.change_columns(sample, {"cost": {"role": "other"}, "income": {"role": "other"}}, "two columns")
    controller.set_risk_limit(sample, "2.5")
    controller.choose_goal(sample, "familiar")
    for _ in range(3):
        controller.undo(sample)
    assert controller.session(sample).now == before
    controller.redo(sample)
    assert controller.schema(sample)["cost"].role == "other"
    controller.undo(sample)
    said = [entry.what for entry in controller.session(sample).log[n:]]
    assert said[:3] == ["two columns", "accepted risk: 2.5%", "goal: Simple and familiar"]
    assert said[3:] == ["undone"] * 3 + ["redone", "undone"]
    assert all(entry.who and entry.at for entry in controller.session(sample).log)


@pytest.mark.parametrize("given", ["0", "-1", "101", "much", None], ids=str)
def test_an_accepted_risk_that_is_none_is_refused(controller, sample, given):
    with pytest.raises(ParameterError, match="accepted risk"):
        controller.set_risk_limit(sample, given)


def test_rules_chosen_by_hand_stay_while_the_goal_does(controller, session):
    controller.choose_goal(session, "familiar")
    controller.ask(session, "preset", "cms")
    controller.change_recipe(session, {"coarsen": [{"method": "mondrian", "k": "11"}]})
    controller.undo(session)
    assert controller.asked(session)["preset"] == "cms"


@pytest.mark.parametrize(
    "do",
    [
        lambda controller, of: controller.choose_goal(of, "familiar"),
        lambda controller, of: controller.change_recipe(of, {"coarsen": []}),
        lambda controller, of: controller.undo(of),
        lambda controller, of: controller.note(of, "format", "csv"),
        lambda controller, of: controller.change_column(of, "age", {"role": "quasi"}),
        lambda controller, of: controller.run(of),
        lambda controller, of: controller.compare(of, risk_limit=0.1, time_limit=9),
        lambda controller, of: controller.jobs_of(of),
    ],
    ids=["goal", "recipe", "undo", "note", "column", "run", "compare", "jobs"],
)
@pytest.mark.parametrize("id", ["forgotten", "../../etc"], ids=["gone", "path"])
def test_a_file_forgotten_in_another_tab_stays_forgotten(controller, do, id):
    before = controller.open_sessions()
    with pytest.raises(InputError, match="no longer open"):
        do(controller, id)
    assert controller.open_sessions() == before


def test_a_change_that_comes_too_late_begins_nothing(controller, monkeypatch):
    """Forgotten between the look and the change."""
    monkeypatch.setattr(Controller, "session", lambda self, of: Session(id=of))
    with pytest.raises(InputError, match="no longer open"):
        controller.note("late", "format", "csv")
    assert controller.find("late") is None


@pytest.mark.parametrize(
    "text", ["", "  ", "~nobody-of-this-name/people.csv", "a\0b"], ids=["empty", "blank", "home", "zero"]
)
def test_a_path_that_is_none_is_said(controller, text):
    for take in (controller.open_by_path, controller.release_place):
        with pytest.raises(FileError):
            take(text)


def test_a_file_is_still_being_read(controller, session):
    with pytest.raises(InputError, match="still being read"):
        controller.run(session)


def test_a_column_that_would_be_wrong_is_left_as_it_was(controller, sample):
    before = controller.schema(sample)
    with pytest.raises(InputError):
        controller.change_column(sample, "cost", {"bounds": [9, 2]})
    assert controller.schema(sample) == before


def test_a_schema_of_another_table_is_refused(controller, sample):
    from shoal import Schema

    with pytest.raises(InputError, match="nobody"):
        controller.set_schema(sample, Schema.of(quasi=["nobody"]))


def test_a_goal_that_is_none_is_refused(controller, sample):
    with pytest.raises(ParameterError, match="goal"):
        controller.choose_goal(sample, "fame")


def test_a_job_begun_while_its_file_is_forgotten_is_not_kept(controller, sample, monkeypatch):
    """Forgotten between the start of the job and the note of it: whatever the job is."""
    for begin in (
        lambda of: controller.run(of),
        lambda of: controller.look(of),
        lambda of: controller.compare(of, risk_limit=0.1, time_limit=9),
    ):
        controller.workspace.sessions.save(replace(controller.session(sample), id="short", job_ids=()))
        before, start = {job.id for job in controller.jobs.all()}, Jobs.start

        def begun(self, kind, words, start=start, **when):
            controller.workspace.sessions.remove("short")
            return start(self, kind, words, **when)

        monkeypatch.setattr(Jobs, "start", begun)
        controller.workspace.sessions.change(
            "short", lambda session: session.with_note("looked", None).with_note("look", None)
        )
        with pytest.raises(GoneError):
            begin("short")
        monkeypatch.undo()
        assert {job.id for job in controller.jobs.all()} == before
        assert controller.find("short") is None


def test_changes_in_quick_succession_are_counted_once(controller, sample, monkeypatch):
    """A count that has not begun is of no use any more; the one before it is shown until the last one tells."""
    monkeypatch.setattr("shoal.web.controller.PAUSE", 600.0)
    first = controller.jobs.wait(controller.look(sample).id, PATIENCE)
    counted = first.result
    assert (first.state, first.kind, counted["records"]) == ("done", "look", 2000)
    seen = []
    for role in ("other", "sensitive", "other"):
        controller.change_column(sample, "gender", {"role": role})
        assert controller.exposure(sample) == (counted, False)
        seen.append(controller.look(sample))
    assert [job.state for job in seen] == ["queued"] * 3
    assert [controller.job(job.id) is None for job in seen] == [True, True, False]
    controller.jobs.remove(seen[-1].id)
    for _ in range(3):
        controller.undo(sample)
    monkeypatch.setattr("shoal.web.controller.PAUSE", 0.01)
    again = controller.jobs.wait(controller.look(sample).id, PATIENCE)
    assert again.result["n_alone"] == counted["n_alone"]
    assert controller.exposure(sample)[1]


def test_a_job_that_joins_at_the_last_moment_is_forgotten_too(controller, sample, monkeypatch):
    """Between the look at a session and its end: jobs are those of the session as it was at last."""
    controller.workspace.sessions.save(
        replace(controller.session(sample), id="late", job_ids=(), notes={"path": "/nowhere.csv"})
    )
    job, sessions = controller.jobs.start("open", {"path": "/nowhere.csv"}), controller.open_sessions()
    controller.workspace.sessions.change("late", lambda session: session.with_job(job))
    monkeypatch.setattr(Controller, "find", lambda self, of: next(session for session in sessions if session.id == of))
    controller.forget("late")
    monkeypatch.undo()
    assert controller.job(job) is None


def test_what_a_stopped_comparison_still_writes_goes_too(controller, sample):
    """A child that is being stopped lives on for half a second, and may write what it has finished."""
    controller.workspace.sessions.save(
        replace(controller.session(sample), id="slow", job_ids=(), notes={"path": "/nowhere.csv"})
    )
    store, told = controller.workspace.compared / "slow", threading.Event()

    class Late:
        def stop(self):
            pass

        def wait(self):
            told.wait(PATIENCE)
            store.mkdir(exist_ok=True)
            (store / "secret.json").write_text("{}")
            return -9

    job = controller.jobs.start("open", {"path": "/nowhere.csv"})
    controller.jobs.wait(job, PATIENCE)
    controller.workspace.sessions.change("slow", lambda session: session.with_job(job))
    controller.jobs._children[job] = Late()
    controller.forget("slow")
    told.set()
    end = time.monotonic() + PATIENCE
    while any(thread.name == f"removal {job}" and thread.is_alive() for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
    del controller.jobs._children[job]
    assert not store.exists()


def test_sessions_keep_their_order_while_they_change(controller, sample, session):
    before = [known.id for known in controller.open_sessions()]
    controller.note(sample, "format", "csv")
    assert [known.id for known in controller.open_sessions()] == before
    assert before.index(sample) < before.index(session)


def test_a_title_has_room_on_a_page(controller, sample):
    steps = {"gender": {"kind": "tree", "rows": [[f"v{i}", "all"] for i in range(500)]}}
    chain = [{"method": "recode", "steps": steps}, {"method": "mondrian", "k": 5}]
    words = {"opened": {"path": "/data/people.csv"}, "recipe": {"coarsen": chain}}
    job = controller.jobs.start("release", words)
    controller.jobs.wait(job, PATIENCE)
    assert title_of(controller.job(job)) == "people.csv: recode:gender=tree, then mondrian:k=5"
    controller.jobs.remove(job)
    controller.jobs.remove(job)  # once more does no harm


def test_forgetting_takes_jobs_and_kept_comparisons_along(controller, sample):
    """Last here: the file of the other tests goes."""
    controller.choose_goal(sample, "familiar")
    job = controller.run(sample)
    assert controller.jobs.wait(job, PATIENCE).state == "done"
    assert title_of(controller.job(job)) == "health-survey.csv: mondrian:k=5"
    assert controller.home(controller.job(job)) == sample
    kept = controller.workspace.compared / sample
    kept.mkdir()
    (kept / "secret.json").write_text("{}")
    controller.forget(sample)
    assert controller.job(job) is None
    assert not kept.exists()
    assert [path for path in controller.workspace.uploads.rglob("*") if path.is_file()] == []


def test_what_was_measured_on_a_sample_is_measured_in_full_once(controller, monkeypatch):
    """The share among everybody lies in the interval that the sample gave."""
    for name, value in {"_SMALL": 0, "_MANY_TIES": 0, "_FEWEST": 50, "_MOST": 60}.items():
        monkeypatch.setattr(f"shoal.risk.nearest.{name}", value)
    monkeypatch.setattr("shoal.risk.unchanged.MOST_TARGETS", 400)
    session = controller.open_sample()
    controller.jobs.wait(session.notes["opening"], PATIENCE)
    controller.opened(session.id)
    controller.choose_goal(session.id, "microaggregation")
    job = controller.jobs.wait(controller.run(session.id), PATIENCE)
    asked = {one["measure"]: one for one in job.result["view"]["asked"]}
    assert {name: (one["n_tried"], one["n"]) for name, one in asked.items()} == {
        "reidentification": (50, 2000),
        "unchanged": (400, 2000),
    }
    begun = controller.measure_in_full(session.id, job)
    assert controller.measure_in_full(session.id, job) == begun
    full = controller.jobs.wait(begun, PATIENCE)
    assert full.state == "done", full.error
    for one in full.result["tried"]:
        assert one["n_tried"] == one["n"] == 2000
        sampled = next(line for line in job.result["view"]["risk"] if line["name"] == one["name"])
        assert sampled["interval"][0] <= one["share"] <= sampled["interval"][1]
        assert f"Tried on {asked[one['measure']]['n_tried']} of 2,000" in sampled["meaning"]
    assert [one["measure"] for one in full.result["tried"]] == list(asked)
    assert title_of(full) == "health-survey.csv: measuring in full"
    controller.forget(session.id)


def linked(controller, session):
    controller.jobs.wait(session.notes["opening"], PATIENCE)
    opened = controller.opened(session.id)
    assert opened is not None, controller.opening(session.id).error
    return opened


def test_a_database_without_a_query_and_all_sheets_of_a_workbook_are_linked_tables(controller, tmp_path):
    """Both give the tables that the folder with their files gives."""
    tables = shoal.datasets.clinic(60, seed=3)
    base, book = tmp_path / "clinic.db", tmp_path / "clinic.xlsx"
    with sqlite3.connect(base) as connection:
        for name, table in tables.items():
            columns = ", ".join(f'"{column}"' for column in table.columns)
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', table.rows())
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(book) as made:
        for name, table in tables.items():
            table.write_excel(made, worksheet=name)
    sizes = {name: len(table) for name, table in tables.items()}
    assert dict(linked(controller, controller.open_query(f"sqlite:///{base}", "")).tables) == sizes
    assert dict(linked(controller, controller.open_by_path(str(book), sheet="*")).tables) == sizes
