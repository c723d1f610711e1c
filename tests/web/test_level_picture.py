"""The picture of a hierarchy: bands of every level, nested, as wide as the people they hold."""

import polars as pl

from shoal.coarsening.default_hierarchies import ladder_for
from shoal.schema import Column
from shoal.web.pages.level_picture import MOST_BANDS, Band, draw_levels, levels_of


def ladder(values, **words):
    return ladder_for(pl.Series("x", values), Column.from_dict("x", {"role": "quasi", **words}))


def test_each_level_holds_everybody_and_joins_neighbours():
    """Paris and Lyon are neighbours though Bonn stands between them in the alphabet of first letters."""
    rows = [["Paris", "France"], ["Bonn", "Germany"], ["Lyon", "France"]]
    found = levels_of(ladder(["Paris"] * 5 + ["Bonn"] * 3 + ["Lyon"] * 2, hierarchy={"kind": "table", "rows": rows}))
    assert [sum(band.n for band in level) for level in found] == [10] * len(found)
    assert {band.label: band.n for band in found[1]} == {"France": 7, "Germany": 3}
    cities = [band.label for band in found[0]]
    assert abs(cities.index("Paris") - cities.index("Lyon")) == 1


def test_intervals_are_drawn_in_their_order():
    words = {"kind": "numeric", "hierarchy": {"kind": "intervals", "widths": [10, 20]}}
    level = levels_of(ladder([1, 35, 12, 14, 2, 33], **words))[1]
    assert [band.n for band in level] == [2, 2, 2]
    assert level[0].label.startswith("0")


def test_few_people_are_marked_and_names_are_only_text():
    drawn = draw_levels([[Band(label="<b>many", n=96), Band(label="rare", n=4)]], "x")
    assert drawn.count('class="band few"') == 1
    assert "&lt;b&gt;many: 96 (96%)" in drawn
    assert "<b>" not in drawn
    assert ">rare<" not in drawn  # too narrow for its name, which the pointer still gets


def test_hairlines_are_not_drawn():
    drawn = draw_levels([[Band(label=str(i), n=1) for i in range(MOST_BANDS + 1)]], "x")
    assert drawn.count("<rect") == 1
    assert f"{MOST_BANDS + 1} values" in drawn
