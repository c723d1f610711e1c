"""Pictures: inline, named, their own ids, nothing executable."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from shoal.report import Evidence, drawing, plots, tiles
from shoal.report.marginal import marginals_of
from shoal.schema import Schema


def test_a_picture_is_one_image_with_a_name(evidence: Evidence, read_page: Callable[[str], Any]) -> None:
    made = [
        plots.class_size_plot(evidence.sizes, "sizes & more"),
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


def test_the_same_picture_is_drawn_once(evidence: Evidence) -> None:
    drawing._svg.cache_clear()
    first = plots.risk_plot(evidence.risks, "one name")
    second = plots.risk_plot(evidence.risks, "another name")
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
    sizes = read_page(plots.class_size_plot(evidence.sizes, "sizes")).tips
    assert len(sizes) == len(evidence.sizes.bands)
    assert all("share the combination: " in tip or tip.startswith("Nobody else has") for tip in sizes)


def test_words_of_marks_that_have_none_of_their_own(read_page: Callable[[str], Any]) -> None:
    alt = drawing.altair()
    rows = [{"line": name, "x": 0.123456 * i, "y": i} for name in ("one & two", "three") for i in range(1, 4)]
    lines = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    chart = lines.encode(x=alt.X("x:Q", title="linkage (%)"), y="y:Q", color="line:N")
    tips = read_page(drawing.picture(chart, "lines")).tips
    assert {"one & two", "three"} <= set(tips)
    assert "linkage (%): 0.123; y: 1; three" in tips
    assert len(tips) == 2 + 6


def test_a_cloud_of_points_has_no_words(read_page: Callable[[str], Any]) -> None:
    alt = drawing.altair()
    cloud = alt.Chart(alt.Data(values=[{"x": i} for i in range(drawing.MOST_TIPS + 1)])).mark_point()
    assert read_page(drawing.picture(cloud.encode(x="x:Q"), "cloud")).tips == []


def test_pictures_are_those_that_altair_would_draw(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _pictures(evidence)
    for module in (plots, tiles):
        monkeypatch.setattr(module, "vega", drawing.altair())
    assert _pictures(evidence) == own


def _pictures(evidence: Evidence) -> list[str]:
    made = [
        plots.class_size_plot(evidence.sizes, "sizes"),
        plots.risk_plot(evidence.risks, "risks"),
        plots.correlation_plot(evidence.correlations, "correlations"),
        *(plots.marginal_plot(marginal, "marginal") for marginal in evidence.marginals),
        *tiles.mosaic_figure(evidence.mosaic),
    ]
    return [re.sub(r"p[0-9a-f]{10}-", "", str(picture)) for picture in made]  # ids are hashes of the chart's words
