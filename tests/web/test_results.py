"""The page of one job draws its end, whenever that comes, and what happens to the result afterwards."""

from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from shoal.web.job import Job
from shoal.web.pages.results import _Result


class Page(_Result):
    """A page without a browser: what it draws is remembered."""

    def __init__(self, states):
        self.states, self.seen, self.drawn = iter(states), None, []

    @property
    def now(self):
        state = next(self.states)
        return state and Job(id="0001-ab", kind="release", folder=Path("x"), state=state)

    def _redraw(self):
        now = self.now
        self.drawn.append(now and now.state)


def test_an_end_between_a_look_and_the_next_is_drawn():
    page = Page(["running", "running", "done", "done", "done"])
    for _ in range(3):
        page._beat()
    assert page.drawn == ["running", "done"]


def test_a_result_forgotten_in_another_tab_is_drawn_as_such():
    page = Page(["done", "done", "done", None, None])
    for _ in range(3):
        page._beat()
    assert page.drawn == ["done", None]
