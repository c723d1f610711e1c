"""Who is a person, in the workbench: the question stands beside the column, with a press that answers it."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

from shoal.web.access import Access
from shoal.web.controller import Controller
from shoal.web.inspect import open_file
from shoal.web.jobs import Jobs
from shoal.web.pages import ColumnsPage
from shoal.web.pages.column_grid import Grid
from shoal.web.pages.page import Act
from shoal.web.workspace import Workspace


def drawn(opened, words):
    grid = Grid(session="s", table="", opened=opened, found={}, words=words, entry={}, query={}, typed={}, wrong={})
    return str(grid.draw())


def test_a_hospitals_number_is_asked_about_and_the_answer_is_one_press(tmp_path):
    path = tmp_path / "d.csv"
    pl.DataFrame({"hospitalid": [f"H{i % 150}" for i in range(600)], "sex": ["f", "m", "m"] * 200}).write_csv(path)
    opened = open_file(path)
    words = dict(opened.proposal["schema"]["columns"])
    assert words["hospitalid"]["role"] == "quasi"
    page = drawn(opened, words)
    assert "Does one value of hospitalid stand for one person?" in page
    assert "Yes, it is the unit" in page
    answered = {**words, "hospitalid": {"role": "unit"}}
    assert "stand for one person?" not in drawn(opened, answered)


@pytest.fixture
def session(tmp_path):
    """A session whose file has people who are in it twice."""
    rng = np.random.default_rng(0)
    people = pl.DataFrame({f"x{i}": rng.normal(0, 9, 300).round(2) for i in range(5)})
    people = people.with_columns(age=pl.Series(rng.integers(20, 60, 300)))
    pl.concat([people, people[:90]]).write_csv(tmp_path / "p.csv")
    with Workspace.create(tmp_path / "room") as workspace:
        jobs = Jobs(workspace, warm=False, spawn=Here)
        controller = Controller(workspace=workspace, jobs=jobs, access=Access.of("127.0.0.1"))
        made = controller.open(tmp_path / "p.csv")
        jobs.wait(made.notes["opening"], 120)
        yield controller, made.id
        jobs.close()


def test_equal_rows_are_asked_about_and_the_answer_is_kept_in_the_schema(session):
    controller, place = session
    asked = "180 rows occur more than once, up to 2 times: the same person twice?"

    def page():
        opened = controller.opened(place)
        return str(ColumnsPage(controller, place)._repeats(opened))

    assert asked in page()
    assert "Same person" in page()
    ColumnsPage(controller, place).press(Act(do="repeats", of="same person"))
    assert controller.schema(place).repeats == "same person"
    assert asked not in page()
    assert "the same person&#39;s" in page() or "the same person's" in page()
    ColumnsPage(controller, place).press(Act(do="repeats", of=""))
    assert controller.schema(place).repeats is None
    assert asked in page()
