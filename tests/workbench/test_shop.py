"""What the pages do, with a real room: nothing is begun by accident, nothing is left behind."""

import pytest

from shoal.errors import FileError, InputError, ParameterError
from shoal.workbench.access import Access
from shoal.workbench.bench import Bench
from shoal.workbench.jobs import Jobs
from shoal.workbench.room import Room
from shoal.workbench.shop import Shop, title_of

PATIENCE = 120


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with Room.create(tmp_path_factory.mktemp("shop")) as room:
        yield Shop(room=room, jobs=Jobs(room, warm=False), access=Access.of("127.0.0.1"))


@pytest.fixture(scope="module")
def sample(shop):
    """A bench whose file has been read."""
    bench = shop.open_sample()
    shop.jobs.wait(bench.notes["opening"], PATIENCE)
    assert shop.opened(bench.id).stage == "full"
    return bench.id


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
