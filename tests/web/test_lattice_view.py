"""The choices around one: which are a step away, which no other beats, and that each can be pressed."""

import pytest

from shoal.web.pages.lattice_view import Lattice, draw_lattice
from shoal.web.pages.sliders import recipe_at

FACTS = {  # levels of age and town: rows below k, loss
    "0,0": (0.6, 0.0),
    "1,0": (0.2, 0.3),
    "2,0": (0.1, 0.6),
    "0,3": (0.3, 0.5),
    "1,3": (0.04, 0.7),
    "2,3": (0.0, 1.0),
}


@pytest.fixture
def lattice():
    nodes = {key: {"smallest": 1, "suppressed_share": share, "loss": loss} for key, (share, loss) in FACTS.items()}
    view = {"k": 5, "levels": {"age": [0, 1, 2], "town": [0, 3]}, "nodes": nodes}
    return Lattice(view=view, made={"age": 1, "town": 3}, at={"age": 1, "town": 0}, share=0.05)


def test_a_step_is_the_next_level_that_differs(lattice):
    assert [(name, level, one.key) for name, level, one in lattice.steps(up=True)] == [
        ("town", 3, "1,3"),  # within what may be suppressed, so before the one that loses less
        ("age", 2, "2,0"),
    ]
    assert [(name, level) for name, level, _ in lattice.steps(up=False)] == [("age", 0)]


def test_the_front_is_what_no_other_beats(lattice):
    assert [one.key for one in lattice.front()] == ["2,3", "1,3", "2,0", "1,0", "0,0"]
    assert lattice.levels_of("2,3") == {"age": 2, "town": 3}
    assert lattice.levels_of("7,7") == {}  # an address that a person made up


def test_every_choice_shown_says_what_it_does_and_can_be_pressed(lattice):
    drawn = str(draw_lattice(lattice))
    assert "All 6 choices counted" in drawn
    for key in ("1,3", "2,0", "0,0", "2,3"):
        assert f'data-of="{key}"' in drawn
    assert 'aria-label="town from level 0 to 3: 4% of the rows below k; loss 0.7"' in drawn
    assert "more than may be suppressed" in drawn


def test_a_choice_becomes_the_recipe_with_what_it_must_suppress(lattice):
    words = recipe_at({"coarsen": [{"method": "generalize", "k": 5}]}, lattice)
    assert words["coarsen"] == [{"method": "generalize", "k": 5, "limits": {"age": 1, "town": 0}, "suppression": 0.2}]
