"""One bar for a run of several steps: it moves, never backwards, and its estimate follows the pace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.progress import Pace, advance, listening, spoken


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_shares_are_heard_within_and_only_within():
    heard = []
    advance(1, 2)
    with listening(heard.append):
        advance(1, 4)
        advance(9, 4)
        advance(1, 0)
        with listening(None):
            advance(1, 3)
    advance(1, 2)
    assert heard == [0.25, 1.0]


def test_a_step_weighs_what_is_expected_of_it():
    pace = Pace({"grouping": 30.0, "masking": 10.0}, clock=Clock())
    pace.begin("grouping")
    pace.advanced(0.5)
    assert pace.share == pytest.approx(15 / 40)
    pace.begin("masking")
    assert pace.share == pytest.approx(30 / 40)
    assert pace.knows_step


def test_steps_that_were_skipped_are_over_and_unknown_ones_weigh_nothing():
    pace = Pace({"reading": 10.0, "grouping": 30.0, "masking": 10.0}, clock=Clock())
    pace.begin("masking")
    assert pace.share == pytest.approx(40 / 50)
    pace.begin("tidying up")
    assert pace.share == pytest.approx(1.0)
    assert not pace.knows_step


def test_a_step_that_tells_nothing_moves_with_the_time_and_never_ends():
    clock = Clock()
    pace = Pace({"grouping": 10.0}, clock=clock)
    pace.begin("grouping")
    seen = []
    for clock.now in (1.0, 5.0, 10.0, 100.0):
        seen.append(pace.share)
    assert seen == sorted(set(seen))
    assert seen[2] == pytest.approx(0.632, abs=0.001)
    assert seen[-1] < 1.0


def test_the_estimate_starts_as_the_forecast_and_follows_the_pace():
    clock = Clock()
    pace = Pace({"grouping": 100.0}, clock=clock)
    pace.begin("grouping")
    assert pace.seconds_left == pytest.approx(100.0)
    clock.now = 100.0
    pace.advanced(0.5)  # half the pace that was expected
    assert pace.seconds_left == pytest.approx(100.0)
    clock.now = 150.0
    pace.advanced(0.75)
    assert pace.seconds_left == pytest.approx(50.0)


def test_without_a_forecast_there_is_no_share():
    pace = Pace({})
    pace.begin("anything")
    pace.advanced(0.5)
    assert pace.share == 0.0


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1), st.floats(0, 50)), max_size=20))
def test_a_bar_never_falls_and_stays_within_its_ends(events):
    clock = Clock()
    pace, last = Pace({"a": 5.0, "b": 1.0, "c": 20.0}, clock=clock), 0.0
    for step, share, seconds in events:
        pace.begin(step)
        pace.advanced(share)
        clock.now += seconds
        assert last <= pace.share <= 1.0
        assert pace.seconds_left >= 0.0
        last = pace.share


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (7.4, "7 s"), (41, "40 s"), (43, "45 s"), (100, "2 min"), (3700, "62 min"), (9000, "2 h")],
)
def test_lengths_of_time_are_said_as_people_say_them(seconds, words):
    assert spoken(seconds) == words
