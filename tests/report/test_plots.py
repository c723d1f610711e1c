"""Pictures: inline, named, their own ids, nothing executable."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report import Evidence, drawing, mosaic, plots, svg
from shoal.report.marginal import marginals_of
from shoal.schema import Schema


def test_a_picture_is_one_image_with_a_name(evidence: Evidence, read_page: Callable[[str], Any]) -> None:
    made = [
        plots.class_size_plot(evidence.sizes, "sizes & more", "people"),
        plots.risk_plot(evidence.risks, "risks"),
        plots.correlation_plot(evidence.correlations, "correlations"),
        *(plots.marginal_plot(marginal, marginal.column) for marginal in evidence.marginals),
    ]
    for picture in made:
        page = read_page(picture)
        assert not page.unbalanced
        assert page.tags[0][0] == "svg"
        assert page.tags[0][1]["role"] == "img"
        assert page.tags[0][1]["aria-label"]
        assert not any("role" in attributes for _, attributes in page.tags[1:])
        assert "http" not in picture
    ids = re.findall(r'\bid="([^"]+)"', "".join(made))
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", "".join(made))) <= set(ids)


def test_a_chart_of_altair_is_drawn_once() -> None:
    alt = drawing.altair()
    chart = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    drawing._svg.cache_clear()
    first, second = drawing.draw(chart, "one name"), drawing.draw(chart, "another name")
    assert drawing._svg.cache_info().misses == 1
    assert first.replace("one name", "another name") == second


def test_names_of_levels_are_text(pair_by_hand: Callable[..., Any], read_page: Callable[[str], Any]) -> None:
    level = "<script>alert('x')</script> & \"q\" datum.x {signal}"
    table = pl.DataFrame({"x": [level] * 10 + ["url(#a)"] * 10})
    marginal = marginals_of(pair_by_hand(table, Schema.of(quasi=["x"]), 5)[0], ["x"], 5)[0]
    picture = plots.marginal_plot(marginal, level)
    assert not read_page(picture).found("script")
    assert "<script" not in picture


def test_long_names_that_begin_alike_stay_apart(pair_by_hand: Callable[..., Any]) -> None:
    table = pl.DataFrame({"x": ["a" * 60 + "1"] * 10 + ["a" * 60 + "2"] * 10})
    marginal = marginals_of(pair_by_hand(table, Schema.of(quasi=["x"]), 5)[0], ["x"], 5)[0]
    assert "(2)" in plots.marginal_plot(marginal, "x")


def test_every_bar_tells_both_sides_in_words(evidence: Evidence, read_page: Callable[[str], Any]) -> None:
    marginal = next(m for m in evidence.marginals if m.column == "sex")
    tips = read_page(plots.marginal_plot(marginal, "sex")).tips
    assert len(tips) == len(marginal.cells) == 2
    assert re.fullmatch(r"sex f: [\d.]+% before, [\d.]+% after", next(tip for tip in tips if "sex f" in tip))
    sizes = read_page(plots.class_size_plot(evidence.sizes, "sizes", "people")).tips
    assert len(sizes) == len(evidence.sizes.bands)
    assert all("share the combination: " in tip or tip.startswith("Nobody else has") for tip in sizes)


def test_words_of_marks_that_have_none_of_their_own(read_page: Callable[[str], Any]) -> None:
    alt = drawing.altair()
    rows = [{"line": name, "x": 0.123456 * i, "y": i} for name in ("one & two", "three") for i in range(1, 4)]
    lines = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = lines.encode(x=alt.X("x:Q", title="linkage (%)"), y="y:Q", color="line:N")
    tips = read_page(drawing.draw(chart, "lines")).tips
    assert {"one & two", "three"} <= set(tips)
    assert "linkage (%): 0.123; y: 1; three" in tips
    assert len(tips) == 2 + 6


def test_a_cloud_of_points_has_no_words(read_page: Callable[[str], Any]) -> None:
    alt = drawing.altair()
    cloud = alt.Chart(alt.Data(values=[{"x": i} for i in range(drawing.MOST_TIPS + 1)])).mark_point()
    assert read_page(drawing.draw(cloud.encode(x="x:Q"), "cloud")).tips == []


def _boxes(picture: str, fill: str) -> list[dict[str, float]]:
    found = re.findall(r"<rect([^>]*)>", picture)
    boxes = [dict(re.findall(r'([a-z-]+)="([^"]*)"', attributes)) for attributes in found]
    return [
        {name: float(box[name]) for name in ("x", "y", "width", "height")}
        for box in boxes
        if box["fill"] == fill and "fill-opacity" not in box
    ]


def test_bars_are_as_long_as_their_shares(evidence: Evidence) -> None:
    marginal = next(m for m in evidence.marginals if m.column == "sex")
    picture = str(plots.marginal_plot(marginal, "sex"))
    for fill, side in ((drawing.BEFORE_FILL, "before_share"), (drawing.AFTER, "after_share")):
        widths = [box["width"] for box in _boxes(picture, fill)]
        shares = [getattr(cell, side) for cell in marginal.cells]
        assert [w / widths[0] for w in widths] == pytest.approx([s / shares[0] for s in shares], rel=0.01)


def test_columns_stand_on_the_axis_and_fit_the_panel(evidence: Evidence) -> None:
    picture = str(plots.class_size_plot(evidence.sizes, "sizes", "people"))
    for place, fill in ((0, drawing.BEFORE_FILL), (1, drawing.AFTER)):
        boxes = _boxes(picture, fill)[:-1]  # the last is the legend's
        shares = [band.shares[place] for band in evidence.sizes.bands]
        assert all(0 <= box["y"] <= 180 and box["y"] + box["height"] == pytest.approx(180, abs=0.02) for box in boxes)
        heights = [box["height"] for box in boxes]
        assert [h / max(heights) for h in heights] == pytest.approx([s / max(shares) for s in shares], abs=0.002)


def test_tiles_have_the_area_of_their_counts(evidence: Evidence) -> None:
    assert evidence.mosaic is not None
    picture = "".join(str(part) for part in mosaic.mosaic_figure(evidence.mosaic))
    before = evidence.mosaic.before.counts
    half = picture.split("<g ")[1]
    for j, shade in enumerate(mosaic.SHADES[: before.shape[1]]):
        areas = sum(box["width"] * box["height"] for box in _boxes(half, shade) if box["width"] != 10)
        whole = mosaic.SIDE * mosaic.SIDE * 0.72 * mosaic.TALL
        assert areas / whole == pytest.approx(before[:, j].sum() / before.sum(), abs=0.01)


@given(
    start=st.floats(-1e4, 1e4, allow_subnormal=False),
    span=st.floats(1e-6, 1e9, allow_subnormal=False),
    about=st.integers(2, 6),
)
def test_ticks_are_round_few_and_inside(start: float, span: float, about: int) -> None:
    low = start * span
    scale = svg.Scale.over(low, low + span, 0, 100, about=about)
    assert 1 <= len(scale.ticks) <= 2.3 * about + 1
    assert all(-1e-3 <= scale(tick) <= 100 + 1e-3 for tick in scale.ticks)
    assert scale(low) == 0
    assert scale(low + span) == pytest.approx(100)


@given(st.floats(1e-9, 1.0), st.integers(2, 5))
def test_shares_fit_their_scale(largest: float, about: int) -> None:
    scale = svg.share_scale(largest, 110, 0, about=about)
    assert -1e-6 <= scale(largest) <= 110
    assert scale(0) == 110
    assert scale.ticks[0] == 0


@pytest.mark.parametrize("name", ["POVCAT23", "INSRC23", "MMWW", "100%", "iiiii"])
def test_room_for_names_in_capitals(name: str) -> None:
    """Widths of Helvetica, in thousandths of the size; a name must not be cut at the edge of a picture."""
    helvetica = dict(zip("POVCATINSRMWi%0123", (667, 778, 667, 722, 667, 611, 278, 722, 667, 722, 833, 944, 222, 889,
                                               556, 556, 556, 556), strict=True))  # fmt: skip
    assert svg.text_width(name, 1000) >= sum(helvetica[letter] for letter in name)
