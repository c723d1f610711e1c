"""What the pages do, with a real room: nothing is begun by accident, nothing is left behind."""

import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

from shoal.errors import FileError, InputError, ParameterError
from shoal.web.access import Access
from shoal.web.bench import Bench
from shoal.web.controller import GoneError, Shop, title_of
from shoal.web.job import write_result
from shoal.web.jobs import Jobs
from shoal.web.workspace import Room

PATIENCE = 120


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with Room.create(tmp_path_factory.mktemp("shop")) as room:
        yield Shop(room=room, jobs=Jobs(room, warm=False, spawn=Here), access=Access.of("127.0.0.1"))


@pytest.fixture(scope="module")
def sample(shop):
    """A bench whose file has been read."""
    bench = shop.open_sample()
    shop.jobs.wait(bench.notes["opening"], PATIENCE)
    assert shop.opened(bench.id).stage == "full"
    return bench.id


def test_a_file_is_open_with_its_schema_even_before_its_job_is_told_done(shop, sample):
    whole, job = shop.opened(sample), shop.opening(sample)
    other = shop.open(shop.room.path / "nowhere.csv")
    shop.jobs.wait(other.notes["opening"], PATIENCE)
    write_result(shop.opening(other.id).folder, job.result)
    assert shop.opening(other.id).state != "done"
    assert shop.opened(other.id) == whole
    assert shop.schema(other.id) == shop.schema(sample)
    shop.forget(other.id)
    assert shop.opened(other.id) is None


@pytest.fixture
def bench(shop):
    """A bench of its own, without a file that could be read."""
    made = shop.open(shop.room.path / "nowhere.csv")
    yield made.id
    shop.forget(made.id)


def test_a_new_bench_is_whole_from_the_beginning(shop, bench):
    assert {"name", "path", "opening"} <= set(shop.find(bench).notes)


def test_undo_leads_back_through_goals_and_their_rules(shop, bench):
    first = shop.recipe(bench)
    shop.choose_goal(bench, "safe-harbor")
    shop.change_recipe(bench, {"coarsen": [{"method": "safe-harbor", "year": "2020"}]})
    shop.choose_goal(bench, "familiar")
    assert shop.asked(bench)["preset"] is None
    shop.undo(bench)
    assert (shop.bench(bench).goal, shop.asked(bench)["preset"]) == ("safe-harbor", "safe-harbor")
    assert shop.recipe(bench)["coarsen"][0]["year"] == "2020"
    for _ in range(5):
        shop.undo(bench)
    assert (shop.bench(bench).goal, shop.recipe(bench)) == ("distribution", first)


def test_what_was_undone_is_forgotten_with_its_goal(shop, bench):
    for name in ("safe-harbor", "synthetic"):
        shop.choose_goal(bench, name)
    shop.undo(bench)
    shop.undo(bench)
    shop.choose_goal(bench, "familiar")
    shop.change_recipe(bench, {"coarsen": [{"method": "mondrian", "k": "9"}]})
    shop.undo(bench)
    assert (shop.bench(bench).goal, shop.recipe(bench)["coarsen"][0]["k"]) == ("familiar", 5)


def test_rules_chosen_by_hand_stay_while_the_goal_does(shop, bench):
    shop.choose_goal(bench, "familiar")
    shop.note(bench, "preset", "cms")
    shop.change_recipe(bench, {"coarsen": [{"method": "mondrian", "k": "11"}]})
    shop.undo(bench)
    assert shop.asked(bench)["preset"] == "cms"


@pytest.mark.parametrize(
    "do",
    [
        lambda shop, of: shop.choose_goal(of, "familiar"),
        lambda shop, of: shop.change_recipe(of, {"coarsen": []}),
        lambda shop, of: shop.undo(of),
        lambda shop, of: shop.note(of, "format", "csv"),
        lambda shop, of: shop.change_column(of, "age", {"role": "quasi"}),
        lambda shop, of: shop.run(of),
        lambda shop, of: shop.compare(of, risk_limit=0.1, time_limit=9),
        lambda shop, of: shop.jobs_of(of),
    ],
    ids=["goal", "recipe", "undo", "note", "column", "run", "compare", "jobs"],
)
@pytest.mark.parametrize("id", ["forgotten", "../../etc"], ids=["gone", "path"])
def test_a_file_forgotten_in_another_tab_stays_forgotten(shop, do, id):
    before = shop.benches()
    with pytest.raises(InputError, match="no longer open"):
        do(shop, id)
    assert shop.benches() == before


def test_a_change_that_comes_too_late_begins_nothing(shop, monkeypatch):
    """Forgotten between the look and the change."""
    monkeypatch.setattr(Shop, "bench", lambda self, of: Bench(id=of))
    with pytest.raises(InputError, match="no longer open"):
        shop.note("late", "format", "csv")
    assert shop.find("late") is None


@pytest.mark.parametrize(
    "text", ["", "  ", "~nobody-of-this-name/people.csv", "a\0b"], ids=["empty", "blank", "home", "zero"]
)
def test_a_path_that_is_none_is_said(shop, text):
    for take in (shop.open_by_path, shop.release_place):
        with pytest.raises(FileError):
            take(text)


