"""The map: who stands with whom, and pictures for odd sets of points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.risk_utility_map import Point, beside_line, risk_map, together


def point(risk, utility, number="1", family="coarsening", on_front=False):
    words = f"{number}: <{risk}>"
    return Point(risk=risk, utility=utility, number=number, family=family, on_front=on_front, words=words)


@given(st.lists(st.tuples(st.floats(0, 600), st.floats(0, 400)), max_size=12))
def test_labels_stand_together_where_they_would_touch(places):
    points = [point(x, y, str(i)) for i, (x, y) in enumerate(places)]
    lists = together(points, lambda one: (one.risk, one.utility))
    assert sorted(one.number for found in lists for one in found) == sorted(one.number for one in points)
    firsts = [found[0] for found in lists]
    for i, one in enumerate(firsts):
        for other in firsts[:i]:
            assert ((one.risk - other.risk) ** 2 + (one.utility - other.utility) ** 2) ** 0.5 >= 17


@pytest.mark.parametrize(
    "points",
    [
        [point(0.0, 1.0, on_front=True)],
        [point(0.0, 0.0), point(1.0, 1.0, "2", on_front=True)],
        [point(0.5, 0.5, str(i), "synthesis", True) for i in range(9)],
    ],
    ids=["best", "corners", "one place"],
)
def test_every_set_of_points_is_drawn(points):
    drawn = risk_map(
        points, "a <map>", families=("coarsening", "synthesis"), across="risk", up="kept", limit=0.05, mark=0.9
    )
    assert drawn.startswith('<svg role="img" aria-label="a &lt;map&gt;"')
    assert drawn.count("<title>") == len(points)
    assert "NaN" not in drawn
    assert "1: &lt;" in drawn or "0: &lt;" in drawn


@given(st.floats(20, 360), st.floats(0, 640), st.floats(-10, 20))
def test_the_text_beside_a_line_keeps_clear_of_a_point(y, x, below):
    start, dy = beside_line(y, [(x, y + below)])
    clear_across = x < start - 6 or x > start + 164 + 6
    assert clear_across or abs(below - dy) > 12
