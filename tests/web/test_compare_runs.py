"""Two runs beside each other on the Compare page: the last two are offered, and shares differ by points."""

from types import SimpleNamespace

from shoal.reading import Reading
from shoal.web.pages.compare import ComparePage


def run(id, found, kept):
    readings = [Reading(name="found", value=found)], [Reading(name="pairs kept", value=kept, better="higher")]
    risk, use = ([one.to_dict() for one in each] for each in readings)
    view = {"risk": risk, "use": use, "lost": {"out": 100}, "found": found}
    return SimpleNamespace(id=id, kind="release", state="done", words={"path": f"{id}.csv"}, result={"view": view})


def shown(*runs, **query):
    controller = SimpleNamespace(jobs_of=lambda _: list(runs), session=lambda _: SimpleNamespace(notes={}))
    return str(ComparePage(controller, "s", query)._runs())


RUNS = run("new", 0.02, 0.9), run("older", 0.05, 0.8), run("oldest", 0.5, 0.7)


def test_the_last_two_runs_are_chosen_until_somebody_chooses():
    first = shown(*RUNS)
    assert first.count(" checked") == 2
    assert 'name="b" value="new" checked' in first
    assert 'name="a" value="older" checked' in first
    assert 'name="a" value="oldest" checked' in shown(*RUNS, a="oldest", b="new")
    assert "Difference" not in first
    assert " checked" not in shown(RUNS[0])


def test_shares_differ_by_points_and_what_is_kept_has_its_name():
    page = shown(*RUNS, a="older", b="new")
    assert "−3 points, better" in page
    assert "+10 points, better" in page
    assert "a: older.csv: release; b: new.csv: release" in page
    assert "pairs kept" in page


def test_a_number_that_hardly_differs_is_no_change():
    both = [run(name, 0.02, 0.9) for name in ("old", "new")]
    for one, r2 in zip(both, (0.0634, 0.0633), strict=True):
        one.result["view"]["use"].append(Reading(name="off by", value=r2, shows="number").to_dict())
    page = shown(*both, a="old", b="new")
    assert "about the same" in page.partition("off by")[2]