def test_a_file_is_still_being_read(shop, bench):
    with pytest.raises(InputError, match="still being read"):
        shop.run(bench)


def test_a_column_that_would_be_wrong_is_left_as_it_was(shop, sample):
    before = shop.schema(sample)
    with pytest.raises(InputError):
        shop.change_column(sample, "cost", {"bounds": [9, 2]})
    assert shop.schema(sample) == before


def test_a_schema_of_another_table_is_refused(shop, sample):
    from shoal import Schema

    with pytest.raises(InputError, match="nobody"):
        shop.set_schema(sample, Schema.of(quasi=["nobody"]))


def test_a_goal_that_is_none_is_refused(shop, sample):
    with pytest.raises(ParameterError, match="goal"):
        shop.choose_goal(sample, "fame")


def test_a_job_begun_while_its_file_is_forgotten_is_not_kept(shop, sample, monkeypatch):
    """Forgotten between the start of the job and the note of it: whatever the job is."""
    for begin in (
        lambda of: shop.run(of),
        lambda of: shop.look(of),
        lambda of: shop.compare(of, risk_limit=0.1, time_limit=9),
    ):
        shop.room.sessions.save(replace(shop.bench(sample), id="short", job_ids=()))
        before, start = {job.id for job in shop.jobs.all()}, Jobs.start

        def begun(self, kind, words, start=start):
            shop.room.sessions.remove("short")
            return start(self, kind, words)

        monkeypatch.setattr(Jobs, "start", begun)
        shop.room.sessions.change("short", lambda bench: bench.with_note("looked", None).with_note("look", None))
        with pytest.raises(GoneError):
            begin("short")
        monkeypatch.undo()
        assert {job.id for job in shop.jobs.all()} == before
        assert shop.find("short") is None


def test_a_job_that_joins_at_the_last_moment_is_forgotten_too(shop, sample, monkeypatch):
    """Between the look at a bench and its end: jobs are those of the bench as it was at last."""
    shop.room.sessions.save(replace(shop.bench(sample), id="late", job_ids=(), notes={"path": "/nowhere.csv"}))
    job, benches = shop.jobs.start("open", {"path": "/nowhere.csv"}), shop.benches()
    shop.room.sessions.change("late", lambda bench: bench.with_job(job))
    monkeypatch.setattr(Shop, "find", lambda self, of: next(bench for bench in benches if bench.id == of))
    shop.forget("late")
    monkeypatch.undo()
    assert shop.job(job) is None


def test_what_a_stopped_comparison_still_writes_goes_too(shop, sample):
    """A child that is being stopped lives on for half a second, and may write what it has finished."""
    shop.room.sessions.save(replace(shop.bench(sample), id="slow", job_ids=(), notes={"path": "/nowhere.csv"}))
    store, told = shop.room.compared / "slow", threading.Event()

    class Late:
        def stop(self):
            pass

        def wait(self):
            told.wait(PATIENCE)
            store.mkdir(exist_ok=True)
            (store / "secret.json").write_text("{}")
            return -9

    job = shop.jobs.start("open", {"path": "/nowhere.csv"})
    shop.jobs.wait(job, PATIENCE)
    shop.room.sessions.change("slow", lambda bench: bench.with_job(job))
    shop.jobs._children[job] = Late()
    shop.forget("slow")
    told.set()
    end = time.monotonic() + PATIENCE
    while any(thread.name == f"removal {job}" and thread.is_alive() for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
    del shop.jobs._children[job]
    assert not store.exists()


def test_benches_keep_their_order_while_they_change(shop, sample, bench):
    before = [known.id for known in shop.benches()]
    shop.note(sample, "format", "csv")
    assert [known.id for known in shop.benches()] == before
    assert before.index(sample) < before.index(bench)


def test_a_title_has_room_on_a_page(shop, sample):
    steps = {"gender": {"kind": "tree", "rows": [[f"v{i}", "all"] for i in range(500)]}}
    words = {"recipe": {"coarsen": [{"method": "recode", "steps": steps}, {"method": "mondrian", "k": 5}]}}
    job = shop.jobs.start("release", words)
    shop.jobs.wait(job, PATIENCE)
    assert title_of(shop.job(job)) == "recode:gender=tree, then mondrian:k=5"
    shop.jobs.remove(job)
    shop.jobs.remove(job)  # once more does no harm


def test_forgetting_takes_jobs_and_kept_comparisons_along(shop, sample):
    """Last here: the file of the other tests goes."""
    shop.choose_goal(sample, "familiar")
    job = shop.run(sample)
    assert shop.jobs.wait(job, PATIENCE).state == "done"
    assert title_of(shop.job(job)) == "mondrian:k=5"
    assert shop.home(shop.job(job)) == sample
    kept = shop.room.compared / sample
    kept.mkdir()
    (kept / "secret.json").write_text("{}")
    shop.forget(sample)
    assert shop.job(job) is None
    assert not kept.exists()
    assert [path for path in shop.room.uploads.rglob("*") if path.is_file()] == []
